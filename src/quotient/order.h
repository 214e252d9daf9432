/* The quotient table in the order of its quotients: reading it, filling it, and what is made of both. */
#ifndef BESOM_QUOTIENT_ORDER_H
#define BESOM_QUOTIENT_ORDER_H

#include "quotient/quotient_table.h"

/* ------------------------------------------------------------------ reading */

/* Walks over the fingerprints; the first line of fields is valid after next returned true. */
struct qtable_cursor {
  uint64_t quotient, position, remainder, slots; /* slots: how many the fingerprint has */
  const struct qtable *table;
  uint64_t next_quotient, next_position; /* next_quotient = slots: no more */
};

void besom__qtable_first(const struct qtable *t, struct qtable_cursor *c);
bool besom__qtable_next(struct qtable_cursor *c);

/* From the first run on that reaches the position, or begins behind it. */
void besom__qtable_seek(const struct qtable *t, uint64_t position, struct qtable_cursor *c);

/* ------------------------------------------------------------------ filling */

/*
 * Fills an empty table. Since everything comes in order, each word is put together in a register and
 * stored once, when its block is left. For speed, work on a local copy of the appender: all of it is
 * inline and nothing points to it, so it can live in registers. The table is not usable before finish.
 */
struct qtable_appender {
  struct qtable table;
  uint64_t quotient, occupied; /* the last one, and the occupied word of its block */
  uint64_t position, ends,
      heads; /* the next free slot; the words of the block of the slot before it */
  bool started;
};

ALWAYS_INLINE struct qtable_appender qtable_append_start(const struct qtable *t) {
  return (struct qtable_appender){.table = *t};
}

/* Stores the word of the last quotient's block; the runs so far end at position, so offsets are known up to `block`. */
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

/* Takes the slot at the position, which is not before the next free one. */
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

/* width is the table's. INVALID if the quotient is below the last one, FULL if there is no room; then the table is to
 * be dropped. */
ALWAYS_INLINE besom_status qtable_append(struct qtable_appender *a, uint64_t quotient,
                                         uint64_t remainder, unsigned width) {
  if (UNLIKELY(quotient < a->quotient)) return BESOM_INVALID;
  /* Whether the run so far is complete cannot be guessed: no branch. */
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

/* The value of the slot appended last. */
ALWAYS_INLINE void qtable_append_value(struct qtable_appender *a, uint64_t value) {
  set_slot_value(&a->table, block_at(&a->table, (a->position - 1) / 64), (a->position - 1) % 64,
                 value);
}

/* A further slot of the fingerprint appended last; bits are not 0. */
ALWAYS_INLINE besom_status qtable_append_further(struct qtable_appender *a, uint64_t bits,
                                                 unsigned width) {
  a->table.further_slots++;
  return qtable_append_slot(a, a->position, bits, width);
}

/* Completes the blocks and the table. */
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

/* ------------------------------------------------------------------ whole tables */

/*
 * For tables whose slots have more to them than the table knows of, in `from` and `into`: what to do on the way of
 * fingerprints of one slot to another size. Both may be NULL.
 */
struct qtable_escort {
  /* The remainder that counts, if it is not the one in the cursor's slot. */
  besom_status (*remainder)(const void *from, const struct qtable_cursor *at, uint64_t *remainder);
  /* The cursor's fingerprint has this position now. */
  void (*placed)(void *into, const struct qtable_cursor *at, uint64_t position);
  const void *from;
  void *into;
};

/*
 * Fills the empty table `into`, of twice (half) the slots and one bit of width less (more), moving the
 * first bit of every remainder into the quotient (back). Runs keep their order, long fingerprints their
 * bits. A step looks at no more than max fingerprints; it may be FULL, and then `into` is to be dropped.
 */
struct qtable_resizing {
  const struct qtable *from;
  struct qtable *into;
  struct qtable_appender out;
  struct qtable_cursor run, at; /* doubling: the run at hand, and where in it */
  uint64_t
      first_bit; /* doubling goes over each run twice, for those that begin with 0, and with 1 */
  uint64_t extension_slots;    /* that extensions take in `into` so far */
  struct qtable_escort escort; /* may be set after start */
};

void besom__qtable_resize_start(struct qtable_resizing *r, const struct qtable *from,
                                struct qtable *into);
besom_status besom__qtable_resize_step(struct qtable_resizing *r, uint64_t max, bool *finished);

#endif
