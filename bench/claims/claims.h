/*
 * A claim: a sentence about filters that can be put to the test, of a paper or of besom itself. One file
 * each in this directory; claims.c lists them.
 */
#ifndef BENCH_CLAIMS_H
#define BENCH_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "report.h"

typedef struct claim {
  const char *name;
  const char *source; /* the paper and its figure, or "besom" */
  const char *statement;
  const char *const *columns;
  size_t column_count;
  /* Writes its numbers, row by row; full: at the size of the statement, not a quick one. Does it hold? */
  bool (*run)(bool full, report *numbers);
} claim;

extern const claim adapt_or_cache_claim;
extern const claim adversary_claim;
extern const claim asf_claim;
extern const claim billion_claim;
extern const claim bulk_load_claim;
extern const claim churn_claim;
extern const claim cuckoo_load_claim;
extern const claim firehose_claim;
extern const claim learned_claim;
extern const claim learnt_speed_claim;
extern const claim lists_claim;
extern const claim merge_claim;
extern const claim rate_claim;
extern const claim real_lists_claim;
extern const claim repeats_claim;
extern const claim reverse_map_claim;
extern const claim rounds_claim;
extern const claim stacked_build_claim;
extern const claim stacked_memory_claim;
extern const claim stacked_misspecified_claim;
extern const claim stacked_plan_claim;
extern const claim stacked_shift_claim;
extern const claim stacked_speed_claim;
extern const claim stacked_uniform_claim;
extern const claim store_adversary_claim;
extern const claim store_layouts_claim;
extern const claim store_moves_claim;
extern const claim store_pauses_claim;
extern const claim store_puts_claim;
extern const claim store_rocksdb_claim;
extern const claim threads_claim;
extern const claim workloads_claim;
extern const claim zipf_claim;

/* Every claim; ends with NULL. */
extern const claim *const claims[];

#endif
