/*
 * Reports of keys with several candidates, when old reports are forgotten for them: none of the
 * candidates comes back before the next report.
 */
#include "besom_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/keys.h"

enum { PAIRS = 400, VALUES_PER_KEY = 3, REPORTS = 20000, KEYS = 300, ROOM = 64 };

static void assert_status(besom_status expected, besom_status actual) {
  if (expected != actual)
    fail_msg("%s instead of %s", besom_strerror(actual), besom_strerror(expected));
}

/* Narrow remainders: many absent keys have three candidates or more. */
static besom_filter *narrow_maplet(unsigned most) {
  static const uint8_t seed[16] = {1};
  char options[64];
  snprintf(options, sizeof options, "maplet=yes,forget=yes,max_exceptions=%u", most);
  besom_config config = {.kind = "aqf",
                         .options = options,
                         .slots = PAIRS + PAIRS / 4,
                         .width = 2,
                         .value_bits = 8,
                         .seed = seed};
  besom_filter *f;
  assert_status(BESOM_OK, besom_create(&config, &f));
  for (uint64_t i = 0; i < PAIRS; i++) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, i / VALUES_PER_KEY));
    assert_status(BESOM_OK, besom_insert_value(f, key.bytes, 8, i % 256));
  }
  return f;
}

static size_t candidates_of(const besom_filter *f, uint64_t key) {
  uint64_t out[ROOM];
  size_t n;
  assert_status(BESOM_OK, besom_get_values(f, besom_u64(key).bytes, 8, out, ROOM, &n));
  return n;
}

static void all_candidates_of_a_report_are_gone(void **state) {
  (void)state;
  for (unsigned most = 1; most <= 24; most++) {
    besom_filter *f = narrow_maplet(most);
    size_t several = 0, refused = 0;
    for (uint64_t i = 0; i < REPORTS; i++) {
      uint64_t key = key_u64(NEGATIVES, key_u64(MEMBERS, i) % KEYS);
      size_t before = candidates_of(f, key);
      besom_status status = besom_adapt_u64(f, key);
      if (before > most) {
        assert_status(BESOM_RESERVE_FULL, status);
        assert_int_equal(candidates_of(f, key), before);
        refused++;
        continue;
      }
      if (status != BESOM_EVICTED) assert_status(BESOM_OK, status);
      assert_int_equal(candidates_of(f, key), 0);
      several += before > 1;
    }
    assert_true(most > 2 || refused);
    assert_true(most < 6 || several);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_candidates_of_a_report_are_gone)};
  return cmocka_run_group_tests_name("maplet_forget", tests, NULL, NULL);
}
