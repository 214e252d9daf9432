/*
 * Removes that change only one block of the quotient table. Inline: quotient_calls.c compiles it
 * per instruction set and width.
 */
#ifndef BESOM_QUOTIENT_BLOCK_REMOVE_H
#define BESOM_QUOTIENT_BLOCK_REMOVE_H

#include "quotient/table/block_search.h"
#include "quotient/table/slot_shift.h"

/*
 * Bytes lo+1 .. hi of a row that is not in the last block move down by one, and byte hi becomes 0:
 * the 32 bytes after it may be read and written again.
 */
ALWAYS_INLINE void pull_byte_before_last_block(uint8_t *row, unsigned lo, unsigned hi) {
#if defined(__AVX2__) && !defined(__AVX512BW__)
  if (LIKELY(hi - lo <= 32)) {
    __m256i moved = load256_shared(row + lo + 1), after = load256_shared(row + hi);
    store256_shared(row + lo, moved);
    store256_shared(row + hi, after);
    store8_shared(row + hi, 0);
    return;
  }
#endif
  move_bytes_down(row, lo, hi);
  store8_shared(row + hi, 0);
}

/*
 * The last slot of the cluster that a slot of quotient i's run is in, both as bits; 0 if that is in
 * another block. A cluster ends with a run, if the next one starts in its own slot or later.
 */
ALWAYS_INLINE uint64_t last_of_cluster(uint64_t occupied, uint64_t ends, unsigned i,
                                       uint64_t slot) {
  uint64_t left = occupied & ~bits_below(i) & ~(UINT64_C(1) << i);
  for (ends &= 0 - slot; ends; ends &= ends - 1, left &= left - 1)
    if (((left - 1) & ~left) >= lowest_bit(ends)) return lowest_bit(ends);
  return 0;
}

/* Bits of `moved`, from the removed slot to the last one, without the first: down by one. */
ALWAYS_INLINE uint64_t pulled(uint64_t word, uint64_t moved) {
  return (word & ~moved) | ((word & moved) >> 1 & moved);
}

/*
 * Removes the last fingerprint with this remainder, in a table with heads and without values. NO:
 * there is none. MAYBE: nothing has changed, because a fingerprint has several slots, or other
 * blocks are needed. If only slots of other blocks are to be shifted, *slots is the run, as bits of
 * the block, and *at the number of the slot; else *slots is 0.
 */
ALWAYS_INLINE enum answer remove_in_block(const struct qtable *t, struct address a, uint64_t *slots,
                                          unsigned *at, unsigned width) {
  uint8_t *block = block_at(t, a.quotient / 64);
  unsigned i = a.quotient % 64;
  uint64_t run = run_from_quotient(t, block, i), remainder = remainder_of(a, width);
  *slots = 0;
  if (UNLIKELY(run & FAR_SLOTS)) return ANSWER_MAYBE;
  uint64_t matches = (uint64_t)(slots_equal_32(t, block, i, remainder, width) & run) << i;
  enum answer found = single_slots(t, block, &matches);
  if (UNLIKELY(found != ANSWER_YES)) return found;
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), ends = block_word(t, block, WORD_END);
  unsigned lo = 63 - leading_zeros(matches);
  /* analysis: -Wanalyzer-shift-count-overflow: a match was found */
  uint64_t slot = UINT64_C(1) << lo, last = last_of_cluster(occupied, ends, i, slot);
  *slots = run << i;
  *at = lo;
  if (!last) return ANSWER_MAYBE;
  /* An empty run is not occupied. If its last slot goes, the one before ends the run. */
  uint64_t alone = *slots == slot, moved = last | (last - slot);
  uint64_t earlier = alone ? 0 : (ends & slot) >> 1;
  set_block_word(t, block, WORD_OCCUPIED, occupied & ~(alone << i));
  set_block_word(t, block, WORD_END, pulled(ends, moved) | earlier);
  uint8_t *planes = block + t->remainders_at, *heads = block + t->heads_at;
  for (unsigned j = 0; j < width / 8; j++)
    pull_byte_before_last_block(planes + 8 * (width % 8) + 64 * j, lo, trailing_zeros(last));
  for (unsigned j = 0; j < width % 8; j++)
    store64_shared(planes + 8 * j, pulled(load64_shared(planes + 8 * j), moved));
  store64_shared(heads, pulled(load64_shared(heads), moved));
  return ANSWER_YES;
}

#endif
