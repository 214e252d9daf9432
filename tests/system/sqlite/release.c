/*
 * release.c [--write FILE]: SQLite files of earlier releases, with named filters and guards.
 * Their answers are right, they can be changed, and opened again. With --write, writes the file of
 * this release (tests/releases/write.sh).
 */
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "releases/unpack.h"

/* The releases whose files are kept, in tests/releases/VERSION/sqlite.tar.gz. */
static const char *const releases[] = {"0.2.0"};

/* Keys 1 to 300 without multiples of 7, as text and as integer. The guard of the texts was saved by
   a checkpoint, which a log follows; that of the integers has no checkpoint. The filter "reported"
   answers no to the absent keys. */
static void release_write(const char *path) {
  sqlite3 *db = db_open(path, true);
  db_run(db, "PRAGMA page_size = 1024; "
             "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, n INTEGER); CREATE INDEX tk ON t(k); "
             "CREATE INDEX tn ON t(n); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
             "FROM c WHERE x < 200) INSERT INTO t(k, n) SELECT 'key-' || x, x FROM c; "
             "CREATE VIRTUAL TABLE texts USING besom_guard(t, k, fpr=0.05, capacity=200); "
             "CREATE VIRTUAL TABLE numbers USING besom_guard(t, n, fpr=0.05, hash=sip)");
  db_number(db,
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500) "
            "SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM texts WHERE k = 'absent-' || x)");
  db_run(db, "INSERT INTO texts(texts) VALUES ('checkpoint'); "
             "WITH RECURSIVE c(x) AS (SELECT 201 UNION ALL SELECT x + 1 FROM c WHERE x < 300) "
             "INSERT INTO t(k, n) SELECT 'key-' || x, x FROM c; DELETE FROM t WHERE n %% 7 = 0");
  for (int reported = 0; reported < 2; reported++)
    db_run(db, "SELECT besom_save(%Q, besom_build(k, 'fpr=0.05,reserve=0.2,capacity=500')) FROM t",
           reported ? "reported" : "plain");
  db_run(db, "SELECT besom_save('values', besom_build(n, 'kind=bloom,fpr=0.01')) FROM t; "
             "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500) "
             "SELECT besom_report('reported', besom_keys('absent-' || x)) FROM c");
  db_close(db);
}

/* Rows of x from 1 to 500 for which a condition does not hold. */
static void release_assert_none(sqlite3 *db, const char *condition) {
  int64_t wrong =
      db_number(db,
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500) "
                "SELECT count(*) FROM c WHERE %s",
                condition);
  check(wrong == 0, "%lld of: %s", (long long)wrong, condition);
}

static void release_assert_answers(sqlite3 *db, int64_t rows) {
  check(db_number(db, "SELECT count(*) FROM t") == rows, "%lld rows", (long long)rows);
  release_assert_none(db, "EXISTS (SELECT 1 FROM texts WHERE k = 'key-' || x) != "
                          "EXISTS (SELECT 1 FROM t WHERE +k = 'key-' || x)");
  release_assert_none(db, "EXISTS (SELECT 1 FROM numbers WHERE n = x) != "
                          "EXISTS (SELECT 1 FROM t WHERE +n = x)");
  release_assert_none(db, "EXISTS (SELECT 1 FROM texts WHERE k = 'absent-' || x)");
  release_assert_none(db, "EXISTS (SELECT 1 FROM t WHERE +n = x) AND NOT "
                          "(besom_has('plain', 'key-' || x) AND besom_has('reported', 'key-' || x) "
                          "AND besom_has('values', x))");
  release_assert_none(db, "besom_has('reported', 'absent-' || x)");
}

static int64_t release_info(sqlite3 *db, const char *guard, const char *name) {
  return db_number(db, "SELECT json_extract(besom_info(%Q), '$.%s')", guard, name);
}

/* From the saved filter and the log, not from the keys of the table. */
static void release_assert_loaded(sqlite3 *db) {
  release_assert_none(db, "EXISTS (SELECT 1 FROM texts WHERE k = 'absent-' || x)");
  check(release_info(db, "texts", "loads") == 1, "%s", "the saved filter was not loaded");
  check(release_info(db, "texts", "builds") == 0, "%s", "a filter was built");
  check(release_info(db, "texts", "replayed") == 100 + 300 / 7, "%s", "the log was not replayed");
}

static void release_change(sqlite3 *db) {
  db_run(db, "WITH RECURSIVE c(x) AS (SELECT 301 UNION ALL SELECT x + 1 FROM c WHERE x < 400) "
             "INSERT INTO t(k, n) SELECT 'key-' || x, x FROM c; DELETE FROM t WHERE n %% 7 = 1; "
             "INSERT INTO numbers(numbers) VALUES ('checkpoint'); "
             "SELECT besom_add('plain', besom_keys(k)), besom_add('reported', besom_keys(k)), "
             "besom_add('values', besom_keys(n)) FROM t WHERE n > 300; "
             "SELECT besom_remove('reported', 'key-1'); SELECT besom_report('reported', 'key-1'); "
             "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500) "
             "SELECT besom_report('reported', besom_keys('absent-' || x)) FROM c");
}

static void release_read(const char *release) {
  temp_dir dir;
  check(release_unpack(release, "sqlite", &dir), "%s", release);
  temp_path path = temp_dir_file(&dir, "sqlite/release.db");
  sqlite3 *db = db_open(path.text, true);
  release_assert_loaded(db);
  release_assert_answers(db, 300 - 300 / 7);
  release_change(db);
  int64_t rows = db_number(db, "SELECT count(*) FROM t");
  release_assert_answers(db, rows);
  db_close(db);
  db = db_open(path.text, true);
  release_assert_answers(db, rows);
  db_run(db, "INSERT INTO texts(texts) VALUES ('checkpoint'); "
             "INSERT INTO numbers(numbers) VALUES ('rebuild')");
  release_assert_answers(db, rows);
  check(db_number(db, "SELECT besom_has('reported', 'key-1')") == 0, "%s", "a report is lost");
  db_close(db);
  temp_dir_remove(&dir);
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "--write")) {
    release_write(argv[2]);
    return 0;
  }
  for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) release_read(releases[i]);
  return 0;
}
