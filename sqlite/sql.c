/* Nested statements, and filters as BLOBs. */
#include "extension.h"

#include <stdarg.h>

static int prepare(sqlite3 *db, sqlite3_stmt **out, char **error, const char *format,
                   va_list arguments) {
  char *sql = sqlite3_vmprintf(format, arguments);
  if (!sql) return SQLITE_NOMEM;
  int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
  sqlite3_free(sql);
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, db, rc);
}

int besom__sql_prepare(sqlite3 *db, sqlite3_stmt **out, char **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int rc = prepare(db, out, error, format, arguments);
  va_end(arguments);
  return rc;
}

int besom__sql_run(sqlite3 *db, char **error, const char *format, ...) {
  sqlite3_stmt *statement = NULL;
  va_list arguments;
  va_start(arguments, format);
  int rc = prepare(db, &statement, error, format, arguments);
  va_end(arguments);
  if (rc != SQLITE_OK) return rc;
  sqlite3_step(statement);
  rc = sqlite3_finalize(statement);
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, db, rc);
}

/* ------------------------------------------------------------------ saved filters */

struct buffer {
  char *data;
  size_t len, allocated, limit;
};

static besom_status buffer_write(void *ctx, const void *data, size_t len) {
  struct buffer *b = ctx;
  if (len > b->limit - b->len) return BESOM_DISK_FULL;
  if (len > b->allocated - b->len) {
    size_t wanted = b->len + len + b->len / 2;
    if (wanted > b->limit) wanted = b->limit;
    char *moved = sqlite3_realloc64(b->data, wanted);
    if (!moved) return BESOM_NO_MEMORY;
    b->data = moved;
    b->allocated = wanted;
  }
  if (len) memcpy(b->data + b->len, data, len);
  b->len += len;
  return BESOM_OK;
}

int besom__sql_save(sqlite3 *db, const besom_filter *filter, void **data, size_t *len,
                    char **error) {
  struct buffer buffer = {.limit = (size_t)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1)};
  besom_statistics stats;
  /* The first allocation is as large as the filter, so that its bytes are rarely moved. */
  if (besom_stats(filter, &stats) == BESOM_OK && stats.bytes < buffer.limit) {
    buffer.allocated = (size_t)stats.bytes + 1024;
    if (!(buffer.data = sqlite3_malloc64(buffer.allocated))) return SQLITE_NOMEM;
  }
  besom_status status = besom_save(filter, &(besom_sink){buffer_write, &buffer});
  if (status == BESOM_OK) {
    *data = buffer.data;
    *len = buffer.len;
    return SQLITE_OK;
  }
  sqlite3_free(buffer.data);
  if (status != BESOM_DISK_FULL) return besom__sql_fail_status(error, "saving a filter", status);
  return besom__sql_fail(error,
                         "the filter has more than %llu bytes, the greatest length of a BLOB: "
                         "build it with a smaller capacity or a larger fpr",
                         (unsigned long long)buffer.limit);
}

int besom__sql_load(const void *data, size_t len, const char *what, besom_filter **filter,
                    char **error) {
  besom_status status = besom_load(len ? data : "", len, besom__sql_allocator, filter);
  return status == BESOM_OK ? SQLITE_OK : besom__sql_fail_status(error, what, status);
}
