/*
 * The kinds that are built once from a set, fuse and ribbon: sets of every size, repeated keys, any
 * order, and the size that they promise.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/saved_filters.h"

static const char *kind; /* that is tested */

static int of_fuse(void **state) {
  (void)state;
  kind = "fuse";
  return 0;
}

static int of_ribbon(void **state) {
  (void)state;
  kind = "ribbon";
  return 0;
}

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
  config.kind = kind;
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

/* Building gets stuck with small sets: every size, with many seeds. */
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
static void bits_of_fuse_are_those_of_the_formula(void **state) {
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

/* Also rates between two powers of two, for which slots of two widths are mixed. */
static void ribbon_takes_little_more_than_the_least_bits(void **state) {
  (void)state;
  enum { N = 100000 };
  static const double rates[] = {1.0 / 32, 0.022, 0.01, 0.001, 0x1p-17, 0x1p-32};
  uint64_t *keys = keys_u64(MEMBERS, N);
  for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
    besom_filter *f = built(keys, N, rates[r]);
    besom_statistics stats = stats_of(f);
    assert_true(stats.bits_per_key <= 1.03 * -log2(rates[r]));
    assert_true(stats.expected_fpr <= rates[r] && stats.expected_fpr > 0.99 * rates[r]);
    assert_holds(f, keys, N);
    besom_free(f);
  }
  free(keys);
}

/* Several layers, blocks of both widths, and keys that are bumped: many sets. */
static void no_member_of_a_ribbon_is_lost(void **state) {
  (void)state;
  enum { MOST = 6000 };
  uint64_t *keys = keys_u64(MEMBERS, MOST);
  for (uint8_t round = 0; round < 60; round++) {
    uint8_t seed[16] = {round, 2};
    static const double rates[] = {0.7, 0.3, 0.02, 0.0003};
    size_t n = 500 + 91 * (size_t)round;
    besom_filter *f = NULL;
    besom_config config = {.capacity = n, .fpr = rates[round % 4], .seed = seed};
    assert_int_equal(build(keys, n, &config, &f), BESOM_OK);
    assert_holds(f, keys, n);
    besom_free(f);
  }
  free(keys);
}

static void bits_of_a_ribbon_are_those_of_its_budget(void **state) {
  (void)state;
  enum { N = 50000 };
  uint64_t *keys = keys_u64(MEMBERS, N);
  for (double bits = 1.5; bits < 34; bits += 3.25) {
    besom_filter *f = NULL;
    assert_int_equal(build(keys, N, &(besom_config){.capacity = N, .bits_per_key = bits}, &f),
                     BESOM_OK);
    double got = stats_of(f).bits_per_key;
    assert_true(got <= 1.003 * bits && (got >= 0.98 * bits || bits > 32));
    besom_free(f);
  }
  free(keys);
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
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 3, .options = "heads=no"}, &f),
                   BESOM_BAD_OPTION);
  assert_int_equal(build(keys, 3, &(besom_config){.capacity = 2}, &f), BESOM_FULL);
  assert_null(f);
}

#define OF_BOTH(test) cmocka_unit_test_setup(test, of_fuse), cmocka_unit_test_setup(test, of_ribbon)

int main(void) {
  const struct CMUnitTest tests[] = {
      OF_BOTH(every_small_set_is_built),
      OF_BOTH(an_empty_set_has_no_members),
      OF_BOTH(copies_and_order_do_not_matter),
      OF_BOTH(impossible_wishes_are_refused),
      cmocka_unit_test_setup(bits_of_fuse_are_those_of_the_formula, of_fuse),
      cmocka_unit_test_setup(ribbon_takes_little_more_than_the_least_bits, of_ribbon),
      cmocka_unit_test_setup(no_member_of_a_ribbon_is_lost, of_ribbon),
      cmocka_unit_test_setup(bits_of_a_ribbon_are_those_of_its_budget, of_ribbon),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
