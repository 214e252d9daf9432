/*
 * Claim stacked-misspecified: the sample is drawn with another skew (Zipf 0.15 to 1.35, over the
 * same keys in the same order) than the queries (0.75). 10 bits per member, Bloom.
 */
#include "besom.h"
#include "claims/claims.h"
#include "harness/stacked_setup.h"

static const double bits = 10, true_exponent = 0.75;

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 50000, absent = full ? 100000000 : 500000;
  stacked_setup s = setup_zipf(true_exponent, members, absent);
  besom_filter *alone = setup_base(&s, "bloom", bits, BENCH_SEED, NULL);
  double base = setup_fpr_uniform(&s, alone);
  findings found = {0};
  besom_free(alone);
  for (int i = 0; i < 9; i += full ? 2 : 1) { /* a filter takes a minute */
    double exponent = 0.15 * (i + 1);
    progress("a sample of zipf %g", exponent);
    stacked_setup model = setup_zipf(exponent, members, absent);
    besom_workload *w = setup_sample(&model, model.universe);
    besom_filter *stacked = setup_stacked(&s, "bloom", NULL, bits, BENCH_SEED, w, NULL);
    double rate = setup_fpr(&s, stacked);
    besom_free(stacked);
    besom_workload_free(w);
    finding(&found, rate <= 1.02 * base);
    report_cell(numbers, "%.2f", exponent);
    report_cell(numbers, "%.5f", base);
    report_cell(numbers, "%.5f", rate);
    report_cell(numbers, "%.2f", rate / base);
  }
  return found;
}

static const char *const columns[] = {"sample_exponent", "bloom", "stacked", "to_bloom"};

static const plot plots[] = {{.title = "Planned from a sample of another skew (as Figure 5b)",
                              .x = "sample_exponent",
                              .y = "bloom,stacked",
                              .x_label = "Zipf exponent of the sample; that of the queries is 0.75",
                              .y_label = "false positives per query"},
                             {0}};

const claim stacked_misspecified_claim = {
    .name = "stacked-misspecified",
    .title = "A stacked filter planned for the wrong queries",
    .source = "stacked-filters: Figure 5",
    .paper = "A stacked filter that was planned from a sample of Zipf 0.15 to 1.35 keeps most "
             "of its gain on queries of Zipf 0.75, and is better than a Bloom filter of 10 bits "
             "throughout (5b).",
    .statement = "planned from a sample of any skew, a stacked filter is no worse than its base on "
                 "queries of Zipf 0.75",
    .differs = "10^6 members and 10^8 absent keys, as in the paper, and every second exponent; "
               "quick 5 * 10^4 and 5 * 10^5. The sample has as many queries as there are keys.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
