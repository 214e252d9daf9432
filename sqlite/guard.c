/* The guards of a connection. */
#include "guard.h"

void besom__sql_guard_release(struct guard *guard) {
  if (--guard->references) return;
  besom__sql_guard_close_statements(guard);
  besom_free(guard->image.filter);
  besom__sql_tagged_key_free(&guard->key);
  besom__sql_tagged_key_free(&guard->previous);
  besom__sql_options_free(&guard->options);
  sqlite3_free(guard->problem);
  sqlite3_free(guard->schema);
  sqlite3_free(guard->name);
  sqlite3_free(guard->table);
  sqlite3_free(guard->column);
  sqlite3_free(guard);
}

void besom__sql_guard_close_statements(struct guard *guard) {
  sqlite3_finalize(guard->read_schema_version[0]);
  sqlite3_finalize(guard->read_schema_version[1]);
  sqlite3_finalize(guard->read_log);
  guard->read_schema_version[0] = guard->read_schema_version[1] = guard->read_log = NULL;
  while (guard->idle_count) sqlite3_finalize(guard->idle[--guard->idle_count]);
}

static void remove_at(struct guard **place) {
  struct guard *guard = *place;
  *place = guard->next;
  besom__sql_guard_release(guard);
}

void besom__sql_guard_forget(struct connection *connection, const struct guard *guard) {
  for (struct guard **place = &connection->guards; *place; place = &(*place)->next)
    if (*place == guard) return remove_at(place);
}

void besom__sql_guards_free_all(struct connection *connection) {
  while (connection->guards) remove_at(&connection->guards);
}

static struct guard **find(struct connection *connection, const char *schema, const char *name) {
  struct guard **place = &connection->guards;
  while (*place &&
         (sqlite3_stricmp((*place)->schema, schema) || sqlite3_stricmp((*place)->name, name)))
    place = &(*place)->next;
  return place;
}

/* Frees the guards of databases that were detached. */
static void sweep(struct connection *connection) {
  for (struct guard **place = &connection->guards; *place;) {
    if (sqlite3_txn_state(connection->db, (*place)->schema) < 0)
      remove_at(place);
    else
      place = &(*place)->next;
  }
}

/* Every lookup that the filter passes may read the disk, so the rate is lower than besom's. */
static const double default_fpr = 0.001;

static int parse_options(struct guard *guard, const char *text, char **error) {
  int rc = besom__sql_options_parse(&guard->options, text, error);
  if (rc != SQLITE_OK) return rc;
  besom_config *config = &guard->options.config;
  if (strcmp(config->kind, "aqf") != 0)
    return besom__sql_fail(error, "besom_guard: the kind is aqf: leave the option kind out");
  if (config->fpr == 0 && config->bits_per_key == 0) config->fpr = default_fpr;
  besom_config checked = *config;
  if (!checked.capacity) checked.capacity = 1000;
  char text_of_check[256] = "";
  if (besom_config_check(&checked, text_of_check, sizeof text_of_check) == BESOM_OK)
    return SQLITE_OK;
  return besom__sql_fail(error, "besom_guard: %s", text_of_check);
}

int besom__sql_guard_open(struct connection *connection, const char *schema, const char *name,
                          const char *table, const char *column, const char *options,
                          struct guard **out, char **error) {
  sweep(connection);
  struct guard **place = find(connection, schema, name), *guard = *place;
  if (guard && sqlite3_stricmp(guard->table, table) == 0 &&
      sqlite3_stricmp(guard->column, column) == 0) {
    /* The schema may be that of another file now. */
    guard->is_current = false;
    guard->schema_version = -1;
    guard->references++;
    *out = guard;
    return SQLITE_OK;
  }
  if (guard) remove_at(place);
  if (!(guard = sqlite3_malloc64(sizeof *guard))) return SQLITE_NOMEM;
  *guard =
      (struct guard){.references = 1, .db = connection->db, .schema_version = -1, .rowid = "NULL"};
  guard->schema = sqlite3_mprintf("%s", schema);
  guard->name = sqlite3_mprintf("%s", name);
  guard->table = sqlite3_mprintf("%s", table);
  guard->column = sqlite3_mprintf("%s", column);
  int rc = guard->schema && guard->name && guard->table && guard->column ? SQLITE_OK : SQLITE_NOMEM;
  if (rc == SQLITE_OK) rc = parse_options(guard, options, error);
  if (rc != SQLITE_OK) {
    besom__sql_guard_release(guard);
    return rc;
  }
  guard->references++;
  guard->next = connection->guards;
  *out = connection->guards = guard;
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ besom_info */

static int describe(const struct guard *guard, sqlite3_str *json, char **error) {
  sqlite3_str_appendall(json, "{\"guard\":");
  besom__sql_append_string(json, guard->name);
  sqlite3_str_appendall(json, ",\"table\":");
  besom__sql_append_string(json, guard->table);
  sqlite3_str_appendall(json, ",\"column\":");
  besom__sql_append_string(json, guard->column);
  sqlite3_str_appendf(json,
                      ",\"position\":%lld,\"deleted_keys\":%llu,\"queries\":%llu,"
                      "\"filter_negatives\":%llu,\"lookups\":%llu,\"false_positives\":%llu,"
                      "\"reported\":%llu,\"replayed\":%llu,\"loads\":%llu,\"builds\":%llu",
                      guard->image.at.id, guard->image.removed, guard->counts.queries,
                      guard->counts.negatives, guard->counts.lookups, guard->counts.false_positives,
                      guard->counts.reported, guard->counts.replayed, guard->counts.loads,
                      guard->counts.builds);
  if (!guard->image.filter) return SQLITE_OK;
  sqlite3_str_appendchar(json, 1, ',');
  return besom__sql_describe(json, guard->image.filter, error);
}

/* The name of a guard in main, or schema.name. A statement that uses it connects it. */
int besom__sql_guard_describe(struct connection *connection, const char *text, sqlite3_str *json,
                              bool *found, char **error) {
  sqlite3_stmt *statement = NULL;
  const char *dot = strchr(text, '.');
  char *schema = dot ? sqlite3_mprintf("%.*s", (int)(dot - text), text) : sqlite3_mprintf("main");
  const char *name = dot ? dot + 1 : text;
  char *ignored = NULL;
  int rc = SQLITE_OK;
  *found = false;
  if (!schema) return SQLITE_NOMEM;
  if (besom__sql_prepare(connection->db, &statement, &ignored,
                         "SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema, name) == SQLITE_OK) {
    sqlite3_step(statement);
    struct guard *guard = *find(connection, schema, name);
    *found = guard != NULL;
    if (guard) rc = describe(guard, json, error);
  }
  sqlite3_finalize(statement);
  sqlite3_free(ignored);
  sqlite3_free(schema);
  return rc;
}
