/*
 * Claim stacked-shift: the queries change after the filter is built: a part of those for keys that it knows is for
 * strangers instead. 10 bits a member, Bloom.
 */
#include "besom.h"
#include "claims/claims.h"
#include "scene.h"

static const double bits = 10, most_worse = 1.5, still_better = 0.6;
static const double exponents[] = {0.5, 0.75, 1};

static bool try_exponent(double exponent, uint64_t members, report *numbers) {
  scene s = scene_of_zipf(exponent, members, 10 * members);
  besom_workload *w = scene_sample(&s, s.universe);
  besom_filter *alone = scene_base(&s, "bloom", bits, BENCH_SEED, NULL);
  besom_filter *stacked = scene_stacked(&s, "bloom", NULL, bits, BENCH_SEED, w, NULL);
  double base = scene_rate_of_keys(&s, alone), now = scene_rate(&s, stacked);
  double strangers = scene_rate_of_strangers(&s, stacked);
  bool holds = true;
  for (int left = 10; left >= 0; left--) {
    double kept = left / 10.0, rate = kept * now + (1 - kept) * strangers;
    holds &= rate <= most_worse * base && (kept < still_better || rate <= base);
    report_cell(numbers, "%g", exponent);
    report_cell(numbers, "%.1f", kept);
    report_cell(numbers, "%.5f", base);
    report_cell(numbers, "%.5f", rate);
    report_cell(numbers, "%.2f", rate / base);
  }
  besom_free(alone);
  besom_free(stacked);
  besom_workload_free(w);
  return holds;
}

static verdict run(bool full, report *numbers) {
  findings found = {0};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    progress("zipf %g", exponents[i]);
    finding(&found, try_exponent(exponents[i], full ? 500000 : 100000, numbers));
  }
  return verdict_of(&found);
}

static const char *const columns[] = {"exponent", "queries_kept", "base", "stacked", "to_base"};

const claim stacked_shift_claim = {
    .name = "stacked-shift",
    .source = "stacked-filters: Figure 5",
    .statement =
        "a stacked filter is better than its base until 40 % of the queries have changed, and at most 1.5 times "
        "worse when all have",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
