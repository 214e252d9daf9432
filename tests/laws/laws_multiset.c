/* Kinds that remove or count behave like a multiset of fingerprints, at every load factor. */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/reference.h"

#if defined(__has_feature)
#define BESOM_TESTS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define BESOM_TESTS_HAS_FEATURE(feature) 0
#endif

/* A filter under random operations, and a model of what it must hold. */
typedef struct trial {
  const subject *s;
  besom_filter *f;
  reference truth;
  random_stream random;
} trial;

/* A full filter must return FULL; a kind without copies gets none. */
static void insert_one(trial *d, size_t i) {
  if (!can(d->s, BESOM_CAN_COUNT) && d->truth.copies[i]) return;
  besom_status status = besom_insert_u64(d->f, reference_key(i));
  if (status == BESOM_FULL) return;
  assert_status(BESOM_OK, status);
  reference_insert(&d->truth, i);
}

/* Only inserted keys may be removed, and keys that the filter answers no to. */
static void remove_one(trial *d, size_t i) {
  if (d->truth.copies[i]) {
    assert_status(BESOM_OK, besom_remove_u64(d->f, reference_key(i)));
    reference_remove(&d->truth, i);
  } else if (!besom_contains_u64(d->f, reference_key(i))) {
    assert_status(BESOM_NOT_FOUND, besom_remove_u64(d->f, reference_key(i)));
  }
}

/* Phases: mostly inserts until the filter is full, then mostly removes until it is empty. */
static void one_operation(trial *d, size_t step, size_t tide) {
  bool rising = step / tide % 2 == 0;
  size_t i = (size_t)random_below(&d->random, d->truth.universe);
  uint64_t dice = random_below(&d->random, 10);
  if (dice < 9 && (dice < 7) == rising)
    insert_one(d, i);
  else if (dice < 9)
    remove_one(d, i);
  assert_no_error(reference_check_key(&d->truth, d->f, i));
}

static void remove_everything(trial *d, size_t check_every) {
  size_t step = 0;
  for (size_t i = 0; i < d->truth.universe; i++)
    while (d->truth.copies[i]) {
      remove_one(d, i);
      if (++step % check_every == 0) assert_no_error(reference_check(&d->truth, d->f));
    }
  assert_no_error(reference_check(&d->truth, d->f));
  assert_int_equal(stats_of(d->f).keys, 0);
  assert_int_equal(count_false_positives(d->f, 1000), 0);
}

static void fight(const subject *s, const besom_config *config, size_t universe, size_t steps,
                  size_t check_every) {
  trial d = {.s = s, .f = make_empty(config), .random = {universe + steps}};
  assert_status(BESOM_OK, reference_init(&d.truth, d.f, universe));
  for (size_t step = 0; step < steps; step++) {
    one_operation(&d, step, steps / 5 + 1);
    if (step % check_every == 0) assert_no_error(reference_check(&d.truth, d.f));
  }
  remove_everything(&d, check_every);
  reference_close(&d.truth);
  besom_free(d.f);
}

/* Small filters in which everything collides, checked after every operation. */
static void random_operations_match_a_multiset(void **state) {
  const subject *s = subject_of(state);
  static const struct {
    uint64_t slots;
    uint32_t width;
  } small[] = {{1, 1},  {1, 8},   {1, 64},  {2, 1},   {2, 3},   {3, 1},   {3, 17}, {5, 2},
               {13, 1}, {31, 4},  {63, 1},  {64, 2},  {65, 1},  {65, 33}, {96, 5}, {66, 7},
               {70, 9}, {75, 10}, {67, 12}, {80, 14}, {66, 16}, {130, 1}};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    uint32_t width = small[i].width > min_width(s) ? small[i].width : min_width(s);
    besom_config config = takes_geometry(s) ? geometry_of(s, small[i].slots, width)
                                            : config_of(s, small[i].slots, 1.0 / (2 + width));
    size_t universe = 4 + (size_t)small[i].slots / 2;
    fight(s, &config, universe, 600, 1);
  }
}

/* Many keys with few copies, then few keys with runs of copies across blocks. */
static void random_operations_match_a_multiset_in_larger_filters(void **state) {
  const subject *s = subject_of(state);
  besom_config many_keys = config_of(s, 5000, 1.0 / 64), few_keys = config_of(s, 2000, 1.0 / 8);
  fight(s, &many_keys, 8000, 40000, 1000);
  if (can(s, BESOM_CAN_COUNT)) fight(s, &few_keys, 40, 20000, 1000);
}

/* Every key has a known number of copies, in a full filter. */
static void counts_are_right(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 1000 };
  besom_config config = config_of(s, KEYS * 10, 1.0 / (1 << 20));
  besom_filter *f = make_empty(&config);
  const size_t most = copies_within(s, 19);
  for (size_t round = 0; round < most; round++)
    for (size_t i = 0; i < KEYS; i++)
      if (i % most >= round) assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), n = 0;
    assert_status(BESOM_OK, besom_count_u64(f, key, &n));
    assert_int_equal(n, i % most + 1);
    assert_status(BESOM_OK, besom_count(f, besom_u64(key).bytes, 8, &n));
    assert_int_equal(n, i % most + 1);
    assert_status(BESOM_OK, besom_count_u64(f, key_u64(NEGATIVES, i), &n));
    assert_int_equal(n, 0);
  }
  besom_free(f);
}

/* The three forms of a key remove the same fingerprint. */
static void keys_are_removed_in_every_form(void **state) {
  const subject *s = subject_of(state);
  byte_keys keys = byte_keys_new(MEMBERS, 300);
  besom_config config = config_of(s, 300, 1.0 / (1 << 20));
  besom_filter *f = make_of_bytes(s, &config, keys.keys, keys.n);
  for (size_t i = 0; i < keys.n; i++) {
    const besom_bytes *key = &keys.keys[i];
    if (i % 2)
      assert_status(BESOM_OK, besom_remove(f, key->data, key->len));
    else
      assert_status(BESOM_OK, besom_remove_digest(f, besom_hash(f, key->data, key->len)));
    assert_status(BESOM_NOT_FOUND, besom_remove(f, key->data, key->len));
    assert_false(besom_contains(f, key->data, key->len));
  }
  assert_int_equal(stats_of(f).keys, 0);
  besom_free(f);
  byte_keys_free(&keys);
}

/* A key whose quotient is in the first quarter of the table: there are slots for what it shifts. */
static uint64_t key_near_the_start(const besom_filter *f) {
  for (size_t i = 0;; i++)
    if (besom_hash_u64(f, key_u64(OTHER_MEMBERS, i)).hi >> 62 == 0)
      return key_u64(OTHER_MEMBERS, i);
}

static void assert_count_at_least(const besom_filter *f, uint64_t key, uint64_t least) {
  uint64_t n = 0;
  assert_status(BESOM_OK, besom_count_u64(f, key, &n));
  assert_true(n >= least && n <= least + 2);
}

/* The time grows with the square of the copies. A sanitizer triples it, an emulator does worse. */
static size_t many_copies(const subject *s) {
#if defined(BESOM_EMULATED)
  (void)s;
  return 5000;
#elif defined(__SANITIZE_ADDRESS__) || BESOM_TESTS_HAS_FEATURE(address_sanitizer)
  (void)s;
  return 20000;
#else
  return s->is_default ? 50000 : 20000;
#endif
}

/* A run of many blocks; other keys are inserted before and after it. */
static void a_key_of_many_copies_loses_no_other_key(void **state) {
  const subject *s = subject_of(state);
  const size_t many = many_copies(s), others = many / 2;
  const size_t copies = s->kind->max_copies ? s->kind->max_copies : many;
  besom_config config = config_of(s, 3 * many, 1.0 / 1024);
  besom_filter *f = make_empty(&config);
  uint64_t *before = keys_u64(MEMBERS, others), *after = keys_u64(MORE_MEMBERS, others),
           key = key_near_the_start(f);
  assert_status(BESOM_OK, besom_insert_many_u64(f, before, others, NULL));
  for (size_t i = 0; i < copies; i++) assert_status(BESOM_OK, besom_insert_u64(f, key));
  if (copies < many) assert_status(BESOM_FULL, besom_insert_u64(f, key));
  assert_status(BESOM_OK, besom_insert_many_u64(f, after, others, NULL));
  assert_int_equal(stats_of(f).keys, copies + 2 * others);
  assert_count_at_least(f, key, copies);
  assert_holds_u64(f, before, others);
  assert_holds_u64(f, after, others);
  assert_valid(f);
  for (size_t i = 0; can(s, BESOM_CAN_REMOVE) && i < copies; i++)
    assert_status(BESOM_OK, besom_remove_u64(f, key));
  if (can(s, BESOM_CAN_REMOVE)) {
    assert_count_at_least(f, key, 0);
    assert_int_equal(stats_of(f).keys, 2 * others);
    assert_valid(f);
  }
  assert_holds_u64(f, before, others);
  assert_holds_u64(f, after, others);
  free(before);
  free(after);
  besom_free(f);
}

/* ------------------------------------------------------------------ several copies at once */

static uint64_t large_count(size_t i) {
  return (UINT64_C(1) << (i % 41)) + i % 3;
}

static void assert_large_counts(const besom_filter *f, size_t n, uint64_t times) {
  uint64_t items = 0, seen = 0, count;
  for (size_t i = 0; i < n; i++) {
    assert_status(BESOM_OK, besom_count_u64(f, key_u64(MEMBERS, i), &count));
    assert_int_equal(count, times * large_count(i));
    items += count;
  }
  assert_int_equal(stats_of(f).keys, items);
  besom_iter iter = {.filter = f};
  besom_entry entry;
  while (besom_iter_next(&iter, &entry) == BESOM_OK) seen += entry.count;
  assert_int_equal(seen, items);
  assert_valid(f);
}

static void counts_may_be_large(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 130 };
  besom_config config = config_of(s, 8 * KEYS, 1.0 / (1 << 20));
  config.max_capacity = 16 * KEYS;
  besom_filter *f = make_empty(&config);
  uint64_t slots = stats_of(f).slots;
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), half = large_count(i) / 2;
    assert_status(BESOM_OK, insert_count_u64(f, key, large_count(i) - half));
    if (half) assert_status(BESOM_OK, insert_count_u64(f, key, half));
  }
  assert_large_counts(f, KEYS, 1);
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), count;
    for (uint64_t n = large_count(i); n > 0 && n + 3 > large_count(i); n--) {
      assert_status(BESOM_OK, besom_remove_u64(f, key));
      assert_status(BESOM_OK, besom_count_u64(f, key, &count));
      assert_int_equal(count, n - 1);
      assert_int_equal(besom_contains_u64(f, key), count > 0);
    }
    assert_status(BESOM_OK, insert_count_u64(f, key, large_count(i) < 3 ? large_count(i) : 3));
  }
  assert_large_counts(f, KEYS, 1);
  memory_sink before;
  save_to(&before, f);
  assert_status(BESOM_INVALID, insert_count_u64(f, 1, 0));
  assert_status(BESOM_FULL, insert_count_u64(f, 1, UINT64_MAX));
  assert_status(BESOM_FULL, insert_count_u64(f, key_u64(MEMBERS, 0), UINT64_MAX));
  assert_bytes(f, &before);
  besom_filter *twice = merged(f, f);
  assert_large_counts(twice, KEYS, 2);
  besom_free(twice);
  replace_filter(&f, loaded_copy(f));
  assert_status(BESOM_OK, besom_resize(f, 2 * slots, NULL));
  assert_large_counts(f, KEYS, 1);
  assert_status(BESOM_OK, besom_resize(f, slots, NULL));
  assert_large_counts(f, KEYS, 1);
  besom_free(f);
}

/* Inserting copies in pairs reaches the same capacity as inserting them one by one. */
static void pairs_of_copies_reach_the_capacity(void **state) {
  const subject *s = subject_of(state);
  for (uint32_t width = min_width(s); width < 10; width++) {
    if (!takes_geometry(s)) skip();
    besom_config config = geometry_of(s, 500, width);
    besom_filter *f = make_empty(&config);
    uint64_t capacity = stats_of(f).capacity;
    for (size_t i = 0; stats_of(f).keys + 2 <= capacity; i++)
      assert_status(BESOM_OK, insert_count_u64(f, key_u64(MEMBERS, i), 2));
    assert_valid(f);
    besom_free(f);
  }
}

/* Counts have a maximum, also as the sum of a merge. */
static void counts_do_not_overflow(void **state) {
  besom_config config = config_of(subject_of(state), 1000, 0.01);
  besom_filter *a = make_empty(&config), *b = make_empty(&config), *both = NULL;
  /* If not, the kind stores every copy. */
  bool counts = insert_count_u64(a, 5, UINT64_C(1) << 62) == BESOM_OK;
  if (counts) assert_status(BESOM_OK, insert_count_u64(b, 5, UINT64_C(1) << 62));
  if (counts) assert_status(BESOM_FULL, insert_count_u64(a, 5, 1));
  assert_status(BESOM_FULL, insert_count_u64(a, 6, UINT64_MAX));
  if (counts) assert_status(BESOM_FULL, besom_merge(a, b, &both));
  besom_free(a), besom_free(b);
}

/* Several copies at once into narrow slots until full: all of them, or FULL and none. */
static void copies_are_inserted_all_or_none(void **state) {
  const subject *s = subject_of(state);
  static const struct {
    uint64_t slots;
    uint32_t width;
  } narrow[] = {{1, 2}, {13, 2}, {40, 2}, {64, 3}, {70, 5}, {130, 8}};
  for (size_t shape = 0; shape < sizeof narrow / sizeof *narrow; shape++) {
    besom_config config = takes_geometry(s)
                              ? geometry_of(s, narrow[shape].slots, narrow[shape].width)
                              : config_of(s, narrow[shape].slots, 1.0 / (2 + narrow[shape].width));
    besom_filter *f = make_empty(&config);
    reference truth;
    random_stream random = {shape};
    size_t full = 0;
    assert_status(BESOM_OK, reference_init(&truth, f, 30));
    for (size_t step = 0; step < 800; step++) {
      size_t i = (size_t)random_below(&random, 30);
      memory_sink before;
      save_to(&before, f);
      uint64_t n = 1 + random_below(&random, random_below(&random, 40) + 1);
      if (random_below(&random, 5) < (step / 200 % 2 ? 1 : 3)) {
        besom_status status = insert_count_u64(f, reference_key(i), n);
        if (status == BESOM_FULL) {
          full++;
          assert_bytes(f, &before);
          continue;
        }
        assert_status(BESOM_OK, status);
        while (n--) reference_insert(&truth, i);
      } else {
        for (; n-- && truth.copies[i]; reference_remove(&truth, i))
          assert_status(BESOM_OK, besom_remove_u64(f, reference_key(i)));
      }
      memory_sink_close(&before);
      assert_no_error(reference_check(&truth, f));
    }
    assert_true(full > 0 || narrow[shape].slots > 64 || can(s, BESOM_CAN_SCALE));
    reference_close(&truth);
    besom_free(f);
  }
}

static uint64_t key_of_largest_hash(const besom_filter *f) {
  uint64_t largest = key_u64(MORE_MEMBERS, 0);
  for (size_t i = 1; i < 40000; i++)
    if (besom_hash_u64(f, key_u64(MORE_MEMBERS, i)).hi > besom_hash_u64(f, largest).hi)
      largest = key_u64(MORE_MEMBERS, i);
  return largest;
}

/*
 * A table that stores each copy is full after its last slot long before its capacity: again all
 * copies, or FULL and none.
 */
static void copies_do_not_fit_after_the_last_slot(void **state) {
  const subject *s = subject_of(state);
  if (!takes_geometry(s)) skip();
  besom_config config = geometry_of(s, 4000, 8);
  besom_filter *f = make_empty(&config);
  uint64_t last = key_of_largest_hash(f), count = 0, fitting = 0;
  for (size_t i = 0; i < 200; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
  for (uint64_t n = 3000; n; n /= 2) {
    memory_sink before;
    save_to(&before, f);
    besom_status status = insert_count_u64(f, last, n);
    if (status == BESOM_FULL) {
      assert_bytes(f, &before);
      continue;
    }
    assert_status(BESOM_OK, status);
    memory_sink_close(&before);
    fitting += n;
  }
  assert_status(BESOM_OK, besom_count_u64(f, last, &count));
  assert_true(fitting > 0 && count >= fitting);
  assert_valid(f);
  besom_free(f);
}

static void insert_singly(besom_filter *f, uint64_t key, size_t copies) {
  for (size_t i = 0; i < copies; i++) assert_status(BESOM_OK, besom_insert_u64(f, key));
}

static void assert_equal_counts(const besom_filter *a, const besom_filter *b, size_t keys) {
  for (size_t i = 0; i < keys; i++) {
    uint64_t in_a = 0, in_b = 0;
    assert_status(BESOM_OK, besom_count_u64(a, key_u64(MEMBERS, i), &in_a));
    assert_status(BESOM_OK, besom_count_u64(b, key_u64(MEMBERS, i), &in_b));
    assert_int_equal(in_a, in_b);
  }
  assert_int_equal(stats_of(a).keys, stats_of(b).keys);
  assert_valid(a);
}

/* Two filters with the same copies, inserted at once and one by one. They stay equal. */
typedef struct twins {
  besom_filter *at_once, *singly;
  size_t keys, most;
} twins;

static twins make_twins(const subject *s, double fpr) {
  enum { KEYS = 200 };
  twins t = {.keys = KEYS, .most = copies_within(s, 40)};
  /* Kinds with few slots per key need empty ones for copies. */
  size_t spare = s->kind->max_copies ? KEYS * t.most / 2 : 0;
  besom_config config = config_of(s, KEYS * t.most + spare, fpr);
  t.at_once = make_empty(&config);
  t.singly = make_empty(&config);
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), copies = 1 + i % t.most, first = copies / 3;
    insert_singly(t.singly, key, copies);
    if (first) assert_status(BESOM_OK, insert_count_u64(t.at_once, key, first));
    assert_status(BESOM_OK, insert_count_u64(t.at_once, key, copies - first));
  }
  return t;
}

static void assert_twins(const twins *t) {
  assert_equal_counts(t->at_once, t->singly, t->keys);
}

/* insert_count is as many inserts: after removes, save and load, merge and resize, too. */
static void copies_at_once_equal_single_inserts(void **state) {
  const subject *s = subject_of(state);
  for (int log_rate = 4; log_rate <= 16; log_rate += 6) {
    twins t = make_twins(s, 1.0 / (1 << log_rate));
    assert_twins(&t);
    for (size_t i = 0; can(s, BESOM_CAN_REMOVE) && i < t.keys; i += 2) {
      assert_status(BESOM_OK, besom_remove_u64(t.at_once, key_u64(MEMBERS, i)));
      assert_status(BESOM_OK, besom_remove_u64(t.singly, key_u64(MEMBERS, i)));
    }
    assert_twins(&t);
    replace_filter(&t.at_once, loaded_copy(t.at_once));
    assert_twins(&t);
    if (can(s, BESOM_CAN_RESIZE)) {
      uint64_t slots = stats_of(t.at_once).slots;
      assert_status(BESOM_OK, besom_resize(t.at_once, 2 * slots, NULL));
      assert_status(BESOM_OK, besom_resize(t.singly, 2 * slots, NULL));
      assert_twins(&t);
    }
    bool merges = can(s, BESOM_CAN_MERGE | BESOM_CAN_RESIZE);
    besom_filter *twice = merges ? merged(t.at_once, t.at_once) : NULL,
                 *other = merges ? merged(t.at_once, t.singly) : NULL;
    if (merges) assert_equal_counts(twice, other, t.keys);
    besom_free(twice), besom_free(other);
    besom_free(t.at_once), besom_free(t.singly);
  }
}

/* ------------------------------------------------------------------ keys with copies fit */

typedef struct repeats {
  double share;
  uint64_t copies;
} repeats;

/* The first keys have all their copies; half of them are inserted at once. */
static void insert_with_copies(besom_filter *f, size_t keys, const repeats *r) {
  size_t repeated = (size_t)(r->share * (double)keys);
  for (size_t i = 0; i < keys; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
  for (size_t i = 0; i < repeated; i++) {
    uint64_t key = key_u64(MEMBERS, i), more = r->copies - 1;
    if (i % 2)
      assert_status(BESOM_OK, insert_count_u64(f, key, more));
    else
      insert_singly(f, key, (size_t)more);
  }
  for (size_t i = 0; i < keys; i++) {
    uint64_t n = 0;
    assert_status(BESOM_OK, besom_count_u64(f, key_u64(MEMBERS, i), &n));
    assert_true(n >= (i < repeated ? r->copies : 1));
  }
  assert_valid(f);
}

static void assert_takes_repeats(const subject *s, const besom_config *config, const repeats *r) {
  besom_filter *f = make_empty(config);
  besom_statistics stats = stats_of(f);
  assert_true(stats.capacity >= config->capacity);
  assert_true(stats.fpr_at_capacity <= config->fpr);
  insert_with_copies(f, (size_t)config->capacity, r);
  besom_filter *like = NULL, *copy = loaded_copy(f);
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_int_equal(stats_of(like).capacity, stats.capacity);
  assert_int_equal(stats_of(copy).capacity, stats.capacity);
  assert_same_bytes(f, copy);
  if (can(s, BESOM_CAN_RESIZE) && stats.width > 3) {
    assert_status(BESOM_OK, besom_resize(copy, 2 * stats.slots, NULL));
    assert_true(stats_of(copy).capacity > stats.capacity);
    assert_status(BESOM_OK, besom_resize(copy, stats.slots, NULL));
    assert_int_equal(stats_of(copy).capacity, stats.capacity);
  }
  besom_free(f), besom_free(like), besom_free(copy);
}

/* Kinds that do not take the member say so. */
static bool takes_repeats(const besom_config *config) {
  char text[200] = "";
  if (besom_config_check(config, text, sizeof text) == BESOM_OK) return true;
  besom_filter *f = NULL;
  assert_status(BESOM_INVALID, besom_create(config, &f));
  assert_non_null(strstr(text, "repeated"));
  return false;
}

static void capacity_is_of_distinct_keys(void **state) {
  const subject *s = subject_of(state);
  /* kinds without counters are made for a few copies */
  static const repeats some[] = {{1, 2}, {0.5, 3}, {1, 9}, {0.1, 250}, {1, 30}, {0.01, 1000}};
  enum { KEYS = 400 };
  for (size_t i = 0; i < (can(s, BESOM_CAN_VALUE) ? sizeof some / sizeof *some : 3); i++)
    for (int log_rate = 1; log_rate <= 16; log_rate += 5) {
      besom_config config = config_of(s, KEYS, 1.0 / (1 << log_rate));
      config.repeated = some[i].share;
      config.copies = some[i].copies;
      if (!takes_repeats(&config)) return;
      assert_takes_repeats(s, &config, &some[i]);
    }
}

/* A filter that can grow to max_capacity has room for the copies then, too. */
static void repeats_fit_after_growing(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 300 };
  besom_config config = config_of(s, KEYS, 1.0 / 64);
  repeats r = {0.7, can(s, BESOM_CAN_VALUE) ? 250 : 5};
  config.max_capacity = 7 * KEYS;
  config.repeated = r.share;
  config.copies = r.copies;
  if (!takes_repeats(&config)) return;
  besom_filter *f = make_empty(&config);
  while (stats_of(f).capacity < config.max_capacity)
    assert_status(BESOM_OK, besom_resize(f, 2 * stats_of(f).slots, NULL));
  insert_with_copies(f, (size_t)config.max_capacity, &r);
  assert_true(stats_of(f).expected_fpr <= config.fpr || !can(s, BESOM_CAN_VALUE));
  besom_free(f);
}

/* ------------------------------------------------------------------ kinds without copies */

static void a_second_insert_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  if (can(s, BESOM_CAN_COUNT)) skip();
  besom_filter *once = make_of_members(s, 500, 0), *twice = make_of_members(s, 500, 0);
  for (size_t i = 0; i < 500; i++)
    assert_status(BESOM_OK, besom_insert_u64(twice, key_u64(MEMBERS, i)));
  assert_int_equal(stats_of(once).keys, stats_of(twice).keys);
  assert_same_bytes(once, twice);
  besom_free(once);
  besom_free(twice);
}

#define COUNTS (BESOM_CAN_COUNT | BESOM_CAN_INSERT)
#define COUNTS_IN_LITTLE_ROOM \
  (COUNTS | BESOM_CAN_VALUE) /* kinds whose fingerprints may take several slots */

const law multiset_laws[] = {
    LAW(random_operations_match_a_multiset, EVERY_SUBJECT, BESOM_CAN_INSERT | BESOM_CAN_REMOVE),
    LAW(random_operations_match_a_multiset_in_larger_filters, EVERY_SUBJECT,
        BESOM_CAN_INSERT | BESOM_CAN_REMOVE),
    LAW(counts_are_right, EVERY_SUBJECT, BESOM_CAN_INSERT | BESOM_CAN_COUNT),
    LAW(keys_are_removed_in_every_form, EVERY_SUBJECT, BESOM_CAN_INSERT | BESOM_CAN_REMOVE),
    LAW(a_key_of_many_copies_loses_no_other_key, EVERY_SUBJECT, BESOM_CAN_INSERT | BESOM_CAN_COUNT),
    LAW(counts_may_be_large, EVERY_SUBJECT,
        COUNTS_IN_LITTLE_ROOM | BESOM_CAN_REMOVE | BESOM_CAN_MERGE | BESOM_CAN_RESIZE),
    LAW(pairs_of_copies_reach_the_capacity, EVERY_SUBJECT, COUNTS),
    LAW(counts_do_not_overflow, EVERY_KIND, COUNTS),
    LAW(copies_are_inserted_all_or_none, EVERY_SUBJECT, COUNTS | BESOM_CAN_REMOVE),
    LAW(copies_do_not_fit_after_the_last_slot, EVERY_SUBJECT, COUNTS),
    LAW(copies_at_once_equal_single_inserts, EVERY_SUBJECT, COUNTS),
    LAW(capacity_is_of_distinct_keys, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(repeats_fit_after_growing, EVERY_SUBJECT, COUNTS | BESOM_CAN_RESIZE),
    LAW(a_second_insert_changes_nothing, EVERY_SUBJECT, BESOM_CAN_INSERT),
    {0},
};
