/*
 * The values of slots: in planes inside their block or, of a maplet (VALUES_BEHIND), packed behind
 * all blocks: the slots of a block have 8 * value_bits bytes there, slot i the bits from
 * i * value_bits on, the lower ones first. So a value is in one cache line, and a query without
 * values does not touch it.
 */
#ifndef BESOM_QUOTIENT_SLOT_VALUES_H
#define BESOM_QUOTIENT_SLOT_VALUES_H

#include "quotient/table/quotient_table.h"

ALWAYS_INLINE bool has_packed_values(const struct qtable *t) {
  return t->code == VALUES_BEHIND;
}

/* Where packed values begin. */
static inline uint64_t packed_values_at(const struct qtable *t) {
  return (t->room / 64 * t->stride + 63) / 64 * 64;
}

ALWAYS_INLINE uint8_t *packed_values(const struct qtable *t, uint64_t block) {
  return t->blocks + packed_values_at(t) + block * 8 * t->value_bits;
}

ALWAYS_INLINE uint8_t *inner_values(const struct qtable *t, uint64_t block) {
  return block_at(t, block) + t->values_at;
}

/* The word of its block in which a packed value begins, and where. */
ALWAYS_INLINE uint8_t *packed_word(const struct qtable *t, uint64_t position, unsigned *shift) {
  unsigned bit = (unsigned)(position % 64) * t->value_bits;
  *shift = bit % 64;
  return packed_values(t, position / 64) + bit / 64 * 8;
}

ALWAYS_INLINE uint64_t packed_value(const struct qtable *t, uint64_t position) {
  unsigned shift;
  const uint8_t *word = packed_word(t, position, &shift);
  uint64_t value = load64_shared(word) >> shift;
  if (shift + t->value_bits > 64) value |= load64_shared(word + 8) << (64 - shift);
  return value & bits_below(t->value_bits);
}

ALWAYS_INLINE void set_packed_value(const struct qtable *t, uint64_t position, uint64_t value) {
  unsigned shift;
  uint8_t *word = packed_word(t, position, &shift);
  uint64_t all = bits_below(t->value_bits);
  store64_shared(word, (load64_shared(word) & ~(all << shift)) | value << shift);
  if (shift + t->value_bits <= 64) return;
  uint64_t others = load64_shared(word + 8) & ~(all >> (64 - shift));
  store64_shared(word + 8, others | value >> (64 - shift));
}

ALWAYS_INLINE uint64_t slot_value(const struct qtable *t, uint64_t position) {
  if (has_packed_values(t)) return packed_value(t, position);
  const uint8_t *planes = inner_values(t, position / 64);
  uint64_t value = 0;
  for (unsigned j = 0; j < t->value_bits; j++)
    value |= (load64_shared(planes + 8 * j) >> (position % 64) & 1) << j;
  return value;
}

ALWAYS_INLINE void set_slot_value(const struct qtable *t, uint64_t position, uint64_t value) {
  if (has_packed_values(t)) {
    set_packed_value(t, position, value);
    return;
  }
  uint8_t *planes = inner_values(t, position / 64);
  uint64_t bit = UINT64_C(1) << (position % 64);
  for (unsigned j = 0; j < t->value_bits; j++) {
    uint64_t others = load64_shared(planes + 8 * j) & ~bit;
    store64_shared(planes + 8 * j, others | (value >> j & 1) << (position % 64));
  }
}

/* Fetches packed values from the position on: a cache line, and the one after it. */
ALWAYS_INLINE void prefetch_values_from(const struct qtable *t, uint64_t position) {
  unsigned shift;
  const uint8_t *word = packed_word(t, position, &shift);
  __builtin_prefetch(word);
  __builtin_prefetch(word + 64);
}

/* Whether one of these slots of the block, as bits, has a value that is not 0. */
static inline bool has_value_in(const struct qtable *t, uint64_t block, uint64_t slots) {
  uint64_t any = 0;
  if (t->value_bits)
    for (; slots && !any; slots &= slots - 1)
      any |= slot_value(t, 64 * block + trailing_zeros(slots));
  return any;
}

/* Which bits of word w are among from .. to-1 of all; there is one. */
ALWAYS_INLINE uint64_t packed_bits_of_word(unsigned w, unsigned from, unsigned to) {
  uint64_t bits = 64 * w < from ? bits_from(from % 64) : ~UINT64_C(0);
  return to < 64 * w + 64 ? bits & bits_below(to % 64) : bits;
}

ALWAYS_INLINE void store_some_bits(uint8_t *word, uint64_t bits, uint64_t which) {
  store64_shared(word, (load64_shared(word) & ~which) | (bits & which));
}

/* Values lo .. hi-1 of a block move up by one slot, and `in` becomes that of slot lo. */
static inline void push_packed_values(const struct qtable *t, uint64_t block, unsigned lo,
                                      unsigned hi, uint64_t in) {
  uint8_t *values = packed_values(t, block);
  unsigned bits = t->value_bits, from = lo * bits, to = (hi + 1) * bits;
  for (unsigned w = (to + 63) / 64; w-- > from / 64;) {
    uint64_t below = w ? load64_shared(values + 8 * w - 8) >> (64 - bits) : 0;
    uint64_t moved = load64_shared(values + 8 * w) << bits | below;
    store_some_bits(values + 8 * w, moved, packed_bits_of_word(w, from, to));
  }
  set_slot_value(t, 64 * block + lo, in);
}

/* Values lo+1 .. hi of a block move down by one slot, and `in` becomes that of slot hi. */
static inline void pull_packed_values(const struct qtable *t, uint64_t block, unsigned lo,
                                      unsigned hi, uint64_t in) {
  uint8_t *values = packed_values(t, block);
  unsigned bits = t->value_bits, from = lo * bits, to = (hi + 1) * bits;
  for (unsigned w = from / 64; w < (to + 63) / 64; w++) {
    uint64_t above = w + 1 < bits ? load64_shared(values + 8 * w + 8) << (64 - bits) : 0;
    uint64_t moved = load64_shared(values + 8 * w) >> bits | above;
    store_some_bits(values + 8 * w, moved, packed_bits_of_word(w, from, to));
  }
  set_slot_value(t, 64 * block + hi, in);
}

#endif
