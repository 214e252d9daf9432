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

/* ------------------------------------------------------------------ 64-bit numbers */

/*
 * To sort n numbers: count by their first besom__sort_bits(n) bits in up to SORT_COUNTS counters,
 * make these the starts of parts (besom__sort_sum), put each number in its part, which turns the
 * starts into ends, and sort the parts (besom__sort_parts). n is at least 1. Numbers that are not
 * distributed evenly take n log n steps.
 */
#define SORT_COUNTS 16384

unsigned besom__sort_bits(size_t n);
void besom__sort_sum(uint32_t *counts, size_t n);
void besom__sort_parts(uint64_t *numbers, const uint32_t *ends, size_t parts);

#endif
