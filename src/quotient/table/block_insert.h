/*
 * Inserts that change only one block of the quotient table. Inline: table_ops.c and
 * quotient_calls.c compile it per instruction set and width.
 */
#ifndef BESOM_QUOTIENT_BLOCK_INSERT_H
#define BESOM_QUOTIENT_BLOCK_INSERT_H

#include "quotient/table/block_search.h"
#include "quotient/table/slot_shift.h"

/* ELSEWHERE: nothing has changed, because other blocks are needed. */
enum inserted { INSERTED, INSERT_PRESENT, INSERT_ELSEWHERE };

/* Where the next slot of a quotient's run goes within its block. */
struct insertion {
  uint64_t ends, occupied; /* occupied: as it will be */
  uint64_t run;            /* as run_from_quotient; valid if the position is in the block */
  uint64_t from;           /* all slots from the position on; 0 if it is in another block */
  unsigned has_run;        /* 0 or 1 */
};

/*
 * As in run_from_quotient, no branch. A quotient without a run gets its slot after the last run
 * before it, but not before its own.
 */
ALWAYS_INLINE struct insertion find_insertion(const struct qtable *t, const uint8_t *block,
                                              unsigned i) {
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), ends = block_word(t, block, WORD_END);
  uint64_t starts = (ends << 1 | 1) & bits_from_any(block_offset(block));
  uint64_t nth = UINT64_C(1) << bits_set_below(occupied, i);
  unsigned has_run = occupied >> i & 1;
  uint64_t start = bit_number(starts, nth), next = bit_number(starts, nth << has_run);
  return (struct insertion){.ends = ends,
                            .occupied = occupied | UINT64_C(1) << i,
                            .run = (next - start) >> i,
                            .from = (0 - next) & bits_from(i),
                            .has_run = has_run};
}

/* The used slots of a block of a table with heads. A tag has the uppermost bit of its slot set. */
ALWAYS_INLINE uint64_t used_slots(const struct qtable *t, const uint8_t *block, uint64_t ends,
                                  unsigned width) {
  if (has_whole_slots(t, width)) return slots_of_runs(t, block);
  uint64_t used = ends | block_heads(t, block);
  return t->further_slots ? used | uppermost_bits(t, block, width) : used;
}

/* What an insert of one block will change. Valid while the block stays as it is. */
struct planned_insert {
  uint8_t *block;
  uint64_t quotient;
  struct insertion at;
  uint64_t empty, remainder;
  enum inserted result; /* INSERTED: it can be done */
};

/*
 * Reads where the remainder goes, at the end of the run of its quotient, in a table with heads.
 * PRESENT if `unless` and the run has the remainder.
 */
ALWAYS_INLINE struct planned_insert plan_insert(const struct qtable *t, struct address a,
                                                bool unless, unsigned width) {
  struct planned_insert p = {.block = block_at(t, a.quotient / 64),
                             .quotient = a.quotient,
                             .remainder = remainder_of(a, width)};
  unsigned i = a.quotient % 64;
  p.at = find_insertion(t, p.block, i);
  p.empty = lowest_bit(p.at.from & ~used_slots(t, p.block, p.at.ends, width));
  if (UNLIKELY(!p.empty || (unless && p.at.run & FAR_SLOTS)))
    p.result = INSERT_ELSEWHERE;
  else if (unless && UNLIKELY(slots_equal_32(t, p.block, i, p.remainder, width) & p.at.run))
    p.result = INSERT_PRESENT;
  else
    p.result = INSERTED;
  return p;
}

ALWAYS_INLINE void do_insert(const struct qtable *t, struct planned_insert p, unsigned width) {
  uint64_t position = lowest_bit(p.at.from), moved = p.empty - position;
  push_remainder_in_block(t, p.block, position, p.empty, p.remainder, width);
  if (t->value_bits)
    push_values(t, p.quotient / 64, trailing_zeros(position), trailing_zeros(p.empty), 0);
  push_bit(p.block + t->heads_at, moved, position);
  /* If the run has slots, the last one's bit is carried over to the new one. */
  set_block_word(t, p.block, WORD_END,
                 p.at.ends + (p.at.ends & moved) + (position >> p.at.has_run));
  set_block_word(t, p.block, WORD_OCCUPIED, p.at.occupied);
}

/* Appends the remainder to its run. Changes nothing if the result is not INSERTED. */
ALWAYS_INLINE enum inserted insert_in_block(const struct qtable *t, struct address a, bool unless,
                                            unsigned width) {
  struct planned_insert p = plan_insert(t, a, unless, width);
  if (LIKELY(p.result == INSERTED)) do_insert(t, p, width);
  return p.result;
}

#endif
