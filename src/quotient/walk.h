/*
 * Finding one's way in a quotient table: from a quotient to its run, from a position to the next empty
 * slot. Inline, because table_ops.c compiles it for each instruction set and table.c for none.
 */
#ifndef BESOM_QUOTIENT_WALK_H
#define BESOM_QUOTIENT_WALK_H

#include "quotient/table.h"

/* Position of the k-th run end at or behind `from`; room if there are fewer. */
static inline uint64_t run_end_from(const struct qtable *t, uint64_t from, uint64_t k) {
  uint64_t left = bits_from(from % 64);
  for (uint64_t at = from & ~UINT64_C(63); at < t->room; at += 64, left = ~UINT64_C(0)) {
    uint64_t ends = block_word(t, block_at(t, at / 64), WORD_END) & left;
    unsigned n = popcount(ends);
    if (k < n) return at + trailing_zeros(select_bit(ends, (unsigned)k));
    k -= n;
  }
  return t->room;
}

static inline bool ends_run(const struct qtable *t, uint64_t position) {
  return block_word(t, block_at(t, position / 64), WORD_END) >> (position % 64) & 1;
}

static inline bool is_head(const struct qtable *t, uint64_t position) {
  return !t->further_slots || block_heads(t, block_at(t, position / 64)) >> (position % 64) & 1;
}

/* The first slot behind the fingerprint whose head is at the position. */
static inline uint64_t fingerprint_end(const struct qtable *t, uint64_t position) {
  if (!t->further_slots) return position + 1;
  uint64_t itself = bits_from(position % 64), behind = itself << 1;
  for (uint64_t at = position & ~UINT64_C(63); at < t->room;
       at += 64, itself = behind = ~UINT64_C(0)) {
    const uint8_t *block = block_at(t, at / 64);
    uint64_t ends = block_word(t, block, WORD_END) & itself,
             others = block_heads(t, block) & behind;
    if (ends << 1 | others) return at + trailing_zeros(ends << 1 | others);
    if (ends) return at + 64;
  }
  return t->room;
}

/* What a walk knows: where the runs of all quotients before a block end. {0, 0} is always true. */
struct mark {
  uint64_t block, runs_end;
};

/*
 * Where the runs of all quotients before block b end, at least the block's own start. A saturated offset
 * is computed from the nearest earlier block that has a true one, or from the mark, which moves along:
 * so a walk over any number of saturated blocks looks at each once.
 */
static inline uint64_t runs_end_before_block(const struct qtable *t, uint64_t b,
                                             struct mark *mark) {
  uint64_t offset = block_offset(block_at(t, b));
  if (LIKELY(offset < OFFSET_SATURATED)) return 64 * b + offset;
  uint64_t known = b;
  while (known > mark->block && block_offset(block_at(t, known)) == OFFSET_SATURATED) known--;
  uint64_t end =
      known > mark->block ? 64 * known + block_offset(block_at(t, known)) : mark->runs_end;
  uint64_t runs = 0;
  for (; known < b; known++) runs += popcount(block_word(t, block_at(t, known), WORD_OCCUPIED));
  if (runs) end = run_end_from(t, end, runs - 1) + 1;
  if (end < 64 * b) end = 64 * b; /* no table, but what bits may say */
  *mark = (struct mark){b, end};
  return end;
}

/*
 * The run of a quotient. If the quotient has none: start = end = where its first slot would be inserted.
 * Positions never exceed room, whatever the bits say.
 */
static inline struct run run_of(const struct qtable *t, uint64_t quotient) {
  const uint8_t *block = block_at(t, quotient / 64);
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED);
  unsigned before = popcount(occupied & bits_below(quotient % 64));
  uint64_t start = runs_end_before_block(t, quotient / 64, &(struct mark){0, 0});
  if (before) start = run_end_from(t, start, before - 1) + 1;
  if (start < quotient) start = quotient;
  if (start > t->room) start = t->room;
  if (!(occupied >> (quotient % 64) & 1)) return (struct run){start, start};
  uint64_t last = run_end_from(t, start, 0);
  return (struct run){start, last < t->room ? last + 1 : t->room};
}

/* The part of a run that is in this block, as bits; there is some. */
static inline uint64_t run_in_block(struct run run, uint64_t b) {
  unsigned first = run.start > 64 * b ? run.start % 64 : 0;
  unsigned last = run.end < 64 * b + 64 ? (run.end - 1) % 64 : 63;
  return bits_between(first, last);
}

/*
 * Where the runs of all quotients up to this one end; not above it, if that slot is free. From one such
 * end to the next is how a cluster is walked.
 */
static inline uint64_t runs_end_up_to(const struct qtable *t, uint64_t quotient,
                                      struct mark *mark) {
  if (quotient >= t->slots) quotient = t->slots - 1;
  const uint8_t *block = block_at(t, quotient / 64);
  unsigned runs = popcount(block_word(t, block, WORD_OCCUPIED) & bits_between(0, quotient % 64));
  uint64_t end = runs_end_before_block(t, quotient / 64, mark);
  return runs ? run_end_from(t, end, runs - 1) + 1 : end;
}

/* The empty slots of a block of a table with heads. */
ALWAYS_INLINE uint64_t empty_slots(const struct qtable *t, const uint8_t *block, unsigned width) {
  uint64_t empty = ~(block_word(t, block, WORD_END) | block_heads(t, block));
  return t->further_slots ? empty & slots_equal(t, block, 0, width) : empty;
}

/* The first empty slot at or behind a position that no run crosses into from before; room if there is none. */
static inline uint64_t first_empty_from(const struct qtable *t, uint64_t position, unsigned width) {
  if (t->has_heads) {
    uint64_t left = bits_from(position % 64);
    for (uint64_t at = position & ~UINT64_C(63); at < t->room; at += 64, left = ~UINT64_C(0)) {
      uint64_t empty = empty_slots(t, block_at(t, at / 64), width) & left;
      if (empty) return at + trailing_zeros(empty);
    }
    return t->room;
  }
  struct mark mark = {0, 0};
  while (position < t->room) {
    uint64_t end = runs_end_up_to(t, position, &mark);
    if (end <= position) return position;
    position = end;
  }
  return t->room;
}

/* The first slot behind `position`, a slot of a run, where a run starts in its own place or none does. */
static inline uint64_t cluster_end_from(const struct qtable *t, uint64_t position) {
  for (struct mark mark = {0, 0};;) {
    uint64_t end = runs_end_up_to(t, position, &mark);
    if (end > t->room) end = t->room; /* no table, but what bits may say */
    if (end <= position + 1 || end >= t->room) return end <= position ? position + 1 : end;
    position = end - 1;
  }
}

#endif
