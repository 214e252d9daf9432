/* What a filter tells of itself: abilities that are true, counters with stable names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/counters.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 200, MAX_COUNTERS = 64 };

static const uint8_t seed[16] = "a known seed ...";

/* ------------------------------------------------------------------ filters of every kind */

typedef struct key_range {
  uint64_t stream, at, n, key;
} key_range;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_range *k = ctx;
  (void)weight;
  if (k->at == k->n) return BESOM_END;
  k->key = little_endian(key_u64(k->stream, k->at++));
  *key = (besom_bytes){&k->key, sizeof k->key};
  return BESOM_OK;
}

static besom_status first_key(void *ctx) {
  ((key_range *)ctx)->at = 0;
  return BESOM_OK;
}

/* Holds half of the keys that it has room for. Kinds that can only be built are built. */
static besom_filter *make(const char *kind, const char *options, uint32_t flags) {
  key_range members = {.stream = MEMBERS, .n = KEYS};
  const besom_source yes = {.next = next_key, .rewind = first_key, .ctx = &members};
  besom_config config = {.kind = kind,
                         .options = options,
                         .capacity = 2 * KEYS,
                         .fpr = 0.1,
                         .seed = seed,
                         .flags = flags};
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_UNSUPPORTED) status = besom_build(&config, &(besom_input){.yes = &yes}, &f);
  if (status != BESOM_OK)
    fail_msg("%s %s: %s", kind, options ? options : "", besom_strerror(status));
  for (uint64_t i = 0; i < KEYS; i++) (void)besom_insert_u64(f, key_u64(MEMBERS, i));
  return f;
}

static const struct {
  const char *kind, *options;
  uint32_t flags;
} forms[] = {
    {"cached", "base=bloom", 0},     {"cached", "base=qf", 0},      {"cached", "base=aqf", 0},
    {"cached", "base=cf", 0},        {"cached", "base=scaling", 0}, {"scaling", "base=bloom", 0},
    {"scaling", "base=aqf", 0},      {"scaling", "base=cf", 0},     {"aqf", "tombstones=yes", 0},
    {"aqf", NULL, BESOM_CONCURRENT}, {"stacked", "base=cf", 0},
};

/* Calls the law for every kind in its default form, and for other forms of some. */
static void for_each_form(void (*law)(besom_filter *f, const char *name)) {
  char name[80];
  for (size_t i = 0; besom_kinds(i); i++) {
    besom_filter *f = make(besom_kinds(i)->name, NULL, 0);
    law(f, besom_kinds(i)->name);
    besom_free(f);
  }
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    besom_filter *f = make(forms[i].kind, forms[i].options, forms[i].flags);
    snprintf(name, sizeof name, "%s %s", forms[i].kind, forms[i].options ? forms[i].options : "");
    law(f, name);
    besom_free(f);
  }
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

/* ------------------------------------------------------------------ abilities */

/* A stacked filter with room for more keys has layers that can insert, which is not the default. */
static void in_its_default_form_a_filter_can_what_its_kind_can(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++) {
    besom_filter *f = make(besom_kinds(i)->name, NULL, 0);
    unsigned more = strcmp(besom_kinds(i)->name, "stacked") ? 0 : BESOM_INSERTS_LATER;
    assert_int_equal(besom_abilities(f), besom_kinds(i)->abilities | more);
    besom_free(f);
  }
  assert_int_equal(besom_abilities(NULL), 0);
}

static besom_status try_count(besom_filter *f) {
  uint64_t n;
  return besom_count_u64(f, 1, &n);
}

static besom_status try_insert(besom_filter *f) {
  return besom_insert_u64(f, key_u64(MORE_MEMBERS, 0));
}

static besom_status try_remove(besom_filter *f) {
  return besom_remove_u64(f, key_u64(MEMBERS, 0));
}

static besom_status try_adapt(besom_filter *f) {
  return besom_adapt_u64(f, key_u64(NEGATIVES, 0));
}

static besom_status try_merge(besom_filter *f) {
  besom_filter *like = NULL, *both = NULL;
  besom_status status = besom_create_like(f, &like);
  if (status == BESOM_OK) status = besom_merge(f, like, &both);
  besom_free(like);
  besom_free(both);
  return status;
}

static besom_status try_iterate(besom_filter *f) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  return besom_iter_next(&iter, &entry);
}

static besom_status try_resize(besom_filter *f) {
  return besom_resize(f, 2 * stats_of(f).slots, NULL);
}

static besom_status try_get_value(besom_filter *f) {
  uint64_t value;
  return besom_get_value(f, "a key", 5, &value);
}

static besom_status try_matches(besom_filter *f) {
  size_t total;
  return besom_matches(f, besom_hash_u64(f, 1), NULL, 0, &total);
}

static besom_status try_no_add(besom_filter *f) {
  return besom_no_add(f, "a key", 5);
}

static besom_status try_no_matches(besom_filter *f) {
  size_t total;
  return besom_no_matches(f, besom_hash_u64(f, 1), NULL, 0, &total);
}

static const struct {
  unsigned ability; /* any of these bits */
  besom_status (*call)(besom_filter *f);
  const char *name;
  bool changes;
} calls[] = {
    {BESOM_CAN_COUNT, try_count, "count", false},
    {BESOM_CAN_MERGE, try_merge, "merge", false},
    {BESOM_CAN_ITERATE, try_iterate, "iter_next", false},
    {BESOM_CAN_VALUE, try_get_value, "get_value", false},
    {BESOM_CAN_MATCH, try_matches, "matches", false},
    {BESOM_CAN_NO_LIST_AT, try_no_matches, "no_matches", false},
    {BESOM_CAN_RESIZE, try_resize, "resize", true},
    {BESOM_CAN_ADAPT, try_adapt, "adapt", true},
    {BESOM_CAN_INSERT | BESOM_INSERTS_LATER, try_insert, "insert", true},
    {BESOM_CAN_REMOVE, try_remove, "remove", true},
    {BESOM_CAN_NO_LIST, try_no_add, "no_add", true},
};

/* Adaptive cuckoo kinds have an insert that tells to use insert_at. */
static bool is_offered(besom_status status) {
  return status != BESOM_UNSUPPORTED && status != BESOM_NEEDS_STORE;
}

static void calls_agree(besom_filter *f, const char *name) {
  unsigned abilities = besom_abilities(f), wrong = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    bool told = abilities & calls[i].ability;
    besom_status status = calls[i].call(f);
    if (status == BESOM_NEEDS_STORE && told) continue;
    if (is_offered(status) == told) continue;
    print_error("%s: %s is %stold\n", name, calls[i].name, told ? "" : "not ");
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

static void abilities_tell_which_calls_are_unsupported(void **state) {
  (void)state;
  for_each_form(calls_agree);
}

static void cached_counts_if_its_base_does(void **state) {
  (void)state;
  besom_filter *over_bloom = make("cached", "base=bloom", 0), *over_qf = make("cached", NULL, 0);
  assert_false(besom_abilities(over_bloom) & (BESOM_CAN_COUNT | BESOM_CAN_REMOVE));
  assert_true(besom_abilities(over_bloom) & BESOM_CAN_ADAPT);
  assert_true(besom_abilities(over_bloom) & BESOM_FORGETS);
  assert_true(besom_abilities(over_qf) & BESOM_CAN_COUNT);
  besom_free(over_bloom);
  besom_free(over_qf);
}

/* A mapped filter keeps the abilities that change nothing. */
static void mapped_filters_cannot_change(besom_filter *f, const char *name) {
  const unsigned constant = BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE |
                            BESOM_CAN_BUILD_SORTED | BESOM_CAN_VALUE | BESOM_CAN_MATCH |
                            BESOM_FORGETS | BESOM_CAN_BUILD_NO | BESOM_TAKES_SAMPLE;
  /* Exceptions are in memory, beside the mapping. */
  const unsigned reports = BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST | BESOM_STORES_EXCEPTIONS;
  const besom_open_options by_mmap = {.flags = BESOM_OPEN_MMAP};
  besom_filter *mapped = NULL;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "saved.besom");
  assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
  assert_int_equal(besom_open(path.text, &by_mmap, &mapped), BESOM_OK);
  bool stores = besom_abilities(f) & BESOM_STORES_EXCEPTIONS;
  unsigned expected = besom_abilities(f) & (constant | (stores ? reports : 0)),
           found = besom_abilities(mapped);
  if (found != expected) fail_msg("%s: 0x%x instead of 0x%x", name, found, expected);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    besom_status status = calls[i].call(mapped);
    bool changes = calls[i].changes && !(stores && calls[i].ability & reports);
    if (changes) assert_true(status == BESOM_READ_ONLY || status == BESOM_UNSUPPORTED);
    if (!changes) assert_int_not_equal(status, BESOM_READ_ONLY);
  }
  besom_free(mapped);
  temp_dir_remove(&dir);
}

static void a_mapped_filter_cannot_change(void **state) {
  (void)state;
  for_each_form(mapped_filters_cannot_change);
}

/* ------------------------------------------------------------------ counters */

/* The names are part of the API: they must not change, and no counter may come and go. */
static const struct {
  const char *kind, *names;
} documented[] = {
    {"aqf", "extended tombstones no_entries"},
    {"yesno", "extended tombstones no_entries"},
    {"yesno-dynamic", "extended tombstones no_entries"},
    {"exaf", "extended rebuilds direct_corrections"},
    {"broom", "extended rebuilds direct_corrections rounds"},
    {"taf", "extended rebuilds direct_corrections selector_0 selector_1 selector_2 selector_3 "
            "selector_4 selector_5 selector_6 selector_7"},
    {"utaf", "extended rebuilds direct_corrections selector_0 selector_1 selector_2 selector_3 "
             "selector_4 selector_5 selector_6 selector_7"},
    {"cf", "kicks longest_chain"},
    {"vacuum", "kicks longest_chain"},
    {"acf-cyclic", "kicks longest_chain adapted"},
    {"acf-swapping", "kicks longest_chain adapted"},
    {"acf-cuckooing", "kicks longest_chain adapted"},
    {"cached", "exceptions"},
    {"scaling", "expansion"},
    {"grouped", "groups classes least_bits"},
    {"updated", "updates"},
    {"adaptive-stacked", "rebuilds learned_keys"},
};

static const char *names_of(const char *kind) {
  for (size_t i = 0; i < sizeof documented / sizeof *documented; i++)
    if (!strcmp(documented[i].kind, kind)) return documented[i].names;
  return "";
}

static bool has_word(const char *words, const char *word) {
  size_t len = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at += len)
    if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' ')) return true;
  return false;
}

static size_t count_words(const char *words) {
  size_t n = *words != 0;
  for (; *words; words++) n += *words == ' ';
  return n;
}

static void each_kind_has_the_documented_counters(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++) {
    const char *kind = besom_kinds(i)->name, *names = names_of(kind);
    besom_filter *f = make(kind, NULL, 0);
    besom_counter found[MAX_COUNTERS];
    size_t n = besom_counters(f, found, MAX_COUNTERS);
    bool excepts = strcmp(kind, "cached") != 0; /* three counters that all others have */
    for (size_t k = 0; k < n; k++)
      if (!has_word(names, found[k].name) &&
          !(excepts && has_word("exceptions exception_limit forgotten", found[k].name)))
        fail_msg("%s has %s", kind, found[k].name);
    if (n != count_words(names) + (excepts ? 3 : 0)) fail_msg("%s has %zu counters", kind, n);
    besom_free(f);
  }
}

/* The same names in the same order, whatever happened to the filter. */
static void assert_names(const besom_filter *f, const besom_counter *names, size_t n) {
  besom_counter now[MAX_COUNTERS];
  assert_int_equal(besom_counters(f, now, MAX_COUNTERS), n);
  for (size_t i = 0; i < n; i++) assert_string_equal(now[i].name, names[i].name);
}

static void names_are_unique_and_stay(besom_filter *f, const char *name) {
  (void)name;
  besom_counter first[MAX_COUNTERS];
  size_t n = besom_counters(f, first, MAX_COUNTERS);
  assert_true(n <= MAX_COUNTERS);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) assert_string_not_equal(first[i].name, first[k].name);
  for (size_t i = 0; i < 2000; i++) (void)besom_adapt_u64(f, key_u64(NEGATIVES, i));
  assert_names(f, first, n);
  for (size_t i = 0; i < 20; i++) (void)besom_remove_u64(f, key_u64(MEMBERS, i));
  for (size_t i = 0; i < 50; i++) (void)besom_insert_u64(f, key_u64(MORE_MEMBERS, i));
  (void)besom_resize(f, 2 * stats_of(f).slots, NULL);
  assert_names(f, first, n);
  besom_filter *like = NULL;
  if (besom_create_like(f, &like) == BESOM_OK) assert_names(like, first, n);
  besom_free(like);
}

static void names_of_counters_are_unique_and_stay(void **state) {
  (void)state;
  for_each_form(names_are_unique_and_stay);
}

/* No more than cap counters are written; the number of all is returned. */
static void counters_fit_the_array(besom_filter *f, const char *name) {
  (void)name;
  besom_counter all[MAX_COUNTERS], some[MAX_COUNTERS];
  size_t n = besom_counters(f, all, MAX_COUNTERS);
  assert_int_equal(besom_counters(f, NULL, 0), n);
  for (size_t cap = 0; cap <= n + 1; cap++) {
    for (size_t i = 0; i < MAX_COUNTERS; i++) some[i] = (besom_counter){"untouched", 4711};
    assert_int_equal(besom_counters(f, some, cap), n);
    for (size_t i = 0; i < MAX_COUNTERS; i++) {
      bool written = i < cap && i < n;
      assert_string_equal(some[i].name, written ? all[i].name : "untouched");
      assert_int_equal(some[i].value, written ? all[i].value : 4711);
    }
  }
  assert_int_equal(besom_counters(f, NULL, 1), 0);
}

static void a_small_array_gets_the_first_counters(void **state) {
  (void)state;
  for_each_form(counters_fit_the_array);
  assert_int_equal(besom_counters(NULL, NULL, 0), 0);
}

/* ------------------------------------------------------------------ sizes */

/* A caller with an older or newer struct gets what it has; the rest is 0. */
static void statistics_have_the_size_of_the_caller(void **state) {
  (void)state;
  besom_filter *f = make("aqf", NULL, 0);
  struct {
    besom_statistics now;
    uint64_t later[4];
  } newer;
  besom_statistics all = stats_of(f), older;
  size_t size = offsetof(besom_statistics, bytes);
  memset(&older, 0x55, sizeof older);
  memset(&newer, 0x55, sizeof newer);
  assert_int_equal(besom_stats_sized(f, &older, size), BESOM_OK);
  assert_int_equal(older.keys, all.keys);
  assert_int_equal(older.width, all.width);
  for (size_t i = size; i < sizeof older; i++) assert_int_equal(((unsigned char *)&older)[i], 0x55);
  assert_int_equal(besom_stats_sized(f, &newer.now, sizeof newer), BESOM_OK);
  assert_int_equal(newer.now.bytes, all.bytes);
  for (size_t i = 0; i < 4; i++) assert_int_equal(newer.later[i], 0);
  besom_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_its_default_form_a_filter_can_what_its_kind_can),
      cmocka_unit_test(abilities_tell_which_calls_are_unsupported),
      cmocka_unit_test(cached_counts_if_its_base_does),
      cmocka_unit_test(a_mapped_filter_cannot_change),
      cmocka_unit_test(each_kind_has_the_documented_counters),
      cmocka_unit_test(names_of_counters_are_unique_and_stay),
      cmocka_unit_test(a_small_array_gets_the_first_counters),
      cmocka_unit_test(statistics_have_the_size_of_the_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
