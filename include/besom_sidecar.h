/*
 * besom_sidecar.h - a filter beside an existing database, whose layout does not change.
 *
 * The application keeps its own tables. The sidecar has only fingerprints of their keys: no key is
 * stored twice. The application asks it before a read, tells it of new and deleted keys, and
 * reports false positives, which the filter remembers as exceptions (besom.h: besom_adapt).
 * docs/sidecar.md explains what follows, and lists every moment at which a crash can happen.
 *
 *     besom_sidecar_config config = {.keys = &all_keys};        // a scan of the table
 *     besom_sidecar_open(&config, "users.besom", &reason, &s);
 *
 *     uint64_t point = besom_sidecar_read_point(s);             // before the read transaction
 *     ... begin a read transaction ...
 *     if (besom_sidecar_may_contain(s, key, len)) {             // no: certainly absent
 *       ... read the table; if it has no such key:
 *       besom_sidecar_report(s, key, len, point);
 *     }
 *
 *     besom_sidecar_begin(s);
 *     ... begin a write transaction, put a new key ...
 *     besom_sidecar_insert(s, key, len);                        // before the commit
 *     ... commit ...
 *     besom_sidecar_end(s, BESOM_SIDECAR_COMMITTED);
 *
 * Where the state is
 *   The filter is saved to a file, the checkpoint. With a log (config.log; LMDB and RocksDB below)
 *   the changes since then are in a table of the application's database, written by the
 *   application's own transactions: they cost no further sync, and after a crash open replays them.
 *   Without a log, open after a crash reads all keys again, and the statistics say so; make the
 *   database durable before sync and close, because the file is durable then.
 *
 * What the application must do
 *   - Tell of every new key, between begin and end of its transaction.
 *   - Tell of a deleted key only if it was there, in the transaction or after it. A key that is
 *     told of and was not there is NOT_FOUND, except at the false-positive rate: then the
 *     fingerprint of another key would be removed, and that key denied. If the application cannot
 *     know what is there, set config.keep_removed: then nothing that it tells can deny a key.
 *   - Report only keys that a read transaction did not find which began after read_point.
 *   - Have no table whose order takes different bytes as one key (mdb_set_compare, comparators of
 *     RocksDB): the filter would deny all spellings but the one that it was told of.
 *   A key that is told of as new twice has two copies: after one removal a fingerprint is left. It
 *   is harmless, and so is a fingerprint of a transaction that was not committed.
 *
 * Static kinds
 *   ribbon and fuse cannot insert. They are for a database that is only read, or rarely written,
 *   and are smaller and faster there. keep_removed is implied. An insert of a key that the filter
 *   denies makes it stale: every query is answered yes, reports are BUSY, and
 *   statistics.rebuild_due is true, until besom_sidecar_rebuild, or until the transaction is
 *   ABORTED. The next open of a stale sidecar reads all keys. Deletes, and inserts of keys that the
 *   filter answers yes to, change nothing.
 *
 * Threads
 *     calls                                  without config.threads   with config.threads
 *     may_contain and its forms,             beside each other        beside everything
 *     read_point
 *     report and its form, stats             nothing                  beside everything
 *     begin, insert, remove, log_to, end,    nothing                  beside the calls above; one
 *     stamp, sync, rebuild                                            thread at a time
 *     filter, and what is called with it     beside queries           beside queries
 *     close                                  nothing                  nothing
 *   After a fork, only the process that opened the sidecar may use it. In the child every query is
 *   answered yes; begin, report, sync and rebuild are INVALID; and close writes nothing.
 */
#ifndef BESOM_SIDECAR_H
#define BESOM_SIDECAR_H

#include "besom_store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct besom_sidecar besom_sidecar;

/* -------------------------------------------------------------- the log */

/*
 * How the sidecar reaches its table in the application's database: a map from keys of 8 bytes to
 * values, which nothing else uses. size is sizeof(besom_sidecar_log); later versions append
 * members. All but sync, number, close, end_scan and get are required.
 *
 * put, remove  change a record within txn, a transaction of the application (besom_sidecar_log_to)
 *              or one that update has begun. remove of an absent key is OK.
 * scan         visits the committed records from key `from` on, in byte order (besom_store.h:
 *              besom_table_visit).
 * update       begins a transaction, calls change(change_ctx, txn), and commits it if that
 *              returned OK.
 * sync         makes all committed transactions survive a power cut.
 * number       the number of transaction txn, or if txn is NULL of the last committed one that a
 *              scan would read if it began now: never a higher one. 0: not known. If it is given,
 *              numbers must be consecutive, every write transaction of the database must be logged
 *              (besom_sidecar_log_to), and config.stamp is not used: the numbers tell whether
 *              another writer was there.
 * close        frees ctx.
 * end_scan     the sidecar will not read config.keys to the end (the scan failed, or progress has
 *              cancelled it): release what the scan holds, for example a read transaction.
 * get          visits the record with this key, if there is one, as the transaction txn sees it, or
 *              as it is committed if txn is NULL. Without it scan is used, which is slower. It
 *              tells whether another sidecar has written to the log (besom_sidecar_log_to).
 */
typedef struct besom_sidecar_log {
  size_t size;
  besom_status (*put)(void *ctx, void *txn, besom_bytes key, besom_bytes value);
  besom_status (*remove)(void *ctx, void *txn, besom_bytes key);
  besom_status (*scan)(void *ctx, besom_bytes from, besom_table_visit visit, void *visit_ctx);
  besom_status (*update)(void *ctx, besom_status (*change)(void *change_ctx, void *txn),
                         void *change_ctx);
  besom_status (*sync)(void *ctx);
  uint64_t (*number)(void *ctx, void *txn);
  void (*close)(void *ctx);
  void *ctx;
  void (*end_scan)(void *ctx);
  besom_status (*get)(void *ctx, void *txn, besom_bytes key, besom_table_visit visit,
                      void *visit_ctx);
} besom_sidecar_log;

/* -------------------------------------------------------------- opening and closing */

/*
 * filter            NULL or incomplete: kind "scaling" with options "base=aqf,forget=yes", fpr
 *                   0.001, capacity a quarter more than there are keys. Another kind must insert,
 *                   and remove, unless keep_removed is set; or it is ribbon or fuse (see Static
 *                   kinds). A kind that does not scale (besom.h: BESOM_CAN_SCALE) is doubled by
 *                   besom_resize when it is full; its false-positive rate grows then. A filter that
 *                   is loaded stays what it is until it is rebuilt; its kind must be the same.
 * keys              required: all keys of the table, each once; size_hint is their number, 0 if
 *                   unknown. rewind is called before the first key and must start a new scan of
 *                   what is committed. Used by open and rebuild: ctx must outlive the sidecar. The
 *                   struct is copied.
 * log               NULL: no log. The struct is copied.
 * threads           queries and reports beside one writer.
 * keep_removed      remove keeps the fingerprint, and an insert of a key that the filter answers
 *                   yes to adds none. Wrong tellings are harmless. Removed keys stay until rebuild.
 * stamp             0: none. Else a number that the application's database has now, and that
 *                   changes with every transaction, also with those of writers that bypass the
 *                   sidecar. If it differs from the number told last (besom_sidecar_stamp), all
 *                   keys are read again.
 * checkpoint_items  with a log: end saves the filter when that many changes were logged since it
 *                   was saved last. Default: 65,536 and half of the keys. UINT64_MAX: only sync and
 *                   close save it.
 * progress          called while open or rebuild read keys; may be NULL.
 * database_id       NULL: none. Else 16 bytes that identify the database. They must be kept inside
 *                   it: draw them at random when the database is created. If the file has another
 *                   id, or none, all keys are read. With a log the log has an id, too.
 * exact_size_hint   keys->size_hint is the number of keys at open, also if it is 0. If the file has
 *                   another number, all keys are read. The file has no number, and nothing is
 *                   compared, with keep_removed, or after a transaction that ended as UNKNOWN. A
 *                   key that was told of as new twice counts twice: then open reads all keys.
 */
typedef struct besom_sidecar_config {
  const besom_config *filter;
  const besom_source *keys;
  const besom_sidecar_log *log;
  bool threads;
  bool keep_removed;
  uint64_t stamp;
  uint64_t checkpoint_items;
  const besom_progress *progress;
  const uint8_t *database_id;
  bool exact_size_hint;
} besom_sidecar_config;

/*
 * Attaches a sidecar. Loads the file at path and replays the log; if there is no valid file, or it
 * does not fit the database, reads all keys (statistics: origin). Nobody may change the table
 * meanwhile, and no transaction may be open in this thread. path is resolved by open: later changes
 * of the working directory do not matter, and of a symbolic link its target is the file. One
 * process at a time: the resolved path with ".lock" appended is the lock file. The log names the
 * file that it belongs to: a second file for one log is LOCKED while the first is open. *reason
 * (reason may be NULL) is a static sentence after an error. If open fails, log.close is not called.
 *
 * Errors: INVALID, UNKNOWN_KIND, BAD_OPTION, UNSUPPORTED (the kind), LOCKED, CORRUPT (the table of
 * the log has other data), NEWER_VERSION, INCOMPATIBLE (log.number: another writer has committed
 * meanwhile, or the number is not known), NO_MEMORY, CANCELLED, IO, DISK_FULL, READ_ONLY, and what
 * keys and log return.
 */
BESOM_API besom_status besom_sidecar_open_sized(const besom_sidecar_config *config,
                                                size_t config_size, size_t filter_size,
                                                const char *path, const char **reason,
                                                besom_sidecar **out);
static inline besom_status besom_sidecar_open(const besom_sidecar_config *config, const char *path,
                                              const char **reason, besom_sidecar **out) {
  return besom_sidecar_open_sized(config, sizeof *config, sizeof(besom_config), path, reason, out);
}

/*
 * Saves the filter if it has changed, and frees everything. An open transaction ends as
 * BESOM_SIDECAR_UNKNOWN; if the last outcome is unknown, nothing is saved. NULL is allowed. Returns
 * the failure of saving; the sidecar is gone in any case, and no key is lost by it: the next open
 * reads the log, or all keys.
 */
BESOM_API besom_status besom_sidecar_close(besom_sidecar *s);

/* -------------------------------------------------------------- queries */

/*
 * may_contain: false is certain for every key that is committed now, and for every key told of as
 * new. Not so for a read transaction that is older than the last commit with deletes, or than the
 * last rebuild: it still has keys that are denied. Do not ask the filter there, or use
 * may_contain_at.
 * An invalid argument is answered true. may_contain_many: as besom_contains_many.
 *
 * may_contain_at is for databases with log.number: stamp is the number of the state that is read,
 * and false is certain for this state. The filter is asked if it has all keys of that state.
 * Otherwise the answer is true: the state is later than the last end, because somebody has bypassed
 * the sidecar or end is not called yet; or it is older than open, the last rebuild, or the last end
 * with removes. Without log.number only the first is noticed.
 */
BESOM_API bool besom_sidecar_may_contain(const besom_sidecar *s, const void *key, size_t len);
BESOM_API bool besom_sidecar_may_contain_at(const besom_sidecar *s, const void *key, size_t len,
                                            uint64_t stamp);
BESOM_API besom_status besom_sidecar_may_contain_many(const besom_sidecar *s,
                                                      const besom_bytes *keys, size_t n,
                                                      uint64_t *bitmap);

/*
 * The number of inserts whose commit the sidecar knows of, and of rebuilds. Take it before a read
 * transaction. It is valid for this open sidecar, not for the next one of the same file.
 */
BESOM_API uint64_t besom_sidecar_read_point(const besom_sidecar *s);

/*
 * Reports that a read transaction, begun after `point` was taken, did not find the key. The filter
 * answers no to it from now on. It may forget older reports for it. A key that the filter already
 * denies is OK.
 *
 * Errors: IS_MEMBER (the key was told of as new since; nothing has changed), BUSY (more than 4096
 * keys were since, or a rebuild, so that the sidecar does not know; or this thread has a
 * transaction open, whose deletes may be undone; or the open transaction takes the key out; or a
 * checkpoint is being written; or a static filter is stale), RESERVE_FULL, NO_MEMORY. All of these
 * may be ignored.
 */
BESOM_API besom_status besom_sidecar_report(besom_sidecar *s, const void *key, size_t len,
                                            uint64_t point);

/*
 * The same after may_contain_at: stamp is the number of the state that was read. Further errors:
 * BUSY (the filter is not asked for this state; a report could deny a key of an older one).
 */
BESOM_API besom_status besom_sidecar_report_at(besom_sidecar *s, const void *key, size_t len,
                                               uint64_t point, uint64_t stamp);

/* -------------------------------------------------------------- changes */

typedef enum besom_sidecar_outcome {
  BESOM_SIDECAR_COMMITTED = 0,
  BESOM_SIDECAR_ABORTED = 1, /* certainly */
  BESOM_SIDECAR_UNKNOWN = 2, /* the commit failed: perhaps a restart finds it committed */
} besom_sidecar_outcome;

/*
 * begin and end enclose what is told of one transaction. begin when one is open ends that as
 * UNKNOWN. insert adds a key, before the application commits. remove takes one out: it is queued,
 * and takes effect at end if the transaction is COMMITTED, so that it may be told within the
 * transaction that deletes the key, or in a later one. ABORTED takes the inserts back and drops the
 * removes; UNKNOWN keeps the inserts, logs them again, and drops the removes. If a transaction that
 * ended as UNKNOWN could still appear after a later one was committed, reopen database and sidecar
 * before that one.
 *
 * Errors: LOCKED (begin; insert and remove without a log: the lock file was removed or replaced, so
 * that another process may use the file; besom_sidecar_problem), INVALID (insert, remove, log_to,
 * end: no transaction), NOT_FOUND (remove: the key is certainly absent), FULL (insert: the filter
 * cannot grow; log_to: more than 2^26 changes), NO_MEMORY; without a log, the first change after
 * open or sync marks the file as in use: IO, DISK_FULL. If insert fails the application must not
 * commit the key.
 */
BESOM_API besom_status besom_sidecar_begin(besom_sidecar *s);
BESOM_API besom_status besom_sidecar_insert(besom_sidecar *s, const void *key, size_t len);
BESOM_API besom_status besom_sidecar_remove(besom_sidecar *s, const void *key, size_t len);
BESOM_API besom_status besom_sidecar_end(besom_sidecar *s, besom_sidecar_outcome outcome);

/*
 * With a log: writes what was told since begin into the application's transaction txn, as one
 * record. Call it last before the commit. If it fails the application must abort. end is INVALID
 * for COMMITTED if there are changes that were not logged; the transaction stays open then. Errors:
 * INCOMPATIBLE (log.number: another writer has committed since; besom_sidecar_rebuild, or reopen),
 * LOCKED (another sidecar has written to the log; from then on queries are answered true, and
 * nothing is saved: close, and open again when the other one is closed), and as above.
 */
BESOM_API besom_status besom_sidecar_log_to(besom_sidecar *s, void *txn);

/*
 * Tells the number that config.stamp is compared with: that of the open, or the last, transaction.
 * Logged by log_to, and saved by sync and close. It says that all keys of this state were told of:
 * after another writer, read the number first, then call besom_sidecar_rebuild, then this. Errors:
 * INVALID (log.number tells it); without a log IO, DISK_FULL.
 */
BESOM_API besom_status besom_sidecar_stamp(besom_sidecar *s, uint64_t stamp);

/*
 * sync saves the filter, with what was reported. With a log, open then replays only what follows.
 * rebuild reads all keys, makes a filter of them with another seed and the configured options, and
 * saves it; queries go on meanwhile. Exceptions are dropped. A failure leaves file and filter as
 * they were. Errors: BUSY (a transaction is open, or one has ended as UNKNOWN: until the next is
 * committed, with a log the next that called log_to, the state that the file would belong to is not
 * known), LOCKED (as begin and log_to), IO, DISK_FULL, NO_MEMORY, and as open (rebuild).
 */
BESOM_API besom_status besom_sidecar_sync(besom_sidecar *s);
BESOM_API besom_status besom_sidecar_rebuild(besom_sidecar *s);

/* Why a call was LOCKED: a static sentence. NULL: none was. */
BESOM_API const char *besom_sidecar_problem(const besom_sidecar *s);

/* -------------------------------------------------------------- statistics */

/* Where the filter of an opened sidecar came from. All but LOADED: all keys were read. */
typedef enum besom_sidecar_origin {
  BESOM_SIDECAR_LOADED = 0,
  BESOM_SIDECAR_NEW = 1,      /* there was no file */
  BESOM_SIDECAR_UNCLEAN = 2,  /* without a log: a process ended without close or sync */
  BESOM_SIDECAR_DAMAGED = 3,  /* the file is not a sidecar, is truncated or damaged */
  BESOM_SIDECAR_OTHER = 4,    /* the file is of another database, kind of filter or keep_removed,
                                 or has no id of a database, and config.database_id is given */
  BESOM_SIDECAR_LOG_ENDS = 5, /* the log does not continue the file: one of them is older */
  BESOM_SIDECAR_BYPASSED = 6, /* the stamp is another: somebody has changed the database */
  BESOM_SIDECAR_REBUILT = 7,  /* by besom_sidecar_rebuild */
  BESOM_SIDECAR_COUNT = 8,    /* the database has another number of keys than the file */
  BESOM_SIDECAR_STALE = 9,    /* a static filter, and keys were inserted */
} besom_sidecar_origin;

/* Numbers of events are since open. */
typedef struct besom_sidecar_statistics {
  besom_sidecar_origin origin;
  /* More than half of the keys are removed ones, twice the configured false-positive rate, five
     layers, or a static filter is stale. */
  bool rebuild_due;
  uint64_t keys;         /* fingerprints in the filter, copies included */
  uint64_t filter_bytes; /* memory of the filter */
  double expected_fpr;
  uint64_t replayed;              /* changes that open read from the log */
  uint64_t inserts, removes;      /* committed */
  uint64_t kept;                  /* keep_removed: removed keys in the filter; persists */
  uint64_t aborted, unknown;      /* transactions */
  uint64_t reports, late_reports; /* accepted; IS_MEMBER or BUSY */
  uint64_t forgotten;             /* reports that were dropped for newer ones */
  uint64_t checkpoints, failed_checkpoints;
  uint64_t logged; /* changes in the log since the last checkpoint */
  uint64_t left;   /* removed keys whose fingerprint is left: they were reported before */
} besom_sidecar_statistics;

BESOM_API besom_status besom_sidecar_stats_sized(const besom_sidecar *s,
                                                 besom_sidecar_statistics *stats, size_t size);
static inline besom_status besom_sidecar_stats(const besom_sidecar *s,
                                               besom_sidecar_statistics *stats) {
  return besom_sidecar_stats_sized(s, stats, sizeof *stats);
}

/*
 * The filter, for besom_stats and besom_counters; valid until the next change. NULL for NULL. These
 * calls do not take the lock of the sidecar: also with config.threads, call them only while no
 * thread reports or changes anything. Otherwise call besom_sidecar_stats.
 */
BESOM_API const besom_filter *besom_sidecar_filter(const besom_sidecar *s);

/* ctx of the log, for libraries that bind a database; NULL without a log. */
BESOM_API void *besom_sidecar_log_ctx(const besom_sidecar *s);

/* -------------------------------------------------------------- LMDB (libbesom-lmdb) */

struct MDB_env;
struct MDB_txn;

/*
 * Attaches a sidecar to a named database of an open LMDB environment. The log is a database of the
 * same environment, which open creates: mdb_env_set_maxdbs must leave room for it. Transactions of
 * the environment then cost no further sync.
 *
 * table         the handle of the application's database, not the unnamed one: its records would
 *               include the log's name. For that one use besom_sidecar_open without a log.
 * log_name      name of the log's database; default "besom-sidecar". One per table.
 * every_commit  every write transaction of the environment is committed by
 *               besom_sidecar_lmdb_commit. Then the numbers of LMDB's transactions tell whether
 *               there was another writer, in another process for instance: the next open reads all
 *               keys, besom_sidecar_lmdb_get does not ask the filter, and commit is INCOMPATIBLE
 *               until besom_sidecar_rebuild or reopening.
 */
typedef struct besom_sidecar_lmdb_options {
  struct MDB_env *env;
  unsigned table;
  const char *log_name;
  bool every_commit;
} besom_sidecar_lmdb_options;

/* config.keys and config.log are not read. Errors: as besom_sidecar_open. */
BESOM_API besom_status besom_sidecar_lmdb_sized(const besom_sidecar_config *config,
                                                size_t config_size, size_t filter_size,
                                                const besom_sidecar_lmdb_options *options,
                                                size_t size, const char *path, const char **reason,
                                                besom_sidecar **out);
static inline besom_status besom_sidecar_lmdb(const besom_sidecar_config *config,
                                              const besom_sidecar_lmdb_options *options,
                                              const char *path, const char **reason,
                                              besom_sidecar **out) {
  return besom_sidecar_lmdb_sized(config, sizeof *config, sizeof(besom_config), options,
                                  sizeof *options, path, reason, out);
}

/*
 * put and del change the table and tell the sidecar exactly what is needed. put replaces a value
 * that is there. Call besom_sidecar_begin first. Errors: NOT_FOUND (del), DISK_FULL, INVALID (LMDB
 * allows no such key; no transaction), and as besom_sidecar_insert: then the record is not stored.
 */
BESOM_API besom_status besom_sidecar_lmdb_put(besom_sidecar *s, struct MDB_txn *txn,
                                              besom_bytes key, besom_bytes value);
BESOM_API besom_status besom_sidecar_lmdb_del(besom_sidecar *s, struct MDB_txn *txn,
                                              besom_bytes key);

/*
 * get asks the filter, then the table; *value is valid as long as txn. If the table has no such key
 * the filter learns it. txn: a read transaction begun after `point` was taken, or a write
 * transaction: then nothing is learned. Without every_commit, a read transaction that is older than
 * the last commit with deletes, or than a rebuild, does not find keys that it still has: begin
 * another one, or read the table itself. Errors: NOT_FOUND.
 */
BESOM_API besom_status besom_sidecar_lmdb_get(besom_sidecar *s, struct MDB_txn *txn,
                                              besom_bytes key, uint64_t point, besom_bytes *value);

/*
 * commit logs, commits and ends; abort aborts and ends. txn is freed in any case. If commit fails,
 * LMDB has not committed.
 */
BESOM_API besom_status besom_sidecar_lmdb_commit(besom_sidecar *s, struct MDB_txn *txn);
BESOM_API besom_status besom_sidecar_lmdb_abort(besom_sidecar *s, struct MDB_txn *txn);

/* -------------------------------------------------------------- RocksDB (libbesom-rocksdb) */

struct rocksdb_t;
struct rocksdb_column_family_handle_t;
struct rocksdb_writebatch_t;
struct rocksdb_writeoptions_t;

/*
 * Attaches a sidecar to a column family of an open RocksDB.
 *
 * keys  the application's column family; NULL: the default one.
 * log   a column family that nothing else uses; the application creates it
 *       (rocksdb_create_column_family) and opens it with the others.
 *
 * A blind put does not know whether its key is new: set config.keep_removed and tell of every put.
 * Otherwise a key is new if it is absent in the state that the batch makes, its earlier changes
 * included.
 */
typedef struct besom_sidecar_rocksdb_options {
  struct rocksdb_t *db;
  struct rocksdb_column_family_handle_t *keys;
  struct rocksdb_column_family_handle_t *log;
} besom_sidecar_rocksdb_options;

/* config.keys and config.log are not read. Errors: as besom_sidecar_open. */
BESOM_API besom_status besom_sidecar_rocksdb_sized(const besom_sidecar_config *config,
                                                   size_t config_size, size_t filter_size,
                                                   const besom_sidecar_rocksdb_options *options,
                                                   size_t size, const char *path,
                                                   const char **reason, besom_sidecar **out);
static inline besom_status besom_sidecar_rocksdb(const besom_sidecar_config *config,
                                                 const besom_sidecar_rocksdb_options *options,
                                                 const char *path, const char **reason,
                                                 besom_sidecar **out) {
  return besom_sidecar_rocksdb_sized(config, sizeof *config, sizeof(besom_config), options,
                                     sizeof *options, path, reason, out);
}

/*
 * Logs into the batch, writes it, and ends the transaction. To drop a batch: besom_sidecar_end with
 * BESOM_SIDECAR_ABORTED. If it fails before it writes (INVALID: no transaction, or options disable
 * the write-ahead log; FULL, NO_MEMORY), the transaction stays open. If RocksDB fails, it has ended
 * as BESOM_SIDECAR_UNKNOWN.
 */
BESOM_API besom_status besom_sidecar_rocksdb_write(besom_sidecar *s,
                                                   const struct rocksdb_writeoptions_t *options,
                                                   struct rocksdb_writebatch_t *batch);

#ifdef __cplusplus
}
#endif

#endif
