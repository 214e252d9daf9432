#include "harness/plain_database.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* ------------------------------------------------------------------ LMDB */

#ifdef BENCH_LMDB
#include <lmdb.h>

#define MAP_SIZE (UINT64_C(1) << 36)

struct plain_lmdb {
  MDB_env *env;
  MDB_dbi dbi;
  MDB_txn *read; /* reset between two gets */
};

static void check_lmdb(int error, const char *what) {
  if (error) fail("%s: %s", what, mdb_strerror(error));
}

static void *lmdb_open(const char *directory) {
  struct plain_lmdb *l = allocate(1, sizeof *l);
  MDB_txn *txn;
  check_lmdb(mdb_env_create(&l->env), "creating an environment");
  check_lmdb(mdb_env_set_mapsize(l->env, MAP_SIZE), "setting the map size");
  check_lmdb(mdb_env_open(l->env, directory, MDB_NOTLS | MDB_NORDAHEAD, 0666), "opening LMDB");
  check_lmdb(mdb_txn_begin(l->env, NULL, 0, &txn), "beginning a transaction");
  check_lmdb(mdb_dbi_open(txn, NULL, 0, &l->dbi), "opening a database");
  check_lmdb(mdb_txn_commit(txn), "committing");
  check_lmdb(mdb_txn_begin(l->env, NULL, MDB_RDONLY, &l->read), "beginning to read");
  mdb_txn_reset(l->read);
  return l;
}

static void lmdb_fill(struct plain_lmdb *l, const uint64_t *keys, size_t n) {
  MDB_txn *txn;
  check_lmdb(mdb_txn_begin(l->env, NULL, 0, &txn), "beginning a transaction");
  for (size_t i = 0; i < n; i++) {
    besom_u64_key k = besom_u64(keys[i]);
    uint64_t value[DATABASE_VALUE_BYTES / 8];
    database_value(keys[i], value);
    MDB_val key = {sizeof k.bytes, k.bytes}, data = {sizeof value, value};
    check_lmdb(mdb_put(txn, l->dbi, &key, &data, 0), "storing a key");
  }
  check_lmdb(mdb_txn_commit(txn), "committing");
}

static bool lmdb_get(struct plain_lmdb *l, besom_u64_key k, uint8_t *value) {
  MDB_val key = {sizeof k.bytes, k.bytes}, data;
  check_lmdb(mdb_txn_renew(l->read), "renewing a transaction");
  int error = mdb_get(l->read, l->dbi, &key, &data);
  if (!error) memcpy(value, data.mv_data, DATABASE_VALUE_BYTES);
  mdb_txn_reset(l->read);
  if (error != MDB_NOTFOUND) check_lmdb(error, "reading a key");
  return !error;
}

static void lmdb_close(struct plain_lmdb *l) {
  mdb_txn_abort(l->read);
  mdb_env_close(l->env);
  free(l);
}
#else
struct plain_lmdb;
static void *lmdb_open(const char *directory) {
  (void)directory;
  fail("this besom-bench was built without LMDB");
}
static void lmdb_fill(struct plain_lmdb *l, const uint64_t *keys, size_t n) {
  (void)l, (void)keys, (void)n;
}
static bool lmdb_get(struct plain_lmdb *l, besom_u64_key k, uint8_t *value) {
  (void)l, (void)k, (void)value;
  return false;
}
static void lmdb_close(struct plain_lmdb *l) {
  (void)l;
}
#endif

/* ------------------------------------------------------------------ RocksDB */

#ifdef BENCH_ROCKSDB
#include <rocksdb/c.h>

struct plain_rocksdb {
  rocksdb_t *db;
  rocksdb_options_t *options;
  rocksdb_readoptions_t *read;
  rocksdb_writeoptions_t *write;
};

static void check_rocksdb(const char *error, const char *what) {
  if (error) fail("%s: %s", what, error);
}

static void set_blocks(rocksdb_options_t *options, uint64_t cache_bytes, double bloom_bits) {
  rocksdb_block_based_table_options_t *blocks = rocksdb_block_based_options_create();
  rocksdb_cache_t *cache = rocksdb_cache_create_lru((size_t)cache_bytes);
  rocksdb_block_based_options_set_block_cache(blocks, cache);
  rocksdb_block_based_options_set_filter_policy(blocks,
                                                rocksdb_filterpolicy_create_bloom_full(bloom_bits));
  rocksdb_options_set_block_based_table_factory(options, blocks);
  rocksdb_cache_destroy(cache);
  rocksdb_block_based_options_destroy(blocks);
}

static void *rocksdb_open_plain(const char *directory, uint64_t cache_bytes, double bloom_bits) {
  struct plain_rocksdb *r = allocate(1, sizeof *r);
  char *error = NULL;
  r->options = rocksdb_options_create();
  r->read = rocksdb_readoptions_create();
  r->write = rocksdb_writeoptions_create();
  rocksdb_options_set_create_if_missing(r->options, 1);
  set_blocks(r->options, cache_bytes, bloom_bits);
  r->db = rocksdb_open(r->options, directory, &error);
  check_rocksdb(error, "opening RocksDB");
  return r;
}

/* Closing a database writes its memory to files, to which its filter applies. This does it now. */
static void rocksdb_to_files(struct plain_rocksdb *r) {
  rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
  char *error = NULL;
  rocksdb_flush(r->db, options, &error);
  rocksdb_flushoptions_destroy(options);
  check_rocksdb(error, "flushing");
}

static void rocksdb_fill(struct plain_rocksdb *r, const uint64_t *keys, size_t n) {
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  char *error = NULL;
  for (size_t i = 0; i < n; i++) {
    besom_u64_key k = besom_u64(keys[i]);
    uint64_t value[DATABASE_VALUE_BYTES / 8];
    database_value(keys[i], value);
    rocksdb_writebatch_put(batch, (const char *)k.bytes, sizeof k.bytes, (const char *)value,
                           sizeof value);
  }
  rocksdb_write(r->db, r->write, batch, &error);
  rocksdb_writebatch_destroy(batch);
  check_rocksdb(error, "storing keys");
  rocksdb_to_files(r);
}

static bool rocksdb_get_plain(struct plain_rocksdb *r, besom_u64_key k, uint8_t *value) {
  char *error = NULL;
  rocksdb_pinnableslice_t *slice =
      rocksdb_get_pinned(r->db, r->read, (const char *)k.bytes, sizeof k.bytes, &error);
  check_rocksdb(error, "reading a key");
  if (!slice) return false;
  size_t len;
  memcpy(value, rocksdb_pinnableslice_value(slice, &len), DATABASE_VALUE_BYTES);
  rocksdb_pinnableslice_destroy(slice);
  return true;
}

static void rocksdb_close_plain(struct plain_rocksdb *r) {
  rocksdb_close(r->db);
  rocksdb_options_destroy(r->options);
  rocksdb_readoptions_destroy(r->read);
  rocksdb_writeoptions_destroy(r->write);
  free(r);
}
#else
struct plain_rocksdb;
static void *rocksdb_open_plain(const char *directory, uint64_t cache_bytes, double bloom_bits) {
  (void)directory, (void)cache_bytes, (void)bloom_bits;
  fail("this besom-bench was built without RocksDB");
}
static void rocksdb_fill(struct plain_rocksdb *r, const uint64_t *keys, size_t n) {
  (void)r, (void)keys, (void)n;
}
static bool rocksdb_get_plain(struct plain_rocksdb *r, besom_u64_key k, uint8_t *value) {
  (void)r, (void)k, (void)value;
  return false;
}
static void rocksdb_close_plain(struct plain_rocksdb *r) {
  (void)r;
}
#endif

/* ------------------------------------------------------------------ either */

void plain_database_open(plain_database *p, database_kind database, uint64_t cache_bytes,
                         double bloom_bits) {
  *p = (plain_database){.database = database};
  disk_directory_create(p->directory);
  p->handle = database == LMDB ? lmdb_open(p->directory)
                               : rocksdb_open_plain(p->directory, cache_bytes, bloom_bits);
}

void plain_database_fill(plain_database *p, const uint64_t *keys, size_t n) {
  if (p->database == LMDB)
    lmdb_fill(p->handle, keys, n);
  else
    rocksdb_fill(p->handle, keys, n);
}

bool plain_database_get(plain_database *p, uint64_t key, uint8_t value[DATABASE_VALUE_BYTES]) {
  besom_u64_key k = besom_u64(key);
  return p->database == LMDB ? lmdb_get(p->handle, k, value)
                             : rocksdb_get_plain(p->handle, k, value);
}

void plain_database_close(plain_database *p) {
  if (p->database == LMDB)
    lmdb_close(p->handle);
  else
    rocksdb_close_plain(p->handle);
  disk_directory_remove(p->directory);
}
