/*
 * besom_store.h - what stands behind a filter: the stored keys, and how to plug a database of your own in.
 *
 * A filter in front of a store answers with matches: (bucket, rank), see besom_match. So a store is a map from
 * 64-bit buckets to short lists of records, and rank i is the i-th record of its bucket's list. A record is a
 * key with its value, both byte strings, the empty ones too. That is all: a store knows nothing of filters
 * and never compares keys.
 *
 *     besom_store *store;
 *     if (besom_store_memory(NULL, &store) != BESOM_OK) ...
 *     besom_guard_config config = {.filter = {.kind = "aqf", .capacity = 1000000, .rate = 0.001}};
 *     besom_guard *guard;
 *     if (besom_guard_open(&config, store, &guard) != BESOM_OK) ...       // see besom.h; the guard has the store now
 *
 * Your own store is a struct that begins with a besom_store, and a table of operations:
 *
 *     struct my_store { besom_store head; my_database *db; };
 *     static const besom_store_ops my_ops = {.append = my_append, .get = my_get, ...};
 *
 * In a database of ordered keys a record's key is (bucket, rank), big-endian, 12 bytes: a list lies together, append
 * is a blind write, and a scan is a scan. Lists are short: at load 0.9 one bucket in 500 of an 8-bit filter has
 * more than one record. So what takes a walk along a list, as remove does, costs next to nothing.
 *
 * Failure. An operation that returns anything but BESOM_OK has changed nothing. The guard relies on it.
 *
 * Threads. One call at a time on one store; two stores are independent.
 */
#ifndef BESOM_STORE_H
#define BESOM_STORE_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A key and what is kept with it. */
typedef struct besom_record {
  besom_bytes key, value;
} besom_record;

/*
 * Is shown one record after the other. The record is borrowed until it returns, and it must not call the store.
 * BESOM_OK asks for the next one, BESOM_END for no more; the walk is BESOM_OK then. Any other status ends the
 * walk, too, and is what it returns.
 */
typedef besom_status (*besom_store_visit)(void *ctx, besom_match at, const besom_record *record);

/* Exact numbers of calls since the store was opened (of changes, those that succeeded), and what is in it now. */
typedef struct besom_store_statistics {
  uint64_t appends, reads, updates, removes, scans; /* calls of append, get, replace, remove, scan */
  uint64_t records, buckets;                        /* buckets that have a record */
  uint64_t bytes;                                   /* all that the store has taken, in memory or on disk */
} besom_store_statistics;

/*
 * The operations of a store. Later versions add members at the end: fill the struct by names, and what is not
 * named is NULL, which means "not offered". All of these are required but stats.
 *
 * append   adds a record at the end of the list of at.bucket. at.rank is the length of that list: the filter knows
 *          it, so that a store need not read before it writes. A store that sees otherwise says INVALID.
 * get      shows the records of a bucket in the order of their ranks; none, if it has none.
 * replace  puts a record in the place of another. Errors: NOT_FOUND.
 * remove   takes a record out; those behind it in its list move up by one rank. Errors: NOT_FOUND.
 * scan     shows all records of the buckets from `from` on, in the order of bucket and rank.
 * stats    fills the struct, with 0 for what the store does not know.
 * close    frees the store. What it has durably kept stays.
 *
 * Errors of all: IO, NO_MEMORY, READ_ONLY, FULL (the store's limit), INVALID (a key or value that is too long for it).
 */
typedef struct besom_store_ops {
  besom_status (*append)(besom_store *store, besom_match at, const besom_record *record);
  besom_status (*get)(besom_store *store, uint64_t bucket, besom_store_visit visit, void *ctx);
  besom_status (*replace)(besom_store *store, besom_match at, const besom_record *record);
  besom_status (*remove)(besom_store *store, besom_match at);
  besom_status (*scan)(besom_store *store, uint64_t from, besom_store_visit visit, void *ctx);
  besom_status (*stats)(const besom_store *store, besom_store_statistics *stats);
  void (*close)(besom_store *store);
} besom_store_ops;

/* What every store begins with. */
struct besom_store {
  const besom_store_ops *ops;
};

/* Closes a store that no guard has taken over; NULL is fine. */
static inline void besom_store_close(besom_store *store) {
  if (store) store->ops->close(store);
}

/* Errors: INVALID (a NULL), UNSUPPORTED (a store that does not count). */
static inline besom_status besom_store_stats(const besom_store *store, besom_store_statistics *stats) {
  if (!store || !stats) return BESOM_INVALID;
  return store->ops->stats ? store->ops->stats(store, stats) : BESOM_UNSUPPORTED;
}

/*
 * A store in memory, gone when it is closed: for tests and experiments, and for sets that fit. Keys and values of
 * less than 4 GiB. Beside the bytes of a record it takes some 16 for the record and 21 to 43 for its
 * bucket; room that was freed is used again, but given back only by close. scan sorts the buckets
 * first, in 16 bytes of memory a bucket. allocator: NULL for the default; copied. Errors: INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_store_memory(const besom_allocator *allocator, besom_store **out);

#ifdef __cplusplus
}
#endif

#endif
