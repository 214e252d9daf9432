/*
 * A store over a database with ordered keys (besom_store_ordered). The database gets these keys:
 *
 *     'B'                      the marker: the database is a besom store of this version
 *     'K' key, 'N' key         a record of the table KEYS, of the table MANIFEST
 *     'L' epoch bucket rank    a record of a bucket list (record_codec.h); each number begins with
 *                              its length, so that byte order is numeric order
 *
 * A table key that is too long to fit after its letter is cut to the part that fits. All keys with
 * that prefix are a group: one record, whose database key is the prefix. The prefix has the maximal
 * length, and no key that fits has that length, so the group is at the right position in the order.
 * A change of one key rewrites its group.
 *
 * All changes go to an overlay (overlay.h) first. The changes of one call are made together, when
 * none of them can fail any more. A commit writes the overlay to the database in one write. Without
 * a transaction each call commits at once.
 */
#ifndef BESOM_STORE_ORDERED_STORE_H
#define BESOM_STORE_ORDERED_STORE_H

#include "store/ordered/overlay.h"
#include "store/store_calls.h"

struct list_counts {
  uint64_t records, buckets;
};

struct ordered_store {
  besom_store head;
  besom_allocator allocator;
  struct overlay data;
  size_t group_prefix; /* table keys of at least this length are grouped by their first bytes */
  bool in_transaction;
  bool counts_known; /* list_counts is right: the store had no lists when it was opened */
  struct list_counts list_counts, list_counts_before, list_counts_savepoint;
  struct call_counters counters;
};

/* ------------------------------------------------------------------ the changes of one call */

/* Entries that are not in the overlay yet, linked by next[0]. */
struct change_set {
  struct ordered_store *store;
  struct sorted_entry *first;
};

/* Call it first in every call that changes something. */
struct change_set besom__begin_changes(struct ordered_store *store);

/* Add a change to the set. If value.data is NULL, the caller writes the value into the entry. NULL
   or false: no memory. */
struct sorted_entry *besom__add_change(struct change_set *set, besom_bytes key, besom_bytes value);
bool besom__add_removal(struct change_set *set, besom_bytes key);

/* Call it last. If status is OK, makes the changes and, without a transaction, writes them.
   Otherwise frees them. Returns the status. */
besom_status besom__apply_changes(struct change_set *set, besom_status status);

/* ------------------------------------------------------------------ reading */

/* Turns a prefix into the smallest key greater than all keys with that prefix. At least one byte of
   it must not be 255. */
besom_bytes besom__prefix_end(uint8_t *prefix, size_t len);

/* A visitor that ends the walk, for callers that only want to know whether a record exists. */
besom_status besom__visit_nothing(void *ctx, const besom_record *record);

/* ------------------------------------------------------------------ tables: ordered_tables.c */

besom_status besom__ordered_table_put(besom_store *head, besom_table table,
                                      const besom_record *record);
besom_status besom__ordered_table_get(besom_store *head, besom_table table, besom_bytes key,
                                      besom_table_visit visit, void *ctx);
besom_status besom__ordered_table_remove(besom_store *head, besom_table table, besom_bytes key);
besom_status besom__ordered_table_scan(besom_store *head, besom_table table, besom_bytes from,
                                       besom_bytes to, besom_table_visit visit, void *ctx);
besom_status besom__ordered_table_cursor(besom_store *head, besom_table table, besom_bytes from,
                                         besom_bytes to, besom_cursor **out);

/* ------------------------------------------------------------------ cursors: ordered_cursor.c */

/* The keys of the database from first up to end. They are records of a table, which are shown if
   their keys are >= from and < to, or of bucket lists. */
struct cursor_range {
  bool table;
  besom_bytes from, to;
  besom_bytes first, end;
};

/* Errors: UNSUPPORTED, NO_MEMORY, those of the database. */
besom_status besom__ordered_cursor_new(struct ordered_store *store,
                                       const struct cursor_range *range, besom_cursor **out);

#endif
