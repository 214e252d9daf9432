/*
 * besom_kinds(name, summary): the kinds of filters, for SELECT. It exists without CREATE.
 *
 * SQLite disconnects virtual tables before sqlite3_close refuses a connection with open statements.
 * So this table, once it is used, also closes the statements that the named filters keep.
 */
#include "named_filters.h"

struct kinds_table {
  sqlite3_vtab base;
  struct connection *connection;
};

struct kinds_cursor {
  sqlite3_vtab_cursor base;
  size_t at;
};

static int connect_method(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **error) {
  (void)argc, (void)argv, (void)error;
  struct connection *connection = aux;
  int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(name TEXT, summary TEXT)");
  if (rc != SQLITE_OK) return rc;
  struct kinds_table *table = sqlite3_malloc64(sizeof *table);
  if (!table) return SQLITE_NOMEM;
  *table = (struct kinds_table){.connection = besom__sql_connection_retain(connection)};
  connection->closes_statements = true;
  *out = &table->base;
  return SQLITE_OK;
}

static int disconnect_method(sqlite3_vtab *base) {
  struct connection *connection = ((struct kinds_table *)base)->connection;
  connection->closes_statements = false;
  besom__sql_named_close_statement(connection);
  besom__sql_connection_release(connection);
  sqlite3_free(base);
  return SQLITE_OK;
}

static int best_index_method(sqlite3_vtab *base, sqlite3_index_info *info) {
  (void)base;
  info->estimatedCost = 20;
  return SQLITE_OK;
}

static int open_method(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  (void)base;
  struct kinds_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
  if (!cursor) return SQLITE_NOMEM;
  *cursor = (struct kinds_cursor){0};
  *out = &cursor->base;
  return SQLITE_OK;
}

static int close_method(sqlite3_vtab_cursor *base) {
  sqlite3_free(base);
  return SQLITE_OK;
}

static int filter_method(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv) {
  (void)plan, (void)text, (void)argc, (void)argv;
  ((struct kinds_cursor *)base)->at = 0;
  return SQLITE_OK;
}

static int next_method(sqlite3_vtab_cursor *base) {
  ((struct kinds_cursor *)base)->at++;
  return SQLITE_OK;
}

static int eof_method(sqlite3_vtab_cursor *base) {
  return besom_kinds(((struct kinds_cursor *)base)->at) == NULL;
}

static int column_method(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  const besom_kind_info *kind = besom_kinds(((struct kinds_cursor *)base)->at);
  sqlite3_result_text(context, column ? kind->summary : kind->name, -1, SQLITE_STATIC);
  return SQLITE_OK;
}

static int rowid_method(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = (sqlite3_int64)((struct kinds_cursor *)base)->at;
  return SQLITE_OK;
}

int besom__sql_register_kinds(struct connection *connection) {
  static const sqlite3_module module = {
      .xConnect = connect_method,
      .xBestIndex = best_index_method,
      .xDisconnect = disconnect_method,
      .xOpen = open_method,
      .xClose = close_method,
      .xFilter = filter_method,
      .xNext = next_method,
      .xEof = eof_method,
      .xColumn = column_method,
      .xRowid = rowid_method,
  };
  return sqlite3_create_module_v2(connection->db, "besom_kinds", &module,
                                  besom__sql_connection_retain(connection),
                                  besom__sql_connection_release);
}
