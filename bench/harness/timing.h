/*
 * Time, counted as CPU time of this process, so that neighbours on the machine cost as little as possible
 * of the truth; and medians, so that the rounds in which they did cost something do not count.
 */
#ifndef BENCH_HARNESS_TIMING_H
#define BENCH_HARNESS_TIMING_H

#include <stddef.h>

/* Seconds of CPU time since the process began. A call costs up to a microsecond: time long stretches. */
double cpu_seconds(void);

/* Seconds on the wall, from some time on: for what waits for a disk, or for other threads. */
double wall_seconds(void);

/* Measurements of one thing. {0} is empty. */
typedef struct samples {
  double *values;
  size_t count, room;
} samples;

void samples_add(samples *s, double value);

/* 0 if there are none. */
double samples_median(const samples *s);

/* The sample that this share of the others is not above: 1 for the largest. 0 if there are none. */
double samples_quantile(const samples *s, double share);

/* From the first quartile to the third, as a share of the median. 0 if there are fewer than two. */
double samples_spread(const samples *s);

void samples_free(samples *s);

#endif
