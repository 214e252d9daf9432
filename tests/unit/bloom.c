/*
 * The Bloom filter: instruction sets, single calls and batches set the same bits, and the
 * false-positive rate is that of the formula, also for small filters and low rates.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/saved_filters.h"

static besom_filter *make(size_t capacity, double rate, const char *isa, uint8_t seed) {
  uint8_t bytes[16] = {seed, 7};
  besom_filter *f = NULL;
  besom_config config = {
      .kind = "bloom", .capacity = capacity, .fpr = rate, .options = isa, .seed = bytes};
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

/* Rates with 1, 2, 3, 4, 5, 7, 8, 9, 12, 13 and 20 hash functions, and the most there are. */
static const double rates[] = {0.5,    0.25,   0.125,   0x1p-4,  0x1p-5,  0x1p-7,
                               0x1p-8, 0x1p-9, 0x1p-12, 0x1p-13, 0x1p-20, 0x1p-64};
enum { RATES = sizeof rates / sizeof *rates };

/* A filter with more than CACHED_BITS bits, which batches prefetch, and a small one. */
static const size_t capacities[] = {700, 400000};

static void calls_and_batches_set_the_same_bits(void **state) {
  (void)state;
  static const char *const isas[] = {"isa=portable", "isa=avx2", "isa=avx512"};
  enum { KEYS = 700 };
  uint64_t *keys = keys_u64(MEMBERS, KEYS), bitmap[KEYS / 64 + 1];
  for (size_t r = 0; r < RATES; r++)
    for (size_t c = 0; c < 2; c++) {
      besom_filter *single = make(capacities[c], rates[r], "isa=portable", 1), *f = NULL;
      for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(besom_insert_u64(single, keys[i]), BESOM_OK);
      for (size_t s = 0; s < 3; s++) {
        uint8_t seed[16] = {1, 7};
        besom_config config = {.kind = "bloom",
                               .capacity = capacities[c],
                               .fpr = rates[r],
                               .options = isas[s],
                               .seed = seed};
        if (besom_create(&config, &f) == BESOM_BAD_OPTION) continue; /* not on this machine */
        assert_int_equal(besom_insert_many_u64(f, keys, KEYS, NULL), BESOM_OK);
        assert_int_equal(stats_of(f).keys, stats_of(single).keys);
        assert_same_bytes(f, single);
        assert_int_equal(besom_contains_many_u64(f, keys, KEYS, bitmap), BESOM_OK);
        for (size_t i = 0; i < KEYS; i++) {
          assert_true(bitmap[i / 64] >> (i % 64) & 1);
          assert_true(besom_contains_u64(f, keys[i]));
          uint64_t absent = key_u64(NEGATIVES, i);
          assert_int_equal(besom_contains_u64(f, absent), besom_contains_u64(single, absent));
          assert_int_equal(besom_contains(f, besom_u64(absent).bytes, 8),
                           besom_contains_u64(f, absent));
        }
        besom_free(f);
      }
      besom_free(single);
    }
  free(keys);
}

/*
 * Keys that count up, in many small filters: the false positives are as many as the set bits
 * predict. Two keys that share all positions too often would show in the lower rates.
 */
static void small_filters_keep_their_rate(void **state) {
  (void)state;
  static const size_t sizes[] = {3, 20, 150};
  enum { FILTERS = 60, QUERIES = 2000 };
  for (size_t r = 0; r < RATES - 2; r++)
    for (size_t s = 0; s < 3; s++) {
      double expected = 0, wrong = 0;
      for (uint8_t seed = 0; seed < FILTERS; seed++) {
        besom_filter *f = make(sizes[s], rates[r], NULL, seed);
        for (uint64_t i = 0; i < sizes[s]; i++) besom_insert_u64(f, i << 12);
        expected += QUERIES * stats_of(f).expected_fpr;
        for (uint64_t i = 0; i < QUERIES; i++) wrong += besom_contains_u64(f, i << 12 | 1);
        besom_free(f);
      }
      assert_true(fabs(wrong - expected) < 5 * sqrt(expected) + 4);
    }
}

/* An insert that finds the filter full changes nothing, whatever the number of hash functions. */
static void a_full_filter_is_unchanged(void **state) {
  (void)state;
  for (size_t r = 0; r < RATES; r++) {
    besom_filter *f = make(50, rates[r], NULL, 2), *copy = make(50, rates[r], NULL, 2);
    uint64_t key = 0, refused = 0;
    for (; stats_of(f).keys < 50; key++) {
      assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
      assert_int_equal(besom_insert_u64(copy, key), BESOM_OK);
    }
    for (uint64_t end = key + 200; key < end; key++) {
      bool known = besom_contains_u64(f, key);
      assert_int_equal(besom_insert_u64(f, key), known ? BESOM_OK : BESOM_FULL);
      refused += !known;
    }
    assert_true(refused > 0);
    assert_same_bytes(f, copy);
    besom_free(f), besom_free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_and_batches_set_the_same_bits),
      cmocka_unit_test(small_filters_keep_their_rate),
      cmocka_unit_test(a_full_filter_is_unchanged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
