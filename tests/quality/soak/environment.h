/*
 * environment.h - what happens to the files and servers of guards and sidecars from outside,
 * between their calls (environment.c has the program).
 */
#ifndef BESOM_SOAK_ENVIRONMENT_H
#define BESOM_SOAK_ENVIRONMENT_H

#include "support/demand.h"
#include "support/keys.h"

typedef struct environment_counts {
  uint64_t operations, worlds, moves, locks, restores, foreign, truncated, refused, users,
      full_disks, vanished;
} environment_counts;

/* A world of a guard over a database ("lmdb", "rocksdb"), on a Redis server, or of a sidecar. */
void guard_world(const char *database, uint64_t seed, environment_counts *counts);
void redis_world(uint64_t seed, environment_counts *counts);
void sidecar_world(uint64_t seed, environment_counts *counts);

/* Runs a command of the shell; demands that it succeeds. */
void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The disk takes files up to this many bytes; UINT64_MAX: any. Writes beyond fail, as on a full
   disk. */
void limit_disk(uint64_t bytes);

/* Runs a function in a child process. Returns its result; demands that no signal ends it. */
int in_child(int (*run)(void *ctx), void *ctx);

#endif
