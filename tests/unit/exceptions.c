/* The set of exceptions against a model: a plain array of digests. */
#include "quotient/exceptions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

enum { UNIVERSE = 200, NO_LIMIT = 1 << 30 };

static void assert_sound(const struct exception_set *m) {
  const char *wrong = besom__exceptions_check(m);
  if (wrong) fail_msg("%s", wrong);
}

/*
 * Digest number i of UNIVERSE. With few_homes all digests have the same few home cells at the end
 * of the set, so that chains are long and wrap around. Number 0 is the digest that marks a free
 * cell.
 */
static besom_digest digest_at(size_t i, bool few_homes) {
  uint64_t lo = few_homes ? UINT64_MAX - ((uint64_t)(i % 3) << 57) - i : mix64(i);
  return i ? (besom_digest){mix64(~i), lo} : (besom_digest){0, 0};
}

static void assert_same(const struct exception_set *m, const bool *model, bool few_homes) {
  uint64_t count = 0;
  for (size_t i = 0; i < UNIVERSE; i++) {
    count += model[i];
    if (besom__exceptions_has(m, digest_at(i, few_homes)) != model[i]) fail_msg("digest %zu", i);
  }
  assert_int_equal(m->count, count);
}

static void random_operations(bool few_homes, uint64_t seed) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m = {0};
  bool model[UNIVERSE] = {false};
  random_stream random = {seed};
  for (size_t step = 0; step < 3000; step++) {
    size_t i = (size_t)random_below(&random, UNIVERSE);
    besom_digest d = digest_at(i, few_homes);
    if (random_below(&random, 10) < (step / 500 % 2 ? 2 : 8)) {
      assert_int_equal(besom__exceptions_add(&m, &memory.api, d, NO_LIMIT), BESOM_OK);
      model[i] = true;
    } else {
      assert_int_equal(besom__exceptions_remove(&m, d), model[i]);
      model[i] = false;
    }
    assert_sound(&m);
    assert_same(&m, model, few_homes);
  }
  besom__exceptions_free(&m, &memory.api);
  assert_int_equal(m.count, 0);
  assert_false(besom__exceptions_has(&m, digest_at(1, few_homes)));
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void random_operations_match_the_model(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 5; seed++) random_operations(false, seed);
}

static void random_operations_with_long_chains_match_the_model(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 5; seed++) random_operations(true, seed);
}

/* Digests that share only one half are different. */
static void halves_do_not_match(void **state) {
  (void)state;
  struct exception_set m = {0};
  failing_allocator memory;
  failing_allocator_init(&memory);
  assert_int_equal(besom__exceptions_add(&m, &memory.api, (besom_digest){7, 9}, NO_LIMIT),
                   BESOM_OK);
  assert_true(besom__exceptions_has(&m, (besom_digest){7, 9}));
  assert_false(besom__exceptions_has(&m, (besom_digest){8, 9}));
  assert_false(besom__exceptions_has(&m, (besom_digest){7, 10}));
  assert_false(besom__exceptions_has(&m, (besom_digest){9, 7}));
  assert_false(besom__exceptions_remove(&m, (besom_digest){8, 9}));
  assert_int_equal(m.count, 1);
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

/*
 * RESERVE_FULL and NO_MEMORY leave the set unchanged. Adding a digest that is in the set is OK
 * even then.
 */
static void a_set_that_cannot_grow_stays_as_it_is(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m = {0};
  assert_int_equal(besom__exceptions_add(&m, &memory.api, digest_at(1, false), 15),
                   BESOM_RESERVE_FULL);
  assert_int_equal(m.size, 0);
  const uint64_t max_bytes = 1024; /* 64 cells, of which seven eighths may be used */
  size_t n = 0;
  besom_status status;
  while ((status = besom__exceptions_add(&m, &memory.api, digest_at(n + 1, false), max_bytes)) ==
         BESOM_OK)
    n++;
  assert_int_equal(status, BESOM_RESERVE_FULL);
  assert_int_equal(n, 56);
  assert_int_equal(m.count, n);
  assert_int_equal(memory.live_bytes, max_bytes);
  memory.fail_at = memory.calls + 1;
  assert_int_equal(besom__exceptions_add(&m, &memory.api, digest_at(n + 1, false), NO_LIMIT),
                   BESOM_NO_MEMORY);
  assert_int_equal(besom__exceptions_add(&m, &memory.api, digest_at(n, false), max_bytes),
                   BESOM_OK);
  assert_int_equal(m.count, n);
  assert_sound(&m);
  for (size_t i = 0; i < UNIVERSE; i++)
    assert_int_equal(besom__exceptions_has(&m, digest_at(i, false)), i >= 1 && i <= n);
  assert_true(besom__exceptions_remove(&m, digest_at(1, false)));
  assert_int_equal(besom__exceptions_add(&m, &memory.api, digest_at(n + 1, false), max_bytes),
                   BESOM_OK);
  assert_int_equal(besom__exceptions_add(&m, &memory.api, digest_at(1, false), max_bytes / 2),
                   BESOM_RESERVE_FULL);
  assert_int_equal(m.count, n);
  assert_sound(&m);
  besom__exceptions_free(&m, &memory.api);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* A digest whose home is this one of 16 cells. */
static besom_digest with_home(uint64_t hi, uint64_t home) {
  return (besom_digest){hi, home << 60 | 1};
}

/* What a file may contain: the check must find it, or a search would fail or not end. */
static void the_checker_sees_what_is_wrong(void **state) {
  (void)state;
  besom_digest cells[16] = {{0, 0}};
  struct exception_set m = {cells, 16, 0};
  assert_null(besom__exceptions_check(&m));
  m.count = 1;
  assert_non_null(besom__exceptions_check(&m));
  cells[5] = with_home(1, 5);
  assert_null(besom__exceptions_check(&m));
  cells[6] = with_home(2, 5);
  assert_non_null(besom__exceptions_check(&m)); /* not counted */
  m.count = 2;
  assert_null(besom__exceptions_check(&m));
  cells[5] = (besom_digest){0, 0};
  m.count = 1;
  assert_non_null(besom__exceptions_check(&m)); /* after a hole */
  cells[5] = cells[6];
  m.count = 2;
  assert_null(besom__exceptions_check(&m)); /* twice: allowed, because removing takes both */
  besom_digest twice = cells[5];
  assert_true(besom__exceptions_remove(&m, twice));
  assert_false(besom__exceptions_has(&m, twice));
  assert_int_equal(m.count, 0);
  for (size_t i = 0; i < 16; i++) cells[i] = with_home(1, i);
  m.count = 16;
  assert_non_null(besom__exceptions_check(&m)); /* no free cell */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_match_the_model),
      cmocka_unit_test(random_operations_with_long_chains_match_the_model),
      cmocka_unit_test(halves_do_not_match),
      cmocka_unit_test(a_set_that_cannot_grow_stays_as_it_is),
      cmocka_unit_test(the_checker_sees_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
