/*
 * Transactions: commit, abort and rollback; savepoints; group commits; batches.
 *
 * A change is made in memory, in the filter and in the store, under the write lock. Commit only
 * writes, and does so without that lock. If a change within a longer transaction fails, filter and
 * store return to the savepoint before it, and the rest of the transaction stays. So a failed
 * migration step does not undo the put that it was part of.
 *
 * With BESOM_DURABLE_SYNC changes are gathered in one transaction, the group. Its changes are
 * acknowledged, so it is never rolled back: if it cannot be written it stays, further changes are
 * refused, and besom_guard_sync tries again.
 */
#include "guard/transaction/transaction.h"
#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/migration/migration.h"
#include "guard/migration/read_ahead.h"
#include "guard/open/checkpoint.h"
#include "guard/open/manifest.h"
#include "guard/open/open.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/shared_commit.h"
#include "guard/transaction/undo_log.h"

/* ------------------------------------------------------------------ states to return to */

static struct savepoint state_now(const besom_guard *g) {
  const besom_guard_statistics *s = &g->stats;
  return (struct savepoint){s->puts,    s->replaced, s->deletes, g->frontier,    s->rekeys,
                            s->growths, g->no_keys,  g->undo.n,  g->next.filter, g->rekey_wanted};
}

static void transaction_set_counter(uint64_t *counter, uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static void restore_counters(besom_guard *g, const struct savepoint *to) {
  transaction_set_counter(&g->stats.puts, to->puts);
  transaction_set_counter(&g->stats.replaced, to->replaced);
  transaction_set_counter(&g->stats.deletes, to->deletes);
  transaction_set_counter(&g->stats.rekeys, to->rekeys);
  transaction_set_counter(&g->stats.growths, to->growths);
  transaction_set_counter(&g->no_keys, to->no_keys);
  g->frontier = to->frontier;
  g->rekey_wanted |= to->rekey_wanted;
}

/* The migration began after the savepoint, so no record is in the next epoch. */
static void drop_next(besom_guard *g, size_t undo_from) {
  besom__undo_forget_next(g, undo_from);
  besom_free(g->next.filter);
  g->next.filter = NULL;
}

/* The store has returned to a state: the filter follows. Filters that were replaced since the
   transaction began are restored only when all of it is undone. */
static void return_to(besom_guard *g, const struct savepoint *to) {
  bool restore = g->filter_replaced && !in_transaction(g);
  besom__denials_clear(g); /* keys may be back */
  besom__front_drop(g);
  besom__read_ahead_drop(g);
  restore_counters(g, to);
  if (g->next.filter && !to->migrating && !restore) drop_next(g, to->undo_n);
  g->undo.from = to->undo_n;
  g->filter_stale = restore || g->undo.n > g->undo.from;
  if (g->filter_stale) besom__undo_run(g);
}

static void transaction_closed(besom_guard *g) {
  g->tx = TX_NONE;
  g->tx_error = BESOM_OK;
  transaction_set_counter(&g->tx_changes, 0);
  g->tx_moved = 0;
  g->step_joined = false;
  if (UNLIKELY(g->images.valid)) besom__images_end(g);
}

/* A merge replaces the filter together with its records, so that readers see both or neither. */
static void drop_merged(besom_guard *g) {
  if (!g->unmerged) return;
  besom_free(g->current.filter);
  g->current.filter = g->unmerged;
  g->unmerged = NULL;
}

/* Ends a transaction in any state and restores the state before it. The caller has the write lock.
   If the filter cannot be restored yet, filter_stale is set. */
static void roll_back(besom_guard *g) {
  g->store->ops->abort(g->store);
  transaction_closed(g);
  drop_merged(g);
  return_to(g, &g->start);
}

static void undo_to_savepoint(besom_guard *g) {
  g->store->ops->undo_to_savepoint(g->store);
  g->tx_error = BESOM_OK;
  g->step_joined = false;
  return_to(g, &g->savepoint);
}

static besom_status set_savepoint(besom_guard *g) {
  besom_status status = g->savepoints ? g->store->ops->set_savepoint(g->store) : BESOM_OK;
  if (status != BESOM_OK) return status;
  g->savepoint = state_now(g);
  g->step_joined = false;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ commit */

/* Without the write lock: readers go on while the store writes. */
static besom_status commit_with_lock(besom_guard *g, bool durable) {
  besom__lock_commit(g->locks);
  besom_status status = g->store->ops->commit(g->store, durable);
  besom__unlock_commit(g->locks);
  return status;
}

static besom_status commit_store(besom_guard *g, bool durable) {
  besom_status status =
      UNLIKELY(g->locks) ? commit_with_lock(g, durable) : g->store->ops->commit(g->store, durable);
  if (status != BESOM_OK) return status;
  transaction_closed(g);
  g->nondurable = !durable;
  set_first_epoch(g);
  g->filter_replaced = false;
  if (!g->ids.open_is_own) memcpy(g->ids.open, g->ids.own, ID_BYTES);
  g->ids.open_is_own = true;
  if (!g->filter_stale) g->undo.n = 0;
  return BESOM_OK;
}

/* Whether a smaller transaction may succeed. */
static bool is_shortage(besom_status status) {
  return status == BESOM_DISK_FULL || status == BESOM_NO_MEMORY;
}

/* A put or a batch must not fail because of the migration step in its transaction. */
static besom_status commit_without_step(besom_guard *g, bool durable) {
  lock_write(g);
  undo_to_savepoint(g);
  unlock(g);
  count(g, &g->stats.failed_steps, 1);
  return commit_store(g, durable);
}

/* Of a single change or a batch. */
static besom_status transaction_commit(besom_guard *g, bool durable) {
  besom_status status = commit_store(g, durable);
  if (LIKELY(status == BESOM_OK)) return BESOM_OK;
  if (is_shortage(status) && g->step_joined) status = commit_without_step(g, durable);
  if (status == BESOM_OK) return BESOM_OK;
  lock_write(g);
  roll_back(g);
  unlock(g);
  return status;
}

/* Durably, so that a power cut leaves the state before or after, in LMDB, too. */
static besom_status commit_group(besom_guard *g) {
  besom_status status = commit_store(g, true);
  __atomic_store_n(&g->group_error, status, __ATOMIC_RELAXED); /* besom_guard_health reads it */
  return status;
}

besom_status besom__guard_flush(besom_guard *g) {
  if (g->tx != TX_GROUP) return BESOM_OK;
  return g->group_error == BESOM_OK ? commit_group(g) : g->group_error;
}

besom_status besom__guard_flush_full(besom_guard *g) {
  if (g->group_error != BESOM_OK) return g->group_error;
  if (LIKELY(g->tx != TX_GROUP || g->tx_changes < GROUP_COMMIT_CHANGES)) return BESOM_OK;
  besom_status status = commit_group(g);
  if (status == BESOM_OK) besom__migration_finish_if_done(g);
  return status;
}

/* ------------------------------------------------------------------ the bracket of a change */

static besom_status open_transaction(besom_guard *g) {
  besom_status status = g->store->ops->begin(g->store);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(g->images.room)) {
    struct images past = besom__images_take(g);
    besom__images_free(g, &past);
  }
  g->tx = TX_SINGLE;
  g->undo.n = g->undo.from = 0;
  g->start = state_now(g);
  if (!g->ids.open_is_own) status = besom__manifest_write(g, false);
  if (status != BESOM_OK) roll_back(g);
  return status;
}

/* The first transaction after an open writes a new open id. The checkpoint is unlinked before. */
static besom_status renew_open_id(besom_guard *g) {
  besom_status status = besom__checkpoint_drop(g);
  return status == BESOM_OK ? besom__guard_random(g->ids.own, ID_BYTES) : status;
}

besom_status besom__change_begin(besom_guard *g) {
  if (g->tx == TX_FAILED) return g->tx_error;
  if (g->group_error != BESOM_OK) return g->group_error;
  bool opens = g->transactional && g->tx == TX_NONE;
  besom_status status = opens && !g->ids.open_is_own ? renew_open_id(g) : BESOM_OK;
  if (status != BESOM_OK) return status;
  lock_write(g);
  g->nested = in_transaction(g);
  if (opens)
    status = open_transaction(g);
  else if (g->nested)
    status = set_savepoint(g);
  if (status != BESOM_OK) unlock(g);
  return status;
}

/* Rolls back. A batch then waits for the caller to end it. */
static void abandon(besom_guard *g, besom_status why) {
  bool batch = g->tx == TX_BATCH;
  roll_back(g);
  if (!batch) return;
  g->tx = TX_FAILED;
  g->tx_error = why;
}

/* Without savepoints a change within a batch undoes itself. If it cannot, the batch has failed. */
static void undo_change(besom_guard *g, besom_status why) {
  if (!in_transaction(g)) return;
  if (g->nested && g->savepoints)
    undo_to_savepoint(g);
  else if (!g->nested || g->tx_error != BESOM_OK)
    abandon(g, why);
}

static bool is_durable(const besom_guard *g, enum work work) {
  if (g->durability == BESOM_DURABLE_BATCH) return work != OF_CALLER && !g->nondurable;
  return g->durability == BESOM_DURABLE_PUT || work == AT_ONCE;
}

/* Of several writers. A change may have been undone only half; then the others are undone, too. */
besom_status besom__transaction_commit(besom_guard *g) {
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) return transaction_commit(g, is_durable(g, OF_CALLER));
  lock_write(g);
  roll_back(g);
  unlock(g);
  return status;
}

besom_status besom__change_end(besom_guard *g, besom_status status, enum work work) {
  bool nested = g->nested;
  if (status != BESOM_OK) undo_change(g, status);
  unlock(g);
  if (status != BESOM_OK || !in_transaction(g)) return status;
  count(g, &g->tx_changes, 1);
  if (work == OF_CALLER && g->savepoints && UNLIKELY(wants_migration(g)))
    besom__migration_advance(g);
  bool shared = g->locks && work == OF_CALLER && g->tx == TX_SINGLE && shares_commit(g);
  if (nested && !shared) return BESOM_OK;
  if (g->durability == BESOM_DURABLE_SYNC && g->savepoints && work != AT_ONCE) {
    g->tx = TX_GROUP;
    return BESOM_OK;
  }
  status = shared ? besom__shared_join(g) : transaction_commit(g, is_durable(g, work));
  if (status != BESOM_OK || work != OF_CALLER || LIKELY(!wants_migration(g))) return status;
  if (!g->savepoints) besom__migration_advance(g);
  besom__migration_finish_if_done(g);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ batches */

besom_status besom__batch_begin(besom_guard *g) {
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  /* After the queue: it may move records, of kinds that relocate fingerprints. */
  if (status == BESOM_OK) status = besom__guard_flush(g);
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  g->tx = TX_BATCH;
  unlock(g);
  return BESOM_OK;
}

/* Returns why it failed. */
static besom_status end_failed_batch(besom_guard *g) {
  besom_status why = g->tx_error;
  transaction_closed(g);
  return why;
}

besom_status besom__batch_abort(besom_guard *g) {
  if (g->tx == TX_FAILED) {
    end_failed_batch(g);
    return BESOM_OK;
  }
  lock_write(g);
  roll_back(g);
  unlock(g);
  return BESOM_OK;
}

besom_status besom__batch_commit(besom_guard *g) {
  if (g->tx == TX_FAILED) return end_failed_batch(g);
  besom_status status = besom__guard_resync(g);
  if (status != BESOM_OK) {
    besom__batch_abort(g);
    return status;
  }
  if (g->savepoints) besom__migration_advance(g);
  status = transaction_commit(g, true);
  if (status != BESOM_OK) return status;
  if (!g->savepoints) besom__migration_advance(g);
  besom__migration_finish_if_done(g);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ sync */

static besom_status sync_store(besom_guard *g) {
  lock_commit(g);
  besom_status status = g->store->ops->sync(g->store);
  unlock_commit(g);
  if (status == BESOM_OK) g->nondurable = false;
  return status;
}

/* Makes a store that refuses writes ready for them. Nobody may read it meanwhile. Errors: BUSY (an
   iterator is open), and why it still cannot write. */
static besom_status recover_store(besom_guard *g) {
  if (!HAS_OP(g->store->ops, recover)) return BESOM_UNSUPPORTED;
  lock_commit(g);
  lock_write(g);
  besom_status status = __atomic_load_n(&g->iterators, __ATOMIC_ACQUIRE)
                            ? BESOM_BUSY
                            : g->store->ops->recover(g->store);
  unlock(g);
  unlock_commit(g);
  return status;
}

static besom_status sync_now(besom_guard *g) {
  return g->tx == TX_GROUP ? commit_group(g) : sync_store(g);
}

besom_status besom__guard_sync(besom_guard *g) {
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g);
  if (status != BESOM_OK) return status;
  status = sync_now(g);
  if (status != BESOM_OK && status != BESOM_NO_MEMORY) {
    besom_status recovered = recover_store(g);
    if (recovered == BESOM_BUSY) return recovered;
    if (recovered == BESOM_OK) status = sync_now(g);
  }
  if (status == BESOM_OK) besom__migration_finish_if_done(g);
  return status;
}
