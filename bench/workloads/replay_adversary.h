/*
 * Which keys an adversary has a filter asked for: in a first half only others ask, for fresh keys, and he notes those
 * that were false positives; in the second half a share of the queries are his, and go round what he has noted.
 */
#ifndef BENCH_WORKLOADS_REPLAY_ADVERSARY_H
#define BENCH_WORKLOADS_REPLAY_ADVERSARY_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/key_list.h"
#include "workloads/key_stream.h"

typedef struct replay {
  key_stream strangers; /* what the others ask for */
  double share;         /* of the second half's queries that are his */
  key_list found;       /* what he has noted: by key_list_add */
  uint64_t asked;       /* queries of the others so far */
  uint64_t number;      /* of the next query of the second half */
  uint64_t replayed;    /* queries of his so far */
} replay;

/* The next n queries of the first half. */
void replay_collect(replay *r, size_t n, uint64_t *keys);

/* The next n queries of the second half. Without a noted key all are of the others. */
void replay_choose(replay *r, size_t n, uint64_t *keys);

void replay_free(replay *r);

#endif
