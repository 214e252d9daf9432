/* An appender fills an empty quotient table in the order of its quotients. */
#ifndef BESOM_QUOTIENT_APPENDER_H
#define BESOM_QUOTIENT_APPENDER_H

#include "quotient/table/slot_values.h"

/*
 * The state of an appender. Because quotients ascend, each word is built in a register and stored
 * once, when the appender leaves its block. For speed, work on a local copy of the appender: all
 * functions are inline and nothing points to it, so that it can live in registers. The table is not
 * usable before qtable_append_finish.
 */
struct qtable_appender {
  struct qtable table;
  uint64_t quotient, occupied; /* the last quotient; the occupied word of its block */
  /* position: the next free slot; the words of the block of the slot before it */
  uint64_t position, ends, heads;
  bool started;
};

ALWAYS_INLINE struct qtable_appender qtable_append_start(const struct qtable *t) {
  return (struct qtable_appender){.table = *t};
}

/*
 * Stores the occupied word of the last quotient's block. The runs so far end at a->position, so
 * that the offsets of all blocks up to `block` are known: stores them, too.
 */
ALWAYS_INLINE void qtable_append_leave_quotients(struct qtable_appender *a, uint64_t block) {
  set_block_word(&a->table, block_at(&a->table, a->quotient / 64), WORD_OCCUPIED, a->occupied);
  a->occupied = 0;
  for (uint64_t b = a->quotient / 64 + 1; b <= block; b++) {
    uint64_t offset = a->position > 64 * b ? a->position - 64 * b : 0;
    set_block_offset(block_at(&a->table, b), offset);
  }
}

/* Stores the words of the last slot's block. */
ALWAYS_INLINE void qtable_append_leave_slots(struct qtable_appender *a) {
  if (!a->started) return;
  uint8_t *block = block_at(&a->table, (a->position - 1) / 64);
  set_block_word(&a->table, block, WORD_END, a->ends);
  if (a->table.has_heads) set_block_heads(&a->table, block, a->heads);
  a->ends = a->heads = 0;
}

/* Fills the slot at the position, which must not be before the next free slot. */
ALWAYS_INLINE besom_status qtable_append_slot(struct qtable_appender *a, uint64_t position,
                                              uint64_t remainder, unsigned width) {
  if (UNLIKELY(position >= a->table.room)) return BESOM_FULL;
  if (UNLIKELY(position / 64 != (a->position - 1) / 64)) qtable_append_leave_slots(a);
  a->position = position + 1;
  a->table.used++;
  set_slot_remainder(&a->table, block_at(&a->table, position / 64), position % 64, remainder,
                     width);
  return BESOM_OK;
}

/*
 * Appends a fingerprint of one slot. width must be the table's. Returns INVALID if the quotient is
 * below the last one, FULL if there is no free slot; the caller must drop the table then.
 */
ALWAYS_INLINE besom_status qtable_append(struct qtable_appender *a, uint64_t quotient,
                                         uint64_t remainder, unsigned width) {
  if (UNLIKELY(quotient < a->quotient)) return BESOM_INVALID;
  /* No branch: whether the last run is complete is unpredictable. */
  a->ends |= (uint64_t)(a->started & (quotient != a->quotient)) << ((a->position - 1) % 64);
  if (UNLIKELY(quotient / 64 != a->quotient / 64)) qtable_append_leave_quotients(a, quotient / 64);
  uint64_t position = a->position > quotient ? a->position : quotient;
  besom_status status = qtable_append_slot(a, position, remainder, width);
  if (UNLIKELY(status != BESOM_OK)) return status;
  a->occupied |= UINT64_C(1) << (quotient % 64);
  a->heads |= UINT64_C(1) << (position % 64);
  a->quotient = quotient;
  a->started = true;
  return BESOM_OK;
}

/* Sets the value of the slot that was appended last. */
ALWAYS_INLINE void qtable_append_value(struct qtable_appender *a, uint64_t value) {
  set_slot_value(&a->table, a->position - 1, value);
}

/* Appends a further slot to the last fingerprint. With a tag, so that it is not 0. */
ALWAYS_INLINE besom_status qtable_append_further(struct qtable_appender *a, uint64_t bits,
                                                 unsigned width) {
  a->table.further_slots++;
  return qtable_append_slot(a, a->position, bits, width);
}

/* Completes the blocks and the counters of the table. */
ALWAYS_INLINE void qtable_append_finish(struct qtable_appender *a, struct qtable *t) {
  if (a->started) {
    a->ends |= UINT64_C(1) << ((a->position - 1) % 64);
    qtable_append_leave_slots(a);
    qtable_append_leave_quotients(a, t->room / 64 - 1);
  }
  t->used = a->table.used;
  t->further_slots = a->table.further_slots;
  t->extended = a->table.extended;
}

#endif
