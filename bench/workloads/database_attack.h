/*
 * An adversary that asks a database for keys which are not there: it collects false positives in a first half, and
 * asks for them again in the second, among the queries of others, which are fresh keys.
 */
#ifndef BENCH_WORKLOADS_DATABASE_ATTACK_H
#define BENCH_WORKLOADS_DATABASE_ATTACK_H

#include <stdint.h>

#include "harness/disk.h"
#include "harness/tested_database.h"
#include "harness/timing.h"
#include "workloads/replay_adversary.h"

typedef struct attack {
  front *front;
  disk_cache *cache; /* kept small meanwhile; may be NULL */
  replay keys;       /* which are asked: share and strangers are the caller's */
  samples
      seconds; /* wall time of each turn of the second half, without what emptying the cache took */
  uint64_t pages; /* that the second half has had the disk read */
  uint64_t reads; /* of the store in the second half */
} attack;

/* n queries of the others; those that the filter is wrong about are kept. */
void attack_collect(attack *a, uint64_t n);

/* A turn of the second half: n queries of both. */
void attack_go_on(attack *a, uint64_t n);

void attack_free(attack *a);

#endif
