/*
 * Walks over a quotient table: from a quotient to its run, from a position to the next empty slot
 * or to the end of the cluster. Inline: table_ops.c and table_slots.c compile it per instruction
 * set.
 */
#ifndef BESOM_QUOTIENT_WALK_H
#define BESOM_QUOTIENT_WALK_H

#include "quotient/table/quotient_table.h"

/* Position of the k-th run end (from 0) at or after `from`; room if there are fewer. */
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

/* The first position after the fingerprint whose head is at the position. */
static inline uint64_t fingerprint_end(const struct qtable *t, uint64_t position) {
  if (!t->further_slots) return position + 1;
  uint64_t from = bits_from(position % 64), after = from << 1;
  for (uint64_t at = position & ~UINT64_C(63); at < t->room;
       at += 64, from = after = ~UINT64_C(0)) {
    const uint8_t *block = block_at(t, at / 64);
    uint64_t ends = block_word(t, block, WORD_END) & from, others = block_heads(t, block) & after;
    if (ends << 1 | others) return at + trailing_zeros(ends << 1 | others);
    if (ends) return at + 64;
  }
  return t->room;
}

/*
 * What a walk remembers: the runs of all quotients before block `block` end at `runs_end`. {0, 0}
 * is always true.
 */
struct offset_hint {
  uint64_t block, runs_end;
};

/*
 * Where the runs of all quotients before block b end; at least the block's own start. A saturated
 * offset is computed from the nearest earlier block with an exact one, or from the hint, which is
 * updated: so a walk over any number of saturated blocks reads each of them once.
 */
static inline uint64_t runs_end_before_block(const struct qtable *t, uint64_t b,
                                             struct offset_hint *hint) {
  uint64_t offset = block_offset(block_at(t, b));
  if (LIKELY(offset < OFFSET_SATURATED)) return 64 * b + offset;
  uint64_t known = b;
  while (known > hint->block && block_offset(block_at(t, known)) == OFFSET_SATURATED) known--;
  uint64_t end =
      known > hint->block ? 64 * known + block_offset(block_at(t, known)) : hint->runs_end;
  uint64_t runs = 0;
  for (; known < b; known++) runs += popcount(block_word(t, block_at(t, known), WORD_OCCUPIED));
  if (runs) end = run_end_from(t, end, runs - 1) + 1;
  if (end < 64 * b) end = 64 * b; /* a damaged table, or a torn read */
  *hint = (struct offset_hint){b, end};
  return end;
}

/*
 * The run of a quotient. If it has none: start = end = where its first slot would be inserted.
 * Positions never exceed room, whatever the bits are.
 */
static inline struct run run_of(const struct qtable *t, uint64_t quotient) {
  const uint8_t *block = block_at(t, quotient / 64);
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED);
  unsigned before = popcount(occupied & bits_below(quotient % 64));
  uint64_t start = runs_end_before_block(t, quotient / 64, &(struct offset_hint){0, 0});
  if (before) start = run_end_from(t, start, before - 1) + 1;
  if (start < quotient) start = quotient;
  if (start > t->room) start = t->room;
  if (!(occupied >> (quotient % 64) & 1)) return (struct run){start, start};
  uint64_t last = run_end_from(t, start, 0);
  return (struct run){start, last < t->room ? last + 1 : t->room};
}

/* The slots of a run in block b, as bits. The run must reach into the block. */
static inline uint64_t run_in_block(struct run run, uint64_t b) {
  unsigned first = run.start > 64 * b ? run.start % 64 : 0;
  unsigned last = run.end < 64 * b + 64 ? (run.end - 1) % 64 : 63;
  return bits_between(first, last);
}

/*
 * Where the runs of all quotients up to this one end; not above the quotient if its own slot is
 * empty. A cluster is walked from one such end to the next.
 */
static inline uint64_t runs_end_up_to(const struct qtable *t, uint64_t quotient,
                                      struct offset_hint *hint) {
  if (quotient >= t->slots) quotient = t->slots - 1;
  const uint8_t *block = block_at(t, quotient / 64);
  unsigned runs = popcount(block_word(t, block, WORD_OCCUPIED) & bits_between(0, quotient % 64));
  uint64_t end = runs_end_before_block(t, quotient / 64, hint);
  return runs ? run_end_from(t, end, runs - 1) + 1 : end;
}

/*
 * The used slots of a block, whatever they contain: those that runs of earlier blocks reach, heads,
 * ends, and the slots from a head to the next head or end. The addition carries through these.
 */
ALWAYS_INLINE uint64_t slots_of_runs(const struct qtable *t, const uint8_t *block) {
  uint64_t heads = block_heads(t, block), ends = block_word(t, block, WORD_END);
  uint64_t others = ~(heads | ends), after_head = (heads & ~ends) << 1 & others;
  return ~others | (others & ~(others + after_head)) | ~bits_from_any(block_offset(block));
}

/* The empty slots of a block of a table with heads. */
ALWAYS_INLINE uint64_t empty_slots(const struct qtable *t, const uint8_t *block, unsigned width) {
  if (has_whole_slots(t, width)) return ~slots_of_runs(t, block);
  uint64_t empty = ~(block_word(t, block, WORD_END) | block_heads(t, block));
  return t->further_slots ? empty & slots_equal(t, block, 0, width) : empty;
}

/*
 * The first empty slot at or after a position at which no earlier run continues; room if there is
 * none.
 */
static inline uint64_t first_empty_from(const struct qtable *t, uint64_t position, unsigned width) {
  if (t->has_heads) {
    uint64_t left = bits_from(position % 64);
    for (uint64_t at = position & ~UINT64_C(63); at < t->room; at += 64, left = ~UINT64_C(0)) {
      uint64_t empty = empty_slots(t, block_at(t, at / 64), width) & left;
      if (empty) return at + trailing_zeros(empty);
    }
    return t->room;
  }
  struct offset_hint hint = {0, 0};
  while (position < t->room) {
    uint64_t end = runs_end_up_to(t, position, &hint);
    if (end <= position) return position;
    position = end;
  }
  return t->room;
}

/*
 * The last slot of a cluster, as a bit; 0 if that is in another block. `ends`: where runs end, from
 * one run of the cluster on; `left`: the quotients of the runs after that one. A cluster ends where
 * as many runs have ended as have their quotient up to there. Each step goes to the end of the last
 * run that is known to begin within the cluster.
 */
ALWAYS_INLINE uint64_t cluster_end_in_block(uint64_t left, uint64_t ends) {
  for (uint64_t last = ends & (0 - ends), next;; last = next) {
    unsigned runs = popcount(left & (last ^ (last - 1)));
    next = bit_number(ends, UINT64_C(1) << (runs & 63));
    if (next <= last) return next & last;
  }
}

/* The quotients of a block that are above quotient i, as bits. */
ALWAYS_INLINE uint64_t quotients_above(const struct qtable *t, const uint8_t *block, unsigned i) {
  return block_word(t, block, WORD_OCCUPIED) & (~UINT64_C(1) << i);
}

/* The last slot of a cluster that goes on in block b; `room` - 1 in a damaged table. */
static inline uint64_t last_of_cluster_from(const struct qtable *t, uint64_t b) {
  for (const uint8_t *block = block_at(t, b); b < t->room / 64; b++, block += t->stride) {
    unsigned reach = block_offset(block); /* earlier runs have this many slots from here on */
    uint64_t occupied = block_word(t, block, WORD_OCCUPIED);
    if (UNLIKELY(reach > 64 || (reach == 64 && occupied))) continue;
    uint64_t last =
        cluster_end_in_block(occupied, block_word(t, block, WORD_END) & bits_from_any(reach - 1));
    if (LIKELY(last)) return 64 * b + trailing_zeros(last);
  }
  return t->room - 1;
}

/* The last slot of the cluster that the position, in the quotient's run, is in. */
static inline uint64_t last_of_cluster(const struct qtable *t, uint64_t quotient,
                                       uint64_t position) {
  uint64_t b = position / 64;
  if (b > quotient / 64) return last_of_cluster_from(t, b);
  const uint8_t *block = block_at(t, b);
  uint64_t last = cluster_end_in_block(quotients_above(t, block, quotient % 64),
                                       block_word(t, block, WORD_END) & bits_from(position % 64));
  return last ? 64 * b + trailing_zeros(last) : last_of_cluster_from(t, b + 1);
}

#endif
