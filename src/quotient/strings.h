/*
 * Notes that are strings: the first bits behind a key's remainder, as many as tell the key from others (exaf, broom).
 */
#ifndef BESOM_QUOTIENT_STRINGS_H
#define BESOM_QUOTIENT_STRINGS_H

#include "quotient/noted.h"

/* The bits behind the remainder, the first one uppermost, up to 64 of them. */
static inline uint64_t bits_behind(const struct seeker *key, unsigned width) {
  return width < 64 ? key->at.rest.hi << width | key->at.rest.lo >> (64 - width) : key->at.rest.lo;
}

/* The string of the first bits, 1 to MAX_STRING. */
static inline note string_of(uint64_t bits, unsigned length) {
  return (note)(UINT64_C(1) << length | bits >> (64 - length));
}

static inline uint64_t string_remainder(const struct seeker *key, note n, unsigned width) {
  (void)n;
  return remainder_of(key->at, width);
}

static inline bool string_matches(const struct seeker *key, uint64_t remainder, note n,
                                  unsigned width) {
  if (remainder_of(key->at, width) != remainder) return false;
  return !n || string_of(bits_behind(key, width), string_length(n)) == n;
}

/* The shortest string of these bits that others, which have another bit somewhere, do not begin with. */
static inline bool string_unlike(uint64_t mine, uint64_t other, note *n) {
  unsigned length = leading_zeros(mine ^ other) + 1;
  if (length > MAX_STRING) return false;
  *n = string_of(mine, length);
  return true;
}

static inline bool string_beyond(const struct seeker *stored, const struct seeker *offender,
                                 unsigned width, note *n) {
  return string_unlike(bits_behind(stored, width), bits_behind(offender, width), n);
}

static inline unsigned string_class(note n) {
  return string_length(n) < NOTE_CLASSES ? string_length(n) : NOTE_CLASSES - 1;
}

#endif
