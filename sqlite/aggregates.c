/*
 * The aggregates besom_build, besom_keys and besom_merge. SQLite also calls xFinal when it gives up
 * a statement, so none of them writes to the database.
 */
#include "key_list.h"

static void fail_step(sqlite3_context *context, int rc, char *error, bool *failed) {
  *failed = true;
  besom__sql_result_error(context, rc, error);
}

/* Adds the key of a value, unless it is NULL. */
static int add_value(struct key_list *list, sqlite3_value *value) {
  struct key key;
  if (sqlite3_value_type(value) == SQLITE_NULL) return SQLITE_OK;
  int rc = besom__sql_key(value, &key);
  return rc == SQLITE_OK ? besom__sql_key_list_add(list, &key) : rc;
}

/* ------------------------------------------------------------------ besom_build */

/* If the options say nothing and there are fewer keys: a page of the database holds them. */
enum { DEFAULT_CAPACITY = 1000 };

struct build {
  struct key_list keys;
  char *options;
  bool failed;
};

static int build_add(struct build *build, int argc, sqlite3_value **argv, char **error) {
  const char *options = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
  if (argc > 1 && !options)
    return sqlite3_value_type(argv[1]) == SQLITE_NULL
               ? besom__sql_fail(error, "besom_build: the options are NULL: leave them out")
               : SQLITE_NOMEM;
  if (!build->options && options) {
    if (!(build->options = sqlite3_mprintf("%s", options))) return SQLITE_NOMEM;
  } else if (options && strcmp(build->options, options) != 0) {
    return besom__sql_fail(error, "besom_build: the options differ between rows: use a constant");
  }
  return add_value(&build->keys, argv[0]);
}

static void build_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct build *build = sqlite3_aggregate_context(context, sizeof *build);
  char *error = NULL;
  if (!build) return sqlite3_result_error_nomem(context);
  int rc = build->failed ? SQLITE_OK : build_add(build, argc, argv, &error);
  if (rc != SQLITE_OK) fail_step(context, rc, error, &build->failed);
}

static int build_filter(const struct build *build, besom_filter **filter, char **error) {
  struct options options;
  struct key_reader reader;
  int rc = besom__sql_options_parse(&options, build->options, error);
  if (rc == SQLITE_OK) {
    besom__sql_key_reader_init(&reader, &build->keys);
    besom_config *config = &options.config;
    uint64_t count = build->keys.count;
    if (!config->capacity) config->capacity = count > DEFAULT_CAPACITY ? count : DEFAULT_CAPACITY;
    besom_status status = besom_build(config, &(besom_input){.yes = &reader.source}, filter);
    if (status != BESOM_OK) rc = besom__sql_fail_config(error, config, status);
  }
  besom__sql_options_free(&options);
  return rc;
}

/* The result of an aggregate is the saved filter. */
static int result_filter(sqlite3_context *context, const besom_filter *filter, char **error) {
  void *data;
  size_t len;
  int rc = besom__sql_save(sqlite3_context_db_handle(context), filter, &data, &len, error);
  if (rc == SQLITE_OK) sqlite3_result_blob64(context, data, len, sqlite3_free);
  return rc;
}

static void build_final(sqlite3_context *context) {
  struct build none = {0}, *build = sqlite3_aggregate_context(context, 0);
  besom_filter *filter = NULL;
  char *error = NULL;
  if (!build) build = &none;
  if (!build->failed) {
    int rc = build_filter(build, &filter, &error);
    if (rc == SQLITE_OK) rc = result_filter(context, filter, &error);
    if (rc != SQLITE_OK) besom__sql_result_error(context, rc, error);
  }
  besom_free(filter);
  besom__sql_key_list_clear(&build->keys);
  sqlite3_free(build->options);
}

/* ------------------------------------------------------------------ besom_keys */

struct collection {
  struct key_list *keys;
  bool failed;
};

static void free_list(void *list) {
  besom__sql_key_list_clear(list);
  sqlite3_free(list);
}

static int collect(struct collection *collection, sqlite3_value *value) {
  if (!collection->keys) {
    if (!(collection->keys = sqlite3_malloc64(sizeof *collection->keys))) return SQLITE_NOMEM;
    *collection->keys = (struct key_list){0};
  }
  return add_value(collection->keys, value);
}

static void keys_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct collection *collection = sqlite3_aggregate_context(context, sizeof *collection);
  if (!collection) return sqlite3_result_error_nomem(context);
  int rc = collection->failed ? SQLITE_OK : collect(collection, argv[0]);
  if (rc != SQLITE_OK) fail_step(context, rc, NULL, &collection->failed);
}

static void keys_final(sqlite3_context *context) {
  struct collection *collection = sqlite3_aggregate_context(context, 0);
  if (collection && collection->keys)
    sqlite3_result_pointer(context, collection->keys, BESOM_KEY_LIST_TYPE, free_list);
}

/* ------------------------------------------------------------------ besom_merge */

struct merge {
  besom_filter *filter;
  bool failed;
};

static int merge_one(struct merge *merge, sqlite3_value *value, char **error) {
  besom_filter *next = NULL, *both = NULL;
  if (sqlite3_value_type(value) == SQLITE_NULL) return SQLITE_OK;
  if (sqlite3_value_type(value) != SQLITE_BLOB)
    return besom__sql_fail(error, "besom_merge needs filters: SELECT besom_merge(data) FROM "
                                  "besom_filters WHERE name IN (...)");
  int rc = besom__sql_load(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value),
                           "besom_merge", &next, error);
  if (rc != SQLITE_OK || !merge->filter) {
    if (rc == SQLITE_OK) merge->filter = next;
    return rc;
  }
  besom_status status = besom_merge(merge->filter, next, &both);
  besom_free(next);
  if (status != BESOM_OK) return besom__sql_fail_status(error, "besom_merge", status);
  besom_free(merge->filter);
  merge->filter = both;
  return SQLITE_OK;
}

static void merge_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct merge *merge = sqlite3_aggregate_context(context, sizeof *merge);
  char *error = NULL;
  if (!merge) return sqlite3_result_error_nomem(context);
  int rc = merge->failed ? SQLITE_OK : merge_one(merge, argv[0], &error);
  if (rc != SQLITE_OK) fail_step(context, rc, error, &merge->failed);
}

static void merge_final(sqlite3_context *context) {
  struct merge *merge = sqlite3_aggregate_context(context, 0);
  char *error = NULL;
  if (!merge || !merge->filter) return; /* NULL */
  int rc = merge->failed ? SQLITE_OK : result_filter(context, merge->filter, &error);
  if (rc != SQLITE_OK) besom__sql_result_error(context, rc, error);
  besom_free(merge->filter);
}

int besom__sql_register_aggregates(struct connection *connection) {
  const struct {
    const char *name;
    int arguments;
    void (*step)(sqlite3_context *, int, sqlite3_value **);
    void (*final)(sqlite3_context *);
  } aggregates[] = {
      {"besom_build", 1, build_step, build_final},
      {"besom_build", 2, build_step, build_final},
      {"besom_keys", 1, keys_step, keys_final},
      {"besom_merge", 1, merge_step, merge_final},
  };
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates && rc == SQLITE_OK; i++)
    rc = sqlite3_create_function_v2(connection->db, aggregates[i].name, aggregates[i].arguments,
                                    SQLITE_UTF8, NULL, NULL, aggregates[i].step,
                                    aggregates[i].final, NULL);
  return rc;
}
