/*
 * Shared by the parts of claim workloads: goodness of fit of drawn numbers, and rows of the report.
 */
#ifndef BENCH_CLAIMS_WORKLOAD_CHECKS_CHECKS_H
#define BENCH_CLAIMS_WORKLOAD_CHECKS_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"
#include "workloads/key_stream.h"

typedef struct fit {
  double chi_square;
  size_t bins;
} fit;

/* Bins with too few expected counts for chi-square are joined with their neighbours. */
fit fit_bins(const uint64_t *seen, const double *expected, size_t bins);

/* The same for bins with equal expected counts. */
fit fit_uniform(const uint64_t *seen, size_t bins);

/* Chi-square within 4 standard errors. */
bool fits(fit f);

/* The sum of k^-s for first <= k < end. */
double sum_powers(double s, uint64_t first, uint64_t end);

/* A row of the claim. Values of 0 (s: negative) are left empty. */
typedef struct trial {
  const char *generator;
  double s; /* exponent, or another parameter of the generator */
  uint64_t universe, samples;
  fit fit;
  bool right; /* the deterministic properties hold */
  const char *remark;
} trial;

/* Writes the row. Returns true if it is right, and fits. */
bool report_trial(report *numbers, const trial *t);

/* The parts. Each returns whether all of it holds. full: as many samples as the claim requires. */
bool check_key_streams(bool full, report *numbers);
bool check_firehose(bool full, report *numbers);
bool check_ycsb(bool full, report *numbers);
bool check_adversaries(report *numbers);
bool check_traces(report *numbers);

#endif
