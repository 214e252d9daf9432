/*
 * fingerprint.h - the fingerprint of a digest as docs/architecture.md defines it, not by the
 * library's code.
 */
#ifndef BESOM_SOAK_FINGERPRINT_H
#define BESOM_SOAK_FINGERPRINT_H

#include "besom.h"

typedef struct fingerprint {
  uint64_t quotient, remainder;
} fingerprint;

static inline fingerprint fingerprint_of(besom_digest d, uint64_t slots, unsigned width) {
  unsigned __int128 low = (unsigned __int128)d.lo * slots;
  unsigned __int128 high = (unsigned __int128)d.hi * slots + (uint64_t)(low >> 64);
  return (fingerprint){(uint64_t)(high >> 64), (uint64_t)high >> (64 - width)};
}

#endif
