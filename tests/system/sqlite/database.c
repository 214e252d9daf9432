#define _DEFAULT_SOURCE 1 /* mkdtemp */
#include "database.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void db_fail(const char *file, int line, const char *condition, const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "%s:%d: %s: ", file, line, condition);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

sqlite3 *db_open(const char *path, bool with_extension) {
  sqlite3 *db;
  check(sqlite3_open(path, &db) == SQLITE_OK, "%s", path);
  /* The machine does not crash. While another connection waits to commit this is BUSY. */
  db_try(db, "PRAGMA synchronous = OFF");
  if (with_extension) check(besom_sqlite_init(db, NULL, NULL) == SQLITE_OK, "%s", path);
  return db;
}

void db_close(sqlite3 *db) {
  int rc = sqlite3_close(db);
  check(rc == SQLITE_OK, "%s", sqlite3_errstr(rc));
}

static int run(sqlite3 *db, const char *format, va_list arguments) {
  char *sql = sqlite3_vmprintf(format, arguments);
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  sqlite3_free(sql);
  return rc;
}

int db_try(sqlite3 *db, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int rc = run(db, format, arguments);
  va_end(arguments);
  return rc;
}

void db_run(sqlite3 *db, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int rc = run(db, format, arguments);
  va_end(arguments);
  check(rc == SQLITE_OK, "%s: %s", format, sqlite3_errmsg(db));
}

int64_t db_number(sqlite3 *db, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *sql = sqlite3_vmprintf(format, arguments);
  va_end(arguments);
  sqlite3_stmt *statement;
  int64_t number = -1;
  check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql,
        sqlite3_errmsg(db));
  if (sqlite3_step(statement) == SQLITE_ROW) number = sqlite3_column_int64(statement, 0);
  check(sqlite3_finalize(statement) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_free(sql);
  return number;
}

char *db_new_path(void) {
  char directory[] = "/tmp/besom-sqlite-XXXXXX";
  check(mkdtemp(directory), "%s", directory);
  char *path = malloc(sizeof directory + 8);
  sprintf(path, "%s/test.db", directory);
  return path;
}

void db_remove(char *path) {
  static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
  char name[64];
  for (size_t i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
    unlink(name);
  }
  *strrchr(path, '/') = 0;
  rmdir(path);
  free(path);
}

uint64_t next_random(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}
