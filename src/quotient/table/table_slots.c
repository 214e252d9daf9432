/*
 * Operations on slots, compiled once for each instruction set (BESOM_ISA) and for any width.
 * table_slots_shared.c compiles them again for tables that several threads share.
 */
#ifndef BESOM_SHARED
#define UNSHARED 1 /* core/relaxed.h */
#endif

#include "quotient/table/table_slots.h"

#include "quotient/table/slot_shift.h"

struct run besom__find_run(const struct qtable *t, uint64_t quotient) {
  return run_of(t, quotient);
}

#ifndef BESOM_SHARED

enum answer besom__contains_flagged_far(const struct qtable *t, uint64_t quotient,
                                        uint64_t remainder) {
  struct run run = run_of(t, quotient);
  uint64_t equal = 0;
  for (uint64_t b = run.start / 64; run.start < run.end && b <= (run.end - 1) / 64; b++) {
    uint64_t ours = run_in_block(run, b);
    if (block_code(block_at(t, b)) & flags_of_slots(ours)) return ANSWER_MAYBE;
    equal |= slots_equal(t, block_at(t, b), remainder, t->width) & ours;
  }
  return equal ? ANSWER_YES : ANSWER_NO;
}

#endif

/* ------------------------------------------------------------------ one slot */

besom_status besom__insert_slot(struct qtable *t, uint64_t quotient, uint64_t position,
                                uint64_t bits) {
  unsigned width = t->width;
  uint64_t empty = first_empty_from(t, position, width);
  if (empty >= t->room) return BESOM_FULL;
  bool ends = ends_run(t, position - 1);
  set_bit(t, position - 1, WORD_END, false);
  put_slot(t, quotient, position, empty, (struct slot){.end = ends, .remainder = bits}, width);
  t->further_slots++;
  return BESOM_OK;
}

void besom__delete_slot(struct qtable *t, uint64_t quotient, uint64_t position) {
  t->further_slots -= !is_head(t, position);
  take_slot(t, quotient, run_of(t, quotient), position, t->width);
}
