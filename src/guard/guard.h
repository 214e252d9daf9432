/*
 * A guard: a filter and the store behind it. Declarations shared by all files of src/guard/.
 *
 * state.h          the struct of a guard
 * lookup.c         get: query the filter, read the store, compare the keys
 * many.c           get and put of many keys per call
 * adapt.c          false positives: counting, adapting, the queue from readers to writers
 * denials.c        false positives that no writer has handled yet, in memory
 * front.c          a second filter in memory, when many of these wait
 * change.c         put and delete
 * transaction.c    commit, abort, rollback, savepoints, group commits
 * undo_log.c       how the filter follows when the store drops changes
 * migration.c      growing and rekeying: moving records from one epoch to the next in steps
 * migration_policy.c   when a migration starts, and who does its steps
 * read_ahead.c     copies of the lists that migrate next
 * no_list.c        keys that are certainly absent and never cost a read
 * reverse_map.c    the reverse map (fingerprint to stored key) that the filter is bound to
 * open.c           open and close
 * manifest.c       the record in which the guard keeps kind, geometry, hash and migration state
 * checkpoint.c     the saved filter that close leaves beside the store
 * rebuild.c        the filter from a scan of the store
 * iterator.c       a pull iterator over a snapshot of the store
 * read_only.c      read-only guards beside a process that changes the store
 * calls.c          the public functions that change a guard, and the lock of the writers
 * shared_commit.c  writers that wait for the disk share one commit
 * before_images.c  what readers see of a transaction that is not committed
 * background.c     the optional thread that does the guard's own work
 * health.c         what an operator must know
 * process.c        calls in a child of fork are refused
 * scan.c, merge.c, stats.c, value_copy.c, digest_list.c, lock.c
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

/* ------------------------------------------------------------------ process.c */

/* Without memory for the page, calls take longer. */
void besom__process_init(struct process *p);
void besom__process_free(struct process *p);
bool besom__process_has_id(const struct process *p);

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

/* Whether a migration is due, if the guard can migrate, or runs. */
static inline bool wants_migration(const besom_guard *g) {
  return g->next.filter || g->rekey_wanted || g->current.filter->items > g->grow_items;
}

/* False in a child of fork: it must not use the guard. */
static inline bool in_own_process(const besom_guard *g) {
  return LIKELY(g->process.page != NULL) ? *g->process.page : besom__process_has_id(&g->process);
}

/* The current epoch is committed. */
static inline void set_first_epoch(besom_guard *g) {
  __atomic_store_n(&g->first_epoch, g->current.number, __ATOMIC_RELAXED);
}

/* The locks of lock.h. All of these do nothing without config.threads. */
static inline void lock_read(const besom_guard *g) {
  if (g->locks) besom__lock_read(g->locks);
}

static inline void lock_write(const besom_guard *g) {
  if (g->locks) besom__lock_write(g->locks);
}

static inline void unlock(const besom_guard *g) {
  if (g->locks) besom__unlock(g->locks);
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

/* ------------------------------------------------------------------ value_copy.c */

/* Copies a value. The caller frees the copy with besom_guard_release. The bytes that a store shows
   are valid only until its next call. Errors: NO_MEMORY. */
besom_status besom__value_copy(besom_guard *g, besom_bytes from, besom_bytes *out);

/* Frees the block that is kept for the next copy. */
void besom__free_spare_value(besom_guard *g);

/* ------------------------------------------------------------------ digest_list.c */

/* The digests of a bucket list. They are collected first, because a store must not be called while
   it shows a record. */
struct digest_list {
  const besom_guard *guard;
  const besom_filter *filter;
  size_t n, room;
  besom_digest *more; /* all of them, if they are not few */
  besom_digest few[FEW_MATCHES];
};

struct digest_list besom__digest_list(const besom_guard *g, const besom_filter *f);
/* A visitor of bucket lists. Errors: NO_MEMORY. */
besom_status besom__digest_list_add(void *list, besom_place at, const besom_record *record);
void besom__digest_list_free(struct digest_list *list);

static inline const besom_digest *digests_of(const struct digest_list *list) {
  return list->more ? list->more : list->few;
}

/* ------------------------------------------------------------------ lookup.c */

/* A lookup: the answer of the filter, then the records of the bucket, and the matches of the filter
   if a record there has another key. */
struct lookup {
  besom_guard *guard;
  const besom_bytes *key;
  const struct epoch *epoch; /* the only one that can hold the key */
  besom_digest digest;
  besom_bytes *value; /* receives a copy of the value; NULL if it is not wanted */
  bool maybe;         /* the filter answered yes */

  bool matched;         /* the matches are known */
  besom_match *matches; /* n of them, ordered by bucket and rank */
  size_t n;
  size_t next, end;     /* matches of the bucket that is being read: from next up to end */
  size_t false_matches; /* matches[0] up to this belong to other keys, */
  besom_digest *stored; /* with these digests */
  bool found;
  besom_match found_at;

  besom_match few_matches[FEW_MATCHES];
  besom_digest few_stored[FEW_MATCHES];
};

/* The epoch that a key belongs to, and the key's digest there. During a migration the key's old
   bucket decides: below the frontier it is the next epoch, else the current one. */
const struct epoch *besom__guard_epoch_of(const besom_guard *g, const besom_bytes *key,
                                          besom_digest *digest);

/* Queries the filter. The second form is for a key of which only the digest is known. end frees
   what a lookup has allocated. */
void besom__lookup_begin(struct lookup *l, besom_guard *g, const besom_bytes *key);
void besom__lookup_digest(struct lookup *l, besom_guard *g, const struct epoch *epoch,
                          besom_digest digest);
void besom__lookup_end(struct lookup *l);

/* Reads the bucket lists of the matches once, sets found and, unless found, false_matches, and
   counts the reads. Reads nothing if the filter answered no. Errors: NO_MEMORY, those of the
   store. */
besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads);

/* Sets found. Merged: reads the bucket list. Split: reads the table KEYS. Reads nothing if the
   filter answered no. */
besom_status besom__lookup_key(struct lookup *l, uint64_t *reads);

/* get of a key that the filter answered yes for: asks the store, adapts, counts. The read lock is
   held. value may be NULL. */
besom_status besom__lookup_get(besom_guard *g, const besom_bytes *key, const struct epoch *epoch,
                               besom_digest digest, besom_bytes *value);

/* Counts n queries that the filter answered no. */
void besom__count_absent(besom_guard *g, size_t n);

/* Asks the filter and, if it answers yes, the store; counts. The read lock is held. *maybe: the
   answer of the filter. */
besom_status besom__guard_ask(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                              bool *maybe);

/* The same, but changes that are not committed are not seen, unless they are this thread's. */
besom_status besom__guard_ask_committed(besom_guard *g, const besom_bytes *key, besom_bytes *value);

/* ------------------------------------------------------------------ read_only.c */

/* get of a read-only guard. */
besom_status besom__reader_get(besom_guard *g, const besom_bytes *key, besom_bytes *value);

/* Opening a read-only guard: creates and fills the filters. Errors: as besom__guard_fill. */
besom_status besom__reader_open(besom_guard *g, const besom_config *config,
                                const besom_progress *progress);

/* ------------------------------------------------------------------ adapt.c */

/* Counts a false positive. If the policy says so, adapts the filter to l's false matches. */
besom_status besom__guard_adapt(struct lookup *l);

/* Wants a rekey if so much of the reserve is used up. */
void besom__guard_check_reserve(besom_guard *g, const besom_filter *f);

/* Queues a false positive for the next writer. If the queue is full, drops it. */
void besom__guard_queue(struct lookup *l);

/* A writer: adapts to what readers have queued. Errors: those of the store. The false positive
   that failed is dropped; later ones stay in the queue. */
besom_status besom__guard_apply_queue(besom_guard *g);

/* ------------------------------------------------------------------ change.c */

/* The public functions, without the lock of the writers. */
besom_status besom__guard_put(besom_guard *g, const besom_record *record, unsigned flags);
besom_status besom__guard_delete(besom_guard *g, const besom_bytes *key);

/* Before every change: brings the filter in line with the store, and adapts to what readers have
   queued. Errors: why the open batch failed; those of the store. */
besom_status besom__guard_ready_to_change(besom_guard *g);

/* After the undo of half a change. If it failed, a longer transaction must be rolled back. */
void besom__guard_check_undo(besom_guard *g, besom_status undone);

/* ------------------------------------------------------------------ stats.c */

/* Waits for nobody for long: if the view is locked, what was seen last is told. */
struct observed besom__guard_observe(const besom_guard *g);

/* ------------------------------------------------------------------ denials.c */

/* Whether a key with this digest is known to be absent. Only if g->denials is not NULL; with the
   view locked, as all of these. add: for reading; erase, clear: for writing. */
bool besom__denials_have(const besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_add(besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_erase(besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_clear(besom_guard *g);
uint64_t besom__denials_bytes(const besom_guard *g);
uint64_t besom__denials_capacity(const besom_guard *g); /* in digests */
uint64_t besom__denials_added(const besom_guard *g);    /* so far; clear changes nothing */
void besom__denials_free(besom_guard *g);

static inline bool has_denial(const besom_guard *g, uint32_t epoch, besom_digest digest) {
  return UNLIKELY(__atomic_load_n(&g->denials, __ATOMIC_ACQUIRE) != NULL) &&
         besom__denials_have(g, epoch, digest);
}

/* ------------------------------------------------------------------ front.c */

/* After a false positive, with the view locked for reading: begins a front if many wait for a
   writer, or scans some records for it. */
void besom__front_advance(besom_guard *g);

/* With the view locked for reading. */
bool besom__front_denies(const struct front *front, const besom_bytes *key);
uint64_t besom__front_bytes(const besom_guard *g); /* also if it is NULL */

/* With the view locked for writing. put: a new key. migration_begins: drops one that is not
   complete, because of the memory that three filters take. */
void besom__front_put(besom_guard *g, const besom_bytes *key);
void besom__front_migration_begins(besom_guard *g);
void besom__front_drop(besom_guard *g);

/* Frees one that was used up. The view is not locked. */
void besom__front_free_old(besom_guard *g);

static inline bool is_denied_by_front(const besom_guard *g, const besom_bytes *key) {
  const struct front *front = __atomic_load_n(&g->front, __ATOMIC_ACQUIRE);
  return UNLIKELY(front != NULL) && besom__front_denies(front, key);
}

/* The end of a get: a reader cannot free what others read. */
static inline void end_get(besom_guard *g) {
  unlock(g);
  if (UNLIKELY(__atomic_load_n(&g->front_old, __ATOMIC_RELAXED) != NULL)) besom__front_free_old(g);
}

static inline uint64_t load_relaxed_count(const uint64_t *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------ merge.c */

besom_status besom__guard_merge(besom_guard *into, besom_guard *from);

/* ------------------------------------------------------------------ no_list.c */

besom_status besom__no_list_put(besom_guard *g, const besom_bytes *key);
besom_status besom__no_list_delete(besom_guard *g, const besom_bytes *key);

/* Reads the number of keys on the no list. */
besom_status besom__no_list_open(besom_guard *g);

/* The digests of the no list's keys in the bucket of a digest. After OK free the list. */
besom_status besom__no_list_read(besom_guard *g, const struct epoch *epoch, besom_digest digest,
                                 struct digest_list *out, uint64_t *reads);
bool besom__no_list_has(const struct digest_list *list, besom_digest digest, uint32_t *rank);

/* Extends the fingerprint of a member until it matches none of these keys, as far as the reserve
   allows. */
besom_status besom__no_list_separate(besom_guard *g, besom_filter *f, const struct digest_list *no,
                                     besom_digest member, besom_match at);

/* A migration: appends a key of the no list to the next epoch; removes the first key of a list from
   the current one. */
besom_status besom__no_list_migrate(besom_guard *g, const besom_record *record);
besom_status besom__no_list_leave(besom_guard *g, uint64_t bucket);

/* After a filter was filled from the store: separates its members from the keys of its no lists. */
besom_status besom__no_list_restore(besom_guard *g, const struct epoch *epoch);

/* ------------------------------------------------------------------ before_images.c */

/* Whether the change that runs, or comes next, needs images. The changes that SYNC gathers are
   acknowledged at once; a batch and a merge are not gathered. */
static inline bool keeps_images(const besom_guard *g) {
  bool gathers = g->durability == BESOM_DURABLE_SYNC && g->savepoints;
  return g->hides_uncommitted && (!gathers || g->tx == TX_BATCH || g->unmerged);
}

/* Keeps the committed state of a key, before it changes, if keeps_images. value NULL: it is absent.
   no_list: its state on the no list. The caller has the write lock. Errors: NO_MEMORY. */
besom_status besom__image_add(besom_guard *g, bool no_list, const besom_bytes *key,
                              const besom_bytes *value);

/* With the read lock: whether there are images. */
static inline bool has_images(const besom_guard *g) {
  return __atomic_load_n(&g->images.valid, __ATOMIC_ACQUIRE);
}

struct before_image {
  bool present;
  besom_bytes value; /* borrowed until the read lock is released */
};

/* With the read lock: false if the state in memory is what this thread may see. */
bool besom__image_find(const besom_guard *g, bool no_list, const besom_bytes *key,
                       struct before_image *out);

/* With the read lock: the images that this thread must see, of keys >= from and < to, in key order.
   Free the list before the lock is released. */
struct listed_image {
  besom_bytes key, value;
  bool present;
};
struct image_list {
  struct listed_image *items;
  size_t n, room;
};
besom_status besom__images_list(const besom_guard *g, besom_bytes from, besom_bytes to,
                                struct image_list *out);
void besom__images_list_free(const besom_guard *g, struct image_list *list);
size_t besom__images_before(const struct image_list *list, besom_bytes key); /* number of them */

/* At the end of a transaction. take and free: with and without the write lock. */
void besom__images_end(besom_guard *g);
struct images besom__images_take(besom_guard *g);
void besom__images_free(const besom_guard *g, struct images *images);

/* ------------------------------------------------------------------ shared_commit.c */

/* Whether a change of the caller waits for others, to share a commit. */
static inline bool shares_commit(const besom_guard *g) {
  return g->locks && g->savepoints && g->durability != BESOM_DURABLE_SYNC;
}

/* Waits until the open transaction is committed, or commits it. */
besom_status besom__shared_wait(besom_guard *g, struct waiting_writer *me);
static inline besom_status besom__shared_join(besom_guard *g) {
  struct waiting_writer me = {.done = false};
  return besom__shared_wait(g, &me);
}

/* Commits the open transaction for the writers that wait. */
besom_status besom__shared_commit(besom_guard *g);

/* ------------------------------------------------------------------ calls.c */

/* Whether this thread has begun a batch. */
bool besom__has_batch(besom_guard *g);

/* ------------------------------------------------------------------ transaction.c */

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

/* ------------------------------------------------------------------ undo_log.c */

/* make_room, for n entries, must come before the change; add appends one. Both do nothing for a
   store without transactions. forget_next drops the entries of the next filter from an index on.
   Errors: NO_MEMORY. */
besom_status besom__undo_make_room(besom_guard *g, size_t n);
void besom__undo_add(besom_guard *g, const besom_filter *f, besom_match at, bool refill);
void besom__undo_forget_next(besom_guard *g, size_t from);

/* Undoes the entries from undo_from on in the filter, after the store has dropped these changes.
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

/* ------------------------------------------------------------------ migration.c */

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

static inline bool all_migrated(const besom_guard *g) {
  return g->next.filter && g->frontier == ALL_MIGRATED;
}

uint64_t besom__monotonic_ns(void);

/* ------------------------------------------------------------------ migration_policy.c */

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

/* ------------------------------------------------------------------ read_ahead.c */

struct copied_record {
  uint64_t bucket;
  size_t at; /* offset in bytes: the key, then the value */
  size_t key_len, value_len;
  bool no; /* a key of the no list */
};

/* Copies of the next lists to migrate, ordered by bucket, members before keys of the no list. */
struct read_ahead {
  besom_guard *guard;
  uint64_t ns, begun; /* the time to read for, and when the scan showed its first record */
  bool late;          /* it is over */
  struct copied_record *items;
  size_t n, room;
  size_t done;     /* items that have migrated */
  size_t complete; /* items of lists that are complete */
  size_t first;    /* items from here on are of the current scan, */
  bool no;         /* which is that of the no lists */
  uint8_t *bytes;
  size_t used, size, used_before; /* used_before: by the scan before the current one */
  uint64_t upto;                  /* the first bucket that was not read */
};

/* Lists for the next steps: reads at least one, and then for at most ns nanoseconds. */
besom_status besom__read_ahead_fill(besom_guard *g, uint64_t ns);

/* The next list. If there is none, it is empty. */
struct slice {
  size_t from, to;
  uint64_t upto; /* the frontier after it */
};
struct slice besom__read_ahead_next(const struct read_ahead *ahead);

/* The copies are stale if one of the lists was changed by anything but a migration step: the
   first call drops them in that case, the second always. */
void besom__migration_list_changed(besom_guard *g, const struct epoch *epoch, uint64_t bucket);
void besom__read_ahead_drop(besom_guard *g);

/* ------------------------------------------------------------------ reverse_map.c */

/* Binds a filter to the guard's reverse map: the stored keys. */
besom_status besom__guard_bind(besom_guard *g, besom_filter *f);

/* ------------------------------------------------------------------ open.c, rebuild.c */

/* A filter for this guard, empty and not bound. slots and width 0: from filter_config. seed NULL:
   a random one. */
besom_status besom__guard_filter_new(besom_guard *g, const char *hash, const uint8_t *seed,
                                     uint64_t slots, uint32_t width, besom_filter **out);

/* Creates the filters of a guard that has none: by the store's manifest or, if there is none, by
   the config. fill fills them from the checkpoint or by a scan. progress may be NULL. */
besom_status besom__guard_create_filters(besom_guard *g, const besom_config *config,
                                         bool *has_manifest);
besom_status besom__guard_fill(besom_guard *g, bool has_manifest, const besom_progress *progress);

/* Notes why open fails. Returns the status. */
static inline besom_status refuse_open(besom_guard *g, besom_status status, const char *sentence) {
  g->why = sentence;
  return status;
}

/* n random bytes from the system. Errors: IO. */
besom_status besom__guard_random(uint8_t *out, size_t n);

/* The filter's geometry; 0 for kinds whose geometry follows from filter_config. */
void besom__guard_geometry(const besom_filter *f, uint64_t *slots, uint32_t *width);

/* Fills the filter of an epoch, which is empty and bound, by one scan of the epoch's lists.
   progress may be NULL. After a failure free the filter. Errors: INCOMPATIBLE, FULL, CANCELLED. */
besom_status besom__guard_refill(besom_guard *g, const struct epoch *epoch,
                                 const besom_progress *progress);

/* Rebuilds the filters from the store: rebuild those of now, restore those of before the
   transaction. After a failure the guard has the filters that it had. */
besom_status besom__guard_rebuild(besom_guard *g);
besom_status besom__guard_restore(besom_guard *g);
struct filter_params besom__guard_filter_params(const struct epoch *epoch);

/* ------------------------------------------------------------------ manifest.c */

/* read: sets ids, filter_config and both epochs, with empty filters that are not bound. NOT_FOUND:
   the store has no manifest. write: as part of the open transaction. migrated: all records are in
   the next epoch, which is the only one from now on. */
besom_status besom__manifest_read(besom_guard *g);
besom_status besom__manifest_write(besom_guard *g, bool migrated);

/* The checksum of the store's manifest now; 0: it has none. */
besom_status besom__manifest_checksum(besom_guard *g, uint64_t *checksum);

/* ------------------------------------------------------------------ checkpoint.c */

/* load: replaces the guard's empty filters by the saved ones, if they were saved from exactly this
   state of the store; false if not. save: a failure only means that the next open has no
   checkpoint. drop must succeed before the store is changed. */
bool besom__checkpoint_load(besom_guard *g);

/* Whether a guard that changed its store has left a checkpoint here: then the store had a
   manifest. */
bool besom__checkpoint_exists(const besom_guard *g);
besom_status besom__checkpoint_save(besom_guard *g);
besom_status besom__checkpoint_drop(besom_guard *g);

#endif
