/* The undo log: how the filter follows when the store drops changes. */
#ifndef BESOM_GUARD_UNDO_LOG_H
#define BESOM_GUARD_UNDO_LOG_H

#include "guard/guard.h"

/* make_room, for n entries, must come before the change; add appends one. Both do nothing for a
   store without transactions. forget_next drops the entries of the next filter from an index on.
   Errors: NO_MEMORY. */
besom_status besom__undo_make_room(besom_guard *g, size_t n);
void besom__undo_add(besom_guard *g, const besom_filter *f, besom_match at, bool refill);
void besom__undo_forget_next(besom_guard *g, size_t from);

/* Undoes the entries from undo.from on in the filter, after the store has dropped these changes.
   The caller has the write lock. Errors: those of the store; then it can be repeated. */
besom_status besom__undo_run(besom_guard *g);

/* Before every change: brings the filter in line with the store, if a rollback did not finish. */
besom_status besom__guard_resync(besom_guard *g);

/* Before every read: OK if filter and store agree. With threads only a writer can resync, so a
   reader gets IO. */
static inline besom_status ready_to_read(besom_guard *g) {
  if (LIKELY(!g->filter_stale)) return BESOM_OK;
  return g->locks ? BESOM_IO : besom__guard_resync(g);
}

#endif
