/*
 * model.h - what a store should hold: a few lists in two epochs, and tables with keys of all lengths; random changes of
 * both, and comparing them.
 */
#ifndef BESOM_TESTS_STORE_MODEL_H
#define BESOM_TESTS_STORE_MODEL_H

#include "besom_store.h"
#include "support/keys.h"

enum { EPOCHS = 2, BUCKETS = 24, LONGEST_LIST = 6, TABLES = 2, MOST_KEYS = 160 };

/* A record of the model is a number: key and value are made from it (records.h). 0: no record in a table. */
typedef struct model {
  uint32_t lengths[EPOCHS][BUCKETS];
  uint64_t records[EPOCHS][BUCKETS][LONGEST_LIST];
  uint64_t values[TABLES][MOST_KEYS];
} model;

/* The keys of the tables, ascending: of lengths from 0 to 64 KiB, many with long common beginnings. */
typedef struct key_universe {
  besom_bytes keys[MOST_KEYS];
  size_t n;
  uint8_t *storage;
} key_universe;

void key_universe_make(key_universe *keys);
void key_universe_free(key_universe *keys);

uint32_t model_epoch(size_t e); /* the numbers of epochs and buckets, ascending */
uint64_t model_bucket(size_t b);
void model_count(const model *m, uint64_t *records, uint64_t *buckets);

/* One random change of both, if the store does not refuse; what it said. A change of what is not there is tried, too.
 */
besom_status model_change(model *m, const key_universe *keys, besom_store *store,
                          random_stream *random);

/* Ends the test if they differ; or tells whether they do. */
void assert_store_is(besom_store *store, const model *m, const key_universe *keys);
bool store_is(besom_store *store, const model *m, const key_universe *keys);

/* Compares parts: ends the test if they differ. */
void assert_ranges_are(besom_store *store, const model *m, const key_universe *keys,
                       random_stream *random);

#endif
