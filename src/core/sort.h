/*
 * Radix sorts of digests, in place, and of 32-bit numbers, with as much memory again. Digests are
 * uniformly distributed, so their first bits tell their position. Digests that are not uniformly
 * distributed are sorted, too, but more slowly.
 */
#ifndef BESOM_CORE_SORT_H
#define BESOM_CORE_SORT_H

#include "besom.h"

static inline bool digest_less(besom_digest a, besom_digest b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

/* Sorts n digests that agree in their first `known` bits (0 to 128), ascending. */
void besom__sort_digests(besom_digest *digests, size_t n, unsigned known);

/*
 * Sorts n < 2^32 numbers below 2^bits, ascending, bits from 0 to 32. spare has room for n numbers.
 * Returns where the result is: numbers or spare.
 */
uint32_t *besom__sort_u32(uint32_t *numbers, uint32_t *spare, size_t n, unsigned bits);

#endif
