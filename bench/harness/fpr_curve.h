/* How often a filter is wrong while it is asked and learns, in stretches of its queries: short ones first. */
#ifndef BENCH_HARNESS_FPR_CURVE_H
#define BENCH_HARNESS_FPR_CURVE_H

#include <stdint.h>

#include "harness/tested_filter.h"
#include "report.h"

enum { CURVE_STRETCHES = 24 };

/* Sums over all filters that were asked. */
typedef struct curve {
  uint64_t hits[CURVE_STRETCHES], asked[CURVE_STRETCHES];
  double extra_bits[CURVE_STRETCHES]; /* a key that learning has taken, at the end of each */
  uint64_t filters, adapt_full;
} curve;

/* Asks all keys. */
void curve_add(curve *c, learner *l, double reserve, const uint64_t *keys, uint64_t n);

/* Over the second half of the queries: the rate, or the least that could have been seen if that is higher. */
double curve_last_half(const curve *c);

/* Three cells of a row: the queries asked by the end of stretch end - 1, the rate from `first` on, extra bits then. */
void curve_report(const curve *c, int first, int end, report *numbers);

/* The first stretch of the second half. */
int curve_middle(void);

#endif
