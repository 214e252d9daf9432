/* besom_has, besom_info, besom_save, besom_version. */
#include "guard.h"
#include "keys.h"
#include "named_filters.h"

/* ------------------------------------------------------------------ besom_has */

/*
 * The filter that the first argument of besom_has means. SQLite keeps it for the rest of the
 * statement if the argument is a constant or a bound parameter.
 */
struct operand {
  struct named_filter *named; /* if the argument is a name */
  besom_filter *parsed;       /* if the argument is a BLOB */
  sqlite3_int64 changes;      /* sqlite3_total_changes64 when the name was looked up */
};

static void operand_free(void *p) {
  struct operand *operand = p;
  besom__sql_named_release(operand->named);
  besom_free(operand->parsed);
  sqlite3_free(operand);
}

static int operand_set(struct operand *operand, struct connection *connection, sqlite3_value *value,
                       char **error) {
  if (sqlite3_value_type(value) == SQLITE_BLOB)
    return besom__sql_load(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value),
                           "the first argument", &operand->parsed, error);
  const char *name = (const char *)sqlite3_value_text(value);
  if (!name) return SQLITE_NOMEM;
  operand->changes = sqlite3_total_changes64(connection->db);
  return besom__sql_named_require(connection, name, &operand->named, error);
}

static int operand_new(struct connection *connection, sqlite3_value *value, struct operand **out,
                       char **error) {
  struct operand *operand = sqlite3_malloc64(sizeof *operand);
  if (!operand) return SQLITE_NOMEM;
  *operand = (struct operand){0};
  int rc = operand_set(operand, connection, value, error);
  if (rc == SQLITE_OK) {
    *out = operand;
  } else {
    operand_free(operand);
  }
  return rc;
}

static const besom_filter *operand_filter(const struct operand *operand) {
  return operand->parsed ? operand->parsed : operand->named->filter;
}

static int contains(const besom_filter *filter, sqlite3_value *value, bool *answer) {
  struct key key;
  if (sqlite3_value_type(value) == SQLITE_INTEGER) {
    *answer = besom_contains_u64(filter, (uint64_t)sqlite3_value_int64(value));
    return SQLITE_OK;
  }
  int rc = besom__sql_key(value, &key);
  if (rc == SQLITE_OK) *answer = besom_contains(filter, key.data, key.len);
  return rc;
}

static void has_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct connection *connection = sqlite3_user_data(context);
  struct operand *kept = sqlite3_get_auxdata(context, 0), *operand = kept;
  char *error = NULL;
  bool answer;
  int rc = SQLITE_OK;
  if (operand && operand->named && operand->changes != sqlite3_total_changes64(connection->db))
    operand = NULL; /* this statement may have changed the filter */
  if (sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
  if (!operand) {
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    rc = operand_new(connection, argv[0], &operand, &error);
  }
  if (rc == SQLITE_OK) rc = contains(operand_filter(operand), argv[1], &answer);
  if (rc == SQLITE_OK)
    sqlite3_result_int(context, answer);
  else
    besom__sql_result_error(context, rc, error);
  /* SQLite may free it at once, so this is last. */
  if (operand && operand != kept) sqlite3_set_auxdata(context, 0, operand, operand_free);
}

/* ------------------------------------------------------------------ besom_info */

static int describe_named(struct connection *connection, sqlite3_str *json, const char *name,
                          char **error) {
  struct named_filter *named = NULL;
  int rc = besom__sql_named_find(connection, name, &named, error);
  if (rc != SQLITE_OK) return rc;
  if (!named) {
    bool found = false;
    rc = besom__sql_guard_describe(connection, name, json, &found, error);
    return rc != SQLITE_OK || found ? rc
                                    : besom__sql_named_require(connection, name, &named, error);
  }
  sqlite3_str_appendall(json, "{\"name\":");
  besom__sql_append_string(json, name);
  sqlite3_str_appendf(json, ",\"generation\":%lld,", named->generation);
  rc = besom__sql_describe(json, named->filter, error);
  besom__sql_named_release(named);
  return rc;
}

static int describe_blob(sqlite3_str *json, sqlite3_value *value, char **error) {
  besom_filter *filter = NULL;
  int rc = besom__sql_load(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value),
                           "the argument", &filter, error);
  if (rc != SQLITE_OK) return rc;
  sqlite3_str_appendchar(json, 1, '{');
  rc = besom__sql_describe(json, filter, error);
  besom_free(filter);
  return rc;
}

static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct connection *connection = sqlite3_user_data(context);
  int type = sqlite3_value_type(argv[0]);
  if (type == SQLITE_NULL) return;
  const char *name = type == SQLITE_BLOB ? NULL : (const char *)sqlite3_value_text(argv[0]);
  if (type != SQLITE_BLOB && !name) return sqlite3_result_error_nomem(context);
  char *error = NULL;
  sqlite3_str *json = sqlite3_str_new(connection->db);
  int rc =
      name ? describe_named(connection, json, name, &error) : describe_blob(json, argv[0], &error);
  sqlite3_str_appendchar(json, 1, '}');
  if (rc == SQLITE_OK) rc = sqlite3_str_errcode(json);
  char *text = sqlite3_str_finish(json);
  if (rc == SQLITE_OK) {
    sqlite3_result_text(context, text, -1, sqlite3_free);
    sqlite3_result_subtype(context, 'J');
  } else {
    sqlite3_free(text);
    besom__sql_result_error(context, rc, error);
  }
}

/* ------------------------------------------------------------------ besom_save */

static int save(struct connection *connection, sqlite3_value **argv, char **error) {
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) != SQLITE_BLOB)
    return besom__sql_fail(error, "besom_save needs a name and a filter: SELECT "
                                  "besom_save('name', besom_build(key)) FROM ...");
  const char *name = (const char *)sqlite3_value_text(argv[0]);
  const void *data = sqlite3_value_blob(argv[1]);
  size_t len = (size_t)sqlite3_value_bytes(argv[1]);
  besom_filter *filter = NULL;
  if (!name) return SQLITE_NOMEM;
  int rc = besom__sql_load(data, len, "besom_save", &filter, error);
  besom_free(filter);
  return rc == SQLITE_OK ? besom__sql_named_store(connection, name, data, len, error) : rc;
}

static void save_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  char *error = NULL;
  int rc = save(sqlite3_user_data(context), argv, &error);
  if (rc == SQLITE_OK)
    sqlite3_result_value(context, argv[0]);
  else
    besom__sql_result_error(context, rc, error);
}

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  sqlite3_result_text(context, besom_version(), -1, SQLITE_STATIC);
}

int besom__sql_register_functions(struct connection *connection) {
  const struct {
    const char *name;
    int arguments, flags;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
  } functions[] = {
      {"besom_has", 2, 0, has_function},
      {"besom_info", 1, SQLITE_DIRECTONLY, info_function},
      {"besom_save", 2, SQLITE_DIRECTONLY, save_function},
      {"besom_version", 0, SQLITE_INNOCUOUS, version_function},
  };
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
    rc = sqlite3_create_function_v2(connection->db, functions[i].name, functions[i].arguments,
                                    SQLITE_UTF8 | functions[i].flags,
                                    besom__sql_connection_retain(connection), functions[i].function,
                                    NULL, NULL, besom__sql_connection_release);
  return rc;
}
