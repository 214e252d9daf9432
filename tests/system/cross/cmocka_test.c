/*
 * cmocka_test.c - assertions of tests/system/cross/cmocka.h fail when they must, and a failure ends
 * its test: else `make cross` would test nothing.
 */
#include "cmocka.h"

#include <stdio.h>

enum { ASSERTIONS = 17 };
static int went_on; /* tests that did not end with their failure */

/* Each number fails, at the last assertion of its line. */
static void fails(void **state) {
  switch (*(const int *)*state) {
  case 0:
    assert_true(1), assert_true(0);
    break;
  case 1:
    assert_false(0), assert_false(1);
    break;
  case 2:
    assert_null(NULL), assert_null(&went_on);
    break;
  case 3:
    assert_non_null(&went_on), assert_non_null(NULL);
    break;
  case 4:
    assert_int_equal(-1, -1L), assert_int_equal(-1, 0xffffffffu);
    break;
  case 5:
    assert_int_equal(UINT64_C(1) << 32, 0);
    break;
  case 6:
    assert_int_not_equal(1, 2), assert_int_not_equal(2, 2);
    break;
  case 7:
    assert_ptr_equal(&went_on, NULL);
    break;
  case 8:
    assert_ptr_not_equal(&went_on, &went_on);
    break;
  case 9:
    assert_in_range(3, 3, 4), assert_in_range(2, 3, 4);
    break;
  case 10:
    assert_in_range(4, 3, 4), assert_in_range(5, 3, 4);
    break;
  case 11:
    assert_memory_equal("ab", "ac", 1), assert_memory_equal("ab", "ac", 2);
    break;
  case 12:
    assert_memory_not_equal("ab", "ac", 2), assert_memory_not_equal("ab", "ab", 2);
    break;
  case 13:
    assert_string_equal("a", "a"), assert_string_equal("a", "b");
    break;
  case 14:
    assert_string_not_equal("a", "b"), assert_string_not_equal("a", "a");
    break;
  case 15:
    fail_msg("%d", 15);
  case 16:
    fail();
  }
  went_on++;
}

static void is_skipped(void **state) {
  (void)state;
  skip();
  went_on++;
}

static void has_state_of_setup(void **state) {
  assert_string_equal(*state, "of setup");
}

static int give_state(void **state) {
  *state = "of setup";
  return 0;
}

static int refuse(void **state) {
  (void)state;
  return -1;
}

int main(void) {
  int numbers[ASSERTIONS];
  struct CMUnitTest failing[ASSERTIONS + 1] = {cmocka_unit_test_setup(has_state_of_setup, refuse)};
  for (int i = 0; i < ASSERTIONS; i++) {
    numbers[i] = i;
    failing[i + 1] = (struct CMUnitTest){"fails", fails, NULL, NULL, &numbers[i]};
  }
  const struct CMUnitTest passing[] = {cmocka_unit_test(is_skipped),
                                       cmocka_unit_test_setup(has_state_of_setup, give_state)};
  int failed = cmocka_run_group_tests(failing, NULL, NULL);
  int wrong = cmocka_run_group_tests(passing, NULL, NULL);
  cmocka_set_test_filter("is_*");
  int filtered = cmocka_run_group_tests_name("filtered", failing, NULL, NULL);
  printf("%d of %d failed, %d went on, %d of the others failed, %d were not filtered\n", failed,
         ASSERTIONS + 1, went_on, wrong, filtered);
  return failed != ASSERTIONS + 1 || went_on || wrong || filtered;
}
