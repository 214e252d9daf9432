/*
 * besom_merge_slots of filters that have adapted: two filters of half the size become one of full
 * size. Raised selectors need the stored keys.
 */
#include "slot_meta_subject.h"

enum { SLOTS = 512, WIDTH = 8, FILLED = 450, QUERIES = 20000 };

static void adapt_much(subject *s, const char *kind, uint64_t stream) {
  subject_open(s, kind, SLOTS, WIDTH, NULL);
  for (uint64_t i = 0; i < FILLED; i++) put(s, key_u64(stream, i));
  for (uint64_t i = 0; i < QUERIES; i++) query_and_adapt(s, key_u64(NEGATIVES, i));
  assert_true(counter_of(s->f, "extended") > 10);
}

static void assert_holds(const besom_filter *f, const subject *s) {
  for (size_t i = 0; i < s->n; i++) assert_true(besom_contains_u64(f, s->members[i]));
}

static void halves_become_one(void **state) {
  (void)state;
  for (size_t k = 0; k < BROOM; k++) {
    subject a, b;
    besom_filter *merged = NULL;
    adapt_much(&a, kinds[k], MEMBERS);
    adapt_much(&b, kinds[k], OTHER_MEMBERS);
    a.reads = b.reads = 0;
    assert_int_equal(besom_merge_slots(a.f, b.f, 2 * SLOTS, &merged), BESOM_OK);
    assert_int_equal(a.reads + b.reads > 0, k != EXAF);
    const char *reason = NULL;
    if (besom_validate(merged, &reason) != BESOM_OK) fail_msg("%s: %s", kinds[k], reason);
    assert_int_equal(stats_of(merged).slots, 2 * SLOTS);
    assert_int_equal(stats_of(merged).keys, a.n + b.n);
    assert_holds(merged, &a);
    assert_holds(merged, &b);
    assert_none_lost(&a);
    assert_none_lost(&b);
    besom_free(merged);
    subject_close(&a);
    subject_close(&b);
  }
}

/* A store that fails, or none: nothing is made. */
static void selectors_need_their_keys(void **state) {
  (void)state;
  for (size_t k = TAF; k < BROOM; k++) {
    subject a, b;
    besom_filter *merged = NULL;
    adapt_much(&a, kinds[k], MEMBERS);
    adapt_much(&b, kinds[k], OTHER_MEMBERS);
    b.reads = 0;
    b.fail_at = 3;
    assert_int_equal(besom_merge_slots(a.f, b.f, 2 * SLOTS, &merged), BESOM_IO);
    assert_int_equal(besom_bind(b.f, NULL), BESOM_OK);
    assert_int_equal(besom_merge_slots(a.f, b.f, 2 * SLOTS, &merged), BESOM_NEEDS_STORE);
    assert_null(merged);
    assert_none_lost(&a);
    assert_none_lost(&b);
    subject_close(&a);
    subject_close(&b);
  }
}

/* The remainders of a broom depend on its round. */
static void brooms_do_not_merge_so(void **state) {
  (void)state;
  subject s;
  besom_filter *merged = NULL;
  subject_open(&s, "broom", SLOTS, WIDTH, NULL);
  assert_int_equal(besom_merge_slots(s.f, s.f, 2 * SLOTS, &merged), BESOM_UNSUPPORTED);
  subject_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_become_one),
      cmocka_unit_test(selectors_need_their_keys),
      cmocka_unit_test(brooms_do_not_merge_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
