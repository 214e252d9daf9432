/* Shifting slots up by one to make room for another: for table_ops.c and table_slots.c. */
#ifndef BESOM_QUOTIENT_SLOT_SHIFT_H
#define BESOM_QUOTIENT_SLOT_SHIFT_H

#include "quotient/walk.h"

/* The content of a slot. */
struct slot {
  uint64_t end, head, remainder, value;
};

/* Bits lo .. hi-1 move up by one, `in` becomes bit lo. `moved` has the bits lo .. hi. */
ALWAYS_INLINE uint64_t push_bit(uint64_t word, unsigned lo, uint64_t moved, uint64_t in) {
  return (word & ~moved) | (word << 1 & moved & ~(UINT64_C(1) << lo)) | in << lo;
}

static inline uint64_t push_value(const struct qtable *t, uint8_t *block, unsigned lo, unsigned hi,
                                  uint64_t in) {
  uint64_t out = slot_value(t, block, hi), moved = bits_between(lo, hi);
  for (unsigned j = 0; j < t->value_bits; j++) {
    uint8_t *plane = block + t->values_at + 8 * j;
    store64_shared(plane, push_bit(load64_shared(plane), lo, moved, in >> j & 1));
  }
  return out;
}

/*
 * Slots lo .. hi-1 of a block move up by one, and `in` becomes slot lo. Returns the old slot hi.
 * Words of metadata and planes are shifted; rows of bytes are moved.
 */
ALWAYS_INLINE struct slot push_slot(const struct qtable *t, uint8_t *block, unsigned lo,
                                    unsigned hi, struct slot in, unsigned width) {
  uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8);
  uint64_t moved = bits_between(lo, hi), word = block_word(t, block, WORD_END);
  struct slot out = {.end = word >> hi & 1, .remainder = slot_remainder(t, block, hi, width)};
  set_block_word(t, block, WORD_END, push_bit(word, lo, moved, in.end));
  if (t->has_heads) {
    word = block_heads(t, block);
    out.head = word >> hi & 1;
    set_block_heads(t, block, push_bit(word, lo, moved, in.head));
  }
  for (unsigned j = 0; j < width % 8; j++) {
    uint64_t bit = in.remainder >> (width / 8 * 8 + j) & 1;
    store64_shared(planes + 8 * j, push_bit(load64_shared(planes + 8 * j), lo, moved, bit));
  }
  for (unsigned j = 0; j < width / 8; j++) {
    move_bytes_up(bytes + 64 * j, lo, hi);
    store8_shared(bytes + 64 * j + lo, (uint8_t)(in.remainder >> (8 * j)));
  }
  if (UNLIKELY(t->value_bits)) out.value = push_value(t, block, lo, hi, in.value);
  return out;
}

ALWAYS_INLINE void raise_offset(uint8_t *block) {
  set_block_offset(block, block_offset(block) + 1);
}

/*
 * Puts a slot at the position. The slots from there to the empty one move up by one, and each block
 * after that of the quotient gets one more slot of earlier runs.
 */
ALWAYS_INLINE void put_slot(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t empty,
                            struct slot in, unsigned width) {
  uint8_t *block = block_at(t, position / 64);
  unsigned lo = position % 64;
  for (uint64_t b = position / 64; b < empty / 64; b++, lo = 0, block += t->stride) {
    in = push_slot(t, block, lo, 63, in, width);
    if (b > quotient / 64) raise_offset(block);
  }
  push_slot(t, block, lo, empty % 64, in, width);
  if (empty / 64 > quotient / 64) raise_offset(block);
  for (uint64_t b = quotient / 64 + 1; b < position / 64; b++) raise_offset(block_at(t, b));
  t->used++;
}

#endif
