/*
 * Claim stacked-uniform: all non-members are asked for alike, the worst that can happen to a stacked filter; but they
 * are only so many times the members. The sample has 4 queries a key. 10 bits a member, Bloom.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "scene.h"

static const double bits = 10;
static const uint64_t times[] = {1, 2, 5, 10, 15, 25};

static bool try_times(uint64_t members, uint64_t universe, report *numbers) {
  scene s = scene_of_zipf(0, members, universe);
  besom_workload *w = scene_sample(&s, 4 * universe);
  besom_filter *alone = scene_base(&s, "bloom", bits, BENCH_SEED, NULL);
  besom_filter *stacked = scene_stacked(&s, "bloom", NULL, bits, BENCH_SEED, w, NULL);
  double base = scene_rate_of_keys(&s, alone), rate = scene_rate(&s, stacked);
  unsigned layers = 0;
  besom_statistics stats;
  while (besom_stats_layer(stacked, layers, &stats) == BESOM_OK) layers++;
  besom_free(alone);
  besom_free(stacked);
  besom_workload_free(w);
  report_cell(numbers, "%llu", (unsigned long long)(universe / members));
  report_cell(numbers, "%.5f", base);
  report_cell(numbers, "%.5f", rate);
  report_cell(numbers, "%.2f", rate / base);
  report_cell(numbers, "%u", layers);
  return rate <= 1.02 * base && (universe > 10 * members || rate < 0.9 * base);
}

static verdict run(bool full, report *numbers) {
  const uint64_t members = 100000;
  findings found = {0};
  for (size_t i = 0; i < (full ? sizeof times / sizeof *times : 4); i++) {
    progress("%llu keys a member", (unsigned long long)times[i]);
    finding(&found, try_times(members, times[i] * members, numbers));
  }
  return verdict_of(&found);
}

static const char *const columns[] = {"keys_per_member", "base", "stacked", "to_base", "layers"};

const claim stacked_uniform_claim = {
    .name = "stacked-uniform",
    .source = "stacked-filters: Figure 5",
    .statement =
        "with all non-members asked for alike, a stacked filter is better than its base while they are up to 10 "
        "times the members, and never worse",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
