/* Growing and shrinking change no answer; iterating returns every item once. */
#include <math.h>
#include <stdlib.h>

#include "filters.h"
#include "support/reference.h"

enum { CAPACITY = 4000, MAX_CAPACITY = 8 * CAPACITY, QUERIES = 20000 };

static besom_config growing_config(const subject *s, double rate) {
  besom_config config = config_of(s, CAPACITY, rate);
  config.max_capacity = MAX_CAPACITY;
  return config;
}

/* The answers and stored entries of a filter, for a later comparison. */
typedef struct picture {
  bool yes[QUERIES];
  address *stored;
  size_t n;
} picture;

static picture *take_picture(const besom_filter *f) {
  picture *p = malloc(sizeof *p);
  assert_non_null(p);
  for (size_t i = 0; i < QUERIES; i++) p->yes[i] = besom_contains_u64(f, key_u64(NEGATIVES, i));
  p->stored = stored_addresses(f, &p->n);
  assert_non_null(p->stored);
  return p;
}

static void free_picture(picture *p) {
  free(p->stored);
  free(p);
}

static void assert_looks_like(const besom_filter *f, const picture *before) {
  picture *now = take_picture(f);
  assert_memory_equal(now->yes, before->yes, sizeof now->yes);
  assert_int_equal(now->n, before->n);
  assert_memory_equal(now->stored, before->stored, now->n * sizeof *now->stored);
  assert_valid(f);
  free_picture(now);
}

/* Inserts the members from..to. */
static void insert_members(besom_filter *f, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
}

static void assert_holds_members(const besom_filter *f, size_t n) {
  uint64_t *keys = keys_u64(MEMBERS, n);
  assert_holds_u64(f, keys, n);
  free(keys);
}

static void resize_unnoticed(besom_filter *f, uint64_t slots) {
  picture *before = take_picture(f);
  assert_status(BESOM_OK, besom_resize(f, slots, NULL));
  assert_int_equal(stats_of(f).slots, slots);
  assert_looks_like(f, before);
  free_picture(before);
}

/* Filled and doubled, three times; the FPR holds up to max_capacity. Then shrunk again. */
static void growing_and_shrinking_change_no_answer(void **state) {
  const subject *s = subject_of(state);
  const double rate = 1.0 / 128;
  besom_config config = growing_config(s, rate);
  besom_filter *f = make_empty(&config);
  uint64_t slots = stats_of(f).slots;
  insert_members(f, 0, CAPACITY);
  for (unsigned k = 1; k <= 3; k++) {
    resize_unnoticed(f, slots << k);
    assert_true(stats_of(f).capacity >= (uint64_t)CAPACITY << k);
    insert_members(f, (size_t)CAPACITY << (k - 1), (size_t)CAPACITY << k);
    assert_holds_members(f, (size_t)CAPACITY << k);
  }
  double wrong = (double)count_false_positives(f, 200000), expected = rate * 200000;
  assert_true(wrong <= 1.1 * expected + 4 * sqrt(expected));
  for (unsigned k = 3; can(s, BESOM_CAN_REMOVE) && k-- > 0;) {
    size_t left = (size_t)CAPACITY << k;
    assert_status(BESOM_FULL, besom_resize(f, slots << k, NULL));
    for (size_t i = left; i < 2 * left; i++)
      assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MEMBERS, i)));
    resize_unnoticed(f, slots << k);
    assert_holds_members(f, left);
  }
  besom_free(f);
}

/* Several doublings in one call; also of an empty filter, and of tables of few slots. */
static void growing_by_any_power_of_two_works(void **state) {
  const subject *s = subject_of(state);
  if (!takes_geometry(s)) skip();
  for (uint64_t slots = 1; slots <= 100; slots = slots * 3 + 1)
    for (unsigned doublings = 0; doublings <= 7; doublings++) {
      besom_config config = geometry_of(s, slots, 12);
      besom_filter *f = make_empty(&config);
      size_t n = (size_t)stats_of(f).capacity;
      resize_unnoticed(f, slots << doublings);
      resize_unnoticed(f, slots);
      insert_members(f, 0, n);
      resize_unnoticed(f, slots << doublings);
      assert_int_equal(stats_of(f).width, 12 - doublings);
      assert_holds_members(f, n);
      resize_unnoticed(f, slots);
      assert_int_equal(stats_of(f).width, 12);
      assert_holds_members(f, n);
      besom_free(f);
    }
}

/* Counters take more slots when slots are narrower, but that does not reduce the capacity. */
static void a_grown_filter_of_copies_takes_its_capacity(void **state) {
  const subject *s = subject_of(state);
  if (!takes_geometry(s)) skip();
  for (uint32_t width = 10; width > 3; width--) {
    besom_config config = geometry_of(s, 300, width);
    besom_filter *f = make_empty(&config);
    for (size_t i = 0; i < 120; i++)
      for (size_t copy = 0; copy < 1 + i % 3; copy++)
        assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i)));
    resize_unnoticed(f, 600);
    size_t i = 120;
    while (stats_of(f).keys < stats_of(f).capacity)
      assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, i++)));
    assert_holds_members(f, i);
    besom_free(f);
  }
}

/* A grown filter and its copies are equal after save and load. */
static void a_grown_filter_is_saved_as_it_is(void **state) {
  const subject *s = subject_of(state);
  besom_config config = growing_config(s, 0.01);
  besom_filter *f = make_empty(&config), *copy = NULL, *like = NULL, *merged = NULL;
  insert_members(f, 0, CAPACITY);
  uint64_t slots = stats_of(f).slots;
  besom_filter *small = NULL;
  assert_status(BESOM_OK, besom_create_like(f, &small));
  assert_status(BESOM_OK, besom_resize(f, 4 * slots, NULL));
  memory_sink saved;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
  assert_same_bytes(copy, f);
  assert_status(BESOM_OK, besom_resize(copy, 8 * slots, NULL));
  assert_holds_members(copy, CAPACITY);
  assert_status(BESOM_INCOMPATIBLE, besom_merge(f, small, &merged));
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_status(BESOM_OK, besom_merge(f, like, &merged));
  assert_holds_members(merged, CAPACITY);
  memory_sink_close(&saved);
  besom_free(copy);
  besom_free(like);
  besom_free(small);
  besom_free(merged);
  besom_free(f);
}

static void impossible_slots_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_config config = growing_config(s, 0.01);
  besom_filter *f = make_empty(&config);
  insert_members(f, 0, 100);
  uint64_t slots = stats_of(f).slots;
  uint32_t width = stats_of(f).width;
  picture *before = take_picture(f);
  const uint64_t wrong[] = {0,         slots + 1,  slots * 3,        slots * 2 - 1, slots * 2 + 1,
                            slots * 6, UINT64_MAX, UINT64_C(1) << 63};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    besom_task *task = NULL;
    assert_status(BESOM_INVALID, besom_resize(f, wrong[i], NULL));
    assert_status(BESOM_INVALID, besom_resize(f, wrong[i], &task));
    assert_null(task);
  }
  if (slots % 2) assert_status(BESOM_INVALID, besom_resize(f, slots / 2, NULL));
  if (width < 40)
    assert_status(BESOM_INVALID, besom_resize(f, slots << width, NULL)); /* no remainder bit left */
  assert_int_equal(stats_of(f).slots, slots);
  assert_looks_like(f, before);
  free_picture(before);
  besom_free(f);
}

static void growing_is_unsupported_elsewhere(void **state) {
  const subject *s = subject_of(state);
  if (can(s, BESOM_CAN_RESIZE)) skip();
  besom_filter *f = make_of_members(s, 10, 0);
  assert_status(BESOM_UNSUPPORTED, besom_resize(f, 2 * stats_of(f).slots, NULL));
  assert_status(BESOM_UNSUPPORTED, besom_resize(f, stats_of(f).slots / 2, NULL));
  besom_task *task = NULL;
  assert_status(BESOM_UNSUPPORTED, besom_resize(f, 2 * stats_of(f).slots, &task));
  assert_status(BESOM_UNSUPPORTED, besom_resize(f, stats_of(f).slots / 2, &task));
  assert_null(task);
  besom_free(f);
}

/* stored_addresses checks order, range and number, and that END is returned again. */
static void iterating_gives_every_item_once(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {1, 2, 63, 64, 65, 1000, 20000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t n = 0;
    besom_filter *f = make_of_members(s, sizes[i], 1.0 / 16);
    address *stored = stored_addresses(f, &n);
    assert_non_null(stored);
    assert_int_equal(n, sizes[i]);
    free(stored);
    besom_free(f);
  }
}

static void iterating_an_empty_filter_ends_at_once(void **state) {
  const subject *s = subject_of(state);
  for (size_t capacity = 1; capacity < 200; capacity += 21) {
    besom_config config = config_of(s, capacity, 0);
    besom_filter *f = make_empty(&config);
    besom_iter iter = {.filter = f};
    besom_entry entry;
    assert_status(BESOM_END, besom_iter_next(&iter, &entry));
    assert_status(BESOM_END, besom_iter_next(&iter, &entry));
    besom_free(f);
  }
}

/* Two iterators over one filter; one is left early. A copy goes on where its original was. */
static void iterators_are_independent(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 100, 0);
  besom_iter a = {.filter = f}, b = {.filter = f};
  besom_entry of_a, of_b;
  for (int i = 0; i < 50; i++) assert_status(BESOM_OK, besom_iter_next(&a, &of_a));
  for (int i = 0; i < 50; i++) assert_status(BESOM_OK, besom_iter_next(&b, &of_b));
  assert_int_equal(of_a.quotient, of_b.quotient);
  assert_int_equal(of_a.remainder, of_b.remainder);
  besom_iter copy = b;
  assert_status(BESOM_OK, besom_iter_next(&b, &of_b));
  assert_status(BESOM_OK, besom_iter_next(&copy, &of_a));
  assert_int_equal(of_a.quotient, of_b.quotient);
  assert_int_equal(of_a.remainder, of_b.remainder);
  besom_free(f);
}

enum { GROWING = BESOM_CAN_INSERT | BESOM_CAN_RESIZE | BESOM_CAN_ITERATE };

const law growth_laws[] = {
    LAW(growing_and_shrinking_change_no_answer, EVERY_SUBJECT, GROWING),
    LAW(growing_by_any_power_of_two_works, EVERY_SUBJECT, GROWING),
    LAW(a_grown_filter_of_copies_takes_its_capacity, EVERY_SUBJECT,
        BESOM_CAN_RESIZE | BESOM_CAN_ITERATE),
    LAW(a_grown_filter_is_saved_as_it_is, EVERY_SUBJECT, GROWING | BESOM_CAN_MERGE),
    LAW(impossible_slots_are_invalid, EVERY_KIND, GROWING),
    LAW(growing_is_unsupported_elsewhere, EVERY_KIND, 0),
    LAW(iterating_gives_every_item_once, EVERY_SUBJECT, BESOM_CAN_ITERATE),
    LAW(iterating_an_empty_filter_ends_at_once, EVERY_SUBJECT,
        BESOM_CAN_ITERATE | BESOM_CAN_INSERT),
    LAW(iterators_are_independent, EVERY_KIND, BESOM_CAN_ITERATE | BESOM_CAN_COUNT),
    {0},
};
