/* besom_add, besom_remove, besom_report: changes of a named filter. */
#include "key_list.h"
#include "named_filters.h"

/* What a call does with every key. Counts in *n the keys for which it changed the filter. */
typedef besom_status (*key_change)(besom_filter *filter, besom_bytes key, uint64_t *n);

struct change {
  const char *function; /* its name, for messages */
  key_change apply;
};

static besom_status add(besom_filter *filter, besom_bytes key, uint64_t *n) {
  besom_status status = besom_insert(filter, key.data, key.len);
  if (status == BESOM_FULL && besom_abilities(filter) & BESOM_CAN_RESIZE) {
    besom_statistics stats;
    status = besom_stats(filter, &stats);
    if (status == BESOM_OK && besom_resize(filter, 2 * stats.slots, NULL) != BESOM_OK)
      return BESOM_FULL;
    if (status == BESOM_OK) status = besom_insert(filter, key.data, key.len);
  }
  *n += status == BESOM_OK;
  return status;
}

static besom_status remove_key(besom_filter *filter, besom_bytes key, uint64_t *n) {
  besom_status status = besom_remove(filter, key.data, key.len);
  *n += status == BESOM_OK;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static besom_status report(besom_filter *filter, besom_bytes key, uint64_t *n) {
  if (!besom_contains(filter, key.data, key.len)) return BESOM_OK;
  besom_status status = besom_adapt(filter, key.data, key.len);
  *n += status == BESOM_OK;
  return status;
}

/* The keys of a call: a list of besom_keys, or one value. */
struct argument {
  const struct key_list *list;
  struct key key;
};

static int argument_set(struct argument *argument, sqlite3_value *value, bool *is_null) {
  argument->list = sqlite3_value_pointer(value, BESOM_KEY_LIST_TYPE);
  *is_null = !argument->list && sqlite3_value_type(value) == SQLITE_NULL;
  return argument->list || *is_null ? SQLITE_OK : besom__sql_key(value, &argument->key);
}

static besom_status apply_all(besom_filter *filter, key_change apply,
                              const struct argument *argument, uint64_t *n) {
  if (!argument->list)
    return apply(filter, (besom_bytes){argument->key.data, argument->key.len}, n);
  struct key_reader reader;
  besom_bytes key;
  uint64_t weight;
  besom_status status;
  besom__sql_key_reader_init(&reader, argument->list);
  while ((status = reader.source.next(reader.source.ctx, &key, &weight)) == BESOM_OK)
    if ((status = apply(filter, key, n)) != BESOM_OK) return status;
  return status == BESOM_END ? BESOM_OK : status;
}

/* A private copy: the parsed filter of the connection must stay what the table has. */
static int copy_filter(sqlite3 *db, const besom_filter *filter, besom_filter **copy, char **error) {
  void *data = NULL;
  size_t len;
  int rc = besom__sql_save(db, filter, &data, &len, error);
  if (rc == SQLITE_OK) rc = besom__sql_load(data, len, "copying a filter", copy, error);
  sqlite3_free(data);
  return rc;
}

/* One attempt. *done is false if another connection has replaced the filter meanwhile. */
static int try_change(struct connection *connection, const struct change *change, const char *name,
                      const struct argument *argument, uint64_t *n, bool *done, char **error) {
  struct named_filter *named = NULL;
  besom_filter *copy = NULL;
  *n = 0;
  *done = true;
  int rc = besom__sql_named_require(connection, name, &named, error);
  if (rc == SQLITE_OK) rc = copy_filter(connection->db, named->filter, &copy, error);
  if (rc == SQLITE_OK) {
    besom_status status = apply_all(copy, change->apply, argument, n);
    if (status != BESOM_OK) rc = besom__sql_fail_status(error, change->function, status);
  }
  if (rc == SQLITE_OK && *n) rc = besom__sql_named_replace(connection, named, copy, done, error);
  besom_free(copy);
  besom__sql_named_release(named);
  return rc;
}

static int run_change(struct connection *connection, const struct change *change,
                      sqlite3_value **argv, uint64_t *n, char **error) {
  struct argument argument;
  bool is_null, done = false;
  *n = 0;
  if (sqlite3_value_type(argv[0]) != SQLITE_TEXT)
    return besom__sql_fail(error, "%s needs the name of a filter in besom_filters",
                           change->function);
  const char *name = (const char *)sqlite3_value_text(argv[0]);
  if (!name) return SQLITE_NOMEM;
  int rc = argument_set(&argument, argv[1], &is_null);
  if (is_null) return SQLITE_OK;
  while (rc == SQLITE_OK && !done)
    rc = try_change(connection, change, name, &argument, n, &done, error);
  return rc;
}

static void change_function(sqlite3_context *context, sqlite3_value **argv,
                            const struct change *change) {
  char *error = NULL;
  uint64_t n;
  int rc = run_change(sqlite3_user_data(context), change, argv, &n, &error);
  if (rc == SQLITE_OK)
    sqlite3_result_int64(context, (sqlite3_int64)n);
  else
    besom__sql_result_error(context, rc, error);
}

static void add_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  change_function(context, argv, &(struct change){"besom_add", add});
}

static void remove_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  change_function(context, argv, &(struct change){"besom_remove", remove_key});
}

static void report_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  change_function(context, argv, &(struct change){"besom_report", report});
}

int besom__sql_register_changes(struct connection *connection) {
  const struct {
    const char *name;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
  } functions[] = {{"besom_add", add_function},
                   {"besom_remove", remove_function},
                   {"besom_report", report_function}};
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
    rc = sqlite3_create_function_v2(connection->db, functions[i].name, 2,
                                    SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                    besom__sql_connection_retain(connection), functions[i].function,
                                    NULL, NULL, besom__sql_connection_release);
  return rc;
}
