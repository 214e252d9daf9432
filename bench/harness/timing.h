/*
 * Timing. CPU time of this process is used, because other load on the machine affects it least.
 * Medians remove rounds that were affected.
 */
#ifndef BENCH_HARNESS_TIMING_H
#define BENCH_HARNESS_TIMING_H

#include <stddef.h>

/*
 * Seconds of CPU time since the process started. A call costs up to a microsecond: time long
 * intervals.
 */
double cpu_seconds(void);

/* Seconds of wall time since some point in time: for waits on a disk or on other threads. */
double wall_seconds(void);

/* Samples of one measurement. {0} is empty. */
typedef struct samples {
  double *values;
  size_t count, capacity;
} samples;

void samples_add(samples *s, double value);

/* 0 if there are none. */
double samples_median(const samples *s);

/* The sample at this quantile, 1 for the largest. 0 if there are none. */
double samples_quantile(const samples *s, double share);

/* Interquartile range divided by the median. 0 if there are fewer than two samples. */
double samples_spread(const samples *s);

void samples_free(samples *s);

#endif
