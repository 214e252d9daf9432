/*
 * slot_meta_code.c: what fits is decoded unchanged, what does not fit is refused, and the
 * probabilities of the published form are those of the paper.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "papers/telescoping/slot_meta_code.h"
#include "support/keys.h"

/* ------------------------------------------------------------------ the expected result */

static double fraction(uint64_t x) {
  return ldexp((double)x, -64);
}

/* The bits that the metadata of a slot take, without their position. */
static double meta_bits(const struct code_model *m, slot_meta n) {
  if (m->extensions) return 2 * floor(log2(n));
  if (n > m->last_selector) return INFINITY;
  double below = fraction(m->smaller[n]),
         up_to = n < m->last_selector ? fraction(m->smaller[n + 1]) : 1;
  return -log2(up_to - below);
}

/* The bits that all metadata take by their probabilities, without rounding to integers. */
static double ideal_bits(const struct code_model *m, const slot_meta *meta) {
  double bits = 0;
  unsigned next = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    if (!meta[i]) continue;
    bits -=
        log2(fraction(m->some[i + 1 - next]) - fraction(m->some[i - next])) - meta_bits(m, meta[i]);
    next = i + 1;
  }
  if (m->all_slots && next) bits -= log2(1 - fraction(m->some[CODE_SLOTS - next])) - 1;
  return bits;
}

/*
 * Whether the metadata fit. They must if there is space for them, except for rounding. If they fit,
 * they must be decoded unchanged.
 */
static bool check_meta(const struct code_model *m, const slot_meta *meta) {
  uint64_t code = 0;
  slot_meta back[CODE_SLOTS];
  double bits = ideal_bits(m, meta);
  bool fits = besom__meta_encode(m, meta, &code), any = false;
  for (unsigned i = 0; i < CODE_SLOTS; i++) any |= meta[i] != 0;
  if (bits < CODE_BITS - 1.5) assert_true(fits);
  if (isinf(bits)) assert_false(fits);
  if (!fits) return false;
  assert_true(code >> CODE_BITS == 0);
  assert_true((code != 0) == any);
  besom__meta_decode(m, code, back);
  assert_memory_equal(back, meta, sizeof back);
  return true;
}

/* Width 0: extensions. */
static struct code_model model_of(unsigned width, bool published) {
  struct code_model m;
  if (!width && published)
    besom__code_for_published_extensions(&m);
  else if (!width)
    besom__code_for_extensions(&m);
  else if (published)
    besom__code_for_published_selectors(&m, width);
  else
    besom__code_for_selectors(&m, width);
  return m;
}

/* ------------------------------------------------------------------ laws */

/* All combinations in four slots, at the ends of a block and in its middle. */
static void every_short_block_of_selectors(void **state) {
  (void)state;
  static const unsigned widths[] = {1, 4, 5, 8, 11, 16, 20};
  static const unsigned places[][4] = {{0, 1, 2, 3}, {0, 20, 21, 63}, {60, 61, 62, 63}};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    struct code_model m = model_of(widths[w], w % 2);
    size_t fitting = 0;
    for (size_t p = 0; p < 3; p++)
      for (unsigned all = 0; all < 1 << 16; all++) {
        slot_meta meta[CODE_SLOTS] = {0};
        for (unsigned i = 0; i < 4; i++) meta[places[p][i]] = all >> (4 * i) & 15;
        fitting += check_meta(&m, meta);
      }
    assert_true(fitting > 100);
    assert_true(widths[w] < 4 || fitting < 3 << 16);
  }
}

static void every_short_block_of_extensions(void **state) {
  (void)state;
  struct code_model m = model_of(0, true);
  for (unsigned a = 0; a < 1 << 7; a++)
    for (unsigned b = 0; b < 1 << 7; b++)
      for (unsigned place = 1; place < CODE_SLOTS; place += 31) {
        slot_meta meta[CODE_SLOTS] = {a > 1 ? a : 0};
        meta[place] = b > 1 ? b : 0;
        assert_true(check_meta(&m, meta));
      }
}

static slot_meta random_meta(random_stream *random, bool extension) {
  unsigned high = 1;
  while (high < 12 && random_below(random, 3) == 0) high++;
  if (!extension) return high;
  return (slot_meta)(UINT64_C(1) << high | random_below(random, UINT64_C(1) << high));
}

static void random_blocks(void **state) {
  (void)state;
  for (unsigned width = 0; width <= 20; width++) {
    struct code_model m = model_of(width, width % 2);
    random_stream random = {width};
    size_t fitting = 0;
    for (size_t round = 0; round < 20000; round++) {
      slot_meta meta[CODE_SLOTS] = {0};
      for (uint64_t n = random_below(&random, 14); n; n--)
        meta[random_below(&random, CODE_SLOTS)] = random_meta(&random, m.extensions);
      fitting += check_meta(&m, meta);
    }
    assert_in_range(fitting, 1000, 19000);
  }
}

/*
 * The code of the thesis holds about 8 single-bit extensions, or one extension of 19 bits (5.2.2).
 * So does the published form, which holds no more than 9; the default holds more.
 */
static void check_space_of_extensions(bool published) {
  struct code_model m = model_of(0, published);
  random_stream random = {3};
  for (unsigned place = 0; place < CODE_SLOTS; place++) {
    slot_meta meta[CODE_SLOTS] = {0};
    meta[place] = UINT32_C(1) << 19 | 0x5a5a5;
    assert_true(check_meta(&m, meta));
    meta[place] = UINT32_C(1) << (MAX_META_EXTENSION + 1);
    assert_false(check_meta(&m, meta)); /* too long for any block */
  }
  size_t fitting = 0;
  for (size_t round = 0; round < 1000; round++) {
    slot_meta meta[CODE_SLOTS] = {0};
    for (unsigned n = 0; n < 8;) {
      slot_meta *place = &meta[random_below(&random, CODE_SLOTS)];
      n += !*place;
      *place = 2 + (slot_meta)random_below(&random, 2);
    }
    fitting += check_meta(&m, meta);
  }
  assert_true(fitting > 950);
  slot_meta longest[CODE_SLOTS] = {UINT32_C(1) << MAX_META_EXTENSION}, ten[CODE_SLOTS] = {0};
  assert_int_equal(check_meta(&m, longest), !published);
  for (unsigned i = 0; i < 10; i++) ten[6 * i] = 2;
  assert_false(published && check_meta(&m, ten));
}

static void extensions_have_the_space_that_the_thesis_has(void **state) {
  (void)state;
  check_space_of_extensions(false);
  check_space_of_extensions(true);
}

/* Any number can be decoded, and code_has_meta agrees with the result. */
static void any_code_is_decoded(void **state) {
  (void)state;
  for (unsigned width = 0; width <= 64; width += 4) {
    struct code_model m = model_of(width, width % 8);
    random_stream random = {width};
    for (size_t round = 0; round < 3000; round++) {
      uint64_t code = random_next(&random) >> (64 - CODE_BITS + random_below(&random, 50));
      slot_meta meta[CODE_SLOTS];
      besom__meta_decode(&m, code, meta);
      unsigned first = (unsigned)random_below(&random, CODE_SLOTS);
      unsigned last = first + (unsigned)random_below(&random, CODE_SLOTS - first);
      bool some = false;
      for (unsigned i = 0; i < CODE_SLOTS; i++) {
        if (meta[i])
          assert_true(m.extensions ? meta[i] > 1 && meta[i] >> (MAX_META_EXTENSION + 1) == 0
                                   : meta[i] <= MAX_SELECTOR);
        some |= meta[i] && i >= first && i <= last;
      }
      assert_int_equal(code_has_meta(&m, code, first, last), some);
    }
  }
}

/* Corollary 3, in floating point. */
static double corollary_3(unsigned width, unsigned k) {
  double e = ldexp(1, -(int)width), c = 1 / (4 * sqrt(e)), sum = 0, term = 1;
  if (k == 0) return exp(-c * e);
  for (unsigned i = 1; i <= k; i++) sum += term *= c / i;
  return pow(e, k) * sum;
}

/* The shifts of Figure 5.2 for a width of 8; 25/32 for selector 0 at every width. */
static void published_probabilities_are_those_of_the_thesis(void **state) {
  (void)state;
  static const double figure[] = {0.78125,       0.197265625, 0.01953125,
                                  0.00146484375, 5.0 / 65536, 25.0 / 8388608};
  for (unsigned width = 1; width <= 20; width++) {
    struct code_model m = model_of(width, true);
    double e = ldexp(1, -(int)width), x = -log(figure[0]), sum = 0, below = 0, shares[7] = {0};
    assert_true(fabs(fraction(m.some[1]) - (1 - figure[0])) < 1e-12);
    for (unsigned k = 1; k <= 6; k++) {
      double term = 1;
      for (unsigned i = 1; i <= k; i++) shares[k] += (term *= x / i) * pow(e, k - i);
      if (width == 8) shares[k] = figure[k % 6] / (1 - figure[0]);
      if (width != 8 || k < 6) sum += shares[k];
    }
    for (unsigned k = 1; k < 6; k++) {
      below += shares[k] / (width == 8 ? 1 : sum);
      assert_true(fabs(fraction(m.smaller[k + 1]) - below) < 1e-9);
    }
    slot_meta seven[CODE_SLOTS] = {7};
    assert_false(check_meta(&m, seven));
  }
}

/* Files of version 0.2. */
static void earlier_probabilities_are_those_of_corollary_3(void **state) {
  (void)state;
  for (unsigned width = 1; width <= 20; width++) {
    struct code_model m;
    besom__code_for_corollary_selectors(&m, width);
    double meta = 0, below = 0;
    for (unsigned k = 1; k <= MAX_SELECTOR; k++) meta += corollary_3(width, k);
    double some = meta / (meta + corollary_3(width, 0));
    assert_true(fabs(fraction(m.some[1]) / some - 1) < 1e-9);
    assert_true(fabs(fraction(m.some[CODE_SLOTS]) - (1 - pow(1 - some, CODE_SLOTS))) < 1e-9);
    for (unsigned k = 1; k < MAX_SELECTOR; k++) {
      below += corollary_3(width, k) / meta;
      assert_true(fabs(fraction(m.smaller[k + 1]) - below) < 1e-9);
      assert_true(m.smaller[k + 1] > m.smaller[k]);
    }
  }
}

/*
 * Selectors after 20 queried keys per slot, each queried until it is no false positive (claim
 * selectors), with 8-bit remainders: some of 61 keys per block.
 */
static void the_code_holds_more_selectors_than_the_published_one(void **state) {
  (void)state;
  struct code_model own = model_of(8, false), published = model_of(8, true);
  random_stream random = {5};
  size_t own_full = 0, published_full = 0;
  for (size_t round = 0; round < 2000; round++) {
    slot_meta meta[CODE_SLOTS] = {0};
    for (unsigned i = 0; i < 61; i++)
      while (random_below(&random, 256) < 20 && meta[i] < MAX_SELECTOR) meta[i]++;
    own_full += !check_meta(&own, meta);
    published_full += !check_meta(&published, meta);
  }
  assert_true(own_full <= published_full && published_full < 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_short_block_of_selectors),
      cmocka_unit_test(every_short_block_of_extensions),
      cmocka_unit_test(random_blocks),
      cmocka_unit_test(extensions_have_the_space_that_the_thesis_has),
      cmocka_unit_test(any_code_is_decoded),
      cmocka_unit_test(the_code_holds_more_selectors_than_the_published_one),
      cmocka_unit_test(published_probabilities_are_those_of_the_thesis),
      cmocka_unit_test(earlier_probabilities_are_those_of_corollary_3),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
