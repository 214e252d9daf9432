/*
 * Generates the queries of an adversary that replays false positives. In the first half of a run
 * only the other clients query, for fresh absent keys, and the adversary records the false
 * positives. In the second half a share of the queries is the adversary's: it cycles through the
 * recorded keys.
 */
#ifndef BENCH_WORKLOADS_REPLAY_ADVERSARY_H
#define BENCH_WORKLOADS_REPLAY_ADVERSARY_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/key_list.h"
#include "workloads/key_stream.h"

typedef struct replay_adversary {
  key_stream absent; /* queries of the other clients */
  double share;      /* share of the adversary in the second half */
  key_list found;    /* recorded keys: the caller adds them by key_list_add */
  uint64_t queried;  /* queries of the other clients so far */
  uint64_t number;   /* of the next query of the second half */
  uint64_t replayed; /* queries of the adversary so far */
} replay_adversary;

/* The next n queries of the first half. */
void replay_adversary_collect(replay_adversary *r, size_t n, uint64_t *keys);

/* The next n queries of the second half. If no key is recorded, all are of the other clients. */
void replay_adversary_choose(replay_adversary *r, size_t n, uint64_t *keys);

void replay_adversary_free(replay_adversary *r);

#endif
