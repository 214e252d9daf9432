/* extension.c - the entry points, and the state of a connection. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "besom_sqlite.h"
#include "extension.h"
#include "guard.h"
#include "named_filters.h"

enum { OLDEST_SQLITE = 3038000 };

const besom_allocator *besom__sql_allocator;

struct connection *besom__sql_connection_retain(struct connection *connection) {
  connection->references++;
  return connection;
}

void besom__sql_connection_release(void *p) {
  struct connection *connection = p;
  if (--connection->references) return;
  besom__sql_named_free_all(connection);
  besom__sql_guards_free_all(connection);
  sqlite3_free(connection);
}

static int register_all(sqlite3 *db, char **error) {
  if (sqlite3_libversion_number() < OLDEST_SQLITE)
    return besom__sql_fail(error, "besom needs SQLite 3.38 or later, this is %s",
                           sqlite3_libversion());
  struct connection *connection = sqlite3_malloc64(sizeof *connection);
  if (!connection) return SQLITE_NOMEM;
  *connection = (struct connection){.db = db, .references = 1};
  int rc = besom__sql_register_functions(connection);
  if (rc == SQLITE_OK) rc = besom__sql_register_changes(connection);
  if (rc == SQLITE_OK) rc = besom__sql_register_aggregates(connection);
  if (rc == SQLITE_OK) rc = besom__sql_register_kinds(connection);
  if (rc == SQLITE_OK) rc = besom__sql_register_guard(connection);
  besom__sql_connection_release(connection);
  return rc;
}

#ifdef SQLITE_CORE
int besom_sqlite_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *routines) {
  (void)routines;
  char *text = NULL;
  int rc = register_all(db, &text);
  if (error)
    *error = text;
  else
    sqlite3_free(text);
  return rc;
}
#else
BESOM_API int sqlite3_besomsqlite_init(sqlite3 *db, char **error,
                                       const sqlite3_api_routines *routines);

/* The name that SQLite derives from besom-sqlite.so. */
int sqlite3_besomsqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *routines) {
  SQLITE_EXTENSION_INIT2(routines);
  return register_all(db, error);
}
#endif
