/* Kinds that adapt by a cache: what was reported last is denied, no member ever is, and there is always room. */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"

enum { MEMBERS_IN = 2000, FEW = 8, MANY = 1500 };

/* Half full, and wrong about every thirtieth key or so. */
static besom_filter *make_wrong(const subject *s) {
  besom_config config = config_of(s, 2 * MEMBERS_IN, 1.0 / 16);
  config.max_capacity = 16 * MEMBERS_IN;
  uint64_t *keys = keys_u64(MEMBERS, MEMBERS_IN);
  besom_filter *f = make_of_u64(s, &config, keys, MEMBERS_IN);
  free(keys);
  return f;
}

static void report(besom_filter *f, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_status(BESOM_OK, besom_adapt_u64(f, keys[i]));
    assert_false(besom_contains_u64(f, keys[i]));
  }
}

static void assert_holds_members(const besom_filter *f) {
  uint64_t *keys = keys_u64(MEMBERS, MEMBERS_IN);
  assert_holds_u64(f, keys, MEMBERS_IN);
  assert_valid(f);
  free(keys);
}

/* Far more reports than there are places: none is refused, none takes memory, and those that are kept are denied. */
static void there_is_always_room_for_a_report(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_wrong(s);
  uint64_t *wrong = false_positives_of(f, MANY), bytes = stats_of(f).bytes;
  for (int round = 0; round < 3; round++) report(f, wrong, MANY);
  besom_statistics stats = stats_of(f);
  assert_int_equal(stats.bytes, bytes);
  assert_true(stats.marks > 0 && stats.marks < MANY);
  assert_true(stats.reserve_used > 0.5 && stats.reserve_used <= 1);
  assert_int_equal(count_yes(f, wrong, MANY), MANY - stats.marks);
  assert_holds_members(f);
  free(wrong);
  besom_free(f);
}

/* As many as have room wherever they fall: they stay through everything but being inserted. */
static void a_few_reports_are_kept(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_wrong(s), *copy = NULL;
  uint64_t *wrong = false_positives_of(f, FEW);
  report(f, wrong, FEW);
  assert_int_equal(stats_of(f).marks, FEW);
  for (size_t i = 0; i < MEMBERS_IN; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MORE_MEMBERS, i)));
  if (can(s, BESOM_CAN_REMOVE))
    for (size_t i = 0; i < MEMBERS_IN; i++)
      assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MORE_MEMBERS, i)));
  if (can(s, BESOM_CAN_RESIZE)) assert_status(BESOM_OK, besom_grow(f, 2 * stats_of(f).slots));
  memory_sink saved;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
  assert_int_equal(count_yes(f, wrong, FEW), 0);
  assert_int_equal(count_yes(copy, wrong, FEW), 0);
  assert_same_bytes(f, copy);
  assert_holds_members(copy);
  memory_sink_close(&saved);
  besom_free(copy);
  free(wrong);
  besom_free(f);
}

/* Reporting what is denied, by the cache or by the filter, leaves no trace in a saved one. */
static void reporting_a_no_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_wrong(s);
  uint64_t *wrong = false_positives_of(f, FEW);
  memory_sink before, after;
  report(f, wrong, FEW);
  save_to(&before, f);
  for (int round = 0; round < 2; round++) report(f, wrong, FEW);
  for (size_t i = 0; i < 1000; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(f, key)) assert_status(BESOM_OK, besom_adapt_u64(f, key));
  }
  save_to(&after, f);
  assert_true(memory_sinks_equal(&before, &after));
  memory_sink_close(&before);
  memory_sink_close(&after);
  free(wrong);
  besom_free(f);
}

/* In every way in which a key can come in. */
static void inserting_a_reported_key_makes_it_a_member(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_wrong(s), *other = NULL, *merged = NULL;
  uint64_t *wrong = false_positives_of(f, FEW);
  report(f, wrong, FEW);
  assert_status(BESOM_OK, besom_insert_u64(f, wrong[0]));
  assert_status(BESOM_OK, besom_insert_many_u64(f, wrong + 1, 2, NULL));
  assert_int_equal(count_yes(f, wrong, 3), 3);
  assert_int_equal(count_yes(f, wrong, FEW), 3);
  if (can(s, BESOM_CAN_MERGE)) {
    assert_status(BESOM_OK, besom_create_like(f, &other));
    assert_status(BESOM_OK, besom_insert_many_u64(other, wrong + 3, 2, NULL));
    for (int order = 0; order < 2; order++) {
      assert_status(BESOM_OK,
                    order ? besom_merge(other, f, &merged) : besom_merge(f, other, &merged));
      assert_int_equal(count_yes(merged, wrong, 5), 5);
      /* The others stay denied where both filters deny them. */
      for (size_t i = 5; i < FEW; i++)
        if (!besom_contains_u64(other, wrong[i]))
          assert_false(besom_contains_u64(merged, wrong[i]));
      assert_holds_members(merged);
      besom_free(merged);
    }
  }
  /* A member that was reported by mistake is mended by inserting it again. */
  assert_status(BESOM_OK, besom_adapt_u64(f, key_u64(MEMBERS, 0)));
  assert_false(besom_contains_u64(f, key_u64(MEMBERS, 0)));
  assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, 0)));
  assert_holds_members(f);
  besom_free(other);
  free(wrong);
  besom_free(f);
}

/* Random inserts, removes and reports against a plain array: no member is ever denied. */
static void reports_never_hide_a_member(void **state) {
  const subject *s = subject_of(state);
  enum { UNIVERSE = 300, STEPS = 20000 };
  besom_config config = config_of(s, 20000, 0.25);
  besom_filter *f = make_empty(&config);
  uint64_t copies[UNIVERSE] = {0};
  random_stream random = {3};
  for (size_t step = 0; step < STEPS; step++) {
    size_t i = (size_t)random_below(&random, UNIVERSE);
    uint64_t key = key_u64(MEMBERS, i), action = random_below(&random, 3);
    if (action == 0 && copies[i] < 20) {
      assert_status(BESOM_OK, besom_insert_u64(f, key));
      copies[i]++;
    } else if (action == 1 && copies[i] && can(s, BESOM_CAN_REMOVE)) {
      assert_status(BESOM_OK, besom_remove_u64(f, key));
      copies[i]--;
    } else if (!copies[i]) {
      assert_status(BESOM_OK, besom_adapt_u64(f, key));
      assert_false(besom_contains_u64(f, key));
    }
    i = (size_t)random_below(&random, UNIVERSE);
    assert_true(!copies[i] || besom_contains_u64(f, key_u64(MEMBERS, i)));
  }
  for (size_t i = 0; i < UNIVERSE; i++)
    assert_true(!copies[i] || besom_contains_u64(f, key_u64(MEMBERS, i)));
  assert_valid(f);
  besom_free(f);
}

/* A new seed: members are there, nothing is learnt but the last of the keys to be answered no. */
static void rekeying_begins_anew(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_wrong(s);
  uint64_t *wrong = false_positives_of(f, FEW), *members = keys_u64(MEMBERS, MEMBERS_IN);
  array_source yes, no;
  report(f, wrong, FEW);
  source_of_u64(&yes, members, MEMBERS_IN);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, NULL, (const uint8_t *)"another besom's"));
  assert_int_equal(stats_of(f).marks, 0);
  assert_holds_members(f);
  source_of_u64(&yes, members, MEMBERS_IN);
  source_of_u64(&no, wrong, FEW);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, &no.api, fixed_seed));
  assert_int_equal(count_yes(f, wrong, FEW), 0);
  assert_holds_members(f);
  free(members);
  free(wrong);
  besom_free(f);
}

enum { CACHES = BESOM_CAN_INSERT | BESOM_CAN_ADAPT | BESOM_FORGETS };

const law cache_laws[] = {
    LAW(there_is_always_room_for_a_report, EVERY_SUBJECT, CACHES),
    LAW(a_few_reports_are_kept, EVERY_SUBJECT, CACHES),
    LAW(reporting_a_no_changes_nothing, EVERY_SUBJECT, CACHES),
    LAW(inserting_a_reported_key_makes_it_a_member, EVERY_SUBJECT, CACHES),
    LAW(reports_never_hide_a_member, EVERY_SUBJECT, CACHES),
    LAW(rekeying_begins_anew, EVERY_SUBJECT, CACHES | BESOM_CAN_REKEY),
    {0},
};
