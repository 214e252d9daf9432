#include "extension.h"

#include <stdarg.h>

int besom__sql_fail(char **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  sqlite3_free(*error);
  *error = sqlite3_vmprintf(format, arguments);
  va_end(arguments);
  return *error ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* What a user of SQL can do about a status; NULL: besom_strerror says enough. */
static const char *remedy(besom_status status) {
  switch (status) {
  case BESOM_FULL:
    return "the filter is full: build one with a larger capacity or max_capacity";
  case BESOM_RESERVE_FULL:
    return "the reserve for adaptation is full: build the filter again, with a larger reserve";
  case BESOM_UNSUPPORTED:
    return "this kind of filter does not have the operation: build one of another kind";
  case BESOM_NEEDS_STORE:
    return "this kind of filter adapts only with its stored keys: build one of kind aqf";
  case BESOM_INCOMPATIBLE:
    return "the filters differ in kind, hash, seed or size: build them with the same seed and "
           "capacity";
  case BESOM_CORRUPT:
    return "not a saved filter, or damaged: build it again";
  case BESOM_NEWER_VERSION:
    return "saved by a later version of besom: load a later extension";
  default:
    return NULL;
  }
}

int besom__sql_fail_status(char **error, const char *what, besom_status status) {
  if (status == BESOM_NO_MEMORY) return SQLITE_NOMEM;
  const char *text = remedy(status);
  return besom__sql_fail(error, "%s: %s", what, text ? text : besom_strerror(status));
}

int besom__sql_fail_db(char **error, sqlite3 *db, int rc) {
  if (rc != SQLITE_NOMEM) besom__sql_fail(error, "%s", sqlite3_errmsg(db));
  return rc;
}

void besom__sql_result_error(sqlite3_context *context, int rc, char *error) {
  if (rc == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else {
    if (error) sqlite3_result_error(context, error, -1);
    sqlite3_result_error_code(context, rc);
  }
  sqlite3_free(error);
}
