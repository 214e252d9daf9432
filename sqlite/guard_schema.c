/* The guarded table, and the log, the saved filter and the triggers of a guard. */
#define _GNU_SOURCE /* strcasestr */
#include "guard.h"

/* ------------------------------------------------------------------ small queries */

/* Sets guard->problem. */
static int set_problem(struct guard *guard, char *problem) {
  guard->problem = problem;
  return problem ? SQLITE_OK : SQLITE_NOMEM;
}

/*
 * Prepares a query and binds texts to ?1, ?2, ...; NULL ends the list. Steps to the first row:
 * *found. The caller finalizes *row.
 */
static int query(struct guard *guard, const char *sql, const char *const *texts, sqlite3_stmt **row,
                 bool *found, char **error) {
  *found = false;
  int rc = besom__sql_prepare(guard->db, row, error, "%s", sql);
  for (int i = 0; rc == SQLITE_OK && texts[i]; i++)
    rc = sqlite3_bind_text(*row, i + 1, texts[i], -1, SQLITE_STATIC);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(*row);
  *found = rc == SQLITE_ROW;
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK
                                               : besom__sql_fail_db(error, guard->db, rc);
}

static int exists(struct guard *guard, const char *sql, const char *const *texts, bool *found,
                  char **error) {
  sqlite3_stmt *row = NULL;
  int rc = query(guard, sql, texts, &row, found, error);
  sqlite3_finalize(row);
  return rc;
}

/* ------------------------------------------------------------------ the guarded column */

/* The rules of SQLite for the type of a column (https://sqlite.org/datatype3.html, 3.1). */
static enum affinity affinity_of(const char *type, bool strict) {
  if (strcasestr(type, "INT")) return AFFINITY_NUMERIC;
  if (strcasestr(type, "CHAR") || strcasestr(type, "CLOB") || strcasestr(type, "TEXT"))
    return AFFINITY_TEXT;
  if (!*type || strcasestr(type, "BLOB")) return AFFINITY_BLOB;
  if (strict && sqlite3_stricmp(type, "ANY") == 0) return AFFINITY_BLOB;
  return AFFINITY_NUMERIC;
}

/* Keeps what is behind the last parenthesis of CREATE TABLE in mind: STRICT. */
static bool is_strict(const char *sql) {
  const char *tail = sql ? strrchr(sql, ')') : NULL;
  return tail && strcasestr(tail, "STRICT");
}

static int find_table(struct guard *guard, bool *strict, char **error) {
  sqlite3_stmt *row = NULL;
  bool found;
  char *sql = sqlite3_mprintf("SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'table' AND "
                              "rootpage > 0 AND name = ?1 COLLATE NOCASE",
                              guard->schema);
  if (!sql) return SQLITE_NOMEM;
  int rc = query(guard, sql, (const char *[]){guard->table, NULL}, &row, &found, error);
  if (rc == SQLITE_OK && found) *strict = is_strict((const char *)sqlite3_column_text(row, 0));
  sqlite3_finalize(row);
  sqlite3_free(sql);
  if (rc != SQLITE_OK || found) return rc;
  return set_problem(guard, sqlite3_mprintf("%s: there is no ordinary table %s in schema %s. If it "
                                            "was renamed or dropped: DROP TABLE %s",
                                            guard->name, guard->table, guard->schema, guard->name));
}

static int find_column(struct guard *guard, bool strict, char **error) {
  sqlite3_stmt *row = NULL;
  bool found;
  int rc = query(guard,
                 "SELECT type, NOT hidden AND NOT (\"notnull\" AND dflt_value IS NOT NULL) "
                 "FROM pragma_table_xinfo(?1, ?2) WHERE name = ?3 COLLATE NOCASE",
                 (const char *[]){guard->table, guard->schema, guard->column, NULL}, &row, &found,
                 error);
  if (rc == SQLITE_OK && found) {
    const char *type = (const char *)sqlite3_column_text(row, 0);
    guard->rules.affinity = affinity_of(type ? type : "", strict);
    guard->logs_before = sqlite3_column_int(row, 1);
  }
  sqlite3_finalize(row);
  if (rc != SQLITE_OK || found) return rc;
  return set_problem(guard, sqlite3_mprintf("%s: table %s has no column %s. If it was renamed: "
                                            "DROP TABLE %s",
                                            guard->name, guard->table, guard->column, guard->name));
}

static int check_collation(struct guard *guard) {
  const char *collation = "BINARY";
  int rc = sqlite3_table_column_metadata(guard->db, guard->schema, guard->table, guard->column,
                                         NULL, &collation, NULL, NULL, NULL);
  if (rc != SQLITE_OK || sqlite3_stricmp(collation, "BINARY") == 0) return rc;
  return set_problem(guard, sqlite3_mprintf("%s: column %s.%s has the collation %s, by which "
                                            "different keys are equal; a filter would deny "
                                            "them. Guard a column with the collation BINARY",
                                            guard->name, guard->table, guard->column, collation));
}

/* Some index begins with the column, or the column is the rowid: new.id is unknown BEFORE then. */
static int check_index(struct guard *guard, char **error) {
  bool found;
  const char *texts[] = {guard->table, guard->schema, guard->column, NULL};
  int rc = exists(guard,
                  "SELECT 1 FROM pragma_index_list(?1, ?2) AS i "
                  "JOIN pragma_index_xinfo(i.name, ?2) AS c WHERE NOT i.partial AND c.seqno = 0 "
                  "AND c.coll = 'BINARY' AND c.name = ?3 COLLATE NOCASE",
                  texts, &found, error);
  if (rc != SQLITE_OK || found) return rc;
  guard->logs_before = false;
  rc = exists(guard,
              "SELECT 1 FROM pragma_table_xinfo(?1, ?2) WHERE name = ?3 COLLATE NOCASE "
              "AND pk = 1 AND type = 'INTEGER' COLLATE NOCASE "
              "AND (SELECT max(pk) FROM pragma_table_xinfo(?1, ?2)) = 1 "
              "AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1, ?2) WHERE origin = 'pk')",
              texts, &found, error);
  if (rc != SQLITE_OK || found) return rc;
  return set_problem(guard, sqlite3_mprintf("%s: no index begins with the column: CREATE INDEX "
                                            "name ON %s(%s)",
                                            guard->name, guard->table, guard->column));
}

/* The first name of the rowid that is not the name of a column, if the table has a rowid. */
static int find_rowid(struct guard *guard, char **error) {
  static const char *const names[] = {"rowid", "_rowid_", "oid"};
  guard->rowid = "NULL";
  for (size_t i = 0; i < 3; i++) {
    bool taken;
    int rc =
        exists(guard, "SELECT 1 FROM pragma_table_xinfo(?1, ?2) WHERE name = ?3 COLLATE NOCASE",
               (const char *[]){guard->table, guard->schema, names[i], NULL}, &taken, error);
    if (rc != SQLITE_OK) return rc;
    if (taken) continue;
    rc = sqlite3_table_column_metadata(guard->db, guard->schema, guard->table, names[i], NULL, NULL,
                                       NULL, NULL, NULL);
    if (rc == SQLITE_OK) guard->rowid = names[i];
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
  }
  return SQLITE_OK;
}

static int find_encoding(struct guard *guard, char **error) {
  sqlite3_stmt *row = NULL;
  bool found;
  int rc = query(guard, "PRAGMA encoding", (const char *[]){NULL}, &row, &found, error);
  const char *encoding = found ? (const char *)sqlite3_column_text(row, 0) : NULL;
  guard->rules.utf16 = encoding && strncmp(encoding, "UTF-16", 6) == 0;
  sqlite3_finalize(row);
  return rc;
}

int besom__sql_guard_inspect_table(struct guard *guard, char **error) {
  bool strict = false;
  sqlite3_free(guard->problem);
  guard->problem = NULL;
  int rc = find_table(guard, &strict, error);
  if (rc == SQLITE_OK && !guard->problem) rc = find_column(guard, strict, error);
  if (rc == SQLITE_OK && !guard->problem) rc = check_collation(guard);
  if (rc == SQLITE_OK && !guard->problem) rc = check_index(guard, error);
  if (rc == SQLITE_OK && !guard->problem) rc = find_rowid(guard, error);
  if (rc == SQLITE_OK && !guard->problem) rc = find_encoding(guard, error);
  return rc;
}

/* ------------------------------------------------------------------ triggers */

/*
 * The triggers log a key before its row is stored. Other triggers, which can end a statement after
 * that, cannot hide the row from the log then. A key that the table has already is not logged
 * again, so that an INSERT OR IGNORE of it writes nothing.
 *
 * BEFORE triggers do not see the final value of a rowid, of a generated column, or of a NOT NULL
 * column with a default. For these the triggers are AFTER triggers; see check_other_triggers.
 */
enum { TRIGGERS = 3 };

static char *insert_trigger(const struct guard *guard) {
  const char *n = guard->name, *t = guard->table, *c = guard->column;
  if (!guard->logs_before)
    return sqlite3_mprintf("\"%w_insert\" AFTER INSERT ON \"%w\" WHEN new.\"%w\" IS NOT NULL "
                           "BEGIN INSERT INTO \"%w_log\"(op, key, stamp) "
                           "VALUES ('+', new.\"%w\", randomblob(8)); END",
                           n, t, c, n, c);
  return sqlite3_mprintf("\"%w_insert\" BEFORE INSERT ON \"%w\" WHEN new.\"%w\" IS NOT NULL "
                         "AND NOT EXISTS (SELECT 1 FROM \"%w\" WHERE \"%w\" = new.\"%w\") "
                         "BEGIN INSERT INTO \"%w_log\"(op, key, stamp) "
                         "VALUES ('+', new.\"%w\", randomblob(8)); END",
                         n, t, c, t, c, c, n, c);
}

static char *update_trigger(const struct guard *guard) {
  const char *n = guard->name, *t = guard->table, *c = guard->column;
  if (!guard->logs_before)
    return sqlite3_mprintf("\"%w_update\" AFTER UPDATE ON \"%w\" "
                           "WHEN old.\"%w\" IS NOT new.\"%w\" BEGIN "
                           "INSERT INTO \"%w_log\"(op, key, stamp) VALUES ('-', old.\"%w\", "
                           "randomblob(8)), ('+', new.\"%w\", randomblob(8)); END",
                           n, t, c, c, n, c, c);
  return sqlite3_mprintf("\"%w_update\" BEFORE UPDATE ON \"%w\" "
                         "WHEN old.\"%w\" IS NOT new.\"%w\" BEGIN "
                         "INSERT INTO \"%w_log\"(op, key, stamp) VALUES ('-', old.\"%w\", "
                         "randomblob(8)); INSERT INTO \"%w_log\"(op, key, stamp) "
                         "SELECT '+', new.\"%w\", randomblob(8) WHERE new.\"%w\" IS NOT NULL "
                         "AND NOT EXISTS (SELECT 1 FROM \"%w\" WHERE \"%w\" = new.\"%w\"); END",
                         n, t, c, c, n, c, n, c, c, t, c, c);
}

/* The text behind CREATE TRIGGER, as SQLite keeps it in its schema. */
static char *trigger_text(const struct guard *guard, int i) {
  if (i == 0) return insert_trigger(guard);
  if (i == 1) return update_trigger(guard);
  return sqlite3_mprintf("\"%w_delete\" AFTER DELETE ON \"%w\" BEGIN "
                         "INSERT INTO \"%w_log\"(op, key, stamp) "
                         "VALUES ('-', old.\"%w\", randomblob(8)); END",
                         guard->name, guard->table, guard->name, guard->column);
}

static const char *trigger_suffix(int i) {
  static const char *const suffixes[TRIGGERS] = {"insert", "update", "delete"};
  return suffixes[i];
}

/* True if the schema has the trigger with exactly this text. */
static int trigger_is_right(struct guard *guard, int i, bool *right, char **error) {
  char *text = trigger_text(guard, i);
  char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND "
                              "sql = 'CREATE TRIGGER ' || ?1",
                              guard->schema);
  int rc =
      text && sql ? exists(guard, sql, (const char *[]){text, NULL}, right, error) : SQLITE_NOMEM;
  sqlite3_free(text);
  sqlite3_free(sql);
  return rc;
}

static int check_triggers(struct guard *guard, char **error) {
  for (int i = 0; i < TRIGGERS; i++) {
    bool right;
    int rc = trigger_is_right(guard, i, &right, error);
    if (rc != SQLITE_OK) return rc;
    if (right) continue;
    return set_problem(guard, sqlite3_mprintf("%s: the trigger %s_%s is missing or was changed, so "
                                              "that keys may be unknown: INSERT INTO %s(%s) VALUES "
                                              "('rebuild')",
                                              guard->name, guard->name, trigger_suffix(i),
                                              guard->name, guard->name));
  }
  return SQLITE_OK;
}

/*
 * An AFTER trigger with RAISE(IGNORE) or RAISE(FAIL) keeps the row, but ends the triggers that
 * follow: ours, perhaps.
 */
static bool may_end_triggers(const char *sql) {
  const char *raise = sql;
  if (!strcasestr(sql, "AFTER")) return false;
  while ((raise = strcasestr(raise, "RAISE"))) {
    raise += 5;
    raise += strspn(raise, " \t\r\n(");
    if (strncasecmp(raise, "IGNORE", 6) == 0 || strncasecmp(raise, "FAIL", 4) == 0) return true;
  }
  return false;
}

static int check_other_triggers(struct guard *guard, char **error) {
  sqlite3_stmt *row = NULL;
  bool more;
  guard->other_triggers = false;
  if (guard->logs_before) return SQLITE_OK;
  char *sql = sqlite3_mprintf(
      "SELECT name, sql FROM (SELECT * FROM \"%w\".sqlite_schema UNION ALL "
      "SELECT * FROM temp.sqlite_schema) WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE "
      "AND name NOT IN (?2 || '_insert', ?2 || '_delete', ?2 || '_update')",
      guard->schema);
  if (!sql) return SQLITE_NOMEM;
  int rc = query(guard, sql, (const char *[]){guard->table, guard->name, NULL}, &row, &more, error);
  while (rc == SQLITE_OK && more && !guard->problem) {
    const char *name = (const char *)sqlite3_column_text(row, 0),
               *text = (const char *)sqlite3_column_text(row, 1);
    guard->other_triggers = true;
    if (name && text && may_end_triggers(text))
      rc = set_problem(guard, sqlite3_mprintf("%s: the trigger %s has RAISE(IGNORE) or RAISE(FAIL) "
                                              "after a change of %s, which can keep a row and end "
                                              "the triggers of the guard. Use BEFORE, or "
                                              "RAISE(ABORT)",
                                              guard->name, name, guard->table));
    more = sqlite3_step(row) == SQLITE_ROW;
  }
  sqlite3_finalize(row);
  sqlite3_free(sql);
  return rc;
}

static int check_own_tables(struct guard *guard, char **error) {
  static const char *const suffixes[] = {"log", "state"};
  for (size_t i = 0; i < 2; i++) {
    bool found;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'table' AND "
                                "name = ?1 || '_%s'",
                                guard->schema, suffixes[i]);
    if (!sql) return SQLITE_NOMEM;
    int rc = exists(guard, sql, (const char *[]){guard->name, NULL}, &found, error);
    sqlite3_free(sql);
    if (rc != SQLITE_OK) return rc;
    if (found) continue;
    return set_problem(guard, sqlite3_mprintf("%s: the table %s_%s is missing: INSERT INTO %s(%s) "
                                              "VALUES ('rebuild')",
                                              guard->name, guard->name, suffixes[i], guard->name,
                                              guard->name));
  }
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ changes of the schema */

static int read_version(struct guard *guard, int i, sqlite3_int64 *version, char **error) {
  sqlite3_stmt **statement = &guard->read_schema_version[i];
  int rc = SQLITE_OK;
  if (!*statement)
    rc = besom__sql_prepare(guard->db, statement, error, "PRAGMA \"%w\".schema_version",
                            i ? "temp" : guard->schema);
  if (rc != SQLITE_OK) return rc;
  if (sqlite3_step(*statement) == SQLITE_ROW) *version = sqlite3_column_int64(*statement, 0);
  rc = sqlite3_reset(*statement);
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, guard->db, rc);
}

/* SQLite compares the virtual table's column by the type that it had when it was connected. */
static int check_type(struct guard *guard) {
  if (guard->declared == guard->rules.affinity) return SQLITE_OK;
  return set_problem(guard, sqlite3_mprintf("%s: column %s.%s has another type than before: open "
                                            "the connection again",
                                            guard->name, guard->table, guard->column));
}

/* Triggers of the schema temp can be on tables of other schemas. */
static int read_versions(struct guard *guard, sqlite3_int64 *version, char **error) {
  sqlite3_int64 own = 0, temp = 0;
  int rc = read_version(guard, 0, &own, error);
  if (rc == SQLITE_OK) rc = read_version(guard, 1, &temp, error);
  *version = (sqlite3_int64)((uint64_t)(own & 0x7fffffff) << 32 | (uint64_t)(temp & 0xffffffff));
  return rc;
}

int besom__sql_guard_inspect(struct guard *guard, char **error) {
  sqlite3_int64 version = -1;
  int rc = read_versions(guard, &version, error);
  if (rc != SQLITE_OK || version == guard->schema_version) return rc;
  guard->schema_version = -1;
  rc = besom__sql_guard_inspect_table(guard, error);
  if (rc == SQLITE_OK && !guard->problem) rc = check_type(guard);
  if (rc == SQLITE_OK && !guard->problem) rc = check_triggers(guard, error);
  if (rc == SQLITE_OK && !guard->problem) rc = check_own_tables(guard, error);
  if (rc == SQLITE_OK && !guard->problem) rc = check_other_triggers(guard, error);
  if (rc == SQLITE_OK) guard->schema_version = version;
  return rc;
}

/* ------------------------------------------------------------------ creating and dropping */

static int create_triggers(struct guard *guard, char **error) {
  int rc = SQLITE_OK;
  for (int i = 0; rc == SQLITE_OK && i < TRIGGERS; i++) {
    bool right;
    rc = trigger_is_right(guard, i, &right, error);
    if (rc != SQLITE_OK || right) continue;
    char *text = trigger_text(guard, i);
    if (!text) return SQLITE_NOMEM;
    rc = besom__sql_run(guard->db, error, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", guard->schema,
                        guard->name, trigger_suffix(i));
    if (rc == SQLITE_OK)
      rc = besom__sql_run(guard->db, error, "CREATE TRIGGER \"%w\".%s", guard->schema, text);
    sqlite3_free(text);
  }
  return rc;
}

int besom__sql_guard_create_objects(struct guard *guard, char **error) {
  int rc = besom__sql_run(guard->db, error,
                          "CREATE TABLE IF NOT EXISTS \"%w\".\"%w_log\"(id INTEGER PRIMARY KEY, "
                          "op TEXT NOT NULL, key, stamp BLOB NOT NULL)",
                          guard->schema, guard->name);
  if (rc == SQLITE_OK)
    rc = besom__sql_run(guard->db, error,
                        "CREATE TABLE IF NOT EXISTS \"%w\".\"%w_state\"(id INTEGER PRIMARY KEY, "
                        "position INTEGER, stamp BLOB, removed INTEGER, data BLOB)",
                        guard->schema, guard->name);
  return rc == SQLITE_OK ? create_triggers(guard, error) : rc;
}

static int drop_triggers(struct guard *guard, char **error) {
  int rc = SQLITE_OK;
  for (int i = 0; rc == SQLITE_OK && i < TRIGGERS; i++)
    rc = besom__sql_run(guard->db, error, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", guard->schema,
                        guard->name, trigger_suffix(i));
  return rc;
}

int besom__sql_guard_drop_objects(struct guard *guard, char **error) {
  int rc = drop_triggers(guard, error);
  if (rc == SQLITE_OK)
    rc = besom__sql_run(guard->db, error, "DROP TABLE IF EXISTS \"%w\".\"%w_log\"", guard->schema,
                        guard->name);
  if (rc == SQLITE_OK)
    rc = besom__sql_run(guard->db, error, "DROP TABLE IF EXISTS \"%w\".\"%w_state\"", guard->schema,
                        guard->name);
  return rc;
}

int besom__sql_guard_rename_objects(struct guard *guard, const char *name, char **error) {
  char *copy = sqlite3_mprintf("%s", name);
  if (!copy) return SQLITE_NOMEM;
  struct guard renamed = *guard;
  renamed.name = copy;
  int rc = drop_triggers(guard, error);
  static const char *const suffixes[] = {"log", "state"};
  for (int i = 0; rc == SQLITE_OK && i < 2; i++)
    rc = besom__sql_run(guard->db, error, "ALTER TABLE \"%w\".\"%w_%s\" RENAME TO \"%w_%s\"",
                        guard->schema, guard->name, suffixes[i], name, suffixes[i]);
  if (rc == SQLITE_OK) rc = create_triggers(&renamed, error);
  sqlite3_free(copy);
  return rc;
}
