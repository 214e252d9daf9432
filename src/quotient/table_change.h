/* Of table_ops.c: inserting, appending, and slots that are opened and closed. */
#ifndef BESOM_QUOTIENT_TABLE_CHANGE_H
#define BESOM_QUOTIENT_TABLE_CHANGE_H

#include "quotient/table_query.h"

ALWAYS_INLINE void raise_offset(uint8_t *block) {
  set_block_offset(block, block_offset(block) + 1);
}

/* All there is in a slot. */
struct slot {
  uint64_t end, head, remainder, value;
};

/* Bits lo .. hi-1 move up by one, `in` becomes bit lo. */
ALWAYS_INLINE uint64_t push_bit(uint64_t word, unsigned lo, uint64_t moved, uint64_t in) {
  return (word & ~moved) | (word << 1 & moved & ~(UINT64_C(1) << lo)) | in << lo;
}

static uint64_t push_value(const struct qtable *t, uint8_t *block, unsigned lo, unsigned hi,
                           uint64_t in) {
  uint64_t out = slot_value(t, block, hi), moved = bits_between(lo, hi);
  for (unsigned j = 0; j < t->value_bits; j++) {
    uint8_t *plane = block + t->values_at + 8 * j;
    store64(plane, push_bit(load64(plane), lo, moved, in >> j & 1));
  }
  return out;
}

/*
 * Slots lo .. hi-1 of a block move up by one, `in` becomes slot lo; gives the old slot hi. In metadata and
 * planes this is a shift of words, in rows a move of bytes.
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
    store64(planes + 8 * j, push_bit(load64(planes + 8 * j), lo, moved, bit));
  }
  for (unsigned j = 0; j < width / 8; j++) {
    move_bytes_up(bytes + 64 * j, lo, hi);
    store8(bytes + 64 * j + lo, (uint8_t)(in.remainder >> (8 * j)));
  }
  if (UNLIKELY(t->value_bits)) out.value = push_value(t, block, lo, hi, in.value);
  return out;
}

/*
 * Puts a slot in at the position: what is there and behind it, up to the empty slot, moves up by one, and
 * every block behind that of the quotient has one more slot of earlier runs.
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

/* Bits lo+1 .. hi of `words` words move down by one; bit hi becomes bit 0 of the word in `after`, or 0 if NULL. */
ALWAYS_INLINE void pull_bits(uint8_t *block, const uint8_t *after, unsigned at, unsigned words,
                             unsigned lo, unsigned hi) {
  uint64_t moved = bits_between(lo, hi);
  for (unsigned j = 0; j < words; j++, at += 8) {
    uint64_t word = load64(block + at), in = after ? load64(after + at) & 1 : 0;
    store64(block + at, (word & ~moved) | ((word & moved) >> 1 & moved) | in << hi);
  }
}

/* Slots lo+1 .. hi move down by one; slot hi becomes the first slot of `after`, or empty if that is NULL. */
ALWAYS_INLINE void pull_slot(const struct qtable *t, uint8_t *block, const uint8_t *after,
                             unsigned lo, unsigned hi, unsigned width) {
  pull_bits(block, after, t->words_at + 8 * WORD_END, 1, lo, hi);
  pull_bits(block, after, t->remainders_at, width % 8, lo, hi);
  pull_bits(block, after, t->heads_at, t->has_heads, lo, hi);
  pull_bits(block, after, t->values_at, t->value_bits, lo, hi);
  for (unsigned j = 0, at = t->remainders_at + 8 * (width % 8); j < width / 8; j++, at += 64) {
    move_bytes_down(block + at, lo, hi);
    store8(block + at + hi, after ? load8(after + at) : 0);
  }
}

/*
 * One slot less of earlier runs in every block behind that of the quotient, to the one of `last`. A
 * saturated offset says only "255 or more": the truth is computed. It goes down by 64 a block at the most,
 * so after a large one the next blocks stay saturated, whatever they are.
 */
static void lower_offsets(struct qtable *t, uint64_t quotient, uint64_t last) {
  struct mark mark = {0, 0};
  for (uint64_t b = quotient / 64 + 1; b <= last / 64; b++) {
    uint8_t *block = block_at(t, b);
    unsigned offset = block_offset(block);
    if (offset < OFFSET_SATURATED) {
      set_block_offset(block, offset - 1);
      continue;
    }
    uint64_t truth = runs_end_before_block(t, b, &mark) - 64 * b;
    if (truth < OFFSET_SATURATED)
      set_block_offset(block, truth);
    else
      b += (truth - OFFSET_SATURATED) / 64;
  }
}

/* Takes the slot out; the cluster ends behind `last`. The bits of the runs are those after the change. */
ALWAYS_INLINE void close_down_from(struct qtable *t, uint64_t quotient, uint64_t position,
                                   uint64_t last, unsigned width) {
  for (uint64_t b = position / 64; b <= last / 64; b++) {
    unsigned lo = b == position / 64 ? position % 64 : 0;
    bool final = b == last / 64;
    uint8_t *block = block_at(t, b);
    pull_slot(t, block, final ? NULL : block + t->stride, lo, final ? last % 64 : 63, width);
  }
  lower_offsets(t, quotient, last);
  t->used--;
}

static inline void set_bit(struct qtable *t, uint64_t position, unsigned word, bool value) {
  uint8_t *block = block_at(t, position / 64);
  uint64_t bit = UINT64_C(1) << (position % 64), bits = block_word(t, block, word);
  set_block_word(t, block, word, value ? bits | bit : bits & ~bit);
}

ALWAYS_INLINE besom_status open_slot(struct qtable *t, uint64_t quotient, uint64_t position,
                                     uint64_t bits, unsigned width) {
  uint64_t empty = first_empty_from(t, position, width);
  if (empty >= t->room) return BESOM_FULL;
  bool ends = ends_run(t, position - 1);
  set_bit(t, position - 1, WORD_END, false);
  put_slot(t, quotient, position, empty, (struct slot){.end = ends, .remainder = bits}, width);
  t->further_slots++;
  return BESOM_OK;
}

ALWAYS_INLINE void close_slot(struct qtable *t, uint64_t quotient, uint64_t position,
                              unsigned width) {
  struct run run = run_of(t, quotient);
  uint64_t last =
      cluster_end_from(t, position) - 1; /* before the bits that it is found by change */
  t->further_slots -= !is_head(t, position);
  if (run.start + 1 == run.end)
    set_bit(t, quotient, WORD_OCCUPIED, false);
  else if (position + 1 == run.end)
    set_bit(t, position - 1, WORD_END, true);
  close_down_from(t, quotient, position, last, width);
}

/*
 * Where a run that ends in the block of its quotient ends, or would begin; BLOCK_SLOTS if it does not end
 * there. As in contains: no branch to be guessed. The run's slots from the quotient's on are the bits of *run,
 * from 0.
 */
ALWAYS_INLINE unsigned run_end_in_block(const struct qtable *t, const uint8_t *block, unsigned i,
                                        uint64_t *run) {
  unsigned offset = block_offset(block);
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), has_run = occupied >> i & 1;
  unsigned runs = popcount(occupied & bits_between(0, i));
  uint64_t ends = first_bits(block_word(t, block, WORD_END) & bits_from_any(offset), runs);
  unsigned end = 64 - leading_zeros(ends);
  uint64_t ends_before = ends & bits_below((end - 1) & 63);
  unsigned start = 64 - leading_zeros(ends_before);
  start = start > offset ? start : offset;
  *run = (0 - has_run) & bits_from_any(start) & bits_below(end & 63) & bits_from(i);
  *run >>= i;
  end = end > offset ? end : offset;
  end = end > i ? end : i;
  return popcount(ends) == runs ? end : BLOCK_SLOTS;
}

/* Whether the run has the remainder, given what run_end_in_block found. */
ALWAYS_INLINE bool run_has(const struct qtable *t, uint64_t quotient, unsigned end, uint64_t run,
                           uint64_t remainder, unsigned width) {
  if (UNLIKELY(end >= BLOCK_SLOTS || run >> 32)) return contains_by_find(t, quotient, remainder);
  return (slots_equal_32(t, block_at(t, quotient / 64), quotient % 64, remainder, width) & run) !=
         0;
}

ALWAYS_INLINE besom_status insert(struct qtable *t, besom_digest d, bool *unless, unsigned width) {
  struct address a = address_of(d, t->slots);
  uint8_t *block = block_at(t, a.quotient / 64);
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), bit = UINT64_C(1) << (a.quotient % 64);
  bool has_run = occupied & bit;
  uint64_t run_slots;
  unsigned end = run_end_in_block(t, block, a.quotient % 64, &run_slots);
  if (unless && run_has(t, a.quotient, end, run_slots, remainder_of(a, width), width)) {
    *unless = true;
    return BESOM_OK;
  }
  uint64_t position = (a.quotient & ~UINT64_C(63)) + end;
  if (UNLIKELY(end >= BLOCK_SLOTS)) position = run_of(t, a.quotient).end;
  uint64_t empty = first_empty_from(t, position, width), old_last = position - has_run;
  if (UNLIKELY(empty >= t->room)) return BESOM_FULL;
  uint8_t *old_block = block_at(t, old_last / 64);
  uint64_t ends = block_word(t, old_block, WORD_END);
  set_block_word(t, old_block, WORD_END, ends & ~((uint64_t)has_run << (old_last % 64)));
  set_block_word(t, block, WORD_OCCUPIED, occupied | bit);
  put_slot(t, a.quotient, position, empty, (struct slot){1, 1, remainder_of(a, width), 0}, width);
  return BESOM_OK;
}

/* Fetches a block and the next: that far most inserts shift. */
ALWAYS_INLINE void prefetch_to_insert(const struct qtable *t, besom_digest d) {
  const uint8_t *block = block_at(t, approximate_quotient(d, t->slots) / 64),
                *end = block + 2 * t->stride;
  for (; block < end; block += 64) __builtin_prefetch(block, 1);
}

ALWAYS_INLINE besom_status insert_many(struct qtable *t, const besom_digest *d, size_t n,
                                       bool *unless, size_t *done, unsigned width) {
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) prefetch_to_insert(t, d[i]);
  besom_status status = BESOM_OK;
  size_t i = 0;
  for (; i < n; i++) {
    if (i + FETCH_AHEAD < n) prefetch_to_insert(t, d[i + FETCH_AHEAD]);
    status = insert(t, d[i], unless, width);
    if (UNLIKELY(status != BESOM_OK || (unless && *unless))) break;
  }
  *done = i;
  return status;
}

ALWAYS_INLINE besom_status append(struct qtable_appender *appender, const besom_digest *d, size_t n,
                                  unsigned width) {
  struct qtable_appender out = *appender;
  for (size_t i = 0; i < n; i++) {
    struct address a = address_of(d[i], out.table.slots);
    besom_status status = qtable_append(&out, a.quotient, remainder_of(a, width), width);
    if (UNLIKELY(status != BESOM_OK)) return status;
  }
  *appender = out;
  return BESOM_OK;
}

#endif
