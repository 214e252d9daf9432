/*
 * Hash selectors: with selector s the remainder of a key is not the first but the s-th (from 0) remainder's worth of
 * bits. As many as fit are in the first word behind the quotient, each further word is drawn from the whole digest.
 */
#ifndef BESOM_QUOTIENT_SELECTOR_H
#define BESOM_QUOTIENT_SELECTOR_H

#include "quotient/noted.h"

static inline uint64_t selected(const struct seeker *key, note selector, unsigned width) {
  unsigned in_a_word = 64 / width, word = selector / in_a_word, at = selector % in_a_word * width;
  uint64_t bits = key->at.rest.hi;
  if (word)
    bits = mixed(mixed(key->digest.hi + word * UINT64_C(0x9e3779b97f4a7c15)) ^ key->digest.lo);
  return bits << at >> (64 - width);
}

static inline bool selected_matches(const struct seeker *key, uint64_t remainder, note selector,
                                    unsigned width) {
  return selected(key, selector, width) == remainder;
}

/* The first selector from *n to most that tells the keys apart. */
static inline bool selected_beyond(const struct seeker *stored, const struct seeker *offender,
                                   unsigned width, note most, note *n) {
  while (*n <= most && selected(stored, *n, width) == selected(offender, *n, width)) ++*n;
  return *n <= most;
}

static inline unsigned selector_class(note selector) {
  return selector < NOTE_CLASSES ? selector : NOTE_CLASSES - 1;
}

#endif
