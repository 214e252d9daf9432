/*
 * The arithmetic code of a block's slot metadata: the metadata of 64 slots in one number of 56
 * bits. The metadata of a slot are what adaptation has added to its remainder; most slots have none
 * (0). There are two alphabets:
 *
 *   selectors    1 to MAX_SELECTOR (taf); their probabilities are designed for full blocks, in the
 *                published form those of the thesis (5.2.2), for selectors up to 6
 *   extensions   1 to MAX_META_EXTENSION bits after a leading 1 (exaf); each bit divides the
 *                probability by four
 *
 * Arithmetic coding divides [0, 2^56) among all values of the first slots, the part of the actual
 * values among all values of the next slots, and so on. The code is the lower end of the last
 * interval. The metadata fit if that interval is not empty. Two things differ from the papers, and
 * both save time and space. First, the code does not encode slots but the gaps between slots with
 * metadata, with the same probabilities, so that slots without metadata take no time. Second, "no
 * further metadata" is always the lowest part of an interval. So the slots after the last metadata
 * add nothing to the code and take no space, and a block without metadata has the code 0. In the
 * published form slots after the last metadata take their space, as in the papers: the same blocks
 * overflow.
 *
 * Tables are computed from the width in integers only, so that a saved filter means the same on
 * every machine.
 */
#ifndef BESOM_QUOTIENT_SLOT_META_CODE_H
#define BESOM_QUOTIENT_SLOT_META_CODE_H

#include "core/bits.h"

#define CODE_BITS 56
#define CODE_SLOTS 64
#define MAX_SELECTOR 15
#define MAX_PUBLISHED_SELECTOR 6
#define MAX_META_EXTENSION 26 /* bits; longer ones never fit */

typedef uint32_t slot_meta;

/* The number of bits after the leading 1. */
ALWAYS_INLINE unsigned extension_length(slot_meta extension) {
  return 63 - leading_zeros(extension);
}

struct code_model {
  uint64_t some[CODE_SLOTS + 1]; /* probability that one of n slots has metadata, times 2^64 */
  uint64_t none_below[CODE_SLOTS + 1]; /* lower codes have no metadata in the first n slots */
  /* codes with these first 6 bits have no metadata in at least this many slots */
  uint8_t none_at_least[CODE_SLOTS];
  uint64_t smaller[MAX_SELECTOR + 1]; /* probability of a smaller selector, times 2^64 */
  bool extensions;
  unsigned last_selector; /* larger ones do not fit */
  bool all_slots;         /* slots after the last metadata take space, too */
};

void besom__code_for_selectors(struct code_model *m, unsigned width);
void besom__code_for_extensions(struct code_model *m);

/*
 * The published form (Lee's thesis, 5.2.2): the probabilities of Figure 5.2 for a width of 8, those
 * of Lemma 5.2 for the same number of queries per key and slot for others; an empty extension has
 * probability 29/32.
 */
void besom__code_for_published_selectors(struct code_model *m, unsigned width);
void besom__code_for_published_extensions(struct code_model *m);

/* Corollary 3 of the telescoping paper at its smallest number of queries: files of version 0.2. */
void besom__code_for_corollary_selectors(struct code_model *m, unsigned width);

/* Encodes the metadata of 64 slots. Returns false if they do not fit. */
bool besom__meta_encode(const struct code_model *m, const slot_meta *meta, uint64_t *code);

/* Decodes. Inverts besom__meta_encode; safe on any code. */
void besom__meta_decode(const struct code_model *m, uint64_t code, slot_meta *meta);

/*
 * Whether one of the slots first .. last has metadata, for a code that is at least none_below[last
 * + 1].
 */
bool besom__code_has_meta_from(const struct code_model *m, uint64_t code, unsigned first,
                               unsigned last);

/* The same for any code. Usually one comparison decides. */
ALWAYS_INLINE bool code_has_meta(const struct code_model *m, uint64_t code, unsigned first,
                                 unsigned last) {
  return UNLIKELY(code >= m->none_below[last + 1]) &&
         besom__code_has_meta_from(m, code, first, last);
}

#endif
