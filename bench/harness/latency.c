#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include "harness/latency.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "fail.h"
#include "harness/timing.h"

#if !defined(__x86_64__)
uint64_t ticks_now(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) fail("this system has no clock of time");
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

enum { CALIBRATION_READS = 10001, CALIBRATION_ATTEMPTS = 100 };

static const double calibration_seconds = 0.02;

latency latency_create(void) {
  return (latency){.counts = allocate(LATENCY_BUCKETS, sizeof(uint64_t))};
}

void latency_free(latency *l) {
  free(l->counts);
  *l = (latency){0};
}

void latency_merge(latency *l, const latency *from) {
  for (int i = 0; i < LATENCY_BUCKETS; i++) l->counts[i] += from->counts[i];
  l->n += from->n;
}

static uint64_t quantile_ticks(const latency *l, double share) {
  uint64_t needed = (uint64_t)ceil(share * (double)l->n), seen = 0;
  for (uint64_t ticks = 0; ticks < LATENCY_BUCKETS; ticks++)
    if ((seen += l->counts[ticks]) >= needed) return ticks;
  return LATENCY_BUCKETS - 1;
}

double latency_quantile(const latency *l, double share, const tick_clock *clock) {
  if (l->n == 0) return 0;
  uint64_t ticks = quantile_ticks(l, share);
  return ticks > clock->overhead ? clock->ns_per_tick * (double)(ticks - clock->overhead) : 0;
}

static uint64_t measure_overhead(void) {
  latency l = latency_create();
  for (int i = 0; i < CALIBRATION_READS; i++) {
    uint64_t start = ticks_now();
    latency_add(&l, start, ticks_now());
  }
  uint64_t ticks = quantile_ticks(&l, 0.5);
  latency_free(&l);
  return ticks;
}

/* Both clocks at one moment: of several attempts, the one that took the fewest ticks. */
static void read_clocks(double *seconds, uint64_t *ticks) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < CALIBRATION_ATTEMPTS; i++) {
    uint64_t before = ticks_now();
    double now = wall_seconds();
    uint64_t took = ticks_now() - before;
    if (took >= least) continue;
    least = took;
    *seconds = now;
    *ticks = before + took / 2;
  }
}

tick_clock tick_clock_calibrate(void) {
  double start = 0, end = 0;
  uint64_t first = 0, last = 0;
  read_clocks(&start, &first);
  while (wall_seconds() - start < calibration_seconds) continue;
  read_clocks(&end, &last);
  return (tick_clock){.ns_per_tick = 1e9 * (end - start) / (double)(last - first),
                      .overhead = measure_overhead()};
}
