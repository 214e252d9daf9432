/*
 * Kinds that adapt without a store: a fixed false positive stays fixed, no member is lost, and a
 * full reserve is a status.
 */
#include <stdio.h>
#include <stdlib.h>

#include "filters.h"
#include "support/failing_allocator.h"
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
  /* kinds that do not count have few false positives until they are full */
  besom_config config = config_of(s, 2 * MANY, can(s, BESOM_CAN_COUNT) ? 1.0 / 16 : 1.0 / 2);
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
    } else {
      assert_true(besom_contains_u64(both, x->fixed[i])); /* it may be a member of the other */
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
/* Fixed keys that the other filter answers yes to are not fixed any more: reports them again. */
static void merge_in_as_members(fixture *x, const uint64_t *keys, size_t n, bool first) {
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(x->f, &other));
  assert_status(BESOM_OK, besom_insert_many_u64(other, keys, n, NULL));
  replace_filter(&x->f, first ? merged(x->f, other) : merged(other, x->f));
  for (const uint64_t *key = keys + n; key < x->fixed + ENOUGH; key++)
    if (besom_contains_u64(other, *key)) besom_adapt_u64(x->f, *key);
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
    assert_status(BESOM_OK, insert_count_u64(x.f, in[members], copies_within(s, 3)));
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

/* A digest that shares all bits with d that a short exception stores. */
static besom_digest near_digest(besom_digest d) {
  return (besom_digest){d.hi, d.lo ^ 1};
}

typedef besom_status insert_form(besom_filter **f, besom_digest d);

static besom_status insert_one(besom_filter **f, besom_digest d) {
  return besom_insert_digest(*f, d);
}

static besom_status insert_many(besom_filter **f, besom_digest d) {
  besom_digest twice[] = {d, d};
  return besom_insert_many_digest(*f, twice, 2, NULL);
}

static besom_status insert_at(besom_filter **f, besom_digest d) {
  besom_match match;
  return besom_insert_at(*f, d, 0, &match);
}

static besom_status insert_by_merging(besom_filter **f, besom_digest d) {
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(*f, &other));
  besom_status status = besom_insert_digest(other, d);
  replace_filter(f, merged(*f, other));
  besom_free(other);
  return status;
}

/* Whatever the exception is made of, and however a key comes in: a member is answered yes. */
static void an_inserted_key_is_no_exception(void **state) {
  const subject *s = adapting_subject(state);
  static const struct {
    insert_form *insert;
    unsigned needs;
  } forms[] = {{insert_one, 0},
               {insert_many, 0},
               {insert_at, BESOM_CAN_MATCH},
               {insert_by_merging, BESOM_CAN_MERGE}};
  fixture x = fixture_new(s);
  adapt_all(x.f, x.fixed, ENOUGH);
  for (size_t i = 0; i < ENOUGH; i++) {
    besom_digest d = besom_hash_u64(x.f, x.fixed[i]);
    if (!can(s, forms[i % 4].needs)) continue;
    if (i % 3) d = near_digest(d);
    assert_status(BESOM_OK, forms[i % 4].insert(&x.f, d));
    assert_true(besom_contains_digest(x.f, d));
    uint64_t bitmap = 0;
    assert_status(BESOM_OK, besom_contains_many_digest(x.f, &d, 1, &bitmap));
    assert_int_equal(bitmap, 1);
  }
  assert_valid(x.f);
  assert_holds_u64(x.f, x.members, MANY);
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

/* Fixes and members stay, in the loaded copy, too; then it forgets. */
static void a_full_reserve_can_be_enlarged(void **state) {
  const subject *s = adapting_subject(state);
  enum { OFFENDERS = 1000 };
  besom_config config = config_of(s, 2 * MANY, 1.0 / 16);
  config.reserve = 0.01;
  uint64_t *members = keys_u64(MEMBERS, MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  if (besom_set_reserve(f, 10, false) == BESOM_UNSUPPORTED) {
    besom_free(f);
    free(members);
    skip();
  }
  assert_status(BESOM_INVALID, besom_set_reserve(f, 0, false));
  assert_status(BESOM_INVALID, besom_set_reserve(f, (UINT64_C(1) << 40) + 1, false));
  assert_status(BESOM_INVALID, besom_set_reserve(NULL, 1, false));
  uint64_t *offenders = false_positives_of(f, OFFENDERS);
  assert_int_equal(fill_reserve(f, offenders, OFFENDERS), 10);
  replace_filter(&f, loaded_copy(f));
  assert_int_equal(fill_reserve(f, offenders, OFFENDERS), 10);
  assert_status(BESOM_OK, besom_set_reserve(f, OFFENDERS - 1, false));
  assert_int_equal(fill_reserve(f, offenders, OFFENDERS), OFFENDERS - 1);
  assert_status(BESOM_OK, besom_set_reserve(f, OFFENDERS - 1, true));
  replace_filter(&f, loaded_copy(f));
  assert_true(besom_abilities(f) & BESOM_FORGETS);
  assert_status(BESOM_EVICTED, besom_adapt_u64(f, offenders[OFFENDERS - 1]));
  assert_int_equal(count_yes(f, offenders, OFFENDERS), 1);
  assert_holds_u64(f, members, MANY);
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
  size_t n_negatives = s->most_fpr != 0 ? 5000000 : 100000;
  uint64_t *negatives = keys_u64(NEGATIVES, n_negatives);
  source_of_u64(&too_many, negatives, n_negatives);
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

/* ------------------------------------------------------------------ limit and policy */

/* The subject with more options. Skips kinds that do not have exceptions. */
static besom_config exception_config(const subject *s, const char *options, char *text,
                                     size_t size) {
  besom_config config = config_of(s, MANY, 1.0 / 16);
  snprintf(text, size, "%s%s%s", s->options ? s->options : "", s->options ? "," : "", options);
  config.options = text;
  besom_filter *f = NULL;
  array_source source;
  source_of_u64(&source, NULL, 0);
  besom_status status = besom_build(&config, &(besom_input){.yes = &source.api}, &f);
  besom_free(f);
  if (status == BESOM_BAD_OPTION || (s->kind->abilities & BESOM_FORGETS)) skip();
  assert_status(BESOM_OK, status);
  return config;
}

static besom_filter *make_with_exceptions(const subject *s, const char *options) {
  char text[128];
  besom_config config = exception_config(s, options, text, sizeof text);
  uint64_t *members = keys_u64(MEMBERS, MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  free(members);
  return f;
}

static void assert_holds_members(const besom_filter *f) {
  uint64_t *members = keys_u64(MEMBERS, MANY);
  assert_holds_u64(f, members, MANY);
  free(members);
}

/* The default limit allows reports for 3 % of the keys, and the counters tell it. */
static void reports_for_three_percent_of_the_keys_fit(void **state) {
  const subject *s = subject_of(state);
  const char *const options[] = {"exceptions=short", "exceptions=full"};
  for (size_t i = 0; i < 2; i++) {
    besom_filter *f = make_with_exceptions(s, options[i]);
    uint64_t limit = counter_of(f, "exception_limit"), bytes = stats_of(f).bytes;
    assert_true(100 * limit >= 3 * (can(s, BESOM_CAN_SCALE) ? MANY : stats_of(f).capacity));
    uint64_t *wrong = false_positives_of(f, limit + 1);
    assert_int_equal(fill_reserve(f, wrong, limit + 1), limit);
    assert_int_equal(counter_of(f, "exceptions"), limit);
    assert_int_equal(counter_of(f, "forgotten"), 0);
    assert_true(stats_of(f).reserve_used == 1);
    uint64_t bits = 8 * (stats_of(f).bytes - bytes);
    assert_true(bits <= 800 + limit * (i ? 145 : 120)); /* the set is tiny */
    assert_int_equal(count_yes(f, wrong, limit), 0);
    assert_holds_members(f);
    assert_valid(f);
    free(wrong);
    besom_free(f);
  }
}

/* An option sets the limit; 0 and what is not a number are refused. */
static void max_exceptions_is_the_limit(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_with_exceptions(s, "max_exceptions=7");
  uint64_t *wrong = false_positives_of(f, 8);
  assert_int_equal(counter_of(f, "exception_limit"), 7);
  assert_int_equal(fill_reserve(f, wrong, 8), 7);
  replace_filter(&f, loaded_copy(f));
  assert_int_equal(counter_of(f, "exception_limit"), 7);
  assert_status(BESOM_RESERVE_FULL, besom_adapt_u64(f, wrong[7]));
  free(wrong);
  besom_free(f);
  static const char *const bad[] = {"max_exceptions=0", "max_exceptions=9999999999999",
                                    "max_exceptions=x", "exceptions=long", "forget=maybe"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_config config = config_of(s, MANY, 0);
    config.options = bad[i];
    array_source source;
    source_of_u64(&source, NULL, 0);
    assert_status(BESOM_BAD_OPTION, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
  }
}

enum { KEPT = 40, LISTED = 5, REPORTS = 400 };

/* One report. Every key of `all` is queried first if read is set: it must not matter. */
static void report_one(besom_filter *f, const uint64_t *all, size_t i, bool read) {
  for (size_t j = 0; read && j < i; j++) besom_contains_u64(f, all[j]);
  uint64_t before = counter_of(f, "exceptions");
  besom_status status = besom_adapt_u64(f, all[i]);
  assert_status(counter_of(f, "exceptions") == before ? BESOM_EVICTED : BESOM_OK, status);
  assert_false(besom_contains_u64(f, all[i]));
}

/*
 * With forget=yes a report never fails. The newest quarter, the no list and a key that is reported
 * again are kept. A copy that gets the same calls has the same bytes, whatever it was asked.
 */
static void old_reports_are_forgotten(void **state) {
  const subject *s = adapting_subject(state);
  char options[64];
  snprintf(options, sizeof options, "forget=yes,max_exceptions=%d", KEPT);
  besom_filter *f = make_with_exceptions(s, options), *copy = NULL;
  uint64_t *wrong = false_positives_of(f, REPORTS);
  assert_true(besom_abilities(f) & BESOM_FORGETS);
  for (size_t i = 0; i < LISTED; i++) assert_status(BESOM_OK, no_add_u64(f, wrong[i]));
  for (size_t i = LISTED; i < REPORTS; i++) {
    report_one(f, wrong, i, false);
    if (i % 8 == 0) assert_status(BESOM_OK, besom_adapt_u64(f, wrong[LISTED]));
    if (i == REPORTS / 2) copy = loaded_copy(f);
    if (copy && i > REPORTS / 2) report_one(copy, wrong, i, true);
    if (copy && i > REPORTS / 2 && i % 8 == 0)
      assert_status(BESOM_OK, besom_adapt_u64(copy, wrong[LISTED]));
    assert_int_equal(count_yes(f, wrong, LISTED + 1), 0);
    size_t recent = i >= LISTED + KEPT / 4 ? i - KEPT / 4 : LISTED;
    assert_int_equal(count_yes(f, wrong + recent, i + 1 - recent), 0);
  }
  assert_same_bytes(f, copy);
  assert_int_equal(counter_of(f, "exceptions"), KEPT);
  assert_int_equal(counter_of(f, "forgotten"), REPORTS - KEPT);
  assert_int_equal(count_yes(f, wrong, REPORTS), REPORTS - KEPT);
  assert_holds_members(f);
  assert_valid(f);
  free(wrong);
  besom_free(copy);
  besom_free(f);
}

/* Without memory a report is RESERVE_FULL, and the filter is unchanged. */
static void a_report_without_memory_is_a_status(void **state) {
  const subject *s = adapting_subject(state);
  char text[128];
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_config config = exception_config(s, "forget=no", text, sizeof text);
  config.allocator = &memory.api;
  uint64_t *members = keys_u64(MEMBERS, MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  uint64_t *wrong = false_positives_of(f, 40);
  size_t refused = 0;
  for (size_t i = 0; i < 40; i++) {
    memory_sink before;
    save_to(&before, f);
    memory.fail_at = memory.calls + 1;
    besom_status status = i % 2 ? besom_adapt_u64(f, wrong[i]) : no_add_u64(f, wrong[i]);
    memory.fail_at = 0;
    if (status == BESOM_OK) {
      memory_sink_close(&before);
      continue;
    }
    assert_status(BESOM_RESERVE_FULL, status);
    assert_bytes(f, &before);
    assert_status(BESOM_OK, besom_adapt_u64(f, wrong[i]));
    refused++;
  }
  assert_true(refused > 5);
  assert_int_equal(count_yes(f, wrong, 40), 0);
  besom_free(f);
  assert_no_error(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(members);
  free(wrong);
}

#define ADAPTS (BESOM_CAN_INSERT | BESOM_CAN_ADAPT)

const law exception_laws[] = {
    LAW_UNLESS(a_fixed_false_positive_stays_fixed, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW_UNLESS(what_was_fixed_stays_fixed_in_a_merged_filter, EVERY_SUBJECT,
               ADAPTS | BESOM_CAN_MERGE, BESOM_FORGETS),
    LAW_UNLESS(adapting_for_a_no_changes_nothing, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW_UNLESS(inserting_a_fixed_key_makes_it_a_member, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW(an_inserted_key_is_no_exception, EVERY_SUBJECT, ADAPTS),
    LAW(a_fixed_key_is_inserted_into_an_emptied_filter, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REMOVE),
    LAW_UNLESS(a_full_reserve_is_a_status, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW_UNLESS(a_full_reserve_can_be_enlarged, EVERY_SUBJECT, ADAPTS, BESOM_FORGETS),
    LAW(adapting_without_a_store_is_a_status, EVERY_SUBJECT, ADAPTS),
    LAW_UNLESS(rekeying_frees_the_reserve, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REKEY, BESOM_FORGETS),
    LAW(reports_for_three_percent_of_the_keys_fit, EVERY_KIND, BESOM_CAN_ADAPT | CAN_BUILD),
    LAW(max_exceptions_is_the_limit, EVERY_KIND, BESOM_CAN_ADAPT | CAN_BUILD),
    LAW(old_reports_are_forgotten, EVERY_SUBJECT, BESOM_CAN_ADAPT | CAN_BUILD),
    LAW(a_report_without_memory_is_a_status, EVERY_SUBJECT, BESOM_CAN_ADAPT | CAN_BUILD),
    {0},
};
