/*
 * Claim stacked-shift: the queries change after the filter is built: a share of the queries for
 * known keys is replaced by queries for unknown absent keys. 10 bits per member, Bloom.
 */
#include "besom.h"
#include "claims/claims.h"
#include "harness/stacked_setup.h"

static const double bits = 10, max_ratio = 1.5, kept_share = 0.4;
static const double exponents[] = {0.5, 0.75, 1};

static void try_exponent(double exponent, uint64_t members, uint64_t universe, findings *found,
                         report *numbers) {
  stacked_setup s = setup_zipf(exponent, members, universe);
  besom_workload *w = setup_sample(&s, s.universe);
  besom_filter *alone = setup_base(&s, "bloom", bits, BENCH_SEED, NULL);
  besom_filter *stacked = setup_stacked(&s, "bloom", NULL, bits, BENCH_SEED, w, NULL);
  double base = setup_fpr_uniform(&s, alone), now = setup_fpr(&s, stacked);
  double absent = setup_fpr_unqueried(&s, stacked);
  bool better = true;
  for (int left = 10; left >= 0; left--) {
    double kept = left / 10.0, rate = kept * now + (1 - kept) * absent;
    better &= kept < kept_share || rate <= base;
    report_cell(numbers, "%g", exponent);
    report_cell(numbers, "%.1f", kept);
    report_cell(numbers, "%.5f", base);
    report_cell(numbers, "%.5f", rate);
    report_cell(numbers, "%.2f", rate / base);
  }
  besom_free(alone);
  besom_free(stacked);
  besom_workload_free(w);
  finding(found, better);
  finding(found, absent <= max_ratio * base);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    progress("zipf %g", exponents[i]);
    try_exponent(exponents[i], full ? 1000000 : 100000, full ? 100000000 : 1000000, &found,
                 numbers);
  }
  return found;
}

static const char *const columns[] = {"exponent", "queries_kept", "bloom", "stacked", "to_bloom"};

static const plot plots[] = {
    {.title = "Frequent keys lose their queries, by Zipf exponent (as Figure 5a)",
     .x = "queries_kept",
     .y = "to_bloom",
     .series = "exponent",
     .x_label = "share of their queries that frequent keys keep",
     .y_label = "FPR / FPR of a Bloom filter"},
    {0}};

const claim stacked_shift_claim = {
    .name = "stacked-shift",
    .title = "Queries that shift after a stacked filter was built",
    .source = "stacked-filters: Figure 5",
    .paper = "At every skew, a stacked filter stays better than a Bloom filter until the known "
             "keys have lost 60 % of their queries, and is at most 1.5 times as bad when they "
             "have lost all (5a).",
    .statement = "a stacked filter is better than its base until 60 % of the queries have changed, "
                 "and at most 1.5 times worse when all have",
    .differs =
        "10^6 members and 10^8 absent keys, as in the paper; quick 10^5 and 10^6. The "
        "sample has as many queries as there are keys. The planner minimises the FPR for the "
        "sample, regardless of other queries: the lower the skew, the sooner a shift hurts.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 5,
    .run = run,
};
