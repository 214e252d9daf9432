/*
 * A filter beside a database of the application: besom_sidecar.h.
 *
 *   sidecar_open.c    opening, closing, reading all keys
 *   sidecar_query.c   queries, reports, statistics
 *   sidecar_change.c  transactions, inserts, removes
 *   sidecar_log.c     records of the log: writing, replaying, trimming
 *   sidecar_file.c    the checkpoint: the saved filter with a trailer
 *
 * The invariant is: every key that is committed, or that the open transaction may commit, matches a
 * fingerprint of the filter in memory; and the filter that open makes from the checkpoint and the
 * log of any committed state has the keys of that state. So
 * - an insert is in memory and in the transaction's record before the commit;
 * - a remove changes the memory after the commit, and a checkpoint has its effect if, and only if,
 *   the log's position that it names has it, too. A remove that is replayed twice could take the
 *   fingerprint of another key;
 * - an exception is made only for a key that was not inserted since the state that was read.
 * A filter of a static kind cannot follow. Once it lacks a key it is stale: it is not asked, gets
 * no exceptions and is not saved, and open reads all keys instead of continuing it.
 *
 * Keys of older states may have been removed, or denied by an exception, since. If states have
 * numbers, the filter is asked only for those from oldest_snapshot to stamp.
 */
#ifndef BESOM_SIDECAR_SIDECAR_H
#define BESOM_SIDECAR_SIDECAR_H

#include <pthread.h>
#include <stdatomic.h>

#include "besom_sidecar.h"
#include "core/byte_io.h"
#include "core/system/memory.h"
#include "core/system/process.h"

#define SIDECAR_ID_BYTES 16
#define RECENT_INSERTS 4096 /* a power of two */
#define UNKNOWN_COUNT UINT64_MAX
#define SIDECAR_TEXT_BYTES 128

struct digest_vector {
  besom_digest *at;
  size_t n, cap;
};

struct besom_sidecar {
  besom_allocator allocator;
  besom_filter *filter;
  besom_config filter_config; /* its texts are those below */
  char kind[SIDECAR_TEXT_BYTES], options[SIDECAR_TEXT_BYTES], hash[SIDECAR_TEXT_BYTES];
  besom_source keys;
  besom_progress progress;
  besom_sidecar_log log;
  bool has_log, threads, keep_removed;
  bool is_static; /* the kind cannot insert; keep_removed is set, too */
  uint64_t checkpoint_items;

  /* With threads: readers share it, changes of the filter have it exclusively. */
  pthread_rwlock_t lock;
  /* The filter is being saved: reports, the only changes by other threads, are refused. */
  _Atomic bool saving;

  char *path;
  size_t path_size;
  int lock_file;
  struct process process;
  bool displaced; /* another sidecar writes to the log or the file: the filter may lack keys */
  bool unlocked;  /* the lock file was missing when it was looked at last: as displaced, for now */
  bool stale;     /* of a static kind: the filter lacks a key that was told of */
  bool was_stale; /* before the transaction */
  const char *problem;
  uint8_t database_id[SIDECAR_ID_BYTES]; /* zeros: none */
  uint64_t key_count;                    /* committed keys, or UNKNOWN_COUNT */
  uint64_t expected_count;               /* at open, or UNKNOWN_COUNT */
  bool in_use;  /* without a log: the file says that its filter is not valid */
  bool changed; /* since the checkpoint */

  /* The transaction. After UNKNOWN, its inserts stay for the next record. */
  bool is_open;
  bool is_unknown; /* one ended as UNKNOWN, and none was committed since; with a log: no record */
  pthread_t writer;
  struct digest_vector inserts, removes;
  size_t carried; /* of the inserts: from transactions that ended as UNKNOWN */
  size_t logged_inserts, logged_removes; /* by log_to of this transaction */
  bool wrote_record;
  bool has_removed;    /* keys, since the last commit; also if they are not in removes */
  uint64_t trimmed_to; /* by log_to of this transaction */

  /* The log: where the committed records end, and what the checkpoint covers. */
  uint8_t id[SIDECAR_ID_BYTES];
  uint64_t session;          /* random; another one after each unknown outcome */
  uint64_t first_session;    /* of this sidecar */
  uint64_t position;         /* of the last committed record; record 0 has the id */
  uint64_t position_session; /* the session that wrote it */
  uint64_t oldest;           /* first record that is not trimmed, at least 1 */
  uint64_t checkpoint;       /* position of the checkpoint */
  uint64_t checkpoint_due;   /* stats.logged that makes end save one */
  uint64_t stamp, logged_stamp;
  uint64_t oldest_snapshot; /* with log.number: no key was removed since this stamp */
  uint64_t record_stamp;    /* of the record that was written last, perhaps not committed */
  uint8_t *record;          /* buffer */
  size_t record_size;

  /* The last inserts. Insert number i, from 0, is in recent[i % RECENT_INSERTS]. */
  besom_digest recent[RECENT_INSERTS];
  uint64_t inserted, committed; /* numbers of inserts and rebuilds: told, known to be committed */
  uint64_t recent_from;         /* of the present filter and seed */

  besom_sidecar_statistics stats; /* events only */
};

/* ------------------------------------------------------------------ locks and lists */

static inline void sidecar_lock_shared(const besom_sidecar *s) {
  if (s->threads) pthread_rwlock_rdlock((pthread_rwlock_t *)&s->lock);
}

static inline void sidecar_lock(besom_sidecar *s) {
  if (s->threads) pthread_rwlock_wrlock(&s->lock);
}

static inline void sidecar_unlock(const besom_sidecar *s) {
  if (s->threads) pthread_rwlock_unlock((pthread_rwlock_t *)&s->lock);
}

/* Makes room for one more. Errors: NO_MEMORY. */
besom_status besom__digest_vector_reserve(struct digest_vector *v, const besom_allocator *a);
void besom__digest_vector_free(struct digest_vector *v, const besom_allocator *a);

/* In a child of fork other threads of the parent may have the lock, and nobody tells of keys that
   the parent adds: there every query is answered yes, before the lock is taken. */
static inline bool sidecar_is_foreign(const besom_sidecar *s) {
  return UNLIKELY(!is_own_process(&s->process));
}

/* Every query is answered yes. */
static inline bool sidecar_answers_yes(const besom_sidecar *s) {
  return s->displaced || s->unlocked || s->stale;
}

/* The filter may deny keys that were removed before the present stamp. */
static inline void sidecar_leave_snapshots(besom_sidecar *s) {
  if (s->log.number) s->oldest_snapshot = s->stamp;
}

/* ------------------------------------------------------------------ sidecar_open.c */

/* Makes a filter of all keys, with a random seed. *count: their number, if the filter tells it. */
besom_status besom__sidecar_build(besom_sidecar *s, besom_filter **out, uint64_t *count);

/* OK if the lock file is the one that this sidecar has locked. Errors: LOCKED. */
besom_status besom__sidecar_check_lock(besom_sidecar *s);

/* LOCKED, with a sentence. displaced: the filter must not be asked any more. */
besom_status besom__sidecar_refuse(besom_sidecar *s, bool displaced, const char *sentence);

/* ------------------------------------------------------------------ sidecar_change.c */

/* Inserts into the filter, which grows if it is full. With keep_removed only if it says no. FULL: a
   static one lacks the key. */
besom_status besom__sidecar_add(besom_sidecar *s, besom_filter *f, besom_digest digest);

/*
 * Drops removes of one digest, beyond one and one per insert, that the transaction has: a key that
 * was deleted twice was there once. Sorts the removes.
 */
void besom__sidecar_prune_removes(besom_sidecar *s);

/* Removes the digest, or counts it as kept. */
void besom__sidecar_take_out(besom_sidecar *s, besom_filter *f, besom_digest digest);

/* Changes the number of keys. */
void besom__sidecar_count(besom_sidecar *s, uint64_t inserts, uint64_t removes);

/* ------------------------------------------------------------------ sidecar_log.c */

/* Reads the log's id, or writes s->id, which is random, if the log is empty. Makes this sidecar's
   file the owner of the log; *wrote: in a transaction. Errors: CORRUPT, NEWER_VERSION, LOCKED (the
   owner is open). */
besom_status besom__sidecar_identify(besom_sidecar *s, bool *wrote);

/*
 * Replays the records after s->position, which is that of a checkpoint, into its filter f. If the
 * log does not continue it, *continues is false, and f is undefined. Errors: of the log, NO_MEMORY.
 */
besom_status besom__sidecar_replay(besom_sidecar *s, besom_filter *f, bool *continues);

/* Replaces all records by an empty one of this session, after all keys were read. */
besom_status besom__sidecar_restart_log(besom_sidecar *s);

/* ------------------------------------------------------------------ sidecar_query.c */

/* Also the writer needs the lock for them: other threads report meanwhile. */
besom_status besom__sidecar_filter_stats(const besom_sidecar *s, besom_statistics *stats);

/* ------------------------------------------------------------------ sidecar_file.c */

/* What is saved with a filter. */
struct saved_numbers {
  uint64_t kept, stamp, count;
};

/* Saves a filter as the checkpoint of the present position; NULL: that the filter is stale. */
besom_status besom__sidecar_save(besom_sidecar *s, const besom_filter *f, struct saved_numbers n);

/* The same of the present filter. */
static inline besom_status sidecar_save_present(besom_sidecar *s) {
  return besom__sidecar_save(s, s->stale ? NULL : s->filter,
                             (struct saved_numbers){s->stats.kept, s->stamp, s->key_count});
}

/* Without a log: marks the file as in use before the first change. */
besom_status besom__sidecar_mark_in_use(besom_sidecar *s);

/* Loads the checkpoint with its position, session, stamp, kept and count. Else *origin says why
   not. Errors: NO_MEMORY. */
besom_status besom__sidecar_load(besom_sidecar *s, besom_filter **out,
                                 besom_sidecar_origin *origin);

#endif
