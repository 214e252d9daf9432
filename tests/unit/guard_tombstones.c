/*
 * Tombstones in a guard: a key that is deleted and put again does not bring back the false
 * positives that were fixed before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom_guard.h"
#include "besom_store.h"
#include "support/counters.h"
#include "support/keys.h"

enum { N = 2000, ASKED = 4000 };

static const uint8_t seed[16] = "keys that return";

static besom_guard *make_guard(const char *options) {
  besom_config filter = {.kind = "aqf",
                         .capacity = N,
                         .fpr = 1.0 / 32,
                         .reserve = 0.3,
                         .seed = seed,
                         .options = options};
  besom_guard_config config = {.filter = &filter, .grow_at = 1, .rekey_at = 2};
  besom_store *store;
  besom_guard *g;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < N; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &i, 8, 0), BESOM_OK);
  return g;
}

static uint64_t false_positives(besom_guard *g) {
  besom_guard_statistics before, after;
  assert_int_equal(besom_guard_stats(g, &before), BESOM_OK);
  for (uint64_t i = 0; i < ASKED; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_stats(g, &after), BESOM_OK);
  assert_int_equal(after.adapt_full, 0);
  return after.false_positives - before.false_positives;
}

static void assert_members(besom_guard *g) {
  assert_int_equal(besom_validate(besom_guard_filter(g), NULL), BESOM_OK);
  for (uint64_t i = 0; i < N; i++) {
    besom_bytes value;
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), &value), BESOM_OK);
    assert_int_equal(value.len, 8);
    assert_memory_equal(value.data, &i, 8);
    besom_guard_release(g, &value);
  }
}

static void replace(besom_guard *g, uint64_t first, uint64_t step, bool in_batch) {
  if (in_batch) assert_int_equal(besom_guard_begin(g), BESOM_OK);
  for (uint64_t i = first; i < N; i += step)
    assert_int_equal(besom_guard_delete_u64(g, key_u64(MEMBERS, i)), BESOM_OK);
  for (uint64_t i = first; i < N; i += step)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &i, 8, 0), BESOM_OK);
  if (in_batch) assert_int_equal(besom_guard_commit(g), BESOM_OK);
}

static void what_was_fixed_stays_fixed(void **state) {
  (void)state;
  for (unsigned kept = 0; kept < 2; kept++) {
    besom_guard *g = make_guard(kept ? "tombstones=yes" : "tombstones=no");
    uint64_t learned = false_positives(g);
    assert_true(learned > 50);
    assert_int_equal(false_positives(g), 0);
    for (unsigned round = 0; round < 6; round++) {
      replace(g, round % 3, 3, round % 2);
      uint64_t again = false_positives(g);
      assert_true(kept ? again == 0 : again > learned / 10);
      assert_members(g);
    }
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  }
}

/* A deleted key is absent, whatever its tombstone says; the room returns when it is put again. */
static void a_tombstone_is_no_member(void **state) {
  (void)state;
  besom_guard *g = make_guard("tombstones=yes");
  false_positives(g);
  uint64_t extended = counter_of(besom_guard_filter(g), "extended");
  for (uint64_t i = 0; i < N; i++)
    assert_int_equal(besom_guard_delete_u64(g, key_u64(MEMBERS, i)), BESOM_OK);
  assert_int_equal(counter_of(besom_guard_filter(g), "tombstones"), extended);
  besom_guard_statistics before, after;
  assert_int_equal(besom_guard_stats(g, &before), BESOM_OK);
  for (uint64_t i = 0; i < N; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_stats(g, &after), BESOM_OK);
  assert_int_equal(after.store_reads, before.store_reads);
  for (uint64_t i = N; i-- > 0;)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &i, 8, BESOM_PUT_NEW), BESOM_OK);
  assert_int_equal(counter_of(besom_guard_filter(g), "extended"), extended);
  assert_true(counter_of(besom_guard_filter(g), "tombstones") < extended / 20);
  assert_int_equal(false_positives(g), 0);
  assert_members(g);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_fixed_stays_fixed),
      cmocka_unit_test(a_tombstone_is_no_member),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
