/*
 * What an application has: a database on disk with a filter in front of it, or with none. Kinds that can stand in front
 * of a store do so by a guard, others as they would without besom's help: the database keeps keys in their order, and
 * is read when the filter says yes. Claims compare them on the same keys.
 */
#ifndef BENCH_HARNESS_TESTED_DATABASE_H
#define BENCH_HARNESS_TESTED_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "besom_store.h"
#include "harness/disk.h"
#include "workloads/key_stream.h"

/* MEMORY: a store that is on no disk, and cannot be opened again. */
typedef enum database { LMDB, ROCKSDB, MEMORY } database;

typedef struct front_config {
  database database;
  const char *kind;   /* NULL: no filter */
  uint64_t slots;     /* as rival_config has them, to be filled to 90 % */
  uint32_t more_bits; /* of a fingerprint, than those of rival_config */
  uint64_t seed;      /* of the filter's hash; 0 for BENCH_SEED */
  bool
      filter_first; /* front_get asks the guard, which counts and watches, only when its filter says yes */
  besom_layout layout;
  besom_durability durability;
  besom_rocksdb_options rocksdb;
} front_config;

enum { FRONT_VALUE = 24 };

typedef struct front {
  front_config config;
  char directory[DISK_PATH];
  besom_guard *guard;         /* or NULL, */
  besom_filter *filter;       /* then this, or NULL */
  besom_store *store;         /* the guard's, if it has one */
  const besom_filter *facade; /* the one that is asked, or NULL */
} front;

/* Fails if this build has no such database. */
void front_open(front *f, const front_config *config);
void front_close(front *f);

/* How many keys fill it. */
uint64_t front_capacity(const front *f);

/* A batch of puts: it is durable once front_commit has returned. */
void front_begin(front *f);
void front_commit(front *f);

/* A key that is not there, with a value of FRONT_VALUE bytes. */
void front_put(front *f, uint64_t key);

/* Puts members from number `first` on, or keys of another stream, in large batches. */
void front_fill(front *f, uint64_t first, uint64_t n);
void front_fill_from(front *f, const key_stream *stream, uint64_t first, uint64_t n);

/* Closes the database and opens it again; the filter comes back as it was. */
void front_reopen(front *f);

/* Is it there? */
bool front_get(front *f, uint64_t key);

/* Would the database be read? Without a filter: always. */
static inline bool front_says_yes(const front *f, uint64_t key) {
  return !f->facade || besom_contains_u64(f->facade, key);
}

besom_store_statistics front_stats(const front *f);

static inline const char *front_name(const front *f) {
  return f->config.kind ? f->config.kind : "none";
}

#endif
