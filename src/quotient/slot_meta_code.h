/*
 * The notes of a block in one number of 56 bits. A note is what a slot has learnt beside its remainder, and most
 * slots have none (0). There are two alphabets of notes:
 *
 *   selectors   1 to MAX_SELECTOR (taf), as likely as Corollary 3 of the telescoping paper says for the filter's width
 *   strings     of bits, 1 to MAX_STRING of them behind a leading 1 (exaf): each bit halves the probability twice
 *
 * This is arithmetic coding: [0, 2^56) is divided among all that the first slots can be, the part that they are among
 * all that the next ones can be, and so on; the code is the lower end of what is left, and it fits as long as
 * something is left. Two things are done differently than in the papers, and both save time and room. Not slots
 * are coded one by one but the gaps between notes, with the same probabilities, so that slots without a note take no
 * time. And "no note any more" is always the lowest part: then what is behind the last note adds nothing to the code,
 * takes no room, and no notes at all are the code 0.
 *
 * Tables are computed from the width by integers alone, so that a saved filter means the same on every machine.
 */
#ifndef BESOM_QUOTIENT_CODE_H
#define BESOM_QUOTIENT_CODE_H

#include "core/bits.h"

#define CODE_BITS 56
#define CODE_SLOTS 64
#define MAX_SELECTOR 15
#define MAX_META_EXTENSION 26 /* bits: longer ones never fit */

typedef uint32_t slot_meta;

/* The bits of a string, behind its leading 1. */
ALWAYS_INLINE unsigned extension_length(slot_meta extension) {
  return 63 - leading_zeros(extension);
}

struct code_model {
  uint64_t some[CODE_SLOTS + 1];       /* probability that some of n slots has a note, times 2^64 */
  uint64_t none_below[CODE_SLOTS + 1]; /* codes below have no note in the first n slots */
  uint8_t none_at_least
      [CODE_SLOTS]; /* codes with these first 6 bits have no note in so many slots, or more */
  uint64_t
      smaller[MAX_SELECTOR + 1]; /* probability of a smaller selector than this one, times 2^64 */
  bool extensions;
};

void besom__code_for_selectors(struct code_model *m, unsigned width);
void besom__code_for_extensions(struct code_model *m);

/* The code of 64 notes; false if they do not fit. */
bool besom__meta_encode(const struct code_model *m, const slot_meta *meta, uint64_t *code);

/* Whatever the code is, this ends and gives notes; those that encode made give back what they were made of. */
void besom__meta_decode(const struct code_model *m, uint64_t code, slot_meta *meta);

/* Whether one of the slots first .. last has a note, for a code that is not below none_below[last + 1]. */
bool besom__code_has_meta_from(const struct code_model *m, uint64_t code, unsigned first, unsigned last);

/* The same for any code. Mostly one comparison tells. */
ALWAYS_INLINE bool code_has_meta(const struct code_model *m, uint64_t code, unsigned first,
                            unsigned last) {
  return UNLIKELY(code >= m->none_below[last + 1]) && besom__code_has_meta_from(m, code, first, last);
}

#endif
