/*
 * Times of single calls. A call of 50 ns is too short for the clock of timing.h, so the processor's
 * time-stamp counter is used (elsewhere the monotonic clock), and its own cost is subtracted.
 */
#ifndef BENCH_HARNESS_LATENCY_H
#define BENCH_HARNESS_LATENCY_H

#include <stdint.h>

/* The clock: what a tick of the counter is, and what reading it costs. */
typedef struct tick_clock {
  double ns_per_tick;
  uint64_t overhead; /* ticks that two reads in a row are apart: the median */
} tick_clock;

/* Measures both in some 20 milliseconds. */
tick_clock tick_clock_calibrate(void);

#if defined(__x86_64__)
/* The fences keep the timed call between the reads: nothing of it starts earlier or ends later. */
static inline uint64_t ticks_now(void) {
  __builtin_ia32_lfence();
  uint64_t ticks = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return ticks;
}
#else
uint64_t ticks_now(void);
#endif

/* A histogram of times. One bucket per tick; times of 2^16 ticks and more are in the last one. */
enum { LATENCY_BUCKETS = 1 << 16 };

typedef struct latency {
  uint64_t *counts;
  uint64_t n;
} latency;

latency latency_create(void);
void latency_free(latency *l);

/* Adds the time between two reads of ticks_now. */
static inline void latency_add(latency *l, uint64_t start, uint64_t end) {
  uint64_t ticks = end - start;
  l->counts[ticks < LATENCY_BUCKETS ? ticks : LATENCY_BUCKETS - 1]++;
  l->n++;
}

/* Adds all times of `from`. */
void latency_merge(latency *l, const latency *from);

/*
 * Nanoseconds that this share of the calls does not exceed, without the cost of the clock. 0 if
 * there were no calls.
 */
double latency_quantile(const latency *l, double share, const tick_clock *clock);

#endif
