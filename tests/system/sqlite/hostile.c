/*
 * hostile.c CORPUS_DIRECTORY...: every file of the library's corpus and golden files as a BLOB, and
 * with a byte changed: in besom_has, besom_info, besom_merge, besom_save, as a named filter, and as
 * the saved filter of a guard. Then a log with random content. Nothing may crash; what is not a
 * filter is an error, and a guard whose saved filter is damaged agrees with its table.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "support/temp_files.h"

struct world {
  sqlite3 *db;
  sqlite3_stmt *uses[6];
  uint64_t accepted, refused;
};

static const char *const uses[] = {
    "SELECT besom_has(?1, 1) + besom_has(?1, 'a')",
    "SELECT json_valid(besom_info(?1))",
    "SELECT length(besom_merge(x)) FROM (SELECT ?1 AS x UNION ALL SELECT ?1)",
    "SELECT besom_save('hostile', ?1)",
    "UPDATE besom_filters SET data = ?1 WHERE name = 'hostile'",
    "UPDATE g_state SET data = ?1",
};

static void use_all(struct world *w, const void *data, size_t len) {
  for (size_t i = 0; i < 6; i++) {
    sqlite3_stmt *statement = w->uses[i];
    sqlite3_bind_blob64(statement, 1, data, len, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    int rc = sqlite3_reset(statement);
    check(rc == SQLITE_OK || rc == SQLITE_ERROR || rc == SQLITE_NOMEM, "%s: %s", uses[i],
          sqlite3_errmsg(w->db));
    w->accepted += rc == SQLITE_OK;
    w->refused += rc != SQLITE_OK;
  }
  db_try(w->db, "SELECT besom_has('hostile', 1), besom_add('hostile', 2)");
  db_try(w->db, "SELECT besom_report('hostile', 3), besom_remove('hostile', 4)");
  db_try(w->db, "SELECT * FROM g WHERE k = 'a'; INSERT INTO t VALUES ('b'); "
                "SELECT * FROM g WHERE k = 'b'; INSERT INTO g(g) VALUES ('checkpoint')");
}

static void use_file(struct world *w, const char *path) {
  size_t len;
  uint8_t *data = read_whole_file(path, &len);
  check(data, "%s", path);
  uint64_t random = len;
  use_all(w, data, len);
  if (len) {
    data[next_random(&random) % len] ^= (uint8_t)(1 << next_random(&random) % 8);
    use_all(w, data, len);
    use_all(w, data, next_random(&random) % len);
  }
  free(data);
}

static void use_directory(struct world *w, const char *path) {
  DIR *directory = opendir(path);
  check(directory, "%s", path);
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    char name[1024];
    if (entry->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    use_file(w, name);
  }
  closedir(directory);
}

static void agree(sqlite3 *db) {
  int64_t wrong =
      db_number(db, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300) "
                    "SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM t WHERE k = 'k' || +x) != "
                    "EXISTS (SELECT 1 FROM g WHERE k = 'k' || x)");
  check(wrong == 0, "%lld keys differ", (long long)wrong);
}

/* Rows that no trigger wrote. The guard may not crash; after a rebuild it agrees again. */
static void use_random_logs(sqlite3 *db) {
  static const char *const values[] = {"NULL",        "'+'",           "'-'", "'r'",
                                       "x'00'",       "9e99",          "-1",  "9223372036854775807",
                                       "zeroblob(8)", "randomblob(8)", "''"};
  uint64_t random = 7;
  for (int i = 0; i < 300; i++) {
    const char *pick[4];
    for (int j = 0; j < 4; j++) pick[j] = values[next_random(&random) % 11];
    db_try(db, "INSERT INTO g_log VALUES (%s, %s, %s, %s)", pick[0], pick[1], pick[2], pick[3]);
    db_try(db, "UPDATE g_state SET position = %s, stamp = %s, removed = %s", pick[1], pick[2],
           pick[3]);
    db_try(db, "SELECT * FROM g WHERE k = %s", pick[0]);
    if (i % 10 == 9) {
      db_try(db, "INSERT INTO g(g) VALUES ('checkpoint')");
      db_run(db, "DELETE FROM g_log WHERE id > 1000000000; INSERT INTO g(g) VALUES ('rebuild')");
      agree(db);
    }
  }
}

int main(int argc, char **argv) {
  struct world w = {.db = db_open(":memory:", true)};
  db_run(w.db, "CREATE TABLE t(k TEXT); CREATE INDEX i ON t(k); "
               "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200) "
               "INSERT INTO t SELECT 'k' || x FROM c; "
               "CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  db_run(w.db, "SELECT besom_save('hostile', besom_build(k)) FROM t");
  for (size_t i = 0; i < 6; i++)
    check(sqlite3_prepare_v2(w.db, uses[i], -1, &w.uses[i], NULL) == SQLITE_OK, "%s: %s", uses[i],
          sqlite3_errmsg(w.db));
  for (int i = 1; i < argc; i++) use_directory(&w, argv[i]);
  for (size_t i = 0; i < 6; i++) sqlite3_finalize(w.uses[i]);
  db_run(w.db, "INSERT INTO g(g) VALUES ('rebuild')");
  agree(w.db);
  use_random_logs(w.db);
  printf("%llu accepted, %llu refused\n", (unsigned long long)w.accepted,
         (unsigned long long)w.refused);
  check(w.accepted > 100 && w.refused > 100, "%s", "too few");
  db_close(w.db);
  return 0;
}
