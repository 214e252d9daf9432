/* Building the filter of a guard from all keys of its column. */
#include "guard.h"

/* An error of SQLite while besom_build reads the keys. */
struct key_scan {
  struct guard *guard;
  sqlite3_stmt *rows;
  bool has_previous;
  int rc;
};

/* The next key that differs from the one before: rows come in the order of the keys. */
static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  struct key_scan *scan = ctx;
  struct guard *guard = scan->guard;
  while ((scan->rc = sqlite3_step(scan->rows)) == SQLITE_ROW) {
    struct tagged_key *next = &guard->key, *previous = &guard->previous;
    if ((scan->rc = besom__sql_tagged_key(sqlite3_column_value(scan->rows, 0), guard->rules,
                                          next)) != SQLITE_OK)
      break;
    if (scan->has_previous && next->len == previous->len &&
        memcmp(next->data, previous->data, next->len) == 0)
      continue;
    struct tagged_key swap = *next;
    *next = *previous;
    *previous = swap;
    scan->has_previous = true;
    *key = (besom_bytes){previous->data, previous->len};
    return BESOM_OK;
  }
  if (scan->rc == SQLITE_DONE) {
    scan->rc = SQLITE_OK;
    return BESOM_END;
  }
  return BESOM_CANCELLED;
}

static int count_rows(struct guard *guard, uint64_t *n, char **error) {
  sqlite3_stmt *statement = NULL;
  int rc = besom__sql_prepare(guard->db, &statement, error, "SELECT count(*) FROM \"%w\".\"%w\"",
                              guard->schema, guard->table);
  if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    *n = (uint64_t)sqlite3_column_int64(statement, 0);
  int finalized = sqlite3_finalize(statement);
  if (rc != SQLITE_OK) return rc;
  return finalized == SQLITE_OK ? SQLITE_OK : besom__sql_fail_db(error, guard->db, finalized);
}

/* A quarter more than there are keys, so that the filter is not full at once. */
static besom_config config_for(const struct guard *guard, uint64_t keys) {
  enum { LEAST_CAPACITY = 1000 };
  besom_config config = guard->options.config;
  uint64_t capacity = keys + keys / 4;
  if (capacity < LEAST_CAPACITY) capacity = LEAST_CAPACITY;
  if (config.capacity < capacity) config.capacity = capacity;
  return config;
}

static int build_from(struct guard *guard, sqlite3_stmt *rows, uint64_t count, struct image *image,
                      char **error) {
  struct key_scan scan = {.guard = guard, .rows = rows};
  besom_source source = {.next = next_key, .size_hint = count, .ctx = &scan};
  besom_config config = config_for(guard, count);
  besom_status status = besom_build(&config, &(besom_input){.yes = &source}, &image->filter);
  if (status == BESOM_OK) return SQLITE_OK;
  if (scan.rc != SQLITE_OK) return besom__sql_fail_db(error, guard->db, scan.rc);
  return besom__sql_fail_config(error, &config, status);
}

int besom__sql_guard_build(struct guard *guard, struct image *image, char **error) {
  sqlite3_stmt *rows = NULL;
  uint64_t count = 0;
  *image = (struct image){0};
  int rc = count_rows(guard, &count, error);
  if (rc == SQLITE_OK)
    rc = besom__sql_prepare(guard->db, &rows, error,
                            "SELECT \"%w\" FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL ORDER BY 1",
                            guard->column, guard->schema, guard->table, guard->column);
  if (rc == SQLITE_OK) rc = build_from(guard, rows, count, image, error);
  sqlite3_finalize(rows);
  if (rc == SQLITE_OK) guard->counts.builds++;
  return rc;
}
