/* The state of a guard: constants, and the struct with its parts. guard.h explains it. */
#ifndef BESOM_GUARD_STATE_H
#define BESOM_GUARD_STATE_H

#include "besom_store.h"
#include "core/system/memory.h"
#include "core/system/process.h"
#include "guard/threads/background.h"
#include "guard/threads/lock.h"
#include "kind.h"

enum {
  FEW_MATCHES = 8,     /* matches that need no allocation; more are rare even in tiny filters */
  RECENT_BITS = 12,    /* 2^12 recent false positives are remembered */
  ID_BYTES = 16,       /* of a store id and of an open id */
  OPTIONS_BYTES = 128, /* of config.options, including the final 0 */
  QUEUE_LENGTH = 1024, /* false positives that wait for a writer */
  OFFENDERS = 128,     /* keys with a counter of their own */
  WINDOW = 4096,       /* negative queries per window of the false-positive rate */
  GROUP_COMMIT_CHANGES = 4096, /* changes and migrated records that are committed together */
  /* Records that one commit of besom_guard_step moves. They go to pages all over the database, and
     a page is written once per commit: four times as many records make half as many bytes. */
  STEP_COMMIT_RECORDS = 16384,
  DEFAULT_STEP = 64,
  DEFAULT_STEP_NS = 1000000,
  DEFAULT_BUSY_TIMEOUT = 5000, /* milliseconds */
};

#define ALL_MIGRATED UINT64_MAX /* a frontier above all buckets */
#define NO_TIME_LIMIT UINT64_MAX

/* The bit of an epoch that makes it the epoch of the no lists. */
#define NO_LISTS (UINT32_C(1) << 31)

/* Whether a store offers an operation that its version may not have. */
#define HAS_OP(ops, member) \
  ((ops)->size >= offsetof(besom_store_ops, member) + sizeof(ops)->member && (ops)->member)

/* An epoch of the store, and the filter over its records. */
struct epoch {
  besom_filter *filter; /* NULL: there is no such epoch */
  uint32_t number;
};

/*
 * The state of a guard's transaction.
 * NONE    no transaction is open
 * SINGLE  one change
 * GROUP   changes that wait for the next group commit (BESOM_DURABLE_SYNC)
 * BATCH   the caller's batch
 * FAILED  a batch that was rolled back; the caller has not ended it yet
 */
enum transaction { TX_NONE, TX_SINGLE, TX_GROUP, TX_BATCH, TX_FAILED };

/* An entry of the undo log: a bucket of a filter that the transaction has changed. */
struct undo_entry {
  besom_match at;
  bool next;   /* the filter is that of the next epoch */
  bool refill; /* a fingerprint was removed or moved: undo by refilling the bucket from the store.
                  Otherwise one was appended: undo by removing it */
};

/* The undo log of a transaction (undo_log.c). */
struct undo_log {
  struct undo_entry *entries;
  size_t n, room;
  size_t from; /* filter_stale: entries from here on are to be undone */
};

/* What it takes to create a filter again and fill it from the store. */
struct filter_params {
  enum hash_id hash;
  uint8_t seed[SEED_BYTES];
  uint64_t slots;
  uint32_t width, epoch;
};

/* A state that a rollback returns to: the start of a transaction, or before its last change. */
struct savepoint {
  uint64_t puts, replaced, deletes, frontier, rekeys, growths, no_keys;
  size_t undo_n;
  bool migrating, rekey_wanted;
};

/* Who wants a change: the caller, or the guard for itself. AT_ONCE: the guard, and it must know
   whether the change is committed, so that it does not become part of a group. */
enum work { OF_CALLER, OF_GUARD, AT_ONCE };

struct false_positive {
  besom_digest digest;
  uint32_t epoch; /* of the filter that answered yes; the digest is by the hash of that filter */
  uint32_t len;   /* of the key; the array has its first bytes */
  uint8_t key[BESOM_OFFENDER_BYTES];
};

/* False positives that wait for a writer: a ring (adapt.c). */
struct false_positive_queue {
  struct false_positive at[QUEUE_LENGTH];
  size_t first, n;
};

/* Negative queries; each WINDOW of them is a window (lookup.c). */
struct negative_rates {
  uint64_t absent;
  uint64_t window_false, last_false; /* false positives of the current, of the last full window */
};

struct offender {
  uint64_t id; /* a hash of the key that does not change when the filter is rekeyed */
  besom_offender api;
};

/* Writers that wait for one commit (shared_commit.c). */
struct waiting_writer {
  struct waiting_writer *next;
  besom_status status;
  bool done;
};

struct shared_commit {
  struct waiting_writer *first;
  unsigned members, expected;
  uint64_t delay; /* nanoseconds that the first member waits for others */
};

/* What statistics tell of filters and store (stats.c). */
struct observed {
  uint64_t keys, filter_bytes, store_bytes;
  double reserve_used, expected_fpr;
  bool migrating, migration_pending;
  bool has_front; /* it is asked, and the next one can be made when it is used up */
};

/* The fronts of a guard (front.c). All are atomic. */
struct fronts {
  struct front *asked;            /* or NULL */
  struct front *making, *used_up; /* in the making; to be freed */
  bool refused;                   /* there is no memory for one */
};

/* Who wrote what a guard reads (manifest.c, checkpoint.c). */
struct guard_ids {
  uint8_t store[ID_BYTES];
  uint8_t open[ID_BYTES]; /* of the last open that changed something: as the store has it */
  uint8_t own[ID_BYTES];  /* of this open, until its first transaction is committed */
  bool open_is_own;       /* own was committed */
};

/* Read-only guards: another process may change the store (read_only.c). If filled, the filters have
   the keys of the store at that commit number. Otherwise they only tell the buckets of keys. */
struct seen_state {
  bool filled;
  uint64_t commit;
  uint64_t manifest; /* checksum of the manifest that the filters are by; 0: there was none */
};

/* The committed state of keys that the open transaction has changed (before_images.c): a hash
   table with chains. */
struct images {
  struct image **slots;
  size_t room, n;
  bool of_batch; /* its thread reads past the images */
  bool valid;    /* atomic. False: the transaction has ended, nobody needs them */
};

struct besom_guard {
  /* Without threads: the filter that a get may ask without looking at anything else, or NULL.
     unlock sets it, lock_write clears it (guard.h). */
  const besom_filter *plain;
  struct process process;
  /* next.filter is not NULL during a migration: buckets below the frontier have migrated to it. */
  struct epoch current, next;
  uint64_t frontier;
  struct read_ahead *ahead; /* lists that migrate next (read_ahead.c); or NULL */
  besom_store *store;
  besom_allocator allocator;
  besom_adapt_policy adapt;
  besom_layout layout;
  besom_durability durability;
  bool transactional; /* the store has all operations from begin on */
  bool savepoints;    /* and savepoints */
  bool lock_may_end;  /* the store's lock can end while it is open */

  double grow_at, rekey_at;
  uint64_t step_items, step_ns;
  uint64_t max_filter_bytes; /* 0: no limit */
  uint64_t grow_items;       /* the filter grows when it has more keys than this */
  bool rekey_wanted;         /* the reserve is used up, or nearly */
  uint64_t no_keys;          /* keys on the no list */

  besom_config filter_config; /* of all filters of this guard, without hash and seed and, for kinds
                                 with bucket_of, without geometry */
  char options[OPTIONS_BYTES];
  struct guard_ids ids;

  enum transaction tx;
  bool nested;                       /* the change that runs is within a longer transaction */
  struct savepoint start, savepoint; /* of the transaction; before the last change in it */
  struct undo_log undo;
  uint64_t tx_changes; /* changes and migrated records of the transaction */
  uint64_t tx_moved;   /* migrated records of the transaction */
  bool step_joined;    /* since the savepoint there was nothing but a migration step */
  /* Not OK: half a change cannot be undone, so the transaction must be rolled back. In TX_FAILED:
     why it was. */
  besom_status tx_error;
  besom_status group_error; /* not OK: why the group could not be written; it stays open */
  bool filter_stale;        /* the rollback did not finish: the filter must be resynced */
  bool nondurable;          /* the last commit may be lost in a power cut */
  /* The transaction has ended a migration and freed a filter; the filters before it were these. */
  bool filter_replaced;
  struct filter_params old_current, old_next;
  besom_filter *unmerged; /* the filter before a merge that is not committed; or NULL */

  const char *why;    /* open failed: a sentence, or NULL */
  uint32_t iterators; /* open iterators */
  /* Atomic. No committed record is in an earlier epoch. A batch may have ended a migration that is
     not committed. */
  uint32_t first_epoch;
  bool read_only;
  struct seen_state seen; /* read_only */

  struct locks *locks;           /* NULL without config.threads */
  struct background *background; /* NULL without config.background */
  uint64_t busy_timeout;         /* nanoseconds */
  unsigned batch_waiters;        /* writers that wait for the end of a batch */
  uint64_t store_bytes;          /* when stats last asked the store */
  struct observed observed;      /* last, with the queue locked */
  uint64_t commit_ns;            /* time of the background thread's last commit */
  bool hides_uncommitted;        /* readers see only committed changes */
  struct shared_commit shared;
  struct images images;
  void *spare_value;       /* a block for the next copy of a value; or NULL */
  struct denials *denials; /* atomic; NULL until the first one (denials.c) */
  struct fronts fronts;
  struct false_positive_queue queue;

  struct offender offenders[OFFENDERS];
  uint64_t recent[1 << RECENT_BITS]; /* digests of recent false positives */
  struct negative_rates rates;
  besom_guard_statistics stats; /* queries: only those that the filter did not answer no */
};

#endif
