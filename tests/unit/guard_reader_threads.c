/* Threads of a read-only guard, beside a guard that changes the store. */
#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "store/array_db.h"
#include "support/keys.h"

enum { MEMBER_KEYS = 150, ROUNDS = 6 };

static bool yes(const void *db) {
  (void)db;
  return true;
}

/* A read of the manifest, counted from now on, before which a guard is refreshed; after it, if a
   writer is given, which first changes the manifest. */
static besom_guard *refreshed, *changed_before;
static unsigned manifest_reads;

static void refresh_now(void) {
  besom_guard *g = refreshed;
  refreshed = NULL;
  if (changed_before)
    assert_int_equal(besom_guard_step(changed_before, 1, &(bool){false}), BESOM_OK);
  assert_int_equal(besom_guard_refresh(g), BESOM_OK);
}

static besom_status get_beside_refresh(void *db, besom_bytes key, besom_table_visit visit,
                                       void *ctx) {
  bool due = refreshed && *(const uint8_t *)key.data == 'N' && ++manifest_reads == 2;
  if (due && !changed_before) refresh_now();
  besom_status status = array_ops.get(db, key, visit, ctx);
  if (due && changed_before) refresh_now();
  return status;
}

/* Two stores over one database stand for two processes. */
static besom_guard *open_guard(array_db *db, bool read_only) {
  besom_ordered_ops ops = array_ops;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.3};
  besom_guard_config config = {.filter = &filter, .threads = read_only};
  if (read_only) ops.read_only = yes;
  if (read_only) ops.get = get_beside_refresh;
  assert_int_equal(besom_store_ordered(&ops, db, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  return g;
}

struct reader {
  besom_guard *guard;
  atomic_bool stop;
  atomic_bool wrong;
};

/* Many of its gets are false positives, which wait for a refresh. */
static void *get_all(void *ctx) {
  struct reader *r = ctx;
  for (uint64_t i = 0; !r->stop; i++) {
    besom_status present = besom_guard_get_u64(r->guard, key_u64(MEMBERS, i % MEMBER_KEYS), NULL);
    besom_status absent = besom_guard_get_u64(r->guard, key_u64(NEGATIVES, i), NULL);
    if ((present != BESOM_OK && present != BESOM_BUSY) ||
        (absent != BESOM_NOT_FOUND && absent != BESOM_BUSY))
      r->wrong = true;
  }
  return NULL;
}

static void *refresh(void *ctx) {
  struct reader *r = ctx;
  while (!r->stop) {
    besom_status status = besom_guard_refresh(r->guard);
    if (status != BESOM_OK && status != BESOM_BUSY) r->wrong = true;
  }
  return NULL;
}

/* Each step changes the manifest, so that a get replaces the filters while refresh adapts them. */
static void gets_replace_filters_beside_a_refresh(void **state) {
  (void)state;
  array_db db;
  array_db_init(&db);
  besom_guard *writer = open_guard(&db, false);
  for (uint64_t i = 0; i < MEMBER_KEYS; i++)
    assert_int_equal(besom_guard_put_u64(writer, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  struct reader r = {.guard = open_guard(&db, true)};
  pthread_t threads[2];
  assert_int_equal(pthread_create(&threads[0], NULL, get_all, &r), 0);
  assert_int_equal(pthread_create(&threads[1], NULL, refresh, &r), 0);
  for (unsigned i = 0; i < ROUNDS; i++) {
    besom_status status = besom_guard_rekey(writer);
    assert_true(status == BESOM_OK || status == BESOM_BUSY);
    for (bool finished = false; !finished;)
      assert_int_equal(besom_guard_step(writer, 5, &finished), BESOM_OK);
  }
  r.stop = true;
  for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_false(r.wrong);
  assert_int_equal(besom_guard_close(r.guard), BESOM_OK);
  assert_int_equal(besom_guard_close(writer), BESOM_OK);
  array_db_free(&db);
}

/* later: the refresh reads a manifest that the get has not seen. */
static void get_beside_a_refresh(bool later) {
  array_db db;
  array_db_init(&db);
  besom_guard *writer = open_guard(&db, false), *reader = open_guard(&db, true);
  assert_int_equal(besom_guard_put_u64(writer, key_u64(MEMBERS, 1), "", 0, 0), BESOM_OK);
  assert_int_equal(besom_guard_rekey(writer), BESOM_OK);
  refreshed = reader;
  changed_before = later ? writer : NULL;
  manifest_reads = 0;
  assert_int_equal(besom_guard_get_u64(reader, key_u64(MEMBERS, 1), NULL), BESOM_OK);
  assert_null(refreshed);
  assert_int_equal(besom_guard_get_u64(reader, key_u64(NEGATIVES, 1), NULL), BESOM_NOT_FOUND);
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(reader, &stats), BESOM_OK);
  assert_int_equal(stats.bypassed, 0);
  assert_false(stats.migration_pending); /* by the writer, if at all */
  assert_int_equal(besom_guard_close(reader), BESOM_OK);
  assert_int_equal(besom_guard_close(writer), BESOM_OK);
  array_db_free(&db);
}

/* A get that found another manifest does not throw away the filter that a refresh has filled. */
static void a_get_keeps_the_filter_of_a_refresh(void **state) {
  (void)state;
  get_beside_a_refresh(false);
  get_beside_a_refresh(true);
}

/* The number of commits, which changes with each call as if a writer were never idle. */
static bool is_busy;
static uint64_t commits_seen, scans;

static besom_status busy_commit_number(void *db, uint64_t *number) {
  if (!is_busy) return array_ops.commit_number(db, number);
  *number = ++commits_seen;
  return BESOM_OK;
}

static besom_status counted_scan(void *db, besom_bytes from, besom_bytes to,
                                 besom_table_visit visit, void *ctx) {
  scans++;
  return array_ops.scan(db, from, to, visit, ctx);
}

static besom_guard *open_counting_reader(array_db *db) {
  besom_ordered_ops ops = array_ops;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.3, .options = "tombstones=yes"};
  ops.read_only = yes;
  ops.commit_number = busy_commit_number;
  ops.scan = counted_scan;
  assert_int_equal(besom_store_ordered(&ops, db, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&(besom_guard_config){.filter = &filter}, store, &g), BESOM_OK);
  return g;
}

/* As docs/guard.md promises: a get gives up after 1,000 attempts, a refresh after three. */
static void a_reader_beside_a_busy_writer_gives_up(void **state) {
  (void)state;
  array_db db;
  array_db_init(&db);
  besom_guard *writer = open_guard(&db, false), *reader = open_counting_reader(&db);
  for (uint64_t i = 0; i < MEMBER_KEYS; i++)
    assert_int_equal(besom_guard_put_u64(writer, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  scans = 0;
  assert_int_equal(besom_guard_refresh(reader), BESOM_OK);
  uint64_t once = scans;
  assert_true(once > 0);
  is_busy = true;
  commits_seen = UINT32_MAX;
  assert_int_equal(besom_guard_get_u64(reader, key_u64(MEMBERS, 1), NULL), BESOM_OK);
  commits_seen = UINT32_MAX;
  assert_int_equal(besom_guard_get_u64(reader, key_u64(NEGATIVES, 1), NULL), BESOM_BUSY);
  assert_int_equal(commits_seen - UINT32_MAX, 2 * 1000);
  scans = 0;
  assert_int_equal(besom_guard_refresh(reader), BESOM_BUSY);
  assert_int_equal(scans, 3 * once);
  besom_guard *late = open_counting_reader(&db); /* without a filter, until a refresh */
  assert_int_equal(besom_guard_get_u64(late, key_u64(MEMBERS, 1), NULL), BESOM_OK);
  is_busy = false;
  uint64_t numbers[2] = {key_u64(MEMBERS, 2), key_u64(NEGATIVES, 1)}, found = 0;
  besom_bytes keys[2] = {{&numbers[0], 8}, {&numbers[1], 8}};
  for (unsigned i = 0; i < 2; i++) numbers[i] = little_endian(numbers[i]);
  assert_int_equal(besom_guard_get_many(late, keys, 2, NULL, &found), BESOM_OK);
  assert_int_equal(found, 1);
  assert_int_equal(besom_guard_refresh(late), BESOM_OK);
  assert_int_equal(besom_guard_get_many(late, keys, 2, NULL, &found), BESOM_OK);
  assert_int_equal(found, 1);
  assert_int_equal(besom_guard_close(late), BESOM_OK);
  scans = 0;
  assert_int_equal(besom_guard_put_u64(writer, key_u64(MORE_MEMBERS, 1), "", 0, 0), BESOM_OK);
  assert_int_equal(besom_guard_refresh(reader), BESOM_OK);
  assert_int_equal(scans, once);
  assert_int_equal(besom_guard_close(reader), BESOM_OK);
  assert_int_equal(besom_guard_close(writer), BESOM_OK);
  array_db_free(&db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gets_replace_filters_beside_a_refresh),
      cmocka_unit_test(a_get_keeps_the_filter_of_a_refresh),
      cmocka_unit_test(a_reader_beside_a_busy_writer_gives_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
