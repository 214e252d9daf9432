/*
 * How a change is kept or taken back.
 *
 * Filter and store view are changed together, in memory and under the lock; commit is writing alone, without it. If it
 * fails, or the caller aborts, the store forgets the changes, and the filter has to follow: the log tells which
 * buckets were touched. What was only appended goes again from the end. A bucket that something was taken out of cannot
 * be mended by ranks: it is emptied, and filled from the store's list.
 */
#include "guard/guard.h"

/* ------------------------------------------------------------------ the log */

besom_status besom__log_reserve(besom_guard *g, size_t n) {
  if (!g->transactional || g->log_room - g->log_n >= n) return BESOM_OK;
  size_t room = 2 * g->log_room > g->log_n + n ? 2 * g->log_room : g->log_n + n;
  struct touched *log = besom__allocate(&g->allocator, room * sizeof *log);
  if (!log) return BESOM_NO_MEMORY;
  if (g->log_n) memcpy(log, g->log, g->log_n * sizeof *log);
  besom__release(&g->allocator, g->log, g->log_room * sizeof *log);
  g->log = log;
  g->log_room = room;
  return BESOM_OK;
}

void besom__log_add(besom_guard *g, const besom_filter *f, besom_match at, bool all) {
  if (g->tx != TX_NONE) g->log[g->log_n++] = (struct touched){at, f == g->next.filter, all};
}

/* ------------------------------------------------------------------ the filter follows the store */

static const struct side *side_touched(const besom_guard *g, const struct touched *t) {
  return t->next ? &g->next : &g->now;
}

/* Takes out all fingerprints of a bucket from a rank on. */
static besom_status cut(besom_filter *f, uint64_t bucket, uint32_t rank) {
  besom_status status;
  do status = besom_remove_at(f, (besom_match){bucket, rank});
  while (status == BESOM_OK);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* The list of a bucket. What it is to be given back to must not be changed while the store shows it. */
struct list {
  const besom_guard *guard;
  const besom_filter *filter;
  besom_digest few[FEW_MATCHES], *digests;
  size_t n, room;
};

static besom_status list_add(void *ctx, besom_place at, const besom_record *record) {
  struct list *list = ctx;
  (void)at;
  if (list->n == list->room) {
    besom_digest *more = besom__allocate(&list->guard->allocator, 2 * list->room * sizeof *more);
    if (!more) return BESOM_NO_MEMORY;
    memcpy(more, list->digests, list->n * sizeof *more);
    if (list->digests != list->few)
      besom__release(&list->guard->allocator, list->digests, list->room * sizeof *more);
    list->digests = more;
    list->room *= 2;
  }
  list->digests[list->n++] = besom_hash(list->filter, record->key.data, record->key.len);
  return BESOM_OK;
}

static void list_free(struct list *list) {
  if (list->digests != list->few)
    besom__release(&list->guard->allocator, list->digests, list->room * sizeof *list->digests);
}

static besom_status fill(besom_filter *f, uint64_t bucket, const struct list *list) {
  besom_status status = cut(f, bucket, 0);
  for (size_t i = 0; i < list->n && status == BESOM_OK; i++) {
    besom_match at = {bucket, (uint32_t)i}, given;
    status = f->kind->readmit_at ? f->kind->readmit_at(f, list->digests[i], at)
                                 : besom_insert_at(f, list->digests[i], 0, &given);
  }
  return status;
}

static besom_status mend(besom_guard *g, const struct touched *t) {
  const struct side *side = side_touched(g, t);
  struct list list = {.guard = g, .filter = side->filter, .room = FEW_MATCHES};
  list.digests = list.few;
  besom_status status = g->store->ops->get(g->store, place_of(side->epoch, t->at), list_add, &list);
  if (status == BESOM_OK)
    status = t->all ? fill(side->filter, t->at.bucket, &list)
                    : cut(side->filter, t->at.bucket, (uint32_t)list.n);
  list_free(&list);
  return status;
}

/* Each bucket is emptied before the first is filled, lest there be no room for a while. */
static besom_status mend_by_store(besom_guard *g) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < g->log_n && status == BESOM_OK; i++)
    if (g->log[i].all) status = cut(side_touched(g, &g->log[i])->filter, g->log[i].at.bucket, 0);
  for (unsigned all = 2; all-- > 0;) /* a list that is whole again has no end to be cut */
    for (size_t i = 0; i < g->log_n && status == BESOM_OK; i++)
      if (g->log[i].all == all) status = mend(g, &g->log[i]);
  return status;
}

/* Nothing was taken out anywhere: what was appended last goes first, and nothing need be read. */
static besom_status mend_by_log(besom_guard *g) {
  besom_status status = BESOM_OK;
  while (g->log_n && status == BESOM_OK) {
    const struct touched *t = &g->log[g->log_n - 1];
    status = besom_remove_at(side_touched(g, t)->filter, t->at);
    if (status == BESOM_OK) g->log_n--;
  }
  return status;
}

static bool took_out(const besom_guard *g) {
  for (size_t i = 0; i < g->log_n; i++)
    if (g->log[i].all) return true;
  return false;
}

/* Under the lock. */
static besom_status settle(besom_guard *g) {
  besom_status status;
  if (g->replaced) {
    status = besom__guard_restore(g);
  } else {
    status = took_out(g) ? mend_by_store(g) : mend_by_log(g);
    if (status != BESOM_OK)
      status = besom__guard_rebuild(g); /* telescoping kinds may ask for keys that are not back */
  }
  if (status != BESOM_OK) return status;
  g->log_n = 0;
  g->unsettled = g->replaced = false;
  return BESOM_OK;
}

besom_status besom__guard_settle(besom_guard *g) {
  if (LIKELY(!g->unsettled)) return BESOM_OK;
  lock_write(g);
  besom_status status = settle(g);
  unlock(g);
  return status;
}

/* ------------------------------------------------------------------ beginning and ending */

static void remember(besom_guard *g) {
  const besom_guard_statistics *s = &g->stats;
  g->before = (struct before){s->puts,   s->replaced, s->deletes,    g->frontier,
                              s->rekeys, s->growths,  g->next.filter};
}

static void set_counter(uint64_t *counter, uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static void recall(besom_guard *g) {
  set_counter(&g->stats.puts, g->before.puts);
  set_counter(&g->stats.replaced, g->before.replaced);
  set_counter(&g->stats.deletes, g->before.deletes);
  set_counter(&g->stats.rekeys, g->before.rekeys);
  set_counter(&g->stats.growths, g->before.growths);
  g->frontier = g->before.frontier;
}

/* A move that began within the transaction: all that the next filter has is in the store's old lists again. */
static void forget_next(besom_guard *g) {
  size_t kept = 0;
  for (size_t i = 0; i < g->log_n; i++)
    if (!g->log[i].next) g->log[kept++] = g->log[i];
  g->log_n = kept;
  besom_free(g->next.filter);
  g->next.filter = NULL;
}

static void closed(besom_guard *g) {
  g->tx = TX_NONE;
  g->doomed = BESOM_OK;
  g->gathered = 0;
}

void besom__guard_roll_back(besom_guard *g) {
  g->store->ops->abort(g->store);
  besom__guard_forget_ahead(g);
  closed(g);
  recall(g);
  if (g->next.filter && !g->before.moving && !g->replaced) forget_next(g);
  g->unsettled = g->log_n || g->replaced;
  if (g->unsettled) settle(g);
}

static besom_status open_transaction(besom_guard *g) {
  besom_status status = g->store->ops->begin(g->store);
  if (status != BESOM_OK) return status;
  g->tx = TX_SINGLE;
  g->log_n = 0;
  remember(g);
  if (!g->announced) status = besom__guard_note_write(g, false);
  if (status != BESOM_OK) besom__guard_roll_back(g);
  return status;
}

/* The first transaction of an opening gives the store a new mark, before which no checkpoint may be left. */
static besom_status announce(besom_guard *g) {
  besom_status status = besom__checkpoint_drop(g);
  return status == BESOM_OK ? besom__guard_random(g->open_id, ID_BYTES) : status;
}

/* Without the lock of readers: they go on while the store writes. */
static besom_status write_out(besom_guard *g, bool durable) {
  lock_commit(g);
  besom_status status = g->store->ops->commit(g->store, durable);
  unlock_commit(g);
  return status;
}

static besom_status commit(besom_guard *g, bool durable) {
  besom_status status = write_out(g, durable);
  if (status != BESOM_OK) {
    if (g->tx == TX_GATHER) g->untold = status;
    lock_write(g);
    besom__guard_roll_back(g);
    unlock(g);
    return status;
  }
  closed(g);
  g->loose = !durable;
  g->log_n = 0;
  g->replaced = false;
  g->announced = true;
  return BESOM_OK;
}

besom_status besom__guard_flush(besom_guard *g, bool durable) {
  return g->tx == TX_GATHER ? commit(g, durable) : BESOM_OK;
}

besom_status besom__change_begin(besom_guard *g) {
  if (g->tx == TX_DEAD) return g->doomed;
  bool opens = g->transactional && g->tx == TX_NONE;
  besom_status status = opens && !g->announced ? announce(g) : BESOM_OK;
  if (status != BESOM_OK) return status;
  lock_write(g);
  if (opens) status = open_transaction(g);
  if (status != BESOM_OK) unlock(g);
  return status;
}

/* A batch that cannot be kept waits for the caller to end it. */
static void take_back(besom_guard *g, besom_status why) {
  bool batch = g->tx == TX_BATCH;
  if (g->tx == TX_GATHER) g->untold = why;
  besom__guard_roll_back(g);
  if (!batch) return;
  g->tx = TX_DEAD;
  g->doomed = why;
}

besom_status besom__change_end(besom_guard *g, besom_status status, bool durable) {
  if (status != BESOM_OK && (g->tx == TX_SINGLE || g->doomed != BESOM_OK)) take_back(g, status);
  unlock(g);
  if (status != BESOM_OK || g->tx == TX_NONE || g->tx == TX_BATCH) return status;
  if (g->durability != BESOM_DURABLE_SYNC) return commit(g, durable);
  g->tx = TX_GATHER;
  return ++g->gathered < MOST_GATHERED ? BESOM_OK : commit(g, false);
}

/* ------------------------------------------------------------------ batches */

besom_status besom_guard_begin(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_settle(g);
  if (status == BESOM_OK) status = besom__guard_flush(g, false);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  if (status == BESOM_OK)
    status = besom__guard_flush(g, false); /* kinds that move records may have written some */
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  g->tx = TX_BATCH;
  unlock(g);
  return BESOM_OK;
}

/* Gives the reason. */
static besom_status bury(besom_guard *g) {
  besom_status why = g->doomed;
  closed(g);
  return why;
}

besom_status besom_guard_commit(besom_guard *g) {
  if (!g || !in_batch(g)) return BESOM_INVALID;
  if (g->tx == TX_DEAD) return bury(g);
  besom_status status = commit(g, g->durability != BESOM_DURABLE_SYNC);
  if (status == BESOM_OK) besom__guard_work(g);
  return status;
}

besom_status besom_guard_abort(besom_guard *g) {
  if (!g || !in_batch(g)) return BESOM_INVALID;
  if (g->tx == TX_DEAD) {
    bury(g);
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
  if (status == BESOM_OK) g->loose = false;
  return status;
}

/* Also tells of what was put before and could not be written: often there was no call left to tell of it. */
besom_status besom_guard_sync(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_settle(g);
  if (status == BESOM_OK) status = g->tx == TX_GATHER ? besom__guard_flush(g, true) : sync_store(g);
  if (status == BESOM_OK) status = g->untold;
  g->untold = BESOM_OK;
  return status;
}
