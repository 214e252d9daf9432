/* database.h - connections for tests, with and without the extension. */
#ifndef TEST_SQLITE_DATABASE_H
#define TEST_SQLITE_DATABASE_H

#include <besom_sqlite.h>
#include <stdbool.h>
#include <stdint.h>

/* Opens a database, with the extension or without; fails the program if it cannot. */
sqlite3 *db_open(const char *path, bool with_extension);
void db_close(sqlite3 *db);

/* Runs SQL that may fail; the result code. format is that of sqlite3_mprintf. */
int db_try(sqlite3 *db, const char *format, ...);
/* Runs SQL; prints the message and fails the program if it fails. */
void db_run(sqlite3 *db, const char *format, ...);
/* The first column of the first row as a number; -1 if there is none. Fails the program. */
int64_t db_number(sqlite3 *db, const char *format, ...);

/* Ends the program with a message unless the condition holds. */
#define check(condition, ...)                                               \
  do {                                                                      \
    if (!(condition)) db_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (0)
void db_fail(const char *file, int line, const char *condition, const char *format, ...);

/* A path in a directory of its own, which db_remove removes. */
char *db_new_path(void);
void db_remove(char *path);

/* SplitMix64. */
uint64_t next_random(uint64_t *state);

#endif
