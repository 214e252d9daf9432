/* The cache of false positives: who stays, who goes, and that it finds what it has. */
#include "papers/cached/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/system/memory.h"
#include "support/failing_allocator.h"
#include "support/keys.h"

static struct cache make(uint64_t buckets, enum cache_policy policy) {
  struct cache c = {.buckets = buckets, .policy = policy};
  assert_int_equal(besom__cache_make(&c, &besom__default_allocator), BESOM_OK);
  return c;
}

static void drop(struct cache *c) {
  if (besom__cache_check(c)) fail_msg("%s", besom__cache_check(c));
  besom__cache_free(c, &besom__default_allocator);
}

/* All in the first bucket. Number 0 is the digest that means a free place. */
static besom_digest number(uint64_t i) {
  return (besom_digest){i, 0};
}

static void the_oldest_that_was_not_used_goes(void **state) {
  (void)state;
  struct cache c = make(3, CACHE_LRU);
  for (uint64_t i = 0; i < CACHE_WAYS; i++) besom__cache_add(&c, number(i));
  assert_true(besom__cache_has(&c, number(0)));
  assert_true(besom__cache_has(&c, number(2)));
  besom__cache_add(&c, number(100)); /* 0 is spared, 1 goes */
  assert_false(besom__cache_has(&c, number(1)));
  besom__cache_add(&c, number(101)); /* 2 is spared, 3 goes */
  assert_false(besom__cache_has(&c, number(3)));
  for (uint64_t i = 102; i < 108; i++)
    besom__cache_add(&c, number(i)); /* then those that were there before 0 came back */
  assert_false(besom__cache_has(&c, number(4)));
  assert_false(besom__cache_has(&c, number(7)));
  assert_false(besom__cache_has(&c, number(0)));
  assert_true(besom__cache_has(&c, number(107)));
  assert_int_equal(c.count, CACHE_WAYS);
  drop(&c);
}

/* When all were used, each had its second chance: the oldest goes. */
static void if_all_were_used_the_oldest_goes(void **state) {
  (void)state;
  struct cache c = make(1, CACHE_LRU);
  for (uint64_t i = 1; i <= CACHE_WAYS; i++) besom__cache_add(&c, number(i));
  for (uint64_t i = 1; i <= CACHE_WAYS; i++) assert_true(besom__cache_has(&c, number(i)));
  besom__cache_add(&c, number(100));
  assert_false(besom__cache_has(&c, number(1)));
  for (uint64_t i = 2; i <= CACHE_WAYS; i++) assert_true(besom__cache_has(&c, number(i)));
  drop(&c);
}

/* Passers-by do not drive out what is asked for often. */
static void what_is_used_most_stays(void **state) {
  (void)state;
  struct cache c = make(1, CACHE_TOPK);
  for (uint64_t i = 1; i <= 4; i++) besom__cache_add(&c, number(i));
  for (int uses = 0; uses < 1000; uses++)
    for (uint64_t i = 1; i <= 4; i++) assert_true(besom__cache_has(&c, number(i)));
  for (uint64_t i = 100; i < 1000; i++) {
    besom__cache_add(&c, number(i));
    assert_int_equal(c.count, i < 104 ? 4 + i - 99 : CACHE_WAYS);
  }
  for (uint64_t i = 1; i <= 4; i++) assert_true(besom__cache_has(&c, number(i)));
  assert_true(besom__cache_has(&c, number(999)));
  drop(&c);
}

static void random_operations_match_a_set(void **state) {
  (void)state;
  enum { UNIVERSE = 100 };
  for (enum cache_policy policy = CACHE_LRU; policy <= CACHE_TOPK; policy++) {
    struct cache c = make(64, policy); /* so large that hardly anything is driven out */
    bool in[UNIVERSE] = {false};
    random_stream random = {policy};
    for (size_t step = 0; step < 20000; step++) {
      size_t i = (size_t)random_below(&random, UNIVERSE);
      besom_digest d = i ? (besom_digest){mix64(i), mix64(~i)} : (besom_digest){0, 0};
      uint64_t before = c.count;
      if (random_below(&random, 2)) {
        besom__cache_add(&c, d);
        assert_true(c.count == before + !in[i]);
        in[i] = true;
      } else {
        besom__cache_remove(&c, d);
        assert_true(c.count == before - in[i]);
        in[i] = false;
      }
      assert_int_equal(besom__cache_has(&c, d), in[i]);
    }
    drop(&c);
  }
}

static void the_checker_sees_what_is_wrong(void **state) {
  (void)state;
  struct cache c = make(4, CACHE_LRU);
  besom__cache_add(&c, number(1));
  besom__cache_add(&c, number(2));
  assert_null(besom__cache_check(&c));
  c.count = 3;
  assert_non_null(besom__cache_check(&c)); /* not so many */
  c.count = 2;
  c.digests[1] = c.digests[0];
  assert_non_null(besom__cache_check(&c)); /* twice */
  c.digests[1] = (besom_digest){2, UINT64_MAX};
  assert_non_null(besom__cache_check(&c)); /* in another's bucket */
  c.digests[1] = (besom_digest){0, 0};
  c.digests[2] = number(2);
  assert_non_null(besom__cache_check(&c)); /* behind a gap */
  c.digests[2] = c.digests[1];
  c.digests[1] = number(2);
  drop(&c);
}

static void memory_may_run_out(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 2; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    struct cache c = {.buckets = 10};
    assert_int_equal(besom__cache_make(&c, &memory.api), BESOM_NO_MEMORY);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_oldest_that_was_not_used_goes),
      cmocka_unit_test(if_all_were_used_the_oldest_goes),
      cmocka_unit_test(what_is_used_most_stays),
      cmocka_unit_test(random_operations_match_a_set),
      cmocka_unit_test(the_checker_sees_what_is_wrong),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
