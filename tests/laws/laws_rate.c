/* The false-positive rate and the bits per key are those of the configuration. */
#include <math.h>
#include <stdlib.h>

#include "filters.h"

/* Four standard deviations for chance, and a tenth for rounding. */
static double max_false_positives(double fpr, size_t queries) {
  double expected = fpr * (double)queries;
  return 1.1 * expected + 4 * sqrt(expected);
}

static void assert_fpr_at_most(const besom_filter *f, double fpr, size_t queries) {
  double wrong = (double)count_false_positives(f, queries);
  if (wrong > max_false_positives(fpr, queries)) {
    print_error("%.0f of %zu are false positives: 2^%.2f, more than 2^%.2f\n", wrong, queries,
                log2(wrong / (double)queries), log2(fpr));
    fail();
  }
}

/* Capacities below and above powers of two: the rate holds for every capacity. */
static void the_fpr_is_at_most_the_target(void **state) {
  const subject *s = subject_of(state);
  static const struct {
    int log_rate;
    size_t capacity, queries;
  } tries[] = {{1, 1000, 50000},     {4, 1023, 200000},  {4, 50000, 200000},
               {8, 1025, 400000},    {8, 65535, 400000}, {8, 65537, 400000},
               {12, 30000, 1500000}, {16, 100, 1000000}, {20, 5000, 2000000}};
  for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
    double rate = ldexp(1, -tries[i].log_rate);
    besom_filter *f = make_of_members(s, tries[i].capacity, rate);
    assert_fpr_at_most(f, rate, tries[i].queries);
    besom_free(f);
  }
}

/* One tiny filter gives a poor estimate, so this uses many, each with its own seed. */
static void the_fpr_of_tiny_filters_is_at_most_the_target(void **state) {
  const subject *s = subject_of(state);
  enum { FILTERS = 200, QUERIES = 500 };
  static const double rates[] = {0.5, 0.0625, 1.0 / 256};
  for (size_t capacity = 1; capacity <= 3; capacity++)
    for (size_t r = 0; r < 3; r++) {
      double wrong = 0;
      for (uint8_t i = 0; i < FILTERS; i++) {
        uint8_t seed[16] = {i, 1};
        besom_config config = config_of(s, capacity, rates[r]);
        config.seed = seed;
        uint64_t *keys = keys_u64(MEMBERS, capacity);
        besom_filter *f = make_of_u64(s, &config, keys, capacity);
        wrong += (double)count_false_positives(f, QUERIES);
        besom_free(f);
        free(keys);
      }
      assert_true(wrong <= max_false_positives(rates[r], FILTERS * QUERIES));
    }
}

/* The expected rate of besom_stats is the measured one, and at most the target. */
static void the_expected_fpr_is_the_measured_one(void **state) {
  const subject *s = subject_of(state);
  enum { CAPACITY = 20000, QUERIES = 300000 };
  static const double rates[] = {0.25, 0.01, 1.0 / 256};
  for (size_t r = 0; r < 3; r++)
    for (size_t n = CAPACITY / 4; n <= CAPACITY; n += CAPACITY / 4) {
      besom_config config = config_of(s, CAPACITY, rates[r]);
      uint64_t *keys = keys_u64(MEMBERS, n);
      besom_filter *f = make_of_u64(s, &config, keys, n);
      besom_statistics stats = stats_of(f);
      assert_fpr_at_most(f, stats.expected_fpr, QUERIES);
      double wrong = (double)count_false_positives(f, QUERIES),
             expected = stats.expected_fpr * QUERIES;
      assert_true(wrong >= 0.9 * expected - 4 * sqrt(expected));
      assert_true(stats.expected_fpr <= stats.fpr_at_capacity * 1.05);
      assert_true(stats.fpr_at_capacity <= rates[r] * 1.0001);
      besom_free(f);
      free(keys);
    }
}

/* Bits per slot besides the remainder; 4 for kinds without slots. */
static double bits_beside_remainder(const subject *s) {
  if (!takes_geometry(s)) return 4;
  besom_config config = geometry_of(s, 1 << 16, 8);
  besom_filter *f = make_empty(&config);
  double bits = 8.0 * (double)stats_of(f).bytes / (1 << 16) - 8;
  besom_free(f);
  return bits;
}

/* The fewest bits per key; a tenth of the slots is empty. */
static double min_bits_per_key(const subject *s) {
  return 1.1 * (bits_beside_remainder(s) + (takes_geometry(s) ? min_width(s) : 1));
}

/* Not if remainders have whole bytes: then bits may be left over. */
static bool has_any_width(const subject *s) {
  besom_config config = config_of(s, 1000, 1.0 / 16);
  uint64_t key = 1;
  besom_filter *f = make_of_u64(s, &config, &key, 1);
  uint32_t width = stats_of(f).width;
  besom_free(f);
  config = config_of(s, 1000, 1.0 / 64);
  f = make_of_u64(s, &config, &key, 1);
  bool differs = stats_of(f).width != width;
  besom_free(f);
  return differs;
}

/* A filter keeps the bits per key of its configuration, and has a low FPR for them. */
static void the_bits_per_key_are_kept(void **state) {
  const subject *s = subject_of(state);
  enum { CAPACITY = 100000, QUERIES = 200000 };
  static const double budgets[] = {6, 8, 10.5, 12, 16, 20};
  bool any_width = has_any_width(s);
  double last_fpr = 1, least = any_width ? min_bits_per_key(s) : 12,
         beside = fmax(4, bits_beside_remainder(s));
  uint64_t *keys = keys_u64(MEMBERS, CAPACITY);
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
    besom_config config = config_of(s, CAPACITY, 0);
    config.fpr = 0, config.bits_per_key = budgets[i];
    if (budgets[i] < least) continue;
    besom_filter *f = make_of_u64(s, &config, keys, CAPACITY);
    besom_statistics stats = stats_of(f);
    assert_true(8.0 * (double)stats.bytes / CAPACITY <= budgets[i] * 1.02);
    assert_true(stats.fpr_at_capacity <= last_fpr);
    /*
     * 2^-(0.9 bits - 4) is a weak bound: a quotient table has about 3 bits per slot besides the
     * remainder, an adaptive one a tenth in reserve, or more bits.
     */
    if (any_width)
      assert_true(stats.fpr_at_capacity <=
                      ldexp(1, (int)(beside + 0.75) - (int)(0.9 * budgets[i])) ||
                  stats.fpr_at_capacity < 0.001);
    assert_fpr_at_most(f, stats.fpr_at_capacity, QUERIES);
    last_fpr = stats.fpr_at_capacity;
    besom_free(f);
  }
  free(keys);
}

static void statistics_describe_the_filter(void **state) {
  const subject *s = subject_of(state);
  enum { N = 1000 };
  besom_filter *f = make_of_members(s, N, 0.01);
  besom_statistics stats = stats_of(f);
  assert_string_equal(stats.kind, s->kind->name);
  assert_string_equal(stats.hash, s->hash);
  assert_non_null(stats.isa);
  assert_true(stats.keys <= N && (double)stats.keys >= 0.97 * N);
  if (can(s, BESOM_CAN_COUNT)) assert_int_equal(stats.keys, N);
  assert_true(stats.capacity >= N);
  assert_true(stats.slots > 0 && stats.width > 0);
  assert_true(fabs(stats.bits_per_key - 8.0 * (double)stats.bytes / (double)stats.keys) < 1e-9);
  assert_true(stats.load_factor > 0 && stats.load_factor <= 1);
  besom_free(f);
}

/* The default false-positive rate is 1/256. */
static void zero_means_default(void **state) {
  const subject *s = subject_of(state);
  if (s->most_fpr != 0) skip();
  uint64_t *keys = keys_u64(MEMBERS, 1000);
  besom_config sparse = {.kind = s->kind->name, .seed = fixed_seed, .capacity = 1000};
  besom_config complete = config_of(s, 1000, 1.0 / 256);
  besom_filter *a = make_of_u64(s, &sparse, keys, 1000), *b = make_of_u64(s, &complete, keys, 1000);
  assert_same_bytes(a, b);
  besom_free(a);
  besom_free(b);
  free(keys);
}

const law rate_laws[] = {
    LAW(the_fpr_is_at_most_the_target, EVERY_KIND, 0),
    LAW(the_fpr_of_tiny_filters_is_at_most_the_target, EVERY_SUBJECT, 0),
    LAW(the_expected_fpr_is_the_measured_one, EVERY_KIND, 0),
    LAW(the_bits_per_key_are_kept, EVERY_KIND, 0),
    LAW(statistics_describe_the_filter, EVERY_SUBJECT, 0),
    LAW(zero_means_default, EVERY_KIND, 0),
    {0},
};
