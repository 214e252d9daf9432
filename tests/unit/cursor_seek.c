/*
 * besom__qtable_seek against a walk from the first slot, in tables whose runs reach over several
 * blocks, and from positions after the last run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom.h"
#include "quotient/quotient_filter.h"
#include "quotient/table/cursor.h"
#include "support/keys.h"

enum { SLOTS = 1024 };

/* Keys per quotient: many in the first block of four, few in the others. */
static besom_filter *make(random_stream *random, unsigned many, unsigned few_in) {
  besom_config config = {.kind = "qf", .slots = SLOTS, .width = 8};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t q = 0; q < SLOTS / 2; q++) {
    uint64_t n = q / 64 % 4 == 0 ? random_below(random, many) : !random_below(random, few_in);
    for (uint64_t i = 0; i < n; i++) {
      besom_digest d = {(q << 54) + (random_next(random) >> 11), random_next(random)};
      assert_int_equal(besom_insert_digest(f, d), BESOM_OK);
    }
  }
  return f;
}

/* The first slot at the position or after it, by a walk from the cursor. False: there is none. */
static bool walk_to(struct qtable_cursor *c, uint64_t position) {
  while (besom__qtable_next(c))
    if (c->position >= position) return true;
  return false;
}

static void assert_seeks(const struct qtable *t, uint64_t position) {
  struct qtable_cursor from_first, found;
  besom__qtable_first(t, &from_first);
  besom__qtable_seek(t, position, &found);
  bool expected = walk_to(&from_first, position);
  assert_int_equal(walk_to(&found, position), expected);
  if (!expected) return;
  assert_int_equal(found.position, from_first.position);
  assert_int_equal(found.quotient, from_first.quotient);
  assert_int_equal(found.remainder, from_first.remainder);
}

static void seek_finds_the_run_of_any_position(void **state) {
  (void)state;
  random_stream random = {1};
  for (unsigned many = 1; many <= 7; many += 2)
    for (unsigned few_in = 2; few_in <= 200; few_in *= 10) {
      besom_filter *f = make(&random, many, few_in);
      const struct qtable *t = &const_quotient_filter(f)->table;
      for (uint64_t position = 0; position < t->room; position++) assert_seeks(t, position);
      besom_free(f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(seek_finds_the_run_of_any_position)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
