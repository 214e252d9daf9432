/*
 * When a migration starts, and who does its steps: every put, delete and batch commit,
 * besom_guard_step, and the background thread. A get does none. The filter grows for keys, and is
 * rekeyed for false positives.
 */
#include "guard/get/adapt.h"
#include "guard/migration/migration.h"
#include "guard/open/open.h"
#include "guard/transaction/transaction.h"
#include "guard/transaction/undo_log.h"

/* A configured capacity is reached before the filter grows, whatever the load factor is then. */
void besom__guard_set_grow_threshold(besom_guard *g) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->current.filter, &slots, &width);
  g->grow_items = slots && g->grow_at < 1 ? (uint64_t)(g->grow_at * (double)slots) : UINT64_MAX;
  if (g->grow_items < g->filter_config.capacity) g->grow_items = g->filter_config.capacity;
}

static bool can_migrate(const besom_guard *g) {
  return g->transactional && g->current.filter->kind->store->bucket_of;
}

static bool should_grow(const besom_guard *g) {
  return g->current.filter->items > g->grow_items;
}

bool besom__migration_pending(const besom_guard *g) {
  return can_migrate(g) && wants_migration(g);
}

/* ------------------------------------------------------------------ the limit of memory */

/* Whether both filters would fit during a migration. */
static bool is_within_limit(const besom_guard *g, bool grow) {
  besom_statistics stats;
  if (!g->max_filter_bytes || besom_stats(g->current.filter, &stats) != BESOM_OK) return true;
  return stats.bytes <= g->max_filter_bytes / (grow ? 3 : 2);
}

/* Counts a growth once per filter, which cannot change its size any more. */
static bool may_grow(besom_guard *g) {
  if (is_within_limit(g, true)) return true;
  if (g->grow_items == UINT64_MAX) return false;
  count(g, &g->stats.growths_refused, 1);
  lock_write(g);
  g->grow_items = UINT64_MAX;
  unlock(g);
  return false;
}

/* Counts a rekey each time that an adaptation asks for one. */
static bool may_rekey(besom_guard *g) {
  if (is_within_limit(g, false)) return true;
  count(g, &g->stats.rekeys_refused, 1);
  lock_write(g);
  g->rekey_wanted = false;
  unlock(g);
  return false;
}

static besom_status start_if_due(besom_guard *g) {
  if (should_grow(g) && may_grow(g)) return besom__migration_start(g, true);
  return g->rekey_wanted && may_rekey(g) ? besom__migration_start(g, false) : BESOM_OK;
}

/* ------------------------------------------------------------------ steps */

/* A transaction holds what it moves in memory, so it does not move everything. */
void besom__migration_advance(besom_guard *g) {
  if (LIKELY(!besom__migration_pending(g)) || g->filter_stale || g->tx == TX_FAILED) return;
  if (g->tx_moved >= GROUP_COMMIT_CHANGES) return;
  uint64_t moved = 0;
  besom_status status = g->next.filter ? BESOM_OK : start_if_due(g);
  if (status == BESOM_OK && g->next.filter)
    status = besom__migration_step(g, g->step_items, g->step_ns, &moved);
  if (status != BESOM_OK) count(g, &g->stats.failed_steps, 1);
}

static besom_status full(besom_guard *g) {
  count(g, &g->stats.full_puts, 1);
  return BESOM_FULL;
}

/* A growth has room at once. A rekey must end first: the put waits for all of it. */
besom_status besom__migration_make_room(besom_guard *g) {
  uint64_t moved = 0, max = g->next.filter ? GROUP_COMMIT_CHANGES : g->step_items;
  if (!can_migrate(g)) return full(g);
  besom_status status = besom__guard_flush_full(g);
  if (status == BESOM_OK && !g->next.filter) {
    if (g->grow_at >= 1 || !may_grow(g)) return full(g);
    status = besom__migration_start(g, true);
  }
  if (status == BESOM_OK) status = besom__migration_step(g, max, NO_TIME_LIMIT, &moved);
  return status == BESOM_OK && all_migrated(g) ? besom__migration_finish(g) : status;
}

/* ------------------------------------------------------------------ rekey, step */

static besom_status ready_to_migrate(besom_guard *g) {
  besom_status status = besom__guard_resync(g); /* may bring a migration back */
  return status == BESOM_OK ? besom__guard_flush_full(g) : status;
}

besom_status besom__guard_rekey(besom_guard *g) {
  if (!can_migrate(g)) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = ready_to_migrate(g);
  if (status != BESOM_OK) return status;
  if (g->next.filter) return BESOM_BUSY;
  return may_rekey(g) ? besom__migration_start(g, false) : BESOM_NO_MEMORY;
}

/* Some thousand records per transaction. Within a batch all of them are part of it. */
static besom_status migration_step(besom_guard *g, uint64_t max) {
  besom_status status = BESOM_OK;
  for (uint64_t moved = 0; g->next.filter && moved < max && status == BESOM_OK;) {
    uint64_t left = max - moved, some = left < STEP_COMMIT_RECORDS ? left : STEP_COMMIT_RECORDS;
    status = besom__guard_flush_full(g);
    if (status == BESOM_OK && g->next.filter)
      status = besom__migration_step(g, some, NO_TIME_LIMIT, &moved);
    if (status == BESOM_OK && all_migrated(g)) return besom__migration_finish(g);
  }
  return status;
}

besom_status besom__guard_step(besom_guard *g, uint64_t max_items, bool *finished) {
  if (finished) *finished = !g->next.filter;
  if (g->tx == TX_FAILED) return g->tx_error;
  besom_status status = ready_to_migrate(g);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  if (status == BESOM_OK && can_migrate(g) && !g->next.filter) status = start_if_due(g);
  if (status == BESOM_OK) status = migration_step(g, max_items);
  if (finished) *finished = !g->next.filter;
  return status;
}

/* ------------------------------------------------------------------ the background thread */

bool besom__guard_work_is_due(const besom_guard *g) {
  lock_queue(g);
  bool queued = g->queue.n;
  unlock_queue(g);
  return queued || g->filter_stale || besom__migration_pending(g);
}

/* Steps in one transaction, which is open. */
static besom_status steps_within(besom_guard *g, uint64_t ns) {
  uint64_t begun = besom__monotonic_ns(), moved = 0;
  besom_status status;
  do status = besom__migration_step(g, GROUP_COMMIT_CHANGES, g->step_ns, &moved);
  while (status == BESOM_OK && !all_migrated(g) && moved < GROUP_COMMIT_CHANGES &&
         besom__monotonic_ns() - begun < ns);
  return status;
}

/* Moves records for as long as the last commit took, so that the disk does not dominate. The view
   is not locked between steps. */
static besom_status steps_and_commit(besom_guard *g) {
  besom_status status = besom__change_begin(g), committed;
  if (status != BESOM_OK) return status;
  unlock(g);
  status = steps_within(g, g->commit_ns);
  uint64_t begun = besom__monotonic_ns();
  lock_write(g);
  g->nested = false; /* as after the first call */
  committed = besom__change_end(g, BESOM_OK, OF_GUARD);
  g->commit_ns = besom__monotonic_ns() - begun;
  return status == BESOM_OK ? committed : status;
}

besom_status besom__guard_background_step(besom_guard *g) {
  uint64_t moved = 0;
  besom_status status = ready_to_migrate(g);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  if (status == BESOM_OK && can_migrate(g) && !g->next.filter) status = start_if_due(g);
  if (status != BESOM_OK || !g->next.filter) return status;
  status = g->savepoints && g->tx == TX_NONE
               ? steps_and_commit(g)
               : besom__migration_step(g, GROUP_COMMIT_CHANGES, g->step_ns, &moved);
  return status == BESOM_OK && all_migrated(g) ? besom__migration_finish(g) : status;
}
