/*
 * The game of "To Adapt or to Cache?": a few keys are stored, others asked for, and false positives counted, of a
 * filter that adapts and of cache-augmented filters (CAF): a quotient filter with a cache of the keys it was wrong
 * about last. The caches are played here, since a key of the paper's small universe takes some 26 bits in one, while
 * the kind `cached` keeps digests of 128.
 *
 * Corrections: a query is put right if the filter denies its key while it did not, were its round just begun, which a
 * copy of the filter from then tells. That is a direct correction if the key was reported in this round, else a
 * serendipitous one. Counted are queries, and keys once a round.
 */
#ifndef BENCH_HARNESS_CACHE_EXPERIMENT_H
#define BENCH_HARNESS_CACHE_EXPERIMENT_H

#include "workloads/queries.h"

enum { MOST_PLACES = 9 };

/* Brooms play behind a guard, the others by themselves. */
typedef struct player {
  const char *kind, *options;
  unsigned places; /* of a cache in front of it; 0: none */
} player;

typedef struct game {
  const queries *queries;
  uint64_t stored; /* keys */
  uint64_t seed;   /* of the keys, and of what the filters draw */
  int log_rate;    /* 2^this is what all filters are made for */
} game;

/* Of all games that were played with it. Made for queries of one universe. */
typedef struct corrections {
  besom_filter *at_begin; /* of the round */
  uint64_t universe, round;
  uint8_t *reported, *lucky;                /* numbers of keys, as bits */
  uint64_t rounds, direct, serendipitous;   /* queries that were put right, */
  uint64_t direct_keys, serendipitous_keys; /* and keys */
} corrections;

corrections corrections_create(const queries *q);
void corrections_free(corrections *c);

/* False positives a query. Corrections are counted if c is not NULL. */
double caf_play(const player *p, const game *g, corrections *c);

#endif
