/* Medians, quantiles and spreads of samples and latencies with known results. */
#include "harness/timing.h"

#include <math.h>

#include "fail.h"
#include "harness/latency.h"

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

static void test_latency(void) {
  tick_clock clock = {.ns_per_tick = 0.5, .overhead = 10};
  latency l = latency_create(), more = latency_create();
  expect("quantile of nothing", latency_quantile(&l, 0.99, &clock), 0);
  for (uint64_t ticks = 1; ticks <= 50; ticks++) latency_add(&l, 1000, 1000 + ticks);
  for (uint64_t ticks = 51; ticks <= 99; ticks++) latency_add(&more, 1000, 1000 + ticks);
  latency_add(&more, 0, 1 << 30);
  latency_merge(&l, &more);
  expect("1 % of a latency", latency_quantile(&l, 0.01, &clock),
         0); /* less than the clock's cost */
  expect("median of a latency", latency_quantile(&l, 0.5, &clock), 20);
  expect("p99", latency_quantile(&l, 0.99, &clock), 44.5);
  expect("longest", latency_quantile(&l, 1, &clock), 0.5 * (LATENCY_BUCKETS - 1 - 10));
  latency_free(&l);
  latency_free(&more);
}

static void test_calibration(void) {
  tick_clock clock = tick_clock_calibrate();
  if (!(clock.ns_per_tick > 0) || clock.overhead >= LATENCY_BUCKETS)
    fail("a tick of %g ns, %llu ticks per read", clock.ns_per_tick,
         (unsigned long long)clock.overhead);
}

int main(void) {
  test_samples(NULL, 0, 0, 0, 0);
  test_samples((double[]){7}, 1, 7, 7, 0);
  test_samples((double[]){3, 1}, 2, 2, 3, 0.5);
  test_samples((double[]){4, 4, 4, 4}, 4, 4, 4, 0);
  test_samples((double[]){5, 1, 4, 2, 3}, 5, 3, 5, 2.0 / 3);
  test_samples((double[]){100, 10, 20, 30}, 4, 25, 100, (47.5 - 17.5) / 25);
  test_samples((double[]){0, 0, 0}, 3, 0, 0, 0);
  test_latency();
  test_calibration();
  return 0;
}
