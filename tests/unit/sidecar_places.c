/*
 * Where the file of a sidecar is, and which database it belongs to: a change of the working
 * directory, links, files of other databases, two sidecars on one log, removed lock files.
 */
#define _GNU_SOURCE 1 /* realpath */
#include <limits.h>
#include <unistd.h>

#include "core/byte_io.h"
#include "core/relaxed.h"
#include "sidecar_database.h"

static const uint8_t this_id[16] = "this database", other_id[16] = "other database";

static temp_path lock_of(const app *a) {
  return temp_dir_file(&a->dir, "keys.besom.lock");
}

/* ------------------------------------------------------------------ paths */

static void a_change_of_the_working_directory_does_not_matter(void **state) {
  (void)state;
  char before[PATH_MAX];
  assert_non_null(getcwd(before, sizeof before));
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    for (uint64_t k = 0; k < 500; k++) a.now->has[k] = true;
    assert_int_equal(chdir(a.dir.path), 0);
    snprintf(a.path.text, sizeof a.path.text, "keys.besom");
    app_open(&a, BESOM_SIDECAR_NEW);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    assert_int_equal(chdir("/"), 0); /* as daemon(3) does */
    put_range(&a, 500, 1000);
    app_close(&a);
    assert_int_equal(chdir(a.dir.path), 0);
    app_open(&a, BESOM_SIDECAR_LOADED); /* asserts that no key is denied */
    assert_int_equal(app_stats(&a).keys, 1000);
    assert_int_equal(chdir(before), 0);
    app_done(&a);
  }
}

static void a_link_is_its_target(void **state) {
  (void)state;
  app a;
  besom_sidecar *second;
  app_init(&a, false);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  app_close(&a);
  temp_path link = temp_dir_file(&a.dir, "link.besom");
  assert_int_equal(symlink(a.path.text, link.text), 0);
  app_open(&a, BESOM_SIDECAR_LOADED);
  assert_int_equal(besom_sidecar_open(&a.config, link.text, NULL, &second), BESOM_LOCKED);
  app_close(&a);
  temp_path name = a.path;
  a.path = link;
  app_open(&a, BESOM_SIDECAR_LOADED);
  put_range(&a, 10, 20);
  app_close(&a);
  a.path = name;
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/* The first process opens by a link whose file is yet to be made. */
static void a_link_to_a_file_that_is_missing_is_that_file(void **state) {
  (void)state;
  app a;
  besom_sidecar *second;
  app_init(&a, false);
  temp_path first = temp_dir_file(&a.dir, "first"), link = temp_dir_file(&a.dir, "link");
  temp_path file = a.path;
  assert_int_equal(symlink("keys.besom", first.text), 0); /* a link to a link, one is relative */
  assert_int_equal(symlink(first.text, link.text), 0);
  a.path = link;
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(besom_sidecar_open(&a.config, file.text, NULL, &second), BESOM_LOCKED);
  put_range(&a, 0, 10);
  app_close(&a);
  a.path = file;
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

static void a_directory_that_does_not_exist_is_an_error(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  a.path = temp_dir_file(&a.dir, "missing/keys.besom");
  assert_int_equal(app_try_open(&a), BESOM_IO);
  app_done(&a);
}

/* ------------------------------------------------------------------ files of other databases */

/* What open says of the file of a database with 500 keys, for one with these keys and this id. */
static besom_sidecar_origin origin_with(const uint8_t *file_id, const uint8_t *id, uint64_t from,
                                        uint64_t to, bool counted, uint64_t stamp) {
  app a;
  app_init(&a, false);
  for (uint64_t k = 0; k < 500; k++) a.now->has[k] = true;
  a.config.database_id = file_id;
  a.config.stamp = 7;
  app_open(&a, BESOM_SIDECAR_NEW);
  app_close(&a);
  memset(a.now->has, 0, sizeof a.now->has);
  for (uint64_t k = from; k < to; k++) a.now->has[k] = true;
  a.config.database_id = id;
  a.config.stamp = stamp;
  a.config.exact_size_hint = counted;
  a.keys.size_hint = counted ? to - from : 0;
  assert_int_equal(app_try_open(&a), BESOM_OK);
  besom_sidecar_origin origin = app_stats(&a).origin;
  if (origin != BESOM_SIDECAR_LOADED) assert_no_false_negatives(&a);
  app_done(&a);
  return origin;
}

static void a_file_of_another_database_is_not_used(void **state) {
  (void)state;
  assert_int_equal(origin_with(this_id, other_id, 500, 1000, true, 7), BESOM_SIDECAR_OTHER);
  assert_int_equal(origin_with(NULL, this_id, 500, 1000, true, 7), BESOM_SIDECAR_OTHER);
  assert_int_equal(origin_with(this_id, this_id, 0, 500, true, 7), BESOM_SIDECAR_LOADED);
}

static void an_older_file_is_not_used_if_stamp_or_count_differ(void **state) {
  (void)state;
  assert_int_equal(origin_with(this_id, this_id, 0, 1499, true, 7), BESOM_SIDECAR_COUNT);
  assert_int_equal(origin_with(this_id, this_id, 0, 0, true, 7), BESOM_SIDECAR_COUNT);
  assert_int_equal(origin_with(this_id, this_id, 0, 1499, false, 8), BESOM_SIDECAR_BYPASSED);
  assert_int_equal(origin_with(NULL, NULL, 0, 1499, true, 7), BESOM_SIDECAR_COUNT);
  /* Not noticed: nothing differs that the application tells. docs/sidecar.md says so. */
  assert_int_equal(origin_with(NULL, NULL, 500, 1000, true, 7), BESOM_SIDECAR_LOADED);
}

/* The count follows transactions, aborted ones too, and the log. */
static void the_count_follows_the_changes(void **state) {
  (void)state;
  for (int with_log = 0; with_log < 2; with_log++) {
    app a;
    app_init(&a, with_log);
    a.config.exact_size_hint = true;
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 300);
    delete_range(&a, 0, 100);
    database *txn = app_begin(&a);
    for (uint64_t k = 600; k < 700; k++) app_put(&a, txn, k);
    app_abort(&a, txn);
    if (with_log)
      app_crash(&a);
    else
      app_close(&a);
    a.keys.size_hint = 200;
    app_open(&a, BESOM_SIDECAR_LOADED);
    assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_OK);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_close(&a);
    a.keys.size_hint = 201;
    app_open(&a, BESOM_SIDECAR_COUNT);
    app_done(&a);
  }
}

/* After an unknown outcome the number is not known either. */
static void an_unknown_outcome_leaves_no_count(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  a.config.exact_size_hint = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  db_free(app_begin(&a));
  assert_int_equal(besom_sidecar_insert(a.s, "k", 1), BESOM_OK);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_UNKNOWN), BESOM_OK);
  put_range(&a, 0, 10);
  app_close(&a);
  a.keys.size_hint = 10;
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

/* ------------------------------------------------------------------ files of version 0.2.0 */

/* Rewrites the trailer to its first version: without the id of the database and the count. */
static void make_version_1(const char *path) {
  enum { V1 = 80, V2 = 104, BEFORE_ID = 64 };
  size_t len;
  uint8_t *file = read_whole_file(path, &len);
  assert_non_null(file);
  uint8_t *trailer = file + len - V2;
  trailer[8] = 1; /* the version */
  memcpy(trailer + BEFORE_ID, trailer + BEFORE_ID + 24, 8);
  store64(trailer + V1 - 8, besom__checksum(trailer, V1 - 8));
  assert_true(write_whole_file(path, file, len - V2 + V1));
  free(file);
}

static void a_file_of_the_first_version_is_read(void **state) {
  (void)state;
  for (int with_id = 0; with_id < 2; with_id++) {
    app a;
    app_init(&a, false);
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 100);
    app_close(&a);
    make_version_1(a.path.text);
    a.config.database_id = with_id ? this_id : NULL;
    a.config.exact_size_hint = true;
    a.keys.size_hint = 100;
    app_open(&a, with_id ? BESOM_SIDECAR_OTHER : BESOM_SIDECAR_LOADED);
    put_range(&a, 100, 200);
    app_close(&a);
    a.keys.size_hint = 200;
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* ------------------------------------------------------------------ two sidecars on one log */

static void a_second_file_on_an_open_log_is_refused(void **state) {
  (void)state;
  app a;
  besom_sidecar *second;
  const char *reason = NULL;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  temp_path other = temp_dir_file(&a.dir, "other.besom");
  assert_int_equal(besom_sidecar_open(&a.config, other.text, &reason, &second), BESOM_LOCKED);
  assert_non_null(strstr(reason, "another sidecar"));
  put_range(&a, 0, 10); /* the first one goes on */
  app_close(&a);
  a.path = other;
  app_open(&a, BESOM_SIDECAR_NEW); /* now the log is its own */
  app_close(&a);
  a.path = temp_dir_file(&a.dir, "keys.besom");
  app_open(&a, BESOM_SIDECAR_LOG_ENDS);
  app_done(&a);
}

/* The lock of the first one was removed, so that the second one was not refused. */
static void the_second_writer_of_a_log_is_refused(void **state) {
  (void)state;
  app a, b;
  app_init(&a, true);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  b = a;
  b.path = temp_dir_file(&a.dir, "other.besom");
  assert_int_equal(remove(lock_of(&a).text), 0);
  assert_int_equal(besom_sidecar_open(&a.config, b.path.text, NULL, &b.s), BESOM_OK);
  assert_true(write_whole_file(lock_of(&a).text, "", 0));
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_LOCKED);
  assert_non_null(strstr(besom_sidecar_problem(a.s), "replaced"));
  assert_true(may_contain(&a, 2000)); /* the other one may have put it */
  uint64_t point = besom_sidecar_read_point(a.s);
  assert_int_equal(besom_sidecar_report(a.s, "absent", 6, point), BESOM_BUSY);
  besom_bytes keys[70] = {{"k", 1}};
  uint64_t bits[2] = {0};
  assert_int_equal(besom_sidecar_may_contain_many(a.s, keys, 70, bits), BESOM_OK);
  assert_true(bits[0] == UINT64_MAX && bits[1] == 63);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_LOCKED);
  assert_int_equal(besom_sidecar_rebuild(a.s), BESOM_LOCKED);
  besom_sidecar_close(b.s);
  besom_sidecar_close(a.s);
  a.s = NULL;
  app_done(&a);
}

/* Both are open before either writes; the log is compared at each commit. */
static void a_record_of_another_sidecar_is_noticed(void **state) {
  (void)state;
  for (int with_get = 0; with_get < 2; with_get++) {
    app a;
    besom_sidecar *first, *second;
    app_init(&a, true);
    if (with_get) a.log.get = log_get;
    app_open(&a, BESOM_SIDECAR_NEW);
    first = a.s;
    temp_path other = temp_dir_file(&a.dir, "other.besom");
    temp_path kept = temp_dir_file(&a.dir, "kept");
    assert_int_equal(rename(lock_of(&a).text, kept.text), 0);
    assert_int_equal(besom_sidecar_open(&a.config, other.text, NULL, &second), BESOM_OK);
    assert_int_equal(rename(kept.text, lock_of(&a).text), 0);
    a.s = second;
    put_range(&a, 0, 10);
    a.s = first;
    database *txn = app_begin(&a);
    app_put(&a, txn, 20);
    assert_int_equal(besom_sidecar_log_to(a.s, txn), BESOM_LOCKED);
    app_abort(&a, txn);
    assert_no_false_negatives(&a); /* the filter is not asked any more */
    assert_int_equal(besom_sidecar_begin(a.s), BESOM_LOCKED);
    assert_int_equal(besom_sidecar_close(a.s), BESOM_LOCKED); /* nothing is saved */
    a.s = second;
    put_range(&a, 20, 30);
    app_done(&a);
  }
}

/* ------------------------------------------------------------------ removed lock files */

/* The directory is somewhere else for a while. */
static void a_lock_file_that_is_back_is_the_lock(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  app_open(&a, BESOM_SIDECAR_NEW);
  temp_path lock = lock_of(&a), away = temp_dir_file(&a.dir, "away");
  assert_int_equal(rename(lock.text, away.text), 0);
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_LOCKED);
  assert_true(besom_sidecar_may_contain(a.s, "other", 5));
  assert_int_equal(rename(away.text, lock.text), 0);
  put_range(&a, 0, 10);
  assert_false(besom_sidecar_may_contain(a.s, "other", 5));
  app_close(&a);
  app_open(&a, BESOM_SIDECAR_LOADED);
  app_done(&a);
}

static void a_removed_lock_file_is_noticed(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 10);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  database *txn = app_begin(&a);
  assert_int_equal(remove(lock_of(&a).text), 0);
  assert_false(besom_sidecar_may_contain(a.s, "other", 5));
  assert_int_equal(besom_sidecar_insert(a.s, "k", 1), BESOM_LOCKED);
  assert_true(besom_sidecar_may_contain(a.s, "other", 5)); /* from here on */
  app_abort(&a, txn);
  besom_sidecar *first = a.s;
  app_open(&a, BESOM_SIDECAR_LOADED); /* a second one */
  put_range(&a, 10, 20);
  assert_int_equal(besom_sidecar_begin(first), BESOM_LOCKED);
  assert_non_null(besom_sidecar_problem(first));
  assert_int_equal(besom_sidecar_stamp(first, 5), BESOM_LOCKED);
  /* It does not save its filter over the mark of the second one. */
  assert_int_equal(besom_sidecar_close(first), BESOM_OK);
  app_crash(&a);
  app_open(&a, BESOM_SIDECAR_UNCLEAN);
  app_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_change_of_the_working_directory_does_not_matter),
      cmocka_unit_test(a_link_is_its_target),
      cmocka_unit_test(a_link_to_a_file_that_is_missing_is_that_file),
      cmocka_unit_test(a_directory_that_does_not_exist_is_an_error),
      cmocka_unit_test(a_file_of_another_database_is_not_used),
      cmocka_unit_test(an_older_file_is_not_used_if_stamp_or_count_differ),
      cmocka_unit_test(the_count_follows_the_changes),
      cmocka_unit_test(an_unknown_outcome_leaves_no_count),
      cmocka_unit_test(a_file_of_the_first_version_is_read),
      cmocka_unit_test(a_second_file_on_an_open_log_is_refused),
      cmocka_unit_test(the_second_writer_of_a_log_is_refused),
      cmocka_unit_test(a_record_of_another_sidecar_is_noticed),
      cmocka_unit_test(a_removed_lock_file_is_noticed),
      cmocka_unit_test(a_lock_file_that_is_back_is_the_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
