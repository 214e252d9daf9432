/*
 * Guards over an LMDB database that runs out of room, at every durability level: the status says
 * so, and no change that was acknowledged is taken back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/temp_files.h"

enum { KEYS = 600, VALUE_BYTES = 3000, SMALL_MAP = 1 << 20, LARGE_MAP = 1 << 23, BATCH = 150 };

typedef struct small_map {
  temp_dir dir;
  temp_path path;
  besom_durability durability;
  besom_guard *guard;
  bool stored[KEYS]; /* acknowledged */
  uint64_t refused;
} small_map;

static void open_map(small_map *m, uint64_t map_size) {
  besom_store *store;
  besom_lmdb_options options = {.map_size = map_size};
  assert_int_equal(besom_store_lmdb(m->path.text, &options, NULL, &store), BESOM_OK);
  besom_config filter = {.kind = "aqf", .capacity = 30, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .durability = m->durability, .step_items = 4};
  assert_int_equal(besom_guard_open(&config, store, &m->guard), BESOM_OK);
}

static besom_status put_one(small_map *m, uint64_t key) {
  char value[VALUE_BYTES];
  memset(value, (int)key, sizeof value);
  besom_status status = besom_guard_put_u64(m->guard, key, value, sizeof value, 0);
  assert_true(status == BESOM_OK || status == BESOM_DISK_FULL);
  m->refused += status != BESOM_OK;
  return status;
}

static void assert_all_there(small_map *m) {
  uint64_t keys = 0;
  for (uint64_t k = 0; k < KEYS; k++) {
    assert_int_equal(besom_guard_get_u64(m->guard, k, NULL),
                     m->stored[k] ? BESOM_OK : BESOM_NOT_FOUND);
    keys += m->stored[k];
  }
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(m->guard, &stats), BESOM_OK);
  assert_int_equal(stats.keys, keys);
}

/* Puts keys one by one, with a sync now and then. */
static void put_until_full(small_map *m) {
  uint64_t k = 0;
  for (; k < KEYS && m->refused < 20; k++) {
    m->stored[k] = put_one(m, k) == BESOM_OK;
    if (k % 30 == 29) assert_int_equal(besom_guard_sync(m->guard), BESOM_OK);
  }
  assert_true(k < KEYS && k > 50);
}

static void a_large_batch_is_undone(small_map *m) {
  assert_int_equal(besom_guard_begin(m->guard), BESOM_OK);
  for (uint64_t k = KEYS; k < KEYS + 2 * BATCH; k++) assert_int_equal(put_one(m, k), BESOM_OK);
  assert_int_equal(besom_guard_commit(m->guard), BESOM_DISK_FULL);
  for (uint64_t k = KEYS; k < KEYS + 2 * BATCH; k++)
    assert_int_equal(besom_guard_get_u64(m->guard, k, NULL), BESOM_NOT_FOUND);
  assert_all_there(m);
}

/* What is acknowledged must not be lost: when the gathered changes cannot be written, sync enlarges
   the map. */
static void put_more_than_fits(small_map *m) {
  for (uint64_t k = 0; k < KEYS; k++) {
    m->stored[k] = put_one(m, k) == BESOM_OK;
    if (m->stored[k]) continue;
    assert_int_equal(besom_guard_begin(m->guard), BESOM_DISK_FULL);
    assert_int_equal(besom_guard_delete_u64(m->guard, 0), BESOM_DISK_FULL);
    assert_all_there(m);
    assert_int_equal(besom_guard_sync(m->guard), BESOM_OK);
    m->stored[k] = put_one(m, k) == BESOM_OK;
    assert_true(m->stored[k]);
  }
  assert_true(m->refused > 0);
  assert_all_there(m);
  assert_int_equal(besom_guard_delete_u64(m->guard, 0), BESOM_OK);
  m->stored[0] = false;
}

static void run_level(besom_durability durability) {
  small_map *m = calloc(1, sizeof *m);
  assert_non_null(m);
  temp_dir_make(&m->dir);
  m->path = temp_dir_file(&m->dir, "db");
  m->durability = durability;
  open_map(m, SMALL_MAP);
  if (durability == BESOM_DURABLE_SYNC) {
    put_more_than_fits(m);
  } else {
    put_until_full(m);
    assert_all_there(m);
    a_large_batch_is_undone(m);
  }
  assert_int_equal(besom_guard_close(m->guard), BESOM_OK);
  open_map(m, LARGE_MAP);
  assert_all_there(m);
  for (uint64_t k = 0; k < KEYS; k += 40) m->stored[k] |= put_one(m, k) == BESOM_OK;
  assert_int_equal(besom_guard_step(m->guard, 10000, NULL), BESOM_OK);
  assert_all_there(m);
  assert_int_equal(besom_guard_close(m->guard), BESOM_OK);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", m->path.text);
  assert_int_equal(system(command), 0);
  temp_dir_remove(&m->dir);
  free(m);
}

static void a_full_map_takes_nothing_back(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++)
    run_level(level);
}

/* In a process of its own: reads before and after the writer has enlarged the map. */
static int read_while_it_grows(const char *path, int ready, int go) {
  besom_store *store;
  besom_guard *g;
  besom_lmdb_options options = {.read_only = true};
  besom_config filter = {.kind = "aqf", .capacity = 30, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .threads = true};
  char byte = 0;
  if (besom_store_lmdb(path, &options, NULL, &store) != BESOM_OK) return 1;
  if (besom_guard_open(&config, store, &g) != BESOM_OK) return 2;
  if (besom_guard_get_u64(g, 0, NULL) != BESOM_OK) return 3;
  if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1) return 4;
  for (uint64_t k = 0; k < KEYS; k++)
    if (besom_guard_get_u64(g, k, NULL) != BESOM_OK) return 5;
  return besom_guard_close(g) == BESOM_OK ? 0 : 6;
}

static void a_reader_follows_a_map_that_grows(void **state) {
  (void)state;
  small_map *m = calloc(1, sizeof *m);
  int ready[2], go[2], status;
  char byte = 0;
  assert_non_null(m);
  temp_dir_make(&m->dir);
  m->path = temp_dir_file(&m->dir, "db");
  m->durability = BESOM_DURABLE_SYNC;
  open_map(m, SMALL_MAP);
  assert_int_equal(put_one(m, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(m->guard), BESOM_OK);
  assert_true(pipe(ready) == 0 && pipe(go) == 0);
  pid_t child = fork();
  if (child == 0) {
    close(go[1]); /* so that the child ends if the parent fails */
    _exit(read_while_it_grows(m->path.text, ready[1], go[0]));
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  open_map(m, SMALL_MAP);
  put_more_than_fits(m);
  assert_int_equal(put_one(m, 0), BESOM_OK);
  assert_int_equal(besom_guard_sync(m->guard), BESOM_OK);
  assert_int_equal(write(go[1], &byte, 1), 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(besom_guard_close(m->guard), BESOM_OK);
  temp_dir_remove(&m->dir);
  free(m);
}

/* ------------------------------------------------------------------ what a rekey writes */

/* Bytes that this process has written so far; 0 if the system does not tell. */
static uint64_t bytes_written(void) {
  unsigned long long bytes = 0;
  char line[100];
  FILE *f = fopen("/proc/self/io", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "wchar: %llu", &bytes) == 1) break;
  if (f) fclose(f);
  return bytes;
}

enum { RECORDS = 50000, IN_A_BATCH = 5000 };

/* Puts that also move `step_items` records each. Returns the bytes that they write per record. */
static double move_by_puts(const char *path, uint64_t step_items, uint64_t puts) {
  besom_store *store;
  besom_guard *g;
  besom_lmdb_options options = {.no_sync = true};
  besom_config filter = {.kind = "aqf", .capacity = RECORDS, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter,
                               .durability = BESOM_DURABLE_BATCH,
                               .step_items = step_items,
                               .step_ns = UINT64_MAX};
  besom_guard_statistics stats;
  assert_int_equal(besom_store_lmdb(path, &options, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  uint64_t before = bytes_written();
  for (uint64_t k = 0; k < puts; k++)
    assert_int_equal(besom_guard_put_u64(g, k * 997 % RECORDS, "v", 1, 0), BESOM_OK);
  double written = (double)(bytes_written() - before);
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_true(stats.migrating);
  print_message("a put that moves %llu records writes %.0f KB, %.1f KB per record\n",
                (unsigned long long)step_items, written / 1e3 / (double)puts,
                written / 1e3 / (double)stats.step_items);
  assert_int_equal(besom_guard_step(g, UINT64_MAX, NULL), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  return written / (double)stats.step_items;
}

/* Records move to pages all over the database. In large commits many of them share a page. */
static void a_rekey_in_large_steps_writes_each_page_a_few_times(void **state) {
  (void)state;
  temp_dir dir;
  besom_store *store;
  besom_guard *g;
  besom_lmdb_options options = {.no_sync = true};
  besom_config filter = {.kind = "aqf", .capacity = RECORDS, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .durability = BESOM_DURABLE_BATCH};
  besom_guard_statistics stats;
  char value[150] = "v";
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db");
  assert_int_equal(besom_store_lmdb(path.text, &options, NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t k = 0; k < RECORDS; k++) {
    if (k % IN_A_BATCH == 0) assert_int_equal(besom_guard_begin(g), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(g, k, value, sizeof value, BESOM_PUT_NEW), BESOM_OK);
    if ((k + 1) % IN_A_BATCH == 0) assert_int_equal(besom_guard_commit(g), BESOM_OK);
  }
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  uint64_t before = bytes_written();
  bool finished;
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  assert_int_equal(besom_guard_step(g, UINT64_MAX, &finished), BESOM_OK);
  assert_true(finished);
  double times = (double)(bytes_written() - before) / (double)stats.store_bytes;
  print_message("a rekey of %.1f MB wrote %.1f times as much\n", (double)stats.store_bytes / 1e6,
                times);
  assert_true(times < 1.6); /* 2.3 with commits of 4096 records */
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  double few = move_by_puts(path.text, 16, 50);
  double some = move_by_puts(path.text, 64, 50);
  double many = move_by_puts(path.text, 4096, 3);
  assert_true(few > some && some > 2 * many);
  temp_dir_remove(&dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rekey_in_large_steps_writes_each_page_a_few_times),
      cmocka_unit_test(a_full_map_takes_nothing_back),
      cmocka_unit_test(a_reader_follows_a_map_that_grows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
