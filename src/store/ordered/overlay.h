/*
 * The overlay: changes that are not written yet, in a sorted map over a database of ordered keys. A
 * read sees what would be in the database after the write.
 *
 * The overlay does not change while other threads may read. A write leaves it as it is, too, and
 * then sets `written`: a read that sees it also sees the write, and skips the overlay. A read that
 * does not see it yet gets the same from either. So reads need no lock beside a write. The next
 * change, which has the store to itself, empties the overlay first (ordered_store.c).
 *
 * A savepoint is a state of the overlay that it can return to without memory. Each entry has the
 * number of the savepoint that it came after. An entry that is displaced is kept if it is older
 * than the last savepoint.
 */
#ifndef BESOM_STORE_OVERLAY_H
#define BESOM_STORE_OVERLAY_H

#include <stdatomic.h>

#include "store/sorted_map.h"

struct overlay {
  besom_ordered_ops ops;
  void *db;
  struct sorted_map changes;
  _Atomic bool written;           /* the changes are in the database */
  uint32_t savepoint;             /* number of the last savepoint; 0: there is none */
  bool changed;                   /* since the savepoint */
  struct sorted_entry *displaced; /* entries from before the savepoint, linked by next[0] */
};

/* Whether a read must look into the overlay. Pairs with the release in besom__overlay_write. */
static inline bool has_unwritten(const struct overlay *o) {
  return o->changes.count && !atomic_load_explicit(&o->written, memory_order_acquire);
}

/* Links the entry of a change, in place of one with the same key. */
void besom__overlay_put(struct overlay *o, struct sorted_entry *e);

/* set replaces an earlier savepoint. undo undoes all changes since the savepoint, which stays. */
void besom__overlay_set_savepoint(struct overlay *o);
void besom__overlay_undo(struct overlay *o);

/* Show the value of a key. If there is none: show is OK, get is NOT_FOUND. */
besom_status besom__overlay_show(const struct overlay *o, besom_bytes key, besom_table_visit visit,
                                 void *ctx);
besom_status besom__overlay_get(const struct overlay *o, besom_bytes key, besom_table_visit visit,
                                void *ctx);

/* Shows the records with keys >= from and < to. */
besom_status besom__overlay_scan(const struct overlay *o, besom_bytes from, besom_bytes to,
                                 besom_table_visit visit, void *ctx);

void besom__overlay_clear(struct overlay *o);

/* Writes all changes in one write. After OK written is set; after an error nothing has changed, and
   it can be repeated. Errors: NO_MEMORY, those of the database. */
besom_status besom__overlay_write(struct overlay *o, bool durable);

#endif
