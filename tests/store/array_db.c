#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include "array_db.h"

#include <stdlib.h>
#include <string.h>

#include "support/heap.h"

static bool fails(array_db *db) {
  return ++db->calls == db->fail_at;
}

static int compare(besom_bytes a, besom_bytes b) {
  int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

static besom_bytes key_of(const array_record *r) {
  return (besom_bytes){r->bytes, r->key_len};
}

static bool is_key(besom_bytes key) {
  return key.data && key.len && key.len <= ARRAY_MAX_KEY;
}

/* The first record whose key is not less. */
static size_t find(const array_db *db, besom_bytes key) {
  size_t low = 0, high = db->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare(key_of(&db->records[middle]), key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_at(const array_db *db, size_t i, besom_bytes key) {
  return i < db->n && compare(key_of(&db->records[i]), key) == 0;
}

static besom_status show(const array_record *r, besom_table_visit visit, void *ctx) {
  besom_record record = {key_of(r), {r->bytes + r->key_len, r->value_len}};
  return visit(ctx, &record);
}

static besom_status array_get(void *ctx_db, besom_bytes key, besom_table_visit visit, void *ctx) {
  array_db *db = ctx_db;
  if (fails(db)) return BESOM_IO;
  if (!is_key(key)) return BESOM_CORRUPT;
  pthread_rwlock_rdlock(&db->lock);
  size_t i = find(db, key);
  besom_status status = is_at(db, i, key) ? show(&db->records[i], visit, ctx) : BESOM_OK;
  pthread_rwlock_unlock(&db->lock);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status array_scan(void *ctx_db, besom_bytes from, besom_bytes to,
                               besom_table_visit visit, void *ctx) {
  array_db *db = ctx_db;
  if (fails(db)) return BESOM_IO;
  if (!is_key(from) || (to.data && !is_key(to))) return BESOM_CORRUPT;
  besom_status status = BESOM_OK;
  pthread_rwlock_rdlock(&db->lock);
  for (size_t i = find(db, from); i < db->n && status == BESOM_OK; i++) {
    if (to.data && compare(key_of(&db->records[i]), to) >= 0) break;
    status = show(&db->records[i], visit, ctx);
  }
  pthread_rwlock_unlock(&db->lock);
  return status == BESOM_END ? BESOM_OK : status;
}

static void remove_at(array_db *db, size_t i) {
  free(db->records[i].bytes);
  db->n--;
  memmove(&db->records[i], &db->records[i + 1], (db->n - i) * sizeof *db->records);
}

static void insert_at(array_db *db, size_t i, const besom_record *record) {
  if (db->n == db->room) {
    db->room = 2 * db->room + 64;
    db->records = heap_resize(db->records, db->room * sizeof *db->records);
  }
  memmove(&db->records[i + 1], &db->records[i], (db->n - i) * sizeof *db->records);
  array_record *r = &db->records[i];
  *r = (array_record){heap_array(record->key.len + record->value.len, 1), record->key.len,
                      record->value.len};
  memcpy(r->bytes, record->key.data, record->key.len);
  if (record->value.len) memcpy(r->bytes + record->key.len, record->value.data, record->value.len);
  db->n++;
}

static besom_status array_write(void *ctx_db, const besom_write *changes, size_t n, bool durable) {
  array_db *db = ctx_db;
  if (fails(db)) return BESOM_IO;
  if (!n) db->mistake = "a write without changes";
  pthread_rwlock_wrlock(&db->lock);
  for (size_t c = 0; c < n; c++) {
    besom_bytes key = changes[c].record.key;
    if (!is_key(key)) db->mistake = "a key that is empty or too long";
    if (c && compare(changes[c - 1].record.key, key) >= 0)
      db->mistake = "changes that are not in order";
    size_t i = find(db, key);
    if (is_at(db, i, key)) remove_at(db, i);
    if (!changes[c].remove) insert_at(db, i, &changes[c].record);
  }
  db->writes++;
  db->nondurable = !durable;
  pthread_rwlock_unlock(&db->lock);
  return BESOM_OK;
}

static besom_status array_sync(void *ctx_db) {
  array_db *db = ctx_db;
  if (fails(db)) return BESOM_IO;
  db->nondurable = false;
  return BESOM_OK;
}

static besom_status array_commit_number(void *ctx_db, uint64_t *number) {
  array_db *db = ctx_db;
  if (fails(db)) return BESOM_IO;
  pthread_rwlock_rdlock(&db->lock);
  *number = db->writes;
  pthread_rwlock_unlock(&db->lock);
  return BESOM_OK;
}

static void array_close(void *db) {
  (void)db;
}

const besom_ordered_ops array_ops = {
    .size = sizeof(besom_ordered_ops),
    .max_key = ARRAY_MAX_KEY,
    .get = array_get,
    .scan = array_scan,
    .write = array_write,
    .sync = array_sync,
    .commit_number = array_commit_number,
    .close = array_close,
};

void array_db_init(array_db *db) {
  *db = (array_db){.n = 0};
  pthread_rwlock_init(&db->lock, NULL);
}

void array_db_free(array_db *db) {
  while (db->n) remove_at(db, db->n - 1);
  free(db->records);
  pthread_rwlock_destroy(&db->lock);
}
