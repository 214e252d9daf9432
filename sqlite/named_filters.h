/*
 * named_filters.h - the table besom_filters(name, generation, data), and the filters of it that a
 * connection has parsed.
 *
 * generation is a random number that changes with every change of the row, so a connection parses a
 * filter once per generation. It is random because a counter would repeat itself after a rollback.
 */
#ifndef BESOM_SQLITE_NAMED_FILTERS_H
#define BESOM_SQLITE_NAMED_FILTERS_H

#include "extension.h"

struct named_filter {
  struct named_filter *next;
  unsigned references;
  char *schema, *name;
  sqlite3_int64 generation;
  besom_filter *filter;
};

/*
 * Finds the filter "name" of the schema main, or "schema.name", as the table has it now. If there
 * is none, *out is NULL and the result is SQLITE_OK. The caller releases *out (NULL is allowed).
 */
int besom__sql_named_find(struct connection *connection, const char *name,
                          struct named_filter **out, char **error);
/* The same; a missing filter is an error. */
int besom__sql_named_require(struct connection *connection, const char *name,
                             struct named_filter **out, char **error);
void besom__sql_named_release(struct named_filter *named);

/* Stores a filter under a name; creates the table if there is none. */
int besom__sql_named_store(struct connection *connection, const char *name, const void *data,
                           size_t len, char **error);

/*
 * Replaces a filter by a changed copy of it. *replaced is false if the table no longer has the
 * generation of `named`; the caller starts again then.
 */
int besom__sql_named_replace(struct connection *connection, const struct named_filter *named,
                             const besom_filter *changed, bool *replaced, char **error);

/* Closes the statement that is kept for the next lookup. */
void besom__sql_named_close_statement(struct connection *connection);
void besom__sql_named_free_all(struct connection *connection);

#endif
