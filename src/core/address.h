/*
 * From a digest to its address in a table: quotient and remainder.
 *
 * The digest D is read as the fraction D / 2^128 and scaled to the slots of the table. The integer
 * part of D * slots / 2^128 is the quotient. The first bits of the fractional part are the
 * remainder; the bits after them are used by longer fingerprints. So any number of slots works,
 * sorting by digest is sorting by quotient, and doubling the slots moves the first bit of the
 * remainder into the quotient.
 *
 * All 128 bits are scaled. With the upper 64 bits alone, one key in 2^64 / slots would change its
 * quotient when the table grows, and be lost.
 */
#ifndef BESOM_CORE_ADDRESS_H
#define BESOM_CORE_ADDRESS_H

#include "besom.h"
#include "core/bits.h"

struct address {
  uint64_t quotient;
  besom_digest rest; /* the fractional part */
};

ALWAYS_INLINE struct address address_of(besom_digest d, uint64_t slots) {
  unsigned __int128 low = (unsigned __int128)d.lo * slots;
  unsigned __int128 high = (unsigned __int128)d.hi * slots + (uint64_t)(low >> 64);
  return (struct address){(uint64_t)(high >> 64), {(uint64_t)high, (uint64_t)low}};
}

/* The first width bits (1 to 64) of the fractional part. */
ALWAYS_INLINE uint64_t remainder_of(struct address a, unsigned width) {
  return a.rest.hi >> (64 - width);
}

/* The 64 bits of the fractional part that follow the remainder. */
ALWAYS_INLINE uint64_t bits_after_remainder(struct address a, unsigned width) {
  return a.rest.hi << 1 << (width - 1) | a.rest.lo >> (64 - width);
}

/* The length of the common prefix of two fractions, in bits. */
static inline unsigned common_bits(besom_digest a, besom_digest b) {
  if (a.hi != b.hi) return leading_zeros(a.hi ^ b.hi);
  return 64 + leading_zeros(a.lo ^ b.lo);
}

/* The quotient, or one less: good enough to prefetch by, with half the multiplications. */
ALWAYS_INLINE uint64_t approximate_quotient(besom_digest d, uint64_t slots) {
  return (uint64_t)((unsigned __int128)d.hi * slots >> 64);
}

#endif
