/*
 * An adversary that works in rounds (thesis, section 6.2.3). It queries a queue of absent keys ten
 * times and keeps only the keys that were a false positive in the round. An adaptive filter empties
 * the queue, unless the queue is too long for its adaptation state.
 */
#ifndef BENCH_WORKLOADS_ROUND_ADVERSARY_H
#define BENCH_WORKLOADS_ROUND_ADVERSARY_H

#include "harness/tested_filter.h"

enum { SUBROUNDS = 10 };

typedef struct round_adversary {
  uint64_t *queue;
  uint8_t *erred;  /* per key of the queue: a false positive in this round */
  uint64_t n;      /* keys in the queue */
  uint64_t played; /* rounds so far */
  uint64_t before; /* keys in the queue at the start of the last round */
  uint64_t hits;   /* false positives of the last round */
} round_adversary;

/* The queue is the first n keys of a stream of absent keys. */
round_adversary round_adversary_create(const key_stream *absent, uint64_t n);
void round_adversary_free(round_adversary *r);

/* Runs one round. The remaining keys keep their order. */
void round_adversary_run(round_adversary *r, tested_filter *tested);

/* Returns true if the filter has won: few keys per member are left in the queue. */
bool round_adversary_beaten(const round_adversary *r, uint64_t members);

/*
 * Of the last round: false positives per query; the share of the keys that were a false positive at
 * least once.
 */
double round_adversary_fpr(const round_adversary *r);
double round_adversary_fpr_by_key(const round_adversary *r);

#endif
