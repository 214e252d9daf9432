/*
 * aqf at its limits. Keys whose quotients are all at the end of the table fill the slots there long
 * before the filter has its capacity: a call that then returns FULL leaves the filter as it was. A
 * lower limit for reports, merging reports without memory, values of keys that an exception denies,
 * several tombstones of one key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/counters.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/saved_filters.h"
#include "support/u64_forms.h"

enum { SLOTS = 4096, LAST = SLOTS / 8, MOST_KEYS = 4000 };

static besom_filter *make(unsigned width) {
  static const uint8_t seed[16] = "at the end";
  besom_config config = {.kind = "aqf", .slots = SLOTS, .width = width, .seed = seed};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

/* The next key whose quotient is among the last ones. */
static uint64_t next_key(const besom_filter *f, uint64_t *i) {
  const uint64_t first = UINT64_MAX - UINT64_MAX / SLOTS * LAST;
  uint64_t key;
  do key = key_u64(MEMBERS, (*i)++);
  while (besom_hash_u64(f, key).hi < first);
  return key;
}

static void assert_unchanged(const besom_filter *f, const besom_filter *before,
                             const uint64_t *keys, unsigned n) {
  assert_same_bytes(f, before);
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  for (unsigned i = 0; i < n; i++) assert_true(besom_contains_u64(f, keys[i]));
}

/* Inserts single keys, then keys with this count, until one does not fit. */
static void fill_with_counts(unsigned width, unsigned singles, uint64_t count) {
  static uint64_t keys[MOST_KEYS];
  besom_filter *f = make(width), *before = NULL;
  besom_status status = BESOM_OK;
  besom_statistics stats;
  uint64_t at = 0;
  unsigned n = 0;
  while (status == BESOM_OK) {
    uint64_t key = next_key(f, &at);
    besom_free(before);
    before = n < 200 ? NULL : loaded_copy(f); /* the slots at the end are more than that */
    status = insert_count_u64(f, key, n < singles ? 1 : count);
    if (status == BESOM_OK) keys[n++] = key;
  }
  assert_int_equal(status, BESOM_FULL);
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_true(stats.load_factor < 0.8); /* it is the end that is full */
  assert_unchanged(f, before, keys, n);
  besom_free(before);
  besom_free(f);
}

static void a_count_that_does_not_fit_changes_nothing(void **state) {
  (void)state;
  for (unsigned width = 2; width <= 8; width *= 2)
    for (unsigned singles = 0; singles < 3; singles++)
      for (uint64_t count = 2; count <= 4; count++) fill_with_counts(width, singles, count);
}

/* Both fit, but not into one table, although it has the capacity. */
static void a_merge_that_does_not_fit_at_the_end_is_full(void **state) {
  (void)state;
  for (unsigned width = 4; width <= 8; width += 4) {
    besom_filter *a = make(width), *b = make(width), *both = NULL;
    uint64_t at = 0, keys[2][MOST_KEYS / 4];
    for (unsigned i = 0; i < MOST_KEYS / 4; i++)
      for (unsigned k = 0; k < 2; k++) {
        keys[k][i] = next_key(a, &at);
        assert_int_equal(besom_insert_u64(k ? b : a, keys[k][i]), BESOM_OK);
      }
    assert_int_equal(besom_merge(a, b, &both), BESOM_FULL);
    assert_null(both);
    for (unsigned i = 0; i < MOST_KEYS / 4; i++)
      assert_true(besom_contains_u64(a, keys[0][i]) && besom_contains_u64(b, keys[1][i]));
    besom_free(a);
    besom_free(b);
  }
}

/* ------------------------------------------------------------------ exceptions */

enum { REPORTS = 100, FEWER = 10 };

static besom_filter *make_full_of(unsigned keys, besom_config config) {
  static const uint8_t seed[16] = "reports";
  besom_filter *f = NULL;
  config.kind = "aqf";
  config.seed = seed;
  config.slots = 1024;
  config.width = 4;
  config.reserve = 0.2;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < keys; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  return f;
}

/* The next absent key that is answered yes. */
static uint64_t next_false_positive(const besom_filter *f, uint64_t *i) {
  while (!besom_contains_u64(f, key_u64(NEGATIVES, *i))) ++*i;
  return key_u64(NEGATIVES, (*i)++);
}

/* They stay until the next report; if the filter forgets, that one drops them. */
static void reports_above_a_lower_limit(void **state) {
  (void)state;
  for (unsigned forget = 0; forget < 2; forget++) {
    besom_filter *f = make_full_of(700, (besom_config){0});
    uint64_t at = 0, fixed[REPORTS];
    assert_int_equal(besom_set_reserve(f, REPORTS, false), BESOM_OK);
    for (unsigned i = 0; i < REPORTS; i++) {
      fixed[i] = next_false_positive(f, &at);
      assert_int_equal(besom_adapt_u64(f, fixed[i]), BESOM_OK);
    }
    assert_int_equal(besom_set_reserve(f, FEWER, forget), BESOM_OK);
    assert_int_equal(counter_of(f, "exceptions"), REPORTS);
    for (unsigned i = 0; i < REPORTS; i++) assert_false(besom_contains_u64(f, fixed[i]));
    uint64_t one_more = next_false_positive(f, &at);
    assert_int_equal(besom_adapt_u64(f, one_more), forget ? BESOM_EVICTED : BESOM_RESERVE_FULL);
    assert_int_equal(besom_contains_u64(f, one_more), !forget);
    assert_int_equal(counter_of(f, "exceptions"), forget ? FEWER : REPORTS);
    assert_int_equal(besom_validate(f, NULL), BESOM_OK);
    for (uint64_t i = 0; i < 700; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
    besom_free(f);
  }
}

/* Whichever allocation of a merge fails, and optionally all after it: nothing is forgotten. */
static void assert_merges_wholly_or_not(const besom_filter *f, const besom_filter *empty,
                                        failing_allocator *memory, bool fail_after) {
  besom_status status = BESOM_NO_MEMORY;
  for (uint64_t n = 1; status != BESOM_OK; n++) {
    besom_filter *both = NULL;
    memory->fail_at = memory->calls + n;
    memory->fail_after = fail_after;
    status = besom_merge(f, empty, &both);
    bool failed = memory->calls >= memory->fail_at;
    memory->fail_at = 0;
    assert_int_equal(status, failed ? BESOM_NO_MEMORY : BESOM_OK);
    if (!failed) assert_int_equal(counter_of(both, "exceptions"), REPORTS);
    besom_free(both);
  }
}

static void a_merge_without_memory_forgets_no_report(void **state) {
  (void)state;
  static const struct {
    const char *kind, *options;
  } cases[] = {{"aqf", "max_exceptions=1000"},
               {"aqf", "max_exceptions=1000,forget=yes"},
               {"scaling", "base=aqf,max_exceptions=1000"},
               {"scaling", "base=aqf,max_exceptions=1000,forget=yes"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    besom_config config = {.kind = cases[i].kind,
                           .options = cases[i].options,
                           .seed = (const uint8_t *)"merged reports..",
                           .capacity = 700,
                           .fpr = 0.1,
                           .allocator = &memory.api};
    besom_filter *f = NULL, *empty = NULL;
    uint64_t at = 0;
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    assert_int_equal(besom_create_like(f, &empty), BESOM_OK);
    for (uint64_t k = 0; k < 600; k++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, k)), BESOM_OK);
    for (unsigned k = 0; k < REPORTS; k++)
      assert_int_equal(besom_adapt_u64(f, next_false_positive(f, &at)), BESOM_OK);
    for (int fail_after = 0; fail_after < 2; fail_after++)
      assert_merges_wholly_or_not(f, empty, &memory, fail_after);
    besom_free(f);
    besom_free(empty);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* A key that is denied has no value, although a fingerprint matches it. */
static void a_denied_key_has_no_value(void **state) {
  (void)state;
  besom_filter *f = make_full_of(700, (besom_config){.value_bits = 4});
  uint64_t at = 0, value = 0, copies = 0;
  for (unsigned i = 0; i < FEWER; i++) {
    besom_u64_key key = besom_u64(next_false_positive(f, &at));
    assert_int_equal(besom_get_value(f, key.bytes, 8, &value), BESOM_OK);
    assert_int_equal(besom_adapt(f, key.bytes, 8), BESOM_OK);
    assert_int_equal(besom_get_value(f, key.bytes, 8, &value), BESOM_NOT_FOUND);
    assert_int_equal(besom_set_value(f, key.bytes, 8, 1), BESOM_NOT_FOUND);
    assert_int_equal(besom_count(f, key.bytes, 8, &copies), BESOM_OK);
    assert_int_equal(copies, 0);
    assert_int_equal(besom_remove(f, key.bytes, 8), BESOM_NOT_FOUND);
    besom_match match;
    size_t matches = 1;
    besom_digest d = besom_hash(f, key.bytes, 8);
    assert_int_equal(besom_matches(f, d, &match, 1, &matches), BESOM_OK);
    assert_int_equal(matches, 0);
  }
  besom_free(f);
}

/* ------------------------------------------------------------------ tombstones */

/*
 * Members whose digests begin with the same bits leave tombstones of different lengths, which all
 * match the next key. It revives the longest, so that as many fixes as possible stay.
 */
static void a_key_revives_the_longest_tombstone(void **state) {
  (void)state;
  for (unsigned longest_first = 0; longest_first < 2; longest_first++) {
    besom_filter *f = make_full_of(0, (besom_config){.options = "tombstones=yes"});
    const besom_digest key = {UINT64_C(1) << 62, UINT64_C(1) << 63};
    for (unsigned i = 0; i < 3; i++) {
      unsigned far = 4 * (longest_first ? 3 - i : 1 + i); /* bits up to where they differ */
      besom_digest offender = {key.hi, key.lo ^ UINT64_C(1) << (63 - far)};
      besom_match match;
      assert_int_equal(besom_insert_at(f, key, 0, &match), BESOM_OK);
      assert_int_equal(besom_adapt_at(f, offender, &match, key), BESOM_OK);
    }
    uint64_t extended = counter_of(f, "extended");
    for (unsigned i = 0; i < 3; i++) assert_int_equal(besom_remove_digest(f, key), BESOM_OK);
    assert_int_equal(counter_of(f, "tombstones"), extended);
    for (unsigned i = 0; i < 3; i++) {
      assert_int_equal(besom_insert_digest(f, key), BESOM_OK);
      assert_true(besom_contains_digest(f, key));
      besom_digest fixed = {key.hi, key.lo ^ UINT64_C(1) << (63 - 12)};
      if (i == 0) assert_false(besom_contains_digest(f, fixed));
      assert_int_equal(besom_validate(f, NULL), BESOM_OK);
    }
    besom_free(f);
  }
}

static void the_option_max_exceptions_has_a_range(void **state) {
  (void)state;
  static const struct {
    const char *options;
    besom_status status;
  } cases[] = {{"max_exceptions=1", BESOM_OK},
               {"max_exceptions=1000", BESOM_OK},
               {"max_exceptions=0", BESOM_BAD_OPTION},
               {"max_exceptions=2000000000000", BESOM_BAD_OPTION}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_config config = {.kind = "aqf", .capacity = 100, .options = cases[i].options};
    besom_filter *f = NULL;
    assert_int_equal(besom_create(&config, &f), cases[i].status);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_count_that_does_not_fit_changes_nothing),
      cmocka_unit_test(a_merge_that_does_not_fit_at_the_end_is_full),
      cmocka_unit_test(reports_above_a_lower_limit),
      cmocka_unit_test(a_merge_without_memory_forgets_no_report),
      cmocka_unit_test(a_denied_key_has_no_value),
      cmocka_unit_test(a_key_revives_the_longest_tombstone),
      cmocka_unit_test(the_option_max_exceptions_has_a_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
