/*
 * aqf at its limits: keys whose quotients are all at the end of the table fill the slots there long
 * before the filter has its capacity. A call that then returns FULL leaves the filter as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/keys.h"
#include "support/saved_filters.h"

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

static besom_status insert_count(besom_filter *f, uint64_t key, uint64_t n) {
  besom_u64_key bytes = besom_u64(key);
  return besom_insert_count(f, bytes.bytes, sizeof bytes.bytes, n);
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
    status = insert_count(f, key, n < singles ? 1 : count);
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_count_that_does_not_fit_changes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
