/* Applications with a table in a database of this build, and a sidecar beside it. */
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
  besom_sidecar_lmdb_options options = {.env = env, .table = dbi};
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
  table_check(status == BESOM_OK || (!present && status == BESOM_NOT_FOUND), "a change");
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

/* The list ends with NULL. */
static const table_ops *const all_tables[] = {
#ifdef BESOM_TEST_LMDB
    &lmdb_table,
#endif
    NULL,
};

#endif
