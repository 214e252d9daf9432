/* What the parts of claim workloads share: how well numbers that were drawn fit what should come out, and their rows.
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

/* Bins too rare for chi-square are thrown together, with a neighbour or at the end. */
fit fit_bins(const uint64_t *seen, const double *expected, size_t bins);

/* The same with bins that should all be alike. */
fit fit_uniform(const uint64_t *seen, size_t bins);

/* Chi-square within 4 standard errors. */
bool fits(fit f);

/* The sum of k^-s for first <= k < end. */
double sum_powers(double s, uint64_t first, uint64_t end);

/* A row of the claim. What is 0 (s: negative) is left empty. */
typedef struct trial {
  const char *generator;
  double s; /* or whatever number tells it from others of its generator */
  uint64_t universe, samples;
  fit fit;
  bool right; /* as far as it is not a matter of chance */
  const char *remark;
} trial;

/* Writes the row; true if it is right, and fits. */
bool report_trial(report *numbers, const trial *t);

/* The parts; each says whether all of it holds. full: as many samples as the claim wants. */
bool test_basic_streams(bool full, report *numbers);
bool test_firehose_streams(bool full, report *numbers);
bool test_ycsb_streams(bool full, report *numbers);
bool test_adversaries(report *numbers);
bool test_traces(report *numbers);

#endif
