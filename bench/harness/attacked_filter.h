/*
 * A filter under attack: queried for absent keys, and told of each false positive. It stands in a
 * guard in front of a store, or alone. Claims about long attacks share it.
 */
#ifndef BENCH_HARNESS_ATTACKED_FILTER_H
#define BENCH_HARNESS_ATTACKED_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "besom_guard.h"
#include "workloads/key_stream.h"

/* The size of an experiment. */
typedef struct attack_effort {
  uint64_t members, queries, seeds;
} attack_effort;

typedef struct attacked_filter {
  besom_guard *guard; /* NULL for a filter alone */
  besom_filter *own;
  uint64_t false_positives; /* of the guard, so far */
} attacked_filter;

/* how: all of its members but `filter` are used. NULL for a filter alone. */
attacked_filter attacked_create(const besom_config *config, const besom_guard_config *how);
void attacked_free(attacked_filter *a);

/* Inserts the keys of a stream from number `from` to `end`. A full filter alone is doubled. */
void attacked_insert(attacked_filter *a, const key_stream *members, uint64_t from, uint64_t end);

/* Queries an absent key, and reports it if it is a false positive. Returns whether it is one. */
bool attacked_query(attacked_filter *a, uint64_t key);

/* Statistics of the guard: there must be one. */
besom_guard_statistics attacked_guard_stats(const attacked_filter *a);

/* Bytes of the filter, of both filters during a migration. */
uint64_t attacked_bytes(const attacked_filter *a);

#endif
