/*
 * Shifting slots up by one to make room for another, and down to delete one: for table_ops.c,
 * table_slots.c and block_insert.h.
 *
 * Up: `moved` are the slots of a block that move up by one, as bits: from the new slot's position,
 * `lo` as a bit, to the one before the empty slot; or all from lo on, if the last slot of the block
 * moves on to the next block.
 */
#ifndef BESOM_QUOTIENT_SLOT_SHIFT_H
#define BESOM_QUOTIENT_SLOT_SHIFT_H

#include "quotient/table/slot_values.h"
#include "quotient/table/walk.h"

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

/* The values of a block: `in` becomes that of slot lo, those from lo to before hi move up. */
ALWAYS_INLINE void push_values(const struct qtable *t, uint64_t block, unsigned lo, unsigned hi,
                               uint64_t in) {
  if (has_packed_values(t))
    push_packed_values(t, block, lo, hi, in);
  else
    push_planes(inner_values(t, block), t->value_bits, UINT64_C(1) << lo, bits_between(lo, hi), in);
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
 * Slots lo .. hi-1 of block b move up by one, and `in` becomes slot lo. Slot hi is empty, or is 63.
 * Returns the old slot hi.
 */
ALWAYS_INLINE struct slot push_slot(const struct qtable *t, uint64_t b, unsigned lo, unsigned hi,
                                    struct slot in, unsigned width) {
  uint8_t *block = block_at(t, b);
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
    out.value = slot_value(t, 64 * b + hi);
    push_values(t, b, lo, hi, in.value);
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
  unsigned lo = position % 64;
  for (uint64_t b = position / 64; b < empty / 64; b++, lo = 0) {
    in = push_slot(t, b, lo, 63, in, width);
    if (b > quotient / 64) raise_offset(block_at(t, b));
  }
  push_slot(t, empty / 64, lo, empty % 64, in, width);
  if (empty / 64 > quotient / 64) raise_offset(block_at(t, empty / 64));
  for (uint64_t b = quotient / 64 + 1; b < position / 64; b++) raise_offset(block_at(t, b));
  t->used++;
}

/* ------------------------------------------------------------------ down */

/*
 * Slots move down by one. `moved` are the slots of a block that take part, as bits: the first is
 * removed. The last becomes empty, or with `more`, if it is slot 63, the first of the next block.
 */
ALWAYS_INLINE uint64_t pulled(uint64_t word, uint64_t moved) {
  return (word & ~moved) | (word >> 1 & (moved >> 1 & moved));
}

ALWAYS_INLINE void pull_word(uint8_t *word, uint64_t moved, uint64_t in) {
  store64_shared(word, pulled(load64_shared(word), moved) | in);
}

/* With `spare`, the 32 bytes from hi on may be written again: so most rows take two moves. */
ALWAYS_INLINE void pull_byte(uint8_t *row, unsigned lo, unsigned hi, uint8_t in, bool spare) {
#if defined(__AVX2__) && !defined(__AVX512BW__) && defined(UNSHARED)
  if (LIKELY(spare && hi - lo <= 32)) {
    __m256i moved = load256_shared(row + lo + 1), after = load256_shared(row + hi);
    store256_shared(row + lo, moved);
    store256_shared(row + hi, after);
    store8_shared(row + hi, in);
    return;
  }
#endif
  (void)spare;
  move_bytes_down(row, lo, hi);
  store8_shared(row + hi, in);
}

ALWAYS_INLINE void pull_words(const struct qtable *t, uint8_t *block, unsigned at, unsigned words,
                              uint64_t moved, bool more) {
  for (uint8_t *word = block + at; word < block + at + 8 * words; word += 8)
    pull_word(word, moved, more ? load64_shared(word + t->stride) << 63 : 0);
}

ALWAYS_INLINE void pull_slots(const struct qtable *t, uint8_t *block, uint64_t moved, bool more,
                              bool spare, unsigned width) {
  unsigned lo = trailing_zeros(moved), hi = more ? 63 : 63 ^ leading_zeros(moved);
  uint8_t *row = block + t->remainders_at + 8 * (width % 8);
  pull_words(t, block, t->words_at + 8 * WORD_END, 1, moved, more);
  pull_words(t, block, t->remainders_at, width % 8, moved, more);
  for (unsigned j = 0; j < width / 8; j++, row += 64)
    pull_byte(row, lo, hi, more ? load8_shared(row + t->stride) : 0, spare);
  if (t->has_heads) pull_words(t, block, t->heads_at, 1, moved, more);
}

/* The same for their values. */
static inline void pull_values(const struct qtable *t, uint64_t b, uint64_t moved, bool more) {
  unsigned lo = trailing_zeros(moved), hi = more ? 63 : 63 - leading_zeros(moved);
  if (has_packed_values(t))
    pull_packed_values(t, b, lo, hi, more ? slot_value(t, 64 * b + 64) : 0);
  else
    pull_words(t, inner_values(t, b), 0, t->value_bits, moved, more);
}

/*
 * A saturated offset says only "255 or more", so the exact one is computed. It decreases by at most
 * 64 per block: after a large one, the next blocks stay saturated in any case.
 */
static __attribute__((noinline)) void lower_saturated_offsets(const struct qtable *t, uint64_t b,
                                                              uint64_t last) {
  struct offset_hint hint = {0, 0};
  for (; b <= last / 64; b++) {
    uint8_t *block = block_at(t, b);
    unsigned offset = block_offset(block);
    if (offset < OFFSET_SATURATED) {
      set_block_offset(block, offset - 1);
      continue;
    }
    uint64_t exact = runs_end_before_block(t, b, &hint) - 64 * b;
    if (exact < OFFSET_SATURATED)
      set_block_offset(block, exact);
    else
      b += (exact - OFFSET_SATURATED) / 64;
  }
}

/* Each block after that of the quotient, up to the one of `last`, has one slot of earlier runs
   less. */
ALWAYS_INLINE void lower_offsets(const struct qtable *t, uint64_t quotient, uint64_t last) {
  uint8_t *block = block_at(t, quotient / 64);
  for (uint64_t b = quotient / 64; b++ < last / 64;) {
    unsigned offset = block_offset(block += t->stride);
    if (UNLIKELY(offset == OFFSET_SATURATED)) {
      struct qtable own = *t; /* so that the caller's constants need not be in memory */
      lower_saturated_offsets(&own, b, last);
      return;
    }
    store8_shared(block, (uint8_t)(offset - 1));
  }
}

/*
 * The bits of a run that loses its slot at the position: an empty run is not occupied; if it was
 * the last slot, the one before ends the run. No branch: it could not be predicted.
 */
ALWAYS_INLINE void forget_in_run(struct qtable *t, uint64_t quotient, struct run run,
                                 uint64_t position) {
  uint64_t alone = run.start + 1 == run.end, ends = !alone & (position + 1 == run.end);
  uint8_t *occupied = block_at(t, quotient / 64) + t->words_at + 8 * WORD_OCCUPIED;
  store64_shared(occupied, load64_shared(occupied) & ~(alone << (quotient % 64)));
  uint64_t end = position - ends;
  uint8_t *word = block_at(t, end / 64) + t->words_at + 8 * WORD_END;
  store64_shared(word, load64_shared(word) | ends << (end % 64));
}

/* The slots after the position, up to `last`, the end of the cluster, move down by one. */
ALWAYS_INLINE void pull_cluster(const struct qtable *t, uint64_t quotient, uint64_t position,
                                uint64_t last, unsigned width) {
  uint8_t *block = block_at(t, position / 64);
  uint64_t first = bits_from(position % 64);
  for (uint64_t b = position / 64; b < last / 64; b++, first = ~UINT64_C(0), block += t->stride) {
    pull_slots(t, block, first, true, true, width);
    if (UNLIKELY(t->value_bits)) pull_values(t, b, first, true);
  }
  uint64_t moved = first & bits_between(0, last % 64);
  pull_slots(t, block, moved, false, first & 1, width);
  if (UNLIKELY(t->value_bits)) pull_values(t, last / 64, moved, false);
  lower_offsets(t, quotient, last);
}

/* Deletes the slot at the position from the run of the quotient. */
ALWAYS_INLINE void take_slot(struct qtable *t, uint64_t quotient, struct run run, uint64_t position,
                             unsigned width) {
  uint64_t last = last_of_cluster(t, quotient, position); /* before the bits of the runs change */
  forget_in_run(t, quotient, run, position);
  pull_cluster(t, quotient, position, last, width);
  t->used--;
}

#endif
