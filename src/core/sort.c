#include "core/sort.h"

#include <string.h>

#include "core/bits.h"

#define FEW 24        /* up to this many digests: insertion sort */
#define GROUP_SIZE 6  /* average digests per group, at least */
#define FETCH_AHEAD 4 /* digests per cache line: the next line of a group is prefetched */
#define DIGEST_BITS 128

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
ALWAYS_INLINE size_t group_of(besom_digest d, unsigned known, unsigned bits) {
  uint64_t word = d.lo << (known & 63);
  if (LIKELY(known < 64)) word = known ? d.hi << known | d.lo >> (64 - known) : d.hi;
  return (size_t)(word >> (64 - bits));
}

static void find_starts(const besom_digest *digests, size_t n, unsigned known, unsigned bits,
                        size_t *starts) {
  size_t groups = (size_t)1 << bits;
  memset(starts, 0, (groups + 1) * sizeof *starts);
  for (size_t i = 0; i < n; i++) starts[group_of(digests[i], known, bits) + 1]++;
  for (size_t g = 0; g < groups; g++) starts[g + 1] += starts[g];
}

/*
 * Swaps every digest into the next position of its group. The digest that was there is handled
 * later, in another round if necessary. So no swap depends on the one before; following each
 * permutation cycle to its end would make it so.
 */
static void swap_into_groups(besom_digest *digests, unsigned known, unsigned bits,
                             const size_t *starts) {
  size_t next[DIGEST_GROUPS], groups = (size_t)1 << bits;
  memcpy(next, starts, groups * sizeof *next);
  for (bool all_in_place = false; !all_in_place;) {
    all_in_place = true;
    for (size_t g = 0; g < groups; g++) {
      for (size_t i = next[g]; i < starts[g + 1]; i++) {
        besom_digest d = digests[i];
        size_t to = next[group_of(d, known, bits)]++;
        digests[i] = digests[to];
        digests[to] = d;
        __builtin_prefetch((const void *)((uintptr_t)&digests[to] + FETCH_AHEAD * sizeof *digests),
                           1);
      }
      all_in_place &= next[g] == starts[g + 1];
    }
  }
}

void besom__group_digests(besom_digest *digests, size_t n, size_t starts[DIGEST_GROUPS + 1]) {
  find_starts(digests, n, 0, DIGEST_GROUP_BITS, starts);
  swap_into_groups(digests, 0, DIGEST_GROUP_BITS, starts);
}

void besom__sort_digests(besom_digest *digests, size_t n, unsigned known) {
  if (n <= FEW) {
    insertion_sort(digests, n);
    return;
  }
  if (is_sorted(digests, n)) return; /* also copies of one digest, which no bits distinguish */
  unsigned bits = 1,
           most = DIGEST_BITS - known < DIGEST_GROUP_BITS ? DIGEST_BITS - known : DIGEST_GROUP_BITS;
  while (bits < most && n >> bits > GROUP_SIZE) bits++;
  size_t starts[DIGEST_GROUPS + 1];
  find_starts(digests, n, known, bits, starts);
  swap_into_groups(digests, known, bits, starts);
  for (size_t g = 0; g < (size_t)1 << bits; g++)
    besom__sort_digests(digests + starts[g], starts[g + 1] - starts[g], known + bits);
}
