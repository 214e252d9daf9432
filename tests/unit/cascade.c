/*
 * The cascade of a filter and a retrieval of one bit: exact on both lists, within some percent of
 * the least possible size, for open and closed universes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom.h"
#include "support/keys.h"

typedef struct list {
  uint64_t stream, n, at, key;
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  l->key = key_u64(l->stream, l->at++);
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

static besom_status build(uint64_t n_yes, uint64_t n_no, double rate, const char *options,
                          besom_filter **out) {
  static const uint8_t seed[16] = "yes and no lists";
  list yes = {.stream = MEMBERS, .n = n_yes}, no = {.stream = NEGATIVES, .n = n_no};
  besom_source from_yes = {.next = next, .size_hint = n_yes, .ctx = &yes};
  besom_source from_no = {.next = next, .size_hint = n_no, .ctx = &no};
  besom_config config = {
      .kind = "cascade", .capacity = n_yes, .fpr = rate, .seed = seed, .options = options};
  return besom_build(&config, &(besom_input){.yes = &from_yes, .no = &from_no}, out);
}

static void assert_exact(const besom_filter *f, uint64_t n_yes, uint64_t n_no) {
  for (uint64_t i = 0; i < n_yes; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_true(besom_contains(f, &key, sizeof key));
  }
  for (uint64_t i = 0; i < n_no; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    assert_false(besom_contains(f, &key, sizeof key));
  }
}

static double bits_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return 8 * (double)stats.bytes;
}

/* Theorem 7 of the AQF paper. */
static double least_open(double yes, double no, double rate) {
  return yes * log2(fmax(1 / rate, no / yes)) + log2(exp(1)) * fmin(rate * no, yes);
}

/* To tell which keys of the universe are on the yes list. */
static double least_closed(double yes, double no) {
  return (lgamma(yes + no + 1) - lgamma(yes + 1) - lgamma(no + 1)) / log(2);
}

static void lists_take_little_more_than_the_least_bits(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{100000, 1000}, {100000, 100000}, {30000, 240000}};
  static const double rates[] = {0.001, 0.01}, most[] = {1.10, 1.15};
  for (size_t i = 0; i < 3; i++)
    for (size_t r = 0; r < 2; r++) {
      uint64_t yes = sizes[i][0], no = sizes[i][1];
      besom_filter *f;
      assert_int_equal(build(yes, no, rates[r], "base=ribbon", &f), BESOM_OK);
      assert_exact(f, yes, no);
      assert_true(bits_of(f) <= most[r] * least_open((double)yes, (double)no, rates[r]));
      besom_free(f);
    }
}

static void a_closed_universe_takes_fewer_bits(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{100000, 100000}, {200000, 800000}, {500000, 200000}};
  for (size_t i = 0; i < 3; i++) {
    uint64_t yes = sizes[i][0], no = sizes[i][1];
    besom_filter *f;
    assert_int_equal(build(yes, no, 0, "base=ribbon,universe=closed", &f), BESOM_OK);
    assert_exact(f, yes, no);
    assert_true(bits_of(f) <= 1.15 * least_closed((double)yes, (double)no));
    besom_free(f);
  }
}

static void fuse_works_as_a_base(void **state) {
  (void)state;
  besom_filter *f;
  assert_int_equal(build(5000, 20000, 0.001, "base=fuse", &f), BESOM_OK);
  assert_exact(f, 5000, 20000);
  besom_free(f);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  besom_filter *f = NULL;
  assert_int_equal(build(10, 10, 0.01, "base=qf", &f), BESOM_BAD_OPTION);
  assert_int_equal(build(10, 10, 0.01, "universe=closed", &f), BESOM_BAD_OPTION);
  assert_int_equal(build(10, 10, 0.01, "base=ribbon,universe=other", &f), BESOM_BAD_OPTION);
  assert_null(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_take_little_more_than_the_least_bits),
      cmocka_unit_test(a_closed_universe_takes_fewer_bits),
      cmocka_unit_test(fuse_works_as_a_base),
      cmocka_unit_test(bad_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
