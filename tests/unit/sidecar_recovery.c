/* Files and log of a sidecar: damaged, foreign, older, newer; a full disk; failing calls. */
#define _GNU_SOURCE 1 /* SYS_write */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar_database.h"

/* This write replaces that of the C library: a disk can be full. */
static bool disk_is_full;

ssize_t write(int fd, const void *data, size_t n) {
  if (!disk_is_full || fd <= 2) return syscall(SYS_write, fd, data, n);
  errno = ENOSPC;
  return -1;
}

static void open_with_keys(app *a, bool with_log) {
  app_init(a, with_log);
  for (uint64_t k = 0; k < 500; k++) a->now->has[k] = true;
  app_open(a, BESOM_SIDECAR_NEW);
  put_range(a, 500, 600);
  delete_range(a, 0, 50);
}

/* ------------------------------------------------------------------ crashes */

static void after_a_crash_the_log_is_replayed(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  uint64_t keys = app_stats(&a).keys;
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(app_stats(&a).replayed, 150);
  assert_int_equal(app_stats(&a).keys, keys); /* exactly: removes happen once */
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(app_stats(&a).replayed, 0);
  assert_int_equal(app_stats(&a).keys, keys);
  app_done(&a);
}

/* Between log_to and the commit; and after the commit, before end. */
static void a_crash_around_the_commit_loses_no_key(void **state) {
  (void)state;
  for (int committed = 0; committed < 2; committed++) {
    app a;
    open_with_keys(&a, true);
    database *txn = app_begin(&a);
    for (uint64_t k = 100; k < 200; k++) app_delete(&a, txn, k);
    for (uint64_t k = 700; k < 800; k++) app_put(&a, txn, k);
    assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    if (committed)
      app_become(&a, txn);
    else
      db_free(txn);
    app_crash(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    assert_int_equal(app_stats(&a).keys, 550);
    app_done(&a);
  }
}

/* The same, but the sidecar is closed: the checkpoint has the inserts, and not the removes. */
static void a_close_around_the_commit_loses_no_key(void **state) {
  (void)state;
  for (int committed = 0; committed < 2; committed++) {
    app a;
    open_with_keys(&a, true);
    database *txn = app_begin(&a);
    for (uint64_t k = 100; k < 200; k++) app_delete(&a, txn, k);
    for (uint64_t k = 700; k < 800; k++) app_put(&a, txn, k);
    assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    app_close(&a);
    if (committed)
      app_become(&a, txn);
    else
      db_free(txn);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

static void without_a_log_a_crash_means_reading_all_keys(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, false);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_UNCLEAN);
  app_crash(&a); /* nothing was changed: the file is valid */
  app_open(&a, BESOM_SIDECAR_LOADED);
  put_range(&a, 600, 610);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_true(may_contain(&a, 605));
  app_done(&a);
}

/* ------------------------------------------------------------------ files and logs apart */

typedef struct saved_file {
  uint8_t *data;
  size_t len;
} saved_file;

static saved_file take_file(const app *a) {
  saved_file file;
  file.data = read_whole_file(a->path.text, &file.len);
  assert_non_null(file.data);
  return file;
}

static void give_file(const app *a, saved_file *file) {
  assert_true(write_whole_file(a->path.text, file->data, file->len));
  free(file->data);
}

static void an_older_file_is_continued_by_the_log_or_refused(void **state) {
  (void)state;
  for (int trimmed = 0; trimmed < 2; trimmed++) {
    app a;
    open_with_keys(&a, true);
    app_close(&a);
    saved_file older = take_file(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    put_range(&a, 700, 800);
    assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
    if (trimmed) put_range(&a, 800, 801);
    if (trimmed) put_range(&a, 801, 802);
    app_close(&a);
    give_file(&a, &older);
    app_open(&a, trimmed ? BESOM_SIDECAR_LOG_ENDS : BESOM_SIDECAR_LOADED);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* After a power cut, or in a copy: and then it reaches the same position by other changes. */
static void an_older_database_is_noticed(void **state) {
  (void)state;
  for (int diverged = 0; diverged < 2; diverged++) {
    app a;
    open_with_keys(&a, true);
    database *older = db_copy(a.now);
    delete_range(&a, 100, 200);
    app_close(&a);
    saved_file newer = take_file(&a);
    app_become(&a, older);
    if (diverged) {
      remove(a.path.text);
      app_open(&a, BESOM_SIDECAR_NEW);
      for (int i = 0; i < 3; i++) put_range(&a, 1000, 1000 + (uint64_t)i);
      app_close(&a);
    }
    give_file(&a, &newer);
    app_open(&a, BESOM_SIDECAR_LOG_ENDS);
    app_done(&a);
  }
}

/* The position exists, but another process has written that record. */
static void a_record_of_another_session_is_noticed(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  database *older = db_copy(a.now);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  saved_file at_older = take_file(&a);
  delete_range(&a, 100, 200);
  app_close(&a);
  saved_file newer = take_file(&a);
  app_become(&a, older);
  give_file(&a, &at_older);
  app_open(&a, BESOM_SIDECAR_LOADED);
  put_range(&a, 1000, 1001); /* the same position as that of the delete */
  app_crash(&a);
  give_file(&a, &newer);
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  app_done(&a);
}

/* The commit fails, and the transaction is there after all. */
static void commit_unknown(app *a, database *txn) {
  assert_int_equal(besom_sidecar_log_to(a->s, txn), BESOM_OK);
  app_become(a, txn);
  assert_int_equal(besom_sidecar_end(a->s, BESOM_SIDECAR_UNKNOWN), BESOM_OK);
}

/* The record of an unknown outcome has the position of the next one, which replaces it. */
static void a_database_that_goes_back_to_an_unknown_outcome_is_noticed(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  database *txn = app_begin(&a);
  for (uint64_t k = 700; k < 720; k++) app_put(&a, txn, k);
  commit_unknown(&a, txn);
  database *unknown = db_copy(a.now);
  delete_range(&a, 100, 400);
  app_close(&a);
  app_become(&a, unknown);
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  app_done(&a);
}

/* Deletes keys, with an unknown outcome, and reports them. Returns the state before. */
static database *report_keys_deleted_unknown(app *a) {
  assert_int_equal(besom_sidecar_sync(a->s), BESOM_OK);
  database *before = db_copy(a->now), *txn = app_begin(a);
  for (uint64_t k = 100; k < 400; k++) app_delete(a, txn, k);
  commit_unknown(a, txn);
  for (uint64_t k = 100; k < 400; k++) {
    besom_u64_key key = key_of(k);
    besom_sidecar_report(a->s, key.bytes, 8, besom_sidecar_read_point(a->s));
  }
  return before;
}

/* A report of a key that the unknown transaction has deleted is not for the state before it. */
static void a_report_after_an_unknown_outcome_is_not_saved(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  database *before = report_keys_deleted_unknown(&a);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_BUSY);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_BUSY);
  app_close(&a);
  app_become(&a, before);
  app_open(&a, BESOM_SIDECAR_LOADED);
  put_range(&a, 700, 800);
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/*
 * A transaction without changes is committed after the unknown one. If it is logged, its record
 * replaces that of the unknown one, and the file belongs to it; if not, the outcome stays unknown.
 */
static void an_empty_transaction_after_an_unknown_outcome_denies_no_key(void **state) {
  (void)state;
  for (int logged = 0; logged < 2; logged++) {
    app a;
    open_with_keys(&a, true);
    database *before = report_keys_deleted_unknown(&a), *txn = app_begin(&a);
    if (logged) assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_OK);
    app_become(&a, txn);
    assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
    assert_int_equal(besom_sidecar_sync(a.s), logged ? BESOM_OK : BESOM_BUSY);
    app_close(&a);
    app_become(&a, before);
    app_open(&a, logged ? BESOM_SIDECAR_LOG_ENDS : BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* A rebuild has another seed: the digests of later records mean other keys to the old filter. */
static void a_file_from_before_a_rebuild_is_refused(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  saved_file older = take_file(&a);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  put_range(&a, 700, 800);
  app_crash(&a);
  give_file(&a, &older);
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  app_done(&a);
}

static void a_file_of_another_database_or_kind_is_refused(void **state) {
  (void)state;
  app a, b;
  open_with_keys(&a, true);
  open_with_keys(&b, true);
  app_close(&a);
  app_close(&b);
  saved_file foreign = take_file(&b);
  give_file(&a, &foreign);
  app_open(&a, BESOM_SIDECAR_OTHER);
  app_close(&a);
  a.filter.kind = "aqf";
  a.filter.options = "forget=yes";
  app_open(&a, BESOM_SIDECAR_OTHER);
  app_done(&a);
  app_done(&b);
}

/* With keep_removed, one fingerprint may serve two keys: it must not be removed for one of them. */
static void a_file_or_log_with_keep_removed_is_not_used_without(void **state) {
  (void)state;
  for (int crash = 0; crash < 2; crash++) {
    app a;
    open_with_keys(&a, true);
    app_close(&a);
    a.config.keep_removed = true;
    app_open(&a, BESOM_SIDECAR_OTHER);
    put_range(&a, 600, 1600);
    if (crash)
      app_crash(&a);
    else
      app_close(&a);
    a.config.keep_removed = false;
    app_open(&a, BESOM_SIDECAR_OTHER);
    delete_range(&a, 600, 1100);
    assert_no_false_negatives(&a);
    app_done(&a);
  }
}

static void writers_that_bypass_the_sidecar_are_noticed_by_the_stamp(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    a.config.stamp = 10;
    app_open(&a, BESOM_SIDECAR_NEW);
    database *txn = app_begin(&a);
    app_put(&a, txn, 1);
    assert_int_equal(besom_sidecar_stamp(a.s, 11), BESOM_OK);
    app_commit(&a, txn);
    txn = app_begin(&a); /* a transaction that changes other tables only */
    assert_int_equal(besom_sidecar_stamp(a.s, 12), BESOM_OK);
    app_commit(&a, txn);
    if (with_log)
      app_crash(&a);
    else
      app_close(&a);
    a.config.stamp = 12;
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_close(&a);
    a.now->has[2] = true;
    a.config.stamp = 13;
    app_open(&a, BESOM_SIDECAR_BYPASSED);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* Numbers of transactions that are not known: as those of a database that cannot begin a read. */
static uint64_t unknown_number(void *ctx, void *txn) {
  return txn ? log_number(ctx, txn) : 0;
}

static void writers_that_bypass_the_sidecar_are_noticed_by_the_number(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_close(&a);
  a.now->has[77] = true;
  a.now->number++;
  a.log.number = unknown_number;
  assert_int_equal(app_try_open(&a), BESOM_INCOMPATIBLE); /* not loaded: it would deny the key */
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_BYPASSED);
  put_range(&a, 10, 20);
  app_done(&a);
}

/* Every look finds another number, as if another writer committed meanwhile. */
static bool rises;

static uint64_t rising_number(void *ctx, void *txn) {
  app *a = ctx;
  return rises && !txn ? ++a->now->number : log_number(ctx, txn);
}

/* The numbers of the checkpoint and of the database are both not known: this is no agreement. */
static void a_checkpoint_of_an_unknown_state_is_not_loaded(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.log.number = rising_number;
  app_open(&a, BESOM_SIDECAR_NEW);
  rises = true;
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
  rises = false;
  app_close(&a);
  a.log.number = unknown_number;
  assert_int_equal(app_try_open(&a), BESOM_INCOMPATIBLE);
  a.log.number = log_number;
  app_open(&a, BESOM_SIDECAR_BYPASSED);
  app_done(&a);
}

/* ------------------------------------------------------------------ damage */

static void a_damaged_file_is_not_used(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    open_with_keys(&a, with_log);
    app_close(&a);
    saved_file whole = take_file(&a);
    for (size_t len = 0; len < whole.len; len += 1 + whole.len / 13) {
      assert_true(write_whole_file(a.path.text, whole.data, len));
      app_open(&a, BESOM_SIDECAR_DAMAGED);
      app_close(&a);
    }
    for (size_t at = 0; at < whole.len; at += 1 + whole.len / 17) {
      whole.data[at] ^= 4;
      assert_true(write_whole_file(a.path.text, whole.data, whole.len));
      assert_int_equal(app_try_open(&a), BESOM_OK);
      assert_true(app_stats(&a).origin != BESOM_SIDECAR_LOADED);
      assert_no_false_negatives(&a);
      app_close(&a);
      whole.data[at] ^= 4;
    }
    free(whole.data);
    app_done(&a);
  }
}

static void a_damaged_log_is_not_replayed(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  app_crash(&a);
  log_record *last = &a.now->records[a.now->n - 1];
  last->value[30] ^= 1;
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  put_range(&a, 700, 710);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  put_range(&a, 710, 720);
  put_range(&a, 720, 730);
  app_crash(&a);
  db_remove(a.now, a.now->records[a.now->n - 2].key); /* a gap */
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  app_done(&a);
}

static void a_table_with_other_data_is_not_overwritten(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  db_put(a.now, "somebody", "else", 4);
  assert_int_equal(app_try_open(&a), BESOM_CORRUPT);
  db_remove(a.now, "somebody");
  app_open(&a, BESOM_SIDECAR_NEW);
  app_close(&a);
  a.now->records[0].value[8] = 200;
  assert_int_equal(app_try_open(&a), BESOM_NEWER_VERSION);
  a.now->records[0].value[8] = 1;
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/* ------------------------------------------------------------------ no room, failing calls */

static void a_full_disk_fails_the_checkpoint_and_loses_nothing(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  a.config.checkpoint_items = 100;
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  disk_is_full = true;
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_DISK_FULL);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_DISK_FULL);
  put_range(&a, 700, 900); /* due for a checkpoint */
  assert_int_equal(app_stats(&a).failed_checkpoints, 3);
  assert_int_equal(besom_sidecar_close(a.s), BESOM_DISK_FULL);
  disk_is_full = false;
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(app_stats(&a).replayed, 200);
  app_done(&a);
}

/* The file cannot be marked as in use: it is removed. */
static void without_a_log_a_full_disk_removes_the_file(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, false);
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  disk_is_full = true;
  put_range(&a, 700, 710);
  assert_int_equal(besom_sidecar_close(a.s), BESOM_DISK_FULL);
  disk_is_full = false;
  app_open(&a, BESOM_SIDECAR_NEW);
  app_done(&a);
}

/* The directory has gone: the file cannot be marked, so that no change is allowed. */
static void a_file_that_cannot_be_marked_allows_no_change(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, false);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  temp_path moved = a.path;
  snprintf(moved.text, sizeof moved.text, "%.400s.moved", a.dir.path);
  assert_int_equal(rename(a.dir.path, moved.text), 0);
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_LOCKED);
  assert_int_equal(rename(moved.text, a.dir.path), 0);
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_OK);
  assert_int_equal(rename(a.dir.path, moved.text), 0);
  assert_int_equal(besom_sidecar_insert(a.s, "k", 1), BESOM_LOCKED);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_ABORTED), BESOM_OK);
  assert_int_equal(rename(moved.text, a.dir.path), 0);
  put_range(&a, 700, 710);
  app_done(&a);
}

/* One transaction with inserts and removes; returns its status. */
static besom_status try_transaction(app *a, uint64_t first) {
  database *txn = app_begin(a);
  besom_status status = BESOM_OK;
  for (uint64_t k = first; k < first + 40 && status == BESOM_OK; k++) {
    besom_u64_key key = key_of(k);
    status = txn->has[k] ? besom_sidecar_remove(a->s, key.bytes, 8)
                         : besom_sidecar_insert(a->s, key.bytes, 8);
    if (status == BESOM_OK) txn->has[k] = !txn->has[k];
  }
  if (status == BESOM_OK) status = besom_sidecar_log_to(a->s, txn);
  if (status != BESOM_OK) {
    app_abort(a, txn);
    return status;
  }
  app_become(a, txn);
  return besom_sidecar_end(a->s, BESOM_SIDECAR_COMMITTED);
}

static void every_failing_call_of_the_log_leaves_all_keys(void **state) {
  (void)state;
  app a;
  open_with_keys(&a, true);
  bool failed = true;
  for (uint64_t at = 1; failed; at++) {
    app_crash(&a);
    a.log_calls = 0;
    a.fail_at = at;
    besom_status status = app_try_open(&a);
    if (status == BESOM_OK) status = try_transaction(&a, 580);
    if (a.s && status == BESOM_OK) status = besom_sidecar_sync(a.s);
    failed = a.log_calls >= at;
    a.fail_at = 0;
    assert_true(failed || status == BESOM_OK);
    if (!a.s) assert_int_equal(app_try_open(&a), BESOM_OK);
    assert_no_false_negatives(&a);
    if (at % 3 == 0) app_crash(&a);
    if (at % 3 == 0) remove(a.path.text);
    if (at % 3 == 0) assert_int_equal(app_try_open(&a), BESOM_OK);
  }
  app_done(&a);
}

static void every_failing_allocation_leaves_all_keys(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  for (uint64_t k = 0; k < 600; k++) a.now->has[k] = true;
  bool failed = true;
  for (uint64_t at = 1; failed; at++) {
    failing_allocator allocator;
    failing_allocator_init(&allocator);
    allocator.fail_at = at;
    a.filter.allocator = &allocator.api;
    besom_status status = app_try_open(&a);
    if (status == BESOM_OK) status = try_transaction(&a, 580 + at);
    if (a.s && status == BESOM_OK) status = besom_sidecar_rebuild(a.s);
    failed = allocator.calls >= at;
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    assert_true(failed || status == BESOM_OK);
    if (a.s) assert_no_false_negatives(&a);
    if (a.s && at % 2) app_close(&a);
    if (a.s) app_crash(&a);
    assert_null(failing_allocator_verdict(&allocator));
    failing_allocator_close(&allocator);
  }
  a.filter.allocator = NULL;
  assert_int_equal(app_try_open(&a), BESOM_OK);
  assert_no_false_negatives(&a);
  app_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(after_a_crash_the_log_is_replayed),
      cmocka_unit_test(a_crash_around_the_commit_loses_no_key),
      cmocka_unit_test(a_close_around_the_commit_loses_no_key),
      cmocka_unit_test(without_a_log_a_crash_means_reading_all_keys),
      cmocka_unit_test(an_older_file_is_continued_by_the_log_or_refused),
      cmocka_unit_test(an_older_database_is_noticed),
      cmocka_unit_test(a_record_of_another_session_is_noticed),
      cmocka_unit_test(a_database_that_goes_back_to_an_unknown_outcome_is_noticed),
      cmocka_unit_test(a_report_after_an_unknown_outcome_is_not_saved),
      cmocka_unit_test(an_empty_transaction_after_an_unknown_outcome_denies_no_key),
      cmocka_unit_test(a_file_from_before_a_rebuild_is_refused),
      cmocka_unit_test(a_file_of_another_database_or_kind_is_refused),
      cmocka_unit_test(a_file_or_log_with_keep_removed_is_not_used_without),
      cmocka_unit_test(writers_that_bypass_the_sidecar_are_noticed_by_the_stamp),
      cmocka_unit_test(writers_that_bypass_the_sidecar_are_noticed_by_the_number),
      cmocka_unit_test(a_checkpoint_of_an_unknown_state_is_not_loaded),
      cmocka_unit_test(a_damaged_file_is_not_used),
      cmocka_unit_test(a_damaged_log_is_not_replayed),
      cmocka_unit_test(a_table_with_other_data_is_not_overwritten),
      cmocka_unit_test(a_full_disk_fails_the_checkpoint_and_loses_nothing),
      cmocka_unit_test(without_a_log_a_full_disk_removes_the_file),
      cmocka_unit_test(a_file_that_cannot_be_marked_allows_no_change),
      cmocka_unit_test(every_failing_call_of_the_log_leaves_all_keys),
      cmocka_unit_test(every_failing_allocation_leaves_all_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
