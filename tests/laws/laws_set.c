/*
 * BESOM_SET: a filter that keeps each key once. A key that was a false positive when it was
 * inserted is represented by the fingerprint of another member, and must never be denied: not after
 * reports, growing, merging, saving or rekeying.
 */
#include <stdlib.h>

#include "filters.h"
#include "subjects.h"

enum { UNIVERSE = 600, ROUNDS = 8, OPERATIONS = 60, ROOM = 2 * UNIVERSE };

/* Sets of this kind skip keys; others are sets already, or refuse. */
static bool keeps_copies(const subject *s) {
  return s->kind->abilities & (BESOM_CAN_REMOVE | BESOM_CAN_COUNT);
}

static besom_config set_config(const subject *s, uint64_t capacity, double fpr) {
  besom_config config = config_of(s, capacity, fpr);
  config.flags = BESOM_SET;
  return config;
}

/* NULL if the kind refuses to be a set, which is right if a report changes fingerprints. */
static besom_filter *make_set(const subject *s, uint64_t capacity, double fpr) {
  besom_config config = set_config(s, capacity, fpr);
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_OK) return f;
  assert_status(BESOM_UNSUPPORTED, status);
  assert_true(s->flags || is_published_system(s->kind->name));
  return NULL;
}

/* A set, and what it must answer. */
typedef struct set_trial {
  const subject *s;
  besom_filter *f;
  bool member[UNIVERSE];
  random_stream random;
} set_trial;

static uint64_t key_of(size_t i) {
  return key_u64(MEMBERS, i);
}

static size_t members_of(const set_trial *t, uint64_t *keys) {
  size_t n = 0;
  for (size_t i = 0; i < UNIVERSE; i++)
    if (t->member[i]) keys[n++] = key_of(i);
  return n;
}

static void check_trial(const set_trial *t) {
  uint64_t keys[UNIVERSE];
  size_t n = members_of(t, keys);
  assert_holds_u64(t->f, keys, n);
  assert_true(stats_of(t->f).keys <= n || !keeps_copies(t->s));
}

static size_t random_key(set_trial *t) {
  return (size_t)random_below(&t->random, UNIVERSE);
}

static void add_key(set_trial *t) {
  size_t i = random_key(t);
  bool known = besom_contains_u64(t->f, key_of(i));
  uint64_t before = stats_of(t->f).keys;
  assert_status(BESOM_OK, besom_insert_u64(t->f, key_of(i)));
  if (keeps_copies(t->s)) assert_int_equal(stats_of(t->f).keys, before + !known);
  t->member[i] = true;
}

static void add_keys(set_trial *t) {
  uint64_t keys[40];
  size_t done;
  for (size_t k = 0; k < 40; k++) {
    size_t i = random_key(t);
    keys[k] = key_of(i);
    t->member[i] = true;
  }
  assert_status(BESOM_OK, besom_insert_many_u64(t->f, keys, 40, &done));
  assert_int_equal(done, 40);
}

static void report_key(set_trial *t) {
  size_t i = random_key(t);
  if (t->member[i] || !can(t->s, BESOM_CAN_ADAPT)) return;
  besom_status status = besom_adapt_u64(t->f, key_of(i));
  if (status == BESOM_RESERVE_FULL || status == BESOM_EVICTED) return;
  if (status == BESOM_NEEDS_STORE && is_published_form(t->s)) return;
  assert_status(BESOM_OK, status);
  assert_false(besom_contains_u64(t->f, key_of(i)));
}

/* A merge keeps what both have once, unless the other filter was no set. */
static void merge_some(set_trial *t) {
  besom_filter *other = NULL, *both = NULL;
  if (!can(t->s, BESOM_CAN_MERGE)) return;
  assert_status(BESOM_OK, besom_create_like(t->f, &other));
  for (size_t k = 0; k < 30; k++) {
    size_t i = random_key(t);
    assert_status(BESOM_OK, besom_insert_u64(other, key_of(i)));
    t->member[i] = true;
  }
  assert_status(BESOM_OK, besom_merge(t->f, other, &both));
  besom_free(other);
  replace_filter(&t->f, both);
}

static void grow(set_trial *t) {
  if (!can(t->s, BESOM_CAN_RESIZE) || stats_of(t->f).width < 4) return;
  assert_status(BESOM_OK, besom_resize(t->f, 2 * stats_of(t->f).slots, NULL));
}

/* Every member is given twice, and kept once. */
static void rekey(set_trial *t) {
  uint64_t keys[2 * UNIVERSE];
  if (!can(t->s, BESOM_CAN_REKEY)) return;
  size_t n = members_of(t, keys);
  n += members_of(t, keys + n);
  array_source yes;
  source_of_u64(&yes, keys, n);
  assert_status(BESOM_OK, besom_rekey(t->f, &yes.api, NULL, fixed_seed, NULL));
}

static void a_set_denies_no_key(void **state) {
  const subject *s = subject_of(state);
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    set_trial t = {.s = s, .f = make_set(s, ROOM, seed % 2 ? 0.25 : 1.0 / 64), .random = {seed}};
    if (!t.f) return;
    for (size_t i = 0; i < OPERATIONS; i++) {
      void (*const operations[])(set_trial *) = {add_key,    add_keys,   report_key, report_key,
                                                 report_key, merge_some, grow,       rekey};
      uint64_t dice = random_below(&t.random, 30);
      (dice < 8 ? operations[dice] : report_key)(&t);
      if (dice == 8) replace_filter(&t.f, loaded_copy(t.f));
      check_trial(&t);
    }
    assert_valid(t.f);
    besom_free(t.f);
  }
}

/* Five hundred keys, again and again, in a filter for little more. */
static void a_set_does_not_fill_up_with_copies(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 500, TIMES = 20 };
  besom_filter *f = make_set(s, 550, 0.01);
  if (!f) return;
  uint64_t *keys = keys_u64(MEMBERS, KEYS);
  for (size_t i = 0; i < KEYS * TIMES; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, keys[i % KEYS]));
  for (size_t i = 0; i < TIMES; i++)
    assert_status(BESOM_OK, besom_insert_many_u64(f, keys, KEYS, NULL));
  uint64_t n = stats_of(f).keys;
  assert_true(n <= KEYS && n > KEYS * 95 / 100);
  for (size_t i = 0; can(s, BESOM_CAN_MERGE) && keeps_copies(s) && i < TIMES; i++)
    replace_filter(&f, merged(f, f));
  assert_int_equal(stats_of(f).keys, n);
  assert_holds_u64(f, keys, KEYS);
  assert_valid(f);
  besom_free(f);
  free(keys);
}

/* A full set takes the keys that it has, and refuses others. */
static void a_full_set_accepts_its_keys(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_set(s, 200, 1e-4);
  if (!f || !keeps_copies(s) || can(s, BESOM_CAN_SCALE)) return besom_free(f);
  size_t n = 0, done;
  while (besom_insert_u64(f, key_of(n)) == BESOM_OK) n++;
  uint64_t *keys = keys_u64(MEMBERS, n + 1);
  for (size_t i = 0; i < n; i++) assert_status(BESOM_OK, besom_insert_u64(f, keys[i]));
  assert_status(BESOM_FULL, besom_insert_many_u64(f, keys, n + 1, &done));
  assert_int_equal(done, n);
  assert_valid(f);
  besom_free(f);
  free(keys);
}

static void building_a_set_keeps_each_key_once(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 300 };
  uint64_t keys[3 * KEYS];
  for (size_t i = 0; i < 3 * KEYS; i++) keys[i] = key_u64(MEMBERS, i % KEYS);
  for (int with_memory = 0; with_memory < 2; with_memory++) {
    besom_config config = set_config(s, KEYS, 1e-6);
    if (with_memory) config.build_memory = 4096;
    array_source yes;
    source_of_u64(&yes, keys, 3 * KEYS);
    besom_filter *f = NULL;
    besom_status status = besom_build(&config, &(besom_input){.yes = &yes.api}, &f);
    if (status == BESOM_UNSUPPORTED) return;
    assert_status(BESOM_OK, status);
    assert_int_equal(stats_of(f).keys, KEYS);
    assert_holds_u64(f, keys, KEYS);
    assert_valid(f);
    besom_free(f);
  }
}

static void a_set_has_no_remove(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_set(s, 100, 0.01);
  if (!f) return;
  uint64_t n;
  unsigned lost = BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MATCH | BESOM_CAN_NO_LIST_AT;
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  if (!keeps_copies(s)) {
    assert_false(besom_abilities(f) & BESOM_IS_SET);
    return besom_free(f);
  }
  assert_true(besom_abilities(f) & BESOM_IS_SET);
  assert_false(besom_abilities(f) & lost);
  assert_status(BESOM_UNSUPPORTED, besom_remove_u64(f, 1));
  assert_status(BESOM_UNSUPPORTED, besom_remove_digest(f, besom_hash_u64(f, 1)));
  assert_status(BESOM_UNSUPPORTED, besom_count_u64(f, 1, &n));
  assert_status(BESOM_UNSUPPORTED, besom_insert_count(f, "a", 1, 2));
  assert_status(BESOM_UNSUPPORTED, besom_bind(f, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_share(f));
  besom_match match;
  size_t total;
  besom_digest d = besom_hash_u64(f, 1);
  assert_status(BESOM_UNSUPPORTED, besom_matches(f, d, &match, 1, &total));
  assert_status(BESOM_UNSUPPORTED, besom_insert_at(f, d, 0, &match));
  besom_free(f);
}

/* Saved, copied, merged with a filter that is none: a set stays one. */
static void a_set_stays_a_set(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_set(s, 1000, 0.01), *like = NULL, *plain = NULL, *built = NULL;
  if (!f || !keeps_copies(s)) return besom_free(f);
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  memory_sink saved = {0};
  save_to(&saved, f);
  assert_int_equal(saved.data[8], 2); /* the version of the format */
  memory_sink_close(&saved);
  replace_filter(&f, loaded_copy(f));
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_true(besom_abilities(f) & besom_abilities(like) & BESOM_IS_SET);
  besom_config config = config_of(s, 1000, 0.01);
  config.flags = 0;
  assert_status(BESOM_OK, besom_create(&config, &plain));
  if (can(s, BESOM_CAN_MERGE)) {
    replace_filter(&like, merged(plain, f));
    assert_true(besom_abilities(like) & BESOM_IS_SET);
    assert_true(besom_contains_u64(like, 1));
    for (size_t i = 0; i < 3; i++) assert_status(BESOM_OK, besom_insert_u64(like, 1));
    assert_int_equal(stats_of(like).keys, 1);
  }
  uint64_t key = 7;
  array_source yes;
  source_of_u64(&yes, &key, 1);
  assert_status(BESOM_OK, besom_build(NULL, &(besom_input){.yes = &yes.api, .like = f}, &built));
  assert_true(besom_abilities(built) & BESOM_IS_SET);
  besom_free(built);
  besom_free(plain);
  besom_free(like);
  besom_free(f);
}

const law set_laws[] = {
    LAW(a_set_denies_no_key, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(a_set_does_not_fill_up_with_copies, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(a_full_set_accepts_its_keys, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(building_a_set_keeps_each_key_once, EVERY_SUBJECT, CAN_BUILD),
    LAW(a_set_has_no_remove, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(a_set_stays_a_set, EVERY_SUBJECT, BESOM_CAN_INSERT),
    {0},
};
