#include "core/sort.h"

#include <string.h>

#include "core/bits.h"

#define FEW 24         /* up to this many digests: insertion sort */
#define COPIED 2048    /* up to this many: distributed to a copy on the stack */
#define COPIED_BITS 11 /* by so many bits: about one per group */
#define GROUP_BITS 10  /* more digests: grouped in place by up to so many bits, */
#define MIN_BITS 5     /* and at least this many, which bounds the recursion, */
#define GROUPS (1 << GROUP_BITS)
#define GROUP_SIZE 1000 /* so that groups have on average this many */
#define FETCH_AHEAD 4   /* digests per cache line: the next line of a group is prefetched */
#define DIGEST_BITS 128

/* Functions with large arrays that would otherwise be on the stack during the recursion. */
#define NOT_INLINE static __attribute__((noinline))

static bool is_sorted(const besom_digest *digests, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (digest_less(digests[i], digests[i - 1])) return false;
  return true;
}

static void insertion_sort(besom_digest *digests, size_t n) {
  for (size_t i = 1; i < n; i++) {
    besom_digest d = digests[i];
    size_t at = i;
    for (; at && digest_less(d, digests[at - 1]); at--) digests[at] = digests[at - 1];
    digests[at] = d;
  }
}

/* The group of a digest: the `bits` bits that follow its first `known` bits. */
ALWAYS_INLINE size_t sort_group_of(besom_digest d, unsigned known, unsigned bits) {
  uint64_t word = d.lo << (known & 63);
  if (LIKELY(known < 64)) word = known ? d.hi << known | d.lo >> (64 - known) : d.hi;
  return (size_t)(word >> (64 - bits));
}

static void find_starts(const besom_digest *digests, size_t n, unsigned known, unsigned bits,
                        size_t *starts) {
  size_t groups = (size_t)1 << bits;
  memset(starts, 0, (groups + 1) * sizeof *starts);
  for (size_t i = 0; i < n; i++) starts[sort_group_of(digests[i], known, bits) + 1]++;
  for (size_t g = 0; g < groups; g++) starts[g + 1] += starts[g];
}

/*
 * Swaps every digest into the next position of its group. The digest that was there is handled
 * later, in another round if necessary. So no swap depends on the one before; following each
 * permutation cycle to its end would make it so.
 */
NOT_INLINE void swap_into_groups(besom_digest *digests, unsigned known, unsigned bits,
                                 const size_t *starts) {
  size_t next[GROUPS], groups = (size_t)1 << bits;
  memcpy(next, starts, groups * sizeof *next);
  for (bool all_in_place = false; !all_in_place;) {
    all_in_place = true;
    for (size_t g = 0; g < groups; g++) {
      for (size_t i = next[g]; i < starts[g + 1]; i++) {
        besom_digest d = digests[i];
        size_t to = next[sort_group_of(d, known, bits)]++;
        digests[i] = digests[to];
        digests[to] = d;
        __builtin_prefetch((const void *)((uintptr_t)&digests[to] + FETCH_AHEAD * sizeof *digests),
                           1);
      }
      all_in_place &= next[g] == starts[g + 1];
    }
  }
}

/* Grouped in place; then each group. */
static void sort_groups(besom_digest *digests, size_t n, unsigned known) {
  unsigned left = DIGEST_BITS - known, most = left < GROUP_BITS ? left : GROUP_BITS;
  unsigned bits = most < MIN_BITS ? most : MIN_BITS;
  while (bits < most && n >> bits > GROUP_SIZE) bits++;
  size_t starts[GROUPS + 1];
  find_starts(digests, n, known, bits, starts);
  swap_into_groups(digests, known, bits, starts);
  for (size_t g = 0; g < (size_t)1 << bits; g++)
    besom__sort_digests(digests + starts[g], starts[g + 1] - starts[g], known + bits);
}

/*
 * Distributes up to COPIED digests by the bits after the known ones to a copy, and back. False, and
 * nothing done, if a group would have many.
 */
NOT_INLINE bool distribute(besom_digest *digests, size_t n, unsigned known) {
  besom_digest copy[COPIED];
  uint32_t next[1 << COPIED_BITS], sum = 0, largest = 0;
  unsigned bits = DIGEST_BITS - known < COPIED_BITS ? DIGEST_BITS - known : COPIED_BITS;
  while (n >> (bits - 1) == 0) bits--;
  memset(next, 0, ((size_t)1 << bits) * sizeof *next);
  for (size_t i = 0; i < n; i++) next[sort_group_of(digests[i], known, bits)]++;
  for (size_t g = 0; g < (size_t)1 << bits; g++) {
    uint32_t count = next[g];
    if (count > largest) largest = count;
    next[g] = sum;
    sum += count;
  }
  if (largest > FEW) return false;
  for (size_t i = 0; i < n; i++) copy[next[sort_group_of(digests[i], known, bits)]++] = digests[i];
  memcpy(digests, copy, n * sizeof *copy);
  return true;
}

void besom__sort_digests(besom_digest *digests, size_t n, unsigned known) {
  /* Copies of one digest are sorted: no bits distinguish them. */
  if (n > FEW && is_sorted(digests, n)) return;
  if (n <= FEW || (n <= COPIED && distribute(digests, n, known)))
    insertion_sort(digests, n); /* moves digests within their groups */
  else
    sort_groups(digests, n, known);
}

/* ------------------------------------------------------------------ numbers */

#define SMALL 2048    /* up to this many numbers: few groups, so that counting them pays */
#define SMALL_DIGIT 8 /* bits per pass */
#define LARGE_DIGIT 12
#define MAX_COUNTS 8192 /* 4 times 2^8, 3 times 2^11 or 2 times 2^12 */

/* counts[k << digit | x]: how often the k-th digit, from the lowest, is x. */
ALWAYS_INLINE void count_digits(const uint32_t *numbers, size_t n, unsigned digit, unsigned passes,
                                uint32_t *counts) {
  uint32_t mask = (1u << digit) - 1;
  memset(counts, 0, ((size_t)passes << digit) * sizeof *counts);
  for (size_t i = 0; i < n; i++)
    for (unsigned k = 0; k < passes; k++)
      counts[(size_t)k << digit | (numbers[i] >> (k * digit) & mask)]++;
}

void besom__sort_sum(uint32_t *counts, size_t n) {
  uint32_t sum = 0;
  for (size_t g = 0; g < n; g++) {
    uint32_t count = counts[g];
    counts[g] = sum;
    sum += count;
  }
}

static void move_by_digit(const uint32_t *from, size_t n, unsigned shift, unsigned digit,
                          uint32_t *next, uint32_t *to) {
  uint32_t mask = (1u << digit) - 1;
  for (size_t i = 0; i < n; i++) to[next[from[i] >> shift & mask]++] = from[i];
}

/* passes is a constant for the compiler, which then unrolls the loop that counts. */
ALWAYS_INLINE uint32_t *sort_in_passes(uint32_t *numbers, uint32_t *spare, size_t n, unsigned bits,
                                       unsigned passes) {
  uint32_t counts[MAX_COUNTS], *other = spare;
  unsigned digit = (bits + passes - 1) / passes;
  count_digits(numbers, n, digit, passes, counts);
  for (unsigned k = 0; k < passes; k++) {
    uint32_t *next = counts + ((size_t)k << digit), *from = numbers;
    besom__sort_sum(next, (size_t)1 << digit);
    move_by_digit(from, n, k * digit, digit, next, other);
    numbers = other;
    other = from;
  }
  return numbers;
}

uint32_t *besom__sort_u32(uint32_t *numbers, uint32_t *spare, size_t n, unsigned bits) {
  if (!bits || n < 2) return numbers;
  unsigned most = n <= SMALL ? SMALL_DIGIT : LARGE_DIGIT, passes = (bits + most - 1) / most;
  if (passes == 1) return sort_in_passes(numbers, spare, n, bits, 1);
  if (passes == 2) return sort_in_passes(numbers, spare, n, bits, 2);
  if (passes == 3) return sort_in_passes(numbers, spare, n, bits, 3);
  return sort_in_passes(numbers, spare, n, bits, 4);
}

/* ------------------------------------------------------------------ 64-bit numbers */

unsigned besom__sort_bits(size_t n) {
  unsigned bits = 1;
  while ((size_t)1 << bits < n && (size_t)2 << bits <= SORT_COUNTS) bits++;
  return bits;
}

static void insert_in_order(uint64_t *numbers, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t x = numbers[i];
    size_t at = i;
    for (; at && x < numbers[at - 1]; at--) numbers[at] = numbers[at - 1];
    numbers[at] = x;
  }
}

static void sift_down(uint64_t *heap, size_t at, size_t n) {
  uint64_t x = heap[at];
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && heap[child] < heap[child + 1]) child++;
    if (heap[child] <= x) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}

static void heap_sort(uint64_t *numbers, size_t n) {
  for (size_t i = n / 2; i--;) sift_down(numbers, i, n);
  for (size_t left = n; left-- > 1;) {
    uint64_t largest = numbers[0];
    numbers[0] = numbers[left];
    numbers[left] = largest;
    sift_down(numbers, 0, left);
  }
}

void besom__sort_parts(uint64_t *numbers, const uint32_t *ends, size_t parts) {
  size_t start = 0;
  for (size_t p = 0; p < parts; p++) {
    if (ends[p] - start > FEW) heap_sort(numbers + start, ends[p] - start);
    start = ends[p];
  }
  insert_in_order(numbers, start); /* moves numbers within their parts */
}
