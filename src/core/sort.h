/*
 * Sorting digests, in place. They are as good as random, so radix sort is at its best: it looks at a digest's first
 * bits and knows where it belongs. Digests that are anything but random are sorted, too, only slower.
 */
#ifndef BESOM_CORE_SORT_H
#define BESOM_CORE_SORT_H

#include "besom.h"

#define DIGEST_GROUP_BITS 10
#define DIGEST_GROUPS (1 << DIGEST_GROUP_BITS)

static inline bool digest_below(besom_digest a, besom_digest b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

/* Sorts n digests that agree in their first `known` bits (0 to 128): ascending, as fractions. */
void besom__sort_digests(besom_digest *digests, size_t n, unsigned known);

/*
 * The first step alone: brings together the digests that begin with the same DIGEST_GROUP_BITS bits. Group i, from
 * starts[i] to before starts[i + 1], lies before group i + 1, so sorting group after group sorts all of them.
 */
void besom__group_digests(besom_digest *digests, size_t n, size_t starts[DIGEST_GROUPS + 1]);

#endif
