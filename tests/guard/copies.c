/* Guards over databases on disk: reopened, opened twice, and opened from copies of their files. */
#define _DEFAULT_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "databases.h"
#include "support/keys.h"
#include "support/temp_files.h"

static besom_guard *open_guard(opener open_store, const char *directory, besom_layout layout) {
  besom_store *store = NULL;
  besom_guard *g = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {
      .filter = &filter, .layout = layout, .durability = BESOM_DURABLE_SYNC};
  assert_int_equal(open_store(directory, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  return g;
}

static bool was_rebuilt(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats.rebuilt;
}

static void put_range(besom_guard *g, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &i, 8, 0), BESOM_OK);
}

static void assert_range(besom_guard *g, uint64_t n, uint64_t of) {
  for (uint64_t i = 0; i < of; i++) {
    besom_bytes value;
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), &value),
                     i < n ? BESOM_OK : BESOM_NOT_FOUND);
    if (i < n) assert_memory_equal(value.data, &i, 8);
    besom_guard_release(g, &value);
  }
}

static void shell(const char *format, const char *a, const char *b) {
  char command[1200];
  snprintf(command, sizeof command, format, a, b);
  assert_int_equal(system(command), 0);
}

static void for_each_database(void (*law)(opener open_store, const char *path, const char *other,
                                          besom_layout layout)) {
  for (size_t i = 0; databases[i].name; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      temp_dir dir;
      temp_dir_make(&dir);
      temp_path path = temp_dir_file(&dir, "db"), other = temp_dir_file(&dir, "copy");
      law(databases[i].open, path.text, other.text, layout);
      shell("rm -rf '%s' '%s'", path.text, other.text);
      temp_dir_remove(&dir);
    }
}

static void reopened(opener open_store, const char *path, const char *other, besom_layout layout) {
  (void)other;
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 500); /* it grows */
  assert_range(g, 500, 700);
  besom_store *second = NULL;
  assert_int_equal(open_store(path, &second), BESOM_LOCKED);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout);
  assert_false(was_rebuilt(g));
  assert_range(g, 500, 700);
  for (uint64_t i = 250; i < 500; i++)
    assert_int_equal(besom_guard_delete_u64(g, key_u64(MEMBERS, i)), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout);
  assert_range(g, 250, 700);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_guard_persists(void **state) {
  (void)state;
  for_each_database(reopened);
}

/* An older copy of the database beside a newer checkpoint: the checkpoint is ignored. */
static void older_store(opener open_store, const char *path, const char *other,
                        besom_layout layout) {
  char checkpoint[600];
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 50);
  assert_int_equal(besom_guard_sync(g), BESOM_OK);
  shell("cp -r '%s' '%s'", path, other); /* no write is running */
  put_range(g, 50, 80);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  snprintf(checkpoint, sizeof checkpoint, "%s/besom-guard.checkpoint", path);
  shell("cp '%s' '%s/'", checkpoint, other);
  g = open_guard(open_store, other, layout);
  assert_true(was_rebuilt(g));
  assert_range(g, 50, 100);
  put_range(g, 50, 60); /* other changes than in the original */
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  shell("cp '%s' '%s/'", checkpoint, other);
  g = open_guard(open_store, other, layout);
  assert_true(was_rebuilt(g));
  assert_range(g, 60, 100);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_checkpoint_newer_than_the_store_is_ignored(void **state) {
  (void)state;
  for_each_database(older_store);
}

/* A hot backup has all that was acknowledged. Then it takes the place of the database. */
static void backed_up(opener open_store, const char *path, const char *other, besom_layout layout) {
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 50);
  assert_int_equal(besom_guard_backup(g, other), BESOM_OK);
  assert_int_equal(besom_guard_backup(g, other), BESOM_INVALID); /* it exists */
  put_range(g, 50, 80);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  shell("rm -rf '%s'%s", path, "");
  shell("cp -r '%s' '%s'", other, path);
  g = open_guard(open_store, path, layout);
  assert_range(g, 50, 100);
  put_range(g, 50, 60);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_backup_is_the_state_of_its_moment(void **state) {
  (void)state;
  for_each_database(backed_up);
}

/* A child of fork has the files open, but may not use the guard, not even close it. */
static int use_in_child(besom_guard *g, int wait) {
  char byte;
  bool refused = besom_guard_put_u64(g, 1, "", 0, 0) == BESOM_LOCKED &&
                 besom_guard_get_u64(g, key_u64(MEMBERS, 1), NULL) == BESOM_LOCKED &&
                 besom_guard_sync(g) == BESOM_LOCKED && besom_guard_close(g) == BESOM_LOCKED;
  return !refused || read(wait, &byte, 1) != 0;
}

static void forked(opener open_store, const char *path, const char *other, besom_layout layout) {
  (void)other;
  int ends[2], status;
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 50); /* not written yet */
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    close(ends[1]);
    _exit(use_in_child(g, ends[0]));
  }
  put_range(g, 50, 80);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout); /* while the child lives */
  assert_range(g, 80, 100);
  close(ends[1]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close(ends[0]);
  put_range(g, 80, 90);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout);
  assert_false(was_rebuilt(g));
  assert_range(g, 90, 100);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_child_of_fork_changes_nothing(void **state) {
  (void)state;
  for_each_database(forked);
}

/* A daemon opens its guard by a relative path, and then changes its working directory. */
static void moved_away(opener open_store, const char *path, const char *other,
                       besom_layout layout) {
  char before[600], directory[600];
  assert_non_null(getcwd(before, sizeof before));
  snprintf(directory, sizeof directory, "%s/..", path);
  shell("mkdir '%s' '%s'", path, other);
  assert_int_equal(chdir(directory), 0);
  besom_guard *g = open_guard(open_store, "db", layout);
  assert_int_equal(chdir(other), 0);
  for (uint64_t i = 0; i < 5; i++) { /* RocksDB creates further files */
    put_range(g, 100 * i, 100 * i + 100);
    assert_int_equal(besom_guard_sync(g), BESOM_OK);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_int_equal(chdir(before), 0);
  g = open_guard(open_store, path, layout);
  assert_false(was_rebuilt(g)); /* the checkpoint is where it belongs */
  assert_range(g, 500, 600);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_change_of_the_working_directory_does_not_matter(void **state) {
  (void)state;
  for_each_database(moved_away);
}

/* A backup is put in the place of a directory that is open. Each of the two stays what it is. */
static void renamed(opener open_store, const char *path, const char *other, besom_layout layout) {
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 50);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  shell("cp -r '%s' '%s'", path, other);
  g = open_guard(open_store, path, layout);
  put_range(g, 50, 80);
  assert_int_equal(besom_guard_sync(g), BESOM_OK);
  shell("mv '%s' '%s.moved'", path, path);
  shell("mv '%s' '%s'", other, path);
  put_range(g, 80, 120);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout);
  assert_false(was_rebuilt(g));
  assert_range(g, 50, 120);
  put_range(g, 50, 60);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  shell("rm -r '%s'%s", path, "");
  shell("mv '%s.moved' '%s'", path, path);
  g = open_guard(open_store, path, layout);
  assert_false(was_rebuilt(g));
  assert_range(g, 120, 150);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_directory_that_is_renamed_stays_open(void **state) {
  (void)state;
  for_each_database(renamed);
}

/* Somebody has removed all lock files: the lock on the directory is left. */
static void unlocked(opener open_store, const char *path, const char *other, besom_layout layout) {
  besom_store *second = NULL;
  besom_guard *g = open_guard(open_store, path, layout);
  put_range(g, 0, 50);
  assert_int_equal(besom_guard_sync(g), BESOM_OK);
  shell("cd '%s' && rm -f besom.lock LOCK%s", path, "");
  assert_int_equal(open_store(path, &second), BESOM_LOCKED);
  shell("ln -s '%s' '%s'", path, other);
  assert_int_equal(open_store(other, &second), BESOM_LOCKED);
  put_range(g, 50, 80);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = open_guard(open_store, path, layout);
  assert_range(g, 80, 100);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_removed_lock_file_lets_no_second_writer_in(void **state) {
  (void)state;
  for_each_database(unlocked);
}

/* ------------------------------------------------------------------ reasons */

static besom_status open_with(opener open_store, const char *path, const char *kind,
                              besom_layout layout, const char **reason) {
  besom_store *store = NULL;
  besom_guard *g = NULL;
  besom_config filter = {.kind = kind, .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .layout = layout, .reason = reason};
  assert_int_equal(open_store(path, &store), BESOM_OK);
  besom_status status = besom_guard_open(&config, store, &g);
  if (status == BESOM_OK)
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  else
    besom_store_close(store);
  return status;
}

/* Another program, or another guard, writes into the store. */
static void write_past(opener open_store, const char *path, bool manifest) {
  besom_store *store = NULL;
  besom_record record = {{"guard", 5}, {"not a manifest", 14}};
  assert_int_equal(open_store(path, &store), BESOM_OK);
  const besom_store_ops *ops = store->ops;
  assert_int_equal(ops->begin(store), BESOM_OK);
  assert_int_equal(manifest ? ops->table_put(store, BESOM_TABLE_MANIFEST, &record)
                            : ops->append(store, (besom_place){.bucket = 1}, &record),
                   BESOM_OK);
  assert_int_equal(ops->commit(store, true), BESOM_OK);
  besom_store_close(store);
}

static void refused(opener open_store, const char *path, const char *other, besom_layout layout) {
  const char *reason = NULL;
  besom_layout wrong = layout ? BESOM_LAYOUT_MERGED : BESOM_LAYOUT_SPLIT;
  besom_guard *g = open_guard(open_store, path, layout);
  (void)other;
  put_range(g, 0, 50);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_int_equal(open_with(open_store, path, "aqf", wrong, &reason), BESOM_INCOMPATIBLE);
  assert_non_null(strstr(reason, "other layout"));
  assert_int_equal(open_with(open_store, path, "exaf", layout, &reason), BESOM_INCOMPATIBLE);
  assert_non_null(strstr(reason, "another kind"));
  assert_int_equal(open_with(open_store, path, "aqf", layout, &reason), BESOM_OK);
  assert_null(reason);
  write_past(open_store, path, false);
  assert_int_equal(open_with(open_store, path, "aqf", layout, &reason), BESOM_INCOMPATIBLE);
  assert_non_null(strstr(reason, "another one wrote them"));
  write_past(open_store, path, true);
  assert_int_equal(open_with(open_store, path, "aqf", layout, &reason), BESOM_CORRUPT);
  assert_non_null(strstr(reason, "manifest in the store is damaged"));
}

static void open_says_why(void **state) {
  (void)state;
  for_each_database(refused);
}

#ifdef BESOM_TEST_LMDB
/* DISK_FULL loses no data. With a larger map the guard goes on. */
static void a_full_map_is_DISK_FULL(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db");
  besom_lmdb_options options = {.map_size = 1 << 18};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .durability = BESOM_DURABLE_BATCH};
  assert_int_equal(besom_store_lmdb(path.text, &options, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  char value[2000] = "x";
  uint64_t n = 0;
  besom_status status;
  while ((status = besom_guard_put_u64(g, n, value, sizeof value, 0)) == BESOM_OK && n < 1000) n++;
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_true(n > 10);
  for (uint64_t i = 0; i < n + 20; i++)
    assert_int_equal(besom_guard_get_u64(g, i, NULL), i < n ? BESOM_OK : BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  options.map_size *= 2; /* now there is room */
  assert_int_equal(besom_store_lmdb(path.text, &options, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  assert_int_equal(besom_guard_put_u64(g, n, value, sizeof value, 0), BESOM_OK);
  for (uint64_t i = 0; i < n + 20; i++)
    assert_int_equal(besom_guard_get_u64(g, i, NULL), i <= n ? BESOM_OK : BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  shell("rm -rf '%s'%s", path.text, "");
  temp_dir_remove(&dir);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_guard_persists),
      cmocka_unit_test(a_checkpoint_newer_than_the_store_is_ignored),
      cmocka_unit_test(a_backup_is_the_state_of_its_moment),
      cmocka_unit_test(a_child_of_fork_changes_nothing),
      cmocka_unit_test(a_change_of_the_working_directory_does_not_matter),
      cmocka_unit_test(a_directory_that_is_renamed_stays_open),
      cmocka_unit_test(a_removed_lock_file_lets_no_second_writer_in),
      cmocka_unit_test(open_says_why),
#ifdef BESOM_TEST_LMDB
      cmocka_unit_test(a_full_map_is_DISK_FULL),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
