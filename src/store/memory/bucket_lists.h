/*
 * Bucket lists in memory: lists of records by epoch and bucket. The store in memory keeps its
 * records in them.
 *
 * Each epoch has a hash table from buckets to chains of records. It uses open addressing with
 * linear probing. Removal shifts entries back, so there are no tombstones. Most chains have one
 * record, so a chain is searched and changed by walking it. Small records are allocated from
 * chunks, and freed ones are kept in free lists by size: there is no allocation per record, and
 * none at all once as much was removed as is added.
 *
 * Everything that can fail (a new record, room for a bucket) is done before a change. The change
 * itself cannot fail, and so it can be undone without memory.
 */
#ifndef BESOM_STORE_BUCKET_LISTS_H
#define BESOM_STORE_BUCKET_LISTS_H

#include "besom_store.h"

enum {
  RECORD_UNIT = 8,    /* record sizes are multiples of this */
  SMALL_RECORD = 512, /* larger records are allocated one by one */
};

struct stored_record {
  struct stored_record *next;
  uint32_t key_len, value_len;
  uint8_t bytes[]; /* the key, then the value */
};

struct bucket_lists {
  besom_allocator allocator;
  struct list_epoch *epochs; /* one or two */
  struct list_chunk *chunks; /* small records are allocated from the first one */
  uint8_t *chunk_free;       /* the unused rest of it */
  size_t chunk_free_bytes;
  struct stored_record *free_records[SMALL_RECORD / RECORD_UNIT + 1];
  uint64_t large_records;
  uint64_t records, buckets; /* in the lists */
  uint64_t bytes;            /* allocated */
};

void besom__lists_init(struct bucket_lists *lists, const besom_allocator *allocator);
void besom__lists_free(struct bucket_lists *lists);

/* A copy of a record that is in no list yet. NULL if there is no memory. */
struct stored_record *besom__lists_new_record(struct bucket_lists *lists, const besom_record *from);
void besom__lists_free_record(struct bucket_lists *lists, struct stored_record *record);

/* Makes room for one more bucket of an epoch. False if there is no memory. */
bool besom__lists_make_room(struct bucket_lists *lists, uint32_t epoch);

/* Whether the list has a record at that position; whether its length is at.rank. */
bool besom__lists_has(const struct bucket_lists *lists, besom_place at);
bool besom__lists_ends_at(const struct bucket_lists *lists, besom_place at);

/* Inserts a record at a position from 0 to the length of the list; the ranks of those after it grow
   by one. If at.rank is 0, call besom__lists_make_room before. */
void besom__lists_insert(struct bucket_lists *lists, besom_place at, struct stored_record *record);

/* Both return the record at a position, which must exist; the caller owns it then. take removes it
   from the list, so that the ranks of those after it shrink by one; replace puts another there. */
struct stored_record *besom__lists_take(struct bucket_lists *lists, besom_place at);
struct stored_record *besom__lists_replace(struct bucket_lists *lists, besom_place at,
                                           struct stored_record *record);

/* Frees the tables of epochs without records. */
void besom__lists_drop_empty(struct bucket_lists *lists);

/* Like get and scan of a store, but BESOM_END from the visitor is returned as it is. */
besom_status besom__lists_show(const struct bucket_lists *lists, besom_place at,
                               besom_store_visit visit, void *ctx);
besom_status besom__lists_scan(const struct bucket_lists *lists, besom_place from,
                               besom_store_visit visit, void *ctx);

#endif
