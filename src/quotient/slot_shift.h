/*
 * Shifting slots up by one to make room for another: for table_ops.c, table_slots.c and
 * block_insert.h.
 *
 * `moved` are the slots of a block that move up by one, as bits: from the new slot's position, `lo`
 * as a bit, to the one before the empty slot; or all from lo on, if the last slot of the block
 * moves on to the next block.
 */
#ifndef BESOM_QUOTIENT_SLOT_SHIFT_H
#define BESOM_QUOTIENT_SLOT_SHIFT_H

#include "quotient/walk.h"

/* The content of a slot. */
struct slot {
  uint64_t end, head, remainder, value;
};

ALWAYS_INLINE uint64_t lowest_bit(uint64_t x) {
  return x & (0 - x);
}

/*
 * Moves bits of the word up; `in` is the new bit in its position, or 0. Adding the moved bits to
 * themselves shifts them: the bit above them is 0, because its slot is empty, or there is none.
 */
ALWAYS_INLINE void push_bit(uint8_t *word, uint64_t moved, uint64_t in) {
  uint64_t bits = load64_shared(word);
  store64_shared(word, bits + (bits & moved) + in);
}

/* push_bit of `words` words; bit j of `in` is the new bit of the j-th. */
ALWAYS_INLINE void push_planes(uint8_t *planes, unsigned words, uint64_t lo, uint64_t moved,
                               uint64_t in) {
  for (unsigned j = 0; j < words; j++) push_bit(planes + 8 * j, moved, (0 - (in >> j & 1)) & lo);
}

ALWAYS_INLINE void push_value(const struct qtable *t, uint8_t *block, uint64_t lo, uint64_t moved,
                              uint64_t in) {
  push_planes(block + t->values_at, t->value_bits, lo, moved, in);
}

/* Bytes lo .. hi-1 of a row move up by one, and `in` becomes byte lo. */
ALWAYS_INLINE void push_byte(uint8_t *row, unsigned lo, unsigned hi, uint8_t in) {
  move_bytes_up(row, lo, hi);
  store8_shared(row + lo, in);
}

/*
 * The same for a row that is not in the last block: the 32 bytes after it may be read and
 * written again. So most rows take two moves. Not for shared tables: another thread may change
 * these bytes.
 */
ALWAYS_INLINE void push_byte_before_last_block(uint8_t *row, unsigned lo, unsigned hi, uint8_t in) {
#if defined(__AVX2__) && !defined(__AVX512BW__) && defined(UNSHARED)
  if (LIKELY(hi - lo <= 32)) {
    __m256i moved = load256_shared(row + lo), after = load256_shared(row + hi + 1);
    store256_shared(row + lo + 1, moved);
    store256_shared(row + hi + 1, after);
    store8_shared(row + lo, in);
    return;
  }
#endif
  push_byte(row, lo, hi, in);
}

/* The bits of a remainder above its whole bytes: those that are in planes. */
ALWAYS_INLINE uint64_t upper_bits(uint64_t remainder, unsigned width) {
  return width < 64 ? remainder >> (width / 8 * 8) : 0;
}

/* Moves the remainders of a block up, from `lo` to before `empty`, both bits. */
ALWAYS_INLINE void push_remainder_in_block(const struct qtable *t, uint8_t *block, uint64_t lo,
                                           uint64_t empty, uint64_t in, unsigned width) {
  uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8);
  for (unsigned j = 0; j < width / 8; j++)
    push_byte_before_last_block(bytes + 64 * j, trailing_zeros(lo), trailing_zeros(empty),
                                (uint8_t)(in >> (8 * j)));
  push_planes(planes, width % 8, lo, empty - lo, upper_bits(in, width));
}

/*
 * Slots lo .. hi-1 of a block move up by one, and `in` becomes slot lo. Slot hi is empty, or is 63.
 * Returns the old slot hi.
 */
ALWAYS_INLINE struct slot push_slot(const struct qtable *t, uint8_t *block, unsigned lo,
                                    unsigned hi, struct slot in, unsigned width) {
  uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8);
  uint8_t *ends = block + t->words_at + 8 * WORD_END;
  uint64_t low = UINT64_C(1) << lo, moved = bits_between(lo, hi);
  struct slot out = {.end = load64_shared(ends) >> hi & 1,
                     .remainder = slot_remainder(t, block, hi, width)};
  push_bit(ends, moved, in.end << lo);
  if (t->has_heads) {
    out.head = block_heads(t, block) >> hi & 1;
    push_bit(block + t->heads_at, moved, in.head << lo);
  }
  push_planes(planes, width % 8, low, moved, upper_bits(in.remainder, width));
  for (unsigned j = 0; j < width / 8; j++)
    push_byte(bytes + 64 * j, lo, hi, (uint8_t)(in.remainder >> (8 * j)));
  if (UNLIKELY(t->value_bits)) {
    out.value = slot_value(t, block, hi);
    push_value(t, block, low, moved, in.value);
  }
  return out;
}

static inline void set_bit(struct qtable *t, uint64_t position, unsigned word, bool value) {
  uint8_t *block = block_at(t, position / 64);
  uint64_t bit = UINT64_C(1) << (position % 64), bits = block_word(t, block, word);
  set_block_word(t, block, word, value ? bits | bit : bits & ~bit);
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
