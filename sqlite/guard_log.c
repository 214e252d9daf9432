/* The filter of a connection follows the log: see the rules in guard.h. */
#include "guard.h"

static void image_free(struct image *image) {
  besom_free(image->filter);
  *image = (struct image){0};
}

static bool same_position(struct position a, struct position b) {
  return a.id == b.id && a.stamp == b.stamp;
}

/* The stamp in a column: 8 bytes, or else no stamp that a row of the log could have. */
static bool read_stamp(sqlite3_stmt *row, int column, uint64_t *stamp) {
  const void *bytes = sqlite3_column_blob(row, column);
  if (!bytes || sqlite3_column_bytes(row, column) != sizeof *stamp) return false;
  memcpy(stamp, bytes, sizeof *stamp);
  return true;
}

/* ------------------------------------------------------------------ replaying */

/* LOST: the log does not continue the image; it needs another one. */
enum replay { CAUGHT_UP, LOST };

/*
 * Inserts a key, unless the filter answers yes already: nothing but a report of the key itself
 * changes that answer. A full filter grows; its false-positive rate doubles.
 */
static besom_status insert_key(besom_filter *filter, const struct tagged_key *key) {
  besom_statistics stats;
  if (besom_contains(filter, key->data, key->len)) return BESOM_OK;
  besom_status status = besom_insert(filter, key->data, key->len);
  if (status != BESOM_FULL) return status;
  if ((status = besom_stats(filter, &stats)) != BESOM_OK) return status;
  if ((status = besom_resize(filter, 2 * stats.slots, NULL)) != BESOM_OK) return status;
  return besom_insert(filter, key->data, key->len);
}

/* Replays one row (id, op, key, stamp), which follows image->at. */
static int replay_row(struct guard *guard, struct image *image, sqlite3_stmt *row,
                      enum replay *result) {
  const char *op = (const char *)sqlite3_column_text(row, 1);
  *result = LOST;
  if (!op || sqlite3_column_int64(row, 0) != image->at.id + 1) return SQLITE_OK;
  if (*op == '+' && sqlite3_column_type(row, 2) != SQLITE_NULL) {
    int rc = besom__sql_tagged_key(sqlite3_column_value(row, 2), guard->rules, &guard->key);
    if (rc != SQLITE_OK) return rc;
    besom_status status = insert_key(image->filter, &guard->key);
    if (status == BESOM_NO_MEMORY) return SQLITE_NOMEM;
    if (status != BESOM_OK) return SQLITE_OK;
  } else if (*op == '-') {
    image->removed++;
  } else if (*op != '+') {
    return SQLITE_OK;
  }
  if (!read_stamp(row, 3, &image->at.stamp)) return SQLITE_OK;
  image->at.id++;
  guard->counts.replayed++;
  *result = CAUGHT_UP;
  return SQLITE_OK;
}

/* The first row must be that of the image's position. */
static bool is_at(const struct image *image, sqlite3_stmt *row) {
  struct position at = {.id = sqlite3_column_int64(row, 0)};
  return read_stamp(row, 3, &at.stamp) && same_position(at, image->at);
}

static int replay(struct guard *guard, struct image *image, enum replay *result, char **error) {
  sqlite3_stmt *rows = guard->read_log;
  *result = LOST;
  int rc = sqlite3_bind_int64(rows, 1, image->at.id);
  if (rc == SQLITE_OK) rc = sqlite3_step(rows);
  if (rc == SQLITE_DONE) *result = image->at.id == 0 ? CAUGHT_UP : LOST;
  if (rc == SQLITE_ROW && is_at(image, rows)) {
    *result = CAUGHT_UP;
    while (*result == CAUGHT_UP && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
      rc = replay_row(guard, image, rows, result);
      if (rc != SQLITE_OK) break;
    }
  }
  sqlite3_reset(rows);
  if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return SQLITE_OK;
  return besom__sql_fail_db(error, guard->db, rc);
}

/* ------------------------------------------------------------------ loading and building */

/* Loads the saved filter. Whatever is wrong with it, the keys can be read again: LOST. */
static int load_image(struct guard *guard, struct image *image, enum replay *result, char **error) {
  sqlite3_stmt *row = NULL;
  besom_statistics stats;
  *result = LOST;
  int rc = besom__sql_prepare(guard->db, &row, error,
                              "SELECT position, stamp, removed, data FROM \"%w\".\"%w_state\" "
                              "WHERE id = 1",
                              guard->schema, guard->name);
  if (rc == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW && read_stamp(row, 1, &image->at.stamp)) {
    image->at.id = sqlite3_column_int64(row, 0);
    image->removed = (uint64_t)sqlite3_column_int64(row, 2);
    const void *data = sqlite3_column_blob(row, 3);
    besom_status status = besom_load(data ? data : "", (size_t)sqlite3_column_bytes(row, 3),
                                     besom__sql_allocator, &image->filter);
    if (status == BESOM_NO_MEMORY) rc = SQLITE_NOMEM;
    if (status == BESOM_OK && besom_stats(image->filter, &stats) == BESOM_OK &&
        strcmp(stats.kind, "aqf") == 0)
      *result = CAUGHT_UP;
  }
  int finalized = sqlite3_finalize(row);
  if (rc != SQLITE_OK) return rc;
  if (finalized != SQLITE_OK) return besom__sql_fail_db(error, guard->db, finalized);
  guard->counts.loads += *result == CAUGHT_UP;
  return SQLITE_OK;
}

/* The last row of the log. */
static int read_end(struct guard *guard, struct position *end, char **error) {
  sqlite3_stmt *row = NULL;
  *end = (struct position){0};
  int rc = besom__sql_prepare(guard->db, &row, error,
                              "SELECT id, stamp FROM \"%w\".\"%w_log\" ORDER BY id DESC LIMIT 1",
                              guard->schema, guard->name);
  if (rc != SQLITE_OK) return rc;
  if (sqlite3_step(row) == SQLITE_ROW && read_stamp(row, 1, &end->stamp))
    end->id = sqlite3_column_int64(row, 0);
  rc = sqlite3_finalize(row);
  return rc == SQLITE_OK ? rc : besom__sql_fail_db(error, guard->db, rc);
}

static int build_image(struct guard *guard, struct image *image, char **error) {
  image_free(image);
  int rc = besom__sql_guard_build(guard, image, error);
  return rc == SQLITE_OK ? read_end(guard, &image->at, error) : rc;
}

/* The saved filter with the log since then, or else a new filter of all keys. */
static int new_image(struct guard *guard, struct image *image, char **error) {
  enum replay result;
  int rc = load_image(guard, image, &result, error);
  if (rc == SQLITE_OK && result == CAUGHT_UP) rc = replay(guard, image, &result, error);
  if (rc == SQLITE_OK && result == LOST) rc = build_image(guard, image, error);
  if (rc != SQLITE_OK) image_free(image);
  return rc;
}

/* ------------------------------------------------------------------ following */

/* Replays from the position seen last, or from the last committed one. */
static int follow(struct guard *guard, enum replay *result, char **error) {
  *result = LOST;
  if (!guard->image.filter) return SQLITE_OK;
  int rc = replay(guard, &guard->image, result, error);
  if (rc != SQLITE_OK || *result == CAUGHT_UP || same_position(guard->image.at, guard->committed))
    return rc;
  guard->image.at = guard->committed;
  return replay(guard, &guard->image, result, error);
}

/* *usable: the filter holds all keys that the connection sees. */
static int catch_up(struct guard *guard, bool writing, bool *usable, char **error) {
  enum replay result;
  int rc = follow(guard, &result, error);
  *usable = result == CAUGHT_UP || !writing;
  if (rc != SQLITE_OK || writing) return rc;
  if (result == LOST) {
    image_free(&guard->image);
    rc = new_image(guard, &guard->image, error);
  }
  if (rc == SQLITE_OK) guard->committed = guard->image.at;
  return rc;
}

static int prepare_statements(struct guard *guard, char **error) {
  if (guard->read_log) return SQLITE_OK;
  return besom__sql_prepare(guard->db, &guard->read_log, error,
                            "SELECT id, op, key, stamp FROM \"%w\".\"%w_log\" WHERE id >= ?1 "
                            "ORDER BY id",
                            guard->schema, guard->name);
}

/* Checks that the guard can be used with the schema as it is. */
static int require_schema(struct guard *guard, char **error) {
  int rc = besom__sql_guard_inspect(guard, error);
  if (rc != SQLITE_OK) return rc;
  if (guard->problem) return besom__sql_fail(error, "%s", guard->problem);
  return prepare_statements(guard, error);
}

int besom__sql_guard_sync(struct guard *guard, besom_filter **filter, bool *may_report,
                          char **error) {
  bool writing = sqlite3_txn_state(guard->db, guard->schema) == SQLITE_TXN_WRITE;
  sqlite3_int64 changes = sqlite3_total_changes64(guard->db);
  unsigned version = 0;
  bool usable = true;
  sqlite3_file_control(guard->db, guard->schema, SQLITE_FCNTL_DATA_VERSION, &version);
  if (!guard->is_current || writing || version != guard->data_version ||
      changes != guard->changes) {
    guard->is_current = false;
    int rc = require_schema(guard, error);
    if (rc != SQLITE_OK) return rc;
    if ((rc = catch_up(guard, writing, &usable, error)) != SQLITE_OK) return rc;
    guard->is_current = !writing;
    guard->data_version = version;
    guard->changes = changes;
  }
  *may_report = !writing;
  if (writing && guard->other_triggers) usable = false;
  *filter = usable ? guard->image.filter : NULL;
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ checkpoints */

/* Too many deleted keys, too many false positives, or no room for reports. */
static bool should_rebuild(const struct guard *guard, const struct image *image) {
  besom_statistics stats;
  if (besom_stats(image->filter, &stats) != BESOM_OK) return true;
  double fpr = guard->options.config.fpr;
  return (fpr > 0 && stats.expected_fpr > 2 * fpr) || stats.reserve_used > 0.9 ||
         (image->removed > 1000 && image->removed > stats.keys / 2);
}

/* A row of the log that ends what came before: all other connections load the saved filter. */
static int append_marker(struct guard *guard, char **error) {
  return besom__sql_run(guard->db, error,
                        "INSERT INTO \"%w\".\"%w_log\"(op, stamp) VALUES ('r', randomblob(8))",
                        guard->schema, guard->name);
}

static int save_image(struct guard *guard, const struct image *image, char **error) {
  sqlite3_stmt *statement = NULL;
  void *data = NULL;
  size_t len;
  int rc = besom__sql_save(guard->db, image->filter, &data, &len, error);
  if (rc != SQLITE_OK) return rc;
  rc = besom__sql_prepare(guard->db, &statement, error,
                          "INSERT OR REPLACE INTO \"%w\".\"%w_state\" VALUES (1, ?1, ?2, ?3, ?4)",
                          guard->schema, guard->name);
  if (rc == SQLITE_OK) {
    sqlite3_bind_int64(statement, 1, image->at.id);
    sqlite3_bind_blob(statement, 2, &image->at.stamp, sizeof image->at.stamp, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)image->removed);
    sqlite3_bind_blob64(statement, 4, data, len, SQLITE_STATIC);
    sqlite3_step(statement);
    rc = sqlite3_finalize(statement);
    if (rc != SQLITE_OK) rc = besom__sql_fail_db(error, guard->db, rc);
  }
  sqlite3_free(data);
  if (rc != SQLITE_OK) return rc;
  /* The row of the position stays: connections that have seen it go on, and ids do not repeat. */
  return besom__sql_run(guard->db, error, "DELETE FROM \"%w\".\"%w_log\" WHERE id < %lld",
                        guard->schema, guard->name, image->at.id);
}

/* The new filter is not kept: a rollback could bring back keys that it does not have. */
static int save_rebuilt(struct guard *guard, char **error) {
  struct image image = {0};
  int rc = append_marker(guard, error);
  if (rc == SQLITE_OK) rc = build_image(guard, &image, error);
  if (rc == SQLITE_OK) rc = save_image(guard, &image, error);
  image_free(&image);
  image_free(&guard->image);
  return rc;
}

/* Saves an image, unless it is time for a new one, or somebody has emptied the log. */
static int save_or_rebuild(struct guard *guard, const struct image *image, char **error) {
  if (image->at.id == 0 || should_rebuild(guard, image)) return save_rebuilt(guard, error);
  return save_image(guard, image, error);
}

/* Creates what is missing, then reads all keys. */
static int repair(struct guard *guard, char **error) {
  int rc = besom__sql_guard_inspect_table(guard, error);
  if (rc == SQLITE_OK && guard->problem) rc = besom__sql_fail(error, "%s", guard->problem);
  if (rc == SQLITE_OK) rc = besom__sql_guard_create_objects(guard, error);
  if (rc == SQLITE_OK) rc = require_schema(guard, error);
  return rc == SQLITE_OK ? save_rebuilt(guard, error) : rc;
}

int besom__sql_guard_checkpoint(struct guard *guard, bool rebuild, char **error) {
  enum replay result;
  guard->is_current = false;
  if (rebuild) return repair(guard, error);
  int rc = require_schema(guard, error);
  if (rc == SQLITE_OK) rc = follow(guard, &result, error);
  if (rc != SQLITE_OK) return rc;
  if (result == CAUGHT_UP) return save_or_rebuild(guard, &guard->image, error);
  struct image image = {0};
  rc = new_image(guard, &image, error);
  if (rc == SQLITE_OK) rc = save_or_rebuild(guard, &image, error);
  image_free(&image);
  return rc;
}
