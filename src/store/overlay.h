/*
 * A database of ordered keys with changes that are not written yet laid over it: what is read is what would be there
 * after the write.
 *
 * Nothing changes the overlay while others may read. A write leaves it as it is, too: as long as it holds just what
 * is in the database now, it does no harm. So reads need no lock beside a write; who changes something next, and has
 * the store to himself, empties it first (besom__overlay_settle).
 */
#ifndef BESOM_STORE_OVERLAY_H
#define BESOM_STORE_OVERLAY_H

#include "store/sorted.h"

struct overlay {
  const besom_ordered_ops *ops;
  void *db;
  struct sorted_map changes;
  bool written; /* the changes are in the database */
};

/* The value of a key. Errors: NOT_FOUND. */
besom_status besom__overlay_get(const struct overlay *o, besom_bytes key, besom_table_visit visit,
                                void *ctx);

/* The records with keys >= from and < to. */
besom_status besom__overlay_scan(const struct overlay *o, besom_bytes from, besom_bytes to,
                                 besom_table_visit visit, void *ctx);

/* Empties the overlay if it is written. */
void besom__overlay_settle(struct overlay *o);

/* Writes all changes; after OK they are written. */
besom_status besom__overlay_write(struct overlay *o, bool durable);

#endif
