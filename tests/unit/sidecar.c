/* A sidecar: what it answers, what it may be told, and what it refuses. */
#define _DEFAULT_SOURCE 1
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar_database.h"

/* ------------------------------------------------------------------ answers and reports */

static besom_status report(app *a, uint64_t k, uint64_t point) {
  besom_u64_key key = key_of(k);
  return besom_sidecar_report(a->s, key.bytes, 8, point);
}

static void a_database_with_data_is_attached_by_one_call(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    for (uint64_t k = 0; k < 2000; k++) a.now->has[k] = true;
    app_open(&a, BESOM_SIDECAR_NEW);
    assert_int_equal(app_stats(&a).keys, 2000);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

static uint64_t count_false_positives(app *a, bool reporting) {
  uint64_t n = 0, point = besom_sidecar_read_point(a->s);
  for (uint64_t k = 2000; k < UNIVERSE; k++) {
    if (!may_contain(a, k)) continue;
    n++;
    if (reporting) assert_int_equal(report(a, k, point), BESOM_OK);
  }
  return n;
}

static void a_reported_key_is_denied_also_by_the_next_process(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  for (uint64_t k = 0; k < 2000; k++) a.now->has[k] = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_true(count_false_positives(&a, true) > 50);
  assert_int_equal(count_false_positives(&a, false), 0);
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(count_false_positives(&a, false), 0);
  put_range(&a, 2000, UNIVERSE); /* and can be inserted */
  assert_no_false_negatives(&a);
  app_done(&a);
}

static void many_keys_are_asked_for_at_once(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  for (uint64_t k = 0; k < 100; k++) a.now->has[k] = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  besom_u64_key texts[200];
  besom_bytes keys[200];
  uint64_t bitmap[4];
  for (uint64_t k = 0; k < 200; k++) {
    texts[k] = key_of(k);
    keys[k] = (besom_bytes){texts[k].bytes, 8};
  }
  assert_int_equal(besom_sidecar_may_contain_many(a.s, keys, 200, bitmap), BESOM_OK);
  for (uint64_t k = 0; k < 200; k++)
    assert_int_equal(bitmap[k / 64] >> k % 64 & 1, may_contain(&a, k));
  app_done(&a);
}

/* A reader that began before the commit does not see the key. */
static void a_report_from_before_an_insert_is_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  uint64_t before = besom_sidecar_read_point(a.s);
  database *txn = app_begin(&a);
  app_put(&a, txn, 7);
  app_commit(&a, txn);
  assert_int_equal(report(&a, 7, before), BESOM_IS_MEMBER);
  assert_true(may_contain(&a, 7));
  assert_int_equal(report(&a, 7, besom_sidecar_read_point(a.s) + 1), BESOM_INVALID);
  for (uint64_t k = 0; k < UNIVERSE; k += 500) put_range(&a, k, k + 500);
  delete_range(&a, 0, 500);
  put_range(&a, 0, 500);
  assert_int_equal(report(&a, 7, before), BESOM_BUSY); /* too long ago */
  assert_int_equal(app_stats(&a).late_reports, 2);
  assert_no_false_negatives(&a);
  app_done(&a);
}

static void *report_in_a_thread(void *ctx) {
  app *a = ctx;
  return (void *)(uintptr_t)report(a, 7, besom_sidecar_read_point(a->s));
}

/* Neither does a reader that began after the insert was told of, and before the commit. */
static void a_report_of_an_uncommitted_key_is_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.config.threads = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  database *txn = app_begin(&a);
  app_put(&a, txn, 7);
  pthread_t reader;
  void *status;
  pthread_create(&reader, NULL, report_in_a_thread, &a);
  pthread_join(reader, &status);
  assert_int_equal((uintptr_t)status, BESOM_IS_MEMBER);
  app_commit(&a, txn);
  assert_true(may_contain(&a, 7));
  app_done(&a);
}

/* A thread that has deleted a key in a transaction, and aborts it. */
static void a_report_from_within_a_transaction_is_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 100);
  database *txn = app_begin(&a);
  app_delete(&a, txn, 7);
  assert_int_equal(report(&a, 7, besom_sidecar_read_point(a.s)), BESOM_BUSY);
  app_abort(&a, txn);
  assert_no_false_negatives(&a);
  app_done(&a);
}

/* ------------------------------------------------------------------ what is told */

static void calls_out_of_order_are_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(besom_sidecar_insert(a.s, "k", 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_remove(a.s, "k", 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_log_to(a.s, a.now), BESOM_INVALID);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_INVALID);
  database *txn = app_begin(&a);
  assert_int_equal(besom_sidecar_remove(a.s, "k", 1), BESOM_NOT_FOUND);
  assert_int_equal(besom_sidecar_insert(a.s, NULL, 1), BESOM_INVALID);
  app_put(&a, txn, 1);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_BUSY);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_BUSY);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_INVALID); /* not logged */
  assert_int_equal(besom_sidecar_end(a.s, 3), BESOM_INVALID);
  app_commit(&a, txn);
  assert_no_false_negatives(&a);
  app_done(&a);
}

static void invalid_arguments_are_refused(void **state) {
  (void)state;
  app a;
  besom_sidecar *s = NULL;
  app_init(&a, true);
  assert_int_equal(besom_sidecar_open(&a.config, NULL, NULL, &s), BESOM_INVALID);
  assert_int_equal(besom_sidecar_open(&a.config, a.path.text, NULL, NULL), BESOM_INVALID);
  besom_sidecar_config config = a.config;
  config.keys = NULL;
  assert_int_equal(besom_sidecar_open(&config, a.path.text, NULL, &s), BESOM_INVALID);
  a.log.scan = NULL;
  assert_int_equal(app_try_open(&a), BESOM_INVALID);
  a.log.scan = log_scan;
  a.filter.kind = "none";
  assert_int_equal(app_try_open(&a), BESOM_UNKNOWN_KIND);
  a.filter.kind = "bloom";
  a.filter.options = NULL;
  a.filter.reserve = 0;
  assert_int_equal(app_try_open(&a), BESOM_UNSUPPORTED); /* it cannot remove */
  assert_true(besom_sidecar_may_contain(NULL, "k", 1));
  assert_int_equal(besom_sidecar_begin(NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_report(NULL, "k", 1, 0), BESOM_INVALID);
  assert_int_equal(besom_sidecar_close(NULL), BESOM_OK);
  app_done(&a);
}

static void structs_have_the_size_of_the_caller(void **state) {
  (void)state;
  app a;
  besom_sidecar_statistics stats;
  size_t size = offsetof(besom_sidecar_statistics, replayed);
  app_init(&a, false);
  a.config.checkpoint_items = 1;
  assert_int_equal(
      besom_sidecar_open_sized(&a.config, offsetof(besom_sidecar_config, checkpoint_items),
                               offsetof(besom_config, threads), a.path.text, NULL, &a.s),
      BESOM_OK);
  memset(&stats, 0x55, sizeof stats);
  assert_int_equal(besom_sidecar_stats_sized(a.s, &stats, size), BESOM_OK);
  assert_int_equal(stats.origin, BESOM_SIDECAR_NEW);
  for (size_t i = size; i < sizeof stats; i++) assert_int_equal(((unsigned char *)&stats)[i], 0x55);
  app_done(&a);
}

static void an_aborted_transaction_leaves_nothing(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 100);
  database *txn = app_begin(&a);
  for (uint64_t k = 50; k < 100; k++) app_delete(&a, txn, k);
  for (uint64_t k = 100; k < 150; k++) app_put(&a, txn, k);
  assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
  app_abort(&a, txn);
  assert_no_false_negatives(&a);
  assert_int_equal(app_stats(&a).keys, 100);
  assert_int_equal(app_stats(&a).aborted, 1);
  assert_int_equal(report(&a, 120, besom_sidecar_read_point(a.s)), BESOM_OK);
  app_done(&a);
}

/* begin ends it: its inserts stay, its removes do not happen. */
static void a_transaction_whose_end_was_forgotten_loses_nothing(void **state) {
  (void)state;
  for (int committed = 0; committed < 2; committed++) {
    app a;
    app_init(&a, true);
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 100);
    database *txn = app_begin(&a);
    for (uint64_t k = 0; k < 50; k++) app_delete(&a, txn, k);
    for (uint64_t k = 100; k < 150; k++) app_put(&a, txn, k);
    assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    if (committed)
      app_become(&a, txn);
    else
      db_free(txn);
    assert_int_equal(besom_sidecar_begin(a.s), BESOM_OK);
    assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_ABORTED), BESOM_OK);
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_BUSY); /* inserts wait for the log */
    put_range(&a, 200, 210);
    assert_int_equal(app_stats(&a).unknown, 1);
    assert_no_false_negatives(&a);
    app_crash(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

static void a_key_that_is_deleted_twice_takes_no_other_with_it(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 2000);
    database *txn = app_begin(&a);
    for (uint64_t k = 0; k < 1000; k++) {
      besom_u64_key key = key_of(k);
      app_delete(&a, txn, k);
      assert_int_equal(besom_sidecar_remove(a.s, key.bytes, 8), BESOM_OK);
    }
    app_commit(&a, txn);
    assert_int_equal(app_stats(&a).keys, 1000);
    assert_no_false_negatives(&a);
    app_done(&a);
  }
}

/* Every put is told of as new, every key is deleted, whether it is there or not. */
static void with_keep_removed_wrong_tellings_are_harmless(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.config.keep_removed = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  for (int round = 0; round < 3; round++) {
    database *txn = app_begin(&a);
    for (uint64_t k = 0; k < 1500; k++) {
      besom_u64_key key = key_of(k);
      assert_int_equal(besom_sidecar_insert(a.s, key.bytes, 8), BESOM_OK);
      txn->has[k] = true;
    }
    for (uint64_t k = 0; k < UNIVERSE; k += 1 + k % 2) {
      besom_u64_key key = key_of(k);
      besom_status status = besom_sidecar_remove(a.s, key.bytes, 8);
      assert_true(status == BESOM_OK || status == BESOM_NOT_FOUND);
      if (k < 1500) txn->has[k] = false;
    }
    app_commit(&a, txn);
    assert_no_false_negatives(&a);
  }
  assert_true(app_stats(&a).keys <= 1500);
  assert_true(app_stats(&a).kept > 1000 && app_stats(&a).rebuild_due);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  assert_false(app_stats(&a).rebuild_due);
  assert_int_equal(app_stats(&a).kept, 0);
  assert_no_false_negatives(&a);
  app_done(&a);
}

/*
 * An exception that the filter has forgotten, but the saved one has not: the insert must be logged
 * although the filter answers yes.
 */
static void a_forgotten_exception_does_not_come_back_with_the_checkpoint(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.config.keep_removed = true;
  a.filter.options = "base=aqf,forget=yes,max_exceptions=1";
  for (uint64_t k = 0; k < 2000; k++) a.now->has[k] = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  uint64_t first = 2000, second;
  while (!may_contain(&a, first)) first++;
  second = first + 1;
  while (!may_contain(&a, second)) second++;
  assert_int_equal(report(&a, first, 0), BESOM_OK);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(report(&a, second, 0), BESOM_OK);
  for (uint64_t k = second + 1; !may_contain(&a, first) && k < UNIVERSE; k++)
    if (may_contain(&a, k)) report(&a, k, 0);
  assert_true(may_contain(&a, first));
  put_range(&a, first, first + 1);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/* ------------------------------------------------------------------ growth and rebuilding */

static void the_filter_grows(void **state) {
  (void)state;
  static const char *const kinds[][2] = {{"scaling", "base=aqf,forget=yes"}, {"aqf", "forget=yes"}};
  for (int i = 0; i < 2; i++) {
    app a;
    app_init(&a, i);
    a.filter = (besom_config){.kind = kinds[i][0], .options = kinds[i][1], .fpr = 0.01};
    app_open(&a, BESOM_SIDECAR_NEW);
    uint64_t bytes = app_stats(&a).filter_bytes;
    put_range(&a, 0, UNIVERSE); /* four times the least capacity */
    assert_no_false_negatives(&a);
    assert_true(app_stats(&a).filter_bytes > 2 * bytes);
    if (i == 0) assert_true(app_stats(&a).expected_fpr < 0.01); /* scaling keeps the rate */
    if (i == 1) assert_true(app_stats(&a).rebuild_due);
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
    assert_true(app_stats(&a).expected_fpr < 0.01);
    assert_no_false_negatives(&a);
    app_crash(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

static bool cancel(void *ctx, uint64_t done, uint64_t total) {
  assert_true(!total || done <= total);
  return --*(int *)ctx > 0;
}

static uint64_t seed_of(const app *a) {
  return besom_hash(besom_sidecar_filter(a->s), "k", 1).lo;
}

static void a_cancelled_rebuild_changes_nothing(void **state) {
  (void)state;
  app a;
  int ticks = 1;
  besom_progress progress = {cancel, &ticks};
  app_init(&a, true);
  a.config.progress = &progress;
  for (uint64_t k = 0; k < UNIVERSE; k++) a.now->has[k] = true;
  assert_int_equal(app_try_open(&a), BESOM_CANCELLED);
  ticks = 100;
  app_open(&a, BESOM_SIDECAR_NEW);
  uint64_t seed = seed_of(&a);
  ticks = 2;
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_CANCELLED);
  assert_int_equal(seed_of(&a), seed);
  ticks = 100;
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  assert_true(seed_of(&a) != seed);
  assert_no_false_negatives(&a);
  app_done(&a);
}

/* A read point from before a rebuild: recent inserts are known by the digests of the old seed. */
static void a_report_from_before_a_rebuild_is_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  uint64_t before = besom_sidecar_read_point(a.s);
  put_range(&a, 0, 10);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  assert_int_equal(report(&a, 7, before), BESOM_BUSY);
  assert_no_false_negatives(&a);
  app_done(&a);
}

/* A writer bypasses the sidecar; the rebuild reads its key, which a reader from before does not. */
static void a_report_from_before_a_rebuild_is_refused_without_an_insert(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 10);
    uint64_t before = besom_sidecar_read_point(a.s);
    a.now->has[77] = true;
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
    assert_int_equal(report(&a, 77, before), BESOM_BUSY);
    assert_no_false_negatives(&a);
    uint64_t after = besom_sidecar_read_point(a.s);
    put_range(&a, 10, 20);
    assert_int_equal(report(&a, 15, after), BESOM_IS_MEMBER);
    assert_int_equal(report(&a, 100, after), BESOM_OK);
    assert_false(may_contain(&a, 100));
    assert_no_false_negatives(&a);
    app_done(&a);
  }
}

/* ------------------------------------------------------------------ readers of older snapshots */

static bool may_contain_at(const app *a, uint64_t k, uint64_t number) {
  besom_u64_key key = key_of(k);
  return besom_sidecar_may_contain_at(a->s, key.bytes, 8, number);
}

/* The filter is asked for this snapshot: it denies a key that was reported. */
static void assert_asked(app *a, uint64_t k, uint64_t number) {
  assert_int_equal(report(a, k, besom_sidecar_read_point(a->s)), BESOM_OK);
  assert_false(may_contain_at(a, k, number));
}

/* With keep_removed, the filter has the key until a reader of the newest state reports it. */
static void a_snapshot_keeps_the_keys_that_were_removed_since(void **state) {
  (void)state;
  for (int keep_removed = 0; keep_removed < 2; keep_removed++) {
    app a;
    app_init(&a, true);
    a.log.number = log_number;
    a.config.keep_removed = keep_removed;
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 10);
    uint64_t with_key = a.now->number;
    assert_asked(&a, 100, with_key);
    delete_range(&a, 7, 8);
    assert_asked(&a, 7, a.now->number);
    assert_true(may_contain_at(&a, 7, with_key));
    uint64_t without_key = a.now->number;
    put_range(&a, 10, 20); /* removes nothing */
    assert_asked(&a, 7, without_key);
    assert_true(may_contain_at(&a, 7, with_key));
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
    assert_true(may_contain_at(&a, 7, with_key));
    assert_asked(&a, 7, a.now->number);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    assert_true(may_contain_at(&a, 7, with_key));
    assert_asked(&a, 7, a.now->number);
    app_done(&a);
  }
}

/* The reader reads a state whose transaction is committed and not ended. */
static void a_report_of_a_state_that_is_not_ended_is_refused(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  uint64_t point = besom_sidecar_read_point(a.s), before = a.now->number;
  besom_u64_key key = key_of(7), absent = key_of(100);
  assert_int_equal(besom_sidecar_report_at(a.s, absent.bytes, 8, point, before), BESOM_OK);
  assert_int_equal(besom_sidecar_report_at(a.s, key.bytes, 8, point, before + 1), BESOM_BUSY);
  assert_int_equal(besom_sidecar_report_at(a.s, key.bytes, 8, point, 0), BESOM_BUSY);
  assert_true(may_contain_at(&a, 7, before));
  assert_int_equal(app_stats(&a).reports, 1);
  app_done(&a);
}

/* It would say that the keys of another writer were told of. */
static void a_stamp_is_refused_if_transactions_have_numbers(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  a.now->has[77] = true;
  a.now->number++;
  assert_int_equal(besom_sidecar_stamp(a.s, a.now->number), BESOM_INVALID);
  assert_true(may_contain_at(&a, 77, a.now->number));
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  put_range(&a, 10, 20);
  assert_no_false_negatives(&a);
  app_done(&a);
}

/* Another writer deletes a key after the number was taken, before the scan. */
static besom_status delete_and_rewind(void *ctx) {
  app *a = ctx;
  a->now->has[5] = false;
  a->now->number++;
  return keys_rewind(ctx);
}

static void a_rebuild_denies_no_key_of_the_state_before_its_scan(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.log.number = log_number;
  a.keys.size_hint = 10;
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  app_close(&a);
  a.keys.rewind = delete_and_rewind;
  app_open(&a, BESOM_SIDECAR_LOADED);
  uint64_t before = a.now->number;
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  assert_int_equal(a.now->number, before + 1);
  assert_true(may_contain_at(&a, 5, before));
  assert_true(may_contain_at(&a, 100, before + 1));
  database *txn = app_begin(&a);
  assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_INCOMPATIBLE);
  app_abort(&a, txn);
  app_done(&a);
}

/* ------------------------------------------------------------------ processes */

static void a_second_sidecar_of_one_file_is_refused(void **state) {
  (void)state;
  app a;
  besom_sidecar *second;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(besom_sidecar_open(&a.config, a.path.text, NULL, &second), BESOM_LOCKED);
  app_done(&a);
}

/* The parent may have told of any key meanwhile. */
static bool answers_yes(besom_sidecar *s) {
  besom_bytes keys[] = {{"some", 4}, {"key", 3}, {"new", 3}};
  uint64_t found = 0;
  return besom_sidecar_may_contain(s, "new", 3) && besom_sidecar_may_contain_at(s, "new", 3, 0) &&
         besom_sidecar_may_contain_many(s, keys, 3, &found) == BESOM_OK && found == 7;
}

static void the_child_of_a_fork_writes_nothing(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  size_t before, after;
  uint8_t *file = read_whole_file(a.path.text, &before);
  pid_t child = fork();
  if (child == 0) {
    bool refused = besom_sidecar_begin(a.s) == BESOM_INVALID &&
                   besom_sidecar_sync(a.s) == BESOM_INVALID &&
                   besom_sidecar_report(a.s, "new", 3, 0) == BESOM_INVALID && answers_yes(a.s);
    _exit(refused && besom_sidecar_close(a.s) == BESOM_OK ? 0 : 1);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  uint8_t *again = read_whole_file(a.path.text, &after);
  assert_true(before == after && memcmp(file, again, after) == 0);
  besom_sidecar *second;
  assert_int_equal(besom_sidecar_open(&a.config, a.path.text, NULL, &second), BESOM_LOCKED);
  free(file);
  free(again);
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/* ------------------------------------------------------------------ reports beside removals */

static void *report_all(void *ctx) {
  app *a = ctx;
  uint64_t point = besom_sidecar_read_point(a->s);
  for (uint64_t k = 0; k < 500; k++) assert_int_equal(report(a, k, point), BESOM_BUSY);
  return NULL;
}

/* Between commit and end other threads see that the keys are gone. An exception would keep their
   fingerprints from being removed. */
static void a_report_beside_a_removal_keeps_no_fingerprint(void **state) {
  (void)state;
  app a;
  pthread_t reader;
  app_init(&a, false);
  a.config.threads = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 500);
  database *txn = app_begin(&a);
  for (uint64_t k = 0; k < 500; k++) app_delete(&a, txn, k);
  app_become(&a, txn);
  assert_int_equal(pthread_create(&reader, NULL, report_all, &a), 0);
  assert_int_equal(pthread_join(reader, NULL), 0);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
  assert_int_equal(app_stats(&a).left, 0);
  assert_int_equal(app_stats(&a).keys, 0);
  app_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_report_beside_a_removal_keeps_no_fingerprint),
      cmocka_unit_test(a_database_with_data_is_attached_by_one_call),
      cmocka_unit_test(a_reported_key_is_denied_also_by_the_next_process),
      cmocka_unit_test(many_keys_are_asked_for_at_once),
      cmocka_unit_test(a_report_from_before_an_insert_is_refused),
      cmocka_unit_test(a_report_of_an_uncommitted_key_is_refused),
      cmocka_unit_test(a_report_from_within_a_transaction_is_refused),
      cmocka_unit_test(calls_out_of_order_are_refused),
      cmocka_unit_test(invalid_arguments_are_refused),
      cmocka_unit_test(structs_have_the_size_of_the_caller),
      cmocka_unit_test(an_aborted_transaction_leaves_nothing),
      cmocka_unit_test(a_transaction_whose_end_was_forgotten_loses_nothing),
      cmocka_unit_test(a_key_that_is_deleted_twice_takes_no_other_with_it),
      cmocka_unit_test(with_keep_removed_wrong_tellings_are_harmless),
      cmocka_unit_test(a_forgotten_exception_does_not_come_back_with_the_checkpoint),
      cmocka_unit_test(the_filter_grows),
      cmocka_unit_test(a_cancelled_rebuild_changes_nothing),
      cmocka_unit_test(a_report_from_before_a_rebuild_is_refused),
      cmocka_unit_test(a_report_from_before_a_rebuild_is_refused_without_an_insert),
      cmocka_unit_test(a_snapshot_keeps_the_keys_that_were_removed_since),
      cmocka_unit_test(a_report_of_a_state_that_is_not_ended_is_refused),
      cmocka_unit_test(a_stamp_is_refused_if_transactions_have_numbers),
      cmocka_unit_test(a_rebuild_denies_no_key_of_the_state_before_its_scan),
      cmocka_unit_test(a_second_sidecar_of_one_file_is_refused),
      cmocka_unit_test(the_child_of_a_fork_writes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
