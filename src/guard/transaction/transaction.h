/* Transactions: commit, abort, rollback, savepoints, group commits. */
#ifndef BESOM_GUARD_TRANSACTION_H
#define BESOM_GUARD_TRANSACTION_H

#include "guard/guard.h"

/* Commits a transaction that is not a batch. If it fails, all of it is undone. */
besom_status besom__transaction_commit(besom_guard *g);

/* The public functions, without the lock of the writers. A batch is open when commit and abort are
   called. */
besom_status besom__batch_begin(besom_guard *g);
besom_status besom__batch_commit(besom_guard *g);
besom_status besom__batch_abort(besom_guard *g);
besom_status besom__guard_sync(besom_guard *g);

/*
 * Brackets a change of filter and store in memory. begin takes the write lock; if no transaction is
 * open it begins one, else it sets a savepoint. end gets the status of the change and releases the
 * lock.
 * - A change that failed is undone: alone if it is within a longer transaction. Over a store
 *   without savepoints it must then have undone itself, or have set tx_error, which fails the
 *   batch.
 * - A change of the caller that succeeded is followed by a migration step in the same transaction.
 * - A transaction that begin began is committed. With SYNC it becomes a group that gathers further
 *   changes, unless it is AT_ONCE.
 *
 * Durability. The caller's changes: as configured. The guard's own work (migration steps, records
 * that move with fingerprints): durable as long as everything before it is.
 */
besom_status besom__change_begin(besom_guard *g);
besom_status besom__change_end(besom_guard *g, besom_status status, enum work work);

/* Commits the group, if there is one; the second form only if it is full. The second form may end a
   migration, so call it before a key is looked up. Errors: why the group cannot be written. It
   stays as it is; only besom_guard_sync tries again. */
besom_status besom__guard_flush(besom_guard *g);
besom_status besom__guard_flush_full(besom_guard *g);

#endif
