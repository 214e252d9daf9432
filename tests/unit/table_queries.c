/*
 * Queries, single and batched, and removals of the quotient table, against match.h, which decodes
 * every fingerprint of a run: in tables that are queried one by one and in larger ones, whose
 * blocks are prefetched; before and after fingerprints get extensions, counts and tags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "quotient/fingerprint/match.h"
#include "support/heap.h"
#include "support/keys.h"

enum { SMALL = 3000, LARGE = 140000, EXTEND_EVERY = 8 }; /* LARGE: 275 KB at a width of 13 */

static besom_digest member(uint64_t i) {
  return (besom_digest){mix64(2 * i), mix64(2 * i + 1)};
}

static uint64_t members_of(const struct qtable *t) {
  return t->slots * 4 / 5;
}

static struct qtable filled_table(struct qtable_shape shape, enum isa isa) {
  struct qtable t;
  besom__qtable_init(&t, &shape, isa, heap_array(1, besom__qtable_bytes(&shape)));
  for (uint64_t i = 0; i < members_of(&t); i++)
    assert_int_equal(t.ops->insert(&t, member(i), NULL), BESOM_OK);
  return t;
}

static bool is_match(const struct qtable *t, besom_digest d) {
  struct matching m = besom__matching_start(t, d);
  return besom__next_match(&m);
}

/* Extends the fingerprint of a member, sometimes with a count, sometimes tags it. */
static void extend(struct qtable *t, uint64_t i) {
  struct matching m = besom__matching_start(t, member(i));
  if (!besom__next_match(&m)) return;
  struct fingerprint fp = m.fp;
  fp.extension_bits = 1 + (unsigned)(i / EXTEND_EVERY % 40);
  fp.extension = besom__extension_of(m.address.rest, t->width, fp.extension_bits);
  fp.count = i / EXTEND_EVERY % 5 ? 1 : 3;
  fp.tagged = has_tags(t) && i / EXTEND_EVERY % 3 == 0;
  if (besom__fingerprint_write(t, &fp) == BESOM_OK) t->extended += !is_extended(t, &m.fp);
}

/* Members, keys that differ from a member in one bit, most of them after the remainder, others. */
static besom_digest *queries(const struct qtable *t, size_t n) {
  besom_digest *d = heap_array(n, sizeof *d);
  for (size_t i = 0; i < n; i++) {
    d[i] = member(mix64(i) % members_of(t) + (i % 3 == 2 ? members_of(t) : 0));
    if (i % 3 == 1) d[i].hi ^= UINT64_C(1) << mix64(i) % 48;
  }
  return d;
}

static void assert_answer(enum answer answer, bool is_match, bool extended) {
  if (answer == ANSWER_MAYBE)
    assert_true(extended);
  else
    assert_int_equal(answer == ANSWER_YES, is_match);
}

static bool bit_of(const uint64_t *bitmap, size_t i) {
  return bitmap[i / 64] >> (i % 64) & 1;
}

static void check_queries(const struct qtable *t) {
  size_t n = 5001;
  besom_digest *d = queries(t, n);
  uint64_t *exact = heap_array(n / 64 + 1, 8), *unsure = heap_array(n / 64 + 1, 8),
           *remainders = heap_array(n / 64 + 1, 8);
  t->ops->contains_many_exactly(t, d, n, exact, unsure);
  t->ops->contains_many(t, d, n, remainders);
  for (size_t i = 0; i < n; i++) {
    bool match = is_match(t, d[i]);
    assert_answer(t->ops->contains(t, d[i]), match, t->extended);
    assert_answer(t->ops->contains_far(t, d[i]), match, t->extended);
    enum answer answer = bit_of(exact, i) ? ANSWER_YES : ANSWER_NO;
    assert_answer(bit_of(unsure, i) ? ANSWER_MAYBE : answer, match, t->extended);
    assert_true(bit_of(remainders, i) >= match);
    if (!t->extended) assert_int_equal(bit_of(remainders, i), match);
  }
  free(d), free(exact), free(unsure), free(remainders);
}

/* What is left to the caller changes nothing; a removal removes one match of one slot. */
static void check_removals(struct qtable *t) {
  for (uint64_t i = 0; i < 2000; i++) {
    besom_digest d = member(mix64(i) % (2 * members_of(t)));
    uint64_t used = t->used, last;
    struct address a = address_of(d, t->slots);
    uint64_t equal = t->ops->find(t, a.quotient, remainder_of(a, t->width), &last);
    uint64_t counted;
    enum answer found = t->ops->count(t, d, &counted), removed = t->ops->remove_last(t, d);
    assert_int_equal(found, removed);
    if (found != ANSWER_MAYBE) assert_int_equal(counted, equal);
    assert_true(removed == ANSWER_MAYBE ? t->extended > 0 : (removed == ANSWER_YES) == (equal > 0));
    assert_int_equal(t->used, used - (removed == ANSWER_YES));
    assert_int_equal(t->ops->find(t, a.quotient, remainder_of(a, t->width), &last),
                     equal - (removed == ANSWER_YES));
  }
  assert_null(besom__qtable_check(t));
}

static void check_table(uint64_t slots, unsigned width, enum table_code code, enum isa isa) {
  struct qtable_shape shape = {slots, width, true, code, code == TAGS};
  struct qtable t = filled_table(shape, isa);
  check_queries(&t);
  for (uint64_t i = 0; i < members_of(&t); i += EXTEND_EVERY) extend(&t, i);
  assert_true(t.extended > 0);
  check_queries(&t);
  check_removals(&t);
  free(t.blocks);
}

static void queries_decide_as_decoding_does(void **state) {
  (void)state;
  static const unsigned widths[] = {3, 7, 8, 10, 13, 14, 16, 24};
  for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
      check_table(SMALL, widths[w], w % 2 ? TAGS : NO_CODE, isa);
      if (widths[w] == 13 || widths[w] == 16) check_table(LARGE, widths[w], NO_CODE, isa);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(queries_decide_as_decoding_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
