/*
 * model.h - the expected contents of a store: lists in two epochs, and tables with keys of all
 * lengths. Random changes of store and model, and their comparison.
 */
#ifndef BESOM_TESTS_STORE_MODEL_H
#define BESOM_TESTS_STORE_MODEL_H

#include "besom_store.h"
#include "support/keys.h"

enum { EPOCHS = 2, BUCKETS = 24, LONGEST_LIST = 6, TABLES = 2, MOST_KEYS = 160 };

/* A record of the model is a number from which key and value are made (records.h). In a table 0
   means no record. */
typedef struct model {
  uint32_t lengths[EPOCHS][BUCKETS];
  uint64_t records[EPOCHS][BUCKETS][LONGEST_LIST];
  uint64_t values[TABLES][MOST_KEYS];
} model;

/* The keys of the tables, ascending: 0 bytes to 64 KiB long, many with long common prefixes. */
typedef struct key_universe {
  besom_bytes keys[MOST_KEYS];
  size_t n;
  uint8_t *storage;
} key_universe;

void key_universe_make(key_universe *keys);
void key_universe_free(key_universe *keys);

uint32_t model_epoch(size_t e); /* epoch and bucket numbers, ascending */
uint64_t model_bucket(size_t b);
void model_count(const model *m, uint64_t *records, uint64_t *buckets);

/* Makes one random change of the store and, if it succeeds, of the model. Returns the status. Some
   changes are of records that do not exist: NOT_FOUND is returned as OK. */
besom_status model_change(model *m, const key_universe *keys, besom_store *store,
                          random_stream *random);

/* assert fails the test if store and model differ; store_is returns whether they agree. */
void assert_store_is(besom_store *store, const model *m, const key_universe *keys);
bool store_is(besom_store *store, const model *m, const key_universe *keys);

/* Compares random ranges; fails the test if they differ. */
void assert_ranges_are(besom_store *store, const model *m, const key_universe *keys,
                       random_stream *random);

#endif
