/*
 * array_db.h - a minimal ordered database: a sorted array that outlives the store over it and fails
 * on demand.
 */
#ifndef BESOM_TESTS_ARRAY_DB_H
#define BESOM_TESTS_ARRAY_DB_H

#include <pthread.h>

#include "besom_store.h"

enum { ARRAY_MAX_KEY = 64 }; /* the minimum, so that long keys are common */

typedef struct array_record {
  uint8_t *bytes; /* the key, then the value */
  size_t key_len, value_len;
} array_record;

typedef struct array_db {
  pthread_rwlock_t lock;
  array_record *records;
  size_t n, room;
  uint64_t writes;
  bool nondurable;                 /* a write is not durable yet */
  _Atomic uint64_t calls, fail_at; /* the call that fails, from 1; 0 for none */
  const char *mistake;             /* what its user did wrong, or NULL */
} array_db;

extern const besom_ordered_ops array_ops; /* close keeps the data */

void array_db_init(array_db *db);
void array_db_free(array_db *db);

#endif
