/*
 * extension.h - what the files of the extension share: the state of a connection, errors, saved
 * filters, options.
 *
 * Functions that can fail return an SQLite result code. Those with `char **error` set it to a
 * sentence from sqlite3_malloc (or leave it NULL: the code says enough). The caller frees it.
 */
#ifndef BESOM_SQLITE_EXTENSION_H
#define BESOM_SQLITE_EXTENSION_H

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#include "besom.h"

/*
 * What the extension keeps per connection: parsed named filters (named_filters.c) and guards
 * (guard.h). The functions and the module share it; the last of them frees it.
 */
struct connection {
  sqlite3 *db;
  unsigned references;
  struct named_filter *filters; /* the most recently used first */
  sqlite3_stmt *read_filter;    /* of besom_filters in the schema read_schema; NULL: none is kept */
  char *read_schema;
  bool closes_statements; /* besom_kinds is connected */
  struct guard *guards;
};

/* Memory of filters; NULL for besom's default. Only tests set it. */
extern const besom_allocator *besom__sql_allocator;

/* ------------------------------------------------------------------ errors (errors.c) */

/* Sets *error to a formatted sentence (as sqlite3_mprintf) and returns SQLITE_ERROR. */
int besom__sql_fail(char **error, const char *format, ...);

/* Sets *error to "WHAT: the status and its remedy" and returns the SQLite code. */
int besom__sql_fail_status(char **error, const char *what, besom_status status);

/* Sets *error to the message of the connection, and returns rc, unless rc is NOMEM. */
int besom__sql_fail_db(char **error, sqlite3 *db, int rc);

/* Ends a function with the error, and frees it. */
void besom__sql_result_error(sqlite3_context *context, int rc, char *error);

/* ------------------------------------------------------------------ SQL */

/* Prepares, or runs, one formatted statement. */
int besom__sql_prepare(sqlite3 *db, sqlite3_stmt **out, char **error, const char *format, ...);
int besom__sql_run(sqlite3 *db, char **error, const char *format, ...);

/* ------------------------------------------------------------------ saved filters */

/* The bytes of a saved filter, from sqlite3_malloc; limit is the greatest length of a BLOB. */
int besom__sql_save(sqlite3 *db, const besom_filter *filter, void **data, size_t *len,
                    char **error);
int besom__sql_load(const void *data, size_t len, const char *what, besom_filter **filter,
                    char **error);

/* ------------------------------------------------------------------ options (options.c) */

/* A configuration and the memory that its members point to. */
struct options {
  besom_config config;
  uint8_t seed[16];
  char *text; /* the names and values, each ended by 0 */
  char *rest; /* options of the kind: "name=value,..." */
};

/*
 * Parses "name=value,name=value": members of besom_config (kind, hash, seed, capacity,
 * max_capacity, fpr, bits_per_key, reserve, value_bits, no_capacity), and options of the kind. text
 * may be NULL. The caller calls free in any case.
 */
int besom__sql_options_parse(struct options *options, const char *text, char **error);
void besom__sql_options_free(struct options *options);

/* The error of a configuration that besom_build or besom_create refused with status. */
int besom__sql_fail_config(char **error, const besom_config *config, besom_status status);

/* ------------------------------------------------------------------ JSON (info.c) */

/* Appends the statistics and counters of a filter as members of a JSON object, without braces. */
int besom__sql_describe(sqlite3_str *json, const besom_filter *filter, char **error);
/* Appends a text as a JSON string. */
void besom__sql_append_string(sqlite3_str *json, const char *text);

/* ------------------------------------------------------------------ registration */

int besom__sql_register_functions(struct connection *connection);
int besom__sql_register_changes(struct connection *connection);
int besom__sql_register_aggregates(struct connection *connection);
int besom__sql_register_kinds(struct connection *connection);
int besom__sql_register_guard(struct connection *connection);

struct connection *besom__sql_connection_retain(struct connection *connection);
void besom__sql_connection_release(void *connection);

#endif
