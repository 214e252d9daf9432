/*
 * In-place radix sort of digests. Digests are uniformly distributed, so their first bits tell their
 * position. Digests that are not uniformly distributed are sorted, too, but more slowly.
 */
#ifndef BESOM_CORE_SORT_H
#define BESOM_CORE_SORT_H

#include "besom.h"

#define DIGEST_GROUP_BITS 10
#define DIGEST_GROUPS (1 << DIGEST_GROUP_BITS)

static inline bool digest_less(besom_digest a, besom_digest b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

/* Sorts n digests that agree in their first `known` bits (0 to 128), ascending. */
void besom__sort_digests(besom_digest *digests, size_t n, unsigned known);

/*
 * The first step alone: groups the digests by their first DIGEST_GROUP_BITS bits. Group i is the
 * range starts[i] to starts[i + 1] - 1. Sorting each group then sorts the whole array.
 */
void besom__group_digests(besom_digest *digests, size_t n, size_t starts[DIGEST_GROUPS + 1]);

#endif
