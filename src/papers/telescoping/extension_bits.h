/*
 * Slot metadata that are extensions (exaf, broom): the first bits of a key's digest after its
 * remainder, as many as separate the key from others.
 */
#ifndef BESOM_QUOTIENT_EXTENSION_BITS_H
#define BESOM_QUOTIENT_EXTENSION_BITS_H

#include "papers/telescoping/slot_meta.h"

/* The suffix of a key: up to 64 bits after the remainder, the first one uppermost. */
static inline uint64_t suffix_bits(const struct hashed_key *key, unsigned width) {
  return width < 64 ? key->at.rest.hi << width | key->at.rest.lo >> (64 - width) : key->at.rest.lo;
}

/* The extension made of the first `length` bits, 1 to MAX_META_EXTENSION. */
static inline slot_meta extension_from(uint64_t bits, unsigned length) {
  return (slot_meta)(UINT64_C(1) << length | bits >> (64 - length));
}

static inline uint64_t extension_remainder(const struct hashed_key *key, slot_meta extension,
                                           unsigned width) {
  (void)extension;
  return remainder_of(key->at, width);
}

static inline bool extension_matches(const struct hashed_key *key, uint64_t remainder,
                                     slot_meta extension, unsigned width) {
  if (remainder_of(key->at, width) != remainder) return false;
  return !extension ||
         extension_from(suffix_bits(key, width), extension_length(extension)) == extension;
}

/*
 * The shortest extension of the suffix `mine` that is no prefix of `other`. Returns false if it
 * would be too long.
 */
static inline bool extension_unlike(uint64_t mine, uint64_t other, slot_meta *extension) {
  unsigned length = leading_zeros(mine ^ other) + 1;
  if (length > MAX_META_EXTENSION) return false;
  *extension = extension_from(mine, length);
  return true;
}

static inline bool extension_distinguish(const struct hashed_key *stored,
                                         const struct hashed_key *offender, unsigned width,
                                         slot_meta *extension) {
  return extension_unlike(suffix_bits(stored, width), suffix_bits(offender, width), extension);
}

static inline unsigned extension_class(slot_meta extension) {
  unsigned length = extension_length(extension);
  return length < META_CLASSES ? length : META_CLASSES - 1;
}

#endif
