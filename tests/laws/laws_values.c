/* Kinds that store a small value per key: it stays with its key, whatever moves it. */
#include "filters.h"

/* Distinct keys with narrow and wide values, through every operation that moves fingerprints. */
static void values_stay_with_their_keys(void **state) {
  const subject *s = subject_of(state);
  static const uint32_t bits[] = {1, 8, 32};
  enum { KEYS = 600 };
  for (size_t v = 0; v < 3; v++) {
    besom_config config = config_of(s, 2 * KEYS, 1.0 / (1 << 24));
    config.max_capacity = 4 * KEYS;
    config.value_bits = bits[v];
    besom_filter *f = make_empty(&config), *other = NULL;
    uint64_t value = 0, mask = (UINT64_C(1) << bits[v]) - 1;
    assert_status(BESOM_OK, besom_create_like(f, &other));
    for (size_t i = 0; i < KEYS; i++) {
      uint64_t key = key_u64(MEMBERS, i);
      besom_filter *to = i % 2 ? f : other;
      assert_status(BESOM_NOT_FOUND, get_value_u64(to, key, &value));
      assert_status(BESOM_NOT_FOUND, set_value_u64(to, key, 1));
      assert_status(BESOM_OK, besom_insert_u64(to, key));
      assert_status(BESOM_OK, get_value_u64(to, key, &value));
      assert_int_equal(value, 0);
      assert_status(BESOM_INVALID, set_value_u64(to, key, mask + 1));
      assert_status(BESOM_OK, set_value_u64(to, key, mix64(i) & mask));
      if (i % 3 == 0 && can(s, BESOM_CAN_COUNT))
        assert_status(BESOM_OK, insert_count_u64(to, key, i + 1));
    }
    besom_filter *both = merged(f, other);
    besom_free(f);
    besom_free(other);
    replace_filter(&both, loaded_copy(both));
    for (size_t round = 0; round < 3; round++) {
      uint64_t slots = stats_of(both).slots;
      for (size_t i = 0; i < KEYS; i++) {
        assert_status(BESOM_OK, get_value_u64(both, key_u64(MEMBERS, i), &value));
        assert_int_equal(value, mix64(i) & mask);
      }
      assert_valid(both);
      if (round == 0) assert_status(BESOM_OK, besom_resize(both, 2 * slots, NULL));
      if (round == 1) assert_status(BESOM_OK, besom_resize(both, slots / 2, NULL));
    }
    for (size_t i = 0; i < KEYS; i += 3) /* removing copies keeps the value */
      for (size_t n = 0; n < i + 1; n++)
        assert_status(BESOM_OK, besom_remove_u64(both, key_u64(MEMBERS, i)));
    for (size_t i = 1; i < KEYS; i += 3)
      assert_status(BESOM_OK, besom_remove_u64(both, key_u64(MEMBERS, i)));
    for (size_t i = 0; i < KEYS; i++) {
      besom_status expected = i % 3 == 1 ? BESOM_NOT_FOUND : BESOM_OK;
      assert_status(expected, get_value_u64(both, key_u64(MEMBERS, i), &value));
      if (expected == BESOM_OK) assert_int_equal(value, mix64(i) & mask);
    }
    assert_valid(both);
    besom_free(both);
  }
}

/*
 * Narrow slots, in which a second copy is a second fingerprint: removing one copy keeps the value.
 */
static void a_value_outlives_a_copy_of_its_key(void **state) {
  const subject *s = subject_of(state);
  for (uint32_t width = min_width(s); width < 12; width++) {
    besom_config config = geometry_of(s, 100, width);
    config.value_bits = 8;
    besom_filter *f = make_empty(&config);
    uint64_t value = 0;
    assert_status(BESOM_OK, besom_insert_u64(f, 1));
    assert_status(BESOM_OK, set_value_u64(f, 1, 77));
    assert_status(BESOM_OK, besom_insert_u64(f, 1));
    assert_status(BESOM_OK, get_value_u64(f, 1, &value));
    assert_int_equal(value, 77);
    assert_status(BESOM_OK, besom_remove_u64(f, 1));
    assert_status(BESOM_OK, get_value_u64(f, 1, &value));
    assert_int_equal(value, 77);
    besom_free(f);
  }
}

static void without_value_bits_there_are_no_values(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  besom_filter *f = make_empty(&config);
  besom_match match;
  uint64_t value;
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  assert_status(BESOM_INVALID, get_value_u64(f, 1, &value));
  assert_status(BESOM_INVALID, set_value_u64(f, 1, 0));
  if (can(s, BESOM_CAN_MATCH))
    assert_status(BESOM_INVALID, besom_insert_at(f, besom_hash_u64(f, 2), 1, &match));
  assert_false(besom_contains_u64(f, 2));
  besom_free(f);
}

#define VALUES (BESOM_CAN_INSERT | BESOM_CAN_VALUE)

const law value_laws[] = {
    LAW(values_stay_with_their_keys, EVERY_SUBJECT,
        VALUES | BESOM_CAN_MERGE | BESOM_CAN_RESIZE | BESOM_CAN_REMOVE),
    LAW(a_value_outlives_a_copy_of_its_key, EVERY_KIND,
        VALUES | BESOM_CAN_COUNT | BESOM_CAN_REMOVE),
    LAW(without_value_bits_there_are_no_values, EVERY_KIND, VALUES),
    {0},
};
