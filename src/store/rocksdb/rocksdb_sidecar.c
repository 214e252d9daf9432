/*
 * A sidecar of a column family in RocksDB: its log is another column family of the same database,
 * and is written by the application's write batches.
 */
#include "besom_sidecar.h"
#include "rocksdb_errors.h"

struct rocksdb_sidecar {
  besom_allocator allocator;
  rocksdb_t *db;
  rocksdb_column_family_handle_t *keys, *log; /* keys NULL: the default column family */
  rocksdb_readoptions_t *scan_options;        /* of the scan of all keys: fills no cache */
  rocksdb_iterator_t *scan;                   /* NULL if none runs */
  bool scan_started;
};

/* ------------------------------------------------------------------ the scan of all keys */

static void rocksdb_sidecar_scan_end(void *ctx) {
  struct rocksdb_sidecar *r = ctx;
  if (r->scan) rocksdb_iter_destroy(r->scan);
  r->scan = NULL;
}

/* An iterator reads the state at the time when it was made. */
static besom_status rocksdb_sidecar_keys_rewind(void *ctx) {
  struct rocksdb_sidecar *r = ctx;
  rocksdb_sidecar_scan_end(r);
  r->scan_started = false;
  r->scan = r->keys ? rocksdb_create_iterator_cf(r->db, r->scan_options, r->keys)
                    : rocksdb_create_iterator(r->db, r->scan_options);
  rocksdb_iter_seek_to_first(r->scan);
  return BESOM_OK;
}

/* The key of the call before was borrowed until now: only now the iterator moves on. */
static besom_status rocksdb_sidecar_keys_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  struct rocksdb_sidecar *r = ctx;
  if (r->scan_started) rocksdb_iter_next(r->scan);
  r->scan_started = true;
  if (rocksdb_iter_valid(r->scan)) {
    key->data = rocksdb_iter_key(r->scan, &key->len);
    return BESOM_OK;
  }
  char *error = NULL;
  rocksdb_iter_get_error(r->scan, &error);
  rocksdb_sidecar_scan_end(r);
  besom_status status = rocksdb_status(error);
  return status == BESOM_OK ? BESOM_END : status;
}

/* An estimate: the filter grows if there are more. */
static uint64_t number_of_keys(const struct rocksdb_sidecar *r) {
  static const char name[] = "rocksdb.estimate-num-keys";
  uint64_t n = 0;
  int failed = r->keys ? rocksdb_property_int_cf(r->db, r->keys, name, &n)
                       : rocksdb_property_int(r->db, name, &n);
  return failed ? 0 : n;
}

/* ------------------------------------------------------------------ the log */

static besom_status rocksdb_sidecar_log_put(void *ctx, void *txn, besom_bytes key,
                                            besom_bytes value) {
  const struct rocksdb_sidecar *r = ctx;
  rocksdb_writebatch_put_cf(txn, r->log, key.data, key.len, value.data, value.len);
  return BESOM_OK;
}

/* A batch is not read: the log's own records of it are those that this sidecar has put there. */
static besom_status rocksdb_sidecar_log_get(void *ctx, void *txn, besom_bytes key,
                                            besom_table_visit visit, void *visit_ctx) {
  (void)txn;
  const struct rocksdb_sidecar *r = ctx;
  char *error = NULL;
  rocksdb_pinnableslice_t *slice =
      rocksdb_get_pinned_cf(r->db, r->scan_options, r->log, key.data, key.len, &error);
  besom_status status = rocksdb_status(error);
  if (!slice) return status;
  besom_record record = {.key = key};
  record.value.data = rocksdb_pinnableslice_value(slice, &record.value.len);
  if (status == BESOM_OK) status = visit(visit_ctx, &record);
  rocksdb_pinnableslice_destroy(slice);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status rocksdb_sidecar_log_remove(void *ctx, void *txn, besom_bytes key) {
  const struct rocksdb_sidecar *r = ctx;
  rocksdb_writebatch_delete_cf(txn, r->log, key.data, key.len);
  return BESOM_OK;
}

static besom_status rocksdb_sidecar_log_scan(void *ctx, besom_bytes from, besom_table_visit visit,
                                             void *visit_ctx) {
  const struct rocksdb_sidecar *r = ctx;
  rocksdb_iterator_t *at = rocksdb_create_iterator_cf(r->db, r->scan_options, r->log);
  rocksdb_iter_seek(at, from.data, from.len);
  besom_status status = rocksdb_walk(at, visit, visit_ctx);
  rocksdb_iter_destroy(at);
  return status;
}

static besom_status rocksdb_sidecar_log_update(void *ctx,
                                               besom_status (*change)(void *change_ctx, void *txn),
                                               void *change_ctx) {
  const struct rocksdb_sidecar *r = ctx;
  char *error = NULL;
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
  besom_status status = change(change_ctx, batch);
  if (status == BESOM_OK) {
    rocksdb_write(r->db, options, batch, &error);
    status = rocksdb_status(error);
  }
  rocksdb_writeoptions_destroy(options);
  rocksdb_writebatch_destroy(batch);
  return status;
}

static besom_status rocksdb_sidecar_log_sync(void *ctx) {
  const struct rocksdb_sidecar *r = ctx;
  char *error = NULL;
  rocksdb_flush_wal(r->db, 1, &error);
  return rocksdb_status(error);
}

static void rocksdb_sidecar_log_close(void *ctx) {
  struct rocksdb_sidecar *r = ctx;
  rocksdb_sidecar_scan_end(r);
  rocksdb_readoptions_destroy(r->scan_options);
  besom_allocator allocator = r->allocator;
  allocator.release(allocator.ctx, r, sizeof *r);
}

/* ------------------------------------------------------------------ opening */

static besom_status rocksdb_sidecar_fail(besom_status status, const char **reason,
                                         const char *sentence) {
  *reason = sentence;
  return status;
}

static besom_status rocksdb_sidecar_attach(struct rocksdb_sidecar *r, besom_sidecar_config config,
                                           size_t filter_size, const char *path,
                                           const char **reason, besom_sidecar **out) {
  besom_source keys = {.next = rocksdb_sidecar_keys_next,
                       .rewind = rocksdb_sidecar_keys_rewind,
                       .size_hint = number_of_keys(r),
                       .ctx = r};
  besom_sidecar_log log = {.size = sizeof log,
                           .put = rocksdb_sidecar_log_put,
                           .remove = rocksdb_sidecar_log_remove,
                           .scan = rocksdb_sidecar_log_scan,
                           .update = rocksdb_sidecar_log_update,
                           .sync = rocksdb_sidecar_log_sync,
                           .close = rocksdb_sidecar_log_close,
                           .ctx = r,
                           .end_scan = rocksdb_sidecar_scan_end,
                           .get = rocksdb_sidecar_log_get};
  config.keys = &keys;
  config.log = &log;
  return besom_sidecar_open_sized(&config, sizeof config, filter_size, path, reason, out);
}

besom_status besom_sidecar_rocksdb_sized(const besom_sidecar_config *given, size_t config_size,
                                         size_t filter_size,
                                         const besom_sidecar_rocksdb_options *given_options,
                                         size_t size, const char *path, const char **reason,
                                         besom_sidecar **out) {
  const char *unused;
  besom_sidecar_config config = {0};
  besom_sidecar_rocksdb_options options;
  if (!reason) reason = &unused;
  *reason = "an argument is NULL";
  if (!given_options || !path || !out) return BESOM_INVALID;
  if (given) besom_copy_struct(&config, sizeof config, given, config_size);
  besom_copy_struct(&options, sizeof options, given_options, size);
  if (!options.db || !options.log) return BESOM_INVALID;
  if (options.log == options.keys)
    return rocksdb_sidecar_fail(BESOM_INVALID, reason, "the log needs a column family of its own");
  const besom_allocator *allocator = besom_default_allocator();
  if (config.filter && filter_size > offsetof(besom_config, allocator) && config.filter->allocator)
    allocator = config.filter->allocator;
  if (!allocator->allocate || !allocator->release) return BESOM_INVALID;
  struct rocksdb_sidecar *r = allocator->allocate(allocator->ctx, sizeof *r);
  if (!r) return rocksdb_sidecar_fail(BESOM_NO_MEMORY, reason, "out of memory");
  *r = (struct rocksdb_sidecar){
      .allocator = *allocator, .db = options.db, .keys = options.keys, .log = options.log};
  r->scan_options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_fill_cache(r->scan_options, 0);
  besom_status status = rocksdb_sidecar_attach(r, config, filter_size, path, reason, out);
  if (status != BESOM_OK) rocksdb_sidecar_log_close(r);
  return status;
}

/* ------------------------------------------------------------------ writing */

/*
 * Without the write-ahead log, RocksDB would write the two column families at different times, and
 * a crash could leave keys without their records in the log.
 */
besom_status besom_sidecar_rocksdb_write(besom_sidecar *s,
                                         const struct rocksdb_writeoptions_t *options,
                                         struct rocksdb_writebatch_t *batch) {
  const struct rocksdb_sidecar *r = besom_sidecar_log_ctx(s);
  if (!r || !options || !batch) return BESOM_INVALID;
  if (rocksdb_writeoptions_get_disable_WAL((rocksdb_writeoptions_t *)options)) return BESOM_INVALID;
  besom_status status = besom_sidecar_log_to(s, batch);
  if (status != BESOM_OK) return status;
  char *error = NULL;
  rocksdb_write(r->db, options, batch, &error);
  besom_sidecar_end(s, error ? BESOM_SIDECAR_UNKNOWN : BESOM_SIDECAR_COMMITTED);
  return rocksdb_status(error);
}
