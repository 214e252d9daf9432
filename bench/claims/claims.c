#include "claims/claims.h"

const claim *const claims[] = {
    &adapt_or_cache_claim,
    &adversary_claim,
    &asf_claim,
    &asf_early_claim,
    &billion_claim,
    &build_threads_claim,
    &building_claim,
    &bulk_load_claim,
    &cache_traces_claim,
    &churn_claim,
    &cuckoo_load_claim,
    &firehose_claim,
    &guard_latency_claim,
    &guard_speed_claim,
    &guard_writers_claim,
    &learned_claim,
    &learnt_speed_claim,
    &lists_claim,
    &loops_claim,
    &mapped_claim,
    &merge_claim,
    &operations_claim,
    &rate_claim,
    &real_lists_claim,
    &real_rate_claim,
    &real_speed_claim,
    &repeats_claim,
    &reverse_map_claim,
    &rounds_claim,
    &same_space_claim,
    &selector_bits_claim,
    &serendipity_claim,
    &smallest_lists_claim,
    &space_claim,
    &stacked_build_claim,
    &stacked_memory_claim,
    &stacked_misspecified_claim,
    &stacked_plan_claim,
    &stacked_shift_claim,
    &stacked_speed_claim,
    &stacked_theory_claim,
    &stacked_total_claim,
    &stacked_uniform_claim,
    &store_adversary_claim,
    &store_layouts_claim,
    &store_pauses_claim,
    &store_puts_claim,
    &store_rocksdb_claim,
    &threads_claim,
    &throughput_claim,
    &tombstones_claim,
    &traces_claim,
    &workloads_claim,
    &zipf_claim,
    NULL,
};

void finding(findings *f, bool holds) {
  f->tested++;
  f->held += holds;
}

const char *verdict_of(const findings *f) {
  if (!f->held) return "does not hold"; /* also if nothing was tested */
  return f->held == f->tested ? "holds" : "holds partly";
}
