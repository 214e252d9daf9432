/*
 * table.h - a small aqf with its store, described slot by slot, so that a page can draw it.
 *
 * The store is a list of keys per bucket: the reverse map. A query that the filter answers yes
 * reads the keys of all matches. If none is equal, the answer was a false positive, and table_query
 * reports it: every fingerprint that matched is extended.
 *
 * Beside it is a qf with the same keys, geometry and seed, which does not adapt: for comparison.
 *
 * All structs are arrays of 32-bit integers, so that JavaScript reads them as Int32Array.
 */
#ifndef PLAYGROUND_TABLE_H
#define PLAYGROUND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "besom.h"

typedef struct table table;

enum { TABLE_MAX_KEY = 31, TABLE_MAX_SLOTS = 1024, TABLE_MAX_MATCHES = 8 };

enum { SLOT_EMPTY, SLOT_HEAD, SLOT_FURTHER };

typedef struct table_slot {
  int32_t state;       /* SLOT_... */
  int32_t occupied;    /* the quotient of this number has a run */
  int32_t run_end;     /* the slot is the last of its run */
  int32_t content;     /* the bits of the slot: a remainder, or a part of an extension */
  int32_t quotient;    /* of its run; -1 if it is empty */
  int32_t fingerprint; /* its number, in the order of the table; -1 if it is empty */
} table_slot;

typedef struct table_fingerprint {
  int32_t position, slots;
  int32_t quotient, remainder;
  int32_t extension_bits;
  int32_t extension; /* its first 32 bits, the first one uppermost */
  int32_t tombstone; /* of a removed key */
  int32_t record;    /* number of its key in the store; -1 for a tombstone */
} table_fingerprint;

/* A key, its address in the table, and what the filter answers. */
typedef struct table_answer {
  int32_t yes;
  int32_t member;    /* the key is in the store */
  int32_t plain_yes; /* the answer of the qf */
  int32_t quotient, remainder;
  int32_t run_start, run_end; /* positions; equal if there is no run */
  int32_t suffix;             /* the 32 bits after the remainder, the first one uppermost */
  int32_t digest;             /* the first 32 bits of the digest */
  int32_t matches;
  int32_t match[TABLE_MAX_MATCHES]; /* numbers of fingerprints */
} table_answer;

/* What the whole table has. */
typedef struct table_totals {
  int32_t slots, room, width;
  int32_t used;         /* slots that are not empty */
  int32_t fingerprints; /* including tombstones */
  int32_t records;
  int32_t capacity;       /* keys that fit */
  int32_t extension_bits; /* of all fingerprints */
  int32_t reserve_used;   /* per cent */
} table_totals;

/* Errors: INVALID, NO_MEMORY. */
besom_status table_create(uint32_t slots, uint32_t width, uint32_t seed, table **out);
void table_free(table *t);

/* What a query finds. Changes nothing. Errors: INVALID (the key is too long). */
besom_status table_look(const table *t, const char *key, size_t len, table_answer *out);

/*
 * insert adds a key. Errors: IS_MEMBER (it is there), FULL. remove removes it. Errors: NOT_FOUND.
 * query reports the key if the filter answers yes and the key is absent. Errors: RESERVE_FULL, and
 * then nothing has changed. All: INVALID (the key is too long).
 */
besom_status table_insert(table *t, const char *key, size_t len);
besom_status table_remove(table *t, const char *key, size_t len);
besom_status table_query(table *t, const char *key, size_t len);

/* Describes the table. slots has room for totals.room entries, fingerprints for totals.fingerprints. */
void table_total(const table *t, table_totals *out);
void table_describe(const table *t, table_slot *slots, table_fingerprint *fingerprints);

/* A key of the store, terminated by 0. */
const char *table_record(const table *t, uint32_t i);

#endif
