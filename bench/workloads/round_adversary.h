/*
 * An adversary who plays in rounds (thesis, section 6.2.3): he asks for a queue of keys that are no members ten times,
 * and keeps only those that were a false positive in the round. A filter that adapts sweeps the queue away, if it is
 * not too long for what it can remember.
 */
#ifndef BENCH_WORKLOADS_ROUND_ADVERSARY_H
#define BENCH_WORKLOADS_ROUND_ADVERSARY_H

#include "harness/tested_filter.h"

enum { SUBROUNDS = 10 };

typedef struct rounds {
  uint64_t *queue;
  uint8_t *lied;   /* of each key of the queue: the filter said yes in this round */
  uint64_t n;      /* keys in the queue */
  uint64_t played; /* rounds */
  uint64_t before; /* keys in the queue when the last round began */
  uint64_t hits;   /* false positives of the last round */
} rounds;

/* The queue is the first n keys of a stream, none of them a member. */
rounds rounds_create(const key_stream *strangers, uint64_t n);
void rounds_free(rounds *r);

/* A round: what stays in the queue keeps its order. */
void rounds_play(rounds *r, learner *l);

/* Has the filter won? So few keys are left for each of its members. */
bool rounds_swept(const rounds *r, uint64_t members);

/* Of the last round: false positives a query, and the share of the keys that were one at least once. */
double rounds_rate(const rounds *r);
double rounds_rate_by_key(const rounds *r);

#endif
