/*
 * threads.h - the parts "threads" and "threads_tsan" of `make soak`: eight threads on one thing.
 * Each thread has its own keys and a model of them. A round is one filter or guard; all that can be
 * drawn of it depends on its seed, what the threads do between each other does not.
 */
#ifndef BESOM_SOAK_THREADS_H
#define BESOM_SOAK_THREADS_H

#include <stdatomic.h>
#include <stdint.h>

#include "besom.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/keys.h"

enum { THREADS = 8 };

/* Of all rounds. */
typedef struct totals {
  atomic_ullong operations, adaptations, resizes, rekeys, saves, merges, batches, failures, rounds;
} totals;

extern totals total;

/* threads_filter.c: one concurrent aqf. */
void filter_round(uint64_t seed);

/* threads_store.c: one concurrent aqf that is bound to a store, by the calls with a match. */
void store_round(uint64_t seed);

/* threads_guard.c: one guard, over a store in memory or a database of ordered keys. */
void guard_round(uint64_t seed);

/* A copy of the filter, saved and loaded. */
besom_filter *saved_copy(const besom_filter *f);

/* Runs `work` in eight threads, each with its owner: `size` bytes each, from `owners` on. */
void run_threads(void *(*work)(void *owner), void *owners, size_t size);

/* One in n. */
static inline bool chance(random_stream *random, uint64_t n) {
  return random_below(random, n) == 0;
}

/* Adds to a count of all rounds. */
static inline void add(atomic_ullong *count, uint64_t n) {
  atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

#endif
