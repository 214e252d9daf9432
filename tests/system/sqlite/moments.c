/* The moments at which a guard could miss a key: each is a test. The table is the reference. */
#include <besom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"

enum { ROWS = 500 };

/* A table t(id, k) with the even keys below 2 * ROWS, and a guard g of k. */
static sqlite3 *new_database(const char *path) {
  sqlite3 *db = db_open(path, true);
  db_run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER); CREATE INDEX i ON t(k)");
  db_run(db,
         "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 2 FROM c WHERE x < %d) "
         "INSERT INTO t(k) SELECT x FROM c",
         2 * ROWS - 2);
  db_run(db, "CREATE VIRTUAL TABLE g USING besom_guard(t, k, fpr=0.1)");
  return db;
}

static bool has(sqlite3 *db, int key) {
  return db_number(db, "SELECT EXISTS (SELECT 1 FROM g WHERE k = %d)", key);
}

/* Every key from -10 to 3 * ROWS: guard and table agree. */
static void agree(sqlite3 *db) {
  int64_t wrong =
      db_number(db,
                "WITH RECURSIVE c(x) AS (SELECT -10 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "
                "SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM t WHERE k = +x) != "
                "EXISTS (SELECT 1 FROM g WHERE k = x)",
                3 * ROWS);
  check(wrong == 0, "%lld keys differ", (long long)wrong);
}

static int64_t info(sqlite3 *db, const char *field) {
  return db_number(db, "SELECT json_extract(besom_info('g'), '$.%s')", field);
}

/* ------------------------------------------------------------------ transactions */

/* A REPLACE deletes a row without a trigger. A filter that was built then must not be kept. */
static void a_rollback_brings_back_what_replace_deleted(const char *path) {
  sqlite3 *db = new_database(path);
  static const char *const commands[] = {"", "rebuild", "checkpoint"};
  for (int i = 0; i < 3; i++) {
    db_run(db, "UPDATE g_state SET data = x'00'");
    db_close(db);
    db = db_open(path, true);
    db_run(db, "BEGIN; REPLACE INTO t(id, k) VALUES (1, NULL); "
               "UPDATE OR REPLACE t SET id = 2 WHERE id = 3");
    check(!has(db, 0) && !has(db, 2) && has(db, 4), "%s", "in the transaction");
    if (i) db_run(db, "INSERT INTO g(g) VALUES ('%s')", commands[i]);
    check(!has(db, 0) && !has(db, 2) && has(db, 4), "%s", commands[i]);
    db_run(db, "ROLLBACK");
    agree(db);
  }
  db_close(db);
}

static void a_key_reported_before_a_rollback_is_found_after_it(const char *path) {
  sqlite3 *db = new_database(path);
  agree(db);
  db_run(db, "BEGIN; DELETE FROM t WHERE k < 100; SAVEPOINT a; DELETE FROM t WHERE k < 200");
  agree(db);
  db_run(db, "ROLLBACK TO a");
  agree(db);
  db_run(db, "ROLLBACK");
  agree(db);
  db_run(db, "DELETE FROM t WHERE k = 10");
  check(!has(db, 10) && !has(db, 10), "%s", "deleted");
  db_run(db, "BEGIN; INSERT INTO t(k) VALUES (10)");
  check(has(db, 10), "%s", "inserted again");
  db_run(db, "COMMIT");
  agree(db);
  db_close(db);
}

/* A rolled-back row of the log and a later one have the same rowid. */
static void log_rows_with_reused_rowids_are_told_apart(const char *path) {
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  db_run(a, "BEGIN; INSERT INTO t(k) VALUES (1), (3)");
  agree(a);
  db_run(a, "ROLLBACK");
  db_run(b, "INSERT INTO t(k) VALUES (5), (7)");
  agree(a);
  agree(b);
  db_close(a);
  db_close(b);
}

static void triggers_of_the_user_see_the_row_that_fires_them(const char *path) {
  sqlite3 *db = new_database(path);
  agree(db);
  db_run(db, "CREATE TABLE seen(k, found); CREATE TEMP TRIGGER look AFTER INSERT ON t BEGIN "
             "INSERT INTO seen SELECT new.k, EXISTS (SELECT 1 FROM g WHERE k = new.k); END");
  db_run(db, "INSERT INTO t(k) VALUES (1), (3), (5)");
  check(db_number(db, "SELECT sum(found) FROM seen") == 3, "%s", "a trigger missed its own row");
  db_close(db);
}

/* Statements that keep a row although a trigger ended them. */
static void rows_that_other_triggers_keep_are_logged(const char *path) {
  sqlite3 *db = new_database(path);
  agree(db);
  db_run(db, "CREATE TABLE u(x UNIQUE); CREATE TRIGGER a AFTER INSERT ON t BEGIN "
             "SELECT RAISE(IGNORE) WHERE new.k = 1; SELECT RAISE(FAIL, 'no') WHERE new.k = 3; "
             "INSERT INTO u VALUES (7); END");
  db_run(db, "INSERT INTO t(k) VALUES (1)");
  check(db_try(db, "INSERT INTO t(k) VALUES (3)") == SQLITE_CONSTRAINT, "%s", sqlite3_errmsg(db));
  db_run(db, "INSERT INTO t(k) VALUES (5)");
  check(db_try(db, "INSERT OR FAIL INTO t(k) VALUES (7)") == SQLITE_CONSTRAINT, "%s",
        sqlite3_errmsg(db));
  db_run(db, "DROP TRIGGER a");
  check(db_number(db, "SELECT count(*) FROM t WHERE k IN (1, 3, 5, 7)") == 4, "%s", "rows");
  agree(db);
  db_close(db);
}

/* SQLite replaces the NULL after BEFORE triggers have run. */
static void defaults_that_replace_null_are_logged(const char *path) {
  sqlite3 *db = db_open(path, true);
  db_run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER NOT NULL DEFAULT 7); "
             "CREATE INDEX i ON t(k); CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  agree(db);
  db_run(db, "INSERT OR REPLACE INTO t(k) VALUES (NULL)");
  check(has(db, 7), "%s", "7");
  db_run(db, "UPDATE t SET k = 8; UPDATE OR REPLACE t SET k = NULL");
  agree(db);
  db_close(db);
}

/* A default is computed once, and the trigger sees its value. */
static void random_defaults_are_logged(const char *path) {
  sqlite3 *db = db_open(path, true);
  db_run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER DEFAULT (random() %% 1000)); "
             "CREATE INDEX i ON t(k); CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  agree(db);
  for (int i = 0; i < 50; i++) db_run(db, "INSERT INTO t DEFAULT VALUES");
  agree(db);
  check(db_number(db,
                  "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM g WHERE g.k = t.k)") == 0,
        "%s", "random");
  db_close(db);
}

static void actions_of_foreign_keys_are_logged(const char *path) {
  sqlite3 *db = db_open(path, true);
  db_run(db, "PRAGMA foreign_keys = ON; CREATE TABLE p(x INTEGER PRIMARY KEY); "
             "INSERT INTO p VALUES (1), (2), (3), (9); "
             "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER DEFAULT 9 REFERENCES p "
             "ON UPDATE CASCADE ON DELETE SET DEFAULT); CREATE INDEX i ON t(k); "
             "INSERT INTO t(k) VALUES (1), (2), (3); "
             "CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  agree(db);
  db_run(db, "UPDATE p SET x = 100 WHERE x = 1");
  check(has(db, 100), "%s", "ON UPDATE CASCADE");
  db_run(db, "DELETE FROM p WHERE x = 2");
  check(has(db, 9), "%s", "ON DELETE SET DEFAULT");
  agree(db);
  db_close(db);
}

/* ------------------------------------------------------------------ log and saved filter */

static void a_connection_that_is_behind_a_trimmed_log_catches_up(const char *path) {
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  agree(b);
  for (int round = 0; round < 3; round++) {
    db_run(a, "INSERT INTO t(k) VALUES (%d), (%d); INSERT INTO g(g) VALUES ('checkpoint')",
           2 * round + 1, 2 * round + 601);
    check(db_number(a, "SELECT count(*) FROM g_log") == 1, "%s", "the log was not trimmed");
    db_run(a, "INSERT INTO t(k) VALUES (%d)", 2 * round + 701);
    agree(b);
  }
  check(info(b, "loads") == 4 && info(b, "builds") == 0, "%lld loads", (long long)info(b, "loads"));
  db_run(a, "INSERT INTO g(g) VALUES ('rebuild')");
  agree(b);
  check(info(b, "loads") == 5, "%s", "a rebuilt filter was not loaded");
  db_close(a);
  db_close(b);
}

static void reports_are_kept_by_a_checkpoint(const char *path) {
  sqlite3 *db = new_database(path);
  agree(db);
  int64_t reported = info(db, "reported");
  check(reported > 20, "%lld", (long long)reported);
  db_run(db, "INSERT INTO g(g) VALUES ('checkpoint')");
  db_close(db);
  db = db_open(path, true);
  agree(db);
  check(info(db, "false_positives") == 0, "%lld", (long long)info(db, "false_positives"));
  db_close(db);
}

static void a_damaged_log_or_filter_is_rebuilt(const char *path) {
  static const char *const damages[] = {
      "DELETE FROM g_log",
      "DELETE FROM g_log WHERE id % 3 = 0",
      "DELETE FROM g_log WHERE id < (SELECT max(id) FROM g_log)",
      "UPDATE g_log SET stamp = 'x'",
      "UPDATE g_log SET op = 'unknown', key = NULL",
      "UPDATE g_state SET data = x'00'",
      "UPDATE g_state SET data = NULL, position = 'x', stamp = 7",
      "DELETE FROM g_state",
      "DELETE FROM g_state; DELETE FROM g_log",
      "UPDATE g_state SET position = position + 1",
      "UPDATE g_state SET data = (SELECT besom_build(NULL, 'kind=bloom'))",
  };
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    agree(b);
    db_run(a, "INSERT INTO t(k) VALUES (%d), (%d), (%d)", (int)i * 8 + 1, (int)i * 8 + 3,
           (int)i * 8 + 5);
    db_run(a, "%s", damages[i]);
    agree(a);
    agree(b);
    sqlite3 *c = db_open(path, true);
    agree(c);
    db_run(c, "INSERT INTO t(k) VALUES (%d)", (int)i * 8 + 7);
    agree(c);
    db_close(c);
    agree(a);
    db_run(a, "INSERT INTO g(g) VALUES ('checkpoint')");
    agree(a);
    agree(b);
  }
  db_close(a);
  db_close(b);
}

static void a_full_filter_grows_and_is_rebuilt(const char *path) {
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  agree(b);
  db_run(a, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) "
            "INSERT INTO t(k) SELECT 2000 + 3 * x FROM c");
  check(db_number(b, "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM g WHERE g.k = t.k)") ==
            20500,
        "%s", "keys are missing");
  check(info(b, "capacity") > 20000 && info(b, "builds") <= 1, "%lld",
        (long long)info(b, "capacity"));
  db_run(b, "INSERT INTO g(g) VALUES ('checkpoint')");
  agree(b);
  check(db_number(b, "SELECT 1000 * json_extract(besom_info('g'), '$.expected_fpr')") <= 200, "%s",
        "it was not rebuilt");
  db_run(b, "DELETE FROM t WHERE k > 1100; INSERT INTO g(g) VALUES ('checkpoint')");
  agree(b);
  check(info(b, "capacity") < 2000, "%lld", (long long)info(b, "capacity"));
  db_close(a);
  db_close(b);
}

/* ------------------------------------------------------------------ files */

static void a_restored_backup_is_noticed(const char *path) {
  sqlite3 *db = new_database(path), *copy = db_open(":memory:", true);
  agree(db);
  sqlite3_backup *backup = sqlite3_backup_init(copy, "main", db, "main");
  check(sqlite3_backup_step(backup, -1) == SQLITE_DONE, "%s", sqlite3_errmsg(copy));
  sqlite3_backup_finish(backup);
  db_run(db, "DELETE FROM t WHERE k < 50; INSERT INTO t(k) VALUES (1), (3)");
  agree(db);
  db_run(copy, "INSERT INTO t(k) VALUES (5), (7), (9)");
  agree(copy);
  backup = sqlite3_backup_init(db, "main", copy, "main");
  check(sqlite3_backup_step(backup, -1) == SQLITE_DONE, "%s", sqlite3_errmsg(db));
  sqlite3_backup_finish(backup);
  agree(db);
  check(has(db, 5) && has(db, 0) && !has(db, 1), "%s", "the content of the backup");
  db_close(db);
  db_close(copy);
}

static void attached_files_of_one_name_are_told_apart(const char *path) {
  char *other = db_new_path();
  sqlite3 *db = new_database(path), *second = new_database(other);
  db_run(second, "INSERT INTO t(k) VALUES (1), (3)");
  db_close(db);
  db_close(second);
  db = db_open(":memory:", true);
  for (int round = 0; round < 4; round++) {
    db_run(db, "ATTACH '%q' AS a", round % 2 ? other : path);
    check(has(db, 1) == round % 2 && has(db, 0), "%s", "after ATTACH");
    check(db_number(db, "SELECT count(*) FROM a.g WHERE k IN (0, 1, 2, 3)") == 2 + round % 2 * 2,
          "%s", "after ATTACH");
    check(db_number(db, "SELECT json_extract(besom_info('a.g'), '$.keys')") >= ROWS, "%s", "info");
    db_run(db, "DETACH a");
  }
  db_close(db);
  db_remove(other);
}

static void a_read_only_database_is_answered_and_not_written(const char *path) {
  sqlite3 *db = new_database(path), *reader;
  db_run(db, "INSERT INTO t(k) VALUES (1), (3)");
  db_close(db);
  check(sqlite3_open_v2(path, &reader, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK, "%s", path);
  besom_sqlite_init(reader, NULL, NULL);
  agree(reader);
  check(info(reader, "reported") > 0, "%s", "no report");
  check(sqlite3_total_changes(reader) == 0, "%s", "a SELECT has written");
  check(db_try(reader, "INSERT INTO g(g) VALUES ('checkpoint')") == SQLITE_READONLY, "%s",
        sqlite3_errmsg(reader));
  agree(reader);
  db_close(reader);
}

static void a_defensive_connection_can_write(const char *path) {
  sqlite3 *db = new_database(path);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  db_run(db, "INSERT INTO t(k) VALUES (1); INSERT INTO g(g) VALUES ('checkpoint')");
  agree(db);
  check(db_try(db, "DELETE FROM g_state") == SQLITE_ERROR, "%s", "the saved filter is protected");
  db_close(db);
}

/* ------------------------------------------------------------------ schemas */

static void every_change_of_the_schema_is_noticed(const char *path) {
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  agree(a);
  agree(b);
  static const char *const names[] = {"insert", "delete", "update"};
  for (int i = 0; i < 3; i++) {
    db_run(b, "DROP TRIGGER g_%s; INSERT INTO t(k) VALUES (%d); UPDATE t SET k = %d WHERE k = 2",
           names[i], 2 * i + 1, 2 * i + 901);
    check(db_try(a, "SELECT * FROM g WHERE k = 1") == SQLITE_ERROR, "%s", names[i]);
    check(strstr(sqlite3_errmsg(a), "'rebuild'"), "%s", sqlite3_errmsg(a));
    check(db_try(b, "SELECT * FROM g WHERE k = 1") == SQLITE_ERROR, "%s", names[i]);
    db_run(a, "INSERT INTO g(g) VALUES ('rebuild')");
    agree(a);
    agree(b);
  }
  db_run(b, "DROP TABLE g_state");
  check(db_try(a, "SELECT * FROM g WHERE k = 1") == SQLITE_ERROR, "%s", "g_state");
  db_run(a, "INSERT INTO g(g) VALUES ('rebuild')");
  agree(b);
  db_run(b, "DROP TABLE t");
  check(db_try(a, "SELECT * FROM g WHERE k = 1") == SQLITE_ERROR, "%s", "t");
  db_run(a, "CREATE TABLE t(k TEXT); CREATE INDEX j ON t(k); INSERT INTO t VALUES (1)");
  check(db_try(a, "INSERT INTO g(g) VALUES ('rebuild')") == SQLITE_ERROR, "%s", "another type");
  check(strstr(sqlite3_errmsg(a), "another type"), "%s", sqlite3_errmsg(a));
  db_close(a);
  a = db_open(path, true);
  db_run(a, "INSERT INTO g(g) VALUES ('rebuild')");
  check(db_number(a, "SELECT count(*) FROM g WHERE k = '1'") == 1, "%s", "rebuilt");
  db_run(b, "DROP TABLE t");
  db_run(a, "DROP TABLE g");
  check(db_number(b, "SELECT count(*) FROM sqlite_schema") == 0, "%s", "something is left");
  db_close(a);
  db_close(b);
}

static void a_dropped_guard_can_be_created_again(const char *path) {
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  agree(b);
  db_run(a, "DROP TABLE g; DELETE FROM t WHERE k < 100; INSERT INTO t(k) VALUES (1); "
            "CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  agree(a);
  agree(b);
  db_run(a, "BEGIN; DROP TABLE g; INSERT INTO t(k) VALUES (3); ROLLBACK");
  agree(a);
  db_run(a, "BEGIN; ALTER TABLE g RENAME TO h; INSERT INTO t(k) VALUES (5)");
  check(db_number(a, "SELECT count(*) FROM h WHERE k = 5") == 1, "%s", "renamed");
  db_run(a, "ROLLBACK");
  agree(a);
  agree(b);
  db_close(a);
  db_close(b);
}

/* ------------------------------------------------------------------ values */

/* Text that is not valid UTF-16 becomes the same UTF-8 as other text: it must not be reported. */
static void invalid_utf16_is_never_denied(const char *path) {
  sqlite3 *db = db_open(path, true);
  sqlite3_stmt *insert, *ask;
  static const uint16_t member[] = {'a', 0xd800, 'b'}, absent[] = {'a', 0xfffd, 'b'};
  db_run(db, "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(k TEXT); CREATE INDEX i ON t(k); "
             "CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?1)", -1, &insert, NULL);
  sqlite3_bind_text16(insert, 1, member, sizeof member, SQLITE_STATIC);
  sqlite3_step(insert);
  check(sqlite3_finalize(insert) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  sqlite3_prepare_v2(db,
                     "SELECT EXISTS (SELECT 1 FROM g WHERE k = ?1), "
                     "EXISTS (SELECT 1 FROM t WHERE k = ?1)",
                     -1, &ask, NULL);
  for (int i = 0; i < 4; i++) {
    sqlite3_bind_text16(ask, 1, i % 2 ? member : absent, sizeof member, SQLITE_STATIC);
    check(sqlite3_step(ask) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    check(sqlite3_column_int(ask, 0) == sqlite3_column_int(ask, 1), "%d", i);
    sqlite3_reset(ask);
  }
  sqlite3_finalize(ask);
  db_close(db);
}

/* A connection that sees uncommitted deletes must not report them. */
static void dirty_reads_are_not_reported(const char *path) {
  sqlite3_enable_shared_cache(1);
  sqlite3 *a = new_database(path), *b = db_open(path, true);
  sqlite3_enable_shared_cache(0);
  db_run(b, "PRAGMA read_uncommitted = 1");
  agree(b);
  db_run(a, "BEGIN; DELETE FROM t WHERE k < 100");
  agree(b);
  db_run(a, "ROLLBACK");
  agree(b);
  db_close(a);
  db_close(b);
}

/* ------------------------------------------------------------------ interrupts */

static int stop(void *calls) {
  return ++*(int *)calls > 20;
}

static void an_interrupted_build_is_repeated(const char *path) {
  sqlite3 *db = new_database(path);
  int calls = 0;
  db_run(db, "UPDATE g_state SET data = x'00'");
  db_close(db);
  db = db_open(path, true);
  sqlite3_progress_handler(db, 50, stop, &calls);
  check(db_try(db, "SELECT * FROM g WHERE k = 1") == SQLITE_INTERRUPT, "%s", sqlite3_errmsg(db));
  sqlite3_progress_handler(db, 0, NULL, NULL);
  agree(db);
  db_close(db);
}

static void the_version_is_that_of_the_header(const char *path) {
  sqlite3 *db = db_open(path, true);
  check(db_number(db, "SELECT besom_version() = '%d.%d.%d'", BESOM_VERSION_MAJOR,
                  BESOM_VERSION_MINOR, BESOM_VERSION_PATCH) == 1,
        "%s", "besom_version()");
  db_close(db);
}

#define TEST(name) \
  { #name, name }

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(const char *path);
  } tests[] = {
      TEST(the_version_is_that_of_the_header),
      TEST(a_rollback_brings_back_what_replace_deleted),
      TEST(a_key_reported_before_a_rollback_is_found_after_it),
      TEST(log_rows_with_reused_rowids_are_told_apart),
      TEST(triggers_of_the_user_see_the_row_that_fires_them),
      TEST(rows_that_other_triggers_keep_are_logged),
      TEST(defaults_that_replace_null_are_logged),
      TEST(random_defaults_are_logged),
      TEST(actions_of_foreign_keys_are_logged),
      TEST(a_connection_that_is_behind_a_trimmed_log_catches_up),
      TEST(reports_are_kept_by_a_checkpoint),
      TEST(a_damaged_log_or_filter_is_rebuilt),
      TEST(a_full_filter_grows_and_is_rebuilt),
      TEST(a_restored_backup_is_noticed),
      TEST(attached_files_of_one_name_are_told_apart),
      TEST(a_read_only_database_is_answered_and_not_written),
      TEST(a_defensive_connection_can_write),
      TEST(every_change_of_the_schema_is_noticed),
      TEST(a_dropped_guard_can_be_created_again),
      TEST(invalid_utf16_is_never_denied),
      TEST(dirty_reads_are_not_reported),
      TEST(an_interrupted_build_is_repeated),
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    char *path = db_new_path();
    fprintf(stderr, "%s\n", tests[i].name);
    tests[i].run(path);
    db_remove(path);
  }
  return 0;
}
