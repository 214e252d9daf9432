/*
 * Removes from a quotient table whose run is in the block of its quotient. Inline: quotient_calls.c
 * and concurrent_calls.c compile it per instruction set and width.
 */
#ifndef BESOM_QUOTIENT_BLOCK_REMOVE_H
#define BESOM_QUOTIENT_BLOCK_REMOVE_H

#include "quotient/table/block_search.h"
#include "quotient/table/slot_shift.h"

/* What a remove will change. Valid while the block stays as it is. */
struct planned_remove {
  uint8_t *block;
  uint64_t run, slot; /* the run, and the slot of it that goes: bits of the block */
  uint64_t moved;     /* as of pulled; 0 if slots of other blocks move, too */
  enum answer result; /* NO: no such fingerprint. MAYBE: it is looked for elsewhere */
};

/*
 * Looks for the last fingerprint with this remainder, in a table with heads and without values.
 * Elsewhere if a fingerprint has several slots, or if the run is long or leaves the block.
 */
ALWAYS_INLINE struct planned_remove plan_remove(const struct qtable *t, struct address a,
                                                unsigned width) {
  struct planned_remove p = {.block = block_at(t, a.quotient / 64), .result = ANSWER_MAYBE};
  unsigned i = a.quotient % 64;
  uint64_t run = run_from_quotient(t, p.block, i), remainder = remainder_of(a, width);
  if (UNLIKELY(run & FAR_SLOTS)) return p;
  uint64_t matches = (uint64_t)(slots_equal_32(t, p.block, i, remainder, width) & run) << i;
  p.result = single_slots(t, p.block, &matches);
  if (UNLIKELY(p.result != ANSWER_YES)) return p;
  p.run = run << i;
  /* analysis: -Wanalyzer-shift-count-overflow: a match was found */
  p.slot = UINT64_C(1) << (63 - leading_zeros(matches));
  uint64_t last = cluster_end_in_block(quotients_above(t, p.block, i),
                                       block_word(t, p.block, WORD_END) & (0 - p.slot));
  p.moved = last ? last | (last - p.slot) : 0;
  return p;
}

/* An empty run is not occupied. If its end goes, the slot before ends it. */
ALWAYS_INLINE void forget_in_block(const struct qtable *t, struct planned_remove p, unsigned i) {
  uint64_t ends = block_word(t, p.block, WORD_END),
           occupied = block_word(t, p.block, WORD_OCCUPIED);
  uint64_t alone = p.run == p.slot, earlier = alone ? 0 : (ends & p.slot) >> 1;
  set_block_word(t, p.block, WORD_OCCUPIED, occupied & ~(alone << i));
  set_block_word(t, p.block, WORD_END, ends | earlier);
}

/* If `moved` is not 0. No quotient has the last block, so there are spare bytes. */
ALWAYS_INLINE void do_remove(const struct qtable *t, uint64_t quotient, struct planned_remove p,
                             unsigned width) {
  forget_in_block(t, p, quotient % 64);
  pull_slots(t, p.block, p.moved, false, true, width);
}

/* If it is 0: `last` is the end of the cluster. */
ALWAYS_INLINE void do_remove_far(const struct qtable *t, uint64_t quotient, struct planned_remove p,
                                 uint64_t last, unsigned width) {
  forget_in_block(t, p, quotient % 64);
  pull_cluster(t, quotient, (quotient & ~UINT64_C(63)) + trailing_zeros(p.slot), last, width);
}

#endif
