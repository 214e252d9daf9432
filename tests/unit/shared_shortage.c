/*
 * No memory for the concurrent form of a filter: every call that makes one returns NO_MEMORY, leaks
 * nothing, and leaves the filters that it got as they were. tests/laws/laws_memory.c does the
 * same with plain filters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/failing_allocator.h"
#include "support/keys.h"

enum { N = 200 };

typedef struct attempt {
  failing_allocator memory;
  besom_config config;
  besom_filter *plain, *shared; /* hold the first N keys, where the kind can insert */
  besom_filter *result;
  uint64_t at, key; /* of the source */
} attempt;

typedef besom_status (*attempted_call)(attempt *a);

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  attempt *a = ctx;
  (void)weight;
  if (a->at == N) return BESOM_END;
  a->key = little_endian(key_u64(MEMBERS, a->at++));
  *key = (besom_bytes){&a->key, sizeof a->key};
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  ((attempt *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_status build(attempt *a, uint32_t flags, besom_filter **out) {
  besom_source yes = {.next = next, .rewind = rewind_keys, .size_hint = N, .ctx = a};
  besom_config config = a->config;
  config.flags = flags;
  a->at = 0;
  return besom_build(&config, &(besom_input){.yes = &yes}, out);
}

static besom_status try_create(attempt *a) {
  return besom_create(&a->config, &a->result);
}

static besom_status try_build(attempt *a) {
  return build(a, BESOM_CONCURRENT, &a->result);
}

static besom_status try_create_like(attempt *a) {
  return besom_create_like(a->shared, &a->result);
}

static besom_status try_merge(attempt *a) {
  return besom_merge(a->shared, a->plain, &a->result);
}

/* The filter stays plain. */
static besom_status try_share(attempt *a) {
  besom_filter *copy = NULL;
  besom_status status = besom_create_like(a->plain, &copy);
  if (status == BESOM_OK) status = besom_share(copy);
  if (status == BESOM_OK)
    a->result = copy;
  else
    besom_free(copy);
  return status;
}

static void assert_holds_all(const besom_filter *f) {
  for (uint64_t i = 0; i < N; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
}

/* False if the kind has no concurrent form. */
static bool attempt_init(attempt *a, const char *kind) {
  static const uint8_t seed[16] = "concurrent, full";
  *a = (attempt){.config = {.kind = kind, .capacity = 3 * N, .seed = seed}};
  failing_allocator_init(&a->memory);
  a->config.allocator = &a->memory.api;
  a->config.flags = BESOM_CONCURRENT;
  besom_status status = build(a, BESOM_CONCURRENT, &a->shared);
  if (status == BESOM_UNSUPPORTED || status == BESOM_NEEDS_STORE) return false;
  assert_int_equal(status, BESOM_OK);
  assert_int_equal(build(a, 0, &a->plain), BESOM_OK);
  return true;
}

static void attempt_close(attempt *a) {
  besom_free(a->plain);
  besom_free(a->shared);
  besom_free(a->result);
  const char *verdict = failing_allocator_verdict(&a->memory);
  if (verdict) fail_msg("%s: %s", a->config.kind, verdict);
  failing_allocator_close(&a->memory);
}

/* Whether the n-th allocation of the call failed. */
static bool fails_at(attempt *a, attempted_call call, uint64_t n) {
  size_t live = a->memory.live_blocks;
  a->memory.fail_at = a->memory.calls + n;
  besom_status status = call(a);
  bool failed = a->memory.calls >= a->memory.fail_at;
  a->memory.fail_at = 0;
  if (status == BESOM_UNSUPPORTED) return false;
  if (!failed) assert_int_equal(status, BESOM_OK);
  if (status != BESOM_OK) {
    assert_int_equal(status, BESOM_NO_MEMORY);
    assert_null(a->result);
    assert_int_equal(a->memory.live_blocks, live);
  }
  assert_holds_all(a->plain);
  assert_holds_all(a->shared);
  return failed;
}

static void no_memory_for_a_concurrent_filter(void **state) {
  (void)state;
  static const attempted_call calls[] = {try_create, try_build, try_create_like, try_merge,
                                         try_share};
  unsigned kinds = 0;
  for (size_t k = 0; besom_kinds(k); k++) {
    bool known = true;
    for (size_t c = 0; known && c < sizeof calls / sizeof *calls; c++) {
      bool failed = true;
      for (uint64_t n = 1; failed && known; n++) {
        attempt a;
        known = attempt_init(&a, besom_kinds(k)->name);
        failed = known && fails_at(&a, calls[c], n);
        attempt_close(&a);
      }
    }
    kinds += known;
  }
  assert_true(kinds >= 1); /* aqf */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_for_a_concurrent_filter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
