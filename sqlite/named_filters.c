#include "named_filters.h"

/* A connection keeps the filters that it used most recently. */
enum { MAX_PARSED = 64 };

/* ------------------------------------------------------------------ parsed filters */

void besom__sql_named_release(struct named_filter *named) {
  if (!named || --named->references) return;
  besom_free(named->filter);
  sqlite3_free(named->schema);
  sqlite3_free(named->name);
  sqlite3_free(named);
}

static void unlink_from(struct named_filter **place) {
  struct named_filter *named = *place;
  *place = named->next;
  besom__sql_named_release(named);
}

void besom__sql_named_free_all(struct connection *connection) {
  while (connection->filters) unlink_from(&connection->filters);
}

/* The place of a parsed filter in the list, or the place past the last one. */
static struct named_filter **parsed_place(struct connection *connection, const char *schema,
                                          const char *name) {
  struct named_filter **place = &connection->filters;
  while (*place && (sqlite3_stricmp((*place)->schema, schema) || strcmp((*place)->name, name)))
    place = &(*place)->next;
  return place;
}

/* Parses a filter and puts it first in the list, in place of its former generation. */
static int parse(struct connection *connection, const char *schema, const char *name,
                 sqlite3_stmt *row, struct named_filter **out, char **error) {
  struct named_filter *named = sqlite3_malloc64(sizeof *named);
  if (!named) return SQLITE_NOMEM;
  *named = (struct named_filter){.references = 1, .generation = sqlite3_column_int64(row, 0)};
  named->schema = sqlite3_mprintf("%s", schema);
  named->name = sqlite3_mprintf("%s", name);
  char *what = sqlite3_mprintf("filter \"%s\"", name);
  const void *data = sqlite3_column_blob(row, 1);
  size_t len = (size_t)sqlite3_column_bytes(row, 1);
  int rc = named->schema && named->name && what ? SQLITE_OK : SQLITE_NOMEM;
  if (rc == SQLITE_OK) rc = besom__sql_load(data, len, what, &named->filter, error);
  sqlite3_free(what);
  if (rc != SQLITE_OK) {
    besom__sql_named_release(named);
    return rc;
  }
  named->next = connection->filters;
  connection->filters = named;
  *out = named;
  size_t n = 0;
  for (struct named_filter **p = &connection->filters; *p;) {
    if (++n > MAX_PARSED)
      unlink_from(p);
    else
      p = &(*p)->next;
  }
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ the table */

/* Splits "schema.name" if there is such a schema. *schema is from sqlite3_malloc. */
static int split_name(sqlite3 *db, const char *text, char **schema, const char **name) {
  const char *dot = strchr(text, '.');
  *name = text;
  if (dot) {
    if (!(*schema = sqlite3_mprintf("%.*s", (int)(dot - text), text))) return SQLITE_NOMEM;
    if (sqlite3_txn_state(db, *schema) >= 0) {
      *name = dot + 1;
      return SQLITE_OK;
    }
    sqlite3_free(*schema);
  }
  *schema = sqlite3_mprintf("main");
  return *schema ? SQLITE_OK : SQLITE_NOMEM;
}

static int table_exists(sqlite3 *db, const char *schema, bool *exists) {
  int rc = sqlite3_table_column_metadata(db, schema, "besom_filters", "generation", NULL, NULL,
                                         NULL, NULL, NULL);
  *exists = rc == SQLITE_OK;
  return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

void besom__sql_named_close_statement(struct connection *connection) {
  sqlite3_finalize(connection->read_filter);
  sqlite3_free(connection->read_schema);
  connection->read_filter = NULL;
  connection->read_schema = NULL;
}

/* The statement that was kept, if it is for this schema, or a new one. */
static int take_statement(struct connection *connection, const char *schema, sqlite3_stmt **row,
                          char **error) {
  if (connection->read_filter && sqlite3_stricmp(connection->read_schema, schema) == 0) {
    *row = connection->read_filter;
    connection->read_filter = NULL;
  } else {
    *row = NULL;
  }
  besom__sql_named_close_statement(connection);
  if (*row) return SQLITE_OK;
  return besom__sql_prepare(connection->db, row, error,
                            "SELECT generation FROM \"%w\".besom_filters WHERE name = ?1", schema);
}

/* Keeps the statement for the next lookup. It is closed with the virtual table besom_kinds. */
static void keep_statement(struct connection *connection, const char *schema, sqlite3_stmt *row) {
  if (!connection->closes_statements)
    sqlite3_exec(connection->db, "SELECT 1 FROM besom_kinds LIMIT 0", NULL, NULL, NULL);
  besom__sql_named_close_statement(connection);
  if (connection->closes_statements && sqlite3_reset(row) == SQLITE_OK &&
      (connection->read_schema = sqlite3_mprintf("%s", schema)))
    connection->read_filter = row;
  else
    sqlite3_finalize(row);
}

static int step_to(sqlite3 *db, sqlite3_stmt *row, const char *name, char **error) {
  int rc = sqlite3_bind_text(row, 1, name, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_step(row);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : besom__sql_fail_db(error, db, rc);
}

/* SQLITE_ROW and the generation of a filter, or SQLITE_DONE if there is none. */
static int read_generation(struct connection *connection, const char *schema, const char *name,
                           sqlite3_int64 *generation, char **error) {
  sqlite3_stmt *row = NULL;
  int rc = take_statement(connection, schema, &row, error);
  if (rc == SQLITE_OK) rc = step_to(connection->db, row, name, error);
  if (rc == SQLITE_ROW) *generation = sqlite3_column_int64(row, 0);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE)
    keep_statement(connection, schema, row);
  else
    sqlite3_finalize(row);
  return rc;
}

/* Reads and parses a filter; *out is NULL if it is gone. Reading copies it, so this is rare. */
static int read_filter(struct connection *connection, const char *schema, const char *name,
                       struct named_filter **out, char **error) {
  sqlite3_stmt *row = NULL;
  int rc = besom__sql_prepare(connection->db, &row, error,
                              "SELECT generation, data FROM \"%w\".besom_filters WHERE name = ?1",
                              schema);
  if (rc == SQLITE_OK) rc = step_to(connection->db, row, name, error);
  if (rc == SQLITE_ROW)
    rc = parse(connection, schema, name, row, out, error);
  else if (rc == SQLITE_DONE)
    rc = SQLITE_OK;
  sqlite3_finalize(row);
  return rc;
}

static int find_in_schema(struct connection *connection, const char *schema, const char *name,
                          struct named_filter **out, char **error) {
  sqlite3_int64 generation;
  int rc = read_generation(connection, schema, name, &generation, error);
  if (rc != SQLITE_ROW) return rc == SQLITE_DONE ? SQLITE_OK : rc;
  struct named_filter **place = parsed_place(connection, schema, name);
  if (*place && (*place)->generation == generation) {
    *out = *place;
    *place = (*out)->next; /* to the front of the list */
    (*out)->next = connection->filters;
    connection->filters = *out;
  } else {
    if (*place) unlink_from(place);
    rc = read_filter(connection, schema, name, out, error);
    if (rc != SQLITE_OK) return rc;
  }
  if (*out) (*out)->references++;
  return SQLITE_OK;
}

int besom__sql_named_find(struct connection *connection, const char *text,
                          struct named_filter **out, char **error) {
  char *schema = NULL;
  const char *name;
  bool exists = false;
  *out = NULL;
  int rc = split_name(connection->db, text, &schema, &name);
  if (rc == SQLITE_OK) rc = table_exists(connection->db, schema, &exists);
  if (rc == SQLITE_OK && exists) rc = find_in_schema(connection, schema, name, out, error);
  sqlite3_free(schema);
  return rc;
}

int besom__sql_named_require(struct connection *connection, const char *name,
                             struct named_filter **out, char **error) {
  int rc = besom__sql_named_find(connection, name, out, error);
  if (rc != SQLITE_OK || *out) return rc;
  return besom__sql_fail(error,
                         "no filter named \"%s\": create it with SELECT besom_save('%s', "
                         "besom_build(key)) FROM ...",
                         name, name);
}

/* ------------------------------------------------------------------ changes */

static int create_table(sqlite3 *db, const char *schema, char **error) {
  int rc = besom__sql_run(db, error,
                          "CREATE TABLE IF NOT EXISTS \"%w\".besom_filters("
                          "name TEXT NOT NULL PRIMARY KEY, "
                          "generation INTEGER NOT NULL DEFAULT (random()), "
                          "data BLOB NOT NULL)",
                          schema);
  if (rc != SQLITE_OK) return rc;
  /* For an UPDATE by hand that does not change the generation. */
  return besom__sql_run(db, error,
                        "CREATE TRIGGER IF NOT EXISTS \"%w\".besom_filters_generation "
                        "AFTER UPDATE OF name, data ON besom_filters "
                        "WHEN new.generation IS old.generation BEGIN "
                        "UPDATE besom_filters SET generation = random() WHERE name = new.name; END",
                        schema);
}

static int bind_and_run(sqlite3 *db, sqlite3_stmt *statement, const char *name, const void *data,
                        size_t len, char **error) {
  int rc = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_bind_blob64(statement, 2, data, len, SQLITE_STATIC);
  if (rc == SQLITE_OK) sqlite3_step(statement);
  int finalized = sqlite3_finalize(statement);
  if (rc == SQLITE_OK) rc = finalized;
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, db, rc);
}

int besom__sql_named_store(struct connection *connection, const char *text, const void *data,
                           size_t len, char **error) {
  sqlite3 *db = connection->db;
  char *schema = NULL;
  const char *name;
  bool exists = false;
  sqlite3_stmt *statement = NULL;
  int rc = split_name(db, text, &schema, &name);
  if (rc == SQLITE_OK) rc = table_exists(db, schema, &exists);
  if (rc == SQLITE_OK && !exists) rc = create_table(db, schema, error);
  if (rc == SQLITE_OK)
    rc = besom__sql_prepare(db, &statement, error,
                            "INSERT INTO \"%w\".besom_filters(name, data) VALUES (?1, ?2) "
                            "ON CONFLICT (name) DO UPDATE SET data = excluded.data, "
                            "generation = random()",
                            schema);
  if (rc == SQLITE_OK) rc = bind_and_run(db, statement, name, data, len, error);
  sqlite3_free(schema);
  return rc;
}

int besom__sql_named_replace(struct connection *connection, const struct named_filter *named,
                             const besom_filter *changed, bool *replaced, char **error) {
  sqlite3 *db = connection->db;
  void *data = NULL;
  size_t len;
  sqlite3_stmt *statement = NULL;
  int rc = besom__sql_save(db, changed, &data, &len, error);
  if (rc == SQLITE_OK)
    rc = besom__sql_prepare(db, &statement, error,
                            "UPDATE \"%w\".besom_filters SET data = ?2, generation = random() "
                            "WHERE name = ?1 AND generation = %lld",
                            named->schema, named->generation);
  if (rc == SQLITE_OK) rc = bind_and_run(db, statement, named->name, data, len, error);
  *replaced = rc == SQLITE_OK && sqlite3_changes(db) > 0;
  sqlite3_free(data);
  return rc;
}
