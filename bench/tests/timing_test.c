/* Medians, quantiles and spreads of samples with known results. */
#include "harness/timing.h"

#include <math.h>

#include "fail.h"

const char *const program_name = "bench_timing";

static void expect(const char *what, double is, double should) {
  if (fabs(is - should) > 1e-12) fail("%s is %g, should be %g", what, is, should);
}

static void test_samples(const double *values, size_t n, double median, double largest,
                         double spread) {
  samples s = {0};
  for (size_t i = 0; i < n; i++) samples_add(&s, values[i]);
  expect("median", samples_median(&s), median);
  expect("largest", samples_quantile(&s, 1), largest);
  expect("spread", samples_spread(&s), spread);
  samples_free(&s);
}

int main(void) {
  test_samples(NULL, 0, 0, 0, 0);
  test_samples((double[]){7}, 1, 7, 7, 0);
  test_samples((double[]){3, 1}, 2, 2, 3, 0.5);
  test_samples((double[]){4, 4, 4, 4}, 4, 4, 4, 0);
  test_samples((double[]){5, 1, 4, 2, 3}, 5, 3, 5, 2.0 / 3);
  test_samples((double[]){100, 10, 20, 30}, 4, 25, 100, (47.5 - 17.5) / 25);
  test_samples((double[]){0, 0, 0}, 3, 0, 0, 0);
  return 0;
}
