/*
 * Calls by key on filters with slot metadata: exaf, taf, utaf and broom after many reports. Counts
 * are those of the matches; inserting and removing without the store lose no other key; a store
 * that fails changes nothing. slot_meta.c tests the calls that a guard makes.
 */
#include "slot_meta_subject.h"
#include "support/saved_filters.h"

enum { SLOTS = 600, REPORTED = 20000, MORE = 40 };

/* Bound to its store, three quarters full, with many reports. */
static void open_adapted(subject *s, unsigned kind, uint32_t width) {
  subject_open(s, kinds[kind], SLOTS, width, NULL);
  for (size_t i = 0; s->n < SLOTS * 3 / 4; i++) put(s, key_u64(MEMBERS, i));
  for (size_t i = 0; i < REPORTED; i++) query_and_adapt(s, key_u64(NEGATIVES, i));
  assert_none_lost(s);
}

static void assert_holds(const besom_filter *f, const uint64_t *keys, size_t n) {
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_u64(f, keys[i]));
}

static void a_count_is_the_number_of_matches(void **state) {
  (void)state;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    subject s;
    open_adapted(&s, kind, 6);
    for (size_t i = 0; i < 2000; i++) {
      uint64_t key = i < s.n ? s.members[i] : key_u64(NEGATIVES, i), copies = 0;
      size_t matches = 0;
      besom_digest d = besom_hash_u64(s.f, key);
      assert_int_equal(besom_matches(s.f, d, NULL, 0, &matches), BESOM_OK);
      besom_status status = besom_count_u64(s.f, key, &copies);
      if (status == BESOM_UNSUPPORTED) break;
      assert_int_equal(status, BESOM_OK);
      assert_int_equal(copies, matches);
      assert_int_equal(copies > 0, besom_contains_u64(s.f, key));
    }
    subject_close(&s);
  }
}

/* taf and utaf may need the store to move selectors; then they insert nothing more. */
static void inserting_without_the_store_loses_nothing(void **state) {
  (void)state;
  uint64_t more[MORE];
  for (size_t i = 0; i < MORE; i++) more[i] = key_u64(MORE_MEMBERS, i);
  for (unsigned kind = 0; kind < KINDS; kind++) {
    subject s;
    size_t done = 0;
    open_adapted(&s, kind, 6);
    besom_filter *copy = loaded_copy(s.f); /* not bound */
    besom_status status = besom_insert_many_u64(copy, more, MORE, &done);
    if (status == BESOM_OK)
      assert_int_equal(done, MORE);
    else
      assert_int_equal(status, BESOM_NEEDS_STORE);
    assert_holds(copy, s.members, s.n);
    assert_holds(copy, more, done);
    besom_free(copy);
    subject_close(&s);
  }
}

/* The key's fingerprint goes, or one that matches less; never one that another key needs. */
static void removing_without_the_store_loses_no_other_key(void **state) {
  (void)state;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    subject s;
    unsigned refused = 0;
    open_adapted(&s, kind, 4);
    besom_filter *copy = loaded_copy(s.f);
    size_t first = 0;
    for (; first < s.n / 2; first++) {
      besom_status status = besom_remove_u64(copy, s.members[first]);
      refused += status == BESOM_NEEDS_STORE;
      if (status == BESOM_NEEDS_STORE) break;
      assert_int_equal(status, BESOM_OK);
      assert_holds(copy, s.members + first + 1, s.n - first - 1);
    }
    assert_int_equal(refused, kind == TAF || kind == UTAF ? refused : 0);
    assert_holds(copy, s.members + first + refused, s.n - first - refused);
    assert_int_equal(besom_remove_u64(copy, key_u64(NEGATIVES, 0)), BESOM_NOT_FOUND);
    besom_free(copy);
    subject_close(&s);
  }
}

/* Removes the key from the store: its filter has removed it. */
static void drop_record(subject *s, size_t i, besom_match match) {
  list *l = &s->store[match.bucket];
  memmove(l->keys + match.rank, l->keys + match.rank + 1, (--l->n - match.rank) * sizeof *l->keys);
  s->members[i] = s->members[--s->n];
}

/* Returns the failures before the removal needed fewer reads than the store had left. */
static unsigned remove_with_failures(subject *s, size_t i) {
  besom_filter *before = loaded_copy(s->f);
  besom_match match = own_match(s, s->members[i]);
  besom_status status = BESOM_IO;
  unsigned failures = 0;
  for (size_t fail_at = 1; status == BESOM_IO; fail_at++) {
    s->reads = 0;
    s->fail_at = fail_at;
    status = besom_remove_u64(s->f, s->members[i]);
    s->fail_at = 0;
    if (status == BESOM_OK) break;
    assert_int_equal(status, BESOM_IO);
    assert_same_bytes(s->f, before);
    failures++;
  }
  drop_record(s, i, match);
  besom_free(before);
  return failures;
}

/* Bound: the store tells which fingerprint is the key's. If it fails, nothing changes. */
static void removing_by_key_survives_a_failing_store(void **state) {
  (void)state;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    subject s;
    unsigned failures = 0;
    open_adapted(&s, kind, 4);
    for (size_t i = 0; i < 60; i++) failures += remove_with_failures(&s, i);
    assert_true(failures >= 60);
    assert_none_lost(&s);
    subject_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_count_is_the_number_of_matches),
      cmocka_unit_test(inserting_without_the_store_loses_nothing),
      cmocka_unit_test(removing_without_the_store_loses_no_other_key),
      cmocka_unit_test(removing_by_key_survives_a_failing_store),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
