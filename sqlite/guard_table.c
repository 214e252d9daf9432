/*
 * The virtual table besom_guard(table, column [, option=value ...]). Its columns are the guarded
 * column, and a hidden one with its own name, for commands.
 *
 * SQLite checks every equality again, by its own rules for affinity and collation. So a cursor may
 * return more rows than asked for, but never fewer.
 */
#include "guard.h"

struct table {
  sqlite3_vtab base;
  struct connection *connection;
  struct guard *guard;
};

struct cursor {
  sqlite3_vtab_cursor base;
  sqlite3_stmt *rows; /* rowid, column */
  bool is_lookup;     /* rows can be used for the next key */
  bool at_end;
};

/* How xBestIndex tells xFilter what to do. */
enum plan { SCAN, LOOKUP };

static int fail_table(struct table *table, int rc, char *error) {
  if (error) {
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = error;
  }
  return rc;
}

/* ------------------------------------------------------------------ create and connect */

/* An argument without its quotes, from sqlite3_malloc. */
static char *unquote(const char *text) {
  char open = *text, close = open == '[' ? ']' : open;
  size_t len = strlen(text), n = 0;
  char *result = sqlite3_malloc64(len + 1);
  if (!result) return NULL;
  if (!strchr("'\"`[", open) || !open) return memcpy(result, text, len + 1);
  for (const char *p = text + 1; *p; p++) {
    if (*p == close && *++p != close) break;
    result[n++] = *p;
  }
  result[n] = 0;
  return result;
}

static char *join_options(int argc, const char *const *argv) {
  char *joined = sqlite3_mprintf("%s", argc > 5 ? argv[5] : "");
  for (int i = 6; joined && i < argc; i++) {
    char *longer = sqlite3_mprintf("%s,%s", joined, argv[i]);
    sqlite3_free(joined);
    joined = longer;
  }
  return joined;
}

static int open_guard(struct connection *connection, int argc, const char *const *argv,
                      struct guard **guard, char **error) {
  if (argc < 5)
    return besom__sql_fail(error, "besom_guard needs a table and a column: CREATE VIRTUAL TABLE "
                                  "g USING besom_guard(table, column)");
  char *table = unquote(argv[3]), *column = unquote(argv[4]), *options = join_options(argc, argv);
  int rc = SQLITE_NOMEM;
  if (table && column && options)
    rc = sqlite3_stricmp(column, argv[2]) == 0
             ? besom__sql_fail(error,
                               "besom_guard: the guard has the name of the column %s: choose "
                               "another name",
                               column)
             : besom__sql_guard_open(connection, argv[1], argv[2], table, column, options, guard,
                                     error);
  sqlite3_free(table);
  sqlite3_free(column);
  sqlite3_free(options);
  return rc;
}

/* The declared type gives the column the affinity of the guarded one. */
static int declare(struct guard *guard, char **error) {
  static const char *const types[] = {"", "TEXT", "NUMERIC"};
  char *sql = sqlite3_mprintf("CREATE TABLE x(\"%w\" %s, \"%w\" HIDDEN)", guard->column,
                              types[guard->rules.affinity], guard->name);
  if (!sql) return SQLITE_NOMEM;
  int rc = sqlite3_declare_vtab(guard->db, sql);
  sqlite3_free(sql);
  guard->declared = guard->rules.affinity;
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, guard->db, rc);
}

static int new_table(struct connection *connection, struct guard *guard, sqlite3_vtab **out) {
  struct table *table = sqlite3_malloc64(sizeof *table);
  if (!table) return SQLITE_NOMEM;
  *table = (struct table){.connection = besom__sql_connection_retain(connection), .guard = guard};
  *out = &table->base;
  return SQLITE_OK;
}

static int create_guard(struct guard *guard, char **error) {
  int rc = besom__sql_guard_inspect_table(guard, error);
  /* analysis: -Wanalyzer-null-dereference: open_guard returned SQLITE_OK */
  if (rc == SQLITE_OK && guard->problem) rc = besom__sql_fail(error, "%s", guard->problem);
  if (rc == SQLITE_OK) rc = declare(guard, error);
  return rc == SQLITE_OK ? besom__sql_guard_checkpoint(guard, true, error) : rc;
}

static int create_method(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error) {
  (void)db;
  struct guard *guard = NULL;
  int rc = open_guard(aux, argc, argv, &guard, error);
  if (rc == SQLITE_OK) rc = create_guard(guard, error);
  if (rc == SQLITE_OK) rc = new_table(aux, guard, out);
  if (rc != SQLITE_OK && guard) {
    besom__sql_guard_forget(aux, guard);
    besom__sql_guard_release(guard);
  }
  return rc;
}

/* A guard with a problem is connected, too, so that it can be repaired or dropped. */
static int connect_method(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **out, char **error) {
  (void)db;
  struct guard *guard = NULL;
  int rc = open_guard(aux, argc, argv, &guard, error);
  if (rc == SQLITE_OK) rc = besom__sql_guard_inspect_table(guard, error);
  if (rc == SQLITE_OK) rc = declare(guard, error);
  if (rc == SQLITE_OK) rc = new_table(aux, guard, out);
  if (rc != SQLITE_OK && guard) besom__sql_guard_release(guard);
  return rc;
}

static void free_table(struct table *table) {
  besom__sql_guard_release(table->guard);
  besom__sql_connection_release(table->connection);
  sqlite3_free(table);
}

static int disconnect_method(sqlite3_vtab *base) {
  struct table *table = (struct table *)base;
  besom__sql_guard_close_statements(table->guard);
  free_table(table);
  return SQLITE_OK;
}

static int destroy_method(sqlite3_vtab *base) {
  struct table *table = (struct table *)base;
  char *error = NULL;
  besom__sql_guard_close_statements(table->guard);
  int rc = besom__sql_guard_drop_objects(table->guard, &error);
  if (rc != SQLITE_OK) return fail_table(table, rc, error);
  besom__sql_guard_forget(table->connection, table->guard);
  free_table(table);
  return SQLITE_OK;
}

static int rename_method(sqlite3_vtab *base, const char *name) {
  struct table *table = (struct table *)base;
  char *error = NULL;
  besom__sql_guard_close_statements(table->guard);
  table->guard->is_current = false;
  table->guard->schema_version = -1;
  int rc = besom__sql_guard_inspect_table(table->guard, &error);
  if (rc == SQLITE_OK && table->guard->problem)
    rc = besom__sql_fail(&error, "%s", table->guard->problem);
  if (rc == SQLITE_OK) rc = besom__sql_guard_rename_objects(table->guard, name, &error);
  if (rc == SQLITE_OK) besom__sql_guard_forget(table->connection, table->guard);
  return fail_table(table, rc, error);
}

/* The log is no shadow table: triggers write to it when the database is defensive, too. */
static int shadow_name_method(const char *suffix) {
  return sqlite3_stricmp(suffix, "state") == 0;
}

/* ------------------------------------------------------------------ planning */

static int best_index_method(sqlite3_vtab *base, sqlite3_index_info *info) {
  (void)base;
  info->idxNum = SCAN;
  info->estimatedCost = 1e9;
  info->estimatedRows = 1000000;
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].iColumn != 0 || !info->aConstraint[i].usable ||
        info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
        sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
      continue;
    info->idxNum = LOOKUP;
    info->aConstraintUsage[i].argvIndex = 1;
    info->estimatedCost = 5;
    info->estimatedRows = 2;
    break;
  }
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ cursors */

static int open_method(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  (void)base;
  struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);
  if (!cursor) return SQLITE_NOMEM;
  *cursor = (struct cursor){.at_end = true};
  *out = &cursor->base;
  return SQLITE_OK;
}

/* Gives back the statement of a cursor; that of a lookup is kept for other cursors. */
static void drop_rows(struct cursor *cursor) {
  struct guard *guard = ((struct table *)cursor->base.pVtab)->guard;
  if (cursor->rows && cursor->is_lookup && guard->idle_count < IDLE_LOOKUPS) {
    sqlite3_reset(cursor->rows);
    guard->idle[guard->idle_count++] = cursor->rows;
  } else {
    sqlite3_finalize(cursor->rows);
  }
  cursor->rows = NULL;
}

static int close_method(sqlite3_vtab_cursor *base) {
  drop_rows((struct cursor *)base);
  sqlite3_free(base);
  return SQLITE_OK;
}

static int prepare_rows(struct cursor *cursor, struct guard *guard, bool lookup, char **error) {
  if (lookup && cursor->rows && cursor->is_lookup) return sqlite3_reset(cursor->rows), SQLITE_OK;
  drop_rows(cursor);
  cursor->is_lookup = lookup;
  if (lookup && guard->idle_count) {
    cursor->rows = guard->idle[--guard->idle_count];
    return SQLITE_OK;
  }
  char *where = lookup ? sqlite3_mprintf(" WHERE \"%w\" = ?1", guard->column) : NULL;
  if (lookup && !where) return SQLITE_NOMEM;
  int rc = besom__sql_prepare(guard->db, &cursor->rows, error,
                              "SELECT %s, \"%w\" FROM \"%w\".\"%w\"%s", guard->rowid, guard->column,
                              guard->schema, guard->table, where ? where : "");
  sqlite3_free(where);
  return rc;
}

static int next_row(struct cursor *cursor, char **error) {
  int rc = sqlite3_step(cursor->rows);
  cursor->at_end = rc != SQLITE_ROW;
  if (rc == SQLITE_ROW) return SQLITE_OK;
  sqlite3 *db = sqlite3_db_handle(cursor->rows);
  return rc == SQLITE_DONE ? SQLITE_OK : besom__sql_fail_db(error, db, rc);
}

/*
 * The affinity of the other operand decides how SQLite compares, and a virtual table does not learn
 * it. It matters only for a number and a column that is not numeric: a column with a numeric
 * affinity on the other side makes SQLite compare as numbers, so that 1 equals '01'. Whether a
 * value is a literal or a parameter does not help: CAST gives both an affinity.
 */
static bool comparison_is_unknown(const struct guard *guard, sqlite3_value *value) {
  int type = sqlite3_value_type(value);
  return guard->rules.affinity != AFFINITY_NUMERIC &&
         (type == SQLITE_INTEGER || type == SQLITE_FLOAT);
}

/* With shared caches a connection can see what another one has not committed. */
static bool reads_uncommitted(sqlite3 *db) {
  sqlite3_stmt *statement = NULL;
  bool result = true;
  if (sqlite3_prepare_v2(db, "PRAGMA read_uncommitted", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    result = sqlite3_column_int(statement, 0) != 0;
  sqlite3_finalize(statement);
  return result;
}

/* The key in guard->key passed the filter, and the table does not have it. */
static void report(struct guard *guard, besom_filter *filter) {
  guard->counts.false_positives++;
  if (reads_uncommitted(guard->db)) return;
  if (besom_adapt(filter, guard->key.data, guard->key.len) == BESOM_OK) guard->counts.reported++;
}

/* Asks the table for a key. The value is bound as it is: SQLite applies the column's affinity. */
static int look_up(struct cursor *cursor, struct guard *guard, sqlite3_value *value, char **error) {
  int rc = prepare_rows(cursor, guard, true, error);
  guard->counts.lookups++;
  if (rc == SQLITE_OK) rc = sqlite3_bind_value(cursor->rows, 1, value);
  return rc == SQLITE_OK ? next_row(cursor, error) : rc;
}

static int find_key(struct cursor *cursor, struct guard *guard, sqlite3_value *value,
                    char **error) {
  besom_filter *filter;
  bool may_report;
  int rc = besom__sql_guard_sync(guard, &filter, &may_report, error);
  guard->counts.queries++;
  if (rc != SQLITE_OK || !filter)
    return rc == SQLITE_OK ? look_up(cursor, guard, value, error) : rc;
  rc = besom__sql_tagged_key(value, guard->rules, &guard->key);
  if (rc != SQLITE_OK) return rc;
  if (!besom_contains(filter, guard->key.data, guard->key.len)) {
    guard->counts.negatives++;
    return SQLITE_OK;
  }
  rc = look_up(cursor, guard, value, error);
  if (rc == SQLITE_OK && cursor->at_end && may_report) report(guard, filter);
  return rc;
}

static int filter_method(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv) {
  (void)text;
  (void)argc;
  struct cursor *cursor = (struct cursor *)base;
  struct table *table = (struct table *)base->pVtab;
  struct guard *guard = table->guard;
  char *error = NULL;
  int rc;
  cursor->at_end = true;
  if (plan == SCAN || comparison_is_unknown(guard, argv[0])) {
    besom_filter *filter;
    bool may_report;
    rc = besom__sql_guard_sync(guard, &filter, &may_report, &error);
    if (rc == SQLITE_OK) rc = prepare_rows(cursor, guard, false, &error);
    if (rc == SQLITE_OK) rc = next_row(cursor, &error);
  } else if (sqlite3_value_type(argv[0]) == SQLITE_NULL) {
    return SQLITE_OK;
  } else {
    rc = find_key(cursor, guard, argv[0], &error);
  }
  return fail_table(table, rc, error);
}

static int next_method(sqlite3_vtab_cursor *base) {
  char *error = NULL;
  int rc = next_row((struct cursor *)base, &error);
  return fail_table((struct table *)base->pVtab, rc, error);
}

static int eof_method(sqlite3_vtab_cursor *base) {
  return ((struct cursor *)base)->at_end;
}

static int column_method(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct cursor *cursor = (struct cursor *)base;
  if (column == 0) sqlite3_result_value(context, sqlite3_column_value(cursor->rows, 1));
  return SQLITE_OK;
}

static int rowid_method(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = sqlite3_column_int64(((struct cursor *)base)->rows, 0);
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ commands */

static int run_command(struct guard *guard, const char *command, char **error) {
  if (command && sqlite3_stricmp(command, "checkpoint") == 0)
    return besom__sql_guard_checkpoint(guard, false, error);
  if (command && sqlite3_stricmp(command, "rebuild") == 0)
    return besom__sql_guard_checkpoint(guard, true, error);
  return besom__sql_fail(error,
                         "%s: the commands are INSERT INTO %s(%s) VALUES ('checkpoint') and "
                         "('rebuild'). To change keys, change the table %s",
                         guard->name, guard->name, guard->name, guard->table);
}

/* argv of an INSERT: NULL, rowid, column 0, column 1. */
static int update_method(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid) {
  struct table *table = (struct table *)base;
  const char *command = NULL;
  char *error = NULL;
  if (argc == 4 && sqlite3_value_type(argv[0]) == SQLITE_NULL &&
      sqlite3_value_type(argv[2]) == SQLITE_NULL)
    command = (const char *)sqlite3_value_text(argv[3]);
  *rowid = 0;
  int rc = run_command(table->guard, command, &error);
  return fail_table(table, rc, error);
}

static const sqlite3_module module = {
    .iVersion = 3,
    .xCreate = create_method,
    .xConnect = connect_method,
    .xBestIndex = best_index_method,
    .xDisconnect = disconnect_method,
    .xDestroy = destroy_method,
    .xOpen = open_method,
    .xClose = close_method,
    .xFilter = filter_method,
    .xNext = next_method,
    .xEof = eof_method,
    .xColumn = column_method,
    .xRowid = rowid_method,
    .xUpdate = update_method,
    .xRename = rename_method,
    .xShadowName = shadow_name_method,
};

int besom__sql_register_guard(struct connection *connection) {
  return sqlite3_create_module_v2(connection->db, "besom_guard", &module,
                                  besom__sql_connection_retain(connection),
                                  besom__sql_connection_release);
}
