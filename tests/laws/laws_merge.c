/* Merging is the union of two compatible filters; others are INCOMPATIBLE. */
#include <stdlib.h>
#include <string.h>

#include "filters.h"

typedef struct pair {
  besom_filter *a, *b;
} pair;

/* a holds n members; b holds a third of these and n others. */
static pair make_pair(const subject *s, const besom_config *config, size_t n) {
  uint64_t *keys = keys_u64(MEMBERS, n), *others = keys_u64(MORE_MEMBERS, n);
  pair p = {.a = make_of_u64(s, config, keys, n)};
  assert_status(BESOM_OK, besom_create_like(p.a, &p.b));
  assert_status(BESOM_OK, besom_insert_many_u64(p.b, keys, n / 3, NULL));
  assert_status(BESOM_OK, besom_insert_many_u64(p.b, others, n, NULL));
  free(keys);
  free(others);
  return p;
}

static void free_pair(pair *p) {
  besom_free(p->a);
  besom_free(p->b);
}

/* The result equals one filter into which all keys were inserted. */
static void assert_is_union(const subject *s, const besom_config *config,
                            const besom_filter *merged, size_t n) {
  uint64_t *keys = keys_u64(MEMBERS, n), *others = keys_u64(MORE_MEMBERS, n);
  besom_filter *direct = make_of_u64(s, config, keys, n);
  assert_status(BESOM_OK, besom_insert_many_u64(direct, keys, n / 3, NULL));
  assert_status(BESOM_OK, besom_insert_many_u64(direct, others, n, NULL));
  assert_holds_u64(merged, keys, n);
  assert_holds_u64(merged, others, n);
  assert_valid(merged);
  assert_same_answers(s, merged, direct, 4000);
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < n; i++) {
    uint64_t in_merged = 0, in_direct = 0;
    assert_status(BESOM_OK, besom_count_u64(merged, keys[i], &in_merged));
    assert_status(BESOM_OK, besom_count_u64(direct, keys[i], &in_direct));
    assert_int_equal(in_merged, in_direct);
  }
  besom_free(direct);
  free(keys);
  free(others);
}

/* Kinds that count keep all copies; other kinds do not know which keys are in both. */
static void assert_keys_of_union(const subject *s, const pair *p, const besom_filter *merged) {
  uint64_t a = stats_of(p->a).keys, b = stats_of(p->b).keys, both = stats_of(merged).keys;
  assert_true(both >= (a > b ? a : b) && both <= a + b);
  if (can(s, BESOM_CAN_COUNT)) assert_int_equal(both, a + b);
}

static void merging_is_union(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {1, 3, 30, 100, 1000, 10000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int log_rate = 2; log_rate <= 12; log_rate += 5) {
      size_t n = sizes[i];
      /* Kinds with few slots per key need empty ones for copies. */
      size_t spare = s->kind->max_copies ? n / 4 : 0;
      besom_config config = config_of(s, 2 * n + n / 3 + spare, 1.0 / (1 << log_rate));
      pair p = make_pair(s, &config, n);
      besom_filter *merged = NULL;
      assert_status(BESOM_OK, besom_merge(p.a, p.b, &merged));
      assert_is_union(s, &config, merged, n);
      assert_keys_of_union(s, &p, merged);
      besom_free(merged);
      assert_status(BESOM_OK, besom_merge(p.b, p.a, &merged));
      assert_is_union(s, &config, merged, n);
      besom_free(merged);
      free_pair(&p);
    }
}

static void merging_leaves_both_as_they_were(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 1000, 0);
  pair p = make_pair(s, &config, 400), same = make_pair(s, &config, 400);
  besom_filter *merged = NULL;
  assert_status(BESOM_OK, besom_merge(p.a, p.b, &merged));
  besom_free(merged);
  assert_same_bytes(p.a, same.a);
  assert_same_bytes(p.b, same.b);
  free_pair(&p);
  free_pair(&same);
}

/* An empty filter is the neutral element. */
static void merging_with_an_empty_filter_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 500, 0), *empty = NULL, *merged = NULL;
  assert_status(BESOM_OK, besom_create_like(f, &empty));
  assert_status(BESOM_OK, besom_merge(f, empty, &merged));
  assert_same_bytes(merged, f);
  besom_free(merged);
  assert_status(BESOM_OK, besom_merge(empty, empty, &merged));
  assert_same_bytes(merged, empty);
  besom_free(merged);
  besom_free(empty);
  besom_free(f);
}

/* Runs of hundreds of copies in both filters, across blocks; or as many as the kind supports. */
static void merging_keeps_every_copy(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 8, COPIES = 300 };
  /* After the merge, all copies of one key must leave slots of its buckets to other keys, too. */
  const size_t copies = copies_within(s, 2 * COPIES) / 2, more = copies == COPIES ? 1 : 0;
  besom_config config = config_of(s, 4 * KEYS * COPIES, 1.0 / (1 << 16));
  besom_filter *f = make_empty(&config), *merged = NULL;
  for (size_t i = 0; i < KEYS; i++)
    for (size_t c = 0; c < copies + more * i; c++)
      assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
  assert_status(BESOM_OK, besom_merge(f, f, &merged));
  assert_valid(merged);
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t n = 0;
    assert_status(BESOM_OK, besom_count_u64(merged, key_u64(MEMBERS, i), &n));
    assert_int_equal(n, 2 * (copies + more * i));
  }
  besom_free(merged);
  besom_free(f);
}

/* The capacity of the result is that of each filter. */
static void merging_too_much_is_full(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 1000, 0);
  uint64_t *keys = keys_u64(MEMBERS, 1000);
  besom_filter *f = make_of_u64(s, &config, keys, 1000), *merged = NULL;
  assert_status(BESOM_FULL, besom_merge(f, f, &merged));
  assert_null(merged);
  assert_holds_u64(f, keys, 1000);
  besom_free(f);
  free(keys);
}

static void assert_unlike(const besom_filter *f, const besom_config *config) {
  besom_filter *other = make_empty(config), *merged = NULL;
  assert_status(BESOM_INCOMPATIBLE, besom_merge(f, other, &merged));
  assert_status(BESOM_INCOMPATIBLE, besom_merge(other, f, &merged));
  assert_null(merged);
  besom_free(other);
}

static void incompatible_filters_are_refused(void **state) {
  const subject *s = subject_of(state);
  const besom_config config = config_of(s, 1000, 0.01);
  besom_filter *f = make_empty(&config);
  besom_config other = config;
  other.seed = (const uint8_t *)"a besom's seed 2";
  assert_unlike(f, &other);
  other = config;
  other.seed = NULL;
  assert_unlike(f, &other);
  other = config;
  other.capacity = 4000;
  assert_unlike(f, &other);
  other = config;
  other.fpr = 0.0001;
  assert_unlike(f, &other);
  other = config;
  other.hash = strcmp(s->hash, "sip") ? "sip" : "xxh3";
  assert_unlike(f, &other);
  for (size_t i = 0; besom_kinds(i); i++) {
    other = config;
    other.kind = besom_kinds(i)->name;
    other.options = NULL;
    other.flags = 0;
    if (strcmp(other.kind, s->kind->name) && besom_kinds(i)->abilities & BESOM_CAN_INSERT)
      assert_unlike(f, &other);
  }
  besom_free(f);
}

/* Filters that differ only in instruction set or concurrency are compatible. */
static void filters_of_other_instruction_sets_are_compatible(void **state) {
  const subject *s = subject_of(state);
  if (!s->same_format) skip();
  besom_config config = config_of(s, 1000, 0.01), as_it_comes = config;
  as_it_comes.options = NULL;
  as_it_comes.flags = 0;
  besom_filter *a = make_empty(&config), *b = make_empty(&as_it_comes), *merged = NULL;
  assert_status(BESOM_OK, besom_insert_u64(a, 1));
  assert_status(BESOM_OK, besom_insert_u64(b, 2));
  assert_status(BESOM_OK, besom_merge(a, b, &merged));
  assert_true(besom_contains_u64(merged, 1) && besom_contains_u64(merged, 2));
  besom_free(merged);
  besom_free(a);
  besom_free(b);
}

/* Two filters of half the size become one of full size, which may have twice the keys. */
static void two_halves_become_one_filter(void **state) {
  const subject *s = subject_of(state);
  for (size_t n = 1; n <= 10000; n *= 10) {
    besom_config config = config_of(s, n, 1.0 / 4096);
    config.max_capacity = 2 * n;
    uint64_t *keys = keys_u64(MEMBERS, n), *others = keys_u64(MORE_MEMBERS, n);
    besom_filter *a = make_of_u64(s, &config, keys, n), *b = NULL, *merged = NULL;
    assert_status(BESOM_OK, besom_create_like(a, &b));
    assert_status(BESOM_OK, besom_insert_many_u64(b, others, n, NULL));
    uint64_t slots = stats_of(a).slots;
    if (n >= 10) assert_status(BESOM_FULL, besom_merge(a, b, &merged));
    assert_status(BESOM_OK, besom_merge_slots(a, b, 4 * slots, &merged));
    assert_int_equal(stats_of(merged).slots, 4 * slots);
    assert_int_equal(stats_of(merged).keys, 2 * n);
    assert_holds_u64(merged, keys, n);
    assert_holds_u64(merged, others, n);
    assert_valid(merged);
    besom_filter *other = NULL;
    assert_status(BESOM_INVALID, besom_merge_slots(a, b, 0, &other));
    assert_status(BESOM_INVALID, besom_merge_slots(a, b, 3 * slots, &other));
    assert_status(BESOM_OK, besom_resize(b, 2 * slots, NULL));
    assert_status(BESOM_OK, besom_merge_slots(a, b, 4 * slots, &other)); /* of different sizes */
    assert_same_answers(s, merged, other, 4000);
    besom_free(other);
    besom_free(merged);
    besom_free(a);
    besom_free(b);
    free(keys);
    free(others);
  }
}

enum { MERGING = BESOM_CAN_INSERT | BESOM_CAN_MERGE };

const law merge_laws[] = {
    LAW(merging_is_union, EVERY_SUBJECT, MERGING),
    LAW(merging_leaves_both_as_they_were, EVERY_SUBJECT, MERGING),
    LAW(merging_with_an_empty_filter_changes_nothing, EVERY_SUBJECT, MERGING),
    LAW(merging_keeps_every_copy, EVERY_SUBJECT, MERGING | BESOM_CAN_COUNT),
    LAW_UNLESS(merging_too_much_is_full, EVERY_SUBJECT, MERGING | BESOM_CAN_COUNT, BESOM_CAN_SCALE),
    LAW(two_halves_become_one_filter, EVERY_SUBJECT, MERGING | BESOM_CAN_RESIZE),
    LAW(incompatible_filters_are_refused, EVERY_SUBJECT, MERGING),
    LAW(filters_of_other_instruction_sets_are_compatible, EVERY_SUBJECT, MERGING),
    {0},
};
