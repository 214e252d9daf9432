/*
 * Building from a source of unknown size, each key once: the same filter as with a known capacity,
 * also when short entries are ambiguous and the source is read again; every failure leaves nothing.
 */
#include "build/build_distinct.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/sort.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/saved_filters.h"

enum { KEYS = 30000, REPEATED = 5000 };

/* KEYS distinct keys, and the first REPEATED again. */
typedef struct numbers {
  besom_source api;
  uint64_t at, end, rewinds, fail_at;
  uint64_t key;
} numbers;

static besom_status next_number(void *ctx, besom_bytes *key, uint64_t *weight) {
  numbers *s = ctx;
  (void)weight;
  if (s->fail_at && s->at == s->fail_at) return BESOM_IO;
  if (s->at == s->end) return BESOM_END;
  s->key = little_endian(key_u64(MEMBERS, s->at++ % KEYS));
  *key = (besom_bytes){&s->key, sizeof s->key};
  return BESOM_OK;
}

static besom_status rewind_numbers(void *ctx) {
  numbers *s = ctx;
  s->at = 0;
  s->rewinds++;
  return BESOM_OK;
}

static void numbers_init(numbers *s, uint64_t n) {
  *s = (numbers){.end = n};
  s->api = (besom_source){.next = next_number, .rewind = rewind_numbers, .ctx = s};
}

static const uint8_t seed[16] = {4, 5, 6};

static besom_config config_of(const char *kind, double fpr) {
  return (besom_config){.kind = kind, .fpr = fpr, .seed = seed, .flags = BESOM_DISTINCT};
}

/* The filter that is made if the capacity is known. */
static besom_filter *expected_filter(besom_config config, uint64_t n) {
  numbers source;
  besom_filter *f = NULL;
  numbers_init(&source, n);
  config.capacity = n ? n : 1;
  besom_input input = {.yes = &source.api};
  assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
  return f;
}

static void assert_builds(const char *kind, double fpr, uint64_t n, unsigned bits,
                          uint64_t rewinds) {
  besom_config config = config_of(kind, fpr);
  numbers source;
  besom_filter *f = NULL, *expected = expected_filter(config, n);
  numbers_init(&source, n);
  assert_int_equal(besom__build_distinct(&config, &source.api, NULL, bits, &f), BESOM_OK);
  assert_int_equal(source.rewinds, rewinds);
  assert_same_bytes(f, expected);
  besom_free(f);
  besom_free(expected);
}

static void a_known_capacity_gives_the_same_filter(void **state) {
  (void)state;
  const uint64_t sizes[] = {0, 1, 2, 255, 256, 257, KEYS, KEYS + REPEATED};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_builds("aqf", 1.0 / 256, sizes[i], DISTINCT_ENTRY_BITS, 0);
    assert_builds("bloom", 1.0 / 256, sizes[i], DISTINCT_ENTRY_BITS, 0);
  }
  assert_builds("qf", 1e-9, KEYS + REPEATED, DISTINCT_ENTRY_BITS, 0); /* whole digests */
  assert_builds("scaling", 1.0 / 256, KEYS + REPEATED, DISTINCT_ENTRY_BITS, 0);
}

static void ambiguous_entries_are_read_again(void **state) {
  (void)state;
  assert_builds("aqf", 1.0 / 256, KEYS + REPEATED, 24, 1);
}

static uint64_t place_of(unsigned __int128 digest, uint64_t places) {
  uint64_t hi = (uint64_t)(digest >> 64), lo = (uint64_t)digest;
  uint64_t carry = (uint64_t)((unsigned __int128)lo * places >> 64);
  return (uint64_t)(((unsigned __int128)hi * places + carry) >> 64);
}

/* Near a border of two places in every other trial. */
static void a_place_is_ambiguous_if_two_digests_differ_in_it(void **state) {
  (void)state;
  size_t ambiguous = 0;
  enum { TRIALS = 20000, UNKNOWN = 128 - DISTINCT_GROUP_BITS };
  for (size_t i = 0; i < TRIALS; i++) {
    unsigned bits = 20 + i % 45;
    uint64_t places = (key_u64(1, i) >> 22 | 1) >> i % 12;
    unsigned __int128 digest = (unsigned __int128)key_u64(2, i) << 64 | key_u64(3, i);
    if (i % 2 && places) digest = ~(unsigned __int128)0 / places * (key_u64(4, i) % places);
    unsigned __int128 last = (((unsigned __int128)1 << (UNKNOWN - bits)) - 1);
    digest &= ~last;
    uint64_t group = (uint64_t)(digest >> UNKNOWN), rest = (uint64_t)(digest >> (UNKNOWN - 64));
    bool differ = places && place_of(digest, places) != place_of(digest | last, places);
    bool found = besom__place_is_ambiguous(group, rest, bits, places);
    if (differ) assert_true(found);
    ambiguous += differ;
    if (!differ && found) assert_true(i % 2); /* at the border itself it may say so */
  }
  assert_true(ambiguous > TRIALS / 20);
}

static void failures_leave_nothing(void **state) {
  (void)state;
  besom_config config = config_of("aqf", 1.0 / 256);
  size_t failed = 0;
  for (uint64_t fail_at = 1; fail_at <= 30; fail_at++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = fail_at;
    config.allocator = &memory.api;
    numbers source;
    besom_filter *f = NULL;
    numbers_init(&source, KEYS + REPEATED);
    besom_status status = besom__build_distinct(&config, &source.api, NULL, 24, &f);
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    assert_true(!f == (status != BESOM_OK));
    failed += !f;
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  assert_true(failed > 8);
  config.allocator = NULL;
  for (uint64_t at = 1; at < KEYS; at += KEYS / 3) {
    numbers source;
    besom_filter *f = NULL;
    numbers_init(&source, KEYS);
    source.fail_at = at;
    assert_int_equal(besom__build_distinct(&config, &source.api, NULL, 64, &f), BESOM_IO);
    assert_null(f);
  }
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Random numbers, few values, and all in one part. */
static void numbers_are_sorted(void **state) {
  (void)state;
  enum { MOST = 20000 };
  uint64_t *in = calloc(MOST, sizeof *in), *out = calloc(MOST, sizeof *out);
  uint32_t *ends = calloc(SORT_COUNTS, sizeof *ends);
  for (size_t n = 1; n <= MOST; n = 3 * n + 1)
    for (unsigned shape = 0; shape < 3; shape++) {
      unsigned bits = besom__sort_bits(n);
      for (size_t i = 0; i < n; i++)
        in[i] = shape == 0 ? key_u64(n, i) : shape == 1 ? key_u64(n, i % 5) : key_u64(n, i) >> 20;
      memset(ends, 0, sizeof *ends << bits);
      for (size_t i = 0; i < n; i++) ends[in[i] >> (64 - bits)]++;
      besom__sort_sum(ends, (size_t)1 << bits);
      for (size_t i = 0; i < n; i++) out[ends[in[i] >> (64 - bits)]++] = in[i];
      besom__sort_parts(out, ends, (size_t)1 << bits);
      qsort(in, n, sizeof *in, compare_u64);
      assert_memory_equal(in, out, n * sizeof *in);
    }
  free(in);
  free(out);
  free(ends);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_known_capacity_gives_the_same_filter),
      cmocka_unit_test(ambiguous_entries_are_read_again),
      cmocka_unit_test(a_place_is_ambiguous_if_two_digests_differ_in_it),
      cmocka_unit_test(failures_leave_nothing),
      cmocka_unit_test(numbers_are_sorted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
