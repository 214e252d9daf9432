/*
 * A database on disk with a filter in front of it, or without a filter, as an application has it.
 * Kinds that work with a store run in a guard. The others run as they would without besom's help:
 * the database orders by key, and is read if the filter answers yes. Claims compare them on the
 * same keys.
 */
#ifndef BENCH_HARNESS_TESTED_DATABASE_H
#define BENCH_HARNESS_TESTED_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "besom_store.h"
#include "harness/disk.h"
#include "workloads/key_stream.h"

/* MEMORY: a store without a disk; it cannot be reopened. */
typedef enum database_kind { LMDB, ROCKSDB, MEMORY } database_kind;

typedef struct database_config {
  database_kind database;
  const char *kind;    /* NULL: no filter */
  const char *options; /* of the filter; NULL for those of peer_config */
  uint64_t slots;      /* as in peer_config, to be filled to 90 % */
  int more_bits;       /* fingerprint bits, in addition to those of peer_config; may be negative */
  uint64_t seed;       /* of the filter's hash; 0 for BENCH_SEED */
  /* get calls the guard, which also keeps its statistics, only after a yes */
  bool filter_first;
  bool live; /* the guard has threads, and grows and rekeys by itself */
  besom_layout layout;
  besom_durability durability;
  bool threads; /* several threads may use the guard */
  besom_rocksdb_options rocksdb;
} database_config;

enum { DATABASE_VALUE_BYTES = 24 };

/* The value that is stored under a key. */
static inline void database_value(uint64_t key, uint64_t value[DATABASE_VALUE_BYTES / 8]) {
  for (size_t i = 0; i < DATABASE_VALUE_BYTES / 8; i++) value[i] = random_at(key, i);
}

typedef struct tested_database {
  database_config config;
  char directory[DISK_PATH];
  besom_guard *guard;                 /* NULL if the kind does not run in a guard */
  besom_filter *filter;               /* the filter without a guard; may be NULL */
  besom_store *store;                 /* owned by the guard if there is one */
  const besom_filter *queried_filter; /* the filter that answers queries, or NULL */
} tested_database;

/* NULL if this build has the database, else the reason why not. */
const char *database_is_missing(database_kind database);

/* Fails if this build does not have the database. */
void tested_database_open(tested_database *f, const database_config *config);
void tested_database_close(tested_database *f);

/* Number of keys that fill it. */
uint64_t tested_database_capacity(const tested_database *f);

/* A batch of puts. It is durable when tested_database_commit has returned. */
void tested_database_begin(tested_database *f);
void tested_database_commit(tested_database *f);

/* Adds an absent key with a value of DATABASE_VALUE_BYTES bytes. */
void tested_database_put(tested_database *f, uint64_t key);

/* Puts members from number `first` on, or keys of another stream, in large batches. */
void tested_database_fill(tested_database *f, uint64_t first, uint64_t n);
void tested_database_fill_from(tested_database *f, const key_stream *stream, uint64_t first,
                               uint64_t n);

/* Closes the database and opens it again. The filter is restored. */
void tested_database_reopen(tested_database *f);

/* Returns whether the key is in the database. */
bool tested_database_get(tested_database *f, uint64_t key);

/* Returns whether a query would read the database: always true without a filter. */
static inline bool tested_database_filter_says_yes(const tested_database *f, uint64_t key) {
  return !f->queried_filter || besom_contains_u64(f->queried_filter, key);
}

besom_store_statistics tested_database_stats(const tested_database *f);

static inline const char *tested_database_filter_name(const tested_database *f) {
  return f->config.kind ? f->config.kind : "none";
}

#endif
