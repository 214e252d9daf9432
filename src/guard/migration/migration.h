/* Growing and rekeying: moving records from one epoch to the next, and merging. */
#ifndef BESOM_GUARD_MIGRATION_H
#define BESOM_GUARD_MIGRATION_H

#include "guard/guard.h"

/* Starts a migration to a filter of the same size, or of twice the size. */
besom_status besom__migration_start(besom_guard *g, bool grow);

/* A step: at most max records, or one list that is longer, for at most about ns nanoseconds. If a
   transaction is open, the step is part of it. A step that fails is undone alone. Adds to
   *moved. */
besom_status besom__migration_step(besom_guard *g, uint64_t max, uint64_t ns, uint64_t *moved);

/* When all records have migrated: the next filter becomes the only one. The first form may be
   called at any time, and only outside of a transaction does anything; a failure is counted. */
void besom__migration_finish_if_done(besom_guard *g);
besom_status besom__migration_finish(besom_guard *g);

/* The public functions, without the lock of the writers. */
besom_status besom__guard_rekey(besom_guard *g);
besom_status besom__guard_step(besom_guard *g, uint64_t max_items, bool *finished);

/* What the background thread does at a time. due: whether it would do anything. */
besom_status besom__guard_background_step(besom_guard *g);
bool besom__guard_work_is_due(const besom_guard *g);

/* After a change: starts a migration if one is due, and does one step if one is running, as part
   of the open transaction if there is one. A failed step is only counted. */
void besom__migration_advance(besom_guard *g);

/* When an insert was FULL: migrates until there is room. FULL if that is not possible. */
besom_status besom__migration_make_room(besom_guard *g);

/* Whether a migration is due or runs. */
bool besom__migration_pending(const besom_guard *g);

/* Sets grow_items for the current filter. */
void besom__guard_set_grow_threshold(besom_guard *g);

besom_status besom__guard_merge(besom_guard *into, besom_guard *from);

#endif
