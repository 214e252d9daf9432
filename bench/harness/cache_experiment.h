/*
 * The experiment of "To Adapt or to Cache?": a few keys are stored, absent keys are queried, and
 * false positives are counted, for an adaptive filter and for cache-augmented filters (CAF): a
 * quotient filter with a cache of its last false positives. The caches are simulated here: a cached
 * key of the paper's small universe takes about 26 bits, while the kind `cached` keeps 128-bit
 * digests.
 *
 * Corrections: a query is corrected if the filter answers no, but answered yes at the start of the
 * round. A copy of the filter from the start of the round tells. The correction is direct if the
 * key was reported in this round, else serendipitous. Both queries and keys are counted, a key once
 * per round.
 */
#ifndef BENCH_HARNESS_CACHE_EXPERIMENT_H
#define BENCH_HARNESS_CACHE_EXPERIMENT_H

#include "workloads/queries.h"

enum { MAX_CACHE_ENTRIES = 9 };

/* One filter of the comparison. A broom runs behind a guard, the others alone. */
typedef struct cache_filter {
  const char *kind, *options;
  unsigned entries; /* of a cache in front of it; 0: no cache */
  bool rekeys;      /* a new round is a rekey: the published form of the broom filter */
} cache_filter;

typedef struct cache_setup {
  const queries *queries;
  uint64_t stored; /* number of stored keys */
  uint64_t seed;   /* of the keys and of the filters' random choices */
  int log_rate;    /* all filters are configured for an FPR of 2^log_rate */
} cache_setup;

/* Sums over all runs. Only for queries of one universe. */
typedef struct corrections {
  besom_filter *at_start; /* copy from the start of the round */
  uint64_t universe, round;
  uint8_t *reported, *corrected;            /* bitmaps of key numbers */
  uint64_t rounds, direct, serendipitous;   /* corrected queries */
  uint64_t direct_keys, serendipitous_keys; /* corrected keys */
} corrections;

corrections corrections_create(const queries *q);
void corrections_free(corrections *c);

/* Returns the false positives per query. If c is not NULL, counts corrections. */
double cache_experiment_run(const cache_filter *p, const cache_setup *g, corrections *c);

#endif
