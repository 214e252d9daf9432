/*
 * A guard: a filter and the store behind it. What all files of src/guard/ share: the state
 * (state.h), what of it is active, and the locks. The headers of the rooms have the operations of
 * their files. Parts that are not active are not entered.
 *
 * Layouts. Merged: the reverse map is the database, so the bucket lists hold keys and values.
 * Split: the bucket lists hold the keys only, and the table KEYS holds keys and values.
 *
 * Invariant. Filter and store change together: for every bucket, fingerprint i of the filter
 * belongs to record i of the store's list whenever another thread may look.
 */
#ifndef BESOM_GUARD_GUARD_H
#define BESOM_GUARD_GUARD_H

#include <string.h>

#include "guard/state.h"

/* ------------------------------------------------------------------ helpers */

static inline besom_place position_of(uint32_t epoch, besom_match at) {
  return (besom_place){.epoch = epoch, .rank = at.rank, .bucket = at.bucket};
}

static inline bool bytes_equal(besom_bytes a, besom_bytes b) {
  if (a.len != b.len) return false;
  if (LIKELY(a.len == 8)) return load64(a.data) == load64(b.data); /* integers need no call */
  return !a.len || memcmp(a.data, b.data, a.len) == 0;
}

static inline bool is_key(const besom_guard *g, const void *key, size_t len) {
  return g && (key || !len) && len <= BESOM_GUARD_MAX_KEY;
}

/* A guard's filters are bound to their stored keys, have no exceptions, and are neither mapped nor
   shared between threads. So a guard calls the operations of the kind. */
static inline besom_digest key_digest(const besom_filter *f, const besom_bytes *key) {
  return hash_bytes(&f->hasher, key->data, key->len);
}

/* Adds n to a counter that readers add to, too. Returns the new value. */
static inline uint64_t count(const besom_guard *g, uint64_t *counter, uint64_t n) {
  if (g->locks) return __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
  return *counter += n;
}

/* Whether the filter relocates its fingerprints, and records with them (besom_reverse.exchange).
   Such kinds cannot compute a key's bucket. */
static inline bool moves_records(const besom_guard *g) {
  return g->current.filter->kind->store->restore_at && !g->current.filter->kind->store->bucket_of;
}

static inline bool in_batch(const besom_guard *g) {
  return g->tx == TX_BATCH || g->tx == TX_FAILED;
}

/* Whether the store has an open transaction. */
static inline bool in_transaction(const besom_guard *g) {
  return g->tx == TX_SINGLE || g->tx == TX_GROUP || g->tx == TX_BATCH;
}

/* The current epoch is committed. */
static inline void set_first_epoch(besom_guard *g) {
  __atomic_store_n(&g->first_epoch, g->current.number, __ATOMIC_RELAXED);
}

/* The locks of lock.h. All of these do nothing without config.threads. */
static inline void lock_read(const besom_guard *g) {
  if (g->locks) besom__lock_read(g->locks);
}

/* The filters change only with this lock. */
static inline void lock_write(besom_guard *g) {
  if (g->locks)
    besom__lock_write(g->locks);
  else
    g->plain = NULL;
}

/* Before the filter alone answers that a key is absent: nobody else can have put it. */
static inline besom_status guard_check_lock(const besom_guard *g) {
  return LIKELY(!g->lock_may_end) ? BESOM_OK : g->store->ops->check_lock(g->store);
}

/* After reading and writing. Without a page to look at, a get must check the process. */
static inline void unlock(besom_guard *g) {
  bool plain =
      !g->next.filter && !g->filter_stale && !g->read_only && !g->lock_may_end && g->process.page;
  if (g->locks)
    besom__unlock(g->locks);
  else
    g->plain = plain ? g->current.filter : NULL;
}

static inline void lock_commit(const besom_guard *g) {
  if (g->locks) besom__lock_commit(g->locks);
}

static inline void unlock_commit(const besom_guard *g) {
  if (g->locks) besom__unlock_commit(g->locks);
}

static inline void lock_queue(const besom_guard *g) {
  if (g->locks) besom__lock_queue(g->locks);
}

static inline void unlock_queue(const besom_guard *g) {
  if (g->locks) besom__unlock_queue(g->locks);
}

static inline uint64_t load_relaxed_count(const uint64_t *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

uint64_t besom__monotonic_ns(void); /* migration.c */

/* Waits for nobody for long: if the view is locked, what was seen last is told. */
struct observed besom__guard_observe(const besom_guard *g);

/* ------------------------------------------------------------------ what is active */

/* Whether a migration is due, if the guard can migrate, or runs. */
static inline bool wants_migration(const besom_guard *g) {
  return g->next.filter || g->rekey_wanted || g->current.filter->items > g->grow_items;
}

static inline bool all_migrated(const besom_guard *g) {
  return g->next.filter && g->frontier == ALL_MIGRATED;
}

/* Whether the change that runs, or comes next, needs images. The changes that SYNC gathers are
   acknowledged at once; a batch and a merge are not gathered. */
static inline bool keeps_images(const besom_guard *g) {
  bool gathers = g->durability == BESOM_DURABLE_SYNC && g->savepoints;
  return g->hides_uncommitted && (!gathers || g->tx == TX_BATCH || g->unmerged);
}

/* With the read lock: whether there are images. */
static inline bool has_images(const besom_guard *g) {
  return __atomic_load_n(&g->images.valid, __ATOMIC_ACQUIRE);
}

/* Whether a change of the caller waits for others, to share a commit. */
static inline bool shares_commit(const besom_guard *g) {
  return g->locks && g->savepoints && g->durability != BESOM_DURABLE_SYNC;
}

/* Whether some absent keys are known: denials, or a front. */
static inline bool denies_some(const besom_guard *g) {
  return __atomic_load_n(&g->denials, __ATOMIC_ACQUIRE) ||
         __atomic_load_n(&g->fronts.asked, __ATOMIC_ACQUIRE);
}

#endif
