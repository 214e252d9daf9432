/*
 * model.c [--seed S --amount STEPS]: a part of `make soak`. A random workload of three connections
 * to one database, one of them without the extension. They insert, update, replace and delete
 * rows, in transactions and savepoints that are committed or rolled back, and checkpoint, rebuild,
 * vacuum, reopen and change the schema. The model is the guarded table itself: for every key, the
 * guard and the table must agree, in every connection, at every moment.
 *
 * The filter has a false-positive rate of 1/4, so that keys are reported all the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "support/part.h"

enum { CONNECTIONS = 3, KEYS = 40 };

/* How the database is made. */
struct setting {
  const char *name, *table, *pragma;
};

static const struct setting settings[] = {
    {"integer", "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER UNIQUE, v)",
     "PRAGMA journal_mode = DELETE"},
    {"integer_wal", "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER UNIQUE, v)",
     "PRAGMA journal_mode = WAL"},
    {"text_wal", "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, v); CREATE INDEX i ON t(k)",
     "PRAGMA journal_mode = WAL; PRAGMA recursive_triggers = ON"},
    {"untyped", "CREATE TABLE t(id INTEGER PRIMARY KEY, k, v); CREATE INDEX i ON t(k)",
     "PRAGMA journal_mode = TRUNCATE; PRAGMA recursive_triggers = ON"},
    {"real_wal", "CREATE TABLE t(id INTEGER PRIMARY KEY, k REAL, v); CREATE INDEX i ON t(k)",
     "PRAGMA journal_mode = WAL"},
    {"without_rowid", "CREATE TABLE t(id INTEGER, k ANY PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID",
     "PRAGMA journal_mode = WAL"},
    {"rowid_alias", "CREATE TABLE t(k INTEGER PRIMARY KEY, id INTEGER UNIQUE, v)",
     "PRAGMA journal_mode = DELETE"},
    {"generated",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, w, v, k TEXT AS (w)); CREATE INDEX i ON t(k)",
     "PRAGMA journal_mode = WAL"},
};

struct world {
  const struct setting *setting;
  const char *path;
  sqlite3 *db[CONNECTIONS];
  uint64_t random;
  uint64_t changes, busy, queries, found;
};

static unsigned below(struct world *w, unsigned n) {
  return (unsigned)(next_random(&w->random) % n);
}

/* A key as an SQL literal; several are equal under some affinities. */
static char *literal(struct world *w) {
  unsigned n = below(w, KEYS);
  if (strcmp(w->setting->name, "rowid_alias") == 0) return sqlite3_mprintf("%u", n);
  switch (below(w, 6)) {
  case 0:
    return sqlite3_mprintf("'%s%u'", below(w, 4) ? "" : "0", n);
  case 1:
    return sqlite3_mprintf("%u.0", n);
  case 2:
    return sqlite3_mprintf("%u.5", n);
  case 3:
    return sqlite3_mprintf("CAST('%u' AS BLOB)", n);
  case 4:
    return sqlite3_mprintf("'key %u'", n);
  default:
    return sqlite3_mprintf("%u", n);
  }
}

static bool has_extension(const struct world *w, const sqlite3 *db) {
  return db != w->db[CONNECTIONS - 1];
}

static void open_one(struct world *w, int i) {
  w->db[i] = db_open(w->path, i != CONNECTIONS - 1);
  db_try(w->db[i], "%s", w->setting->pragma); /* it may be locked */
}

/* ------------------------------------------------------------------ the law */

/* Compares guard and table for one key, given as a literal, a parameter or a column. */
static void compare(struct world *w, sqlite3 *db, const char *key) {
  sqlite3_stmt *statement;
  static const char *const forms[] = {
      "SELECT EXISTS (SELECT 1 FROM t WHERE k = %s), EXISTS (SELECT 1 FROM g WHERE k = %s)",
      "SELECT EXISTS (SELECT 1 FROM t WHERE k = a.x), EXISTS (SELECT 1 FROM g WHERE k = a.x) "
      "FROM (SELECT %s AS x WHERE 1 OR %s) AS a",
      "SELECT EXISTS (SELECT 1 FROM t WHERE k = a.x), EXISTS (SELECT 1 FROM g WHERE k = a.x) "
      "FROM (SELECT CAST(%s AS INTEGER) AS x WHERE 1 OR %s) AS a",
      "SELECT EXISTS (SELECT 1 FROM t WHERE k = CAST(%s AS NUMERIC)), "
      "EXISTS (SELECT 1 FROM g WHERE k = CAST(%s AS NUMERIC))",
      "SELECT EXISTS (SELECT 1 FROM t WHERE k = CAST(%s AS TEXT)), "
      "EXISTS (SELECT 1 FROM g WHERE k = CAST(%s AS TEXT))",
      "SELECT (SELECT count(*) FROM t WHERE k IN (%s, 1)), (SELECT count(*) FROM g WHERE k IN (%s, "
      "1))",
  };
  char *sql = sqlite3_mprintf(forms[below(w, 6)], key, key);
  int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(statement);
  if (rc == SQLITE_ROW) {
    int expected = sqlite3_column_int(statement, 0), actual = sqlite3_column_int(statement, 1);
    check(expected == actual, "%s: the table has %d, the guard %d: %s", w->setting->name, expected,
          actual, sql);
    w->queries++;
    w->found += expected != 0;
  } else {
    check(rc == SQLITE_BUSY, "%s: %s", sql, sqlite3_errmsg(db));
    w->busy++;
  }
  sqlite3_finalize(statement);
  sqlite3_free(sql);
}

static void compare_some(struct world *w, sqlite3 *db, unsigned n) {
  while (n--) {
    char *key = literal(w);
    compare(w, db, key);
    sqlite3_free(key);
  }
}

/* ------------------------------------------------------------------ the workload */

static void change(struct world *w, sqlite3 *db) {
  char *a = literal(w), *b = literal(w);
  const char *column = strcmp(w->setting->name, "generated") == 0 ? "w" : "k";
  unsigned id = below(w, KEYS);
  int rc;
  switch (below(w, 9)) {
  case 0:
    rc = db_try(db, "INSERT INTO t(id, %s) VALUES (%u, %s)", column, id, a);
    break;
  case 1:
    rc = db_try(db, "INSERT OR REPLACE INTO t(id, %s) VALUES (%u, %s), (%u, NULL)", column, id, a,
                below(w, KEYS));
    break;
  case 2:
    rc = db_try(db, "INSERT OR IGNORE INTO t(id, %s) VALUES (%u, %s), (%u, %s)", column, id, a,
                below(w, KEYS), b);
    break;
  case 3:
    rc = db_try(db, "UPDATE OR REPLACE t SET %s = %s WHERE k = %s", column, a, b);
    break;
  case 4:
    rc = db_try(db, "UPDATE OR REPLACE t SET id = %u WHERE k = %s", id, b);
    break;
  case 5:
    rc = db_try(db, "INSERT INTO t(id, %s) VALUES (%u, %s) ON CONFLICT DO UPDATE SET %s = %s",
                column, id, a, column, b);
    break;
  case 6:
    rc = db_try(db, "DELETE FROM t WHERE id %% 4 = %u", below(w, 4));
    break;
  case 7:
    rc = has_extension(w, db)
             ? db_try(db,
                      "INSERT INTO t(id, %s) SELECT %u, x FROM (SELECT %s AS x) AS new WHERE NOT "
                      "EXISTS (SELECT 1 FROM g WHERE g.k = new.x)",
                      column, id, a)
             : SQLITE_OK;
    break;
  default:
    rc = db_try(db, "DELETE FROM t WHERE k = %s", a);
    break;
  }
  /* SQLite finds no table while it cannot read the schema again. */
  if (rc == SQLITE_ERROR && !has_extension(w, db)) rc = SQLITE_BUSY;
  check(rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_CONSTRAINT || rc == SQLITE_MISMATCH,
        "%s", sqlite3_errmsg(db));
  w->changes += rc == SQLITE_OK;
  w->busy += rc == SQLITE_BUSY;
  sqlite3_free(a);
  sqlite3_free(b);
}

static void maintain(struct world *w, int i) {
  sqlite3 *db = w->db[i];
  switch (below(w, 6)) {
  case 0:
  case 1:
    if (has_extension(w, db)) db_try(db, "INSERT INTO g(g) VALUES ('checkpoint')");
    break;
  case 2:
    if (has_extension(w, db)) db_try(db, "INSERT INTO g(g) VALUES ('rebuild')");
    break;
  case 3:
    db_try(db, "VACUUM");
    break;
  case 4:
    db_try(db, "CREATE TABLE IF NOT EXISTS other(x)");
    db_try(db, "DROP TABLE IF EXISTS other");
    break;
  default:
    db_try(db, "ROLLBACK");
    db_close(db);
    open_one(w, i);
    break;
  }
}

static void step(struct world *w) {
  int i = (int)below(w, CONNECTIONS);
  sqlite3 *db = w->db[i];
  switch (below(w, 16)) {
  case 0:
    db_try(db, below(w, 2) ? "BEGIN" : "BEGIN IMMEDIATE");
    break;
  case 1:
    db_try(db, "SAVEPOINT s%u", below(w, 3));
    break;
  case 2:
    db_try(db, "ROLLBACK TO s%u", below(w, 3));
    break;
  case 3:
    db_try(db, "RELEASE s%u", below(w, 3));
    break;
  case 4:
  case 5:
    db_try(db, "ROLLBACK");
    break;
  case 6:
  case 7:
    db_try(db, "COMMIT");
    break;
  case 8:
    if (below(w, 8) == 0) maintain(w, i);
    break;
  default:
    change(w, db);
    break;
  }
  for (int c = 0; c < CONNECTIONS - 1; c++)
    if (below(w, 2)) compare_some(w, w->db[c], 4);
}

/* What the filters did in the end; a test in which they do nothing proves nothing. */
static int64_t guard_count(struct world *w, const char *name) {
  int64_t sum = 0;
  for (int i = 0; i < CONNECTIONS - 1; i++) {
    db_try(w->db[i], "ROLLBACK");
    sum += db_number(w->db[i], "SELECT json_extract(besom_info('g'), '$.%s')", name);
  }
  return sum;
}

enum { STEPS = 2000, SETTINGS = sizeof settings / sizeof *settings };

static void run(const struct setting *setting, unsigned steps, uint64_t seed) {
  char *path = db_new_path();
  struct world w = {.setting = setting, .path = path, .random = seed};
  for (int i = 0; i < CONNECTIONS; i++) open_one(&w, i);
  db_run(w.db[0], "%s", setting->table);
  db_run(w.db[0], "CREATE VIRTUAL TABLE g USING besom_guard(t, k, fpr=0.25, reserve=0.5)");
  for (unsigned i = 0; i < steps; i++) step(&w);
  for (int i = 0; i < CONNECTIONS; i++) db_try(w.db[i], "ROLLBACK");
  for (int i = 0; i < CONNECTIONS - 1; i++) compare_some(&w, w.db[i], 200);
  printf("%-14s %llu changes, %llu queries (%llu found), %llu busy", setting->name,
         (unsigned long long)w.changes, (unsigned long long)w.queries, (unsigned long long)w.found,
         (unsigned long long)w.busy);
  printf("; filters: %lld negatives, %lld reports, %lld loads, %lld builds, %lld replayed\n",
         (long long)guard_count(&w, "filter_negatives"), (long long)guard_count(&w, "reported"),
         (long long)guard_count(&w, "loads"), (long long)guard_count(&w, "builds"),
         (long long)guard_count(&w, "replayed"));
  check(w.changes > steps / 20, "%s", "too few changes");
  check(guard_count(&w, "filter_negatives") > 0, "%s", "the filters were not used");
  check(db_number(w.db[0], "PRAGMA integrity_check") == 0, "%s", setting->name);
  for (int i = 0; i < CONNECTIONS; i++) db_close(w.db[i]);
  db_remove(path);
}

int main(int argc, char **argv) {
  uint64_t seed = part_number(argc, argv, "--seed", 1), steps = 0;
  uint64_t amount = part_number(argc, argv, "--amount", SETTINGS * STEPS);
  for (uint64_t i = 0; steps < amount; i++, steps += STEPS)
    run(&settings[i % SETTINGS], STEPS, (seed << 24) + i / SETTINGS);
  printf("{\"steps\": %llu}\n", (unsigned long long)steps);
  return 0;
}
