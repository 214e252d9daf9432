/*
 * The fuse filter: sets of every size, repeated keys, any order, and the size that the formula
 * gives.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

typedef struct key_array {
  const uint64_t *keys;
  size_t n, at, reads;
} key_array;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  key_array *a = ctx;
  if (a->at == a->n) return BESOM_END;
  *key = (besom_bytes){&a->keys[a->at++], 8};
  a->reads++;
  return BESOM_OK;
}

static besom_status build(const uint64_t *keys, size_t n, const besom_config *wanted,
                          besom_filter **out) {
  static const uint8_t seed[16] = {5};
  key_array a = {.keys = keys, .n = n};
  besom_source source = {.next = next, .size_hint = n, .ctx = &a};
  besom_config config = *wanted;
  config.kind = "fuse";
  if (!config.seed) config.seed = seed;
  besom_status status = besom_build(&config, &(besom_input){.yes = &source}, out);
  assert_true(a.reads <= n); /* the source is read once, even if peeling fails */
  return status;
}

static besom_filter *built(const uint64_t *keys, size_t n, double rate) {
  besom_filter *f = NULL;
  assert_int_equal(build(keys, n, &(besom_config){.capacity = n ? n : 1, .fpr = rate}, &f),
                   BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static void assert_holds(const besom_filter *f, const uint64_t *keys, size_t n) {
  besom_digest *digests = heap_array(n + 1, sizeof *digests);
  uint64_t *bitmap = heap_array(n / 64 + 1, sizeof *bitmap);
  for (size_t i = 0; i < n; i++) {
    digests[i] = besom_hash(f, &keys[i], 8);
    assert_true(besom_contains(f, &keys[i], 8));
  }
  assert_int_equal(besom_contains_many_digest(f, digests, n, bitmap), BESOM_OK);
  for (size_t i = 0; i < n; i++) assert_true(bitmap[i / 64] >> (i % 64) & 1);
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  free(digests);
  free(bitmap);
}

/* Peeling gets stuck with small sets: every size, with many seeds. */
static void every_small_set_is_built(void **state) {
  (void)state;
  uint64_t *keys = keys_u64(MEMBERS, 300);
  for (size_t n = 0; n < 300; n += 1 + n / 20)
    for (uint8_t seed = 0; seed < 100; seed++) {
      besom_filter *f = NULL;
      uint8_t bytes[16] = {seed, 1};
      assert_int_equal(build(keys, n, &(besom_config){.capacity = n + 1, .seed = bytes}, &f),
                       BESOM_OK);
      assert_holds(f, keys, n);
      assert_int_equal(stats_of(f).keys, n);
      besom_free(f);
    }
  free(keys);
}

static void an_empty_set_has_no_members(void **state) {
  (void)state;
  besom_filter *f = built(NULL, 0, 0.5);
  uint64_t keys[200], bitmap[4] = {1, 1, 1, 1};
  for (size_t i = 0; i < 200; i++) keys[i] = i;
  for (size_t i = 0; i < 200; i++) assert_false(besom_contains_u64(f, keys[i]));
  assert_int_equal(besom_contains_many_u64(f, keys, 200, bitmap), BESOM_OK);
  for (size_t i = 0; i < 4; i++) assert_int_equal(bitmap[i], 0);
  besom_free(f);
}

static void assert_same_bytes(const besom_filter *a, const besom_filter *b) {
  memory_sink x, y;
  memory_sink_init(&x);
  memory_sink_init(&y);
  assert_int_equal(besom_save(a, &x.api), BESOM_OK);
  assert_int_equal(besom_save(b, &y.api), BESOM_OK);
  assert_true(memory_sinks_equal(&x, &y));
  memory_sink_close(&x);
  memory_sink_close(&y);
}

/* Only the set matters, not the order, nor whether a key is repeated twice or hundreds of times. */
static void copies_and_order_do_not_matter(void **state) {
  (void)state;
  enum { DIFFERENT = 1000, MOST = 9 * DIFFERENT };
  uint64_t *keys = keys_u64(MEMBERS, MOST);
  besom_filter *plain = built(keys, DIFFERENT, 0.01), *other = NULL;
  static const size_t totals[] = {DIFFERENT, DIFFERENT + 1, 2 * DIFFERENT, MOST};
  for (size_t t = 0; t < 4; t++) {
    for (size_t i = 0; i < DIFFERENT; i++) keys[i] = key_u64(MEMBERS, DIFFERENT - 1 - i);
    for (size_t i = DIFFERENT; i < totals[t]; i++) keys[i] = keys[t == 3 ? i % 3 : i % DIFFERENT];
    assert_int_equal(
        build(keys, totals[t], &(besom_config){.capacity = DIFFERENT, .fpr = 0.01}, &other),
        BESOM_OK);
    assert_int_equal(stats_of(other).keys, DIFFERENT);
    assert_same_bytes(plain, other);
    besom_free(other);
  }
  besom_filter *none = NULL;
  keys[0] = key_u64(MORE_MEMBERS, 0);
  keys[MOST - 1] = key_u64(MORE_MEMBERS, 1); /* one too many */
  assert_int_equal(build(keys, MOST, &(besom_config){.capacity = DIFFERENT}, &none), BESOM_FULL);
  assert_null(none);
  besom_free(plain);
  free(keys);
}

/* 1.125 cells per key for large sets, plus half a segment and the head. */
static void bits_an_item_are_those_of_the_formula(void **state) {
  (void)state;
  static const size_t sizes[] = {100000, 1000000};
  for (size_t s = 0; s < 2; s++) {
    uint64_t *keys = keys_u64(MEMBERS, sizes[s]);
    double factor = fmax(1.125, 0.875 + 0.25 * log(1e6) / log((double)sizes[s]));
    for (int width = 4; width <= 32; width += s ? 14 : 7) {
      besom_filter *f = built(keys, sizes[s], ldexp(1, -width));
      besom_statistics stats = stats_of(f);
      assert_int_equal(stats.width, width);
      assert_true(stats.bits_per_key <= 1.05 * factor * width);
      assert_true(stats.expected_fpr == ldexp(1, -width));
      assert_holds(f, keys, sizes[s]);
      besom_free(f);
    }
    free(keys);
  }
}

static void impossible_wishes_are_refused(void **state) {
  (void)state;
  uint64_t keys[3] = {1, 2, 3};
  besom_filter *f = NULL;
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .fpr = 0x1p-33}, &f),
                   BESOM_INVALID);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .bits_per_key = 1}, &f),
                   BESOM_INVALID);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .value_bits = 1}, &f),
                   BESOM_INVALID);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .reserve = 0.1}, &f),
                   BESOM_INVALID);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .options = "heads=no"}, &f),
                   BESOM_BAD_OPTION);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 2}, &f), BESOM_FULL);
  assert_null(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_small_set_is_built),
      cmocka_unit_test(an_empty_set_has_no_members),
      cmocka_unit_test(copies_and_order_do_not_matter),
      cmocka_unit_test(bits_an_item_are_those_of_the_formula),
      cmocka_unit_test(impossible_wishes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
