/*
 * A sidecar of a table in LMDB: its log is another database of the same environment, and is written
 * by the application's transactions.
 */
#define _GNU_SOURCE /* statvfs */
#include "besom_sidecar.h"
#include "lmdb_errors.h"

#define DEFAULT_LOG_NAME "besom-sidecar"

struct lmdb_sidecar {
  besom_allocator allocator;
  MDB_env *env;
  MDB_dbi table, log;
  MDB_txn *scan_txn; /* of the scan of all keys; NULL if none runs */
  MDB_cursor *scan_cursor;
  bool scan_started;
  bool every_commit;
};

static besom_status lmdb_sidecar_status_of(MDB_env *env, int error) {
  if (error == EINVAL) return BESOM_INVALID; /* of the application's transaction or table */
  besom_status status = lmdb_status(error);
  return status == BESOM_IO && lmdb_disk_is_full(env) ? BESOM_DISK_FULL : status;
}

/* ------------------------------------------------------------------ the scan of all keys */

static void lmdb_sidecar_scan_end(void *ctx) {
  struct lmdb_sidecar *l = ctx;
  if (l->scan_cursor) mdb_cursor_close(l->scan_cursor);
  if (l->scan_txn) mdb_txn_abort(l->scan_txn);
  l->scan_cursor = NULL;
  l->scan_txn = NULL;
}

static besom_status lmdb_sidecar_keys_rewind(void *ctx) {
  struct lmdb_sidecar *l = ctx;
  lmdb_sidecar_scan_end(l);
  l->scan_started = false;
  int error = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &l->scan_txn);
  if (!error) error = mdb_cursor_open(l->scan_txn, l->table, &l->scan_cursor);
  if (error) lmdb_sidecar_scan_end(l);
  return lmdb_sidecar_status_of(l->env, error);
}

static besom_status lmdb_sidecar_keys_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  struct lmdb_sidecar *l = ctx;
  MDB_val at, value;
  int error =
      mdb_cursor_get(l->scan_cursor, &at, &value, l->scan_started ? MDB_NEXT_NODUP : MDB_FIRST);
  l->scan_started = true;
  if (!error) {
    *key = from_lmdb(at);
    return BESOM_OK;
  }
  lmdb_sidecar_scan_end(l);
  return error == MDB_NOTFOUND ? BESOM_END : lmdb_sidecar_status_of(l->env, error);
}

/* ------------------------------------------------------------------ the log */

static besom_status lmdb_sidecar_log_put(void *ctx, void *txn, besom_bytes key, besom_bytes value) {
  const struct lmdb_sidecar *l = ctx;
  MDB_val k = to_lmdb(key), v = to_lmdb(value);
  return lmdb_sidecar_status_of(l->env, mdb_put(txn, l->log, &k, &v, 0));
}

static besom_status lmdb_sidecar_log_get(void *ctx, void *txn, besom_bytes key,
                                         besom_table_visit visit, void *visit_ctx) {
  const struct lmdb_sidecar *l = ctx;
  MDB_val k = to_lmdb(key), v;
  MDB_txn *read = NULL;
  int error = txn ? 0 : mdb_txn_begin(l->env, NULL, MDB_RDONLY, &read);
  if (error) return lmdb_sidecar_status_of(l->env, error);
  error = mdb_get(txn ? txn : read, l->log, &k, &v);
  besom_status status = error == MDB_NOTFOUND ? BESOM_OK : lmdb_sidecar_status_of(l->env, error);
  if (!error) status = visit(visit_ctx, &(besom_record){key, from_lmdb(v)});
  if (read) mdb_txn_abort(read);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status lmdb_sidecar_log_remove(void *ctx, void *txn, besom_bytes key) {
  const struct lmdb_sidecar *l = ctx;
  MDB_val k = to_lmdb(key);
  int error = mdb_del(txn, l->log, &k, NULL);
  return error == MDB_NOTFOUND ? BESOM_OK : lmdb_sidecar_status_of(l->env, error);
}

static besom_status lmdb_sidecar_walk(const struct lmdb_sidecar *l, MDB_cursor *cursor,
                                      MDB_val from, besom_table_visit visit, void *visit_ctx) {
  MDB_val key = from, value;
  besom_status status = BESOM_OK;
  int error = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  while (!error && status == BESOM_OK) {
    status = visit(visit_ctx, &(besom_record){from_lmdb(key), from_lmdb(value)});
    if (status == BESOM_OK) error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  if (status != BESOM_OK) return status == BESOM_END ? BESOM_OK : status;
  return error == MDB_NOTFOUND ? BESOM_OK : lmdb_sidecar_status_of(l->env, error);
}

static besom_status lmdb_sidecar_log_scan(void *ctx, besom_bytes from, besom_table_visit visit,
                                          void *visit_ctx) {
  const struct lmdb_sidecar *l = ctx;
  MDB_txn *txn;
  MDB_cursor *cursor;
  int error = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);
  if (error) return lmdb_sidecar_status_of(l->env, error);
  error = mdb_cursor_open(txn, l->log, &cursor);
  besom_status status = lmdb_sidecar_status_of(l->env, error);
  if (!error) {
    status = lmdb_sidecar_walk(l, cursor, to_lmdb(from), visit, visit_ctx);
    mdb_cursor_close(cursor);
  }
  mdb_txn_abort(txn);
  return status;
}

static besom_status lmdb_sidecar_log_update(void *ctx,
                                            besom_status (*change)(void *change_ctx, void *txn),
                                            void *change_ctx) {
  const struct lmdb_sidecar *l = ctx;
  MDB_txn *txn;
  int error = mdb_txn_begin(l->env, NULL, 0, &txn);
  if (error) return lmdb_sidecar_status_of(l->env, error);
  besom_status status = change(change_ctx, txn);
  if (status == BESOM_OK) return lmdb_sidecar_status_of(l->env, mdb_txn_commit(txn));
  mdb_txn_abort(txn);
  return status;
}

static besom_status lmdb_sidecar_log_sync(void *ctx) {
  const struct lmdb_sidecar *l = ctx;
  return lmdb_sidecar_status_of(l->env, mdb_env_sync(l->env, 1));
}

/* The number of the snapshot that a read gets now. While another process commits, mdb_env_info may
   already tell the next one. */
static uint64_t lmdb_sidecar_snapshot_number(MDB_env *env) {
  MDB_txn *txn;
  if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0) return 0;
  uint64_t number = mdb_txn_id(txn);
  mdb_txn_abort(txn);
  return number;
}

static uint64_t log_number(void *ctx, void *txn) {
  const struct lmdb_sidecar *l = ctx;
  return txn ? mdb_txn_id(txn) : lmdb_sidecar_snapshot_number(l->env);
}

static void lmdb_sidecar_log_close(void *ctx) {
  struct lmdb_sidecar *l = ctx;
  lmdb_sidecar_scan_end(l);
  besom_allocator allocator = l->allocator;
  allocator.release(allocator.ctx, l, sizeof *l);
}

/* ------------------------------------------------------------------ opening */

static besom_status lmdb_sidecar_fail(besom_status status, const char **reason,
                                      const char *sentence) {
  *reason = sentence;
  return status;
}

/* Opens both databases. A transaction that creates nothing is not committed by LMDB. */
static besom_status open_log(struct lmdb_sidecar *l, const char *name, uint64_t *entries,
                             bool *exact, const char **reason) {
  MDB_txn *txn;
  MDB_stat stat;
  unsigned flags = 0;
  int error = mdb_txn_begin(l->env, NULL, 0, &txn);
  if (error)
    return lmdb_sidecar_fail(lmdb_sidecar_status_of(l->env, error), reason,
                             "the environment cannot be written");
  if ((error = mdb_stat(txn, l->table, &stat)) != 0) {
    mdb_txn_abort(txn);
    return lmdb_sidecar_fail(lmdb_sidecar_status_of(l->env, error), reason,
                             "table is not the handle of an open database");
  }
  error = mdb_dbi_flags(txn, l->table, &flags);
  *exact = !error && !(flags & MDB_DUPSORT); /* else each value of a key is an entry */
  error = mdb_dbi_open(txn, name, MDB_CREATE, &l->log);
  if (error)
    mdb_txn_abort(txn);
  else
    error = mdb_txn_commit(txn);
  *entries = stat.ms_entries;
  if (error == MDB_DBS_FULL)
    return lmdb_sidecar_fail(BESOM_INVALID, reason,
                             "mdb_env_set_maxdbs leaves no room for the log's database");
  return lmdb_sidecar_fail(lmdb_sidecar_status_of(l->env, error), reason,
                           "the log's database cannot be opened or created");
}

static besom_status lmdb_sidecar_attach(struct lmdb_sidecar *l, besom_sidecar_config config,
                                        size_t filter_size,
                                        const besom_sidecar_lmdb_options *options, const char *path,
                                        const char **reason, besom_sidecar **out) {
  besom_source keys = {
      .next = lmdb_sidecar_keys_next, .rewind = lmdb_sidecar_keys_rewind, .ctx = l};
  besom_sidecar_log log = {.size = sizeof log,
                           .put = lmdb_sidecar_log_put,
                           .remove = lmdb_sidecar_log_remove,
                           .scan = lmdb_sidecar_log_scan,
                           .update = lmdb_sidecar_log_update,
                           .sync = lmdb_sidecar_log_sync,
                           .number = options->every_commit ? log_number : NULL,
                           .close = lmdb_sidecar_log_close,
                           .ctx = l,
                           .end_scan = lmdb_sidecar_scan_end,
                           .get = lmdb_sidecar_log_get};
  const char *name = options->log_name ? options->log_name : DEFAULT_LOG_NAME;
  besom_status status = open_log(l, name, &keys.size_hint, &config.exact_size_hint, reason);
  if (status != BESOM_OK) return status;
  config.keys = &keys;
  config.log = &log;
  return besom_sidecar_open_sized(&config, sizeof config, filter_size, path, reason, out);
}

besom_status besom_sidecar_lmdb_sized(const besom_sidecar_config *given, size_t config_size,
                                      size_t filter_size,
                                      const besom_sidecar_lmdb_options *given_options, size_t size,
                                      const char *path, const char **reason, besom_sidecar **out) {
  const char *unused;
  besom_sidecar_config config = {0};
  besom_sidecar_lmdb_options options;
  if (!reason) reason = &unused;
  *reason = "an argument is NULL";
  if (!given_options || !path || !out) return BESOM_INVALID;
  if (given) besom_copy_struct(&config, sizeof config, given, config_size);
  besom_copy_struct(&options, sizeof options, given_options, size);
  if (!options.env) return BESOM_INVALID;
  if (options.table < 2) /* LMDB's own numbers: 0 is the list of free pages, 1 the unnamed one */
    return lmdb_sidecar_fail(
        BESOM_INVALID, reason,
        "table is the unnamed database, whose records would include the log's name");
  const besom_allocator *allocator = besom_default_allocator();
  if (config.filter && filter_size > offsetof(besom_config, allocator) && config.filter->allocator)
    allocator = config.filter->allocator;
  if (!allocator->allocate || !allocator->release) return BESOM_INVALID;
  struct lmdb_sidecar *l = allocator->allocate(allocator->ctx, sizeof *l);
  if (!l) return lmdb_sidecar_fail(BESOM_NO_MEMORY, reason, "out of memory");
  l->allocator = *allocator;
  l->env = options.env;
  l->table = options.table;
  l->every_commit = options.every_commit;
  besom_status status = lmdb_sidecar_attach(l, config, filter_size, &options, path, reason, out);
  if (status != BESOM_OK) lmdb_sidecar_log_close(l);
  return status;
}

/* ------------------------------------------------------------------ records of the application */

/* A record whose key the sidecar cannot take is not stored. */
static besom_status lmdb_sidecar_put_new(besom_sidecar *s, const struct lmdb_sidecar *l,
                                         MDB_txn *txn, MDB_val key) {
  besom_status status = besom_sidecar_insert(s, key.mv_data, key.mv_size);
  if (status != BESOM_OK) mdb_del(txn, l->table, &key, NULL);
  return status;
}

besom_status besom_sidecar_lmdb_put(besom_sidecar *s, struct MDB_txn *txn, besom_bytes key,
                                    besom_bytes value) {
  const struct lmdb_sidecar *l = besom_sidecar_log_ctx(s);
  if (!l || !txn) return BESOM_INVALID;
  MDB_val k = to_lmdb(key), there = to_lmdb(value), v = there;
  int error = mdb_put(txn, l->table, &k, &there, MDB_NOOVERWRITE);
  if (error == 0) return lmdb_sidecar_put_new(s, l, txn, k);
  if (error == MDB_KEYEXIST) error = mdb_put(txn, l->table, &k, &v, 0);
  return lmdb_sidecar_status_of(l->env, error);
}

/* A queue that has no memory for the key: its fingerprint stays, which is harmless. */
besom_status besom_sidecar_lmdb_del(besom_sidecar *s, struct MDB_txn *txn, besom_bytes key) {
  const struct lmdb_sidecar *l = besom_sidecar_log_ctx(s);
  if (!l || !txn) return BESOM_INVALID;
  MDB_val k = to_lmdb(key);
  int error = mdb_del(txn, l->table, &k, NULL);
  if (error == 0) besom_sidecar_remove(s, key.data, key.len);
  return lmdb_sidecar_status_of(l->env, error);
}

/* What a write transaction does not find may be there again if it aborts. While one is open, nobody
   else commits, so that its number is higher than the last. */
static bool is_committed(const struct lmdb_sidecar *l, MDB_txn *txn) {
  MDB_envinfo info;
  return mdb_env_info(l->env, &info) == 0 && mdb_txn_id(txn) <= info.me_last_txnid;
}

static bool may_contain(besom_sidecar *s, const struct lmdb_sidecar *l, MDB_txn *txn,
                        besom_bytes key) {
  return l->every_commit ? besom_sidecar_may_contain_at(s, key.data, key.len, mdb_txn_id(txn))
                         : besom_sidecar_may_contain(s, key.data, key.len);
}

static void lmdb_sidecar_report(besom_sidecar *s, const struct lmdb_sidecar *l, MDB_txn *txn,
                                besom_bytes key, uint64_t point) {
  if (l->every_commit)
    besom_sidecar_report_at(s, key.data, key.len, point, mdb_txn_id(txn));
  else
    besom_sidecar_report(s, key.data, key.len, point);
}

besom_status besom_sidecar_lmdb_get(besom_sidecar *s, struct MDB_txn *txn, besom_bytes key,
                                    uint64_t point, besom_bytes *value) {
  const struct lmdb_sidecar *l = besom_sidecar_log_ctx(s);
  if (!l || !txn || !value) return BESOM_INVALID;
  *value = (besom_bytes){NULL, 0};
  if (!may_contain(s, l, txn, key)) return BESOM_NOT_FOUND;
  MDB_val k = to_lmdb(key), v;
  int error = mdb_get(txn, l->table, &k, &v);
  if (error == 0) *value = from_lmdb(v);
  if (error == MDB_NOTFOUND && is_committed(l, txn)) lmdb_sidecar_report(s, l, txn, key, point);
  return lmdb_sidecar_status_of(l->env, error);
}

besom_status besom_sidecar_lmdb_commit(besom_sidecar *s, struct MDB_txn *txn) {
  const struct lmdb_sidecar *l = besom_sidecar_log_ctx(s);
  if (!l || !txn) return BESOM_INVALID;
  besom_status status = besom_sidecar_log_to(s, txn);
  if (status != BESOM_OK) {
    mdb_txn_abort(txn);
    besom_sidecar_end(s, BESOM_SIDECAR_ABORTED);
    return status;
  }
  int error = mdb_txn_commit(txn);
  besom_sidecar_end(s, error ? BESOM_SIDECAR_UNKNOWN : BESOM_SIDECAR_COMMITTED);
  return lmdb_sidecar_status_of(l->env, error);
}

besom_status besom_sidecar_lmdb_abort(besom_sidecar *s, struct MDB_txn *txn) {
  if (!s || !txn) return BESOM_INVALID;
  mdb_txn_abort(txn);
  return besom_sidecar_end(s, BESOM_SIDECAR_ABORTED);
}
