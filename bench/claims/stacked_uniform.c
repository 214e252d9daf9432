/*
 * Claim stacked-uniform: all absent keys are queried equally often, the worst case for a stacked
 * filter; but their number is only a small multiple of the members. The sample has 4 queries per
 * key. 10 bits per member, Bloom.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/stacked_setup.h"

static const double bits = 10;
static const uint64_t times[] = {1, 2, 5, 10, 15, 20, 25};

static bool try_times(uint64_t members, uint64_t universe, report *numbers) {
  stacked_setup s = setup_zipf(0, members, universe);
  besom_workload *w = setup_sample(&s, 4 * universe);
  besom_filter *alone = setup_base(&s, "bloom", bits, BENCH_SEED, NULL);
  besom_filter *stacked = setup_stacked(&s, "bloom", NULL, bits, BENCH_SEED, w, NULL);
  double base = setup_fpr_uniform(&s, alone), rate = setup_fpr(&s, stacked);
  unsigned layers = 0;
  while (besom_layer(stacked, layers)) layers++;
  besom_free(alone);
  besom_free(stacked);
  besom_workload_free(w);
  report_cell(numbers, "%llu", (unsigned long long)(universe / members));
  report_cell(numbers, "%.5f", base);
  report_cell(numbers, "%.5f", rate);
  report_cell(numbers, "%.2f", rate / base);
  report_cell(numbers, "%u", layers);
  /* One layer is the base itself: the difference of the rates is chance. */
  return layers > 1 && rate < base;
}

static findings run(bool full, report *numbers) {
  const uint64_t members = full ? 1000000 : 40000;
  findings found = {0};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    progress("%llu keys per member", (unsigned long long)times[i]);
    finding(&found, try_times(members, times[i] * members, numbers));
  }
  return found;
}

static const char *const columns[] = {"keys_per_member", "bloom", "stacked", "to_bloom", "layers"};

static const plot plots[] = {{.title = "All absent keys queried equally often (as Figure 5c)",
                              .x = "keys_per_member",
                              .y = "bloom,stacked",
                              .x_label = "queried absent keys per member",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {0}};

const claim stacked_uniform_claim = {
    .name = "stacked-uniform",
    .title = "Stacked filters on uniform queries",
    .source = "stacked-filters: Figure 5",
    .paper = "Even if all absent keys are queried equally often, a stacked filter is better "
             "than a Bloom filter of 10 bits as long as they are up to 25 times the members "
             "(5c).",
    .statement = "with all absent keys queried equally often, a stacked filter is better than its "
                 "base while they are up to 25 times the members",
    .differs = "10^6 members as in the paper, quick 4 * 10^4. The sample has 4 queries per key, so "
               "that about 2 % of the queries are for keys that it lacks. At 25 times the members "
               "not even Theorem 3 predicts a better stack of 10 bits.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
