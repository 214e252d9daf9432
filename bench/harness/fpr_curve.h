/*
 * False-positive rate of a filter while it is queried and adapts, over windows of its queries. The
 * first windows are short.
 */
#ifndef BENCH_HARNESS_FPR_CURVE_H
#define BENCH_HARNESS_FPR_CURVE_H

#include <stdint.h>

#include "harness/tested_filter.h"
#include "report.h"

enum { CURVE_WINDOWS = 24 };

/* Sums over all filters that were queried. */
typedef struct fpr_curve {
  uint64_t hits[CURVE_WINDOWS], queried[CURVE_WINDOWS];
  double extra_bits[CURVE_WINDOWS]; /* bits per key used by adaptation, at the end of a window */
  uint64_t filters, reserve_full;
} fpr_curve;

/* Runs all queries. */
void fpr_curve_add(fpr_curve *c, tested_filter *tested, double reserve, const uint64_t *keys,
                   uint64_t n);

/* Adds the sums of another curve. */
void fpr_curve_merge(fpr_curve *into, const fpr_curve *from);

/*
 * FPR over the second half of the queries, or the smallest rate that could be observed if that is
 * higher.
 */
double fpr_curve_last_half(const fpr_curve *c);

/*
 * Writes three cells of a row: the queries up to the end of window end - 1, the FPR over the
 * windows first to end - 1, and the extra bits per key at the end.
 */
void fpr_curve_report(const fpr_curve *c, int first, int end, report *numbers);

/* The first window of the second half. */
int fpr_curve_middle(void);

#endif
