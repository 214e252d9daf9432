/*
 * Hash selectors (taf, utaf). With selector s, the remainder of a key is its s-th group of `width`
 * hash bits, from 0. The first groups come from the word of the digest after the quotient, as many
 * as fit. Each further word is drawn from the whole digest.
 */
#ifndef BESOM_QUOTIENT_SELECTOR_H
#define BESOM_QUOTIENT_SELECTOR_H

#include "papers/telescoping/slot_meta.h"

static inline uint64_t selected_remainder(const struct hashed_key *key, slot_meta selector,
                                          unsigned width) {
  unsigned in_a_word = 64 / width, word = selector / in_a_word, at = selector % in_a_word * width;
  uint64_t bits = key->at.rest.hi;
  if (word)
    bits = mixed(mixed(key->digest.hi + word * UINT64_C(0x9e3779b97f4a7c15)) ^ key->digest.lo);
  return bits << at >> (64 - width);
}

static inline bool selector_matches(const struct hashed_key *key, uint64_t remainder,
                                    slot_meta selector, unsigned width) {
  return selected_remainder(key, selector, width) == remainder;
}

/*
 * Sets *selector to the first one, from *selector to `most`, with which the remainders of the two
 * keys differ. Returns false if there is none.
 */
static inline bool selector_distinguish(const struct hashed_key *stored,
                                        const struct hashed_key *offender, unsigned width,
                                        slot_meta most, slot_meta *selector) {
  while (*selector <= most && selected_remainder(stored, *selector, width) ==
                                  selected_remainder(offender, *selector, width))
    ++*selector;
  return *selector <= most;
}

/*
 * The published form: raises the selector by one if the remainders of the two keys are equal. They
 * may be equal with the new one, too. Returns false if it would exceed `most`.
 */
static inline bool selector_raise(const struct hashed_key *stored,
                                  const struct hashed_key *offender, unsigned width, slot_meta most,
                                  slot_meta *selector) {
  *selector = (slot_meta)(*selector + (selected_remainder(stored, *selector, width) ==
                                       selected_remainder(offender, *selector, width)));
  return *selector <= most;
}

static inline unsigned selector_class(slot_meta selector) {
  return selector < META_CLASSES ? selector : META_CLASSES - 1;
}

#endif
