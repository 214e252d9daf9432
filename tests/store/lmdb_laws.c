/* Laws of the store in LMDB only. */
#define _DEFAULT_SOURCE 1
#include <lmdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "laws.h"
#include "support/failing_allocator.h"

enum { SMALL_MAP = 1 << 20 };

static bool is_lmdb(const subject *s) {
  return !strcmp(s->name, "lmdb");
}

static besom_status append(besom_store *store, uint64_t bucket) {
  char value[1000];
  memset(value, (int)bucket, sizeof value);
  const besom_record record = {{&bucket, sizeof bucket}, {value, sizeof value}};
  return store->ops->append(store, (besom_place){.bucket = bucket}, &record);
}

static besom_status is_in_order(void *ctx, besom_place at, const besom_record *record) {
  uint64_t *next = ctx, key;
  if (record->key.len != sizeof key) return BESOM_INCOMPATIBLE;
  memcpy(&key, record->key.data, sizeof key);
  return at.bucket == *next && key == (*next)++ ? BESOM_OK : BESOM_INCOMPATIBLE;
}

static uint64_t count(besom_store *store) {
  uint64_t next = 0;
  assert_int_equal(store->ops->scan(store, (besom_place){0}, is_in_order, &next), BESOM_OK);
  return next;
}

/* Appends until the map is full, then commits a large transaction: both are DISK_FULL. */
static void a_full_map_is_DISK_FULL_and_loses_nothing(subject *s) {
  besom_lmdb_options options = {.map_size = SMALL_MAP};
  besom_store *store;
  assert_int_equal(besom_store_lmdb(s->at.text, &options, NULL, &store), BESOM_OK);
  uint64_t n = 0;
  besom_status status;
  while ((status = append(store, n)) == BESOM_OK) n++;
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_in_range(n, 300, 1000);
  assert_int_equal(count(store), n);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  for (uint64_t i = 0; i < 200; i++) assert_int_equal(append(store, n + i), BESOM_OK);
  assert_int_equal(store->ops->commit(store, true), BESOM_DISK_FULL);
  assert_int_equal(count(store), n + 200);
  store->ops->abort(store);
  assert_int_equal(count(store), n);
  besom_store_close(store);

  options.map_size = 2 * SMALL_MAP; /* a larger map has room */
  assert_int_equal(besom_store_lmdb(s->at.text, &options, NULL, &store), BESOM_OK);
  assert_int_equal(count(store), n);
  assert_int_equal(append(store, n), BESOM_OK);
  assert_int_equal(count(store), n + 1);
  besom_store_close(store);
}

static void a_failed_open_has_a_reason(subject *s) {
  const char *reason = NULL;
  besom_store *store = NULL;
  char nowhere[400], file[400];
  snprintf(nowhere, sizeof nowhere, "%s/no/where", s->dir.path);
  assert_int_equal(besom_store_lmdb(nowhere, NULL, &reason, &store), BESOM_IO);
  assert_non_null(reason);
  assert_int_equal(besom_store_lmdb(NULL, NULL, &reason, &store), BESOM_INVALID);
  assert_int_equal(besom_store_lmdb(s->at.text, NULL, &reason, NULL), BESOM_INVALID);
  for (unsigned missing = 0; missing < 2; missing++) {
    besom_allocator allocator = *besom_default_allocator();
    if (missing == 0) allocator.allocate = NULL;
    if (missing == 1) allocator.release = NULL;
    besom_lmdb_options options = {.allocator = &allocator};
    assert_int_equal(besom_store_lmdb(s->at.text, &options, &reason, &store), BESOM_INVALID);
  }
  assert_int_equal(temp_dir_count(&s->dir), 0);
  snprintf(file, sizeof file, "%s/store", s->dir.path);
  assert_true(write_whole_file(file, "a file", 6));
  assert_int_equal(besom_store_lmdb(file, NULL, &reason, &store), BESOM_IO);
  assert_int_equal(unlink(file), 0);
  assert_null(store);
}

static void foreign_files_are_corrupt(subject *s) {
  const char *reason = NULL;
  besom_store *store = NULL;
  char file[400];
  char noise[10000];
  memset(noise, 'n', sizeof noise);
  assert_int_equal(mkdir(s->at.text, 0777), 0);
  snprintf(file, sizeof file, "%s/data.mdb", s->at.text);
  assert_true(write_whole_file(file, noise, sizeof noise));
  assert_int_equal(besom_store_lmdb(s->at.text, NULL, &reason, &store), BESOM_CORRUPT);
  assert_non_null(reason);
  assert_null(store);
}

static void foreign_data_is_not_changed(subject *s) {
  MDB_env *env;
  MDB_txn *txn;
  MDB_dbi dbi;
  MDB_val key = {5, "their"}, value = {4, "data"};
  besom_store *store = NULL;
  assert_int_equal(mkdir(s->at.text, 0777), 0);
  for (unsigned round = 0; round < 2; round++) {
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, s->at.text, 0, 0666), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    if (round == 0) assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
    MDB_stat stat;
    assert_int_equal(mdb_stat(txn, dbi, &stat), 0);
    assert_int_equal(stat.ms_entries, 1);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    assert_int_equal(besom_store_lmdb(s->at.text, NULL, NULL, &store), BESOM_CORRUPT);
  }
  assert_null(store);
}

/* Root may write everywhere, so a child process tries as another user. */
static void a_read_only_directory_is_READ_ONLY(subject *s) {
  besom_store_close(subject_open(s));
  assert_int_equal(chmod(s->dir.path, 0755), 0);
  assert_int_equal(chmod(s->at.text, 0555), 0);
  char lock[400];
  snprintf(lock, sizeof lock, "%s/besom.lock", s->at.text);
  assert_int_equal(chmod(lock, 0444), 0);
  assert_int_equal(child_wait(child_start(s, "open-as-nobody", -1)), BESOM_READ_ONLY);
  assert_int_equal(chmod(s->at.text, 0755), 0);
}

static void a_failed_open_leaks_no_memory(subject *s) {
  for (unsigned n = 1; n <= 2; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    besom_lmdb_options options = {.map_size = SMALL_MAP, .allocator = &memory.api};
    besom_store *store = NULL;
    assert_int_equal(besom_store_lmdb(s->at.text, &options, NULL, &store), BESOM_NO_MEMORY);
    assert_null(store);
    memory.fail_at = 0;
    assert_int_equal(besom_store_lmdb(s->at.text, &options, NULL, &store), BESOM_OK);
    assert_is_directory(store, s->at.text);
    besom_store_close(store);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* More readers than LMDB's table has room for: each waits inside its visit until all have begun. */
enum { TOO_MANY = 1100, STACK = 1 << 17 };

typedef struct crowd {
  besom_store *store;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned begun; /* reads that have begun or failed */
  unsigned busy;
} crowd;

static besom_status wait_for_all(void *ctx, besom_place at, const besom_record *record) {
  (void)at, (void)record;
  crowd *c = ctx;
  pthread_mutex_lock(&c->lock);
  c->begun++;
  pthread_cond_broadcast(&c->changed);
  while (c->begun < TOO_MANY) pthread_cond_wait(&c->changed, &c->lock);
  pthread_mutex_unlock(&c->lock);
  return BESOM_END;
}

static void *read_in_crowd(void *ctx) {
  crowd *c = ctx;
  besom_status status = c->store->ops->get(c->store, (besom_place){.bucket = 0}, wait_for_all, ctx);
  if (status == BESOM_OK) return NULL;
  pthread_mutex_lock(&c->lock);
  c->begun++;
  c->busy += status == BESOM_BUSY;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static void too_many_reads_are_BUSY(subject *s) {
  static pthread_t threads[TOO_MANY];
  crowd c = {.store = subject_open(s)};
  pthread_attr_t small;
  assert_int_equal(append(c.store, 0), BESOM_OK);
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.changed, NULL);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, STACK);
  for (unsigned i = 0; i < TOO_MANY; i++)
    assert_int_equal(pthread_create(&threads[i], &small, read_in_crowd, &c), 0);
  for (unsigned i = 0; i < TOO_MANY; i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&small);
  /* LMDB has as many as fit into whole pages of its lock file. */
  assert_in_range(c.busy, TOO_MANY - 1090, TOO_MANY - 1000);
  assert_int_equal(count(c.store), 1);
  for (uint64_t n = 1; n < 50; n++) assert_int_equal(append(c.store, n), BESOM_OK);
  assert_int_equal(count(c.store), 50);
  besom_store_close(c.store);
}

static void *read_all(void *store) {
  assert_int_equal(count(store), 300);
  return NULL;
}

/* The readers of threads that have ended hold no snapshot: the writer reuses the pages of deleted
   records. */
static void readers_of_ended_threads_keep_no_pages(subject *s) {
  besom_lmdb_options options = {.map_size = 2 * SMALL_MAP};
  besom_store *store;
  assert_int_equal(besom_store_lmdb(s->at.text, &options, NULL, &store), BESOM_OK);
  for (uint64_t n = 0; n < 300; n++) assert_int_equal(append(store, n), BESOM_OK);
  for (unsigned round = 0; round < 5; round++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_all, store), 0);
    pthread_join(thread, NULL);
    for (uint64_t n = 0; n < 100; n++)
      assert_int_equal(store->ops->remove(store, (besom_place){.bucket = n}), BESOM_OK);
    for (uint64_t n = 0; n < 100; n++) assert_int_equal(append(store, n), BESOM_OK);
  }
  besom_store_close(store);
}

const law lmdb_laws[] = {
    {"too_many_reads_are_BUSY", too_many_reads_are_BUSY, is_lmdb},
    {"readers_of_ended_threads_keep_no_pages", readers_of_ended_threads_keep_no_pages, is_lmdb},
    {"a_full_map_is_DISK_FULL_and_loses_nothing", a_full_map_is_DISK_FULL_and_loses_nothing,
     is_lmdb},
    {"a_failed_open_has_a_reason", a_failed_open_has_a_reason, is_lmdb},
    {"foreign_files_are_corrupt", foreign_files_are_corrupt, is_lmdb},
    {"foreign_data_is_not_changed", foreign_data_is_not_changed, is_lmdb},
    {"a_read_only_directory_is_READ_ONLY", a_read_only_directory_is_READ_ONLY, is_lmdb},
    {"a_failed_open_leaks_no_memory", a_failed_open_leaks_no_memory, is_lmdb},
    {NULL, NULL, NULL},
};
