/*
 * Kinds that adapt without a store: a fixed false positive stays fixed, no member is lost, and a
 * full reserve is a status.
 */
#include <stdlib.h>

#include "filters.h"
#include "support/heap.h"

enum { MANY = 2000, ENOUGH = 90 };

/* Skips kinds that need a store to adapt. */
static const subject *adapting_subject(void **state) {
  const subject *s = subject_of(state);
  if (!adapts_without_keys(s)) skip();
  return s;
}

/* Half full, a false-positive rate of about 1/30, and a large reserve. */
static besom_config adapting_config(const subject *s) {
  besom_config config = config_of(s, 2 * MANY, 1.0 / 16);
  config.max_capacity = 16 * MANY;
  config.reserve = 0.4;
  return config;
}

/* A kind with a cache may have dropped an older report for it. */
static void adapt_all(besom_filter *f, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    besom_status status =
        i % 2 ? besom_adapt_u64(f, keys[i]) : besom_adapt_digest(f, besom_hash_u64(f, keys[i]));
    if (!(status == BESOM_EVICTED && besom_abilities(f) & BESOM_FORGETS))
      assert_status(BESOM_OK, status);
    assert_false(besom_contains_u64(f, keys[i]));
  }
}

/* A filter, its members, and the false positives that were fixed. */
typedef struct fixture {
  besom_filter *f;
  uint64_t *members, *fixed;
  size_t from, to; /* the members in the filter: members[from] .. members[to - 1] */
} fixture;

static fixture fixture_new(const subject *s) {
  besom_config config = adapting_config(s);
  fixture x = {.members = keys_u64(MEMBERS, 2 * MANY), .to = MANY};
  x.f = make_of_u64(s, &config, x.members, MANY);
  x.fixed = false_positives_of(x.f, ENOUGH);
  return x;
}

static void fixture_free(fixture *x) {
  besom_free(x->f);
  free(x->members);
  free(x->fixed);
}

static void assert_still_fixed(const fixture *x) {
  assert_valid(x->f);
  assert_int_equal(count_yes(x->f, x->fixed, ENOUGH), 0);
  assert_holds_u64(x->f, x->members + x->from, x->to - x->from);
}

static void a_fixed_false_positive_stays_fixed(void **state) {
  const subject *s = adapting_subject(state);
  fixture x = fixture_new(s);
  assert_int_equal(count_yes(x.f, x.fixed, ENOUGH), ENOUGH);
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_still_fixed(&x);
  for (; can(s, BESOM_CAN_REMOVE) && x.from < MANY / 2; x.from++)
    assert_status(BESOM_OK, besom_remove_u64(x.f, x.members[x.from]));
  assert_still_fixed(&x);
  for (; x.to < 3 * MANY / 2; x.to++)
    assert_status(BESOM_OK, besom_insert_u64(x.f, x.members[x.to]));
  assert_still_fixed(&x);
  assert_status(BESOM_OK, besom_insert_many_u64(x.f, x.members + x.to, MANY / 2, NULL));
  x.to = 2 * MANY;
  assert_still_fixed(&x);
  replace_filter(&x.f, loaded_copy(x.f));
  assert_still_fixed(&x);
  if (can(s, BESOM_CAN_RESIZE)) {
    uint64_t slots = stats_of(x.f).slots;
    assert_status(BESOM_OK, besom_resize(x.f, 4 * slots, NULL));
    assert_still_fixed(&x);
    assert_status(BESOM_OK, besom_resize(x.f, slots, NULL));
    assert_still_fixed(&x);
  }
  fixture_free(&x);
}

/* A key that was fixed in x and that `other` answers no to stays fixed. No member is lost. */
static void assert_merged_correctly(const fixture *x, const besom_filter *other,
                                    const uint64_t *others, size_t n, bool first) {
  besom_filter *both = first ? merged(x->f, other) : merged(other, x->f);
  assert_valid(both);
  assert_holds_u64(both, x->members + x->from, x->to - x->from);
  assert_holds_u64(both, others, n);
  size_t denied = 0;
  for (size_t i = 0; i < ENOUGH; i++)
    if (!besom_contains_u64(other, x->fixed[i])) {
      assert_false(besom_contains_u64(both, x->fixed[i]));
      denied++;
    }
  assert_true(denied > ENOUGH / 2);
  besom_free(both);
}

static void what_was_fixed_stays_fixed_in_a_merged_filter(void **state) {
  const subject *s = adapting_subject(state);
  enum { OTHERS = MANY / 2 };
  fixture x = fixture_new(s);
  uint64_t *others = keys_u64(OTHER_MEMBERS, OTHERS);
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(x.f, &other));
  assert_status(BESOM_OK, besom_insert_many_u64(other, others, OTHERS, NULL));
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_merged_correctly(&x, other, others, OTHERS, true);
  assert_merged_correctly(&x, other, others, OTHERS, false);
  /* Fixed in both. */
  adapt_all(other, x.fixed, ENOUGH);
  besom_filter *both = merged(x.f, other);
  assert_int_equal(count_yes(both, x.fixed, ENOUGH), 0);
  assert_valid(both);
  besom_free(both);
  besom_free(other);
  free(others);
  fixture_free(&x);
}

/* Reporting a key that is already answered no is OK and changes nothing. */
static void adapting_for_a_no_changes_nothing(void **state) {
  const subject *s = adapting_subject(state);
  fixture x = fixture_new(s);
  memory_sink before;
  size_t no = 0;
  save_to(&before, x.f);
  for (size_t i = 0; i < MANY; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (besom_contains_u64(x.f, key)) continue;
    assert_status(BESOM_OK, besom_adapt_u64(x.f, key));
    no++;
  }
  assert_true(no > MANY / 2);
  assert_bytes(x.f, &before);
  adapt_all(x.f, x.fixed, ENOUGH);
  save_to(&before, x.f);
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_bytes(x.f, &before);
  assert_still_fixed(&x);
  fixture_free(&x);
}

/* An exception of one filter is a member of the other: the merged filter answers yes. */
static void merge_in_as_members(fixture *x, const uint64_t *keys, size_t n, bool first) {
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(x->f, &other));
  assert_status(BESOM_OK, besom_insert_many_u64(other, keys, n, NULL));
  replace_filter(&x->f, first ? merged(x->f, other) : merged(other, x->f));
  besom_free(other);
}

/* By insert, insert_many, insert_count and merge; keys that are not inserted stay fixed. */
static void inserting_a_fixed_key_makes_it_a_member(void **state) {
  const subject *s = adapting_subject(state);
  enum { PART = ENOUGH / 5 };
  fixture x = fixture_new(s);
  const uint64_t *in = x.fixed;
  adapt_all(x.f, x.fixed, ENOUGH);
  for (size_t i = 0; i < PART; i++) {
    assert_status(BESOM_OK, besom_insert_u64(x.f, in[i]));
    assert_true(besom_contains_u64(x.f, in[i]));
  }
  assert_status(BESOM_OK, besom_insert_many_u64(x.f, in + PART, PART, NULL));
  assert_int_equal(count_yes(x.f, in, 2 * PART), 2 * PART);
  size_t members = 2 * PART;
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < PART; i++, members++)
    assert_status(BESOM_OK, insert_count_u64(x.f, in[members], 3));
  assert_int_equal(count_yes(x.f, in + members, PART), 0);
  for (size_t order = 0; can(s, BESOM_CAN_MERGE) && order < 2; order++, members += PART) {
    assert_int_equal(count_yes(x.f, in + members, PART), 0);
    merge_in_as_members(&x, in + members, PART, order == 0);
  }
  assert_int_equal(count_yes(x.f, in, members), members);
  assert_int_equal(count_yes(x.f, in + members, ENOUGH - members), 0);
  assert_holds_u64(x.f, x.members, MANY);
  assert_valid(x.f);
  /* Reporting a member is an error of the caller; inserting it again repairs it. */
  assert_status(BESOM_OK, besom_adapt_u64(x.f, x.members[0]));
  assert_status(BESOM_OK, besom_insert_u64(x.f, x.members[0]));
  assert_true(besom_contains_u64(x.f, x.members[0]));
  fixture_free(&x);
}

/*
 * The members that it collided with are removed: what the filter stored to fix it must not block
 * it.
 */
static void a_fixed_key_is_inserted_into_an_emptied_filter(void **state) {
  const subject *s = adapting_subject(state);
  fixture x = fixture_new(s);
  adapt_all(x.f, x.fixed, ENOUGH);
  for (size_t i = 0; i < MANY; i++) assert_status(BESOM_OK, besom_remove_u64(x.f, x.members[i]));
  assert_int_equal(stats_of(x.f).keys, 0);
  for (size_t i = 0; i < ENOUGH / 2; i++) {
    assert_status(BESOM_OK, besom_insert_u64(x.f, x.fixed[i]));
    assert_true(besom_contains_u64(x.f, x.fixed[i]));
  }
  assert_status(BESOM_OK,
                besom_insert_many_u64(x.f, x.fixed + ENOUGH / 2, ENOUGH - ENOUGH / 2, NULL));
  assert_int_equal(count_yes(x.f, x.fixed, ENOUGH), ENOUGH);
  assert_valid(x.f);
  fixture_free(&x);
}

/* ------------------------------------------------------------------ the reserve */

/* Adapts until the reserve is full; returns the number of keys that were fixed. */
static size_t fill_reserve(besom_filter *f, const uint64_t *keys, size_t n) {
  memory_sink before;
  for (size_t i = 0; i < n; i++) {
    save_to(&before, f);
    besom_status status = besom_adapt_u64(f, keys[i]);
    if (status == BESOM_RESERVE_FULL) {
      assert_true(besom_contains_u64(f, keys[i]));
      assert_bytes(f, &before);
      return i;
    }
    assert_status(BESOM_OK, status);
    memory_sink_close(&before);
  }
  fail_msg("the reserve is not full after %zu keys", n);
  return n;
}

static void a_full_reserve_is_a_status(void **state) {
  const subject *s = adapting_subject(state);
  enum { OFFENDERS = 1000 };
  besom_config config = config_of(s, 2 * MANY, 1.0 / 16);
  config.reserve = 0.01;
  uint64_t *members = keys_u64(MEMBERS, 2 * MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  uint64_t *offenders = false_positives_of(f, OFFENDERS);
  size_t fixed = fill_reserve(f, offenders, OFFENDERS);
  assert_true(fixed > 0);
  assert_true(stats_of(f).reserve_used >= 0.5 && stats_of(f).reserve_used <= 1);
  assert_status(BESOM_OK, besom_adapt_u64(f, offenders[0])); /* already fixed */
  assert_int_equal(count_yes(f, offenders, fixed), 0);
  /* A full reserve does not reduce the capacity for keys. */
  assert_status(BESOM_OK, besom_insert_many_u64(f, members + MANY, MANY, NULL));
  assert_holds_u64(f, members, 2 * MANY);
  assert_int_equal(count_yes(f, offenders, fixed), 0);
  assert_valid(f);
  free(members);
  free(offenders);
  besom_free(f);
}

/*
 * Kinds that need a store return NEEDS_STORE for a false positive, OK for a no, and do not change.
 */
static void adapting_without_a_store_is_a_status(void **state) {
  const subject *s = subject_of(state);
  if (adapts_without_keys(s)) skip();
  besom_filter *f = make_of_members(s, MANY, 1.0 / 16);
  memory_sink before;
  size_t refused = 0;
  save_to(&before, f);
  for (size_t i = 0; i < MANY; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    bool yes = besom_contains_u64(f, key);
    assert_status(yes ? BESOM_NEEDS_STORE : BESOM_OK, besom_adapt_u64(f, key));
    refused += yes;
  }
  assert_true(refused > 20);
  assert_bytes(f, &before);
  besom_free(f);
}

/* After rekeying, all members are answered yes, the keys of the no list no, and no fix is left. */
static void rekeying_frees_the_reserve(void **state) {
  const subject *s = adapting_subject(state);
  enum { OFFENDERS = 1000, DENIED = 20 };
  besom_config config = config_of(s, MANY, 1.0 / 16);
  config.reserve = 0.01;
  uint64_t *members = keys_u64(MEMBERS, MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  uint64_t *offenders = false_positives_of(f, OFFENDERS);
  fill_reserve(f, offenders, OFFENDERS);
  array_source yes, no, too_many;
  memory_sink before;
  source_of_u64(&yes, members, MANY);
  source_of_u64(&no, offenders, DENIED);
  uint64_t *negatives = keys_u64(NEGATIVES, 100000);
  source_of_u64(&too_many, negatives, 100000);
  save_to(&before, f);
  assert_status(BESOM_RESERVE_FULL, besom_rekey(f, &yes.api, &too_many.api, fixed_seed, NULL));
  assert_bytes(f, &before);
  const uint8_t seed[16] = "another besom's";
  source_of_u64(&yes, members, MANY);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, NULL, seed, NULL));
  assert_true(stats_of(f).reserve_used == 0);
  assert_int_equal(counter_of(f, "exceptions") + counter_of(f, "extended"), 0);
  assert_holds_u64(f, members, MANY);
  source_of_u64(&yes, members, MANY);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, &no.api, fixed_seed, NULL));
  assert_int_equal(count_yes(f, offenders, DENIED), 0);
  assert_holds_u64(f, members, MANY);
  assert_valid(f);
  uint64_t *again = false_positives_of(f, 1);
  adapt_all(f, again, 1);
  free(again);
  free(members);
  free(offenders);
  free(negatives);
  besom_free(f);
}

#define ADAPTS (BESOM_CAN_INSERT | BESOM_CAN_ADAPT)

const law exception_laws[] = {
    LAW_UNLESS(a_fixed_false_positive_stays_fixed, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW_UNLESS(what_was_fixed_stays_fixed_in_a_merged_filter, EVERY_SUBJECT,
               ADAPTS | BESOM_CAN_MERGE, BESOM_FORGETS),
    LAW_UNLESS(adapting_for_a_no_changes_nothing, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW_UNLESS(inserting_a_fixed_key_makes_it_a_member, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW(a_fixed_key_is_inserted_into_an_emptied_filter, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REMOVE),
    LAW_UNLESS(a_full_reserve_is_a_status, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW(adapting_without_a_store_is_a_status, EVERY_SUBJECT, ADAPTS),
    LAW_UNLESS(rekeying_frees_the_reserve, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REKEY, BESOM_FORGETS),
    {0},
};
