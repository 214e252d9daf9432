/*
 * A store made of a database with ordered keys (besom_store_ordered). What the database sees:
 *
 *     'B'                              the marker: this is a store of besom, of this version
 *     'K' key, 'N' key                 a record of the table of keys, of notes
 *     'L' epoch bucket rank            a record of a list (packed.h); of each number first how long it is, so that order is theirs
 *
 * A table's key that is so long that it does not fit behind its letter is cut: all keys that begin alike are a group in
 * one record, whose key is what they have in common. It has as many bytes as a key may have, and no key that fits has
 * as many, so the record lies where its keys belong. A change writes the whole group.
 *
 * All changes go to an overlay (overlay.h) first, those of a call together when none can fail any more; a commit is one
 * write of it. Without a transaction each call commits at once.
 */
#ifndef BESOM_STORE_ORDERED_H
#define BESOM_STORE_ORDERED_H

#include "store/counts.h"
#include "store/overlay.h"

struct tally {
  uint64_t records, buckets;
};

struct ordered_store {
  besom_store head;
  besom_allocator allocator;
  struct overlay data;
  size_t table_room; /* bytes of a table's key that fit behind the letter */
  bool in_transaction;
  bool counted; /* the tally is known: there were no lists when the store was opened */
  struct tally tally, tally_before;
  struct store_counts counts;
};

static inline struct ordered_store *of(besom_store *store) {
  return (struct ordered_store *)store;
}

/* ------------------------------------------------------------------ changes of a call */

/* Entries that are not in the overlay yet, linked by next[0]. */
struct change_set {
  struct ordered_store *store;
  struct sorted_entry *first;
};

/* The beginning of every call that changes something. */
struct change_set besom__begin_changes(struct ordered_store *store);

/* value.data NULL: the caller fills it in. NULL, false: no memory. */
struct sorted_entry *besom__add_change(struct change_set *set, besom_bytes key, besom_bytes value);
bool besom__add_removal(struct change_set *set, besom_bytes key);

/* The end of the call: if status is OK the changes are made, else dropped. */
besom_status besom__apply(struct change_set *set, besom_status status);

/* ------------------------------------------------------------------ reading */

/* Makes of a prefix the least key that is greater than all that begin with it. Not all of its bytes are 255. */
besom_bytes besom__prefix_end(uint8_t *prefix, size_t len);

/* For who only wants to know whether there is a record. */
besom_status besom__nothing_more(void *ctx, const besom_record *record);

/* ------------------------------------------------------------------ tables: ordered_tables.c */

besom_status besom__ordered_table_put(besom_store *head, besom_table table,
                                      const besom_record *record);
besom_status besom__ordered_table_get(besom_store *head, besom_table table, besom_bytes key,
                                      besom_table_visit visit, void *ctx);
besom_status besom__ordered_table_remove(besom_store *head, besom_table table, besom_bytes key);
besom_status besom__ordered_table_scan(besom_store *head, besom_table table, besom_bytes from,
                                       besom_bytes to, besom_table_visit visit, void *ctx);

#endif
