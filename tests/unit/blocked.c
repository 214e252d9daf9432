/*
 * The internals of the blocked Bloom filter: the bits of each key, with every instruction set, and
 * its rates.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bloom/blocked.h"
#include "bloom/blocked_geometry.h"
#include "core/bits.h"
#include "core/cpu.h"
#include "support/heap.h"
#include "support/keys.h"

enum { LINES = 37, KEYS = 500 };

static struct blocked make_lines(unsigned shape, uint64_t lines) {
  return (struct blocked){heap_array((size_t)lines, LINE_BYTES), lines, shape / 2, shape % 2};
}

static besom_digest digest(random_stream *random) {
  return (besom_digest){random_next(random), random_next(random)};
}

/* The portable code is the reference. */
static void assert_same_bits(enum isa isa, const struct blocked *first, const besom_digest *keys,
                             size_t fresh) {
  struct blocked b = *first;
  const struct blocked_ops *ops = besom__blocked_ops(isa, first),
                           *portable = besom__blocked_ops(ISA_PORTABLE, first);
  uint64_t bitmap[KEYS / 64 + 1];
  b.lines = heap_array(LINES, LINE_BYTES);
  assert_int_equal(ops->insert_many(&b, keys, KEYS / 2), fresh);
  assert_memory_equal(b.lines, first->lines, LINES * LINE_BYTES);
  ops->contains_many(&b, keys, KEYS, bitmap);
  for (size_t i = 0; i < KEYS; i++) {
    bool yes = portable->contains(first, keys[i]);
    assert_true(i >= KEYS / 2 || yes);
    assert_int_equal(ops->contains(&b, keys[i]), yes);
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, yes);
  }
  free(b.lines);
}

static void instructions_do_not_matter(void **state) {
  (void)state;
  for (unsigned shape = 1; shape < 2 * MAX_FULL_LAYERS + 2; shape++) {
    struct blocked first = make_lines(shape, LINES);
    besom_digest keys[KEYS];
    random_stream random = {shape};
    for (size_t i = 0; i < KEYS; i++) keys[i] = digest(&random);
    size_t fresh = besom__blocked_ops(ISA_PORTABLE, &first)->insert_many(&first, keys, KEYS / 2);
    for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++)
      assert_same_bits(isa, &first, keys, fresh);
    free(first.lines);
  }
}

/*
 * A full layer has a bit in each word, a half layer one in each pair; all in the line of the key.
 */
static void a_key_sets_its_bits_in_one_line(void **state) {
  (void)state;
  random_stream random = {7};
  for (unsigned shape = 1; shape < 2 * MAX_FULL_LAYERS + 2; shape++)
    for (size_t i = 0; i < 100; i++) {
      struct blocked b = make_lines(shape, LINES);
      besom_digest d = digest(&random);
      besom__blocked_ops(ISA_PORTABLE, &b)->insert_many(&b, &d, 1);
      uint64_t line = (uint64_t)((unsigned __int128)d.hi * LINES >> 64);
      unsigned set = 0, in_line = 0;
      for (size_t w = 0; w < 8 * LINES; w++) set += popcount(load64(b.lines + 8 * w));
      for (size_t pair = 0; pair < 4; pair++) {
        const uint8_t *at = b.lines + LINE_BYTES * line + 16 * pair;
        unsigned x = popcount(load64(at)), y = popcount(load64(at + 8));
        assert_true(x <= shape / 2 + shape % 2 && y <= shape / 2 + shape % 2 && x + y <= shape);
        assert_true(shape < 2 || (x && y));
        assert_true(x + y > 0);
        in_line += x + y;
      }
      assert_int_equal(in_line, set);
      free(b.lines);
    }
}

/* The exact rate of the bits that are set, averaged over the lines. */
static double rate_of_bits(const struct blocked *b) {
  double sum = 0;
  for (uint64_t i = 0; i < b->n_lines; i++) {
    double all_set = 1;
    for (size_t pair = 0; pair < 4; pair++) {
      const uint8_t *at = b->lines + LINE_BYTES * i + 16 * pair;
      double x = popcount(load64(at)) / 64.0, y = popcount(load64(at + 8)) / 64.0;
      all_set *= pow(x * y, b->full_layers) * (b->half_layer ? (x + y) / 2 : 1);
    }
    sum += all_set;
  }
  return sum / (double)b->n_lines;
}

/* Formula, geometry and bits agree, also at rates that are too low to measure by queries. */
static void planned_rates_come_true(void **state) {
  (void)state;
  enum { N = 400000 };
  random_stream random = {11};
  besom_digest *keys = heap_array(N, sizeof *keys);
  for (size_t i = 0; i < N; i++) keys[i] = digest(&random);
  for (int bits = 1; bits <= 16; bits++) {
    double rate = ldexp(1, -bits);
    struct blocked_geometry shape = besom__blocked_geometry_for_fpr(N, rate);
    struct blocked b = make_lines(2 * shape.full_layers + shape.half_layer, (uint64_t)shape.lines);
    besom__blocked_ops(ISA_PORTABLE, &b)->insert_many(&b, keys, N);
    double planned = besom__blocked_fpr(&shape, N), found = rate_of_bits(&b);
    assert_true(planned <= rate && planned > 0.98 * rate);
    assert_true(fabs(found / planned - 1) < 0.04);
    free(b.lines);
  }
  free(keys);
}

/* Also with few lines, and for the lowest supported rate. */
static void plans_keep_the_rate_at_every_size(void **state) {
  (void)state;
  static const double rates[] = {0.9, 0.5, 0.1, 0x1p-8, 0x1p-16, 0x1p-30, MIN_PLANNED_FPR};
  for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
    for (double keys = 1; keys < 0x1p44; keys = ceil(keys * 1.7)) {
      struct blocked_geometry shape = besom__blocked_geometry_for_fpr(keys, rates[r]);
      assert_true(shape.lines >= 1 && shape.lines == floor(shape.lines));
      assert_true(besom__blocked_fpr(&shape, keys) <= rates[r] * 1.0001);
      struct blocked_geometry again = besom__blocked_geometry_for_lines(keys, shape.lines);
      assert_true(besom__blocked_fpr(&again, keys) <= besom__blocked_fpr(&shape, keys));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_do_not_matter),
      cmocka_unit_test(a_key_sets_its_bits_in_one_line),
      cmocka_unit_test(planned_rates_come_true),
      cmocka_unit_test(plans_keep_the_rate_at_every_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
