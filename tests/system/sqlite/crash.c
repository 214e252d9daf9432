/*
 * crash.c KILLS: a process changes a guarded table, in transactions, with checkpoints, rebuilds and
 * VACUUM; it is killed at a random moment. Then the guard and the table must agree in a new
 * process, and go on.
 */
#define _DEFAULT_SOURCE 1 /* kill, usleep */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"

enum { KEYS = 400 };

static void write_for_ever(const char *path, uint64_t seed) {
  sqlite3 *db = db_open(path, true);
  sqlite3_busy_timeout(db, 60000);
  for (;;) {
    unsigned n = (unsigned)(next_random(&seed) % KEYS);
    db_run(db, next_random(&seed) % 2 ? "BEGIN" : "SAVEPOINT s");
    for (unsigned i = 0; i < n % 8; i++)
      db_run(db, "INSERT OR REPLACE INTO t(id, k) VALUES (%u, %u); DELETE FROM t WHERE k = %u",
             (unsigned)(next_random(&seed) % KEYS), (n + i) % KEYS,
             (unsigned)(next_random(&seed) % KEYS));
    if (n % 5 == 0) db_run(db, "INSERT INTO g(g) VALUES ('checkpoint')");
    if (n % 31 == 0) db_run(db, "INSERT INTO g(g) VALUES ('rebuild')");
    db_number(db, "SELECT count(*) FROM g WHERE k = %u", n);
    if (n % 3) db_try(db, "COMMIT");
    db_try(db, "ROLLBACK");
    if (n % 67 == 0) db_run(db, "VACUUM");
  }
}

static void kill_a_writer(const char *path, uint64_t seed) {
  pid_t child = fork();
  check(child >= 0, "%s", "fork");
  if (child == 0) write_for_ever(path, seed);
  usleep((useconds_t)(2000 + next_random(&seed) % 60000));
  kill(child, SIGKILL);
  int status;
  waitpid(child, &status, 0);
  check(WIFSIGNALED(status), "%s", "the writer failed");
}

static int64_t agree(const char *path, bool with_extension_before) {
  sqlite3 *db = db_open(path, true);
  if (with_extension_before) db_number(db, "SELECT count(*) FROM g WHERE k = 1");
  db_run(db, "INSERT INTO t(k) VALUES (%d)", KEYS + 1);
  int64_t wrong =
      db_number(db,
                "WITH RECURSIVE c(x) AS (SELECT -10 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "
                "SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM t WHERE k = +x) != "
                "EXISTS (SELECT 1 FROM g WHERE k = x)",
                KEYS + 10);
  check(wrong == 0, "%lld keys differ", (long long)wrong);
  check(db_number(db, "SELECT integrity_check != 'ok' FROM pragma_integrity_check") == 0, "%s",
        "integrity_check");
  int64_t changes = db_number(db, "SELECT max(id) FROM g_log");
  db_close(db);
  return changes;
}

int main(int argc, char **argv) {
  int kills = argc > 1 ? atoi(argv[1]) : 20;
  uint64_t seed = 1;
  for (int wal = 0; wal < 2; wal++) {
    char *path = db_new_path();
    sqlite3 *db = db_open(path, true);
    db_run(db, "PRAGMA journal_mode = %s", wal ? "WAL" : "DELETE");
    db_run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER); CREATE INDEX i ON t(k); "
               "CREATE VIRTUAL TABLE g USING besom_guard(t, k, fpr=0.1)");
    db_close(db);
    int64_t changes = 0;
    for (int i = 0; i < kills; i++) {
      kill_a_writer(path, next_random(&seed));
      changes = agree(path, i % 2);
    }
    printf("%s: %d kills, log position %lld\n", wal ? "WAL" : "rollback journal", kills,
           (long long)changes);
    check(changes > kills, "%s", "the writers wrote nothing");
    db_remove(path);
  }
  return 0;
}
