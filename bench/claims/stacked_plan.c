/*
 * Claim stacked-plan: how long planning takes, and the planned FPR, by the required accuracy. The
 * paper's sample has 5 * 10^7 keys; here it has 10^6 (quick: 10^5), of 10^8.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/stacked_setup.h"
#include "harness/timing.h"

static const double bits = 10, max_seconds = 0.05;
static const double max_ratio = 1.05; /* equal FPRs in all layers compared with varied ones */
static const double epsilons[] = {1e-2, 1e-3, 1e-4, 1e-5};

typedef struct plan_variant {
  const char *options;
  bool equal_rates;
} plan_variant;

static const plan_variant variants[] = {
    {"base=bloom", true}, {"base=bloom", false}, {"base=cf", false}, {"base=qf", false}};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Draws queries until they contain `keys` distinct keys. */
static besom_workload *sample_of_keys(const stacked_setup *s, uint64_t keys) {
  for (uint64_t queries = keys;; queries = queries + queries / 4) {
    besom_workload *w = setup_sample(s, queries);
    besom_workload_statistics stats;
    check(besom_workload_stats(w, &stats), "statistics of a workload");
    if (stats.keys >= keys) return w;
    besom_workload_free(w);
  }
}

static double plan(const plan_variant *variant, double epsilon, uint64_t members,
                   const besom_workload *w, besom_stack_plan *out) {
  besom_config config = {.kind = "stacked", .options = variant->options, .bits_per_key = bits};
  besom_plan_limits limits = {.epsilon = epsilon, .equal_rates = variant->equal_rates};
  samples seconds = {0};
  for (int i = 0; i < 5; i++) {
    double start = cpu_seconds();
    check(besom_plan(&config, members, w, &limits, out), "planning");
    samples_add(&seconds, cpu_seconds() - start);
  }
  double median = samples_median(&seconds);
  samples_free(&seconds);
  return median;
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 100000, keys = members;
  stacked_setup s = setup_zipf(1, members, full ? 100000000 : 10000000);
  progress("drawing queries for %llu keys", (unsigned long long)keys);
  besom_workload *w = sample_of_keys(&s, keys);
  besom_workload_statistics stats;
  check(besom_workload_stats(w, &stats), "statistics of a workload");
  findings found = {0};
  for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++) {
    report_cell(numbers, "%g", epsilons[e]);
    report_cell(numbers, "%llu", (unsigned long long)stats.keys);
    report_cell(numbers, "%.3f", stats.unseen);
    double rates[VARIANTS];
    for (int i = 0; i < VARIANTS; i++) {
      besom_stack_plan best;
      double seconds = plan(&variants[i], epsilons[e], members, w, &best);
      report_cell(numbers, "%.5f", best.expected_fpr);
      report_cell(numbers, "%.2f", 1e3 * seconds);
      if (epsilons[e] >= 1e-4) finding(&found, seconds <= max_seconds);
      rates[i] = best.expected_fpr;
    }
    finding(&found, rates[0] <= max_ratio * rates[1]);
  }
  besom_workload_free(w);
  return found;
}

static const char *const columns[] = {
    "epsilon",         "keys",   "unseen", "bloom_equal_fpr", "bloom_equal_ms", "bloom_varied_fpr",
    "bloom_varied_ms", "cf_fpr", "cf_ms",  "qf_fpr",          "qf_ms"};

static const plot plots[] = {{.title = "Time to plan (as Table 2)",
                              .x = "epsilon",
                              .y = "bloom_equal_ms,bloom_varied_ms,cf_ms,qf_ms",
                              .x_label = "allowed distance from the best FPR",
                              .y_label = "milliseconds",
                              .log_x = true,
                              .log_y = true},
                             {.title = "Planned FPR (as Table 2)",
                              .x = "epsilon",
                              .y = "bloom_equal_fpr,bloom_varied_fpr,cf_fpr,qf_fpr",
                              .x_label = "allowed distance from the best FPR",
                              .y_label = "planned false positives per query",
                              .log_x = true},
                             {0}};

const claim stacked_plan_claim = {
    .name = "stacked-plan",
    .title = "Time to plan a stacked filter",
    .source = "stacked-filters: Table 2",
    .paper = "Planning a stacked filter of 10 bits for a sample of 5 * 10^7 keys (Zipf 1) takes "
             "0.8 to 3.7 ms with one FPR for all layers, 47 ms to 27 s with varied FPRs, which "
             "are hardly better, and 12 to 367 ms for cuckoo filters, for epsilon from 1e-2 to "
             "1e-5.",
    .statement =
        "planning for a million sampled keys (Zipf 1, 10 bits) takes at most 50 ms down to "
        "epsilon 1e-4, and varied FPRs are better than equal ones by at most 5 %",
    .differs = "A sample of 10^6 keys out of 10^8, quick 10^5 out of 10^7; the paper's sample of "
               "5 * 10^7 covers the workload better, so that its FPRs are lower. The sample "
               "counts how many keys are queried how often while it is collected; times do not "
               "include that.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
