/*
 * Kinds that adapt with a cache: the latest reports are answered no, members are answered yes, no
 * report fails, and a report that drops an older one says so.
 */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"

enum { MEMBERS_IN = 2000, FEW = 8, MANY = 1500, MANY_REKEYED = 30000 };

/* Half full, with a false-positive rate of about 1/30. */
static besom_filter *make_filter(const subject *s) {
  besom_config config = config_of(s, 2 * MEMBERS_IN, 1.0 / 16);
  config.max_capacity = 16 * MEMBERS_IN;
  uint64_t *keys = keys_u64(MEMBERS, MEMBERS_IN);
  besom_filter *f = make_of_u64(s, &config, keys, MEMBERS_IN);
  free(keys);
  return f;
}

static bool has_adapted(besom_status status) {
  return status == BESOM_OK || status == BESOM_EVICTED;
}

static void report(besom_filter *f, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_true(has_adapted(besom_adapt_u64(f, keys[i])));
    assert_false(besom_contains_u64(f, keys[i]));
  }
}

static void assert_holds_members(const besom_filter *f) {
  uint64_t *keys = keys_u64(MEMBERS, MEMBERS_IN);
  assert_holds_u64(f, keys, MEMBERS_IN);
  assert_valid(f);
  free(keys);
}

/*
 * More reports than cache entries: none fails or allocates, and the keys in the cache are answered
 * no.
 */
static void a_report_never_fails(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s);
  uint64_t *wrong = false_positives_of(f, MANY), bytes = stats_of(f).bytes;
  for (int round = 0; round < 3; round++) report(f, wrong, MANY);
  besom_statistics stats = stats_of(f);
  uint64_t kept = counter_of(f, "exceptions");
  assert_int_equal(stats.bytes, bytes);
  assert_true(kept > 0 && kept < MANY);
  assert_true(stats.reserve_used > 0.5 && stats.reserve_used <= 1);
  assert_int_equal(count_yes(f, wrong, MANY), MANY - kept);
  assert_holds_members(f);
  free(wrong);
  besom_free(f);
}

/* EVICTED exactly if a new key is in the cache afterwards, and as many keys as before. */
static void a_report_that_drops_another_is_EVICTED(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s);
  uint64_t *wrong = false_positives_of(f, MANY), evicted = 0;
  for (size_t i = 0; i < MANY; i++) {
    uint64_t before = counter_of(f, "exceptions");
    besom_status status = besom_adapt_u64(f, wrong[i]);
    assert_status(counter_of(f, "exceptions") == before ? BESOM_EVICTED : BESOM_OK, status);
    assert_status(BESOM_OK, besom_adapt_u64(f, wrong[i])); /* it is in the cache */
    evicted += status == BESOM_EVICTED;
  }
  assert_int_equal(counter_of(f, "exceptions"), MANY - evicted);
  assert_true(evicted > 0 && evicted < MANY);
  free(wrong);
  besom_free(f);
}

/* As many as fit even if all are in one cache bucket: they stay fixed until they are inserted. */
static void a_few_reports_are_kept(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s), *copy = NULL;
  uint64_t *wrong = false_positives_of(f, FEW);
  report(f, wrong, FEW);
  assert_int_equal(counter_of(f, "exceptions"), FEW);
  for (size_t i = 0; i < MEMBERS_IN; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MORE_MEMBERS, i)));
  if (can(s, BESOM_CAN_REMOVE))
    for (size_t i = 0; i < MEMBERS_IN; i++)
      assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MORE_MEMBERS, i)));
  if (can(s, BESOM_CAN_RESIZE))
    assert_status(BESOM_OK, besom_resize(f, 2 * stats_of(f).slots, NULL));
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

/* Reporting a key that the cache or the filter answers no to does not change the saved bytes. */
static void reporting_a_no_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s);
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

/* By every function that inserts. */
static void inserting_a_reported_key_makes_it_a_member(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s), *other = NULL, *merged = NULL;
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
      /* Keys that both filters answer no to stay fixed. */
      for (size_t i = 5; i < FEW; i++)
        if (!besom_contains_u64(other, wrong[i]))
          assert_false(besom_contains_u64(merged, wrong[i]));
      assert_holds_members(merged);
      besom_free(merged);
    }
  }
  /* Reporting a member is an error of the caller; inserting it again repairs it. */
  assert_status(BESOM_OK, besom_adapt_u64(f, key_u64(MEMBERS, 0)));
  assert_false(besom_contains_u64(f, key_u64(MEMBERS, 0)));
  assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MEMBERS, 0)));
  assert_holds_members(f);
  besom_free(other);
  free(wrong);
  besom_free(f);
}

/* Random inserts, removes and reports, checked against an array: no member is answered no. */
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
      assert_true(has_adapted(besom_adapt_u64(f, key)));
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

/* After rekeying, members are answered yes, and the cache has only the last keys of the no list. */
static void rekeying_empties_the_cache(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_filter(s);
  uint64_t *wrong = false_positives_of(f, FEW), *members = keys_u64(MEMBERS, MEMBERS_IN);
  array_source yes, no;
  report(f, wrong, FEW);
  source_of_u64(&yes, members, MEMBERS_IN);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, NULL, (const uint8_t *)"another besom's", NULL));
  assert_int_equal(counter_of(f, "exceptions"), 0);
  assert_holds_members(f);
  source_of_u64(&yes, members, MEMBERS_IN);
  source_of_u64(&no, wrong, FEW);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, &no.api, fixed_seed, NULL));
  assert_int_equal(count_yes(f, wrong, FEW), 0);
  free(wrong);
  wrong = keys_u64(NEGATIVES, MANY_REKEYED); /* more false positives than the cache holds */
  source_of_u64(&yes, members, MEMBERS_IN);
  source_of_u64(&no, wrong, MANY_REKEYED);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, &no.api, fixed_seed, NULL));
  assert_int_equal(count_yes(f, wrong + MANY_REKEYED - FEW, FEW), 0);
  assert_holds_members(f);
  free(members);
  free(wrong);
  besom_free(f);
}

enum { CACHES = BESOM_CAN_INSERT | BESOM_CAN_ADAPT | BESOM_FORGETS };

const law cache_laws[] = {
    LAW(a_report_never_fails, EVERY_SUBJECT, CACHES),
    LAW(a_report_that_drops_another_is_EVICTED, EVERY_SUBJECT, CACHES),
    LAW(a_few_reports_are_kept, EVERY_SUBJECT, CACHES),
    LAW(reporting_a_no_changes_nothing, EVERY_SUBJECT, CACHES),
    LAW(inserting_a_reported_key_makes_it_a_member, EVERY_SUBJECT, CACHES),
    LAW(reports_never_hide_a_member, EVERY_SUBJECT, CACHES),
    LAW(rekeying_empties_the_cache, EVERY_SUBJECT, CACHES | BESOM_CAN_REKEY),
    {0},
};
