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
      cmocka_unit_test(a_child_of_fork_changes_nothing),
#ifdef BESOM_TEST_LMDB
      cmocka_unit_test(a_full_map_is_DISK_FULL),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
