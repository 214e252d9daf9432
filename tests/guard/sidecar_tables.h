/*
 * Applications with a table in a database of this build, and a sidecar beside it. Databases of
 * earlier releases (tests/releases) have the names that are given here.
 */
#ifndef BESOM_TESTS_SIDECAR_TABLES_H
#define BESOM_TESTS_SIDECAR_TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "besom_sidecar.h"

typedef struct table {
  void *env;    /* MDB_env, rocksdb_t */
  void *txn;    /* MDB_txn, rocksdb_writebatch_t */
  unsigned dbi; /* LMDB */
  void *handles[3];
  besom_sidecar *sidecar;
} table;

typedef struct table_ops {
  const char *name;
  table (*open)(const char *directory, besom_sidecar_config *config, const char *file);
  void (*begin)(table *db);
  void (*change)(table *db, besom_bytes key, bool present); /* puts or deletes it */
  void (*end)(table *db, bool commit);
  void (*for_each)(table *db, void (*visit)(void *ctx, besom_bytes key), void *ctx);
  void (*close)(table *db);
} table_ops;

static inline void table_check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

#ifdef BESOM_TEST_LMDB
#include <lmdb.h>

static bool lmdb_table_every_commit; /* the option every_commit */

/* MDB_NOSYNC: the kill of a process loses no page that was written. */
static inline table lmdb_open(const char *directory, besom_sidecar_config *config,
                              const char *file) {
  table db = {0};
  MDB_env *env;
  MDB_txn *txn;
  MDB_dbi dbi;
  const char *reason = "";
  mkdir(directory, 0777);
  table_check(mdb_env_create(&env) == 0, "an environment");
  mdb_env_set_mapsize(env, (size_t)1 << 28);
  mdb_env_set_maxdbs(env, 2);
  table_check(mdb_env_open(env, directory, MDB_NOSYNC, 0666) == 0, "opening the environment");
  table_check(mdb_txn_begin(env, NULL, 0, &txn) == 0, "a transaction");
  table_check(mdb_dbi_open(txn, "keys", MDB_CREATE, &dbi) == 0, "opening the table");
  table_check(mdb_txn_commit(txn) == 0, "committing");
  besom_sidecar_lmdb_options options = {
      .env = env, .table = dbi, .every_commit = lmdb_table_every_commit};
  besom_status status = besom_sidecar_lmdb(config, &options, file, &reason, &db.sidecar);
  table_check(status == BESOM_OK, reason);
  db.env = env;
  db.dbi = dbi;
  return db;
}

static inline void lmdb_begin(table *db) {
  MDB_txn *txn;
  table_check(mdb_txn_begin(db->env, NULL, 0, &txn) == 0, "a transaction");
  table_check(besom_sidecar_begin(db->sidecar) == BESOM_OK, "begin");
  db->txn = txn;
}

static inline void lmdb_change(table *db, besom_bytes key, bool present) {
  besom_status status =
      present ? besom_sidecar_lmdb_put(db->sidecar, db->txn, key, (besom_bytes){"v", 1})
              : besom_sidecar_lmdb_del(db->sidecar, db->txn, key);
  table_check(status == BESOM_OK || (!present && status == BESOM_NOT_FOUND),
              besom_strerror(status));
}

static inline void lmdb_end(table *db, bool commit) {
  besom_status status = commit ? besom_sidecar_lmdb_commit(db->sidecar, db->txn)
                               : besom_sidecar_lmdb_abort(db->sidecar, db->txn);
  table_check(status == BESOM_OK, "the end of a transaction");
}

static inline void lmdb_for_each(table *db, void (*visit)(void *ctx, besom_bytes key), void *ctx) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  table_check(mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn) == 0, "a transaction");
  table_check(mdb_cursor_open(txn, db->dbi, &cursor) == 0, "a cursor");
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
    visit(ctx, (besom_bytes){key.mv_data, key.mv_size});
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

static inline void lmdb_close(table *db) {
  table_check(besom_sidecar_close(db->sidecar) == BESOM_OK, "closing the sidecar");
  mdb_env_close(db->env);
}

static const table_ops lmdb_table = {"lmdb",   lmdb_open,     lmdb_begin, lmdb_change,
                                     lmdb_end, lmdb_for_each, lmdb_close};
#endif

#ifdef BESOM_TEST_ROCKSDB
#include <rocksdb/c.h>

enum { KEYS_FAMILY = 0, LOG_FAMILY = 1, WRITE_OPTIONS = 2 }; /* handles */

static inline table rocksdb_table_open(const char *directory, besom_sidecar_config *config,
                                       const char *file) {
  static const char *const names[] = {"default", "besom-sidecar"};
  table db = {0};
  const char *reason = "";
  char *error = NULL;
  rocksdb_column_family_handle_t *families[2];
  rocksdb_options_t *options = rocksdb_options_create();
  const rocksdb_options_t *both[] = {options, options};
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_write_buffer_size(options, 100000);
  db.env = rocksdb_open_column_families(options, directory, 2, names, both, families, &error);
  table_check(!error, error);
  rocksdb_options_destroy(options);
  db.handles[KEYS_FAMILY] = families[0];
  db.handles[LOG_FAMILY] = families[1];
  db.handles[WRITE_OPTIONS] = rocksdb_writeoptions_create();
  besom_sidecar_rocksdb_options where = {.db = db.env, .log = families[1]};
  besom_status status = besom_sidecar_rocksdb(config, &where, file, &reason, &db.sidecar);
  table_check(status == BESOM_OK, reason);
  return db;
}

static inline void rocksdb_table_begin(table *db) {
  table_check(besom_sidecar_begin(db->sidecar) == BESOM_OK, "begin");
  db->txn = rocksdb_writebatch_create();
}

/* The caller changes each key once per transaction. */
static inline void rocksdb_table_change(table *db, besom_bytes key, bool present) {
  size_t len;
  char *error = NULL;
  rocksdb_readoptions_t *options = rocksdb_readoptions_create();
  char *value = rocksdb_get(db->env, options, key.data, key.len, &len, &error);
  besom_status status = BESOM_OK;
  table_check(!error, "reading");
  if (present) rocksdb_writebatch_put(db->txn, key.data, key.len, "v", 1);
  if (!present) rocksdb_writebatch_delete(db->txn, key.data, key.len);
  if (present && !value) status = besom_sidecar_insert(db->sidecar, key.data, key.len);
  if (!present && value) status = besom_sidecar_remove(db->sidecar, key.data, key.len);
  table_check(status == BESOM_OK, besom_strerror(status));
  rocksdb_free(value);
  rocksdb_readoptions_destroy(options);
}

static inline void rocksdb_table_end(table *db, bool commit) {
  besom_status status =
      commit ? besom_sidecar_rocksdb_write(db->sidecar, db->handles[WRITE_OPTIONS], db->txn)
             : besom_sidecar_end(db->sidecar, BESOM_SIDECAR_ABORTED);
  table_check(status == BESOM_OK, "the end of a transaction");
  rocksdb_writebatch_destroy(db->txn);
}

static inline void rocksdb_table_for_each(table *db, void (*visit)(void *ctx, besom_bytes key),
                                          void *ctx) {
  rocksdb_readoptions_t *options = rocksdb_readoptions_create();
  rocksdb_iterator_t *at = rocksdb_create_iterator(db->env, options);
  for (rocksdb_iter_seek_to_first(at); rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
    besom_bytes key;
    key.data = rocksdb_iter_key(at, &key.len);
    visit(ctx, key);
  }
  rocksdb_iter_destroy(at);
  rocksdb_readoptions_destroy(options);
}

static inline void rocksdb_table_close(table *db) {
  table_check(besom_sidecar_close(db->sidecar) == BESOM_OK, "closing the sidecar");
  rocksdb_column_family_handle_destroy(db->handles[KEYS_FAMILY]);
  rocksdb_column_family_handle_destroy(db->handles[LOG_FAMILY]);
  rocksdb_writeoptions_destroy(db->handles[WRITE_OPTIONS]);
  rocksdb_close(db->env);
}

static const table_ops rocksdb_table = {
    "rocksdb",         rocksdb_table_open,     rocksdb_table_begin, rocksdb_table_change,
    rocksdb_table_end, rocksdb_table_for_each, rocksdb_table_close};
#endif

/* The list ends with NULL. */
static const table_ops *const all_tables[] = {
#ifdef BESOM_TEST_LMDB
    &lmdb_table,
#endif
#ifdef BESOM_TEST_ROCKSDB
    &rocksdb_table,
#endif
    NULL,
};

#endif
