/*
 * besom_store.h - what stands behind a filter: the stored keys, and how to plug a database of your own in.
 *
 * A filter in front of a store answers with matches: (bucket, rank), see besom_match. So a store is a map from
 * 64-bit buckets to short lists of records, and rank i is the i-th record of its bucket's list. A record is a
 * key with its value, both byte strings, the empty ones too. Beside the lists a store has tables: plain maps
 * from keys to values, in the order of the keys. A store knows nothing of filters and never compares keys but to sort.
 *
 *     besom_store *store;
 *     if (besom_store_memory(NULL, &store) != BESOM_OK) ...
 *     besom_guard_config config = {.filter = {.kind = "aqf", .capacity = 1000000, .fpr = 0.001}};
 *     besom_guard *guard;
 *     if (besom_guard_open(&config, store, &guard) != BESOM_OK) ...       // see besom.h; the guard has the store now
 *
 * There are two ways to plug in your own. A database that has keys in order, reads and scans them, and writes several
 * at once or none: fill the few functions of besom_ordered_ops, and besom_store_ordered makes a store of it. Anything
 * else is a struct that begins with a besom_store, and a table of operations:
 *
 *     struct my_store { besom_store head; my_database *db; };
 *     static const besom_store_ops my_ops = {.append = my_append, .get = my_get, ...};
 *
 * Lists are short: at load 0.9 one bucket in 500 of an 8-bit filter has more than one record. So what takes a walk
 * along a list, as remove does, costs next to nothing.
 *
 * Failure. An operation that returns anything but BESOM_OK has changed nothing. The guard relies on it.
 *
 * Threads. What changes the store (append, replace, remove, begin, abort, table_put, table_remove, close) has it to
 * itself. get, scan, table_get and table_scan may run at the same time as each other, and as commit and sync, of which
 * there is one at a time. stats and commit_number may run beside reads, but not beside commit. The allocator of a store
 * that several threads read must be for several threads. Two stores are independent.
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
 * Where a record is. A guard that changes the hash of its filter moves its records from one epoch to the next, in
 * which they have other buckets; a store keeps the lists of different epochs apart.
 */
typedef struct besom_place {
  uint32_t epoch;
  uint32_t rank;
  uint64_t bucket;
} besom_place;

/*
 * Is shown one record after the other. The record is borrowed until it returns, and it must not call the store.
 * BESOM_OK asks for the next one, BESOM_END for no more; the walk is BESOM_OK then. Any other status ends the
 * walk, too, and is what it returns.
 */
typedef besom_status (*besom_store_visit)(void *ctx, besom_place at, const besom_record *record);

/* The same for the records of a table, which have no place but their key. */
typedef besom_status (*besom_table_visit)(void *ctx, const besom_record *record);

/* The tables of a store: a guard's own few notes, and the keys with their values in the split layout. */
typedef enum besom_table { BESOM_TABLE_NOTES = 0, BESOM_TABLE_KEYS = 1 } besom_table;

/* Exact numbers of calls since the store was opened (of changes, those that succeeded), and what is in it now. */
typedef struct besom_store_statistics {
  uint64_t appends, reads, updates, removes,
      scans;                 /* calls of append, get, replace, remove, scan */
  uint64_t records, buckets; /* buckets that have a record */
  uint64_t bytes;            /* all that the store has taken, in memory or on disk */
  uint64_t table_puts, table_reads,
      table_removes;       /* calls of table_put, table_get, table_remove, but for notes */
  uint64_t commits, syncs; /* calls of commit, and how often what was written was made durable */
} besom_store_statistics;

/*
 * The operations of a store. Later versions add members at the end: fill the struct by names, and what is not
 * named is NULL, which means "not offered". The first seven are required, but for stats. Those from begin on are needed
 * for a guard that outlives its process (besom_guard_open says which), all but directory.
 *
 * append   adds a record at the end of the list of at.bucket. at.rank is the length of that list: the filter knows
 *          it, so that a store need not read before it writes. A store that sees otherwise says INVALID.
 * get      shows the records of a bucket in the order of their ranks; none, if it has none. at.rank is not looked at.
 * replace  puts a record in the place of another. Errors: NOT_FOUND.
 * remove   takes a record out; those behind it in its list move up by one rank. Errors: NOT_FOUND.
 * scan     shows all records of from.epoch from the bucket from.bucket on, in the order of bucket and rank.
 * stats    fills the struct, with 0 for what the store does not know: records and buckets, if a durable one had
 *          some already when it was opened.
 * close    frees the store, aborting what is not committed. What it has durably kept stays.
 *
 * begin    opens a transaction: from now on changes are seen by this store's reads, but kept only by commit; all of
 *          them or none, also when the process is killed. Without begin each change is a transaction of its own.
 *          Errors: BUSY (one is open).
 * commit   ends it. durable: returns when it would survive a loss of power; otherwise it survives a kill of the process
 *          alone. If it fails the transaction is still open, and to be aborted.
 * abort    ends it and takes back all its changes. Cannot fail.
 * sync     makes everything committed so far durable.
 * commit_number  of what was committed last: changes with every commit that changed anything, and never comes back.
 * table_put, table_get, table_remove, table_scan   the tables. remove and get: NOT_FOUND. scan shows the records with
 *          keys >= from (data NULL: from the first) and < to (data NULL: to the last), in the order of the keys as
 *          bytes. Keys of up to 64 KiB, the empty one too.
 * directory  a directory of the store's own, where a guard may keep a file; NULL if it has none.
 *
 * Errors of all: IO, NO_MEMORY, READ_ONLY, FULL (the store's limit), INVALID (a key or value that is too long for it).
 */
typedef struct besom_store_ops {
  besom_status (*append)(besom_store *store, besom_place at, const besom_record *record);
  besom_status (*get)(besom_store *store, besom_place at, besom_store_visit visit, void *ctx);
  besom_status (*replace)(besom_store *store, besom_place at, const besom_record *record);
  besom_status (*remove)(besom_store *store, besom_place at);
  besom_status (*scan)(besom_store *store, besom_place from, besom_store_visit visit, void *ctx);
  besom_status (*stats)(const besom_store *store, besom_store_statistics *stats);
  void (*close)(besom_store *store);

  besom_status (*begin)(besom_store *store);
  besom_status (*commit)(besom_store *store, bool durable);
  void (*abort)(besom_store *store);
  besom_status (*sync)(besom_store *store);
  besom_status (*commit_number)(besom_store *store, uint64_t *number);
  besom_status (*table_put)(besom_store *store, besom_table table, const besom_record *record);
  besom_status (*table_get)(besom_store *store, besom_table table, besom_bytes key,
                            besom_table_visit visit, void *ctx);
  besom_status (*table_remove)(besom_store *store, besom_table table, besom_bytes key);
  besom_status (*table_scan)(besom_store *store, besom_table table, besom_bytes from,
                             besom_bytes to, besom_table_visit visit, void *ctx);
  const char *(*directory)(const besom_store *store);
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
static inline besom_status besom_store_stats(const besom_store *store,
                                             besom_store_statistics *stats) {
  if (!store || !stats) return BESOM_INVALID;
  return store->ops->stats ? store->ops->stats(store, stats) : BESOM_UNSUPPORTED;
}

/*
 * A store in memory, gone when it is closed: for tests and experiments, and for sets that fit. Keys and values of
 * less than 4 GiB. Beside the bytes of a record it takes some 16 for the record and 21 to 43 for its
 * bucket, in a table some 30; room that was freed is used again, but given back only by close. scan sorts the buckets
 * first, in 16 bytes of memory a bucket. allocator: NULL for the default; copied. Errors: INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_store_memory(const besom_allocator *allocator, besom_store **out);

/* The allocator that NULL means wherever one is asked for: for stores that have memory of their own. */
BESOM_API const besom_allocator *besom_default_allocator(void);

/* ------------------------------------------------------------------ stores made of a database with ordered keys */

/* A change that is written: key and value, or, if remove is set, that the key is gone (whether it was there or not). */
typedef struct besom_write {
  besom_record record;
  bool remove;
} besom_write;

/*
 * A database of byte strings in order, which besom_store_ordered makes a store of: lists, tables and transactions are
 * its business. Keys are never empty and at most max_key bytes; the database is besom's alone, or behind a prefix.
 *
 * get      shows the key and its value to visit, or nothing if there is none. As above, END from visit is no error.
 * scan     shows the records with keys >= from and < to (data NULL: to the end), in the order of the keys as bytes.
 * write    makes all n changes, which are in the order of their keys, or none, also when the process is killed.
 *          durable: as for commit. A later write must not survive a loss of power without this one.
 * sync, commit_number   as in besom_store_ops.
 * close    frees it.
 * directory, bytes (all that it takes)   may be NULL.
 *
 * A transaction is kept in memory until it is committed, and written at once then. Without one each change is written
 * at once, too, but not durably. Keys of tables longer than max_key allows are kept together with those that begin
 * alike, in one record, which is rewritten with each of them: fine for some, slow for thousands of them.
 *
 * Threads: get and scan at the same time as each other and as one write or sync.
 */
typedef struct besom_ordered_ops {
  besom_status (*get)(void *db, besom_bytes key, besom_table_visit visit, void *ctx);
  besom_status (*scan)(void *db, besom_bytes from, besom_bytes to, besom_table_visit visit,
                       void *ctx);
  besom_status (*write)(void *db, const besom_write *changes, size_t n, bool durable);
  besom_status (*sync)(void *db);
  besom_status (*commit_number)(void *db, uint64_t *number);
  void (*close)(void *db);
  const char *(*directory)(const void *db);
  uint64_t (*bytes)(const void *db);
  size_t max_key; /* at least 64; 0: 64 KiB and some more */
} besom_ordered_ops;

/*
 * Takes db over if it succeeds. ops must live as long as the store. An empty database gets a mark that it is besom's.
 * Errors: INVALID, NO_MEMORY, CORRUPT (there is something else in it), NEWER_VERSION, and what db says.
 */
BESOM_API besom_status besom_store_ordered(const besom_ordered_ops *ops, void *db,
                                           const besom_allocator *allocator, besom_store **out);

/*
 * Stores that outlive the process. Each is a library of its own (libbesom-lmdb, libbesom-rocksdb, libbesom-redis), so
 * that libbesom needs none of the databases. One process at a time has a store open: for a second one it is LOCKED.
 * options may be NULL, and 0 in them is the default. Errors: INVALID, IO (no such directory, no server: *reason tells,
 * if reason is not NULL: a static sentence), LOCKED, NO_MEMORY, READ_ONLY, CORRUPT (there is something else in there).
 */

/* LMDB, embedded. The directory is made if it is missing (its parent must be there). */
typedef struct besom_lmdb_options {
  uint64_t
      map_size; /* most bytes that it may take on disk: beyond it changes are FULL; default 64 GiB (not taken) */
  bool read_ahead; /* let the system read more than is asked for: for data that fits into memory */
  const besom_allocator *allocator;
} besom_lmdb_options;
BESOM_API besom_status besom_store_lmdb(const char *directory, const besom_lmdb_options *options,
                                        const char **reason, besom_store **out);

/* RocksDB, embedded. */
typedef struct besom_rocksdb_options {
  uint64_t cache_bytes; /* of the block cache; default 32 MiB */
  double
      bloom_bits; /* bits a key of RocksDB's own filter; default 0: none, the guard has a better one */
  bool direct_reads; /* go around the system's page cache */
  const besom_allocator *allocator;
} besom_rocksdb_options;
BESOM_API besom_status besom_store_rocksdb(const char *directory,
                                           const besom_rocksdb_options *options,
                                           const char **reason, besom_store **out);

/* Redis (or Valkey), as durable as that server is. address: "host:port" or the path of a socket; all keys get prefix.
 */
typedef struct besom_redis_options {
  uint32_t timeout_ms; /* for connecting and for an answer; default 5000 */
  const char *password;
  const besom_allocator *allocator;
} besom_redis_options;
BESOM_API besom_status besom_store_redis(const char *address, const char *prefix,
                                         const besom_redis_options *options, const char **reason,
                                         besom_store **out);

#ifdef __cplusplus
}
#endif

#endif
