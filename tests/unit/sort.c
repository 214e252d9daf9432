/*
 * Sorting digests and numbers, compared with qsort: random ones, for which it is made, and orders
 * on which it might be slow or wrong.
 */
#include "core/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"
#include "support/keys.h"

static const size_t sizes[] = {0,   1,   2,   3,   23,   24,   25,    26,
                               100, 255, 256, 257, 1000, 4096, 30000, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The i-th of n digests of some shape. */
typedef besom_digest (*shape)(size_t i, size_t n);

static besom_digest random_one(size_t i, size_t n) {
  return (besom_digest){key_u64(n, 2 * i), key_u64(n, 2 * i + 1)};
}

static besom_digest always_the_same(size_t i, size_t n) {
  (void)i;
  return (besom_digest){~(uint64_t)n, n};
}

static besom_digest ascending(size_t i, size_t n) {
  return (besom_digest){UINT64_MAX / (n + 1) * i, 5};
}

static besom_digest descending(size_t i, size_t n) {
  return ascending(n - i, n);
}

/* All upper words are equal. */
static besom_digest equal_upper_words(size_t i, size_t n) {
  return (besom_digest){UINT64_C(0x123456789abcdef0), key_u64(n, i)};
}

/* They differ in the last bits only, so every earlier step finds nothing to sort. */
static besom_digest equal_but_for_the_last_bits(size_t i, size_t n) {
  return (besom_digest){UINT64_MAX, UINT64_MAX - key_u64(n, i) % 1000};
}

static besom_digest few_upper_words(size_t i, size_t n) {
  return (besom_digest){key_u64(n, i) % 7 << 30, key_u64(n, i)};
}

/* One bit is set, at any position of both words. */
static besom_digest single_bits(size_t i, size_t n) {
  (void)n;
  unsigned bit = (unsigned)(mix64(i) % 129);
  return (besom_digest){bit < 64 ? UINT64_C(1) << bit : 0,
                        bit >= 64 && bit < 128 ? UINT64_C(1) << (bit - 64) : 0};
}

static besom_digest mostly_one_group(size_t i, size_t n) {
  return i % 100 ? (besom_digest){key_u64(n, i) >> 40, key_u64(n, i)} : random_one(i, n);
}

static besom_digest dozens_of_copies(size_t i, size_t n) {
  return random_one(mix64(i) % (n / 40 + 1), n);
}

static const shape shapes[] = {random_one,      always_the_same,   ascending,
                               descending,      equal_upper_words, equal_but_for_the_last_bits,
                               few_upper_words, single_bits,       mostly_one_group,
                               dozens_of_copies};

static besom_digest *digests_of(shape of, size_t n) {
  besom_digest *digests = heap_array(n + 1, sizeof *digests); /* the last must not be touched */
  for (size_t i = 0; i < n; i++) digests[i] = of(i, n);
  digests[n] = (besom_digest){0xfeed, 0xbeef};
  return digests;
}

static void sorting_is_what_qsort_does(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t i = 0; i < SIZES; i++) {
      size_t n = sizes[i], bytes = (n + 1) * sizeof(besom_digest);
      besom_digest *ours = digests_of(shapes[s], n), *theirs = digests_of(shapes[s], n);
      sort_digests(theirs, n);
      besom__sort_digests(ours, n, 0);
      assert_memory_equal(ours, theirs, bytes);
      free(ours);
      free(theirs);
    }
}

/* With a number of equal leading bits given: the true number, or fewer. */
static void known_bits_need_not_be_looked_at(void **state) {
  (void)state;
  enum { N = 2000 };
  for (unsigned equal = 0; equal <= 128; equal++) {
    besom_digest *ours = digests_of(random_one, N), *theirs = digests_of(random_one, N);
    for (size_t i = 0; i < N; i++) {
      if (equal >= 64) ours[i].hi = 77;
      if (equal >= 128) ours[i].lo = 77;
      if (equal < 64) ours[i].hi >>= equal;
      if (equal >= 64 && equal < 128) ours[i].lo >>= equal - 64;
      theirs[i] = ours[i];
    }
    sort_digests(theirs, N);
    besom__sort_digests(ours, N, equal);
    assert_memory_equal(ours, theirs, N * sizeof *ours);
    besom__sort_digests(ours, N, equal / 2);
    assert_memory_equal(ours, theirs, N * sizeof *ours);
    free(ours);
    free(theirs);
  }
}

/* ------------------------------------------------------------------ numbers */

static int compare_numbers(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* For every number of bits, with copies if there are fewer values than numbers. */
static void numbers_are_sorted_as_by_qsort(void **state) {
  (void)state;
  for (unsigned bits = 0; bits <= 32; bits++)
    for (size_t i = 0; i < SIZES; i++) {
      size_t n = sizes[i];
      uint32_t *ours = heap_array(2 * n + 1, sizeof *ours),
               *theirs = heap_array(n + 1, sizeof *ours);
      uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
      for (size_t k = 0; k < n; k++) theirs[k] = ours[k] = (uint32_t)key_u64(n, k) & mask;
      ours[2 * n] = 0xfeed; /* must not be touched */
      qsort(theirs, n, sizeof *theirs, compare_numbers);
      const uint32_t *sorted = besom__sort_u32(ours, ours + n, n, bits);
      assert_true(sorted == ours || sorted == ours + n);
      if (n) assert_memory_equal(sorted, theirs, n * sizeof *theirs);
      assert_int_equal(ours[2 * n], 0xfeed);
      free(ours);
      free(theirs);
    }
}

/* Ascending, descending, all equal, and all in one digit. */
static void numbers_in_any_order_are_sorted(void **state) {
  (void)state;
  enum { N = 5000, ORDERS = 4 };
  for (int order = 0; order < ORDERS; order++) {
    uint32_t ours[2 * N], theirs[N];
    for (uint32_t i = 0; i < N; i++) {
      uint32_t values[ORDERS] = {i << 9, (N - i) << 9, 77777, i % 7 << 22};
      ours[i] = theirs[i] = values[order];
    }
    qsort(theirs, N, sizeof *theirs, compare_numbers);
    assert_memory_equal(besom__sort_u32(ours, ours + N, N, 25), theirs, sizeof theirs);
  }
}

/* ------------------------------------------------------------------ 64-bit numbers */

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* As the caller sorts: numbers are put in parts by their first bits, and the parts are sorted. */
static void sort_u64(const uint64_t *from, uint64_t *to, size_t n) {
  static uint32_t counts[SORT_COUNTS];
  unsigned bits = besom__sort_bits(n);
  memset(counts, 0, sizeof counts);
  for (size_t i = 0; i < n; i++) counts[from[i] >> (64 - bits)]++;
  besom__sort_sum(counts, (size_t)1 << bits);
  for (size_t i = 0; i < n; i++) to[counts[from[i] >> (64 - bits)]++] = from[i];
  besom__sort_parts(to, counts, (size_t)1 << bits);
}

/* Evenly distributed; most in one part, random or descending; few values; all equal. */
static void parts_of_any_size_are_sorted(void **state) {
  (void)state;
  enum { N = 3000, FORMS = 5 };
  for (size_t n = 1; n <= N; n += n / 2 + 1)
    for (int form = 0; form < FORMS; form++) {
      static uint64_t numbers[N], ours[N];
      for (size_t i = 0; i < n; i++) {
        uint64_t x = key_u64(n, i);
        uint64_t values[FORMS] = {x, i % 10 ? x >> 20 : x, n - i, x % 5 << 40, 77};
        numbers[i] = values[form];
      }
      sort_u64(numbers, ours, n);
      qsort(numbers, n, sizeof *numbers, compare_u64);
      assert_memory_equal(ours, numbers, n * sizeof *ours);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorting_is_what_qsort_does),
      cmocka_unit_test(known_bits_need_not_be_looked_at),
      cmocka_unit_test(numbers_are_sorted_as_by_qsort),
      cmocka_unit_test(numbers_in_any_order_are_sorted),
      cmocka_unit_test(parts_of_any_size_are_sorted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
