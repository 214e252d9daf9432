/*
 * Guards over an LMDB database that runs out of room, at every durability level: the status says
 * so, and no change that was acknowledged is taken back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Puts keys one by one, with a sync now and then. Returns how many had been put by the last sync
   that succeeded. */
static uint64_t put_until_full(small_map *m) {
  uint64_t synced = 0, k = 0;
  for (; k < KEYS && m->refused < 20; k++) {
    m->stored[k] = put_one(m, k) == BESOM_OK;
    if (k % 30 == 29 && besom_guard_sync(m->guard) == BESOM_OK) synced = k + 1;
  }
  assert_true(k < KEYS && synced > 50);
  return synced;
}

static void a_large_batch_is_undone(small_map *m) {
  assert_int_equal(besom_guard_begin(m->guard), BESOM_OK);
  for (uint64_t k = KEYS; k < KEYS + 2 * BATCH; k++) assert_int_equal(put_one(m, k), BESOM_OK);
  assert_int_equal(besom_guard_commit(m->guard), BESOM_DISK_FULL);
  for (uint64_t k = KEYS; k < KEYS + 2 * BATCH; k++)
    assert_int_equal(besom_guard_get_u64(m->guard, k, NULL), BESOM_NOT_FOUND);
  assert_all_there(m);
}

static void run_level(besom_durability durability) {
  small_map *m = calloc(1, sizeof *m);
  assert_non_null(m);
  temp_dir_make(&m->dir);
  m->path = temp_dir_file(&m->dir, "db");
  m->durability = durability;
  open_map(m, SMALL_MAP);
  uint64_t synced = put_until_full(m);
  assert_all_there(m);
  if (durability == BESOM_DURABLE_SYNC) {
    assert_int_equal(besom_guard_sync(m->guard), BESOM_DISK_FULL);
    assert_int_equal(besom_guard_delete_u64(m->guard, 0), BESOM_DISK_FULL);
    assert_int_equal(besom_guard_begin(m->guard), BESOM_DISK_FULL);
    assert_all_there(m);
    assert_int_equal(besom_guard_close(m->guard), BESOM_DISK_FULL);
    for (uint64_t k = synced; k < KEYS; k++) m->stored[k] = false;
  } else {
    a_large_batch_is_undone(m);
    assert_int_equal(besom_guard_close(m->guard), BESOM_OK);
  }
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_map_takes_nothing_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
