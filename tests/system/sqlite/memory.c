/*
 * memory.c STRIDE: the N-th allocation fails: of the library (filter.N), for every N, and of SQLite
 * and the extension (malloc.N), for every STRIDE-th N. Every statement succeeds or is "out of
 * memory"; nothing leaks, and later the guard agrees with its table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "support/failing_allocator.h"

extern const besom_allocator *besom__sql_allocator;

/* ------------------------------------------------------------------ allocations of SQLite */

static sqlite3_mem_methods real;
static uint64_t calls, fail_at;

static bool fails(void) {
  return ++calls == fail_at;
}

static void *failing_malloc(int n) {
  return fails() ? NULL : real.xMalloc(n);
}

static void *failing_realloc(void *p, int n) {
  return fails() ? NULL : real.xRealloc(p, n);
}

static void install(void) {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
  sqlite3_mem_methods methods = real;
  methods.xMalloc = failing_malloc;
  methods.xRealloc = failing_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

/* ------------------------------------------------------------------ the scenario */

static const char *const statements[] = {
    "CREATE VIRTUAL TABLE g USING besom_guard(t, k, fpr=0.1)",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM g WHERE g.k = t.k || '')",
    "INSERT INTO t(k) VALUES ('new'), (NULL)",
    "SELECT count(*) FROM g WHERE k IN ('new', 'absent', 7)",
    "BEGIN; UPDATE t SET k = 'other' WHERE k = 'new'; SELECT 1 FROM g WHERE k = 'other'; ROLLBACK",
    "INSERT INTO g(g) VALUES ('checkpoint')",
    "INSERT INTO g(g) VALUES ('rebuild')",
    "SELECT besom_info('g')",
    "ALTER TABLE g RENAME TO h",
    "ALTER TABLE h RENAME TO g",
    "SELECT besom_save('f', besom_build(k, 'fpr=0.1,hash=sip')) FROM t",
    "SELECT sum(besom_has('f', k)) FROM t",
    "SELECT besom_add('f', besom_keys(k || '.')) FROM t",
    "SELECT besom_report('f', 'x'), besom_remove('f', 'k1')",
    "SELECT besom_info('f'), besom_merge(data) FROM besom_filters",
};

/* Opens a database and runs all statements. Returns how many were out of memory. */
static int run_all(sqlite3 *db) {
  int failed = 0;
  char *error = NULL;
  int rc = besom_sqlite_init(db, &error, NULL);
  sqlite3_free(error);
  check(rc == SQLITE_OK || rc == SQLITE_NOMEM, "%d", rc);
  if (rc != SQLITE_OK) return 1;
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    rc = sqlite3_exec(db, statements[i], NULL, NULL, NULL);
    /* After a failure, what it should have created is missing. */
    check(rc == SQLITE_OK || rc == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM || failed, "%s: %d %s",
          statements[i], rc, sqlite3_errmsg(db));
    failed += rc != SQLITE_OK;
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  }
  return failed;
}

static sqlite3 *new_database(void) {
  sqlite3 *db = db_open(":memory:", false);
  db_run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT); CREATE INDEX i ON t(k); "
             "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 40) "
             "INSERT INTO t(k) SELECT 'k' || x FROM c");
  return db;
}

static void agree(sqlite3 *db) {
  check(besom_sqlite_init(db, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  db_try(db, "ALTER TABLE h RENAME TO g");
  db_try(db, "CREATE VIRTUAL TABLE g USING besom_guard(t, k, fpr=0.1)");
  db_run(db, "INSERT INTO t(k) VALUES ('last')");
  check(db_number(db, "SELECT count(*) FROM t WHERE k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM g "
                      "WHERE g.k = t.k || '')") == 0,
        "%s", "a key is missing");
}

/* Fails the N-th allocation, from 1, until no allocation fails. */
static uint64_t fail_each(failing_allocator *filters, unsigned stride) {
  for (uint64_t n = 1;; n += stride) {
    sqlite3 *db = new_database();
    sqlite3_int64 used = 0;
    calls = 0;
    fail_at = filters ? 0 : n;
    if (filters) {
      filters->calls = 0;
      filters->fail_at = n;
    }
    int failed = run_all(db);
    fail_at = 0;
    bool done = filters ? filters->calls < n : calls < n;
    if (filters) filters->fail_at = 0;
    check(!done || !failed, "%d statements failed without cause", failed);
    agree(db);
    db_close(db);
    check((used = sqlite3_memory_used()) == 0, "allocation %llu: %lld bytes leaked",
          (unsigned long long)n, (long long)used);
    if (done) return n;
  }
}

int main(int argc, char **argv) {
  failing_allocator filters;
  install();
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  failing_allocator_init(&filters);
  besom__sql_allocator = &filters.api;
  printf("filter.%llu\n", (unsigned long long)fail_each(&filters, 1));
  printf("malloc.%llu\n",
         (unsigned long long)fail_each(NULL, argc > 1 ? (unsigned)atoi(argv[1]) : 1));
  const char *verdict = failing_allocator_verdict(&filters);
  check(!verdict, "%s", verdict);
  failing_allocator_close(&filters);
  return 0;
}
