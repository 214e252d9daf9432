/* Changes of a guard: put, delete, and batches of this thread. */
#ifndef BESOM_GUARD_CHANGE_H
#define BESOM_GUARD_CHANGE_H

#include "guard/guard.h"

/* The public functions, without the lock of the writers. */
besom_status besom__guard_put(besom_guard *g, const besom_record *record, unsigned flags);
besom_status besom__guard_delete(besom_guard *g, const besom_bytes *key);

/* Before every change: brings the filter in line with the store, and adapts to what readers have
   queued. Errors: why the open batch failed; those of the store. */
besom_status besom__guard_ready_to_change(besom_guard *g);

/* After the undo of half a change. If it failed, a longer transaction must be rolled back. */
void besom__guard_check_undo(besom_guard *g, besom_status undone);

/* Whether this thread has begun a batch. */
bool besom__has_batch(besom_guard *g);

#endif
