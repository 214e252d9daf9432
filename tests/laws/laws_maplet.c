/*
 * Maplets (besom_map.h), of every kind with values that has them: a member never loses a value,
 * whatever shares its fingerprint and whatever happens to the filter. tests/unit/maplet.c says
 * exactly which candidates there are.
 */

#include "besom_map.h"
#include "filters.h"

enum { ROOM = 64 };

static bool takes_maplet(const subject *s) {
  besom_config config = config_of(s, 100, 0);
  besom_filter *f = NULL;
  config.options = "maplet=yes";
  config.value_bits = 8;
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  return status == BESOM_OK;
}

static besom_filter *make_maplet(const subject *s, uint64_t capacity, double fpr,
                                 const char *options) {
  besom_config config = config_of(s, capacity, fpr);
  config.options = options;
  config.value_bits = 16;
  config.max_capacity = 4 * capacity;
  return make_empty(&config);
}

static bool has_value(const besom_filter *f, uint64_t key, uint64_t value) {
  uint64_t out[ROOM];
  size_t n;
  besom_u64_key k = besom_u64(key);
  assert_status(BESOM_OK, besom_get_values(f, k.bytes, 8, out, ROOM, &n));
  assert_true(n <= ROOM);
  for (size_t i = 0; i + 1 < n; i++) assert_true(out[i] < out[i + 1]);
  for (size_t i = 0; i < n; i++)
    if (out[i] == value) return true;
  return false;
}

static uint64_t value_of(size_t i) {
  return mix64(i) & 0xffff;
}

static void assert_has_values(const besom_filter *f, size_t n) {
  for (size_t i = 0; i < n; i++) assert_true(has_value(f, key_u64(MEMBERS, i), value_of(i)));
  assert_valid(f);
}

/* ------------------------------------------------------------------ pairs as a source */

typedef struct pair_array {
  size_t n, at;
  uint64_t key;
} pair_array;

static besom_status next_pair(void *ctx, besom_bytes *key, uint64_t *value) {
  pair_array *p = ctx;
  if (p->at == p->n) return BESOM_END;
  p->key = little_endian(key_u64(MEMBERS, p->at));
  *key = (besom_bytes){&p->key, 8};
  *value = value_of(p->at++);
  return BESOM_OK;
}

static besom_status rewind_pairs(void *ctx) {
  ((pair_array *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_pair_source source_of_pairs(pair_array *p, size_t n) {
  *p = (pair_array){.n = n};
  return (besom_pair_source){.next = next_pair, .rewind = rewind_pairs, .ctx = p};
}

/* ------------------------------------------------------------------ laws */

/* At a high rate many members share fingerprints. Everything that moves them keeps their values. */
static void members_keep_their_values(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 2000 };
  if (!takes_maplet(s)) return;
  for (int log_rate = 1; log_rate <= 8; log_rate += 7) {
    besom_filter *f = make_maplet(s, KEYS, 1.0 / (1 << log_rate), "maplet=yes"), *other = NULL;
    assert_status(BESOM_OK, besom_create_like(f, &other));
    for (size_t i = 0; i < KEYS; i++) {
      besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
      assert_status(BESOM_OK, besom_insert_value(i % 2 ? f : other, key.bytes, 8, value_of(i)));
    }
    replace_filter(&f, merged(f, other));
    besom_free(other);
    assert_has_values(f, KEYS);
    for (size_t i = 0; i < KEYS; i++) { /* wrong candidates are reported */
      besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
      uint64_t out[ROOM];
      size_t n;
      assert_status(BESOM_OK, besom_get_values(f, key.bytes, 8, out, ROOM, &n));
      if (n && n <= ROOM && stats_of(f).reserve_used < 1)
        assert_status(BESOM_OK, besom_adapt_value(f, key.bytes, 8, out[0]));
      if (n && n <= ROOM && stats_of(f).reserve_used < 1)
        assert_false(has_value(f, key_u64(NEGATIVES, i), out[0]));
    }
    assert_has_values(f, KEYS);
    replace_filter(&f, loaded_copy(f));
    assert_status(BESOM_OK, besom_resize(f, 2 * stats_of(f).slots, NULL));
    assert_has_values(f, KEYS);
    pair_array pairs;
    besom_pair_source source = source_of_pairs(&pairs, KEYS);
    assert_status(BESOM_OK, besom_rekey_pairs(f, &source, NULL, NULL));
    assert_has_values(f, KEYS);
    besom_free(f);
  }
}

/* A pair with a copy leaves the slot to the pair that replaces it; one with more may not. */
static void a_full_maplet_replaces_values(void **state) {
  const subject *s = subject_of(state);
  if (!takes_maplet(s) || can(s, BESOM_CAN_SCALE)) return;
  for (unsigned copies = 2; copies <= 3; copies++) {
    besom_filter *f = make_maplet(s, 300, 0.001, "maplet=yes");
    besom_u64_key first = besom_u64(key_u64(MEMBERS, 0));
    for (unsigned i = 0; i < copies; i++)
      assert_status(BESOM_OK, besom_insert_value(f, first.bytes, 8, 1));
    besom_status status = BESOM_OK;
    for (size_t i = 1; status == BESOM_OK; i++) {
      besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
      status = besom_insert_value(f, key.bytes, 8, 1);
    }
    assert_status(BESOM_FULL, status);
    memory_sink before;
    save_to(&before, f);
    status = besom_replace_value(f, first.bytes, 8, 1, 2);
    assert_status(copies == 2 ? BESOM_OK : BESOM_FULL, status);
    if (status == BESOM_FULL)
      assert_bytes(f, &before);
    else
      memory_sink_close(&before);
    assert_true(has_value(f, key_u64(MEMBERS, 0), 1));
    assert_int_equal(has_value(f, key_u64(MEMBERS, 0), 2), copies == 2);
    assert_valid(f);
    besom_free(f);
  }
}

static void a_full_maplet_keeps_its_values(void **state) {
  const subject *s = subject_of(state);
  if (!takes_maplet(s)) return;
  if (can(s, BESOM_CAN_SCALE)) return;
  besom_filter *f = make_maplet(s, 300, 0.1, "maplet=yes");
  size_t n = 0;
  besom_status status = BESOM_OK;
  for (; status == BESOM_OK; n += status == BESOM_OK) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, n));
    status = besom_insert_value(f, key.bytes, 8, value_of(n));
  }
  assert_status(BESOM_FULL, status);
  assert_true(n >= 300);
  assert_has_values(f, n);
  assert_status(BESOM_OK, besom_resize(f, 2 * stats_of(f).slots, NULL));
  besom_u64_key key = besom_u64(key_u64(MEMBERS, n));
  assert_status(BESOM_OK, besom_insert_value(f, key.bytes, 8, value_of(n)));
  assert_has_values(f, n + 1);
  besom_free(f);
}

/* Four members with one fingerprint: of a table with few of them, by trying keys. */
static void find_sharing_keys(const besom_filter *f, uint64_t keys[4]) {
  besom_filter *one = NULL;
  assert_status(BESOM_OK, besom_create_like(f, &one));
  assert_status(BESOM_OK, besom_insert_u64(one, keys[0] = key_u64(MEMBERS, 0)));
  size_t n = 1;
  for (uint64_t i = 1; n < 4; i++)
    if (besom_contains_u64(one, key_u64(MEMBERS, i))) keys[n++] = key_u64(MEMBERS, i);
  besom_free(one);
}

/* In each of the 24 orders, with different values and with equal ones. */
static void sharing_members_are_removed_in_any_order(void **state) {
  const subject *s = subject_of(state);
  if (!takes_maplet(s)) return;
  for (unsigned order = 0; order < 24; order++)
    for (unsigned distinct = 1; distinct <= 4; distinct++) {
      uint64_t keys[4];
      bool there[4] = {true, true, true, true};
      besom_filter *f = make_maplet(s, 12, 0.1, "maplet=yes");
      find_sharing_keys(f, keys);
      for (unsigned i = 0; i < 4; i++) {
        besom_u64_key key = besom_u64(keys[i]);
        assert_status(BESOM_OK, besom_insert_value(f, key.bytes, 8, i % distinct));
      }
      for (unsigned left = 4, code = order; left; code /= left, left--) {
        unsigned i = 0;
        for (unsigned skip = code % left; !there[i] || skip; i++) skip -= there[i];
        besom_u64_key key = besom_u64(keys[i]);
        assert_status(BESOM_OK, besom_remove_value(f, key.bytes, 8, i % distinct));
        there[i] = false;
        for (unsigned j = 0; j < 4; j++)
          if (there[j]) assert_true(has_value(f, keys[j], j % distinct));
      }
      assert_int_equal(stats_of(f).keys, 0);
      besom_free(f);
    }
}

/* The build from pairs, in the geometry of another one, too; and what it refuses. */
static void pairs_are_built(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 1000 };
  if (!takes_maplet(s)) return;
  besom_config config = config_of(s, 0, 0.01);
  config.options = "maplet=yes";
  config.value_bits = 16;
  pair_array pairs;
  besom_pair_source source = source_of_pairs(&pairs, KEYS);
  besom_filter *f = NULL, *like = NULL;
  assert_status(BESOM_OK, besom_build(&config, &(besom_input){.pairs = &source}, &f));
  assert_has_values(f, KEYS);
  source = source_of_pairs(&pairs, KEYS);
  besom_input input = {.pairs = &source, .like = f};
  assert_status(BESOM_OK, besom_build(NULL, &input, &like));
  assert_has_values(like, KEYS);
  besom_free(like);
  source = source_of_pairs(&pairs, KEYS);
  config.options = NULL;
  assert_status(BESOM_UNSUPPORTED, besom_build(&config, &(besom_input){.pairs = &source}, &like));
  source = source_of_pairs(&pairs, KEYS);
  config.options = "maplet=yes";
  config.value_bits = 8; /* the values do not fit */
  assert_status(BESOM_INVALID, besom_build(&config, &(besom_input){.pairs = &source}, &like));
  array_source keys;
  uint64_t key = 1;
  source_of_u64(&keys, &key, 1);
  input = (besom_input){.pairs = &source, .yes = &keys.api};
  assert_status(BESOM_INVALID, besom_build(&config, &input, &like));
  assert_status(BESOM_INVALID, besom_rekey(f, &keys.api, NULL, NULL, NULL));
  besom_free(f);
}

/* A batch stops before the first key whose candidates do not fit. */
static void a_batch_needs_room(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 700 };
  if (!takes_maplet(s)) return;
  besom_filter *f = make_maplet(s, KEYS + 10, 1.0 / 1024, "maplet=yes");
  uint64_t keys[KEYS], values[KEYS], out[KEYS];
  size_t starts[KEYS + 1], done;
  for (size_t i = 0; i < KEYS; i++) keys[i] = key_u64(MEMBERS, i), values[i] = value_of(i);
  assert_status(BESOM_OK, besom_insert_values_many_u64(f, keys, values, KEYS, &done));
  assert_int_equal(done, KEYS);
  for (size_t room = 0; room < KEYS; room += 99) {
    assert_status(BESOM_OK, besom_get_values_many_u64(f, keys, KEYS, out, room, starts, &done));
    assert_true(done <= room && starts[0] == 0 && starts[done] <= room);
    for (size_t i = 0; i < done; i++) {
      bool found = false;
      for (size_t at = starts[i]; at < starts[i + 1]; at++) found |= out[at] == values[i];
      assert_true(found);
    }
  }
  values[3] = 1 << 16;
  assert_status(BESOM_INVALID, besom_insert_values_many_u64(f, keys, values, KEYS, &done));
  assert_int_equal(done, 0);
  assert_int_equal(stats_of(f).keys, KEYS);
  besom_free(f);
}

/* A fingerprint that counts several keys, or copies of one, has no value of its own to change. */
static void no_value_of_several_keys_is_changed(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  config.value_bits = 8;
  besom_filter *f = make_empty(&config);
  uint64_t value;
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  assert_status(BESOM_OK, set_value_u64(f, 1, 7));
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  assert_status(BESOM_AMBIGUOUS, set_value_u64(f, 1, 8));
  assert_status(BESOM_OK, get_value_u64(f, 1, &value));
  assert_int_equal(value, 7);
  assert_status(BESOM_OK, besom_remove_u64(f, 1));
  assert_status(BESOM_OK, set_value_u64(f, 1, 8));
  besom_free(f);
}

static void other_filters_have_no_pairs(void **state) {
  const subject *s = subject_of(state);
  uint64_t member = key_u64(MEMBERS, 0), out[1];
  besom_config config = config_of(s, 100, 0);
  besom_filter *f = make_of_u64(s, &config, &member, 1);
  size_t n, starts[2];
  pair_array pairs;
  besom_pair_source source = source_of_pairs(&pairs, 1);
  assert_false(besom_abilities(f) & BESOM_IS_MAPLET);
  assert_status(BESOM_UNSUPPORTED, besom_insert_value(f, "a", 1, 1));
  assert_status(BESOM_UNSUPPORTED, besom_insert_value_digest(f, (besom_digest){1, 1}, 1));
  assert_status(BESOM_UNSUPPORTED, besom_insert_values_many_u64(f, &member, out, 0, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_insert_values_many(f, NULL, NULL, 0, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_remove_value(f, "a", 1, 1));
  assert_status(BESOM_UNSUPPORTED, besom_replace_value(f, "a", 1, 1, 2));
  assert_status(BESOM_UNSUPPORTED, besom_adapt_value(f, "a", 1, 1));
  assert_status(BESOM_UNSUPPORTED, besom_get_values(f, "a", 1, out, 1, &n));
  assert_status(BESOM_UNSUPPORTED, besom_get_values_digest(f, (besom_digest){1, 1}, out, 1, &n));
  assert_status(BESOM_UNSUPPORTED, besom_get_values_many(f, NULL, 0, out, 1, starts, &n));
  assert_status(BESOM_UNSUPPORTED, besom_get_values_many_u64(f, &member, 1, out, 1, starts, &n));
  assert_status(BESOM_UNSUPPORTED, besom_rekey_pairs(f, &source, NULL, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_set_note(f, "a", 1));
  assert_null(besom_note(f, &n));
  assert_int_equal(n, 0);
  besom_free(f);
}

static void wrong_arguments_of_maplets_are_invalid(void **state) {
  const subject *s = subject_of(state);
  if (!takes_maplet(s)) return;
  besom_filter *f = make_maplet(s, 100, 0, "maplet=yes");
  uint64_t key = 1, value = 1, out[1];
  besom_bytes null = {NULL, 1}, fine = {"a", 1};
  size_t n, starts[2];
  memory_sink before;
  save_to(&before, f);
  assert_status(BESOM_INVALID, besom_insert_value(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_insert_value(f, NULL, 1, 1));
  assert_status(BESOM_INVALID, besom_insert_value(f, "a", 1, 1 << 16));
  assert_status(BESOM_INVALID, besom_insert_value_digest(NULL, (besom_digest){1, 1}, 1));
  assert_status(BESOM_INVALID, besom_insert_value_digest(f, (besom_digest){1, 1}, 1 << 16));
  assert_status(BESOM_INVALID, besom_insert_values_many(NULL, &fine, &value, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_values_many(f, &null, &value, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_values_many(f, &fine, NULL, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_values_many_u64(f, NULL, &value, 1, NULL));
  assert_status(BESOM_INVALID, besom_remove_value(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_remove_value(f, NULL, 1, 1));
  assert_status(BESOM_NOT_FOUND, besom_remove_value(f, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_replace_value(NULL, "a", 1, 1, 1));
  assert_status(BESOM_INVALID, besom_replace_value(f, "a", 1, 1, 1 << 16));
  assert_status(BESOM_NOT_FOUND, besom_replace_value(f, "a", 1, 1, 1));
  assert_status(BESOM_INVALID, besom_adapt_value(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_adapt_value(f, NULL, 1, 1));
  assert_status(BESOM_INVALID, besom_adapt_value(f, "a", 1, 1 << 16));
  assert_status(BESOM_OK, besom_adapt_value(f, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_get_values(NULL, "a", 1, out, 1, &n));
  assert_status(BESOM_INVALID, besom_get_values(f, NULL, 1, out, 1, &n));
  assert_status(BESOM_INVALID, besom_get_values(f, "a", 1, NULL, 1, &n));
  assert_status(BESOM_INVALID, besom_get_values(f, "a", 1, out, 1, NULL));
  assert_status(BESOM_OK, besom_get_values(f, "a", 1, NULL, 0, &n));
  assert_status(BESOM_INVALID, besom_get_values_digest(NULL, (besom_digest){1, 1}, out, 1, &n));
  assert_status(BESOM_INVALID, besom_get_values_many(NULL, &fine, 1, out, 1, starts, &n));
  assert_status(BESOM_INVALID, besom_get_values_many(f, &null, 1, out, 1, starts, &n));
  assert_status(BESOM_INVALID, besom_get_values_many(f, &fine, 1, NULL, 1, starts, &n));
  assert_status(BESOM_INVALID, besom_get_values_many(f, &fine, 1, out, 1, NULL, &n));
  assert_status(BESOM_INVALID, besom_get_values_many(f, &fine, 1, out, 1, starts, NULL));
  assert_status(BESOM_INVALID, besom_get_values_many_u64(f, NULL, 1, out, 1, starts, &n));
  assert_status(BESOM_INVALID, besom_rekey_pairs(f, NULL, NULL, NULL));
  assert_status(BESOM_INVALID, besom_rekey_pairs(f, &(besom_pair_source){0}, NULL, NULL));
  assert_status(BESOM_INVALID, besom_set_note(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_set_note(f, NULL, 1));
  assert_null(besom_note(NULL, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_no_add(f, "a", 1));
  assert_status(BESOM_UNSUPPORTED, besom_share(f));
  assert_status(BESOM_UNSUPPORTED, besom_set_domains(f, 3, 0));
  assert_bytes(f, &before);
  assert_status(BESOM_OK, besom_get_values_many_u64(f, &key, 1, out, 1, starts, &n));
  besom_free(f);
}

#define VALUES (BESOM_CAN_INSERT | BESOM_CAN_VALUE)

const law maplet_laws[] = {
    LAW(members_keep_their_values, EVERY_KIND, VALUES),
    LAW(a_full_maplet_replaces_values, EVERY_KIND, VALUES),
    LAW(a_full_maplet_keeps_its_values, EVERY_KIND, VALUES),
    LAW(sharing_members_are_removed_in_any_order, EVERY_KIND, VALUES),
    LAW(pairs_are_built, EVERY_KIND, VALUES),
    LAW(a_batch_needs_room, EVERY_KIND, VALUES),
    LAW(no_value_of_several_keys_is_changed, EVERY_KIND,
        VALUES | BESOM_CAN_COUNT | BESOM_CAN_REMOVE),
    LAW(other_filters_have_no_pairs, EVERY_KIND, 0),
    LAW(wrong_arguments_of_maplets_are_invalid, EVERY_KIND, VALUES),
    {0},
};
