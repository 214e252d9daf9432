/*
 * besom_build from digests: for every kind that takes them, also like another filter and as an
 * update, it makes the bytes that keys make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { KEYS = 3000, CHANGED = 40 };

static const uint8_t seed[16] = "builds of digest";

/* The keys `from` to `to` - 1, as keys or as sorted digests. */
typedef struct key_range {
  uint64_t from, to, at;
  besom_digest *digests;
} key_range;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  static uint64_t bytes;
  key_range *r = ctx;
  (void)weight;
  if (r->at == r->to) return BESOM_END;
  bytes = little_endian(key_u64(MEMBERS, r->at++));
  *key = (besom_bytes){&bytes, sizeof bytes};
  return BESOM_OK;
}

static besom_status first_key(void *ctx) {
  ((key_range *)ctx)->at = ((key_range *)ctx)->from;
  return BESOM_OK;
}

static besom_status next_digest(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  key_range *r = ctx;
  for (*n = 0; *n < cap && *n < 100 && r->at < r->to; ++*n) out[*n] = r->digests[r->at++ - r->from];
  return *n ? BESOM_OK : BESOM_END;
}

static int compare(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static key_range range_of(uint64_t from, uint64_t to) {
  key_range r = {from, to, from, heap_array((size_t)(to - from), sizeof(besom_digest))};
  besom_filter *f = NULL;
  besom_config config = {.kind = "bloom", .capacity = 1, .seed = seed};
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = from; i < to; i++) r.digests[i - from] = besom_hash_u64(f, key_u64(MEMBERS, i));
  qsort(r.digests, (size_t)(to - from), sizeof *r.digests, compare);
  besom_free(f);
  return r;
}

static besom_source keys_of(key_range *r) {
  first_key(r);
  return (besom_source){
      .next = next_key, .rewind = first_key, .size_hint = r->to - r->from, .ctx = r};
}

static besom_digest_source digests_of(key_range *r) {
  first_key(r);
  return (besom_digest_source){.next = next_digest, .rewind = first_key, .ctx = r};
}

static void assert_same_bytes(besom_filter *a, besom_filter *b) {
  memory_sink x, y;
  memory_sink_init(&x);
  memory_sink_init(&y);
  assert_int_equal(besom_save(a, &x.api), BESOM_OK);
  assert_int_equal(besom_save(b, &y.api), BESOM_OK);
  assert_true(memory_sinks_equal(&x, &y));
  memory_sink_close(&x);
  memory_sink_close(&y);
}

static besom_filter *built(const besom_config *config, key_range *r, const besom_filter *like,
                           bool by_digest) {
  besom_source keys = keys_of(r);
  besom_digest_source digests = digests_of(r);
  first_key(r);
  besom_input input = {
      .yes = by_digest ? NULL : &keys, .digests = by_digest ? &digests : NULL, .like = like};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(like ? NULL : config, &input, &f), BESOM_OK);
  return f;
}

static void digests_make_what_keys_make(void **state) {
  static const char *const kinds[] = {"ribbon", "fuse", "aqf", "qf"};
  (void)state;
  key_range r = range_of(0, KEYS);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_config config = {.kind = kinds[i], .seed = seed, .fpr = 0.01, .capacity = KEYS};
    besom_filter *a = built(&config, &r, NULL, false), *b = built(&config, &r, NULL, true);
    assert_same_bytes(a, b);
    besom_free(a), besom_free(b);
  }
  free(r.digests);
}

static void digests_make_a_filter_like_another(void **state) {
  static const char *const kinds[] = {"aqf", "qf", "bloom"};
  (void)state;
  key_range before = range_of(0, KEYS), now = range_of(CHANGED, KEYS + CHANGED);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_config config = {.kind = kinds[i], .seed = seed, .fpr = 0.01, .capacity = KEYS + 100};
    besom_filter *old = built(&config, &before, NULL, false);
    besom_filter *a = built(NULL, &now, old, false), *b = built(NULL, &now, old, true);
    assert_same_bytes(a, b);
    besom_free(old), besom_free(a), besom_free(b);
  }
  free(before.digests), free(now.digests);
}

static besom_filter *updated(const besom_filter *old, key_range *now, key_range *was,
                             bool by_digest) {
  besom_source keys = keys_of(now), was_keys = keys_of(was);
  besom_digest_source digests = digests_of(now), was_digests = digests_of(was);
  besom_input input = {.yes = by_digest ? NULL : &keys,
                       .was = by_digest ? NULL : &was_keys,
                       .digests = by_digest ? &digests : NULL,
                       .was_digests = by_digest ? &was_digests : NULL,
                       .update = old};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(NULL, &input, &f), BESOM_OK);
  return f;
}

static void digests_make_an_update(void **state) {
  static const char *const kinds[] = {"ribbon", "fuse"};
  (void)state;
  key_range before = range_of(0, KEYS), now = range_of(CHANGED, KEYS + CHANGED);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_config config = {.kind = kinds[i], .seed = seed, .fpr = 0.01, .capacity = KEYS};
    besom_filter *old = built(&config, &before, NULL, true);
    besom_filter *a = updated(old, &now, &before, false), *b = updated(old, &now, &before, true);
    assert_same_bytes(a, b);
    for (uint64_t k = 0; k < KEYS + CHANGED; k++) /* those that left are answered no */
      assert_int_equal(besom_contains_u64(b, key_u64(MEMBERS, k)), k >= CHANGED);
    besom_free(old), besom_free(a), besom_free(b);
  }
  free(before.digests), free(now.digests);
}

static void digests_must_ascend(void **state) {
  (void)state;
  key_range r = range_of(0, KEYS);
  besom_config config = {.kind = "ribbon", .seed = seed, .fpr = 0.01, .capacity = KEYS};
  besom_filter *old = built(&config, &r, NULL, true), *f = NULL;
  besom_digest first = r.digests[0];
  r.digests[0] = r.digests[KEYS - 1];
  r.digests[KEYS - 1] = first;
  besom_digest_source digests = digests_of(&r);
  assert_int_equal(besom_build(&config, &(besom_input){.digests = &digests}, &f), BESOM_INVALID);
  digests = digests_of(&r);
  assert_int_equal(besom_build(NULL, &(besom_input){.digests = &digests, .update = old}, &f),
                   BESOM_INVALID);
  config.capacity = KEYS / 2;
  qsort(r.digests, KEYS, sizeof *r.digests, compare);
  digests = digests_of(&r);
  assert_int_equal(besom_build(&config, &(besom_input){.digests = &digests}, &f), BESOM_FULL);
  assert_null(f);
  besom_free(old);
  free(r.digests);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digests_make_what_keys_make),
      cmocka_unit_test(digests_make_a_filter_like_another),
      cmocka_unit_test(digests_make_an_update),
      cmocka_unit_test(digests_must_ascend),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
