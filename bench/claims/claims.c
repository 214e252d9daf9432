#include "claims/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

const claim *const claims[] = {
    &adapt_or_cache_claim,
    &adversary_claim,
    &any_kind_claim,
    &asf_claim,
    &asf_early_claim,
    &billion_claim,
    &broom_speed_claim,
    &build_threads_claim,
    &building_claim,
    &bulk_load_claim,
    &cache_theory_claim,
    &cache_traces_claim,
    &churn_claim,
    &cuckoo_load_claim,
    &distinct_keys_claim,
    &endless_claim,
    &exaf_speed_claim,
    &extension_bits_claim,
    &firehose_claim,
    &fixed_dataset_claim,
    &growing_claim,
    &guard_latency_claim,
    &guard_speed_claim,
    &guard_writers_claim,
    &learned_claim,
    &learnt_speed_claim,
    &lists_claim,
    &loops_claim,
    &maplet_claim,
    &mapped_claim,
    &merge_claim,
    &no_writer_claim,
    &operations_claim,
    &rate_claim,
    &real_lists_claim,
    &real_rate_claim,
    &real_speed_claim,
    &repeats_claim,
    &reverse_map_claim,
    &rounds_claim,
    &same_space_claim,
    &seed_tail_claim,
    &selector_bits_claim,
    &selectors_claim,
    &serendipity_claim,
    &ski_rental_claim,
    &smallest_groups_claim,
    &smallest_lists_claim,
    &space_claim,
    &stacked_build_claim,
    &stacked_memory_claim,
    &stacked_misspecified_claim,
    &stacked_plan_claim,
    &stacked_proofs_claim,
    &stacked_shift_claim,
    &stacked_speed_claim,
    &stacked_theory_claim,
    &stacked_total_claim,
    &stacked_training_claim,
    &stacked_uniform_claim,
    &store_adversary_claim,
    &store_layouts_claim,
    &store_pauses_claim,
    &store_puts_claim,
    &store_rocksdb_claim,
    &sustained_claim,
    &threads_claim,
    &throughput_claim,
    &tombstones_claim,
    &traces_claim,
    &train_your_filter_claim,
    &who_wins_claim,
    &workloads_claim,
    &yesno_bits_claim,
    &zipf_claim,
    NULL,
};

void finding(findings *f, bool holds) {
  f->tested++;
  f->held += holds;
}

void add_factor(findings *f, const char *sentence, double factor) {
  if (!(factor > 0) || !isfinite(factor)) fail("%s: %g is not a factor", sentence, factor);
  if (f->measurement_count == f->measurement_capacity) {
    f->measurement_capacity = f->measurement_capacity ? 2 * f->measurement_capacity : 16;
    measurement *larger = allocate(f->measurement_capacity, sizeof *larger);
    if (f->measurement_count)
      memcpy(larger, f->measurements, f->measurement_count * sizeof *larger);
    free(f->measurements);
    f->measurements = larger;
  }
  f->measurements[f->measurement_count++] = (measurement){sentence, factor};
}

void add_ratios(findings *f, const char *sentence, const samples *more, const samples *less) {
  for (size_t i = 0; i < more->count && i < less->count; i++)
    add_factor(f, sentence, more->values[i] / less->values[i]);
}

double factor_of(double more, double less, double least) {
  return more / fmax(less, least);
}

void findings_free(findings *f) {
  free(f->measurements);
  *f = (findings){0};
}

const char *verdict_of(const findings *f) {
  return f->tested && f->held == f->tested ? "holds" : "does not hold";
}
