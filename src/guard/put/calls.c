/*
 * The public functions that change a guard. Each checks its arguments, takes the lock of the
 * writers, and calls the function that does the work. Without config.threads there is no lock.
 */
#include "guard/migration/migration.h"
#include "guard/put/change.h"
#include "guard/put/no_list.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/shared_commit.h"
#include "guard/transaction/transaction.h"

/* ------------------------------------------------------------------ the lock of the writers */

static void lock_writer(const besom_guard *g) {
  if (g->locks) besom__lock_writer(g->locks);
}

static void unlock_writer(const besom_guard *g) {
  if (g->locks) besom__unlock_writer(g->locks);
}

static bool batch_of_another(const besom_guard *g) {
  return g->locks && in_batch(g) && !besom__is_owner(g->locks);
}

/* Waits for the end of the batch of another thread. */
static besom_status wait_for_batch(besom_guard *g, uint64_t until) {
  bool in_time = true;
  __atomic_add_fetch(&g->batch_waiters, 1, __ATOMIC_RELAXED);
  while (batch_of_another(g) && in_time) in_time = besom__wait_writer(g->locks, until);
  if (!__atomic_sub_fetch(&g->batch_waiters, 1, __ATOMIC_RELAXED)) besom__wake_writers(g->locks);
  return batch_of_another(g) ? BESOM_BUSY : BESOM_OK;
}

static uint64_t time_limit(const besom_guard *g) {
  return besom__monotonic_ns() + g->busy_timeout;
}

/* Before a batch: those that have waited for the last one go first. Otherwise a thread that begins
   one batch after the other would be faster than they wake up, each time. */
static besom_status let_waiters_go_first(besom_guard *g) {
  uint64_t until = time_limit(g);
  while (g->batch_waiters && !in_batch(g) && besom__wait_writer(g->locks, until)) {
  }
  return batch_of_another(g) ? wait_for_batch(g, time_limit(g)) : BESOM_OK;
}

/* Errors: LOCKED (a child of fork), READ_ONLY. */
static besom_status may_change(const besom_guard *g) {
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  return g->read_only ? BESOM_READ_ONLY : BESOM_OK;
}

/* Errors: BUSY. */
static besom_status enter_with_lock(besom_guard *g, bool batch) {
  besom_status status = BESOM_OK;
  besom__lock_writer(g->locks);
  if (batch_of_another(g))
    status = wait_for_batch(g, time_limit(g));
  else if (batch)
    status = let_waiters_go_first(g);
  if (status != BESOM_OK) besom__unlock_writer(g->locks);
  return status;
}

/* After OK call leave. Errors: those of may_change, BUSY. */
static besom_status enter(besom_guard *g) {
  besom_status status = may_change(g);
  return status == BESOM_OK && UNLIKELY(g->locks) ? enter_with_lock(g, false) : status;
}

/* For calls that need the guard without an open transaction of others. */
static void commit_others(besom_guard *g) {
  if (g->shared.members) besom__shared_commit(g);
}

static besom_status enter_alone(besom_guard *g) {
  besom_status status = enter(g);
  if (status == BESOM_OK) commit_others(g);
  return status;
}

/* For calls that end a batch. INVALID: this thread has none. */
static besom_status enter_batch(besom_guard *g) {
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  lock_writer(g);
  bool own = in_batch(g) && !batch_of_another(g);
  if (!own) unlock_writer(g);
  return own ? BESOM_OK : BESOM_INVALID;
}

static besom_status guard_leave(besom_guard *g, besom_status status) {
  if (!g->locks) return status;
  if (g->background && besom__guard_work_is_due(g)) besom__background_wake(g->background);
  besom__unlock_writer(g->locks);
  return status;
}

/* A key may be found, or not, because of a change that waits for its commit. */
static besom_status leave_key(besom_guard *g, besom_status status) {
  if (LIKELY(!g->locks)) return status;
  bool depends = status == BESOM_NOT_FOUND || status == BESOM_IS_MEMBER;
  besom_status committed = depends && g->shared.members ? besom__shared_join(g) : BESOM_OK;
  return guard_leave(g, committed == BESOM_OK ? status : committed);
}

/* The next transaction would free the images, too, but that may be much later. */
static void free_images(besom_guard *g) {
  if (!g->images.n) return;
  lock_write(g);
  struct images past = besom__images_take(g);
  unlock(g);
  besom__images_free(g, &past);
}

static besom_status leave_batch(besom_guard *g, besom_status status) {
  if (g->locks) besom__wake_writers(g->locks);
  free_images(g);
  return guard_leave(g, status);
}

/* ------------------------------------------------------------------ keys */

besom_status besom_guard_put(besom_guard *g, const void *key, size_t len, const void *value,
                             size_t value_len, unsigned flags) {
  if (!is_key(g, key, len) || (!value && value_len) || flags & ~BESOM_PUT_NEW) return BESOM_INVALID;
  besom_record record = {{key, len}, {value, value_len}};
  besom_status status = enter(g);
  return status == BESOM_OK ? leave_key(g, besom__guard_put(g, &record, flags)) : status;
}

besom_status besom_guard_delete(besom_guard *g, const void *key, size_t len) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  besom_status status = enter(g);
  return status == BESOM_OK ? leave_key(g, besom__guard_delete(g, &(besom_bytes){key, len}))
                            : status;
}

besom_status besom_guard_no_put(besom_guard *g, const void *key, size_t len) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  besom_status status = enter(g);
  return status == BESOM_OK ? leave_key(g, besom__no_list_put(g, &(besom_bytes){key, len}))
                            : status;
}

besom_status besom_guard_no_delete(besom_guard *g, const void *key, size_t len) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  besom_status status = enter(g);
  return status == BESOM_OK ? leave_key(g, besom__no_list_delete(g, &(besom_bytes){key, len}))
                            : status;
}

/* ------------------------------------------------------------------ batches */

bool besom__has_batch(besom_guard *g) {
  if (enter_batch(g) != BESOM_OK) return false;
  unlock_writer(g);
  return true;
}

besom_status besom_guard_begin(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional && !g->read_only) return BESOM_UNSUPPORTED;
  besom_status status = may_change(g);
  if (status == BESOM_OK && g->locks) status = enter_with_lock(g, true);
  if (status != BESOM_OK) return status;
  commit_others(g);
  status = besom__batch_begin(g);
  if (status == BESOM_OK && g->locks) besom__set_owner(g->locks);
  return guard_leave(g, status);
}

besom_status besom_guard_commit(besom_guard *g) {
  besom_status status = g ? enter_batch(g) : BESOM_INVALID;
  return status == BESOM_OK ? leave_batch(g, besom__batch_commit(g)) : status;
}

besom_status besom_guard_abort(besom_guard *g) {
  besom_status status = g ? enter_batch(g) : BESOM_INVALID;
  return status == BESOM_OK ? leave_batch(g, besom__batch_abort(g)) : status;
}

besom_status besom_guard_sync(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!g->transactional && !g->read_only) return BESOM_UNSUPPORTED;
  besom_status status = enter_alone(g);
  return status == BESOM_OK ? guard_leave(g, besom__guard_sync(g)) : status;
}

/* Counts as an iterator meanwhile: sync does not reopen the store, and close is BUSY. */
besom_status besom_guard_backup(besom_guard *g, const char *directory) {
  if (!g || !directory) return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  if (!HAS_OP(g->store->ops, backup)) return BESOM_UNSUPPORTED;
  besom_status status = g->read_only ? BESOM_OK : besom_guard_sync(g);
  if (status != BESOM_OK) return status;
  lock_read(g);
  __atomic_add_fetch(&g->iterators, 1, __ATOMIC_RELAXED);
  unlock(g);
  status = g->store->ops->backup(g->store, directory);
  __atomic_sub_fetch(&g->iterators, 1, __ATOMIC_RELEASE);
  return status;
}

/* ------------------------------------------------------------------ maintenance */

besom_status besom_guard_rekey(besom_guard *g) {
  besom_status status = g ? enter_alone(g) : BESOM_INVALID;
  return status == BESOM_OK ? guard_leave(g, besom__guard_rekey(g)) : status;
}

besom_status besom_guard_step(besom_guard *g, uint64_t max_items, bool *finished) {
  besom_status status = g && max_items ? enter_alone(g) : BESOM_INVALID;
  return status == BESOM_OK ? guard_leave(g, besom__guard_step(g, max_items, finished)) : status;
}

/* Not beside a batch of another thread: its end wakes the background thread. */
besom_status besom__background_step(besom_guard *g, bool *more) {
  besom__lock_writer(g->locks);
  commit_others(g);
  *more = !in_batch(g);
  besom_status status = *more ? besom__guard_background_step(g) : BESOM_OK;
  if (status != BESOM_OK) count(g, &g->stats.failed_steps, 1);
  *more = *more && besom__guard_work_is_due(g);
  besom__unlock_writer(g->locks);
  return status;
}

/* ------------------------------------------------------------------ merging */

/*
 * Takes the locks of two guards. The guard with the lower address is locked first, so that two
 * merges cannot wait for each other. A thread that has a batch in one guard may need the other one
 * before it ends the batch, so a merge that waits for the batch has neither lock.
 */
static besom_status enter_both(besom_guard *first, besom_guard *second) {
  besom_guard *patient = first->busy_timeout > second->busy_timeout ? first : second;
  uint64_t until = time_limit(patient);
  for (besom_status status = BESOM_OK; status == BESOM_OK;) {
    lock_writer(first);
    lock_writer(second);
    besom_guard *busy = batch_of_another(first) ? first : second;
    if (!batch_of_another(busy)) return BESOM_OK;
    unlock_writer(busy == first ? second : first);
    status = wait_for_batch(busy, until);
    unlock_writer(busy);
  }
  return BESOM_BUSY;
}

besom_status besom_guard_merge(besom_guard *into, besom_guard *from) {
  if (!into || !from || into == from) return BESOM_INVALID;
  besom_status status = may_change(into);
  if (status == BESOM_OK) status = may_change(from);
  if (status == BESOM_OK) status = into < from ? enter_both(into, from) : enter_both(from, into);
  if (status != BESOM_OK) return status;
  commit_others(into);
  commit_others(from);
  status = besom__guard_merge(into, from);
  if (!in_batch(into)) free_images(into); /* BUSY beside a batch of its own, which goes on */
  guard_leave(from, status);
  return guard_leave(into, status);
}
