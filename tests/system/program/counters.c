/* Counters by their names. */
#include "counters.h"

#include "capture.h"

static besom_filter *filled(const char *kind) {
  besom_config config = {.kind = kind, .capacity = 1000};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t key = 0; key < 1000; key++) assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
  return f;
}

static void a_counter_is_found_by_its_name(void **state) {
  (void)state;
  besom_filter *f = filled("aqf");
  uint64_t reported = 0;
  for (uint64_t key = 1000; reported < 3; key++) {
    if (!besom_contains_u64(f, key)) continue;
    assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
    reported++;
  }
  assert_int_equal(counter_of(f, "exceptions"), 3);
  besom_free(f);
}

static void a_counter_that_is_missing_is_0(void **state) {
  (void)state;
  besom_filter *f = filled("bloom");
  assert_int_equal(counter_of(f, "exceptions"), 0);
  assert_int_equal(counter_of(NULL, "exceptions"), 0);
  besom_free(f);
}

static void all_counters_of_every_kind_fit(void **state) {
  (void)state;
  besom_counter counters[MAX_COUNTERS];
  for (size_t i = 0; besom_kinds(i); i++) {
    if (!(besom_kinds(i)->abilities & BESOM_CAN_INSERT)) continue;
    besom_filter *f = filled(besom_kinds(i)->name);
    size_t n = besom_counters(f, NULL, 0);
    assert_int_equal(counters_all(f, counters), n);
    assert_true(n <= MAX_COUNTERS);
    for (size_t k = 0; k < n; k++)
      assert_int_equal(counter_of(f, counters[k].name), counters[k].value);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_counter_is_found_by_its_name),
                                     cmocka_unit_test(a_counter_that_is_missing_is_0),
                                     cmocka_unit_test(all_counters_of_every_kind_fit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
