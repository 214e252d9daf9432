/*
 * The n-th call of LMDB fails, for n = 1, 2, ...: the store returns a status, keeps what it
 * acknowledged, has a failed batch as a whole or not at all, and works on. A sidecar answers yes
 * for every key of its table. The functions below replace those of LMDB.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <lmdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "besom_sidecar.h"
#include "besom_store.h"
#include "support/temp_files.h"

/* ------------------------------------------------------------------ calls that fail */

static struct {
  unsigned calls, fail_at; /* fail_at 0: none fails */
  int error;
} plan;

static bool fails(void) {
  return ++plan.calls == plan.fail_at;
}

static void *find(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

#define REAL(name) ((__typeof__(&name))find(#name))

int mdb_env_create(MDB_env **env) {
  return fails() ? plan.error : REAL(mdb_env_create)(env);
}

int mdb_env_set_mapsize(MDB_env *env, size_t size) {
  return fails() ? plan.error : REAL(mdb_env_set_mapsize)(env, size);
}

int mdb_env_set_maxreaders(MDB_env *env, unsigned n) {
  return fails() ? plan.error : REAL(mdb_env_set_maxreaders)(env, n);
}

int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode) {
  return fails() ? plan.error : REAL(mdb_env_open)(env, path, flags, mode);
}

int mdb_env_set_flags(MDB_env *env, unsigned flags, int on) {
  return fails() ? plan.error : REAL(mdb_env_set_flags)(env, flags, on);
}

int mdb_env_sync(MDB_env *env, int force) {
  return fails() ? plan.error : REAL(mdb_env_sync)(env, force);
}

int mdb_env_info(MDB_env *env, MDB_envinfo *info) {
  return fails() ? plan.error : REAL(mdb_env_info)(env, info);
}

int mdb_env_stat(MDB_env *env, MDB_stat *stat) {
  return fails() ? plan.error : REAL(mdb_env_stat)(env, stat);
}

int mdb_reader_check(MDB_env *env, int *dead) {
  return fails() ? plan.error : REAL(mdb_reader_check)(env, dead);
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn) {
  return fails() ? plan.error : REAL(mdb_txn_begin)(env, parent, flags, txn);
}

int mdb_txn_renew(MDB_txn *txn) {
  return fails() ? plan.error : REAL(mdb_txn_renew)(txn);
}

/* A commit that fails frees the transaction, too. */
int mdb_txn_commit(MDB_txn *txn) {
  if (!fails()) return REAL(mdb_txn_commit)(txn);
  mdb_txn_abort(txn);
  return plan.error;
}

int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi) {
  return fails() ? plan.error : REAL(mdb_dbi_open)(txn, name, flags, dbi);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
  return fails() ? plan.error : REAL(mdb_get)(txn, dbi, key, value);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags) {
  return fails() ? plan.error : REAL(mdb_put)(txn, dbi, key, value, flags);
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
  return fails() ? plan.error : REAL(mdb_del)(txn, dbi, key, value);
}

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor) {
  return fails() ? plan.error : REAL(mdb_cursor_open)(txn, dbi, cursor);
}

int mdb_cursor_renew(MDB_txn *txn, MDB_cursor *cursor) {
  return fails() ? plan.error : REAL(mdb_cursor_renew)(txn, cursor);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op) {
  return fails() ? plan.error : REAL(mdb_cursor_get)(cursor, key, value, op);
}

/* ------------------------------------------------------------------ the scenario */

enum { BATCHES = 3, RECORDS = 4, UNKNOWN = 2 };

typedef struct scenario {
  temp_dir dir;
  temp_path path;
  besom_store *store;
  int there[BATCHES]; /* 0: no, 1: yes, UNKNOWN: the commit failed */
  besom_status status;
  unsigned failures;
} scenario;

/* Counts a failure, which must have the status of the planned error. */
static bool good(scenario *s, besom_status status) {
  if (status == BESOM_OK) return true;
  assert_int_equal(status, s->status);
  assert_true(plan.calls >= plan.fail_at);
  s->failures++;
  return false;
}

static bool open_store(scenario *s) {
  const char *reason = NULL;
  s->store = NULL;
  if (good(s, besom_store_lmdb(s->path.text, NULL, &reason, &s->store))) return true;
  assert_non_null(reason);
  assert_null(s->store);
  return false;
}

static besom_status append_batch(besom_store *store, uint64_t batch) {
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < RECORDS && status == BESOM_OK; i++) {
    const besom_record record = {{&i, sizeof i}, {&batch, sizeof batch}};
    status = store->ops->append(store, (besom_place){.bucket = RECORDS * batch + i}, &record);
  }
  const besom_record manifest = {{"last", 4}, {&batch, sizeof batch}};
  return status == BESOM_OK ? store->ops->table_put(store, BESOM_TABLE_MANIFEST, &manifest)
                            : status;
}

static void write_batch(scenario *s, unsigned batch) {
  besom_store *store = s->store;
  if (!good(s, store->ops->begin(store))) return;
  if (good(s, append_batch(store, batch)))
    s->there[batch] = good(s, store->ops->commit(store, batch % 2 == 0)) ? 1 : UNKNOWN;
  if (s->there[batch] != 1) store->ops->abort(store);
}

typedef struct found {
  unsigned records[BATCHES];
} found;

static besom_status see_record(void *ctx, besom_place at, const besom_record *record) {
  found *f = ctx;
  uint64_t batch;
  assert_int_equal(record->value.len, sizeof batch);
  memcpy(&batch, record->value.data, sizeof batch);
  assert_true(batch < BATCHES && at.bucket / RECORDS == batch);
  f->records[batch]++;
  return BESOM_OK;
}

/* Acknowledged batches are there; others as a whole or not at all. */
static void assert_kept(scenario *s) {
  found f = {{0}};
  besom_store *store = s->store;
  if (!good(s, store->ops->scan(store, (besom_place){0}, see_record, &f))) return;
  for (unsigned i = 0; i < BATCHES; i++) {
    if (s->there[i] != UNKNOWN) assert_int_equal(f.records[i], s->there[i] ? RECORDS : 0);
    assert_true(f.records[i] == 0 || f.records[i] == RECORDS);
  }
}

static besom_status see_manifest(void *ctx, const besom_record *record) {
  assert_int_equal(record->value.len, 8);
  ++*(unsigned *)ctx;
  return BESOM_OK;
}

/* What a batch that failed would have written is not found. */
static void assert_read(scenario *s, besom_status status) {
  if (status != BESOM_NOT_FOUND) good(s, status);
}

static void read_all(scenario *s) {
  besom_store *store = s->store;
  found f = {{0}};
  unsigned seen = 0;
  uint64_t number;
  besom_store_statistics stats;
  besom_bytes none = {NULL, 0};
  assert_kept(s);
  for (uint64_t i = 0; i < BATCHES * RECORDS; i += 3)
    assert_read(s, store->ops->get(store, (besom_place){.bucket = i}, see_record, &f));
  assert_read(s, store->ops->table_get(store, BESOM_TABLE_MANIFEST, (besom_bytes){"last", 4},
                                       see_manifest, &seen));
  good(s, store->ops->table_scan(store, BESOM_TABLE_MANIFEST, none, none, see_manifest, &seen));
  good(s, store->ops->commit_number(store, &number));
  good(s, store->ops->sync(store));
  assert_int_equal(besom_store_stats(store, &stats), BESOM_OK);
}

static void read_by_cursor(scenario *s) {
  besom_cursor *cursor = NULL;
  besom_record record;
  besom_status status = s->store->ops->list_cursor(s->store, 0, UINT32_MAX, &cursor);
  if (!good(s, status)) {
    assert_null(cursor);
    return;
  }
  unsigned n = 0;
  while ((status = cursor->next(cursor, &record)) == BESOM_OK) n++;
  if (status == BESOM_END)
    assert_true(n % RECORDS == 0);
  else
    good(s, status);
  cursor->close(cursor);
}

static void run_scenario(scenario *s) {
  for (unsigned i = 0; i < BATCHES; i++) {
    if (!s->store && !open_store(s)) continue;
    write_batch(s, i);
    read_all(s);
    read_by_cursor(s);
    if (i != 1) continue;
    besom_store_close(s->store);
    s->store = NULL;
  }
}

/* Returns whether the n-th call was made. */
static bool fail_at(unsigned n, int error, besom_status status) {
  scenario s = {.status = status};
  temp_dir_make(&s.dir);
  s.path = temp_dir_file(&s.dir, "store");
  plan.calls = 0, plan.fail_at = n, plan.error = error;
  run_scenario(&s);
  bool failed = plan.calls >= n;
  plan.fail_at = 0;
  besom_store_close(s.store);
  assert_true(s.failures <= 1);
  assert_true(open_store(&s));
  assert_kept(&s);
  write_batch(&s, BATCHES - 1);
  besom_store_close(s.store);
  temp_dir_remove(&s.dir);
  return failed;
}

static const struct {
  int error;
  besom_status status;
} errors[] = {{EIO, BESOM_IO},
              {ENOMEM, BESOM_NO_MEMORY},
              {EACCES, BESOM_READ_ONLY},
              {MDB_MAP_FULL, BESOM_DISK_FULL},
              {MDB_CORRUPTED, BESOM_CORRUPT},
              {MDB_READERS_FULL, BESOM_BUSY},
              {MDB_BAD_VALSIZE, BESOM_INVALID}};
enum { ERRORS = sizeof errors / sizeof *errors };

static void the_nth_call_under_a_store_fails(void **state) {
  (void)state;
  unsigned n = 1;
  while (fail_at(n, errors[n % ERRORS].error, errors[n % ERRORS].status)) n++;
  assert_true(n > 50);
}

/* ------------------------------------------------------------------ a sidecar */

typedef struct table {
  temp_dir dir;
  temp_path path, file;
  MDB_env *env;
  besom_sidecar_lmdb_options where;
  besom_sidecar *s;
  unsigned failures;
  besom_status status;
} table;

static void table_init(table *t, besom_status status) {
  *t = (table){.status = status};
  temp_dir_make(&t->dir);
  t->path = temp_dir_file(&t->dir, "table.mdb");
  t->file = temp_dir_file(&t->dir, "keys.besom");
  MDB_txn *txn;
  assert_int_equal(mdb_env_create(&t->env), 0);
  assert_int_equal(mdb_env_set_maxdbs(t->env, 2), 0);
  assert_int_equal(mdb_env_open(t->env, t->path.text, MDB_NOSUBDIR | MDB_NOSYNC, 0666), 0);
  assert_int_equal(mdb_txn_begin(t->env, NULL, 0, &txn), 0);
  assert_int_equal(mdb_dbi_open(txn, "keys", MDB_CREATE, &t->where.table), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  t->where.env = t->env;
}

static bool is_done(table *t, besom_status status) {
  if (status == BESOM_OK) return true;
  assert_int_equal(status, t->status);
  t->failures++;
  return false;
}

static bool attach(table *t) {
  besom_config filter = {.kind = "scaling", .options = "base=aqf", .fpr = 0.1};
  besom_sidecar_config config = {.filter = &filter};
  const char *reason = NULL;
  t->s = NULL;
  besom_status status = besom_sidecar_lmdb(&config, &t->where, t->file.text, &reason, &t->s);
  assert_true(status == BESOM_OK ? t->s != NULL : !t->s && reason);
  return is_done(t, status);
}

static besom_bytes bytes_of(const uint64_t *key) {
  return (besom_bytes){key, sizeof *key};
}

/* A transaction of the application: some keys come, and one goes. */
static void change_keys(table *t, uint64_t first) {
  MDB_txn *txn;
  bool good_so_far = is_done(t, besom_sidecar_begin(t->s));
  if (!good_so_far) return;
  if (mdb_txn_begin(t->env, NULL, 0, &txn)) {
    assert_int_equal(besom_sidecar_end(t->s, BESOM_SIDECAR_ABORTED), BESOM_OK);
    return;
  }
  for (uint64_t key = first; good_so_far && key < first + 5; key++)
    good_so_far =
        is_done(t, besom_sidecar_lmdb_put(t->s, txn, bytes_of(&key), (besom_bytes){"v", 1}));
  besom_status status =
      good_so_far && first ? besom_sidecar_lmdb_del(t->s, txn, bytes_of(&first)) : BESOM_OK;
  good_so_far = good_so_far && is_done(t, status);
  if (good_so_far)
    is_done(t, besom_sidecar_lmdb_commit(t->s, txn));
  else
    assert_int_equal(besom_sidecar_lmdb_abort(t->s, txn), BESOM_OK);
}

/* The plan does not count these reads. */
static void assert_no_false_negatives(table *t) {
  unsigned before = plan.calls;
  MDB_txn *txn;
  MDB_cursor *cursor;
  MDB_val key, value;
  int error = REAL(mdb_txn_begin)(t->env, NULL, MDB_RDONLY, &txn);
  assert_int_equal(error, 0);
  assert_int_equal(REAL(mdb_cursor_open)(txn, t->where.table, &cursor), 0);
  while (!REAL(mdb_cursor_get)(cursor, &key, &value, MDB_NEXT))
    assert_true(besom_sidecar_may_contain(t->s, key.mv_data, key.mv_size));
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  assert_int_equal(plan.calls, before);
}

static void read_keys(table *t) {
  MDB_txn *txn;
  uint64_t point = besom_sidecar_read_point(t->s);
  if (REAL(mdb_txn_begin)(t->env, NULL, MDB_RDONLY, &txn)) return;
  for (uint64_t key = 0; key < 40; key += 3) {
    besom_bytes value;
    besom_status status = besom_sidecar_lmdb_get(t->s, txn, bytes_of(&key), point, &value);
    if (status != BESOM_NOT_FOUND) is_done(t, status);
  }
  mdb_txn_abort(txn);
}

/* After a commit that failed it is BUSY. */
static void sync_keys(table *t) {
  besom_status status = besom_sidecar_sync(t->s);
  if (status != BESOM_BUSY || !t->failures) is_done(t, status);
}

/* Returns whether the n-th call was made. */
static bool fail_beside_sidecar(unsigned n, int error, besom_status status) {
  table t;
  table_init(&t, status);
  plan.calls = 0, plan.fail_at = n, plan.error = error;
  for (uint64_t i = 0; i < 4; i++) {
    if (!t.s && !attach(&t)) continue;
    change_keys(&t, 10 * i);
    assert_no_false_negatives(&t);
    read_keys(&t);
    if (i == 1) sync_keys(&t);
    if (i != 2) continue;
    is_done(&t, besom_sidecar_close(t.s));
    t.s = NULL;
  }
  bool failed = plan.calls >= n;
  plan.fail_at = 0;
  besom_sidecar_close(t.s);
  assert_true(t.failures <= 1);
  assert_true(attach(&t));
  assert_no_false_negatives(&t);
  assert_int_equal(besom_sidecar_close(t.s), BESOM_OK);
  mdb_env_close(t.env);
  temp_dir_remove(&t.dir);
  return failed;
}

static void the_nth_call_under_a_sidecar_fails(void **state) {
  (void)state;
  unsigned n = 1;
  while (fail_beside_sidecar(n, errors[n % ERRORS].error, errors[n % ERRORS].status)) n++;
  assert_true(n > 30);
}

static void arguments_of_a_sidecar_are_checked(void **state) {
  (void)state;
  table t;
  table_init(&t, BESOM_OK);
  besom_config filter = {.kind = "scaling", .options = "base=aqf", .fpr = 0.1};
  besom_sidecar_config config = {.filter = &filter};
  const char *file = t.file.text;
  assert_int_equal(besom_sidecar_lmdb(&config, NULL, file, NULL, &t.s), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb(&config, &t.where, NULL, NULL, &t.s), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb(&config, &t.where, file, NULL, NULL), BESOM_INVALID);
  filter.allocator = &(besom_allocator){0};
  assert_int_equal(besom_sidecar_lmdb(&config, &t.where, file, NULL, &t.s), BESOM_INVALID);
  assert_null(t.s);
  assert_int_equal(besom_sidecar_lmdb(NULL, &t.where, file, NULL, &t.s), BESOM_OK); /* defaults */
  besom_bytes key = {"k", 1};
  MDB_txn *txn;
  assert_int_equal(mdb_txn_begin(t.env, NULL, 0, &txn), 0);
  assert_int_equal(besom_sidecar_lmdb_put(NULL, txn, key, key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_put(t.s, NULL, key, key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_del(NULL, txn, key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_del(t.s, NULL, key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_get(NULL, txn, key, 0, &key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_get(t.s, NULL, key, 0, &key), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_get(t.s, txn, key, 0, NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_commit(t.s, NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_lmdb_abort(t.s, NULL), BESOM_INVALID);
  mdb_txn_abort(txn);
  assert_int_equal(besom_sidecar_close(t.s), BESOM_OK);
  mdb_env_close(t.env);
  temp_dir_remove(&t.dir);
}

/* ------------------------------------------------------------------ a killed process */

enum { PAGE = 4096 };

/* The first bytes of the file of a new store. */
static uint8_t *first_pages(void) {
  scenario s = {.status = BESOM_OK};
  temp_dir_make(&s.dir);
  s.path = temp_dir_file(&s.dir, "store");
  assert_true(open_store(&s));
  besom_store_close(s.store);
  char file[600];
  size_t len;
  snprintf(file, sizeof file, "%s/data.mdb", s.path.text);
  uint8_t *bytes = read_whole_file(file, &len);
  assert_true(bytes && len >= (size_t)2 * PAGE);
  temp_dir_remove(&s.dir);
  return bytes;
}

static besom_status open_over(const uint8_t *bytes, size_t len) {
  scenario s = {.status = BESOM_CORRUPT};
  temp_dir_make(&s.dir);
  s.path = temp_dir_file(&s.dir, "store");
  char file[600];
  snprintf(file, sizeof file, "%s/data.mdb", s.path.text);
  assert_int_equal(mkdir(s.path.text, 0777), 0);
  assert_true(write_whole_file(file, bytes, len));
  besom_status status = BESOM_CORRUPT;
  if (open_store(&s)) {
    write_batch(&s, 0);
    assert_kept(&s);
    status = BESOM_OK;
  }
  besom_store_close(s.store);
  temp_dir_remove(&s.dir);
  return status;
}

/* LMDB writes two pages when it creates its file, which differ in their numbers. A process may be
   killed before both are there. If one of them knows of further pages, these are lost. */
static void a_file_that_was_not_finished_is_begun_anew(void **state) {
  (void)state;
  uint8_t *bytes = first_pages(), *zeros = calloc(2, PAGE);
  static const size_t lengths[] = {1, 100, PAGE - 1, PAGE, PAGE + 1, PAGE + 100, 2 * PAGE - 1};
  assert_int_equal(open_over(bytes, PAGE + 200), BESOM_CORRUPT);
  memcpy(bytes + PAGE, bytes, PAGE);
  memcpy(bytes + PAGE, &(uint64_t){1}, 8);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_int_equal(open_over(bytes, lengths[i]), BESOM_OK);
    assert_int_equal(open_over(zeros, lengths[i]), BESOM_OK);
  }
  memset(bytes + PAGE, 0, PAGE);
  assert_int_equal(open_over(bytes, (size_t)2 * PAGE), BESOM_OK); /* the second page as zeros */
  memset(bytes, 'x', PAGE);
  assert_int_equal(open_over(bytes, PAGE), BESOM_CORRUPT); /* someone else's file stays */
  assert_int_equal(open_over(bytes, 100), BESOM_CORRUPT);
  free(bytes);
  free(zeros);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nth_call_under_a_store_fails),
      cmocka_unit_test(the_nth_call_under_a_sidecar_fails),
      cmocka_unit_test(arguments_of_a_sidecar_are_checked),
      cmocka_unit_test(a_file_that_was_not_finished_is_begun_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
