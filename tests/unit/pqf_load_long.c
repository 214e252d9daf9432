/* A pqf holds its capacity: a thousand tables of each size, and sorted digests, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/pqf_load.h"

static void tables_hold_their_capacity(void **state) {
  (void)state;
  static const struct {
    uint64_t capacity, seeds;
    double fpr;
  } loads[] = {{1 << 16, 1000, 1.0 / 256}, {1 << 20, 1000, 1.0 / 256}, {1 << 24, 20, 1.0 / 256},
               {100, 20000, 1.0 / 256},    {2000, 5000, 1.0 / 256},    {1 << 16, 1000, 1.0 / 65536},
               {1 << 16, 1000, 0x1p-11},   {1 << 20, 1000, 0x1p-11},   {1 << 24, 20, 0x1p-11},
               {100, 20000, 0x1p-11},      {2000, 5000, 0x1p-11},      {1 << 16, 300, 0x1p-20},
               {1 << 16, 300, 0x1p-28},    {1 << 20, 100, 1.0 / 65536}};
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
    for (int sorted = 0; sorted < 2; sorted++) {
      unsigned full = pqf_full_early(loads[i].capacity, loads[i].fpr, loads[i].seeds, sorted);
      printf("%llu keys at %g, %s: %u of %llu tables are full early\n",
             (unsigned long long)loads[i].capacity, loads[i].fpr, sorted ? "sorted" : "random",
             full, (unsigned long long)loads[i].seeds);
      fflush(stdout);
      assert_int_equal(full, 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_hold_their_capacity)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
