/* besom_config_check: what besom_create would refuse, and a sentence that names the member. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/keys.h"

enum { TEXT_BYTES = 200, MAX_KEYS = 2000 };

#define TOO_MANY ((UINT64_C(1) << 44) + 1)

/* Checks the configuration: the status must be this, and the sentence must contain the word. */
static void assert_refused(const besom_config *config, besom_status expected, const char *word) {
  char text[TEXT_BYTES];
  memset(text, 'x', sizeof text);
  besom_status status = besom_config_check(config, text, sizeof text);
  if (status != expected)
    fail_msg("%s: %s instead of %s", word, besom_strerror(status), besom_strerror(expected));
  assert_non_null(memchr(text, 0, sizeof text));
  if (!strstr(text, word)) fail_msg("\"%s\" does not name %s", text, word);
  assert_true(strlen(text) < TEXT_BYTES - 1); /* it was not cut */
  assert_null(strchr(text, '\n'));
  assert_int_not_equal(text[strlen(text) - 1], '.');
  assert_int_equal(besom_config_check(config, NULL, 0), expected);
  besom_filter *f = NULL;
  assert_int_equal(besom_create(config, &f), expected);
  assert_null(f);
}

static void assert_accepted(const besom_config *config) {
  char text[TEXT_BYTES] = "something";
  if (besom_config_check(config, text, sizeof text) != BESOM_OK)
    fail_msg("%s: %s", config->kind, text);
  assert_string_equal(text, "");
  assert_int_equal(besom_config_check(config, NULL, 0), BESOM_OK);
}

/* ------------------------------------------------------------------ members of any kind */

static void *no_memory(void *ctx, size_t size) {
  (void)ctx, (void)size;
  return NULL;
}

/* aqf takes every member. */
static void a_member_out_of_range_is_named(void **state) {
  (void)state;
  static const besom_allocator no_release = {.allocate = no_memory}, nothing = {NULL, NULL, NULL};
  const struct {
    const char *member;
    besom_config config;
  } bad[] = {
      {"capacity", {.fpr = 0.01}},
      {"capacity", {.capacity = TOO_MANY}},
      {"capacity", {.capacity = UINT64_MAX}},
      {"max_capacity", {.capacity = 10, .max_capacity = TOO_MANY}},
      {"max_capacity", {.capacity = 10, .max_capacity = 9}},
      {"fpr", {.capacity = 10, .fpr = -0.1}},
      {"fpr", {.capacity = 10, .fpr = 1}},
      {"fpr", {.capacity = 10, .fpr = NAN}},
      {"fpr", {.capacity = 10, .fpr = INFINITY}},
      {"bits_per_key", {.capacity = 10, .bits_per_key = -1}},
      {"bits_per_key", {.capacity = 10, .bits_per_key = 1025}},
      {"bits_per_key", {.capacity = 10, .bits_per_key = NAN}},
      {"bits_per_key", {.capacity = 10, .bits_per_key = 10, .fpr = 0.1}},
      {"slots", {.slots = TOO_MANY, .width = 8}},
      {"slots", {.slots = 100, .width = 8, .capacity = 10}},
      {"slots", {.slots = 100, .width = 8, .max_capacity = 10}},
      {"slots", {.slots = 100, .width = 8, .bits_per_key = 10}},
      {"width", {.slots = 100, .width = 65}},
      {"width", {.capacity = 100, .width = 8}},
      {"value_bits", {.capacity = 10, .value_bits = 33}},
      {"value_bits", {.capacity = 10, .value_bits = UINT32_MAX}},
      {"reserve", {.capacity = 10, .reserve = -0.1}},
      {"reserve", {.capacity = 10, .reserve = 0.51}},
      {"reserve", {.capacity = 10, .reserve = NAN}},
      {"no_capacity", {.capacity = 10, .no_capacity = TOO_MANY}},
      {"flags", {.capacity = 10, .flags = BESOM_SET << 1}},
      {"set", {.capacity = 10, .flags = BESOM_SET | BESOM_CONCURRENT}},
      {"repeated", {.capacity = 10, .flags = BESOM_SET, .repeated = 0.5}},
      {"flags", {.capacity = 10, .flags = UINT32_MAX}},
      {"allocator", {.capacity = 10, .allocator = &nothing}},
      {"allocator", {.capacity = 10, .allocator = &no_release}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_config config = bad[i].config;
    config.kind = "aqf";
    assert_refused(&config, BESOM_INVALID, bad[i].member);
  }
}

static void a_missing_or_unknown_kind_is_named(void **state) {
  (void)state;
  char longest[500];
  memset(longest, 'k', sizeof longest);
  longest[sizeof longest - 1] = 0;
  assert_refused(&(besom_config){.capacity = 10}, BESOM_INVALID, "kind");
  assert_refused(&(besom_config){.kind = "", .capacity = 10}, BESOM_UNKNOWN_KIND, "kind");
  assert_refused(&(besom_config){.kind = "aqff", .capacity = 10}, BESOM_UNKNOWN_KIND, "aqff");
  assert_refused(&(besom_config){.kind = longest, .capacity = 10}, BESOM_UNKNOWN_KIND, "kkkk");
}

static void an_unknown_hash_or_option_is_named(void **state) {
  (void)state;
  char longest[500], long_value[700] = "colour=";
  char named[250] = "colour=";
  memset(longest, 'o', sizeof longest);
  longest[sizeof longest - 1] = 0;
  memset(long_value + 7, 'r', sizeof long_value - 8);
  memset(named + 7, 'r', sizeof named - 8);
  const struct {
    const char *word;
    besom_config config;
  } bad[] = {
      {"hash", {.kind = "aqf", .hash = "md5"}},
      {"option \"colour=", {.kind = "aqf", .options = named}},
      {"option \"colour=rrrrrr", {.kind = "aqf", .options = long_value}},
      {"md5", {.kind = "aqf", .hash = "md5"}},
      {"hash", {.kind = "bloom", .hash = ""}},
      {"hash", {.kind = "bloom", .hash = longest}},
      {"colour", {.kind = "aqf", .options = "colour=red"}},
      {"isa", {.kind = "aqf", .options = "isa=abacus"}},
      {"colour", {.kind = "aqf", .options = "isa=portable,colour=red"}},
      {"colour", {.kind = "bloom", .options = "colour=red"}},
      {"cache_bits", {.kind = "cached", .options = "base=bloom,cache_bits=0"}},
      {"base", {.kind = "scaling", .options = "base=fuse"}},
      {"options", {.kind = "aqf", .options = "="}},
      {"options", {.kind = "aqf", .options = "isa"}},
      {"options", {.kind = "aqf", .options = longest}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_config config = bad[i].config;
    config.capacity = 100;
    assert_refused(&config, BESOM_BAD_OPTION, bad[i].word);
  }
}

/* ------------------------------------------------------------------ members that a kind refuses */

static void what_a_kind_does_not_take_is_named(void **state) {
  (void)state;
  const struct {
    const char *word;
    besom_config config;
  } bad[] = {
      {"value_bits", {.kind = "bloom", .capacity = 100, .value_bits = 3}},
      {"slots", {.kind = "bloom", .slots = 1000}},
      {"width", {.kind = "aqf", .slots = 1000, .width = 1}},
      {"fpr", {.kind = "cf", .capacity = 100, .fpr = 1e-300}},
      {"bits_per_key", {.kind = "qf", .capacity = 1000, .bits_per_key = 0.5}},
      {"more than 1024", {.kind = "qf", .capacity = 1, .bits_per_key = 5}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_refused(&bad[i].config, BESOM_INVALID, bad[i].word);
  assert_refused(&(besom_config){.kind = "bloom", .capacity = 9, .flags = BESOM_CONCURRENT},
                 BESOM_UNSUPPORTED, "bloom");
  assert_refused(&(besom_config){.kind = "taf", .capacity = 9, .flags = BESOM_SET},
                 BESOM_UNSUPPORTED, "set");
}

/* A large filter is not made: the check takes no memory of that size. */
static void every_kind_accepts_the_usual_config(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++) {
    const char *kind = besom_kinds(i)->name;
    assert_accepted(&(besom_config){.kind = kind, .capacity = 1});
    assert_accepted(&(besom_config){.kind = kind, .capacity = 1000, .fpr = 0.01});
    assert_accepted(&(besom_config){.kind = kind, .capacity = UINT64_C(1) << 38, .fpr = 0.01});
    assert_accepted(&(besom_config){.kind = kind, .capacity = 1000, .bits_per_key = 40});
    assert_accepted(&(besom_config){.kind = kind, .capacity = 1000, .hash = "sip"});
  }
}

static besom_config random_config(random_stream *random) {
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  besom_config c = {.kind = besom_kinds(random_below(random, kinds))->name};
  if (random_below(random, 3))
    c.capacity = 1 + random_below(random, MAX_KEYS);
  else
    c.slots = 1 + random_below(random, MAX_KEYS), c.width = (uint32_t)random_below(random, 70);
  if (random_below(random, 3) == 0) c.fpr = ldexp(1, -(int)random_below(random, 70));
  if (random_below(random, 4) == 0) c.bits_per_key = (double)random_below(random, 400) / 10;
  if (random_below(random, 4) == 0) c.max_capacity = random_below(random, 10 * MAX_KEYS);
  if (random_below(random, 6) == 0) c.value_bits = (uint32_t)random_below(random, 36);
  if (random_below(random, 6) == 0) c.reserve = (double)random_below(random, 60) / 100;
  if (random_below(random, 8) == 0) c.no_capacity = random_below(random, 100);
  if (random_below(random, 8) == 0) c.flags = BESOM_CONCURRENT;
  if (random_below(random, 8) == 0) c.flags = BESOM_SET;
  static const char *const options[] = {"isa=portable", "heads=no", "tombstones=yes", "base=qf"};
  if (random_below(random, 8) == 0) c.options = options[random_below(random, 4)];
  return c;
}

typedef struct counted_keys {
  uint64_t at, n, key;
} counted_keys;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  counted_keys *k = ctx;
  (void)weight;
  if (k->at == k->n) return BESOM_END;
  k->key = little_endian(key_u64(MEMBERS, k->at++));
  *key = (besom_bytes){&k->key, sizeof k->key};
  return BESOM_OK;
}

static besom_status first_key(void *ctx) {
  ((counted_keys *)ctx)->at = 0;
  return BESOM_OK;
}

/* Kinds that can only be built are built of as many keys as they may hold. */
static besom_status make(const besom_config *config, bool *built) {
  counted_keys keys = {.n = config->capacity ? config->capacity : config->slots / 2};
  const besom_source yes = {.next = next_key, .rewind = first_key, .ctx = &keys};
  besom_filter *f = NULL;
  besom_status status = besom_create(config, &f);
  *built = status == BESOM_UNSUPPORTED && !(config->flags & BESOM_CONCURRENT);
  if (*built) status = besom_build(config, &(besom_input){.yes = &yes}, &f);
  besom_free(f);
  return status;
}

/*
 * The check returns what create returns; if two things are wrong, one of them. A build may fail for
 * other reasons, but what can be built is accepted.
 */
static bool agree(besom_status check, besom_status made, bool built, const besom_config *config) {
  if (built) return check == BESOM_OK || made != BESOM_OK;
  if (config->flags & BESOM_CONCURRENT) return (check == BESOM_OK) == (made == BESOM_OK);
  return check == made;
}

static void the_check_says_what_create_returns(void **state) {
  (void)state;
  random_stream random = {11};
  unsigned accepted = 0, refused = 0;
  for (unsigned i = 0; i < 4000; i++) {
    besom_config c = random_config(&random);
    char text[TEXT_BYTES];
    bool built;
    besom_status status = besom_config_check(&c, text, sizeof text), made = make(&c, &built);
    if (!agree(status, made, built, &c))
      fail_msg("%s, %u keys, %u slots, width %u, fpr %g, %g bits, %s: %s (%s), but %s", c.kind,
               (unsigned)c.capacity, (unsigned)c.slots, c.width, c.fpr, c.bits_per_key,
               c.options ? c.options : "", besom_strerror(status), text, besom_strerror(made));
    *(status == BESOM_OK ? &accepted : &refused) += 1;
    assert_int_equal(strlen(text) == 0, status == BESOM_OK);
  }
  assert_true(accepted > 500 && refused > 500);
}

static void assert_refused_with(besom_config config, const char *options) {
  char text[TEXT_BYTES];
  bool built;
  config.options = options;
  assert_int_not_equal(make(&config, &built), BESOM_OK);
  assert_int_not_equal(besom_config_check(&config, text, sizeof text), BESOM_OK);
}

/* Also if the budget leaves no filter that would read the option. */
static void unknown_options_are_refused(void **state) {
  (void)state;
  static const double bits[] = {2, 4, 6, 12, 40};
  for (size_t i = 0; besom_kinds(i); i++)
    for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
      besom_config config = {
          .kind = besom_kinds(i)->name, .capacity = 1500, .bits_per_key = bits[b]};
      assert_refused_with(config, "nonsense=1");
      for (size_t base = 0; besom_kinds(base); base++) {
        char options[80];
        snprintf(options, sizeof options, "base=%s,nonsense=1", besom_kinds(base)->name);
        assert_refused_with(config, options);
      }
    }
}

/*
 * besom.h promises a sentence of 200 bytes at most. It names the wrong option, of every kind, also
 * if it ends a list of options that are right.
 */
static void wrong_options_are_named_in_200_bytes(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++) {
    const char *kind = besom_kinds(i)->name;
    const besom_option_info *o;
    for (size_t k = 0; (o = besom_kind_option(kind, k)); k++) {
      if (o->type == BESOM_OPTION_TEXT) continue;
      char options[200], text[2 * TEXT_BYTES];
      snprintf(options, sizeof options, "forget=yes,%s=%070d", o->name, 0);
      if (o->type == BESOM_OPTION_NUMBER && !o->least) strcat(options, "x");
      besom_config config = {.kind = kind, .capacity = 100, .options = options};
      assert_int_equal(besom_config_check(&config, text, sizeof text), BESOM_BAD_OPTION);
      snprintf(options, sizeof options, "option \"%s=000", o->name);
      if (!strstr(text, options) || !strstr(text, kind) || strlen(text) >= TEXT_BYTES)
        fail_msg("%zu bytes: %s", strlen(text), text);
    }
    char unknown[100], text[2 * TEXT_BYTES];
    snprintf(unknown, sizeof unknown, "unknown=%050d", 0);
    besom_config config = {.kind = kind, .capacity = 100, .options = unknown};
    assert_int_equal(besom_config_check(&config, text, sizeof text), BESOM_BAD_OPTION);
    if (!strstr(text, "\"unknown=0") || strlen(text) >= TEXT_BYTES)
      fail_msg("%zu bytes: %s", strlen(text), text);
  }
}

/* What besom_kind_option tells, the kind accepts: every word, and the ends of every range. */
static void assert_accepted_option(const char *kind, const char *name, const char *value) {
  char options[200], text[TEXT_BYTES];
  snprintf(options, sizeof options, "%s=%s", name, value);
  besom_config config = {.kind = kind, .capacity = 100000, .value_bits = 0, .options = options};
  besom_status status = besom_config_check(&config, text, sizeof text);
  bool needs_others = strstr(options, "maplet=yes") || strstr(text, "needs");
  if (status != BESOM_OK && !needs_others) fail_msg("%s: %s: %s", kind, options, text);
}

static void assert_accepted_words(const char *kind, const besom_option_info *o) {
  char words[200], *word = words;
  snprintf(words, sizeof words, "%s", o->words);
  for (char *end; word; word = end) {
    if ((end = strchr(word, ','))) *end = 0, end += 2;
    bool may_lack = strcmp(o->name, "isa") == 0 && strcmp(word, "portable") != 0;
    if (!may_lack) assert_accepted_option(kind, o->name, word);
  }
}

static void every_kind_accepts_what_its_table_tells(void **state) {
  (void)state;
  size_t options = 0, common = 0;
  for (size_t i = 0; besom_kinds(i); i++) {
    const besom_option_info *o;
    for (size_t k = 0; (o = besom_kind_option(besom_kinds(i)->name, k)); k++, options++) {
      char number[32];
      assert_true(o->meaning && *o->meaning);
      if (o->words) {
        assert_accepted_words(besom_kinds(i)->name, o);
      } else if (o->type <= BESOM_OPTION_POWER) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)o->least);
        assert_accepted_option(besom_kinds(i)->name, o->name, number);
        snprintf(number, sizeof number, "%llu", (unsigned long long)o->most);
        if (o->most < UINT64_MAX) assert_accepted_option(besom_kinds(i)->name, o->name, number);
      }
    }
  }
  assert_true(options >= 30);
  while (besom_kind_option(NULL, common)) common++;
  assert_int_equal(common, 3);
  assert_null(besom_kind_option("nothing", 0));
  assert_null(besom_kind_option("aqf", 5));
}

/* ------------------------------------------------------------------ buffers and sizes */

static void the_sentence_is_cut_to_the_buffer(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = 10, .fpr = 2};
  char whole[TEXT_BYTES], part[TEXT_BYTES];
  assert_int_equal(besom_config_check(&config, whole, sizeof whole), BESOM_INVALID);
  for (size_t size = 1; size <= strlen(whole) + 1; size++) {
    memset(part, 'x', sizeof part);
    assert_int_equal(besom_config_check(&config, part, size), BESOM_INVALID);
    assert_int_equal(strlen(part), size - 1);
    assert_memory_equal(part, whole, size - 1);
    assert_int_equal(part[size], 'x');
  }
  assert_int_equal(besom_config_check(&config, NULL, 10), BESOM_INVALID);
  config.fpr = 0.1;
  assert_int_equal(besom_config_check(&config, NULL, 10), BESOM_INVALID);
  assert_int_equal(besom_config_check(NULL, whole, sizeof whole), BESOM_INVALID);
  assert_string_equal(whole, "config is NULL");
  assert_int_equal(besom_config_check(NULL, NULL, 0), BESOM_INVALID);
}

/* Members that the caller's struct does not have are not read: they are their default. */
static void a_shorter_config_is_read_as_far_as_it_goes(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = 100, .flags = UINT32_MAX};
  besom_filter *f = NULL;
  size_t size = offsetof(besom_config, flags);
  assert_int_equal(besom_config_check_sized(&config, size, NULL, 0), BESOM_OK);
  assert_int_equal(besom_config_check_sized(&config, sizeof config, NULL, 0), BESOM_INVALID);
  assert_int_equal(besom_create_sized(&config, size, &f), BESOM_OK);
  besom_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_member_out_of_range_is_named),
      cmocka_unit_test(a_missing_or_unknown_kind_is_named),
      cmocka_unit_test(an_unknown_hash_or_option_is_named),
      cmocka_unit_test(what_a_kind_does_not_take_is_named),
      cmocka_unit_test(every_kind_accepts_the_usual_config),
      cmocka_unit_test(the_check_says_what_create_returns),
      cmocka_unit_test(unknown_options_are_refused),
      cmocka_unit_test(wrong_options_are_named_in_200_bytes),
      cmocka_unit_test(every_kind_accepts_what_its_table_tells),
      cmocka_unit_test(the_sentence_is_cut_to_the_buffer),
      cmocka_unit_test(a_shorter_config_is_read_as_far_as_it_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
