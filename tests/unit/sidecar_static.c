/* Sidecars of kinds that are built once: what an insert does to them, and what a crash leaves. */
#define _GNU_SOURCE 1 /* SYS_write */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar_database.h"

enum { KEYS = 500, ABSENT = 1000 }; /* present: 0 to KEYS - 1; no test inserts ABSENT and above */

/* This write replaces that of the C library: a disk can be full. */
static bool disk_is_full;

ssize_t write(int fd, const void *data, size_t n) {
  if (!disk_is_full || fd <= 2) return syscall(SYS_write, fd, data, n);
  errno = ENOSPC;
  return -1;
}

static void static_init(app *a, bool with_log) {
  app_init(a, with_log);
  a->filter.kind = with_log ? "ribbon" : "fuse";
  a->filter.options = "forget=yes";
  for (uint64_t k = 0; k < KEYS; k++) a->now->has[k] = true;
}

static void static_open(app *a, bool with_log) {
  static_init(a, with_log);
  app_open(a, BESOM_SIDECAR_NEW);
}

static besom_status report(app *a, uint64_t k) {
  besom_u64_key key = key_of(k);
  return besom_sidecar_report(a->s, key.bytes, 8, besom_sidecar_read_point(a->s));
}

/* An absent key that the filter answers as told. */
static uint64_t absent_key(const app *a, bool answer) {
  for (uint64_t k = ABSENT; k < UNIVERSE; k++)
    if (may_contain(a, k) == answer) return k;
  fail();
  return 0;
}

static bool answers_yes_to_all(const app *a) {
  for (uint64_t k = 0; k < UNIVERSE; k++)
    if (!may_contain(a, k)) return false;
  return true;
}

/* A key that the filter denies is told of as new. */
static void make_stale(app *a) {
  uint64_t k = absent_key(a, false);
  put_range(a, k, k + 1);
  assert_true(answers_yes_to_all(a));
}

static void reopen(app *a, besom_sidecar_origin origin) {
  app_open(a, origin);
  assert_false(answers_yes_to_all(a)); /* stale or not, open has made a filter of all keys */
}

/* ------------------------------------------------------------------ a store that is only read */

static void a_filter_of_a_static_kind_is_built_saved_and_loaded(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_open(&a, with_log);
    assert_int_equal(app_stats(&a).keys, KEYS);
    uint64_t k = absent_key(&a, true);
    assert_int_equal(report(&a, k), BESOM_OK);
    assert_false(may_contain(&a, k));
    app_close(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    assert_false(may_contain(&a, k));
    assert_false(app_stats(&a).rebuild_due);
    app_done(&a);
  }
}

static void an_empty_table_has_a_filter_that_denies_all(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_init(&a, with_log);
    memset(a.now->has, 0, sizeof a.now->has);
    reopen(&a, BESOM_SIDECAR_NEW);
    app_close(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    put_range(&a, 0, 10);
    assert_true(answers_yes_to_all(&a));
    app_done(&a);
  }
}

static void a_hint_that_is_too_small_is_corrected(void **state) {
  (void)state;
  app a;
  static_init(&a, true);
  for (uint64_t k = 0; k < UNIVERSE; k++) a.now->has[k] = true;
  a.keys.size_hint = 10;
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(app_stats(&a).keys, UNIVERSE);
  app_done(&a);
}

static void the_number_of_keys_tells_an_older_file(void **state) {
  (void)state;
  app a;
  static_init(&a, false);
  a.config.exact_size_hint = true;
  a.keys.size_hint = KEYS;
  app_open(&a, BESOM_SIDECAR_NEW);
  app_close(&a);
  reopen(&a, BESOM_SIDECAR_LOADED);
  app_close(&a);
  for (uint64_t k = KEYS; k < KEYS + 3; k++) a.now->has[k] = true; /* by another writer */
  a.keys.size_hint = KEYS + 3;
  reopen(&a, BESOM_SIDECAR_COUNT);
  app_done(&a);
}

static void kinds_that_need_more_than_members_are_refused(void **state) {
  (void)state;
  static const char *const kinds[] = {"cascade", "stacked", "learned", "grouped", "yesno"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    app a;
    static_init(&a, false);
    a.filter.kind = kinds[i];
    assert_int_equal(app_try_open(&a), BESOM_UNSUPPORTED);
    app_done(&a);
  }
}

/* ------------------------------------------------------------------ changes */

static void an_insert_makes_every_answer_yes_until_a_rebuild(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    uint64_t bitmap[1];
    static_open(&a, with_log);
    besom_u64_key absent = key_of(ABSENT);
    besom_bytes key = {absent.bytes, 8};
    make_stale(&a);
    assert_int_equal(besom_sidecar_may_contain_many(a.s, &key, 1, bitmap), BESOM_OK);
    assert_int_equal(bitmap[0], 1);
    assert_int_equal(report(&a, ABSENT), BESOM_BUSY);
    assert_true(app_stats(&a).rebuild_due);
    put_range(&a, 600, 700); /* further writes are not refused */
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
    assert_false(answers_yes_to_all(&a));
    assert_no_false_negatives(&a);
    assert_false(app_stats(&a).rebuild_due);
    app_crash(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* The key is answered yes as soon as it is told of. */
static void an_aborted_insert_leaves_the_filter_as_it_was(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_open(&a, with_log);
    uint64_t k = absent_key(&a, false);
    database *txn = app_begin(&a);
    app_put(&a, txn, k);
    assert_true(may_contain(&a, k));
    app_abort(&a, txn);
    assert_false(may_contain(&a, k));
    app_close(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

static void an_insert_whose_outcome_is_unknown_is_answered_yes(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_open(&a, with_log);
    uint64_t k = absent_key(&a, false);
    database *txn = app_begin(&a);
    app_put(&a, txn, k);
    if (with_log) assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    app_become(&a, txn); /* it was committed after all */
    assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_UNKNOWN), BESOM_OK);
    app_abort(&a, app_begin(&a)); /* takes back nothing of the transaction before */
    assert_no_false_negatives(&a);
    app_close(&a);
    reopen(&a, with_log ? BESOM_SIDECAR_STALE : BESOM_SIDECAR_UNCLEAN);
    app_done(&a);
  }
}

static void a_delete_keeps_the_fingerprint_and_the_filter(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_open(&a, with_log);
    delete_range(&a, 0, 10);
    assert_false(answers_yes_to_all(&a));
    assert_int_equal(app_stats(&a).kept, 10);
    assert_int_equal(report(&a, 5), BESOM_OK);
    assert_false(may_contain(&a, 5));
    app_close(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    assert_false(may_contain(&a, 5));
    put_range(&a, 6, 7); /* its fingerprint is there */
    assert_false(answers_yes_to_all(&a));
    put_range(&a, 5, 6); /* this one is denied */
    assert_true(answers_yes_to_all(&a));
    app_crash(&a);
    reopen(&a, with_log ? BESOM_SIDECAR_STALE : BESOM_SIDECAR_UNCLEAN);
    app_done(&a);
  }
}

static void an_insert_of_what_is_answered_yes_changes_nothing(void **state) {
  (void)state;
  app a;
  static_open(&a, true);
  uint64_t k = absent_key(&a, true), denied = absent_key(&a, false);
  put_range(&a, k, k + 1);
  assert_false(may_contain(&a, denied));
  assert_no_false_negatives(&a);
  app_crash(&a); /* and so does its replay */
  reopen(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(app_stats(&a).replayed, 1);
  app_done(&a);
}

/* Of a snapshot that the filter knows, too. */
static void a_snapshot_is_answered_yes_by_a_stale_filter(void **state) {
  (void)state;
  app a;
  static_init(&a, true);
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_NEW);
  uint64_t k = absent_key(&a, false);
  besom_u64_key key = key_of(k);
  assert_false(besom_sidecar_may_contain_at(a.s, key.bytes, 8, a.now->number));
  make_stale(&a);
  assert_true(besom_sidecar_may_contain_at(a.s, key.bytes, 8, a.now->number));
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  key = key_of(absent_key(&a, false));
  assert_false(besom_sidecar_may_contain_at(a.s, key.bytes, 8, a.now->number));
  app_done(&a);
}

/* ------------------------------------------------------------------ the end of the process */

static void a_stale_filter_is_not_loaded(void **state) {
  (void)state;
  enum { CLOSE, CRASH, SYNC_AND_CRASH, ENDS };
  for (int end = 0; end < 2 * ENDS; end++) {
    app a;
    bool with_log = end & 1;
    static_open(&a, with_log);
    make_stale(&a);
    if (end / 2 == SYNC_AND_CRASH) assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
    if (end / 2 == CLOSE)
      app_close(&a);
    else
      app_crash(&a);
    reopen(&a, end / 2 == CRASH && !with_log ? BESOM_SIDECAR_UNCLEAN : BESOM_SIDECAR_STALE);
    assert_int_equal(app_stats(&a).keys, KEYS + 1);
    app_crash(&a);
    reopen(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* Between log_to and the commit; and after the commit, before end. */
static void a_crash_around_the_commit_loses_no_key(void **state) {
  (void)state;
  for (int committed = 0; committed < 2; committed++) {
    app a;
    static_open(&a, true);
    database *txn = app_begin(&a);
    for (uint64_t k = 700; k < 800; k++) app_put(&a, txn, k);
    assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    if (committed)
      app_become(&a, txn);
    else
      db_free(txn);
    app_crash(&a);
    reopen(&a, committed ? BESOM_SIDECAR_STALE : BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* Checkpoints of a stale filter let the log be trimmed: the records are of no use any more. */
static void the_log_of_a_stale_filter_stays_short(void **state) {
  (void)state;
  app a;
  static_init(&a, true);
  a.config.checkpoint_items = 10;
  app_open(&a, BESOM_SIDECAR_NEW);
  for (uint64_t k = KEYS; k < KEYS + 200; k++) put_range(&a, k, k + 1);
  assert_true(a.now->n < 40);
  assert_true(answers_yes_to_all(&a));
  app_crash(&a);
  reopen(&a, BESOM_SIDECAR_STALE);
  app_done(&a);
}

static void an_older_file_is_stale_if_the_log_has_inserts(void **state) {
  (void)state;
  app a;
  size_t len;
  static_open(&a, true);
  uint8_t *file = read_whole_file(a.path.text, &len);
  put_range(&a, 700, 720);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  app_close(&a);
  assert_true(write_whole_file(a.path.text, file, len));
  free(file);
  reopen(&a, BESOM_SIDECAR_STALE);
  app_done(&a);
}

/* ------------------------------------------------------------------ failures */

static void a_rebuild_that_fails_leaves_every_answer_yes(void **state) {
  (void)state;
  bool failed = true;
  for (uint64_t at = 1; failed; at++) {
    app a;
    failing_allocator allocator;
    static_init(&a, at & 1);
    failing_allocator_init(&allocator);
    a.filter.allocator = &allocator.api;
    app_open(&a, BESOM_SIDECAR_NEW);
    make_stale(&a);
    allocator.calls = 0;
    allocator.fail_at = at;
    besom_status status = besom_sidecar_rebuild(a.s);
    failed = allocator.calls >= at;
    assert_int_equal(status, failed ? BESOM_NO_MEMORY : BESOM_OK);
    assert_int_equal(answers_yes_to_all(&a), failed);
    assert_no_false_negatives(&a);
    app_done(&a);
    assert_null(failing_allocator_verdict(&allocator));
    failing_allocator_close(&allocator);
  }
}

static void a_full_disk_never_brings_the_filter_back(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    static_open(&a, with_log);
    disk_is_full = true;
    make_stale(&a);
    assert_int_equal(besom_sidecar_sync(a.s), BESOM_DISK_FULL);
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_DISK_FULL);
    assert_true(answers_yes_to_all(&a));
    assert_int_equal(besom_sidecar_close(a.s), BESOM_DISK_FULL);
    disk_is_full = false;
    reopen(&a, with_log ? BESOM_SIDECAR_STALE : BESOM_SIDECAR_NEW);
    app_done(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_filter_of_a_static_kind_is_built_saved_and_loaded),
      cmocka_unit_test(an_empty_table_has_a_filter_that_denies_all),
      cmocka_unit_test(a_hint_that_is_too_small_is_corrected),
      cmocka_unit_test(the_number_of_keys_tells_an_older_file),
      cmocka_unit_test(kinds_that_need_more_than_members_are_refused),
      cmocka_unit_test(an_insert_makes_every_answer_yes_until_a_rebuild),
      cmocka_unit_test(an_aborted_insert_leaves_the_filter_as_it_was),
      cmocka_unit_test(an_insert_whose_outcome_is_unknown_is_answered_yes),
      cmocka_unit_test(a_delete_keeps_the_fingerprint_and_the_filter),
      cmocka_unit_test(an_insert_of_what_is_answered_yes_changes_nothing),
      cmocka_unit_test(a_snapshot_is_answered_yes_by_a_stale_filter),
      cmocka_unit_test(a_stale_filter_is_not_loaded),
      cmocka_unit_test(a_crash_around_the_commit_loses_no_key),
      cmocka_unit_test(the_log_of_a_stale_filter_stays_short),
      cmocka_unit_test(an_older_file_is_stale_if_the_log_has_inserts),
      cmocka_unit_test(a_rebuild_that_fails_leaves_every_answer_yes),
      cmocka_unit_test(a_full_disk_never_brings_the_filter_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
