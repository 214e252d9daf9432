/*
 * records.h - test records for stores, each computed from a number.
 */
#ifndef BESOM_TESTS_RECORDS_H
#define BESOM_TESTS_RECORDS_H

#include "besom_store.h"

enum { LARGEST_VALUE = 1500 };

typedef struct made_record {
  besom_record api;
  uint8_t key[64], value[LARGEST_VALUE];
} made_record;

/* Pseudo-random bytes. */
void fill_bytes(uint8_t *out, size_t len, uint64_t seed);

/*
 * Keys of 0 to 63 bytes. Most values are small, so that sizes repeat and memory is reused. The
 * record must not move.
 */
void make_record(made_record *record, uint64_t number);

bool bytes_equal(besom_bytes a, besom_bytes b);
bool is_made_record(const besom_record *shown, uint64_t number);

#endif
