/*
 * An adversary that queries a database for absent keys. In the first half of the run it collects
 * false positives. In the second half it repeats them, mixed with queries of other clients, which
 * are for fresh absent keys.
 */
#ifndef BENCH_WORKLOADS_DATABASE_ATTACK_H
#define BENCH_WORKLOADS_DATABASE_ATTACK_H

#include <stdint.h>

#include "harness/disk.h"
#include "harness/tested_database.h"
#include "harness/timing.h"
#include "workloads/replay_adversary.h"

typedef struct database_attack {
  tested_database *db;
  disk_cache *cache;     /* bounded during the attack; may be NULL */
  replay_adversary keys; /* the queries; the caller sets share and absent */
  /* wall time of each step of the second half, without the time to empty the cache */
  samples seconds;
  uint64_t pages; /* pages read from disk in the second half */
  uint64_t reads; /* reads of the store in the second half */
} database_attack;

/* Runs n queries of the other clients and collects the false positives. */
void database_attack_collect(database_attack *a, uint64_t n);

/* Runs one step of the second half: n queries, of the adversary and of the other clients. */
void database_attack_replay(database_attack *a, uint64_t n);

void database_attack_free(database_attack *a);

#endif
