/*
 * A guard: a filter and the store behind it. What every part of it sees.
 *
 * lookup.c, adapt.c   ask the filter, read the store, compare, adapt
 * change.c            put and delete; transaction.c: how a change is kept or taken back
 * move.c              growth and new hash keys: from one filter to the next, in steps
 * open.c, note.c, checkpoint.c, recover.c   from a store to a guard, and back
 * reverse.c           how the filter sees the stored keys; scan.c, merge.c, stats.c, loan.c
 *
 * The rule for all: filter and store are changed together, so that for every bucket the filter's fingerprints and the
 * store's list agree rank by rank whenever somebody may look. The one exception is a delete that is being committed:
 * the list is one shorter already. So who looks compares all records of a list, not the matched ranks alone.
 */
#ifndef BESOM_GUARD_GUARD_H
#define BESOM_GUARD_GUARD_H

#include <string.h>

#include "besom_store.h"
#include "core/memory.h"
#include "filter.h"
#include "guard/lock.h"

enum {
  FEW_MATCHES = 8,      /* so many need no allocation; more are rare even in the smallest filters */
  MEMORY_BITS = 12,     /* false positives that are remembered: 2^12 at most */
  ID_BYTES = 16,        /* of a store, of an opening of it */
  OPTIONS_BYTES = 128,  /* of config.options, with the 0 */
  QUEUE_LENGTH = 1024,  /* false positives that wait for the writer */
  OFFENDERS = 16,       /* that are counted */
  WINDOW = 4096,        /* queries for absent keys that a rate is told of */
  MOST_GATHERED = 4096, /* changes that are written at once, when it is left to the guard */
  DEFAULT_STEP = 64,
};

/* A key, also as the integer that it is, if it was given as one. */
struct key {
  besom_bytes bytes;
  const uint64_t *integer; /* or NULL */
};

/* A filter, and the epoch in which the store has the keys of it. */
struct side {
  besom_filter *filter; /* NULL: there is none */
  uint32_t epoch;
};

/*
 * How far a guard is with its transaction: none; one change; changes that are gathered; a batch of the caller's; one
 * that had to be taken back, of which the caller is still to be told.
 */
enum transaction { TX_NONE, TX_SINGLE, TX_GATHER, TX_BATCH, TX_DEAD };

/* A bucket that a transaction has touched in the filter. */
struct touched {
  besom_match at;
  bool next; /* of the filter that keys move to */
  bool all;  /* not only appended to: all of the bucket is to be made anew from the store */
};

/* All it takes to make a filter anew from the store. */
struct origin {
  enum hash_id hash;
  uint8_t seed[SEED_BYTES];
  uint64_t slots;
  uint32_t width, epoch;
};

/* What a transaction that is taken back returns to. */
struct before {
  uint64_t puts, replaced, deletes, frontier, rekeys, growths;
  bool moving;
};

/* A false positive. */
struct offence {
  besom_digest digest;
  uint32_t epoch; /* of the filter that was wrong, whose hash the digest is by */
  uint32_t len;   /* of the key, of which this is the beginning */
  uint8_t key[BESOM_OFFENDER_BYTES];
};

struct offender {
  uint64_t name; /* a hash of the key that no new hash key changes */
  besom_offender told;
};

struct besom_guard {
  struct side now,
      next; /* next: while keys move to another filter; those of buckets below the frontier are there */
  uint64_t frontier;
  struct load *ahead; /* lists that will move next (move.c); or NULL */
  besom_store *store;
  besom_allocator allocator;
  besom_adapt_policy adapt;
  besom_layout layout;
  besom_durability durability;
  bool transactional; /* the store has all operations from begin on */

  double grow_at, rekey_at;
  uint64_t step_items;
  uint64_t grow_items; /* with more keys the filter is to grow */
  bool rekey_wanted;   /* the room for adapting is used up */

  besom_config
      shape; /* of all its filters, but for hash, seed and (kinds with bucket_of) geometry */
  char options[OPTIONS_BYTES];
  uint8_t store_id[ID_BYTES], open_id[ID_BYTES];
  bool announced; /* the store has the open_id */

  enum transaction tx;
  struct before before;
  struct touched *log; /* what the transaction has touched */
  size_t log_n, log_room;
  uint64_t gathered;
  besom_status
      doomed; /* not OK: half a change is made that cannot be undone; or, of a dead batch, why it died */
  bool unsettled; /* the filter is to be brought in line with the store by the log */
  besom_status
      untold;    /* not OK: why gathered changes were taken back, of which sync has not told yet */
  bool loose;    /* what was committed last may be lost with the power */
  bool replaced; /* the transaction has let a filter go; those before it were made by these: */
  struct origin now_before, next_before;

  struct locks *locks;                /* only with threads; else NULL */
  struct offence queue[QUEUE_LENGTH]; /* a ring */
  size_t queue_first, queue_n;

  struct offender offenders[OFFENDERS];
  uint64_t offences[1 << MEMORY_BITS];
  uint64_t window_queries, window_false; /* of the window that is not full yet */
  uint64_t last_false;                   /* of the last full one, */
  uint64_t windows;                      /* if there was one */
  besom_guard_statistics stats;
};

/* ------------------------------------------------------------------ small things */

static inline besom_place place_of(uint32_t epoch, besom_match at) {
  return (besom_place){.epoch = epoch, .rank = at.rank, .bucket = at.bucket};
}

static inline bool bytes_equal(besom_bytes a, besom_bytes b) {
  return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool is_key(const besom_guard *g, const void *key, size_t len) {
  return g && (key || !len) && len <= BESOM_GUARD_MAX_KEY;
}

static inline besom_digest key_digest(const besom_filter *f, const struct key *key) {
  return key->integer ? besom_hash_u64(f, *key->integer)
                      : besom_hash(f, key->bytes.data, key->bytes.len);
}

/* A counter that readers count, too. */
static inline uint64_t count(const besom_guard *g, uint64_t *counter, uint64_t n) {
  if (g->locks) return __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
  return *counter += n;
}

/* Whose records lie elsewhere now and then (besom_reverse.exchange): kinds that cannot tell a key's bucket. */
static inline bool moves_records(const besom_guard *g) {
  return g->now.filter->kind->readmit_at && !g->now.filter->kind->bucket_of;
}

static inline bool in_batch(const besom_guard *g) {
  return g->tx == TX_BATCH || g->tx == TX_DEAD;
}

/* Readers hold it while they look, the writer while it changes what they look at. */
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

/* ------------------------------------------------------------------ loan.c */

/* Copies a value for the caller to keep: a store's own bytes are gone with its next call. */
besom_status besom__guard_lend(const besom_guard *g, besom_bytes from, besom_bytes *out);

/* ------------------------------------------------------------------ lookup.c */

/* A key on its way: the filter's matches, then, after one read of their bucket, what stands behind them. */
struct lookup {
  besom_guard *guard;
  const struct key *key;
  const struct side *side; /* where the key is, if it is there */
  besom_digest digest;
  besom_bytes *value; /* where to lend the key's value; NULL if it is not wanted */

  besom_match *matches; /* all n of them, in order; those before next are judged */
  size_t n, next, end;  /* end: of those in the bucket that is being read */
  size_t refuted;       /* so many of the first matches are of other keys, */
  besom_digest *stored; /* with these digests */
  bool found;
  besom_match found_at;

  besom_match few_matches[FEW_MATCHES];
  besom_digest few_stored[FEW_MATCHES];
};

/* The filter that a key belongs to, and the key's digest there. */
const struct side *besom__guard_side(const besom_guard *g, const struct key *key,
                                     besom_digest *digest);

/* Asks the filter. After OK the lookup is to be ended. The second: for a key of which only the digest is known. */
besom_status besom__lookup_begin(struct lookup *l, besom_guard *g, const struct key *key);
besom_status besom__lookup_digest(struct lookup *l, besom_guard *g, const struct side *side,
                                  besom_digest digest);
void besom__lookup_end(struct lookup *l);

/* Reads the list of each match, once, and counts these reads. */
besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads);

/* Whether the key is there: merged by its list, split by the table of keys. Reads only if the filter said yes. */
besom_status besom__lookup_key(struct lookup *l, uint64_t *reads);

/* ------------------------------------------------------------------ adapt.c */

/* Takes a false positive into the books, and, if it is worth it, has the filter adapt to the matches that were refuted.
 */
besom_status besom__guard_adapt(struct lookup *l);

/* Leaves it to the writer. */
void besom__guard_queue(struct lookup *l);

/* The writer: adapts to what readers have left. Errors are of the store; what was left is forgotten then. */
besom_status besom__guard_apply_queue(besom_guard *g);

/* ------------------------------------------------------------------ transaction.c */

/* Before every change: brings the filter in line with the store, if it is not. */
besom_status besom__guard_settle(besom_guard *g);

/*
 * Around a change in memory of filter and store. begin takes the lock and, unless one is open, begins a transaction.
 * end is told how the change went. If well, and the transaction is this change alone, it is committed, durably if told
 * so; if not, it is taken back. A change that fails within a longer transaction must have undone itself, or set doomed:
 * then all of the transaction is taken back.
 *
 * Which are durable: changes of the caller as he has chosen. Work of the guard's own, as long as all before it is:
 * there are stores (LMDB) in which one commit that is not endangers those before it, too.
 */
besom_status besom__change_begin(besom_guard *g);
besom_status besom__change_end(besom_guard *g, besom_status status, bool durable);

static inline bool durable_change(const besom_guard *g) {
  return g->durability == BESOM_DURABLE_PUT;
}

static inline bool durable_work(const besom_guard *g) {
  return durable_change(g) || (g->durability == BESOM_DURABLE_BATCH && !g->loose);
}

/* Commits what is gathered, if anything is. */
besom_status besom__guard_flush(besom_guard *g, bool durable);

/* Ends a transaction of any kind, and has everything as it was before. */
void besom__guard_roll_back(besom_guard *g);

/* Makes room in the log, before the change, for so many entries; and writes one. Without transactions it is not needed.
 */
besom_status besom__log_reserve(besom_guard *g, size_t n);
void besom__log_add(besom_guard *g, const besom_filter *f, besom_match at, bool all);

/* Before every look: OK if filter and store agree. With threads it is for the writer to see to that. */
static inline besom_status ready_to_read(besom_guard *g) {
  if (LIKELY(!g->unsettled)) return BESOM_OK;
  return g->locks ? BESOM_IO : besom__guard_settle(g);
}

/* ------------------------------------------------------------------ move.c */

/* After a change, or a query that has read the store: begins to move if it is time, moves some if it has begun. */
void besom__guard_work(besom_guard *g);

/* When an insert was FULL: moves so much that there is room. FULL if that cannot be. */
besom_status besom__guard_make_room(besom_guard *g);

/* Moves no more than max entries. */
besom_status besom__guard_move(besom_guard *g, uint64_t max);

/* A list was changed by something else than a move; and: none of what was looked at ahead is true any more. */
void besom__guard_list_changed(besom_guard *g, const struct side *side, uint64_t bucket);
void besom__guard_forget_ahead(besom_guard *g);

/* What follows from the size of the filter that the guard has now. */
void besom__guard_sized(besom_guard *g);

/* ------------------------------------------------------------------ reverse.c */

/* Lets the filter see the stored keys. */
besom_status besom__guard_bind(besom_guard *g, besom_filter *f);

/* ------------------------------------------------------------------ open.c, recover.c, note.c, checkpoint.c */

/* A filter for this guard, empty and not bound. slots, width: 0 as in the shape. seed NULL: a random one. */
besom_status besom__guard_filter_new(besom_guard *g, const char *hash, const uint8_t *seed,
                                     uint64_t slots, uint32_t width, besom_filter **out);

/* Random bytes, never the same twice. IO. */
besom_status besom__guard_random(uint8_t *out, size_t n);

/* The filter's geometry, 0 for kinds whose shape tells all. */
void besom__guard_geometry(const besom_filter *f, uint64_t *slots, uint32_t *width);

/*
 * Fills the empty filter of a side, which is bound, from the lists of its epoch. progress may be NULL. On failure the
 * filter is to be dropped. INCOMPATIBLE, FULL, CANCELLED.
 */
besom_status besom__guard_refill(besom_guard *g, const struct side *side,
                                 const besom_progress *progress);

/* Makes the filters anew from the store. On failure they stay what they were. The second: those before the transaction.
 */
besom_status besom__guard_rebuild(besom_guard *g);
besom_status besom__guard_restore(besom_guard *g);
struct origin besom__guard_origin(const struct side *side);

/*
 * What the guard has noted in the store: fills ids, shape, and its sides with empty filters, not bound. NOT_FOUND:
 * there is no note. note_write: as part of the open transaction; moved: keys are all in the next filter, which is the
 * only one from now on.
 */
besom_status besom__guard_note_read(besom_guard *g);
besom_status besom__guard_note_write(besom_guard *g, bool moved);

/*
 * Filters saved beside the store. load: exchanges the guard's for those that were saved, if they are of this very state
 * of the store. All of it may fail without harm, but for drop, which must be done before the store is changed.
 */
bool besom__checkpoint_load(besom_guard *g);
void besom__checkpoint_save(besom_guard *g);
besom_status besom__checkpoint_drop(besom_guard *g);

#endif
