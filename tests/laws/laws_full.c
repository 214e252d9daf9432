/* A full filter returns FULL and loses no key. */
#include <stdlib.h>

#include "filters.h"

static const size_t capacities[] = {1, 2, 3, 63, 64, 65, 100, 1000, 20000};

/* Inserts new keys until one is FULL; returns how many were inserted. */
static size_t fill(besom_filter *f, size_t max) {
  for (size_t n = 0; n < max; n++) {
    besom_status status = besom_insert_u64(f, key_u64(MEMBERS, n));
    if (status == BESOM_FULL) return n;
    assert_status(BESOM_OK, status);
  }
  fail_msg("not full after %zu keys", max);
  return 0;
}

static void assert_all_there(const besom_filter *f, size_t n) {
  uint64_t *keys = keys_u64(MEMBERS, n);
  assert_holds_u64(f, keys, n);
  assert_valid(f);
  free(keys);
}

/* With absent keys only: a kind without copies may accept a key that it answers yes to. */
static void assert_refuses_more(besom_filter *f, size_t n) {
  uint64_t items = stats_of(f).keys;
  for (size_t i = n; i < n + 50; i++) {
    if (besom_contains_u64(f, key_u64(MEMBERS, i))) continue;
    assert_status(BESOM_FULL, besom_insert_u64(f, key_u64(MEMBERS, i)));
    assert_int_equal(stats_of(f).keys, items);
  }
}

static void assert_removing_makes_room(besom_filter *f, size_t n) {
  assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MEMBERS, n / 2)));
  assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MORE_MEMBERS, 0)));
  assert_true(besom_contains_u64(f, key_u64(MORE_MEMBERS, 0)));
  assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MORE_MEMBERS, 0)));
  assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, n / 2)));
}

static void full_is_a_status_and_loses_nothing(void **state) {
  const subject *s = subject_of(state);
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
    besom_config config = config_of(s, capacities[c], 1.0 / 256);
    besom_filter *f = make_empty(&config);
    assert_true(stats_of(f).capacity >= capacities[c]);
    size_t n = fill(f, 2 * capacities[c] + 1000);
    assert_true(n >= capacities[c]);
    assert_true(stats_of(f).keys <= stats_of(f).capacity);
    if (can(s, BESOM_CAN_COUNT)) assert_int_equal(stats_of(f).keys, n);
    assert_all_there(f, n);
    assert_refuses_more(f, n);
    assert_all_there(f, n);
    if (can(s, BESOM_CAN_REMOVE)) assert_removing_makes_room(f, n);
    assert_all_there(f, n);
    besom_free(f);
  }
}

/* insert_many stops at the first key that is FULL; all keys before it are members. */
static void insert_many_returns_how_many_were_inserted(void **state) {
  const subject *s = subject_of(state);
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
    besom_config config = config_of(s, capacities[c], 1.0 / 4096);
    besom_filter *one_by_one = make_empty(&config), *at_once = make_empty(&config);
    size_t n = fill(one_by_one, 2 * capacities[c] + 1000), done = 0;
    uint64_t *keys = keys_u64(MEMBERS, n + 100);
    assert_status(BESOM_FULL, besom_insert_many_u64(at_once, keys, n + 100, &done));
    assert_int_equal(done, n);
    assert_same_bytes(one_by_one, at_once);
    assert_all_there(at_once, n);
    free(keys);
    besom_free(one_by_one);
    besom_free(at_once);
  }
}

static void reverse(besom_digest *digests, size_t n) {
  for (size_t i = 0; i < n / 2; i++) {
    besom_digest d = digests[i];
    digests[i] = digests[n - 1 - i];
    digests[n - 1 - i] = d;
  }
}

/* As many keys as the capacity, in the order of their digests or in reverse. */
static void fill_in_order(const subject *s, size_t capacity, bool descending) {
  besom_config config = config_of(s, capacity, 0);
  besom_filter *f = make_empty(&config);
  size_t n = can(s, BESOM_CAN_SCALE) ? 2 * capacity : (size_t)stats_of(f).capacity, done = 0;
  uint64_t *keys = keys_u64(MEMBERS, n);
  besom_digest *digests = digests_of_u64(f, keys, n);
  sort_digests(digests, n);
  if (descending) reverse(digests, n);
  assert_status(BESOM_OK, besom_insert_many_digest(f, digests, n, &done));
  assert_int_equal(done, n);
  assert_holds_u64(f, keys, n);
  assert_valid(f);
  besom_free(f);
  free(digests);
  free(keys);
}

/* Builds of distinct keys and layered kinds insert sorted digests. */
static void ascending_digests_fit(void **state) {
  fill_in_order(subject_of(state), 1000, false);
  fill_in_order(subject_of(state), 150000, false);
}

static void descending_digests_fit(void **state) {
  fill_in_order(subject_of(state), 1000, true);
  fill_in_order(subject_of(state), 150000, true);
}

/* Every width, from one slot on: filled to the last key, then emptied. */
static void any_geometry_can_be_filled(void **state) {
  const subject *s = subject_of(state);
  if (!takes_geometry(s)) skip();
  static const uint64_t slots[] = {1, 2, 3, 5, 63, 64, 65, 100, 127, 128, 129, 1000};
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
    for (uint32_t width = min_width(s); width <= 64; width++) {
      besom_config config = geometry_of(s, slots[i], width);
      besom_filter *f = make_empty(&config);
      assert_int_equal(stats_of(f).slots, slots[i]);
      assert_int_equal(stats_of(f).width, width);
      size_t n = fill(f, 2 * slots[i] + 1000);
      assert_true(n >= slots[i] / 2);
      assert_all_there(f, n);
      if (can(s, BESOM_CAN_REMOVE)) {
        for (size_t k = 0; k < n; k++)
          assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MEMBERS, k)));
        assert_int_equal(stats_of(f).keys, 0);
        assert_int_equal(count_false_positives(f, 500), 0);
        assert_valid(f);
      }
      besom_free(f);
    }
}

const law full_laws[] = {
    LAW_UNLESS(full_is_a_status_and_loses_nothing, EVERY_SUBJECT, BESOM_CAN_INSERT,
               BESOM_CAN_SCALE),
    LAW_UNLESS(insert_many_returns_how_many_were_inserted, EVERY_SUBJECT, BESOM_CAN_INSERT,
               BESOM_CAN_SCALE),
    LAW(ascending_digests_fit, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(descending_digests_fit, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(any_geometry_can_be_filled, EVERY_SUBJECT, BESOM_CAN_INSERT),
    {0},
};
