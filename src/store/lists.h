/*
 * Lists of records in memory, by epoch and bucket: what the store in memory keeps its records in.
 *
 * Each epoch has a hash table from buckets to chains of records. It is open-addressed with linear probing; erasing
 * shifts back, so that there are no tombstones. Most chains have one record, so a chain is found, read and changed by
 * walking it. Small records are cut from chunks and recycled by size: no allocation a record, and none at all
 * once as much was removed as is added.
 *
 * Whatever may fail (a new record, room for a bucket) is done before the change, which cannot: so a change can
 * be taken back, too, without memory.
 */
#ifndef BESOM_STORE_LISTS_H
#define BESOM_STORE_LISTS_H

#include "besom_store.h"

enum {
  RECORD_UNIT = 8,    /* sizes of records are multiples of this */
  SMALL_RECORD = 512, /* larger ones are allocations of their own */
};

struct stored_record {
  struct stored_record *next;
  uint32_t key_len, value_len;
  uint8_t bytes[]; /* the key, then the value */
};

struct lists {
  besom_allocator allocator;
  struct list_epoch *epochs; /* there are one or two */
  struct list_chunk *chunks; /* the first one is being cut; the rest of it is: */
  uint8_t *uncut;
  size_t uncut_size;
  struct stored_record *recycled[SMALL_RECORD / RECORD_UNIT + 1];
  uint64_t large_records;
  uint64_t records, buckets, bytes; /* in the lists; of memory */
};

void besom__lists_init(struct lists *lists, const besom_allocator *allocator);
void besom__lists_free(struct lists *lists);

/* A copy of a record, in no list yet; NULL without memory. */
struct stored_record *besom__lists_record(struct lists *lists, const besom_record *from);
void besom__lists_discard(struct lists *lists, struct stored_record *record);

/* Makes room for one more bucket of an epoch. False without memory. */
bool besom__lists_reserve(struct lists *lists, uint32_t epoch);

/* Whether the list has a record at that place; whether it ends just before it. */
bool besom__lists_has(const struct lists *lists, besom_place at);
bool besom__lists_ends_at(const struct lists *lists, besom_place at);

/* Puts a record in at a place, where a record is or the list ends; room is reserved. Those behind move down. */
void besom__lists_insert(struct lists *lists, besom_place at, struct stored_record *record);

/* The record of a place that there is, which is the caller's now: those behind it move up; or another gets its place.
 */
struct stored_record *besom__lists_take(struct lists *lists, besom_place at);
struct stored_record *besom__lists_exchange(struct lists *lists, besom_place at,
                                            struct stored_record *record);

/* Frees the tables of epochs that have no record. */
void besom__lists_drop_empty(struct lists *lists);

/* As get and scan of a store, but that BESOM_END is returned as it is. */
besom_status besom__lists_show(const struct lists *lists, besom_place at, besom_store_visit visit,
                               void *ctx);
besom_status besom__lists_scan(const struct lists *lists, besom_place from, besom_store_visit visit,
                               void *ctx);

#endif
