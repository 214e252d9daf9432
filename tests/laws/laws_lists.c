/*
 * Kinds with two lists: every key of the yes list is answered yes, every key of the no list no. And
 * kinds that use the no list as a sample of the negative queries.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"

/* The yes list is the first keys of MEMBERS, the no list those of OTHER_MEMBERS. */
typedef struct lists {
  uint64_t *yes, *no;
  size_t n_yes, n_no;
} lists;

static lists lists_new(size_t n_yes, size_t n_no) {
  return (lists){keys_u64(MEMBERS, n_yes), keys_u64(OTHER_MEMBERS, n_no), n_yes, n_no};
}

static void lists_free(lists *l) {
  free(l->yes);
  free(l->no);
}

static besom_status build(const besom_config *config, const lists *l, besom_filter **out) {
  array_source yes, no;
  besom_config one_thread = *config;
  one_thread.flags = 0; /* static kinds have no concurrent changes */
  source_of_u64(&yes, l->yes, l->n_yes);
  source_of_u64(&no, l->no, l->n_no);
  return besom_build(&one_thread, &(besom_input){.yes = &yes.api, .no = &no.api}, out);
}

static void assert_exact(const besom_filter *f, const lists *l) {
  assert_int_equal(count_yes(f, l->yes, l->n_yes), l->n_yes);
  assert_int_equal(count_yes(f, l->no, l->n_no), 0);
  assert_valid(f);
}

/* Lists of all proportions, at high and low FPR; the FPR for keys in neither list holds. */
static void both_lists_are_exact(void **state) {
  const subject *s = subject_of(state);
  if (is_published_form(s)) skip(); /* aqf: there is no form of two lists */
  static const size_t sizes[] = {1, 2, 37, 1000, 8000};
  static const double rates[] = {0.5, 1.0 / 16, 1.0 / 256, 0x1p-20};
  enum { OTHERS = 20000 };
  for (size_t y = 0; y < 5; y++)
    for (size_t n = 0; n < 5; n++)
      for (size_t r = 0; r < 4; r++) {
        lists l = lists_new(sizes[y], sizes[n]);
        besom_config config = config_of(s, 0, rates[r]);
        besom_filter *f = NULL;
        assert_status(BESOM_OK, build(&config, &l, &f));
        assert_exact(f, &l);
        double most = OTHERS * rates[r];
        assert_true((double)count_false_positives(f, OTHERS) <= most + 5 * sqrt(most) + 1);
        besom_filter *copy = loaded_copy(f);
        assert_exact(copy, &l);
        assert_same_bytes(f, copy);
        besom_free(copy);
        besom_free(f);
        lists_free(&l);
      }
}

static void a_key_in_both_lists_is_a_status(void **state) {
  const subject *s = subject_of(state);
  lists l = lists_new(500, 500);
  besom_config config = config_of(s, 0, 0);
  for (size_t i = 0; i < 500; i += 499) {
    uint64_t own = l.no[i];
    besom_filter *f = NULL;
    l.no[i] = l.yes[499 - i];
    assert_status(BESOM_IS_MEMBER, build(&config, &l, &f));
    assert_null(f);
    l.no[i] = own;
  }
  lists_free(&l);
}

/* Three copies of a key have the effect of one. */
static void lists_may_repeat_keys(void **state) {
  const subject *s = subject_of(state);
  lists once = lists_new(300, 900), thrice = {heap_array(900, 8), heap_array(2700, 8), 900, 2700};
  for (size_t i = 0; i < 2700; i++) {
    if (i < 900) thrice.yes[i] = once.yes[i * 7 % 300];
    thrice.no[i] = once.no[i * 7 % 900];
  }
  besom_config config = config_of(s, 300, 1.0 / 64);
  besom_filter *a = NULL, *b = NULL;
  assert_status(BESOM_OK, build(&config, &once, &a));
  assert_status(BESOM_OK, build(&config, &thrice, &b));
  assert_same_bytes(a, b);
  besom_free(a), besom_free(b);
  lists_free(&once), lists_free(&thrice);
}

/* More members than the capacity, or more than the slots can hold. */
static void too_long_lists_are_full(void **state) {
  const subject *s = subject_of(state);
  lists l = lists_new(1000, 5000);
  besom_config config = config_of(s, 999, 1.0 / 64);
  besom_filter *f = NULL;
  assert_status(BESOM_FULL, build(&config, &l, &f));
  if (takes_geometry(s)) {
    config = geometry_of(s, 900, 8);
    assert_status(BESOM_FULL, build(&config, &l, &f));
    config = geometry_of(s, 1200, 8);
    assert_status(BESOM_OK, build(&config, &l, &f));
    assert_exact(f, &l);
    assert_int_equal(stats_of(f).slots, 1200);
    besom_free(f);
  }
  lists_free(&l);
}

/*
 * All digests fall into the last sixteenth of the table: the build makes a larger table or is FULL.
 */
static void clustered_lists_are_built_or_full(void **state) {
  const subject *s = subject_of(state);
  enum { MANY = 2000 };
  lists l = {heap_array(MANY, 8), keys_u64(OTHER_MEMBERS, 10), 0, 10};
  besom_config config = config_of(s, 0, 0);
  besom_config probe = {.kind = "qf", .capacity = 1, .seed = config.seed, .hash = config.hash};
  besom_filter *hashes = make_empty(&probe), *f = NULL;
  for (uint64_t i = 0; l.n_yes < MANY; i++)
    if (besom_hash_u64(hashes, key_u64(MEMBERS, i)).hi >> 60 == 15)
      l.yes[l.n_yes++] = key_u64(MEMBERS, i);
  besom_status status = build(&config, &l, &f);
  assert_true(status == BESOM_OK || (status == BESOM_FULL && !f));
  if (f) assert_exact(f, &l);
  besom_free(f), besom_free(hashes);
  lists_free(&l);
}

static bool stop_at(void *ctx, uint64_t done, uint64_t total) {
  uint64_t *left = ctx;
  assert_true(total == 0 || done <= total);
  return (*left)-- != 0;
}

/* The no list fails, the caller cancels, or memory is short: a status, and nothing is leaked. */
static void building_from_lists_may_fail(void **state) {
  const subject *s = subject_of(state);
  lists l = lists_new(9000, 9000);
  besom_config config = config_of(s, 0, 0);
  besom_filter *f = NULL;
  array_source yes, no;
  source_of_u64(&yes, l.yes, l.n_yes);
  source_of_u64(&no, l.no, l.n_no);
  no.fail_at = 4000;
  no.status = BESOM_IO;
  assert_status(BESOM_IO, besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f));
  for (uint64_t ticks = 0, left = 1; left; ticks++) {
    uint64_t ctx = ticks;
    besom_progress progress = {stop_at, &ctx};
    source_of_u64(&yes, l.yes, l.n_yes);
    source_of_u64(&no, l.no, l.n_no);
    besom_status status = besom_build(
        &config, &(besom_input){.yes = &yes.api, .no = &no.api, .progress = &progress}, &f);
    left = status != BESOM_OK;
    if (left) assert_status(BESOM_CANCELLED, status);
  }
  besom_free(f);
  besom_status status = BESOM_NO_MEMORY;
  for (uint64_t n = 1; status != BESOM_OK; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    config.allocator = &memory.api;
    f = NULL;
    status = build(&config, &l, &f);
    assert_true(status == BESOM_OK || (status == BESOM_NO_MEMORY && !f));
    besom_free(f);
    assert_no_error(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  lists_free(&l);
}

/* A static kind rejects inserts, but supports removes and additions to the no list. */
static void a_static_filter_rejects_inserts_only(void **state) {
  const subject *s = subject_of(state);
  if (is_published_form(s)) skip(); /* aqf: there is no form of two lists */
  enum { N = 2000 };
  lists l = lists_new(N, 3 * N);
  besom_config config = config_of(s, 0, 1.0 / 16);
  besom_filter *f = NULL;
  assert_status(BESOM_OK, build(&config, &l, &f));
  unsigned abilities = besom_abilities(f);
  assert_int_equal(stats_of(f).keys, N);
  assert_false(abilities & BESOM_CAN_INSERT);
  assert_status(BESOM_UNSUPPORTED, besom_insert_u64(f, 1));
  if (abilities & BESOM_CAN_NO_LIST)
    for (size_t i = 0; i < 50; i++) {
      uint64_t key = key_u64(NEGATIVES, i);
      assert_status(BESOM_OK, i % 2 ? no_add_u64(f, key) : besom_adapt_u64(f, key));
      assert_false(besom_contains_u64(f, key));
    }
  if (abilities & BESOM_CAN_REMOVE)
    for (; l.n_yes > N / 2; l.n_yes--)
      assert_status(BESOM_OK, besom_remove_u64(f, l.yes[l.n_yes - 1]));
  assert_exact(f, &l);
  besom_free(f);
  lists_free(&l);
}

/* ------------------------------------------------------------------ lists that change */

enum { UNIVERSE = 400 };

static void assert_lists(const besom_filter *f, const bool *yes, const bool *no) {
  for (uint64_t i = 0; i < UNIVERSE; i++) {
    if (yes[i]) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
    if (no[i]) assert_false(besom_contains_u64(f, key_u64(MEMBERS, i)));
  }
}

/* Keys move between the lists of a filter with an FPR of 1/4, which stays exact on both lists. */
static void both_lists_may_change_at_any_time(void **state) {
  const subject *s = subject_of(state);
  bool yes[UNIVERSE] = {false}, no[UNIVERSE] = {false};
  besom_config config = config_of(s, UNIVERSE, 0.25);
  config.reserve = 0.25;
  besom_filter *f = make_empty(&config);
  random_stream random = {7};
  size_t full = 0, added = 0;
  for (size_t step = 0; step < 20000; step++) {
    size_t i = (size_t)random_below(&random, UNIVERSE);
    uint64_t key = key_u64(MEMBERS, i);
    if (step % 2 == 0) {
      assert_status(BESOM_OK, yes[i] ? besom_remove_u64(f, key) : besom_insert_u64(f, key));
      yes[i] = !yes[i];
      no[i] = false; /* inserting a key removes it from the no list */
    } else if (!yes[i]) {
      besom_status status = no[i] ? no_remove_u64(f, key) : no_add_u64(f, key);
      full += status == BESOM_RESERVE_FULL;
      added += status == BESOM_OK && !no[i];
      if (status == BESOM_OK)
        no[i] = !no[i];
      else
        assert_status(BESOM_RESERVE_FULL, status);
      if (!no[i]) assert_status(BESOM_NOT_FOUND, no_remove_u64(f, key));
    }
    if (step % 50 == 0) {
      assert_lists(f, yes, no);
      assert_valid(f);
    }
    if (step % 5000 == 4999) replace_filter(&f, loaded_copy(f));
  }
  assert_true(full > 0 && added > 100); /* every case has occurred */
  besom_free(f);
}

/* ------------------------------------------------------------------ samples */

/*
 * Whatever the sample holds, members included: no member is answered no, also after save and load.
 */
static void a_sample_causes_no_false_negative(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {1, 50, 3000};
  for (size_t y = 0; y < 3; y++)
    for (size_t n = 0; n < 3; n++) {
      lists l = lists_new(sizes[y], sizes[n]);
      besom_config config = config_of(s, 0, 1.0 / 64);
      besom_filter *f = NULL;
      l.no[sizes[n] / 2] = l.yes[sizes[y] / 2];
      assert_status(BESOM_OK, build(&config, &l, &f));
      besom_filter *copy = loaded_copy(f);
      assert_int_equal(count_yes(f, l.yes, l.n_yes), l.n_yes);
      assert_int_equal(count_yes(copy, l.yes, l.n_yes), l.n_yes);
      assert_valid(f);
      assert_same_bytes(f, copy);
      besom_free(copy);
      besom_free(f);
      lists_free(&l);
    }
}

/* The no list holds no_capacity keys, whatever the size of the filter; also after save and grow. */
static void a_no_list_has_its_capacity(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0.01);
  config.no_capacity = 5000;
  config.max_capacity = 400;
  uint64_t *keys = keys_u64(MEMBERS, 100);
  besom_filter *f = make_of_u64(s, &config, keys, 100);
  for (size_t i = 0; i < 2500; i++) assert_status(BESOM_OK, no_add_u64(f, key_u64(NEGATIVES, i)));
  replace_filter(&f, loaded_copy(f));
  if (can(s, BESOM_CAN_RESIZE))
    assert_status(BESOM_OK, besom_resize(f, 2 * stats_of(f).slots, NULL));
  for (size_t i = 2500; i < 5000; i++)
    assert_status(BESOM_OK, no_add_u64(f, key_u64(NEGATIVES, i)));
  assert_valid(f);
  assert_holds_u64(f, keys, 100);
  assert_int_equal(count_false_positives(f, 5000), 0);
  besom_free(f);
  free(keys);
}

const law list_laws[] = {
    LAW(both_lists_are_exact, EVERY_SUBJECT, BESOM_CAN_BUILD_NO),
    LAW(a_key_in_both_lists_is_a_status, EVERY_KIND, BESOM_CAN_BUILD_NO),
    LAW(lists_may_repeat_keys, EVERY_KIND, BESOM_CAN_BUILD_NO),
    LAW(too_long_lists_are_full, EVERY_KIND, BESOM_CAN_BUILD_NO),
    LAW(clustered_lists_are_built_or_full, EVERY_KIND, BESOM_CAN_BUILD_NO),
    LAW(building_from_lists_may_fail, EVERY_KIND, BESOM_CAN_BUILD_NO),
    LAW(building_from_lists_may_fail, EVERY_KIND, BESOM_TAKES_SAMPLE),
    LAW(a_sample_causes_no_false_negative, EVERY_SUBJECT, BESOM_TAKES_SAMPLE),
    LAW(a_static_filter_rejects_inserts_only, EVERY_SUBJECT, BESOM_CAN_BUILD_NO),
    LAW(both_lists_may_change_at_any_time, EVERY_SUBJECT,
        BESOM_CAN_NO_LIST | BESOM_CAN_INSERT | BESOM_CAN_REMOVE),
    LAW(a_no_list_has_its_capacity, EVERY_SUBJECT, BESOM_CAN_NO_LIST),
    {0},
};
