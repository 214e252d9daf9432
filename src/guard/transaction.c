/*
 * Transactions: commit, abort and rollback.
 *
 * A change is made in memory, in the filter and in the store, under the write lock. Commit only
 * writes, and does so without that lock. If a commit fails or the caller aborts, the store drops
 * the changes and the filter has to follow. The undo log has the buckets that were changed.
 * Appended fingerprints are removed, the last one first. A bucket that lost a fingerprint cannot be
 * repaired by ranks: it is emptied and refilled from the store's list.
 */
#include "guard/guard.h"

/* ------------------------------------------------------------------ the undo log */

besom_status besom__undo_make_room(besom_guard *g, size_t n) {
  if (!g->transactional || g->undo_room - g->undo_n >= n) return BESOM_OK;
  size_t room = 2 * g->undo_room > g->undo_n + n ? 2 * g->undo_room : g->undo_n + n;
  struct undo_entry *undo = besom__allocate(&g->allocator, room * sizeof *undo);
  if (!undo) return BESOM_NO_MEMORY;
  if (g->undo_n) memcpy(undo, g->undo, g->undo_n * sizeof *undo);
  besom__release(&g->allocator, g->undo, g->undo_room * sizeof *undo);
  g->undo = undo;
  g->undo_room = room;
  return BESOM_OK;
}

void besom__undo_add(besom_guard *g, const besom_filter *f, besom_match at, bool refill) {
  if (g->tx != TX_NONE) g->undo[g->undo_n++] = (struct undo_entry){at, f == g->next.filter, refill};
}

/* ------------------------------------------------------------------ resync after a rollback */

static const struct epoch *epoch_of_entry(const besom_guard *g, const struct undo_entry *t) {
  return t->next ? &g->next : &g->current;
}

/* Removes all fingerprints of a bucket from a rank on. */
static besom_status truncate_bucket(besom_filter *f, uint64_t bucket, uint32_t rank) {
  besom_status status;
  do status = besom_remove_at(f, &(besom_match){bucket, rank});
  while (status == BESOM_OK);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static besom_status refill_bucket(besom_filter *f, uint64_t bucket,
                                  const struct digest_list *list) {
  besom_status status = truncate_bucket(f, bucket, 0);
  for (size_t i = 0; i < list->n && status == BESOM_OK; i++) {
    besom_match at = {bucket, (uint32_t)i}, given;
    besom_digest digest = digests_of(list)[i];
    status = f->kind->restore_at ? f->kind->restore_at(f, digest, at)
                                 : besom_insert_at(f, digest, 0, &given);
  }
  return status;
}

/* The fingerprints of a refilled bucket have lost their extensions. */
static besom_status separate_bucket(besom_guard *g, const struct epoch *epoch, uint64_t bucket,
                                    const struct digest_list *list) {
  struct digest_list no;
  if (!list->n) return BESOM_OK;
  besom_status status =
      besom__no_list_read(g, epoch, digests_of(list)[0], &no, &g->stats.filter_reads);
  if (status != BESOM_OK) return status;
  for (size_t i = 0; i < list->n && no.n && status == BESOM_OK; i++)
    status = besom__no_list_separate(g, epoch->filter, &no, digests_of(list)[i],
                                     (besom_match){bucket, (uint32_t)i});
  besom__digest_list_free(&no);
  return status;
}

static besom_status repair_bucket(besom_guard *g, const struct undo_entry *t) {
  const struct epoch *epoch = epoch_of_entry(g, t);
  struct digest_list list = besom__digest_list(g, epoch->filter);
  besom_status status = g->store->ops->get(g->store, position_of(epoch->number, t->at),
                                           besom__digest_list_add, &list);
  if (status == BESOM_OK)
    status = t->refill ? refill_bucket(epoch->filter, t->at.bucket, &list)
                       : truncate_bucket(epoch->filter, t->at.bucket, (uint32_t)list.n);
  if (status == BESOM_OK && t->refill && g->no_keys)
    status = separate_bucket(g, epoch, t->at.bucket, &list);
  besom__digest_list_free(&list);
  return status;
}

/* Empties all buckets before the first is refilled, so that the filter does not run out of room. */
static besom_status repair_from_store(besom_guard *g) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < g->undo_n && status == BESOM_OK; i++)
    if (g->undo[i].refill)
      status = truncate_bucket(epoch_of_entry(g, &g->undo[i])->filter, g->undo[i].at.bucket, 0);
  for (unsigned refill = 2; refill-- > 0;) /* after a refill nothing is left to truncate */
    for (size_t i = 0; i < g->undo_n && status == BESOM_OK; i++)
      if (g->undo[i].refill == refill) status = repair_bucket(g, &g->undo[i]);
  return status;
}

/* If nothing was removed: undoes the appends in reverse order, without reading the store. */
static besom_status undo_appends(besom_guard *g) {
  besom_status status = BESOM_OK;
  while (g->undo_n && status == BESOM_OK) {
    const struct undo_entry *t = &g->undo[g->undo_n - 1];
    status = besom_remove_at(epoch_of_entry(g, t)->filter, &t->at);
    if (status == BESOM_OK) g->undo_n--;
  }
  return status;
}

static bool has_removals(const besom_guard *g) {
  for (size_t i = 0; i < g->undo_n; i++)
    if (g->undo[i].refill) return true;
  return false;
}

/* The write lock is held. */
static besom_status resync(besom_guard *g) {
  besom_status status;
  if (g->filter_replaced) {
    status = besom__guard_restore(g);
  } else {
    status = has_removals(g) ? repair_from_store(g) : undo_appends(g);
    /* A repair can fail: the filter may ask for keys that are not back in the store. */
    if (status != BESOM_OK) status = besom__guard_rebuild(g);
  }
  if (status != BESOM_OK) return status;
  g->undo_n = 0;
  g->filter_stale = g->filter_replaced = false;
  return BESOM_OK;
}

besom_status besom__guard_resync(besom_guard *g) {
  if (LIKELY(!g->filter_stale)) return BESOM_OK;
  lock_write(g);
  besom_status status = resync(g);
  unlock(g);
  return status;
}

/* ------------------------------------------------------------------ begin, commit, roll back */

static void set_savepoint(besom_guard *g) {
  const besom_guard_statistics *s = &g->stats;
  g->savepoint = (struct savepoint){s->puts,   s->replaced, s->deletes, g->frontier,
                                    s->rekeys, s->growths,  g->no_keys, g->next.filter};
}

static void set_counter(uint64_t *counter, uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static void restore_savepoint(besom_guard *g) {
  set_counter(&g->stats.puts, g->savepoint.puts);
  set_counter(&g->stats.replaced, g->savepoint.replaced);
  set_counter(&g->stats.deletes, g->savepoint.deletes);
  set_counter(&g->stats.rekeys, g->savepoint.rekeys);
  set_counter(&g->stats.growths, g->savepoint.growths);
  set_counter(&g->no_keys, g->savepoint.no_keys);
  g->frontier = g->savepoint.frontier;
}

/* The migration began within the transaction, so after the rollback no record is in the next
   epoch. */
static void drop_next(besom_guard *g) {
  size_t kept = 0;
  for (size_t i = 0; i < g->undo_n; i++)
    if (!g->undo[i].next) g->undo[kept++] = g->undo[i];
  g->undo_n = kept;
  besom_free(g->next.filter);
  g->next.filter = NULL;
}

static void transaction_closed(besom_guard *g) {
  g->tx = TX_NONE;
  g->tx_error = BESOM_OK;
  g->group_changes = 0;
}

void besom__guard_roll_back(besom_guard *g) {
  g->store->ops->abort(g->store);
  besom__migration_drop_read_ahead(g);
  transaction_closed(g);
  restore_savepoint(g);
  if (g->next.filter && !g->savepoint.migrating && !g->filter_replaced) drop_next(g);
  g->filter_stale = g->undo_n || g->filter_replaced;
  if (g->filter_stale) resync(g);
}

static besom_status open_transaction(besom_guard *g) {
  besom_status status = g->store->ops->begin(g->store);
  if (status != BESOM_OK) return status;
  g->tx = TX_SINGLE;
  g->undo_n = 0;
  set_savepoint(g);
  if (!g->open_id_written) status = besom__manifest_write(g, false);
  if (status != BESOM_OK) besom__guard_roll_back(g);
  return status;
}

/* The first transaction after an open writes a new open id. The checkpoint is unlinked before. */
static besom_status renew_open_id(besom_guard *g) {
  besom_status status = besom__checkpoint_drop(g);
  return status == BESOM_OK ? besom__guard_random(g->open_id, ID_BYTES) : status;
}

/* Without the write lock: readers go on while the store writes. */
static besom_status commit_store(besom_guard *g, bool durable) {
  lock_commit(g);
  besom_status status = g->store->ops->commit(g->store, durable);
  unlock_commit(g);
  return status;
}

static besom_status commit(besom_guard *g, bool durable) {
  besom_status status = commit_store(g, durable);
  if (status != BESOM_OK) {
    if (g->tx == TX_GROUP) g->sync_error = status;
    lock_write(g);
    besom__guard_roll_back(g);
    unlock(g);
    return status;
  }
  transaction_closed(g);
  g->nondurable = !durable;
  g->undo_n = 0;
  g->filter_replaced = false;
  g->open_id_written = true;
  return BESOM_OK;
}

besom_status besom__guard_flush(besom_guard *g, bool durable) {
  return g->tx == TX_GROUP ? commit(g, durable) : BESOM_OK;
}

besom_status besom__change_begin(besom_guard *g) {
  if (g->tx == TX_FAILED) return g->tx_error;
  bool opens = g->transactional && g->tx == TX_NONE;
  besom_status status = opens && !g->open_id_written ? renew_open_id(g) : BESOM_OK;
  if (status != BESOM_OK) return status;
  lock_write(g);
  if (opens) status = open_transaction(g);
  if (status != BESOM_OK) unlock(g);
  return status;
}

/* Rolls back. A batch then waits for the caller to end it. */
static void abandon(besom_guard *g, besom_status why) {
  bool batch = g->tx == TX_BATCH;
  if (g->tx == TX_GROUP) g->sync_error = why;
  besom__guard_roll_back(g);
  if (!batch) return;
  g->tx = TX_FAILED;
  g->tx_error = why;
}

besom_status besom__change_end(besom_guard *g, besom_status status, bool durable) {
  if (status != BESOM_OK && (g->tx == TX_SINGLE || g->tx_error != BESOM_OK)) abandon(g, status);
  unlock(g);
  if (status != BESOM_OK || g->tx == TX_NONE || g->tx == TX_BATCH) return status;
  if (g->durability != BESOM_DURABLE_SYNC) return commit(g, durable);
  g->tx = TX_GROUP;
  return ++g->group_changes < GROUP_COMMIT_CHANGES ? BESOM_OK : commit(g, false);
}

/* ------------------------------------------------------------------ batches */

besom_status besom_guard_begin(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) status = besom__guard_flush(g, false);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  /* The queue may have moved records, of kinds that relocate fingerprints. */
  if (status == BESOM_OK) status = besom__guard_flush(g, false);
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

besom_status besom_guard_commit(besom_guard *g) {
  if (!g || !in_batch(g)) return BESOM_INVALID;
  if (g->tx == TX_FAILED) return end_failed_batch(g);
  besom_status status = commit(g, g->durability != BESOM_DURABLE_SYNC);
  if (status == BESOM_OK) besom__migration_advance(g);
  return status;
}

besom_status besom_guard_abort(besom_guard *g) {
  if (!g || !in_batch(g)) return BESOM_INVALID;
  if (g->tx == TX_FAILED) {
    end_failed_batch(g);
    return BESOM_OK;
  }
  lock_write(g);
  besom__guard_roll_back(g);
  unlock(g);
  return BESOM_OK;
}

static besom_status sync_store(besom_guard *g) {
  lock_commit(g);
  besom_status status = g->store->ops->sync(g->store);
  unlock_commit(g);
  if (status == BESOM_OK) g->nondurable = false;
  return status;
}

/* Also reports that an earlier group was rolled back: often no other call has reported it. */
besom_status besom_guard_sync(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) status = g->tx == TX_GROUP ? besom__guard_flush(g, true) : sync_store(g);
  if (status == BESOM_OK) status = g->sync_error;
  g->sync_error = BESOM_OK;
  return status;
}
