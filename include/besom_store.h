/*
 * besom_store.h - the databases behind a guard, and how to plug in your own.
 *
 * A store is a map from 64-bit buckets to short lists of records, and a few ordered tables. The
 * list of a bucket has the keys of all fingerprints of that bucket; rank i is its i-th record
 * (besom_reverse.h: besom_match). A record is a key and a value, both byte strings of any length. A
 * store knows nothing of filters, and compares keys only to order them.
 *
 *     besom_store *store;
 *     if (besom_store_memory(NULL, &store) != BESOM_OK) ...
 *     besom_config filter = {.kind = "aqf", .capacity = 1000000, .fpr = 0.001};
 *     besom_guard_config config = {.filter = &filter};
 *     if (besom_guard_open(&config, store, &guard) != BESOM_OK) ...   // owns the store now
 *
 * There are two ways to plug in a database. If it has ordered keys, scans and atomic writes of
 * several keys, fill in the functions of besom_ordered_ops, and besom_store_ordered makes a store
 * of it. Anything else is a struct that begins with a besom_store, and a table of operations:
 *
 *     struct my_store { besom_store head; my_database *db; };
 *     static const besom_store_ops my_ops = {.size = sizeof my_ops, .append = my_append, ...};
 *
 * Lists are short: at load factor 0.9, one bucket in 500 of an 8-bit filter has more than one
 * record. So an operation that walks along a list, such as remove, costs next to nothing.
 *
 * Errors
 *   An operation that returns anything but BESOM_OK has changed nothing. The guard relies on it.
 *
 * Threads
 *     operation                              may run beside
 *     append, replace, remove, begin,        nothing
 *     abort, table_put, table_remove, close,
 *     set_savepoint, undo_to_savepoint
 *     get, scan, table_get, table_scan       each other, commit, sync
 *     list_cursor, table_cursor              everything but close
 *     commit, sync                           reads; one of them at a time
 *     stats, commit_number                   reads; not commit
 *   The allocator of a store that several threads read must be thread-safe. Two stores are
 *   independent.
 */
#ifndef BESOM_STORE_H
#define BESOM_STORE_H

#include "besom_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- operations */

/* Frozen. */
typedef struct besom_record {
  besom_bytes key, value;
} besom_record;

/*
 * Frozen. The address of a record. A guard that changes the seed of its filter migrates its records
 * from one epoch to the next, in which they have other buckets. A store keeps the lists of epochs
 * apart.
 */
typedef struct besom_place {
  uint32_t epoch;
  uint32_t rank;
  uint64_t bucket;
} besom_place;

/*
 * Called with one record after the other. The record is borrowed until it returns. It must not call
 * the store. It returns BESOM_OK to go on; BESOM_END to stop, and then the walk returns BESOM_OK;
 * or any other status, which ends the walk and is returned.
 */
typedef besom_status (*besom_store_visit)(void *ctx, besom_place at, const besom_record *record);

/* The same for the records of a table, which have no address but their key. */
typedef besom_status (*besom_table_visit)(void *ctx, const besom_record *record);

/*
 * Frozen. A cursor over a snapshot: the records that were committed when it was opened, whatever
 * changes later. It begins before the first one. One thread at a time may use it, beside all other
 * calls. next shows the next record, borrowed until the next call; END: there are no more. close
 * frees it. It must be closed before its store.
 */
typedef struct besom_cursor besom_cursor;
struct besom_cursor {
  besom_status (*next)(besom_cursor *cursor, besom_record *record);
  void (*close)(besom_cursor *cursor);
};

/* The tables of a store: the guard's manifest; keys and values in the split layout. */
typedef enum besom_table { BESOM_TABLE_MANIFEST = 0, BESOM_TABLE_KEYS = 1 } besom_table;

/* Calls since the store was opened (of changes, those that succeeded), and what is in it now. */
typedef struct besom_store_statistics {
  uint64_t appends, reads, updates, removes, scans; /* append, get, replace, remove, scan */
  uint64_t records, buckets;                        /* buckets that have a record */
  uint64_t bytes;                                   /* memory or disk space in use */
  uint64_t table_puts, table_reads, table_removes;  /* without those of the manifest */
  uint64_t commits, syncs;                          /* commits; times the data was made durable */
} besom_store_statistics;

/*
 * The operations of a store. size is sizeof(besom_store_ops); later versions append members. NULL
 * means "not offered". The operations up to close are required, except stats. Those from begin on
 * are required for a guard that outlives its process, except directory and what follows it.
 *
 * append         adds a record to the end of the list of at.bucket. at.rank is the length of that
 *                list: the filter knows it, so a store need not read before it writes. A store that
 *                finds another length returns INVALID.
 * get            visits the records of a bucket in the order of their ranks. at.rank is not used.
 * replace        replaces a record. Errors: NOT_FOUND.
 * remove         removes a record; the ranks after it in its list decrease by one. Errors:
 *                NOT_FOUND.
 * scan           visits all records of from.epoch from bucket from.bucket on, by bucket and rank.
 * stats          fills in at most size bytes of the struct, with 0 for what the store does not
 *                know.
 * close          frees the store and aborts what is not committed. Durable data stays.
 * begin          opens a transaction: later changes are visible to this store's reads, and kept
 *                only by commit, all or none, even if the process is killed. Without begin each
 *                change is a transaction of its own. Errors: BUSY (one is open).
 * commit         ends it. durable: returns when it would survive a power cut; otherwise it survives
 *                the end of the process only. If it fails the transaction is still open and has
 *                not changed: commit it again, or abort it.
 * abort          ends it and undoes its changes. Cannot fail.
 * sync           makes everything committed so far survive a power cut.
 * commit_number  of the last commit: changes with every commit that changed anything, never
 *                repeats.
 * table_put, table_get, table_remove, table_scan
 *                the tables. Errors: NOT_FOUND (get, remove). scan visits keys >= from and < to in
 *                byte order; data NULL means no bound. Keys have 0 to 64 KiB.
 * directory      a directory of the store's own for the guard's checkpoint; NULL if it has none. It
 *                may be named by a descriptor of the store, and is valid until close.
 * set_savepoint  within a transaction: a state to return to. Replaces the one before. Errors:
 *                INVALID (no transaction is open).
 * undo_to_savepoint
 *                undoes the changes of the transaction since its savepoint, which stays; also after
 *                a failed commit. Cannot fail, and needs no memory. A guard over a store without
 *                savepoints does not gather changes (BESOM_DURABLE_SYNC).
 * list_cursor    the records of the lists of all epochs >= from and < to, by epoch, bucket, rank.
 * table_cursor   the records that table_scan visits. Errors of both: UNSUPPORTED.
 * read_only      whether it is open for reading only, beside another process that may change it.
 *                Then a guard compares commit_number before and after each read: while it stays the
 *                same, all reads show the same state. All changes are READ_ONLY.
 * recover        after a commit or sync that failed: makes a database that refuses all writes until
 *                it is reopened ready for them, or gives it more room. An open transaction stays as
 *                it is. Nobody else uses the store meanwhile, and no cursor is open. OK: it is
 *                worth trying again. After an error reads go on, if they can.
 * backup         copies what is committed into a directory that does not exist, durably, beside
 *                reads and changes.
 * check_lock     for a store whose lock on the data can end while it is open, as that of a
 *                connection: whether nobody else can have changed the data. A guard asks before it
 *                answers from its filter alone that a key is absent. Beside reads and changes.
 *                Errors: UNSUPPORTED (the lock lasts until close), IO (somebody may have).
 *
 * Errors of all: IO, NO_MEMORY, READ_ONLY, DISK_FULL, INVALID (a key or value that is too long for
 * it), BUSY (too many reads at once).
 */
typedef struct besom_store_ops {
  size_t size;
  besom_status (*append)(besom_store *store, besom_place at, const besom_record *record);
  besom_status (*get)(besom_store *store, besom_place at, besom_store_visit visit, void *ctx);
  besom_status (*replace)(besom_store *store, besom_place at, const besom_record *record);
  besom_status (*remove)(besom_store *store, besom_place at);
  besom_status (*scan)(besom_store *store, besom_place from, besom_store_visit visit, void *ctx);
  besom_status (*stats)(const besom_store *store, besom_store_statistics *stats, size_t size);
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
  besom_status (*set_savepoint)(besom_store *store);
  void (*undo_to_savepoint)(besom_store *store);
  besom_status (*list_cursor)(besom_store *store, uint32_t from, uint32_t to, besom_cursor **out);
  besom_status (*table_cursor)(besom_store *store, besom_table table, besom_bytes from,
                               besom_bytes to, besom_cursor **out);
  bool (*read_only)(const besom_store *store);
  besom_status (*recover)(besom_store *store);
  besom_status (*backup)(besom_store *store, const char *directory);
  besom_status (*check_lock)(besom_store *store);
} besom_store_ops;

/* What every store begins with. */
struct besom_store {
  const besom_store_ops *ops;
};

/* Closes a store that no guard has taken over. NULL is allowed. */
static inline void besom_store_close(besom_store *store) {
  if (store) store->ops->close(store);
}

/* Errors: INVALID (a NULL), UNSUPPORTED (the store does not count). */
static inline besom_status besom_store_stats(const besom_store *store,
                                             besom_store_statistics *stats) {
  if (!store || !stats) return BESOM_INVALID;
  return store->ops->stats ? store->ops->stats(store, stats, sizeof *stats) : BESOM_UNSUPPORTED;
}

/*
 * A store in memory, for tests and for sets that fit. Keys and values have less than 4 GiB. Takes
 * about 16 bytes per record, 21 to 43 per bucket and 30 per table entry besides the data. Freed
 * memory is reused, and returned by close only. scan sorts the buckets first, in 16 bytes per
 * bucket. allocator may be NULL; it is copied. Errors: INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_store_memory(const besom_allocator *allocator, besom_store **out);

/* The allocator that NULL stands for: for stores with memory of their own. */
BESOM_API const besom_allocator *besom_default_allocator(void);

/* -------------------------------------------------------------- databases with ordered keys */

/* Frozen. A change to write: a record, or if remove is set, the removal of its key. */
typedef struct besom_write {
  besom_record record;
  bool remove;
} besom_write;

/*
 * A database of ordered byte strings. besom_store_ordered makes a store of it, with lists, tables
 * and transactions. Keys have 1 to max_key bytes. besom needs the database, or a key prefix, for
 * itself. size is sizeof(besom_ordered_ops); later versions append members.
 *
 * max_key        at least 64; 0 means 64 KiB and some more.
 * get            visits the key and its value, or nothing if there is none.
 * scan           visits keys >= from and < to (data NULL: no bound) in byte order.
 * write          makes all n changes, which are in key order, or none, even if the process is
 *                killed. durable: as for commit. A later write must not survive a power cut without
 *                this one.
 * sync, commit_number, directory   as in besom_store_ops.
 * close          frees it.
 * bytes          space in use; may be NULL, as may directory and cursor.
 * read_only      as in besom_store_ops; may be NULL.
 * recover        as in besom_store_ops; may be NULL. bytes: about how much is to be written.
 * backup         as in besom_store_ops; may be NULL.
 * check_lock     as in besom_store_ops; may be NULL: the lock lasts until close.
 * cursor         the keys that scan visits, as they are now. from and to are borrowed for the call.
 *
 * A transaction is kept in memory until commit, and then written at once. Without one each change
 * is written at once, not durably. Table keys longer than max_key allows share one record with
 * those of the same prefix, which is rewritten with each of them: fine for some, slow for
 * thousands. Threads: get and scan may run beside each other and beside one write or sync; cursor
 * and the calls of cursors beside everything but close.
 */
typedef struct besom_ordered_ops {
  size_t size;
  size_t max_key;
  besom_status (*get)(void *db, besom_bytes key, besom_table_visit visit, void *ctx);
  besom_status (*scan)(void *db, besom_bytes from, besom_bytes to, besom_table_visit visit,
                       void *ctx);
  besom_status (*write)(void *db, const besom_write *changes, size_t n, bool durable);
  besom_status (*sync)(void *db);
  besom_status (*commit_number)(void *db, uint64_t *number);
  void (*close)(void *db);
  const char *(*directory)(const void *db);
  uint64_t (*bytes)(const void *db);
  besom_status (*cursor)(void *db, besom_bytes from, besom_bytes to, besom_cursor **out);
  bool (*read_only)(const void *db);
  besom_status (*recover)(void *db, uint64_t bytes);
  besom_status (*backup)(void *db, const char *directory);
  besom_status (*check_lock)(void *db);
} besom_ordered_ops;

/*
 * Takes over db if it succeeds. The ops are copied. An empty database gets a record that marks it
 * as besom's. Errors: INVALID, NO_MEMORY, CORRUPT (it has other data), NEWER_VERSION, and what db
 * returned.
 */
BESOM_API besom_status besom_store_ordered(const besom_ordered_ops *ops, void *db,
                                           const besom_allocator *allocator, besom_store **out);

/* -------------------------------------------------------------- LMDB, RocksDB, Redis */

/*
 * Each of these is a library of its own (libbesom-lmdb, libbesom-rocksdb, libbesom-redis), so that
 * libbesom needs none of the databases. One process at a time opens a store; a second one gets
 * LOCKED, unless it opens it for reading only (LMDB). options may be NULL; 0 means default. *reason
 * (reason may be NULL) is a static sentence after an error. Errors: INVALID, IO (no such directory,
 * no server), LOCKED, NO_MEMORY, READ_ONLY, DISK_FULL, CORRUPT (it has other data).
 */

/*
 * LMDB, embedded. The directory is created if it is missing; its parent must exist.
 *
 * no_sync    Commits that need not be durable do not wait for the disk. A power cut before the next
 *            durable one may damage the database.
 * read_only  For reading only, beside one process that may change it, but not in that process. The
 *            store must exist. A guard over it is read-only: see besom_guard_refresh.
 */
typedef struct besom_lmdb_options {
  /* Maximum size on disk; beyond it: DISK_FULL. Default 64 GiB, not allocated. besom_guard_sync
     doubles it if acknowledged changes do not fit (BESOM_DURABLE_SYNC). */
  uint64_t map_size;
  bool read_ahead; /* let the system read ahead: for data that fits in memory */
  const besom_allocator *allocator;
  bool no_sync;
  bool read_only;
} besom_lmdb_options;
BESOM_API besom_status besom_store_lmdb_sized(const char *directory,
                                              const besom_lmdb_options *options, size_t size,
                                              const char **reason, besom_store **out);
static inline besom_status besom_store_lmdb(const char *directory,
                                            const besom_lmdb_options *options, const char **reason,
                                            besom_store **out) {
  return besom_store_lmdb_sized(directory, options, sizeof *options, reason, out);
}

/* RocksDB, embedded. */
typedef struct besom_rocksdb_options {
  uint64_t cache_bytes; /* block cache; default 32 MiB */
  /* Of RocksDB's own filter; default 0: none, the guard has a better one. */
  double bloom_bits_per_key;
  bool direct_reads; /* bypass the system's page cache */
  const besom_allocator *allocator;
} besom_rocksdb_options;
BESOM_API besom_status besom_store_rocksdb_sized(const char *directory,
                                                 const besom_rocksdb_options *options, size_t size,
                                                 const char **reason, besom_store **out);
static inline besom_status besom_store_rocksdb(const char *directory,
                                               const besom_rocksdb_options *options,
                                               const char **reason, besom_store **out) {
  return besom_store_rocksdb_sized(directory, options, sizeof *options, reason, out);
}

/*
 * Redis or Valkey, as durable as that server is. address: "host:port" or the path of a socket. All
 * keys get the prefix. If the data vanish, calls return IO from the next write on, or the next read
 * that finds nothing; if the server has closed the connection and another client has the store, at
 * once. If the server may evict keys, *reason is a warning after OK; or, if
 * refuse_eviction is set, open is UNSUPPORTED.
 */
typedef struct besom_redis_options {
  uint32_t timeout_ms; /* of connecting and of a reply; default 5000 */
  const char *password;
  const besom_allocator *allocator;
  bool refuse_eviction;
} besom_redis_options;
BESOM_API besom_status besom_store_redis_sized(const char *address, const char *prefix,
                                               const besom_redis_options *options, size_t size,
                                               const char **reason, besom_store **out);
static inline besom_status besom_store_redis(const char *address, const char *prefix,
                                             const besom_redis_options *options,
                                             const char **reason, besom_store **out) {
  return besom_store_redis_sized(address, prefix, options, sizeof *options, reason, out);
}

#ifdef __cplusplus
}
#endif

#endif
