/* A failing database and failing allocations: they change nothing. */
#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "laws.h"
#include "model.h"
#include "support/failing_allocator.h"
#include "support/heap.h"

static bool is_array(const subject *s) {
  return !strcmp(s->name, "array");
}

typedef struct trial_run {
  key_universe keys;
  model *m;
  random_stream random;
  unsigned failures;
} trial_run;

static void trial_run_start(trial_run *run, uint64_t seed) {
  *run = (trial_run){.m = heap_array(1, sizeof *run->m), .random = {seed}};
  key_universe_make(&run->keys);
}

static void trial_run_end(trial_run *run) {
  key_universe_free(&run->keys);
  free(run->m);
}

/* Makes single changes and transactions. again sets the next failure. */
static void change_and_fail(trial_run *run, besom_store *store, besom_status expected,
                            void (*again)(void *), void *ctx) {
  model *before = heap_array(1, sizeof *before);
  for (unsigned i = 0; i < 120; i++) {
    bool transaction = i % 3 == 0;
    *before = *run->m;
    if (transaction) assert_int_equal(store->ops->begin(store), BESOM_OK);
    for (unsigned n = 0; n < 5; n++) {
      besom_status status = model_change(run->m, &run->keys, store, &run->random);
      if (status == BESOM_OK) continue;
      assert_int_equal(status, expected);
      run->failures++;
      again(ctx);
    }
    if (!transaction) continue;
    besom_status status = store->ops->commit(store, true);
    if (status == BESOM_OK) continue;
    assert_int_equal(status, expected);
    run->failures++;
    again(ctx);
    store->ops->abort(store);
    *run->m = *before;
  }
  free(before);
}

static void fail_database_again(void *ctx) {
  array_db *db = ctx;
  db->fail_at = db->calls + 1 + mix64(db->calls) % 12;
}

static void a_call_that_fails_changes_nothing(subject *s) {
  trial_run run;
  trial_run_start(&run, 5);
  besom_store *store = subject_open(s);
  fail_database_again(&s->array);
  change_and_fail(&run, store, BESOM_IO, fail_database_again, &s->array);
  s->array.fail_at = 0;
  assert_store_is(store, run.m, &run.keys);
  assert_true(run.failures > 20);
  besom_store_close(store);
  store = subject_open(s);
  assert_store_is(store, run.m, &run.keys);
  besom_store_close(store);
  assert_null(s->array.mistake);
  trial_run_end(&run);
}

static void fail_memory_again(void *ctx) {
  failing_allocator *memory = ctx;
  memory->fail_at = memory->calls + 1 + mix64(memory->calls) % 20;
}

static void a_failed_allocation_changes_nothing(subject *s) {
  trial_run run;
  trial_run_start(&run, 6);
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_store *store = NULL;
  memory.fail_at = 1;
  assert_int_equal(besom_store_ordered(&array_ops, &s->array, &memory.api, &store),
                   BESOM_NO_MEMORY);
  memory.fail_at = 0;
  assert_int_equal(besom_store_ordered(&array_ops, &s->array, &memory.api, &store), BESOM_OK);
  fail_memory_again(&memory);
  change_and_fail(&run, store, BESOM_NO_MEMORY, fail_memory_again, &memory);
  memory.fail_at = 0;
  assert_store_is(store, run.m, &run.keys);
  assert_true(run.failures > 20);
  besom_store_close(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  trial_run_end(&run);
}

static size_t bytes_after(besom_store *store, const failing_allocator *memory, unsigned times) {
  besom_record record = {{"key", 3}, {"value", 5}};
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  for (unsigned i = 0; i < times; i++) {
    assert_int_equal(store->ops->set_savepoint(store), BESOM_OK);
    assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  }
  size_t bytes = memory->live_bytes;
  assert_int_equal(store->ops->commit(store, true), BESOM_OK);
  return bytes;
}

/* A batch of many changes of one key has one savepoint per change. Only the last one can be undone,
   so what the key had before the last two is released. */
static void older_values_of_a_key_are_released(subject *s) {
  failing_allocator memory;
  besom_store *store;
  failing_allocator_init(&memory);
  assert_int_equal(besom_store_ordered(&array_ops, &s->array, &memory.api, &store), BESOM_OK);
  size_t few = bytes_after(store, &memory, 10), many = bytes_after(store, &memory, 1000);
  assert_true(many < 3 * few);
  besom_store_close(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* Also a commit without changes of its own. */
static void a_durable_commit_makes_all_before_it_durable(subject *s) {
  besom_record record = {{"key", 3}, {"value", 5}};
  besom_store *store = subject_open(s);
  assert_int_equal(store->ops->append(store, (besom_place){0}, &record), BESOM_OK);
  assert_true(s->array.nondurable);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  assert_int_equal(store->ops->commit(store, false), BESOM_OK);
  assert_true(s->array.nondurable);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  s->array.fail_at = s->array.calls + 1;
  assert_int_equal(store->ops->commit(store, true), BESOM_IO);
  s->array.fail_at = 0;
  assert_int_equal(store->ops->commit(store, true), BESOM_OK);
  assert_false(s->array.nondurable);
  besom_store_close(store);
  assert_null(s->array.mistake);
}

/* After a failed commit the transaction is as it was: all of it can be written, or the part before
   its savepoint. */
static void a_failed_commit_can_be_repeated(subject *s) {
  for (unsigned shed = 0; shed < 2; shed++) {
    trial_run run;
    trial_run_start(&run, 7);
    besom_store *store = subject_open(s);
    assert_int_equal(store->ops->begin(store), BESOM_OK);
    for (unsigned i = 0; i < 40; i++)
      assert_int_equal(model_change(run.m, &run.keys, store, &run.random), BESOM_OK);
    assert_int_equal(store->ops->set_savepoint(store), BESOM_OK);
    model *before = heap_array(1, sizeof *before);
    *before = *run.m;
    for (unsigned i = 0; i < 40; i++)
      assert_int_equal(model_change(run.m, &run.keys, store, &run.random), BESOM_OK);
    s->array.fail_at = s->array.calls + 1;
    assert_int_equal(store->ops->commit(store, true), BESOM_IO);
    s->array.fail_at = 0;
    assert_store_is(store, run.m, &run.keys);
    if (shed) {
      store->ops->undo_to_savepoint(store);
      *run.m = *before;
    }
    assert_int_equal(store->ops->commit(store, true), BESOM_OK);
    assert_store_is(store, run.m, &run.keys);
    besom_store_close(store);
    subject_tear_down(s);
    subject_set_up(s);
    free(before);
    trial_run_end(&run);
  }
}

static void put_raw(array_db *db, const char *key, size_t key_len, const char *value) {
  const besom_write change = {{{key, key_len}, {value, strlen(value)}}, false};
  assert_int_equal(array_ops.write(db, &change, 1, false), BESOM_OK);
}

static void a_foreign_database_is_not_changed(subject *s) {
  besom_store *store = NULL;
  put_raw(&s->array, "foreign", 7, "data");
  assert_int_equal(s->open(s, &store), BESOM_CORRUPT);
  put_raw(&s->array, "B", 1, "another mark");
  assert_int_equal(s->open(s, &store), BESOM_CORRUPT);
  put_raw(&s->array, "B", 1, "besom store 2");
  assert_int_equal(s->open(s, &store), BESOM_NEWER_VERSION);
  put_raw(&s->array, "B", 1, "besom store 11");
  assert_int_equal(s->open(s, &store), BESOM_NEWER_VERSION);
  assert_null(store);
  assert_int_equal(s->array.n, 2);
}

static besom_status ignore_list(void *ctx, besom_place at, const besom_record *record) {
  (void)ctx, (void)at, (void)record;
  return BESOM_OK;
}

static besom_status ignore_table(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

static void damaged_records_are_corrupt(subject *s) {
  besom_store *store = subject_open(s);
  const besom_bytes none = {NULL, 0};
  char prefix[ARRAY_MAX_KEY], long_key[ARRAY_MAX_KEY + 10];
  memset(prefix, 'x', sizeof prefix);
  memset(long_key, 'x', sizeof long_key);
  prefix[0] = 'K';
  put_raw(&s->array, prefix, sizeof prefix, "\x7f\x7f too short for that");
  besom_record entry = {{long_key, sizeof long_key}, {"v", 1}};
  assert_int_equal(store->ops->table_scan(store, BESOM_TABLE_KEYS, none, none, ignore_table, NULL),
                   BESOM_CORRUPT);
  assert_int_equal(store->ops->table_get(store, BESOM_TABLE_KEYS, entry.key, ignore_table, NULL),
                   BESOM_CORRUPT);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &entry), BESOM_CORRUPT);
  assert_int_equal(store->ops->table_remove(store, BESOM_TABLE_KEYS, entry.key), BESOM_CORRUPT);
  put_raw(&s->array, "L\1\0\0", 4, "\xff\xff\xff\xff\xff");
  assert_int_equal(store->ops->scan(store, (besom_place){.epoch = 1}, ignore_list, NULL),
                   BESOM_CORRUPT);
  put_raw(&s->array, "L\1\0\0", 4, "\x05key");
  assert_int_equal(store->ops->get(store, (besom_place){.epoch = 1}, ignore_list, NULL),
                   BESOM_CORRUPT);
  besom_store_close(store);
}

/* Keys with the letter of lists that are not list keys: too short, too long, with a number that is
   too large or not in its shortest form. */
static void malformed_list_keys_are_corrupt(subject *s) {
  static const struct {
    const char *bytes;
    size_t len;
  } keys[] = {
      {"L\1\1", 3},           {"L\1\0\0\0", 5},   {"L\1\xf8\1", 4},          {"L\1\xf7\x05\0", 5},
      {"L\1\xf8\0\xff\0", 6}, {"L\1\xff\0\0", 5}, {"L\1\0\xfb\1\0\0\0\0", 9}};
  besom_store *store = subject_open(s);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) { /* each in an epoch of its own */
    char key[16];
    memcpy(key, keys[i].bytes, keys[i].len);
    key[1] = (char)(i + 1);
    put_raw(&s->array, key, keys[i].len, "\x03key");
    besom_place epoch = {.epoch = (uint32_t)i + 1};
    assert_int_equal(store->ops->scan(store, epoch, ignore_list, NULL), BESOM_CORRUPT);
  }
  besom_store_close(store);
}

static void bad_operations_are_invalid(subject *s) {
  besom_store *store = NULL;
  besom_ordered_ops ops = array_ops;
  assert_int_equal(besom_store_ordered(NULL, &s->array, NULL, &store), BESOM_INVALID);
  assert_int_equal(besom_store_ordered(&ops, &s->array, NULL, NULL), BESOM_INVALID);
  assert_int_equal(besom_store_ordered(&ops, &s->array, &(besom_allocator){0}, &store),
                   BESOM_INVALID);
  ops.max_key = 63;
  assert_int_equal(besom_store_ordered(&ops, &s->array, NULL, &store), BESOM_INVALID);
  for (unsigned missing = 0; missing < 6; missing++) {
    ops = array_ops;
    if (missing == 0) ops.get = NULL;
    if (missing == 1) ops.scan = NULL;
    if (missing == 2) ops.write = NULL;
    if (missing == 3) ops.sync = NULL;
    if (missing == 4) ops.commit_number = NULL;
    if (missing == 5) ops.close = NULL;
    assert_int_equal(besom_store_ordered(&ops, &s->array, NULL, &store), BESOM_INVALID);
  }
  besom_allocator incomplete = *besom_default_allocator();
  incomplete.release = NULL;
  assert_int_equal(besom_store_ordered(&array_ops, &s->array, &incomplete, &store), BESOM_INVALID);
  assert_null(store);
  assert_int_equal(s->array.n, 0);
}

const law array_laws[] = {
    {"a_call_that_fails_changes_nothing", a_call_that_fails_changes_nothing, is_array},
    {"a_failed_allocation_changes_nothing", a_failed_allocation_changes_nothing, is_array},
    {"older_values_of_a_key_are_released", older_values_of_a_key_are_released, is_array},
    {"a_failed_commit_can_be_repeated", a_failed_commit_can_be_repeated, is_array},
    {"a_durable_commit_makes_all_before_it_durable", a_durable_commit_makes_all_before_it_durable,
     is_array},
    {"a_foreign_database_is_not_changed", a_foreign_database_is_not_changed, is_array},
    {"damaged_records_are_corrupt", damaged_records_are_corrupt, is_array},
    {"malformed_list_keys_are_corrupt", malformed_list_keys_are_corrupt, is_array},
    {"bad_operations_are_invalid", bad_operations_are_invalid, is_array},
    {NULL, NULL, NULL},
};
