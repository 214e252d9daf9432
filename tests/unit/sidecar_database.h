/*
 * The database of an application, in memory, and a sidecar beside it. It has a table of keys and
 * the table of the log. A transaction works on a copy; commit makes the copy the database. States
 * can be kept and restored, as backups and power cuts do.
 */
#ifndef BESOM_TESTS_SIDECAR_DATABASE_H
#define BESOM_TESTS_SIDECAR_DATABASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_sidecar.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { UNIVERSE = 4000, RECORDS = 1200 };

typedef struct log_record {
  uint8_t key[8];
  uint8_t *value;
  size_t len;
} log_record;

typedef struct database {
  bool has[UNIVERSE];
  uint64_t number; /* of the transaction that made it */
  log_record records[RECORDS];
  size_t n;
} database;

typedef struct app {
  database *now;
  temp_dir dir;
  temp_path path;
  besom_config filter;
  besom_sidecar_config config;
  besom_sidecar_log log;
  besom_source keys;
  uint64_t next_key; /* of the scan */
  besom_sidecar *s;
  uint64_t log_calls, fail_at; /* the log's call with this number fails; 0: none */
} app;

/* ------------------------------------------------------------------ states */

static inline database *db_copy(const database *from) {
  database *to = heap_array(1, sizeof *to);
  *to = *from;
  for (size_t i = 0; i < to->n; i++) {
    to->records[i].value = heap_array(from->records[i].len + 1, 1);
    memcpy(to->records[i].value, from->records[i].value, from->records[i].len);
  }
  return to;
}

static inline database *db_next(const database *from) {
  database *to = db_copy(from);
  to->number++;
  return to;
}

static inline void db_free(database *s) {
  for (size_t i = 0; s && i < s->n; i++) free(s->records[i].value);
  free(s);
}

static inline size_t record_at(const database *s, const void *key) {
  size_t i = 0;
  while (i < s->n && memcmp(s->records[i].key, key, 8) < 0) i++;
  return i;
}

static inline bool is_at(const database *s, size_t i, const void *key) {
  return i < s->n && memcmp(s->records[i].key, key, 8) == 0;
}

static inline void db_remove(database *s, const void *key) {
  size_t i = record_at(s, key);
  if (!is_at(s, i, key)) return;
  free(s->records[i].value);
  memmove(&s->records[i], &s->records[i + 1], (s->n - i - 1) * sizeof *s->records);
  s->n--;
}

static inline void db_put(database *s, const void *key, const void *value, size_t len) {
  db_remove(s, key);
  size_t i = record_at(s, key);
  assert_true(s->n < RECORDS);
  memmove(&s->records[i + 1], &s->records[i], (s->n - i) * sizeof *s->records);
  s->n++;
  memcpy(s->records[i].key, key, 8);
  s->records[i].value = heap_array(len + 1, 1);
  memcpy(s->records[i].value, value, len);
  s->records[i].len = len;
}

/* ------------------------------------------------------------------ the log's functions */

static inline bool log_fails(app *a) {
  return ++a->log_calls == a->fail_at;
}

static inline besom_status log_put(void *ctx, void *txn, besom_bytes key, besom_bytes value) {
  if (log_fails(ctx)) return BESOM_DISK_FULL;
  db_put(txn, key.data, value.data, value.len);
  return BESOM_OK;
}

static inline besom_status log_remove(void *ctx, void *txn, besom_bytes key) {
  if (log_fails(ctx)) return BESOM_IO;
  db_remove(txn, key.data);
  return BESOM_OK;
}

static inline besom_status log_scan(void *ctx, besom_bytes from, besom_table_visit visit,
                                    void *visit_ctx) {
  app *a = ctx;
  besom_status status = log_fails(a) ? BESOM_IO : BESOM_OK;
  for (size_t i = record_at(a->now, from.data); i < a->now->n && status == BESOM_OK; i++) {
    log_record *r = &a->now->records[i];
    status = visit(visit_ctx, &(besom_record){{r->key, 8}, {r->value, r->len}});
  }
  return status == BESOM_END ? BESOM_OK : status;
}

/* Only tests that say so have it in a->log. */
static inline besom_status log_get(void *ctx, void *txn, besom_bytes key, besom_table_visit visit,
                                   void *visit_ctx) {
  app *a = ctx;
  const database *s = txn ? (const database *)txn : a->now;
  size_t i = record_at(s, key.data);
  if (log_fails(a)) return BESOM_IO;
  if (!is_at(s, i, key.data)) return BESOM_OK;
  const log_record *r = &s->records[i];
  besom_status status = visit(visit_ctx, &(besom_record){{r->key, 8}, {r->value, r->len}});
  return status == BESOM_END ? BESOM_OK : status;
}

static inline besom_status log_update(void *ctx, besom_status (*change)(void *, void *),
                                      void *change_ctx) {
  app *a = ctx;
  database *txn = db_next(a->now), *unused = txn;
  besom_status status = change(change_ctx, txn);
  if (status == BESOM_OK && log_fails(a)) status = BESOM_IO;
  if (status == BESOM_OK) {
    unused = a->now;
    a->now = txn;
  }
  db_free(unused);
  return status;
}

static inline besom_status log_sync(void *ctx) {
  return log_fails(ctx) ? BESOM_IO : BESOM_OK;
}

/* Only tests that say so have it in a->log. */
static inline uint64_t log_number(void *ctx, void *txn) {
  const app *a = ctx;
  return (txn ? (const database *)txn : a->now)->number;
}

/* ------------------------------------------------------------------ the application */

static inline besom_u64_key key_of(uint64_t k) {
  return besom_u64(key_u64(MEMBERS, k));
}

static inline besom_status keys_rewind(void *ctx) {
  ((app *)ctx)->next_key = 0;
  return BESOM_OK;
}

static inline besom_status keys_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  static besom_u64_key bytes;
  app *a = ctx;
  (void)weight;
  while (a->next_key < UNIVERSE && !a->now->has[a->next_key]) a->next_key++;
  if (a->next_key == UNIVERSE) return BESOM_END;
  bytes = key_of(a->next_key++);
  *key = (besom_bytes){bytes.bytes, 8};
  return BESOM_OK;
}

/* A high false-positive rate: a wrong remove then denies another key at once. */
static inline void app_init(app *a, bool with_log) {
  memset(a, 0, sizeof *a);
  a->now = heap_array(1, sizeof *a->now);
  memset(a->now, 0, sizeof *a->now);
  temp_dir_make(&a->dir);
  a->path = temp_dir_file(&a->dir, "keys.besom");
  a->filter = (besom_config){
      .kind = "scaling", .options = "base=aqf,forget=yes", .fpr = 0.25, .reserve = 0.3};
  a->keys = (besom_source){.next = keys_next, .rewind = keys_rewind, .ctx = a};
  a->log = (besom_sidecar_log){.size = sizeof a->log,
                               .put = log_put,
                               .remove = log_remove,
                               .scan = log_scan,
                               .update = log_update,
                               .sync = log_sync,
                               .ctx = a};
  a->config = (besom_sidecar_config){
      .filter = &a->filter, .keys = &a->keys, .log = with_log ? &a->log : NULL};
}

static inline besom_status app_try_open(app *a) {
  const char *reason;
  return besom_sidecar_open(&a->config, a->path.text, &reason, &a->s);
}

static inline besom_sidecar_statistics app_stats(const app *a) {
  besom_sidecar_statistics stats;
  assert_int_equal(besom_sidecar_stats(a->s, &stats), BESOM_OK);
  return stats;
}

static inline bool may_contain(const app *a, uint64_t k) {
  besom_u64_key key = key_of(k);
  return besom_sidecar_may_contain(a->s, key.bytes, 8);
}

static inline void assert_no_false_negatives(const app *a) {
  for (uint64_t k = 0; k < UNIVERSE; k++) assert_true(!a->now->has[k] || may_contain(a, k));
}

static inline void app_open(app *a, besom_sidecar_origin origin) {
  assert_int_equal(app_try_open(a), BESOM_OK);
  assert_int_equal(app_stats(a).origin, origin);
  assert_no_false_negatives(a);
}

static inline void app_close(app *a) {
  assert_int_equal(besom_sidecar_close(a->s), BESOM_OK);
  a->s = NULL;
}

static inline void app_done(app *a) {
  if (a->s) app_close(a);
  db_free(a->now);
  temp_dir_remove(&a->dir);
}

/* Ends the process, as far as files and the database can tell: what close saves is taken back. */
static inline void app_crash(app *a) {
  size_t len = 0;
  uint8_t *file = read_whole_file(a->path.text, &len);
  besom_sidecar_close(a->s);
  a->s = NULL;
  if (file)
    assert_true(write_whole_file(a->path.text, file, len));
  else
    remove(a->path.text);
  free(file);
}

/* ------------------------------------------------------------------ transactions */

static inline database *app_begin(app *a) {
  assert_int_equal(besom_sidecar_begin(a->s), BESOM_OK);
  return db_next(a->now);
}

static inline void app_put(app *a, database *txn, uint64_t k) {
  besom_u64_key key = key_of(k);
  if (txn->has[k]) return;
  assert_int_equal(besom_sidecar_insert(a->s, key.bytes, 8), BESOM_OK);
  txn->has[k] = true;
}

static inline void app_delete(app *a, database *txn, uint64_t k) {
  besom_u64_key key = key_of(k);
  if (!txn->has[k]) return;
  assert_int_equal(besom_sidecar_remove(a->s, key.bytes, 8), BESOM_OK);
  txn->has[k] = false;
}

static inline void app_become(app *a, database *txn) {
  db_free(a->now);
  a->now = txn;
}

static inline void app_commit(app *a, database *txn) {
  if (a->config.log) assert_int_equal(besom_sidecar_log_to(a->s, txn), BESOM_OK);
  app_become(a, txn);
  assert_int_equal(besom_sidecar_end(a->s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
}

static inline void app_abort(app *a, database *txn) {
  db_free(txn);
  assert_int_equal(besom_sidecar_end(a->s, BESOM_SIDECAR_ABORTED), BESOM_OK);
}

static inline void put_range(app *a, uint64_t from, uint64_t to) {
  database *txn = app_begin(a);
  for (uint64_t k = from; k < to; k++) app_put(a, txn, k);
  app_commit(a, txn);
}

static inline void delete_range(app *a, uint64_t from, uint64_t to) {
  database *txn = app_begin(a);
  for (uint64_t k = from; k < to; k++) app_delete(a, txn, k);
  app_commit(a, txn);
}

#endif
