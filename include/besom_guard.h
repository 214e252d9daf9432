/*
 * besom_guard.h - a filter in front of a database, with exact answers.
 *
 * A guard runs a filter and a store together. A get asks the filter first. It reads the store only
 * if the filter answers yes, compares the keys, and adapts the filter if the answer was a false
 * positive. besom_store.h has the stores; docs/guard.md explains what follows.
 *
 *     besom_config filter = {.kind = "aqf", .capacity = 1000000, .fpr = 0.001};
 *     besom_guard_config config = {.filter = &filter};
 *     besom_guard_open(&config, store, &guard);
 *     besom_guard_put(guard, "key", 3, "value", 5, 0);
 *     besom_bytes value;
 *     if (besom_guard_get(guard, "key", 3, &value) == BESOM_OK) {
 *       ...
 *       besom_guard_release(guard, &value);
 *     }
 *     besom_guard_close(guard);
 *
 * Keys have up to BESOM_GUARD_MAX_KEY bytes; values are as long as the store allows.
 *
 * Errors
 *   After an error nothing has changed, in filter or store. (A broom may have advanced its round,
 *   or told keys apart, before the store failed.) Besides the statuses named below, calls return
 *   what the store returned: IO, DISK_FULL, NO_MEMORY, READ_ONLY. If the store fails even when the
 *   guard asks it what is left after a failure, calls return that failure, and each call tries
 *   again to recover. Transactions, batches, growth and rekeying need a store with transactions
 *   (besom_store.h).
 *
 * Threads
 *   Without config.threads a guard needs every call to itself, get too, because get adapts. Calls
 *   that take a const guard may run beside each other. With config.threads it is thread-safe:
 *
 *     calls                        may run beside       waits for
 *     get, get_many, no_has,       everything           a writer while it changes memory; not
 *     release, scan, stats,                             while it writes to disk
 *     health, offenders
 *     iterate                      all but close        a writer while it changes memory
 *     besom_iterator_*             all but close        nothing
 *     put, put_many, delete,       everything           the writers before it; readers inside the
 *     no_put, no_delete, sync,                          store; the batch of another thread, up to
 *     rekey, step, merge, begin                         config.busy_timeout_ms, then it is BUSY
 *     commit, abort                everything           as put; only by the thread that has begun
 *                                                       the batch, others get INVALID
 *     open, close                  nothing
 *
 *   Readers leave adapting to the writers, or to the background thread. They see committed changes
 *   only, unless config.read_uncommitted is set; the thread that has a batch sees its changes. Puts
 *   and deletes of several threads share commits, so that they wait for the disk together. The
 *   allocator must be thread-safe.
 *
 * Processes
 *   A child of fork must not use a guard of its parent: every call returns LOCKED and does nothing,
 *   close too (its memory ends with the process); besom_guard_filter returns NULL. The parent is
 *   not affected.
 */
#ifndef BESOM_GUARD_H
#define BESOM_GUARD_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct besom_guard besom_guard;
typedef struct besom_store besom_store;

#define BESOM_GUARD_MAX_KEY 65536

/* -------------------------------------------------------------- opening and closing */

/* When to adapt to a false positive. */
typedef enum besom_adapt_policy {
  BESOM_ADAPT_ALWAYS = 0,
  BESOM_ADAPT_SECOND = 1, /* when the key was one before, among the some thousand remembered */
  BESOM_ADAPT_NEVER = 2,
} besom_adapt_policy;

/*
 * Where values are. Merged: with the keys, in the order of their hashes; one write per put. Split:
 * in a table in key order, for range scans, with the reverse map beside it; two writes per put.
 */
typedef enum besom_layout { BESOM_LAYOUT_MERGED = 0, BESOM_LAYOUT_SPLIT = 1 } besom_layout;

/*
 * What a call that has returned promises (a Redis store: as far as its server does). At every level
 * a batch survives a power cut. PUT: so does every put and delete. BATCH: a single put or delete
 * survives the end of the process, and a power cut once a later batch or sync has returned. SYNC:
 * puts and deletes are gathered in memory and written durably some thousand at a time, and by sync,
 * which makes them survive a power cut. If such a write fails, the gathered changes stay, and gets
 * see them. Puts, deletes and batches are refused with the status of the failure until sync has
 * written the changes; sync reopens the database for that, or enlarges its map, if it must. Only a
 * crash can lose them, and a close that cannot write them, either. At every level the contents
 * after a power cut are those of one moment (LMDB: unless the store has no_sync).
 */
typedef enum besom_durability {
  BESOM_DURABLE_PUT = 0,
  BESOM_DURABLE_BATCH = 1,
  BESOM_DURABLE_SYNC = 2,
} besom_durability;

/*
 * filter      required; of a kind with BESOM_CAN_MATCH, and unless adapt is NEVER with
 *             BESOM_CAN_ADAPT and without BESOM_CAN_NO_LIST_AT. Without BESOM_CONCURRENT: the guard
 *             has locks of its own; and without BESOM_SET.
 * threads     the guard is thread-safe: many writers, many readers.
 * step_items  entries that a put migrates while a migration runs; default 64. A longer list of one
 *             bucket is migrated whole.
 * step_ns     nanoseconds after which a put stops migrating, but not before the first entry;
 *             default 1,000,000 (1 ms); UINT64_MAX: no limit.
 * grow_at     load factor above which the filter migrates to one of twice the size and the same
 *             FPR; default 0.9; 1: never, a put is FULL then. Not before filter->capacity is
 *             reached. A full filter grows in any case.
 * rekey_at    share of the reserve in use from which on the filter is rekeyed, which frees the
 *             reserve and keeps the size; default 0.9; 1: when an adaptation finds no room; 2:
 *             never. If filter->slots is given, grow_at and rekey_at are "never" by default.
 * progress    called while open reads all keys; may be NULL.
 * max_filter_bytes
 *             limit of the filter's memory, of both filters during a migration; default 0: none. A
 *             growth or a rekey that would exceed it is not started (growths_refused,
 *             rekeys_refused). A put is FULL when the filter is full and may not grow. The filter
 *             that open makes is not limited.
 * background  share of one core, up to 1, for a thread of the guard's own that does what
 *             besom_guard_step does: it migrates, and adapts to the false positives of readers. It
 *             sleeps while there is nothing to do. 0: no thread. Needs threads.
 * busy_timeout_ms   how long a writer waits for the batch of another thread; default 5000,
 *             UINT32_MAX: 49 days.
 * read_uncommitted  readers may see changes of other threads before they are committed. Writers
 *             then need not keep the old value of each key that a transaction changes.
 * reason      if it is not NULL, *reason is a static sentence after an error of open, and NULL
 *             after OK.
 */
typedef struct besom_guard_config {
  const besom_config *filter;
  besom_adapt_policy adapt;
  besom_layout layout;
  besom_durability durability;
  bool threads;
  uint64_t step_items;
  double grow_at, rekey_at;
  const besom_progress *progress;
  uint64_t step_ns;
  uint64_t max_filter_bytes;
  double background;
  uint32_t busy_timeout_ms;
  bool read_uncommitted;
  const char **reason;
} besom_guard_config;

/*
 * Makes the filter and takes over the store: besom_guard_close closes it. If open fails the store
 * is still yours. Memory comes from filter->allocator.
 *
 * If a guard has used the store before, its manifest there decides: hash, seed and geometry are
 * those it had, whatever config.filter says; kind and layout must be the same. The filter is loaded
 * from the checkpoint that close wrote, or, if that is missing or stale, rebuilt by one scan of the
 * store. A store without transactions that has records must have got them from a guard whose filter
 * had the same kind, geometry, hash and seed.
 *
 * Errors: as besom_create; UNSUPPORTED (the kind; split without transactions), INVALID (quotient
 * and remainder have more than 64 bits together; options of more than 127 characters;
 * BESOM_CONCURRENT, BESOM_SET), INCOMPATIBLE (another kind or layout; records are not in the
 * buckets of this filter), FULL (too many records), CORRUPT or NEWER_VERSION (the manifest),
 * CORRUPT (the store is empty, but a guard has left a checkpoint in its directory: records are
 * lost), CANCELLED.
 */
BESOM_API besom_status besom_guard_open_sized(const besom_guard_config *config, size_t config_size,
                                              size_t filter_size, besom_store *store,
                                              besom_guard **out);
static inline besom_status besom_guard_open(const besom_guard_config *config, besom_store *store,
                                            besom_guard **out) {
  return besom_guard_open_sized(config, sizeof *config, sizeof(besom_config), store, out);
}

/*
 * Aborts an open batch, syncs, writes a checkpoint of the filter beside the store if the store has
 * a directory, closes the store and frees everything. NULL is allowed. Release all values before.
 * The guard is gone in any case, except after BUSY (an iterator is open; then nothing has happened)
 * and LOCKED (a child of fork). Errors: NO_CHECKPOINT (nothing is lost: only the checkpoint could
 * not be written, so that the next open scans the store); any other: sync has failed, and the
 * changes that it would have made durable may be lost.
 */
BESOM_API besom_status besom_guard_close(besom_guard *g);

/* -------------------------------------------------------------- records */

/*
 * put stores a value under a key and replaces the value that is there. A new key costs one append,
 * and no read unless the filter answers yes. flags: 0 or BESOM_PUT_NEW: the caller knows that the
 * key is absent, so nothing is read, except by a broom for its own round. If the key is there after
 * all it is stored twice: get, put and delete see the older record (split: the newer value, and
 * neither after a delete), and until the commit other threads see none. Errors: FULL (the filter),
 * DISK_FULL (the store), INVALID (key or value too long), and with SYNC why earlier changes could
 * not be written.
 */
BESOM_API besom_status besom_guard_put(besom_guard *g, const void *key, size_t len,
                                       const void *value, size_t value_len, unsigned flags);

/* Flags of besom_guard_put. */
#define BESOM_PUT_NEW 1u

/*
 * get returns the value of a key, borrowed until besom_guard_release. value may be NULL if only
 * presence matters. Cost: no read of the store if the filter answers no, else one; split: a second
 * one for a false positive. Errors: NOT_FOUND (certain; *value is empty and needs no release), IO
 * (also, with threads: a change failed, and so did its rollback; the next change repeats that).
 * release empties *value; NULL and an empty value are allowed.
 */
BESOM_API besom_status besom_guard_get(besom_guard *g, const void *key, size_t len,
                                       besom_bytes *value);
BESOM_API void besom_guard_release(besom_guard *g, besom_bytes *value);

/* Removes a key and its value. Errors: NOT_FOUND. */
BESOM_API besom_status besom_guard_delete(besom_guard *g, const void *key, size_t len);

/*
 * Many keys per call: the filter is asked for many of them at once, and the store is read in the
 * order of its records.
 *
 * get_many gets n keys. Bit i of found, an array of (n + 63) / 64 words, tells whether keys[i] is
 * there; values[i] is its value, to be released, or empty (data is NULL). Either may be NULL.
 * Equal keys are allowed; each gets a value of its own. After an error all values are empty.
 *
 * put_many puts values[i] under keys[i]. If a key is there several times the last value stays.
 * Outside of a batch it is a batch of its own: all or none. In an open batch it is a part of it; if
 * it fails there, a part of the records may be in the batch: abort it, or put them again. With a
 * store without transactions a part may be stored. Errors: as put; INVALID (one of the keys or
 * values is invalid: nothing has changed).
 */
BESOM_API besom_status besom_guard_get_many(besom_guard *g, const besom_bytes *keys, size_t n,
                                            besom_bytes *values, uint64_t *found);
BESOM_API besom_status besom_guard_put_many(besom_guard *g, const besom_bytes *keys,
                                            const besom_bytes *values, size_t n, unsigned flags);

/* The _u64 forms: integer keys by their 8 little-endian bytes. */
static inline besom_status besom_guard_put_u64(besom_guard *g, uint64_t key, const void *value,
                                               size_t value_len, unsigned flags) {
  besom_u64_key k = besom_u64(key);
  return besom_guard_put(g, k.bytes, 8, value, value_len, flags);
}
static inline besom_status besom_guard_get_u64(besom_guard *g, uint64_t key, besom_bytes *value) {
  besom_u64_key k = besom_u64(key);
  return besom_guard_get(g, k.bytes, 8, value);
}
static inline besom_status besom_guard_delete_u64(besom_guard *g, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  return besom_guard_delete(g, k.bytes, 8);
}

/*
 * The no list: keys that are certainly absent and shall never cost a read of the store. It is
 * stored with the records and may change at any time; batches cover it. The filter pays only for
 * the few keys of the list that a member's fingerprint matches: it extends that fingerprint.
 *
 * no_put adds a key; adding it again is OK. Errors: IS_MEMBER (it is in the database: delete it
 * first), RESERVE_FULL (the filter cannot extend the fingerprints that match; nothing has changed;
 * after a rekey it can). no_delete removes a key. no_has: OK or NOT_FOUND. put of a key on the list
 * is IS_MEMBER. While the reserve is full, a key of the list may cost a read after a put
 * (adapt_full counts it). Answers are exact in any case.
 *
 * Cost: no_put reads one list, and one more if the filter answers yes; while the list is not empty,
 * a put of a new key reads one list. Errors of all: UNSUPPORTED (a store without transactions;
 * kinds other than aqf).
 */
BESOM_API besom_status besom_guard_no_put(besom_guard *g, const void *key, size_t len);
BESOM_API besom_status besom_guard_no_delete(besom_guard *g, const void *key, size_t len);
BESOM_API besom_status besom_guard_no_has(besom_guard *g, const void *key, size_t len);

/*
 * Visits every key with its value, both borrowed until visit returns. Split: keys >= from and < to
 * in key order; data NULL means no bound. Merged: all keys in the order of their hashes; a bound is
 * UNSUPPORTED. visit must not call the guard (with threads, writers wait meanwhile). Keys that an
 * open transaction of another thread has changed come last in the merged layout. visit returns
 * BESOM_OK to go on, BESOM_END to stop, or any other status, which ends the scan and is returned.
 */
typedef besom_status (*besom_guard_visit)(void *ctx, besom_bytes key, besom_bytes value);
BESOM_API besom_status besom_guard_scan(besom_guard *g, besom_bytes from, besom_bytes to,
                                        besom_guard_visit visit, void *ctx);

/*
 * A pull iterator over a snapshot: the keys and values that were committed when iterate was called,
 * whatever is put, deleted or migrated meanwhile. It blocks nobody. Split: keys >= from and < to in
 * key order; data NULL means no bound. Merged: all keys, each once, in the order of their hashes; a
 * bound is UNSUPPORTED. The changes of an open batch are not shown. With BESOM_DURABLE_SYNC iterate
 * writes the gathered changes first, so that they are shown; with config.threads it cannot: call
 * besom_guard_sync before.
 *
 * iterate may run beside all calls but close. An iterator is used by one thread at a time, beside
 * all calls. next shows the next key and its value (NULL is allowed), both borrowed until the next
 * call for this iterator; END: there are no more. Over LMDB the file grows while an iterator is
 * open and the guard is changed, because its pages cannot be reused.
 *
 * Errors of iterate: UNSUPPORTED (stores without cursors: memory, Redis), NO_MEMORY, BUSY (LMDB:
 * too many iterators and reads at once). Close all iterators before the guard: besom_guard_close is
 * BUSY otherwise, and does nothing.
 */
typedef struct besom_iterator besom_iterator;
BESOM_API besom_status besom_guard_iterate(besom_guard *g, besom_bytes from, besom_bytes to,
                                           besom_iterator **out);
BESOM_API besom_status besom_iterator_next(besom_iterator *it, besom_bytes *key,
                                           besom_bytes *value);
BESOM_API void besom_iterator_close(besom_iterator *it); /* NULL is allowed */

/* -------------------------------------------------------------- batches */

/*
 * Puts and deletes between begin and commit are kept all or none. They are visible at once, to this
 * thread. A call that fails in between has changed nothing, and the batch goes on. (Over a store
 * without savepoints that fails in the middle of a change, the whole batch is undone and its calls
 * return that failure.) commit and abort end the batch; if commit fails, all is undone. With
 * config.threads a batch belongs to the thread that began it; changes by other threads wait for its
 * end, or are BUSY (config.busy_timeout_ms). Errors: UNSUPPORTED (the store has no transactions),
 * BUSY (begin: a batch is open), INVALID (commit, abort: this thread has none).
 */
BESOM_API besom_status besom_guard_begin(besom_guard *g);
BESOM_API besom_status besom_guard_commit(besom_guard *g);
BESOM_API besom_status besom_guard_abort(besom_guard *g);

/*
 * Makes everything that was put and deleted survive a power cut. If gathered changes
 * (BESOM_DURABLE_SYNC) cannot be written, they stay, and sync can be repeated. Errors: UNSUPPORTED,
 * BUSY (a batch is open).
 */
BESOM_API besom_status besom_guard_sync(besom_guard *g);

/*
 * Copies the store as it is now, durably, into a directory that does not exist yet, and whose
 * parent does. Puts and gets of other threads go on. The copy has no checkpoint: its first open
 * scans it. Read-only guards can do it, too. Errors: UNSUPPORTED (only LMDB and RocksDB can), BUSY
 * (a batch is open), INVALID (the directory exists), IO, DISK_FULL; after an error the directory
 * may be there in part.
 */
BESOM_API besom_status besom_guard_backup(besom_guard *g, const char *directory);

/* -------------------------------------------------------------- maintenance */

/*
 * Starts a migration to a new seed: what an adversary has learned is worthless, and the reserve is
 * empty again. Puts, besom_guard_step and the background thread do the work; gets do none. Answers
 * are exact all the time. Errors: BUSY (a migration runs, or a batch is open), UNSUPPORTED (a store
 * without transactions; kinds that move fingerprints), NO_MEMORY (also: max_filter_bytes).
 */
BESOM_API besom_status besom_guard_rekey(besom_guard *g);

/*
 * Does what puts do besides: adapts to false positives that readers found, starts a migration that
 * is due, and migrates at most max_items >= 1 entries (a longer list of one bucket whole), some
 * thousand per transaction. step_ns does not limit it. *finished (may be NULL): no migration runs
 * any more.
 */
BESOM_API besom_status besom_guard_step(besom_guard *g, uint64_t max_items, bool *finished);

/*
 * Puts all records of `from`, and the adaptations of both, into `into`, in one transaction that is
 * held in memory. If a key is in both, the record of `into` stays. `from` does not change. The
 * filters must have the same kind, geometry, hash and seed. Errors, with nothing changed:
 * INCOMPATIBLE (also: another layout), FULL, RESERVE_FULL (the reserve of `into` cannot hold the
 * adaptations of both), NEEDS_STORE (taf: those of both do not fit into a block), BUSY (a batch is
 * open or a migration runs), UNSUPPORTED (the kind; `into` has no transactions; one of them has a
 * no list). After INCOMPATIBLE, FULL, RESERVE_FULL and NEEDS_STORE, scan `from` and put each key
 * that `into` lacks: `into` then grows and rekeys as for any put. The adaptations of `from` are
 * lost. To rekey one of them first does not help: its seed is another one then.
 */
BESOM_API besom_status besom_guard_merge(besom_guard *into, besom_guard *from);

/*
 * A guard over a store that was opened for reading only (besom_lmdb_options.read_only) is read-
 * only. Another process may change the store meanwhile. All changes are READ_ONLY. Answers are
 * exact: each get compares the store's commit number with the one that its filter belongs to, and
 * reads the store without asking the filter if they differ. get is BUSY if the store changed during
 * a thousand attempts to read it. scan shows a snapshot. no_has is UNSUPPORTED.
 *
 * refresh brings the filter up to date, from the checkpoint or by a scan of the store. Meanwhile
 * gets of other threads go on. It costs next to nothing if nothing has changed. With config.threads
 * it also adapts to the false positives that readers found. Only one thread at a time may call it.
 * Errors: BUSY (the store was changed during the scan, several times: the filter stays out of date,
 * answers are exact), those of open. For any other guard it does nothing.
 */
BESOM_API besom_status besom_guard_refresh(besom_guard *g);

/* -------------------------------------------------------------- statistics */

/* Since the guard was opened. Failed and aborted puts and deletes are not counted. */
typedef struct besom_guard_statistics {
  uint64_t queries;          /* calls of get */
  uint64_t filter_negatives; /* queries that the filter answered no */
  uint64_t store_reads;      /* reads of the store for queries */
  uint64_t true_positives, false_positives;
  uint64_t repeated_false_positives; /* for keys that the guard remembers: a lower bound */
  uint64_t adapted;                  /* fingerprints extended */
  uint64_t adapt_full;               /* fingerprints not extended: the reserve was full */
  uint64_t puts, replaced, deletes;  /* new keys; replaced values; removed keys */
  uint64_t put_reads, delete_reads;  /* reads of the store for puts and deletes */
  uint64_t moved;                    /* records that followed their fingerprints (cuckoo kinds) */
  uint64_t filter_reads;             /* reads of the store for keys that the filter needed */
  uint64_t queued, queue_drops;      /* false positives that readers left to writers; dropped */
  uint64_t rekeys, growths;          /* migrations started */
  uint64_t steps, step_items;        /* migration steps; entries migrated */
  uint64_t largest_step;             /* most entries migrated by one step */
  uint64_t failed_steps; /* of those done by puts, deletes, batches and the background thread */
  uint64_t rebuilt;      /* 1: open rebuilt the filter by a scan; 0: it loaded it, or made it */

  uint64_t keys;         /* now in the database */
  uint64_t filter_bytes; /* memory of the filter; of both during a migration */
  uint64_t store_bytes;  /* 0 if the store does not tell */
  bool migrating;        /* a migration runs */
  double reserve_used;   /* 0 to 1 */
  double observed_fpr;   /* false positives per negative query: since open */
  double window_fpr;     /* in the last complete window of 4096 negative queries */
  double current_fpr;    /* in the window since */
  uint64_t no_keys;      /* now on the no list */

  uint64_t growths_refused, rekeys_refused; /* not started because of max_filter_bytes */
  uint64_t full_puts;                       /* puts that were FULL */
  uint64_t unwritten;     /* changes and migrated entries that wait to be written: a batch, SYNC */
  bool migration_pending; /* a migration runs or is due. Without puts, deletes or steps it waits */
  uint64_t bypassed;   /* read-only: queries that did not ask the filter, which was out of date */
  uint64_t exceptions; /* false positives that no writer has handled, in memory: not repeated */
  uint64_t exceptions_forgotten; /* those that were dropped for newer ones */
} besom_guard_statistics;

BESOM_API besom_status besom_guard_stats_sized(const besom_guard *g, besom_guard_statistics *stats,
                                               size_t size);
static inline besom_status besom_guard_stats(const besom_guard *g, besom_guard_statistics *stats) {
  return besom_guard_stats_sized(g, stats, sizeof *stats);
}

/*
 * What an operator must know, judged from the statistics. *sentence (may be NULL): a static
 * sentence, also if all is well. docs/operations.md has the rules. Errors: INVALID, LOCKED.
 */
typedef enum besom_health {
  BESOM_HEALTH_OK = 0,
  BESOM_HEALTH_WARNING = 1,  /* answers are exact, but cost more reads than they should */
  BESOM_HEALTH_CRITICAL = 2, /* puts are refused, or changes wait to be written */
} besom_health;
BESOM_API besom_status besom_guard_health(const besom_guard *g, besom_health *health,
                                          const char **sentence);

/* A key that was a false positive: at most count times, at least count - error times. */
#define BESOM_OFFENDERS 16
#define BESOM_OFFENDER_BYTES 32
typedef struct besom_offender {
  uint64_t count, error;
  uint32_t len;                      /* of the key */
  uint8_t key[BESOM_OFFENDER_BYTES]; /* its first bytes */
} besom_offender;

/*
 * Up to cap offenders, but no more than BESOM_OFFENDERS, ordered by count - error; *n is their
 * number. A key that may have been one only once is listed only if its count is exact (error 0).
 */
BESOM_API besom_status besom_guard_offenders_sized(const besom_guard *g, besom_offender *out,
                                                   size_t stride, size_t cap, size_t *n);
static inline besom_status besom_guard_offenders(const besom_guard *g, besom_offender *out,
                                                 size_t cap, size_t *n) {
  return besom_guard_offenders_sized(g, out, sizeof *out, cap, n);
}

/*
 * The guard's filter, for besom_stats, besom_hash and besom_contains. NULL for NULL. During a
 * migration some keys are in the next filter already. Valid until the next call of any thread that
 * may change the guard; do not use it with config.background.
 */
BESOM_API const besom_filter *besom_guard_filter(const besom_guard *g);

#ifdef __cplusplus
}
#endif

#endif
