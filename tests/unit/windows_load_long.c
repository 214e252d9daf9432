/* A thousand seeds: no table of 2^16 slots is full below a load factor of 95 %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "windows_load.h"

static void a_thousand_tables_reach_the_load(void **state) {
  (void)state;
  assert_int_equal(tables_full_early((UINT64_C(1) << 16) * 95 / 100, 1000), 0);
  assert_int_equal(tables_full_early((UINT64_C(1) << 20) * 95 / 100, 20), 0);
  assert_int_equal(tables_full_early(2400, 1000), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_thousand_tables_reach_the_load)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
