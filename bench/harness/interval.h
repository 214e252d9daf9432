/* The mean of samples over seeds, with its 95 % confidence interval by Student's t distribution. */
#ifndef BENCH_HARNESS_INTERVAL_H
#define BENCH_HARNESS_INTERVAL_H

#include "harness/timing.h"
#include "report.h"

typedef struct interval {
  double mean, low, high; /* low and high are the mean if there is one sample */
} interval;

interval interval_of(const samples *s);

/* Writes three cells: mean, low, high. */
void interval_report(interval i, report *numbers);

#endif
