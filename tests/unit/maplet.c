/*
 * Maplets against a model that knows which keys share a fingerprint: remainders are so narrow, and
 * digests chosen so, that most do.
 */
#include "maplet_subject.h"

/* ------------------------------------------------------------------ changes of pairs */

static void remove_pair(struct model *m, size_t i, uint64_t v) {
  besom_u64_key key = besom_u64(key_of(i));
  if (!m->count[i][v] && copies_of(m, i, v)) return; /* members only */
  besom_status expected = m->count[i][v] ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, besom_remove_value(m->f, key.bytes, 8, v));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->members--;
}

static void remove_key(struct model *m, size_t i) {
  size_t distinct;
  all_copies_of(m, i, &distinct);
  uint64_t v = 0;
  while (v < VALUES && !m->count[i][v]) v++;
  if (distinct == 1 && v == VALUES) return; /* members only */
  besom_status expected = distinct > 1 ? BESOM_AMBIGUOUS : distinct ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, besom_remove_u64(m->f, key_of(i)));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->members--;
}

static void replace_pair(struct model *m, size_t i, uint64_t v, uint64_t by) {
  besom_u64_key key = besom_u64(key_of(i));
  if (!m->count[i][v] && copies_of(m, i, v)) return;
  besom_status status = besom_replace_value(m->f, key.bytes, 8, v, by);
  if (status == BESOM_FULL) {
    assert_true(copies_of(m, i, v) > 1);
    return;
  }
  assert_status(m->count[i][v] ? BESOM_OK : BESOM_NOT_FOUND, status);
  if (status != BESOM_OK || v == by) return;
  m->count[i][v]--;
  m->count[i][by]++;
  m->denied[i][by] = false;
}

static void set_value_of(struct model *m, size_t i, uint64_t by) {
  size_t distinct;
  uint64_t copies = all_copies_of(m, i, &distinct), v = 0;
  while (v < VALUES && !m->count[i][v]) v++;
  if (copies == 1 && v == VALUES) return; /* members only */
  besom_status expected = copies > 1 ? BESOM_AMBIGUOUS : copies ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, set_value_u64(m->f, key_of(i), by));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->count[i][by]++;
  m->denied[i][by] = false;
}

/* ------------------------------------------------------------------ changes of the whole */

static void change_size(struct model *m) {
  bool grow = m->slots < 200 && m->width > 2;
  besom_status status = besom_resize(m->f, grow ? 2 * m->slots : m->slots / 2, NULL);
  if (status == BESOM_FULL || status == BESOM_INVALID) return;
  assert_status(BESOM_OK, status);
  look_up_geometry(m);
}

static void rekey_model(struct model *m) {
  uint8_t seed[16] = {(uint8_t)random_next(&m->random)};
  struct pairs all = {.m = m};
  besom_pair_source source = {.next = next_pair, .rewind = rewind_pairs, .ctx = &all};
  besom_source keys = {0};
  keys.ctx = &all;
  assert_status(BESOM_INVALID, besom_rekey(m->f, &keys, NULL, seed, NULL));
  besom_status status = besom_rekey_pairs(m->f, &source, seed, NULL);
  if (status == BESOM_FULL) return;
  assert_status(BESOM_OK, status);
  memset(m->denied, 0, sizeof m->denied);
  look_up_geometry(m);
}

/* Merges with a maplet that has some pairs and some reports of its own. */
static void merge_model(struct model *m) {
  struct model other = *m;
  besom_filter *both = NULL;
  memset(other.count, 0, sizeof other.count);
  memset(other.denied, 0, sizeof other.denied);
  other.members = 0;
  assert_status(BESOM_OK, besom_create_like(m->f, &other.f));
  for (size_t n = random_below(&m->random, 6); n; n--)
    insert_pair(&other, random_below(&m->random, KEYS), random_below(&m->random, VALUES));
  for (size_t n = 20; n; n--)
    report_pair(&other, random_below(&m->random, KEYS), random_below(&m->random, VALUES));
  assert_status(BESOM_OK, besom_set_note(other.f, "another", 7));
  assert_status(BESOM_INCOMPATIBLE, besom_merge(m->f, other.f, &both));
  bool equal = random_below(&m->random, 2);
  assert_status(BESOM_OK, besom_set_note(other.f, note, equal ? sizeof note : 0));
  besom_status status = besom_merge(m->f, other.f, &both);
  if (status == BESOM_OK) {
    struct model old = *m;
    for (size_t i = 0; i < KEYS; i++)
      for (uint64_t v = 0; v < VALUES; v++) {
        m->count[i][v] = (uint8_t)(m->count[i][v] + other.count[i][v]);
        /* the other one surely does not have the pair: it reported it, or no fingerprint has it */
        m->denied[i][v] = (old.denied[i][v] && (other.denied[i][v] || !copies_of(&other, i, v))) ||
                          (other.denied[i][v] && (old.denied[i][v] || !copies_of(&old, i, v)));
      }
    m->members += other.members;
    take(m, both);
  } else {
    assert_status(BESOM_FULL, status);
  }
  besom_free(other.f);
}

static void patch_model(struct model *m) {
  memory_sink sink;
  besom_filter *empty = NULL, *patched = NULL;
  memory_sink_init(&sink);
  assert_status(BESOM_OK, besom_create_like(m->f, &empty));
  bool compact = random_below(&m->random, 2);
  assert_status(BESOM_OK, compact ? besom_diff_compact(empty, m->f, &sink.api)
                                  : besom_diff(empty, m->f, &sink.api));
  assert_status(BESOM_OK, besom_patch(empty, sink.data, sink.len, &patched));
  memory_sink_close(&sink);
  besom_free(empty);
  take(m, patched);
}

static void change_model(struct model *m) {
  size_t i = random_below(&m->random, KEYS);
  uint64_t v = random_below(&m->random, VALUES), what = random_below(&m->random, 400);
  bool set = besom_abilities(m->f) & BESOM_IS_SET;
  if (what < 150)
    insert_pair(m, i, v);
  else if (what < 250 && !set)
    remove_pair(m, i, v);
  else if (what < 270 && !set)
    remove_key(m, i);
  else if (what < 310 && !set)
    replace_pair(m, i, v, random_below(&m->random, VALUES));
  else if (what < 340 && !set)
    set_value_of(m, i, random_below(&m->random, VALUES));
  else if (what < 380)
    report_pair(m, i, v);
  else if (what < 385)
    report_key(m, i);
  else if (what < 388)
    change_size(m);
  else if (what < 391)
    save_and_load(m);
  else if (what < 394)
    rekey_model(m);
  else if (what < 397 && !set)
    merge_model(m);
  else if (what < 399)
    patch_model(m);
}

static void run_model(const char *options, uint64_t slots, uint32_t width, uint64_t seed) {
  struct model m = model_new(options, slots, width, seed);
  for (size_t n = 0; n < 400; n++) {
    change_model(&m);
    check_model(&m);
  }
  besom_free(m.f);
}

static void a_maplet_is_its_model(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    run_model("maplet=yes,max_exceptions=1000", 64, 2, seed);
    run_model("maplet=yes,max_exceptions=1000", 4, 4, seed);
    run_model("maplet=yes,max_exceptions=1000", 1, 8, seed);
    run_model("maplet=yes,max_exceptions=1000", 130, 8, seed);
    run_model("maplet=yes,max_exceptions=1000,repeats=ignore", 60, 3, seed);
  }
}

/* ------------------------------------------------------------------ chosen digests */

/* Equal in all bits that a fingerprint has, and then equal in all but the last one. */
static void members_with_one_fingerprint_keep_their_values(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes", 100, 8, 1);
  besom_digest base = {UINT64_C(0x123456789abcdef0), 0};
  uint64_t out[8];
  size_t n;
  for (uint64_t v = 0; v < 8; v++) {
    besom_digest d = base;
    d.lo = v << 61 | v;
    assert_status(BESOM_OK, besom_insert_value_digest(m.f, d, 7 - v));
  }
  assert_status(BESOM_OK, besom_get_values_digest(m.f, base, out, 8, &n));
  assert_int_equal(n, 8);
  for (uint64_t v = 0; v < 8; v++) assert_int_equal(out[v], v);
  /* Room for some: the smallest ones, and how much is needed. */
  memset(out, 0xff, sizeof out);
  assert_status(BESOM_OK, besom_get_values_digest(m.f, base, out, 3, &n));
  assert_true(n >= 8);
  for (uint64_t v = 0; v < 3; v++) assert_int_equal(out[v], v);
  assert_int_equal(out[3], UINT64_MAX);
  besom_free(m.f);
}

/* ------------------------------------------------------------------ what it is not */

static besom_status status_of(const char *options, uint32_t value_bits, uint32_t flags) {
  besom_config config = {
      .kind = "aqf", .options = options, .capacity = 100, .value_bits = value_bits, .flags = flags};
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  return status;
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  assert_status(BESOM_OK, status_of("maplet=yes", 1, 0));
  assert_status(BESOM_OK, status_of("maplet=yes", 32, BESOM_SET));
  assert_status(BESOM_OK, status_of("maplet=no", 0, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes", 0, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes", 33, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes,tombstones=yes", 8, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes,form=published", 8, 0));
  assert_status(BESOM_BAD_OPTION, status_of("repeats=ignore", 8, 0));
  assert_status(BESOM_BAD_OPTION, status_of("maplet=maybe", 8, 0));
  assert_status(BESOM_UNSUPPORTED, status_of("maplet=yes", 8, BESOM_CONCURRENT));
  char text[200];
  besom_config config = {.kind = "aqf", .options = "maplet=yes", .capacity = 9};
  assert_status(BESOM_INVALID, besom_config_check(&config, text, sizeof text));
  assert_string_equal(text, "value_bits is 0: a maplet needs 1 to 32");
}

static void a_set_has_no_calls_that_remove(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes,repeats=ignore", 64, 8, 1);
  besom_match match = {0, 0};
  uint64_t n;
  insert_pair(&m, 1, 1);
  assert_true(besom_abilities(m.f) & BESOM_IS_SET);
  assert_false(besom_abilities(m.f) & (BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MATCH));
  besom_u64_key key = besom_u64(key_of(1));
  assert_status(BESOM_UNSUPPORTED, besom_remove_value(m.f, key.bytes, 8, 1));
  assert_status(BESOM_UNSUPPORTED, besom_replace_value(m.f, key.bytes, 8, 1, 2));
  assert_status(BESOM_UNSUPPORTED, besom_remove_u64(m.f, key_of(1)));
  assert_status(BESOM_UNSUPPORTED, besom_count_u64(m.f, key_of(1), &n));
  assert_status(BESOM_UNSUPPORTED, besom_insert_at(m.f, m.digests[1], 1, &match));
  check_model(&m);
  besom_free(m.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_maplet_is_its_model),
      cmocka_unit_test(members_with_one_fingerprint_keep_their_values),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(a_set_has_no_calls_that_remove),
  };
  return cmocka_run_group_tests_name("maplet", tests, NULL, NULL);
}
