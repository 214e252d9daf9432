/*
 * A guard whose filter is so small that a bucket has many keys of the no list: more than a lookup
 * holds without memory. If there is no memory, the call fails and the lists stay as they were.
 */
#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_guard.h"
#include "store/array_db.h"
#include "support/failing_allocator.h"
#include "support/keys.h"

enum { SLOTS = 16, NO_KEYS = 1200, MATCHED_KEYS = 600, YES_KEYS = 4 };

typedef struct lists {
  failing_allocator memory;
  besom_guard *guard;
} lists;

/* The guard closes the store. */
static void lists_open_over(lists *l, besom_store *store, double reserve) {
  static const uint8_t seed[16] = "few buckets";
  besom_config filter = {
      .kind = "aqf", .slots = SLOTS, .width = 2, .seed = seed, .reserve = reserve};
  failing_allocator_init(&l->memory);
  filter.allocator = &l->memory.api;
  besom_guard_config config = {.filter = &filter, .grow_at = 2, .rekey_at = 2}; /* neither */
  assert_int_equal(besom_guard_open(&config, store, &l->guard), BESOM_OK);
}

static void lists_open(lists *l) {
  besom_store *store = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  lists_open_over(l, store, 0.5);
}

static void lists_close(lists *l) {
  assert_int_equal(besom_guard_close(l->guard), BESOM_OK);
  const char *verdict = failing_allocator_verdict(&l->memory);
  if (verdict) fail_msg("%s", verdict);
  failing_allocator_close(&l->memory);
}

static besom_status no_put(lists *l, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
  return besom_guard_no_put(l->guard, key.bytes, sizeof key.bytes);
}

static besom_status no_has(lists *l, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
  return besom_guard_no_has(l->guard, key.bytes, sizeof key.bytes);
}

static besom_status no_delete(lists *l, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
  return besom_guard_no_delete(l->guard, key.bytes, sizeof key.bytes);
}

static besom_status put(lists *l, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
  return besom_guard_put(l->guard, key.bytes, sizeof key.bytes, "v", 1, 0);
}

static besom_status get(lists *l, uint64_t stream, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(stream, i));
  return besom_guard_get(l->guard, key.bytes, sizeof key.bytes, NULL);
}

/* The keys with numbers from `first` to `end` are on the list, and no other. */
static void assert_listed(lists *l, uint64_t first, uint64_t end) {
  for (uint64_t i = 0; i < NO_KEYS; i++) {
    assert_int_equal(no_has(l, i), i >= first && i < end ? BESOM_OK : BESOM_NOT_FOUND);
    assert_int_equal(get(l, NEGATIVES, i), BESOM_NOT_FOUND);
  }
}

static void many_no_keys_share_a_bucket(void **state) {
  (void)state;
  lists l;
  lists_open(&l);
  for (uint64_t i = 0; i < NO_KEYS; i++) assert_int_equal(no_put(&l, i), BESOM_OK);
  assert_listed(&l, 0, NO_KEYS);
  for (uint64_t i = 0; i < YES_KEYS; i++) assert_int_equal(put(&l, i), BESOM_OK);
  for (uint64_t i = 0; i < YES_KEYS; i++) assert_int_equal(get(&l, MEMBERS, i), BESOM_OK);
  assert_listed(&l, 0, NO_KEYS);
  for (uint64_t i = 0; i < NO_KEYS / 2; i++) assert_int_equal(no_delete(&l, i), BESOM_OK);
  assert_listed(&l, NO_KEYS / 2, NO_KEYS);
  for (uint64_t i = 0; i < YES_KEYS; i++) assert_int_equal(get(&l, MEMBERS, i), BESOM_OK);
  lists_close(&l);
}

/* A call that needs memory fails without it, and succeeds when it is repeated. */
static void no_memory_for_a_long_list_changes_nothing(void **state) {
  (void)state;
  lists l;
  unsigned failures = 0;
  lists_open(&l);
  for (uint64_t i = 0; i < NO_KEYS; i++) {
    l.memory.fail_at = l.memory.calls + 1;
    besom_status status = no_put(&l, i);
    l.memory.fail_at = 0;
    if (status == BESOM_NO_MEMORY) {
      failures++;
      assert_int_equal(no_has(&l, i), BESOM_NOT_FOUND);
      status = no_put(&l, i);
    }
    assert_int_equal(status, BESOM_OK);
    l.memory.fail_at = l.memory.calls + 1;
    status = no_has(&l, i);
    l.memory.fail_at = 0;
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    assert_int_equal(no_has(&l, i), BESOM_OK);
  }
  assert_true(failures > 10);
  assert_listed(&l, 0, NO_KEYS);
  lists_close(&l);
}

static besom_status delete_member(lists *l, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
  return besom_guard_delete(l->guard, key.bytes, sizeof key.bytes);
}

/* Puts keys that member 0 matches on the no list, and then member 0. */
static void match_no_keys(lists *l, uint64_t keys[MATCHED_KEYS]) {
  assert_int_equal(put(l, 0), BESOM_OK);
  size_t n = 0;
  for (uint64_t i = 0; n < MATCHED_KEYS; i++)
    if (besom_contains_u64(besom_guard_filter(l->guard), key_u64(NEGATIVES, i))) keys[n++] = i;
  assert_int_equal(delete_member(l, 0), BESOM_OK);
  for (n = 0; n < MATCHED_KEYS; n++) assert_int_equal(no_put(l, keys[n]), BESOM_OK);
  assert_int_equal(put(l, 0), BESOM_OK);
}

/* Without a reserve, keys of the no list stay matched. Opening reads them all, and ends. */
static void a_bucket_of_matched_no_keys_is_restored(void **state) {
  (void)state;
  lists l;
  array_db db;
  besom_store *store;
  uint64_t keys[MATCHED_KEYS];
  array_db_init(&db);
  for (int opened = 0; opened < 2; opened++) {
    assert_int_equal(besom_store_ordered(&array_ops, &db, NULL, &store), BESOM_OK);
    lists_open_over(&l, store, 0.01);
    if (!opened) match_no_keys(&l, keys);
    assert_int_equal(get(&l, MEMBERS, 0), BESOM_OK);
    for (size_t i = 0; i < MATCHED_KEYS; i++) assert_int_equal(no_has(&l, keys[i]), BESOM_OK);
    lists_close(&l);
  }
  array_db_free(&db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_no_keys_share_a_bucket),
      cmocka_unit_test(no_memory_for_a_long_list_changes_nothing),
      cmocka_unit_test(a_bucket_of_matched_no_keys_is_restored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
