/* Layered filters: every base, long chains, saved and nested. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom.h"
#include "support/counters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/temp_files.h"

static const uint8_t seed[16] = {9};

static besom_filter *make(const char *kind, const char *options, uint64_t capacity, double rate,
                          const besom_allocator *allocator) {
  besom_config config = {.kind = kind,
                         .options = options,
                         .seed = seed,
                         .capacity = capacity,
                         .fpr = rate,
                         .allocator = allocator};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static void assert_holds(const besom_filter *f, size_t n) {
  const char *wrong = NULL;
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  if (besom_validate(f, &wrong) != BESOM_OK) fail_msg("%s", wrong);
}

static double wrong_answers(const besom_filter *f, size_t queries) {
  uint64_t *keys = keys_u64(NEGATIVES, queries),
           *bitmap = heap_array(queries / 64 + 1, sizeof *bitmap);
  size_t yes = 0;
  assert_int_equal(besom_contains_many_u64(f, keys, queries, bitmap), BESOM_OK);
  for (size_t i = 0; i < queries; i++) {
    bool here = bitmap[i / 64] >> (i % 64) & 1;
    if (i % 16 == 0) assert_int_equal(here, besom_contains_u64(f, keys[i]));
    yes += here;
  }
  free(keys);
  free(bitmap);
  return (double)yes;
}

/* Every kind that can be inserted into and is not layered itself. */
static bool is_base(const besom_kind_info *kind, char *options, size_t size) {
  besom_filter *f = NULL;
  snprintf(options, size, "base=%s", kind->name);
  besom_config config = {.kind = "scaling", .options = options, .capacity = 10};
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  return status == BESOM_OK;
}

/* ------------------------------------------------------------------ scaling */

/* Two hundred times as many keys as the capacity of the first layer. */
static void a_chain_keeps_the_rate_however_long_it_gets(void **state) {
  (void)state;
  enum { FIRST = 300, KEYS = 200 * FIRST, QUERIES = 400000 };
  const double rate = 1.0 / 64;
  char options[40];
  uint64_t *keys = keys_u64(MEMBERS, KEYS);
  for (size_t i = 0; besom_kinds(i); i++) {
    if (!is_base(besom_kinds(i), options, sizeof options)) continue;
    besom_filter *f = make("scaling", options, FIRST, rate, NULL);
    for (size_t k = 0; k < KEYS / 2; k++) assert_int_equal(besom_insert_u64(f, keys[k]), BESOM_OK);
    assert_int_equal(besom_insert_many_u64(f, keys + KEYS / 2, KEYS / 2, NULL), BESOM_OK);
    assert_holds(f, KEYS);
    besom_statistics stats = stats_of(f);
    double allowed = rate * QUERIES, expected = stats.expected_fpr * QUERIES,
           found = wrong_answers(f, QUERIES);
    assert_true(found <= allowed + 4 * sqrt(allowed));
    assert_true(fabs(found - expected) <= 0.1 * expected + 4 * sqrt(expected));
    assert_true(stats.expected_fpr <= stats.fpr_at_capacity && stats.fpr_at_capacity <= rate);
    assert_true(stats.keys <= KEYS && stats.keys > KEYS * 0.97);
    besom_free(f);
  }
  free(keys);
}

/* Each further layer has twice the memory: copies of one key must not make the chain longer. */
static void a_chain_holds_as_many_copies_of_a_key_as_its_base(void **state) {
  (void)state;
  static const char *const bases[] = {"base=cf", "base=vacuum"};
  for (size_t b = 0; b < 2; b++)
    for (size_t others = 0; others <= 3000; others += 3000) {
      besom_filter *f = make("scaling", bases[b], 1000, 1.0 / 1024, NULL);
      for (size_t i = 0; i < others; i++)
        assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
      uint64_t key = key_u64(MORE_MEMBERS, 0), copies = 0, bytes = stats_of(f).bytes, n = 0;
      uint64_t many[120];
      while (besom_insert_u64(f, key) == BESOM_OK) copies++;
      for (size_t i = 0; i < 120; i++) many[i] = key;
      assert_int_equal(copies, 8);
      assert_int_equal(besom_insert_many_u64(f, many, 120, NULL), BESOM_FULL);
      assert_int_equal(besom_insert_count(f, &key, sizeof key, 9), BESOM_FULL);
      assert_int_equal(besom_count_u64(f, key, &n), BESOM_OK);
      assert_int_equal(n, 8);
      assert_int_equal(stats_of(f).bytes, bytes);
      assert_holds(f, others);
      besom_free(f);
    }
}

static void long_chains_are_saved_and_opened(void **state) {
  (void)state;
  enum { KEYS = 5000 };
  static const char *const all_options[] = {NULL, "base=aqf", "base=bloom"};
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "chain.besom");
  for (size_t o = 0; o < 3; o++) {
    besom_filter *f = make("scaling", all_options[o], 1, 0.1, NULL), *copy = NULL, *mapped = NULL;
    for (size_t i = 0; i < KEYS; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
    assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
    assert_int_equal(besom_open(path.text, NULL, &copy), BESOM_OK);
    assert_int_equal(
        besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &mapped), BESOM_OK);
    assert_int_equal(besom_insert_u64(mapped, 1), BESOM_READ_ONLY);
    assert_holds(mapped, KEYS);
    for (size_t i = KEYS; i < 3 * KEYS; i++)
      assert_int_equal(besom_insert_u64(copy, key_u64(MEMBERS, i)), BESOM_OK);
    assert_holds(copy, 3 * KEYS);
    assert_true(wrong_answers(mapped, 20000) == wrong_answers(f, 20000));
    besom_free(f);
    besom_free(copy);
    besom_free(mapped);
  }
  temp_dir_remove(&dir);
}

/* Without memory for the next layer insert is NO_MEMORY, and the filter is unchanged. */
static void no_memory_for_a_layer_is_a_status(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 2; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    besom_filter *f = make("scaling", NULL, 50, 0.01, &memory.api);
    memory.fail_at = memory.calls + n;
    memory.fail_after = true;
    size_t in = 0;
    besom_status status;
    while ((status = besom_insert_u64(f, key_u64(MEMBERS, in))) == BESOM_OK) in++;
    assert_int_equal(status, BESOM_NO_MEMORY);
    assert_int_equal(stats_of(f).keys, in);
    assert_holds(f, in);
    uint64_t more[3] = {key_u64(MEMBERS, in), key_u64(MEMBERS, in + 1), key_u64(MEMBERS, in + 2)};
    size_t done = 9;
    assert_int_equal(besom_insert_many_u64(f, more, 3, &done), BESOM_NO_MEMORY);
    assert_int_equal(done, 0);
    memory.fail_at = 0;
    assert_int_equal(besom_insert_many_u64(f, more, 3, &done), BESOM_OK);
    assert_int_equal(done, 3);
    assert_holds(f, in + 3);
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* The chain can do what its base can; the registry lists only what every base can. */
static void a_chain_does_what_its_base_does(void **state) {
  (void)state;
  besom_filter *adaptive = make("scaling", "base=aqf", 100, 0.25, NULL),
               *plain = make("scaling", "base=bloom", 100, 0.25, NULL);
  uint64_t n = 0;
  for (size_t i = 0; i < 3000; i++) {
    assert_int_equal(besom_insert_u64(adaptive, key_u64(MEMBERS, i)), BESOM_OK);
    assert_int_equal(besom_insert_u64(plain, key_u64(MEMBERS, i)), BESOM_OK);
  }
  size_t fixed = 0;
  for (size_t i = 0; i < 60; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(adaptive, key)) continue;
    assert_int_equal(besom_adapt_u64(adaptive, key), BESOM_OK);
    assert_false(besom_contains_u64(adaptive, key));
    fixed++;
  }
  assert_true(fixed > 0 && counter_of(adaptive, "exceptions") >= fixed);
  assert_holds(adaptive, 3000);
  assert_int_equal(besom_insert_u64(adaptive, key_u64(MEMBERS, 0)),
                   BESOM_OK); /* into the newest layer, although an older one has it */
  assert_int_equal(besom_count_u64(adaptive, key_u64(MEMBERS, 0), &n), BESOM_OK);
  assert_true(n >= 2);
  uint64_t items = stats_of(plain).keys;
  for (size_t i = 0; i < 3000; i++)
    assert_int_equal(besom_insert_u64(plain, key_u64(MEMBERS, i)), BESOM_OK);
  assert_int_equal(stats_of(plain).keys, items);
  assert_int_equal(besom_count_u64(plain, 1, &n), BESOM_UNSUPPORTED);
  assert_int_equal(besom_adapt_u64(plain, 1), BESOM_OK);
  besom_free(adaptive);
  besom_free(plain);
}

/* ------------------------------------------------------------------ cached */

static size_t adapt_to(besom_filter *f, uint64_t stream, size_t queries, size_t universe) {
  random_stream random = {5};
  size_t wrong = 0;
  for (size_t i = 0; i < queries; i++) {
    /* The product of two uniform numbers: small ones are frequent. */
    uint64_t key = key_u64(stream, random_below(&random, 1 + random_below(&random, universe)));
    if (!besom_contains_u64(f, key)) continue;
    besom_status status = besom_adapt_u64(f, key);
    assert_true(status == BESOM_OK || status == BESOM_EVICTED);
    wrong++;
  }
  return wrong;
}

/* On skewed queries a cache avoids most false positives, topk at least as many as lru. */
static void a_cache_saves_repeated_mistakes(void **state) {
  (void)state;
  enum { KEYS = 5000, QUERIES = 200000, UNIVERSE = 20000 };
  static const char *const all_options[] = {
      "cache_bits=60000,cache=lru", "cache=topk,cache_bits=60000", "cache_bits=60000,base=bloom",
      "base=blocked-bloom,cache_bits=60000"};
  uint64_t *keys = keys_u64(MEMBERS, KEYS);
  for (size_t o = 0; o < 4; o++) {
    besom_filter *f = make("cached", all_options[o], KEYS, 1.0 / 16, NULL);
    assert_int_equal(besom_insert_many_u64(f, keys, KEYS, NULL), BESOM_OK);
    double without = QUERIES * stats_of(f).expected_fpr;
    assert_true((double)adapt_to(f, NEGATIVES, QUERIES, UNIVERSE) < 0.6 * without);
    assert_holds(f, KEYS);
    besom_free(f);
  }
  free(keys);
}

static void the_bits_of_a_cache_are_counted(void **state) {
  (void)state;
  enum { KEYS = 10000 };
  static const uint64_t cache_bits[] = {1280, 20000, 200000};
  besom_filter *bare = make("qf", NULL, KEYS, 0.01, NULL);
  for (size_t i = 0; i < 3; i++) {
    char options[40];
    snprintf(options, sizeof options, "cache_bits=%llu", (unsigned long long)cache_bits[i]);
    besom_filter *f = make("cached", options, KEYS, 0.01, NULL);
    uint64_t more = 8 * (stats_of(f).bytes - stats_of(bare).bytes);
    assert_true(more <= cache_bits[i] + 8 * 512 && more > cache_bits[i] - 1280);
    besom_free(f);
  }
  besom_free(bare);
}

/* A cache in front of a chain of filters: two levels in one file. */
static void layers_can_be_nested(void **state) {
  (void)state;
  enum { KEYS = 3000 };
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "nested.besom");
  besom_filter *f = make("cached", "base=scaling,cache_bits=50000", 10, 0.1, NULL), *copy = NULL,
               *mapped = NULL;
  for (size_t i = 0; i < KEYS; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  adapt_to(f, NEGATIVES, 1000, 1000);
  assert_true(counter_of(f, "exceptions") > 0);
  assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
  assert_int_equal(besom_open(path.text, NULL, &copy), BESOM_OK);
  assert_int_equal(besom_open(path.text,
                              &(besom_open_options){.flags = BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED},
                              &mapped),
                   BESOM_OK);
  const besom_filter *same[] = {f, copy, mapped};
  for (size_t i = 0; i < 3; i++) {
    assert_holds(same[i], KEYS);
    assert_int_equal(counter_of(same[i], "exceptions"), counter_of(f, "exceptions"));
    assert_true(wrong_answers(same[i], 3000) == wrong_answers(f, 3000));
    uint64_t n;
    assert_int_equal(besom_count_u64(same[i], key_u64(MEMBERS, 1), &n), BESOM_OK);
    assert_true(n >= 1);
  }
  assert_int_equal(besom_remove_u64(copy, key_u64(MEMBERS, 0)), BESOM_OK);
  besom_free(f);
  besom_free(copy);
  besom_free(mapped);
  temp_dir_remove(&dir);
}

/* The statistics of the layers add up to those of the whole. */
static void layers_have_statistics_of_their_own(void **state) {
  (void)state;
  static const char *const kinds[] = {"scaling", "cached"};
  for (size_t k = 0; k < 2; k++) {
    besom_filter *f = make(kinds[k], NULL, k ? 5000 : 10, 0.1, NULL);
    for (size_t i = 0; i < 3000; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
    uint64_t keys = 0, slots = 0;
    size_t n = 0;
    for (; besom_layer(f, n); n++) {
      besom_statistics layer = stats_of(besom_layer(f, n));
      assert_string_equal(layer.kind, "qf");
      keys += layer.keys;
      slots += layer.slots;
    }
    assert_true(k ? n == 1 : n > 5);
    assert_int_equal(keys, stats_of(f).keys);
    assert_int_equal(slots, stats_of(f).slots);
    assert_null(besom_layer(f, SIZE_MAX));
    besom_free(f);
  }
  besom_filter *plain = make("qf", NULL, 10, 0.1, NULL);
  assert_null(besom_layer(plain, 0));
  assert_null(besom_layer(NULL, 0));
  besom_free(plain);
}

static void impossible_bases_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *kind, *options;
  } bad[] = {
      {"scaling", "base=scaling"},
      {"scaling", "base=fuse"},
      {"scaling", "base=none"},
      {"scaling", "base=a-name-that-is-longer-than-any-kind"},
      {"scaling", "base=bloom,heads=no"},
      {"scaling", "isa=portable,isa=portable,isa=portable,isa=portable,isa=portable,isa=portable"},
      {"scaling", "cache=lru"},
      {"cached", "base=cached"},
      {"cached", "base=fuse"},
      {"cached", "cache=fifo"},
      {"cached", "cache_bits=0"},
      {"cached", "cache_bits=12x"},
      {"cached", "cache_bits=99999999999999999999999"},
      {"cached", "base=qf,heads=maybe"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_filter *f = NULL;
    besom_config config = {.kind = bad[i].kind, .options = bad[i].options, .capacity = 10};
    if (besom_create(&config, &f) != BESOM_BAD_OPTION)
      fail_msg("%s with %s", bad[i].kind, bad[i].options);
    assert_null(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_keeps_the_rate_however_long_it_gets),
      cmocka_unit_test(a_chain_holds_as_many_copies_of_a_key_as_its_base),
      cmocka_unit_test(long_chains_are_saved_and_opened),
      cmocka_unit_test(no_memory_for_a_layer_is_a_status),
      cmocka_unit_test(a_chain_does_what_its_base_does),
      cmocka_unit_test(a_cache_saves_repeated_mistakes),
      cmocka_unit_test(the_bits_of_a_cache_are_counted),
      cmocka_unit_test(layers_can_be_nested),
      cmocka_unit_test(layers_have_statistics_of_their_own),
      cmocka_unit_test(impossible_bases_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
