/*
 * A database as an application uses it without besom: LMDB or RocksDB, called directly. LMDB has
 * one read transaction, which is renewed for each get. RocksDB has its own Bloom filter.
 */
#ifndef BENCH_HARNESS_PLAIN_DATABASE_H
#define BENCH_HARNESS_PLAIN_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/disk.h"
#include "harness/tested_database.h"

typedef struct plain_database {
  database_kind database;
  char directory[DISK_PATH];
  void *handle;
} plain_database;

/* Opens a new database. bloom_bits: bits per key of RocksDB's filter. Fails if this build does not
   have the database. */
void plain_database_open(plain_database *p, database_kind database, uint64_t cache_bytes,
                         double bloom_bits);

/* Stores n keys, each with a value of DATABASE_VALUE_BYTES bytes. */
void plain_database_fill(plain_database *p, const uint64_t *keys, size_t n);

/* Copies the value of a key. Returns false if there is none. */
bool plain_database_get(plain_database *p, uint64_t key, uint8_t value[DATABASE_VALUE_BYTES]);

/* Removes the files, too. */
void plain_database_close(plain_database *p);

#endif
