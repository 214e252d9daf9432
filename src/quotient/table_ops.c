/*
 * The fast operations of the quotient table, compiled once for each instruction set (BESOM_ISA) and, in
 * each, once for every common width: a template is an inline function whose width is a constant in the
 * caller.
 */
#include "core/address.h"
#include "quotient/walk.h"

#define PREFETCH_AHEAD 24

#define NAME_OF(isa) besom__qtable_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct qtable_ops *NAME(BESOM_ISA)(unsigned width);

/* ------------------------------------------------------------------ queries */

/* The slots of a block that hold a fingerprint with this remainder, from position `from` to before `to`. */
ALWAYS_INLINE uint64_t matches_in_block(const struct qtable *t, uint64_t b, uint64_t from, uint64_t to,
                                        uint64_t remainder, unsigned width) {
  const uint8_t *block = block_at(t, b);
  uint64_t wanted = ~UINT64_C(0);
  if (from > 64 * b) wanted &= bits_from(from - 64 * b);
  if (to < 64 * b + 64) wanted &= bits_below(to - 64 * b);
  if (t->has_heads) wanted &= block_word(t, block, WORD_HEAD);
  return slots_equal(t, block, remainder, width) & wanted;
}

ALWAYS_INLINE uint64_t find(const struct qtable *t, uint64_t quotient, uint64_t remainder, uint64_t *last,
                            unsigned width) {
  struct run run = run_of(t, quotient);
  uint64_t count = 0;
  for (uint64_t b = run.start / 64; run.start < run.end && b <= (run.end - 1) / 64; b++) {
    uint64_t matches = matches_in_block(t, b, run.start, run.end, remainder, width);
    if (!matches) continue;
    count += popcount(matches);
    *last = 64 * b + 63 - leading_zeros(matches);
  }
  return count;
}

/*
 * Most runs lie in the block of their quotient, whole. Then everything is there in one or two lines of
 * cache, and the answer takes no branch that could be guessed wrong: the end of the run is the n-th run
 * end, n = runs before it; its start is behind the run end before that, and not before the quotient.
 */
ALWAYS_INLINE bool contains(const struct qtable *t, besom_digest d, unsigned width) {
  struct address a = address_of(d, t->slots);
  uint64_t remainder = remainder_of(a, width);
  const uint8_t *block = block_at(t, a.quotient / 64);
  unsigned i = a.quotient % 64, offset = block[0];
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED);
  uint64_t from_offset = bits_from(offset & 63);
  uint64_t ends = block_run_ends(t, block) & from_offset;
  uint64_t is_occupied = occupied >> i & 1;
  uint64_t end = select_bit(ends, popcount(occupied & bits_below(i)));
  if (UNLIKELY((end == 0 && is_occupied) || offset >= 64)) {
    uint64_t last;
    return is_occupied && find(t, a.quotient, remainder, &last, width);
  }
  uint64_t ends_before = ends & (end - 1);
  uint64_t run = (end | (end - 1)) & bits_from((64 - leading_zeros(ends_before)) & 63) & from_offset & bits_from(i);
  if (t->has_heads) run &= block_word(t, block, WORD_HEAD);
  return (slots_equal(t, block, remainder, width) & run & (0 - is_occupied)) != 0;
}

/* Fetches all of a block, and the first line of the next, into which a sixth of the runs reach. */
ALWAYS_INLINE void prefetch(const struct qtable *t, besom_digest d, bool for_writing) {
  const uint8_t *block = block_at(t, quotient_near(d, t->slots) / 64);
  const uint8_t *end = block + t->stride;
  for (const uint8_t *line = block; line < end; line += 64) {
    if (for_writing)
      __builtin_prefetch(line, 1);
    else
      __builtin_prefetch(line, 0);
  }
  if (for_writing)
    __builtin_prefetch(end, 1);
  else
    __builtin_prefetch(end - 1, 0);
}

ALWAYS_INLINE void contains_many(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap,
                                 unsigned width) {
  for (size_t i = 0; i < n && i < PREFETCH_AHEAD; i++) prefetch(t, d[i], false);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0;
    size_t some = n - i < 64 ? n - i : 64;
    for (size_t j = 0; j < some; j++) {
      if (i + j + PREFETCH_AHEAD < n) prefetch(t, d[i + j + PREFETCH_AHEAD], false);
      answers |= (uint64_t)contains(t, d[i + j], width) << j;
    }
    bitmap[i / 64] = answers;
  }
}

/* ------------------------------------------------------------------ changes */

/*
 * Slots lo .. hi-1 of a block move up by one; slot lo becomes the last slot of `before`, the block before
 * it, or empty if that is NULL. In planes and metadata this is a shift of words, in rows a move of bytes.
 */
ALWAYS_INLINE void shift_block_up(const struct qtable *t, uint8_t *block, const uint8_t *before, unsigned lo,
                                  unsigned hi, unsigned width) {
  unsigned first = t->words_at + 8 * WORD_END, end = t->remainders_at + 8 * (width % 8);
  uint64_t moved = bits_between(lo, hi);
  for (unsigned at = first; at < end; at += 8) {
    uint64_t word = load64(block + at), into = before ? load64(before + at) >> 63 : 0;
    store64(block + at, (word & ~moved) | ((word & moved) << 1 & moved) | into << lo);
  }
  for (unsigned j = 0, at = end; j < width / 8; j++, at += 64) {
    move_bytes_up(block + at, lo, hi);
    block[at + lo] = before ? before[at + 63] : 0;
  }
}

/* Slots lo+1 .. hi move down by one; slot hi becomes the first slot of `after`, or empty if that is NULL. */
ALWAYS_INLINE void shift_block_down(const struct qtable *t, uint8_t *block, const uint8_t *after, unsigned lo,
                                    unsigned hi, unsigned width) {
  unsigned first = t->words_at + 8 * WORD_END, end = t->remainders_at + 8 * (width % 8);
  uint64_t moved = bits_between(lo, hi);
  for (unsigned at = first; at < end; at += 8) {
    uint64_t word = load64(block + at), into = after ? load64(after + at) & 1 : 0;
    store64(block + at, (word & ~moved) | ((word & moved) >> 1 & moved) | into << hi);
  }
  for (unsigned j = 0, at = end; j < width / 8; j++, at += 64) {
    memmove(block + at + lo, block + at + lo + 1, hi - lo);
    block[at + hi] = after ? after[at] : 0;
  }
}

/* One more slot of earlier runs in every block behind that of the quotient, to the one of `last`. */
ALWAYS_INLINE void raise_offsets(struct qtable *t, uint64_t quotient, uint64_t last) {
  for (uint64_t b = quotient / 64 + 1; b <= last / 64; b++) {
    uint8_t *offset = block_at(t, b);
    *offset = (uint8_t)(*offset + (*offset < OFFSET_SATURATED));
  }
}

/* One less. A saturated offset says only "255 or more": the truth comes from the block before. */
static void lower_offsets(struct qtable *t, uint64_t quotient, uint64_t last) {
  uint64_t runs_end = 0;
  bool known = false;
  for (uint64_t b = quotient / 64 + 1; b <= last / 64; b++) {
    uint8_t *offset = block_at(t, b);
    if (*offset < OFFSET_SATURATED) {
      --*offset;
      known = false;
      continue;
    }
    runs_end = runs_end_after_block(t, b - 1, known ? runs_end : runs_end_before_block(t, b - 1));
    known = true;
    if (runs_end - 64 * b < OFFSET_SATURATED) *offset = (uint8_t)(runs_end - 64 * b);
  }
}

ALWAYS_INLINE void open_up_to(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t empty, unsigned width) {
  if (empty != position)
    for (uint64_t b = empty / 64;; b--) {
      unsigned hi = b == empty / 64 ? empty % 64 : 63;
      bool first = b == position / 64;
      uint8_t *block = block_at(t, b);
      shift_block_up(t, block, first ? NULL : block - t->stride, first ? position % 64 : 0, hi, width);
      if (first) break;
    }
  raise_offsets(t, quotient, empty);
  t->used++;
}

ALWAYS_INLINE besom_status open_slot(struct qtable *t, uint64_t quotient, uint64_t position, unsigned width) {
  uint64_t empty = first_empty_from(t, position);
  if (empty >= t->room) return BESOM_FULL;
  open_up_to(t, quotient, position, empty, width);
  return BESOM_OK;
}

/* Takes the slot out; the cluster ends behind `last`. The bits of the runs are those after the change. */
ALWAYS_INLINE void close_down_from(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t last,
                                   unsigned width) {
  for (uint64_t b = position / 64; b <= last / 64; b++) {
    unsigned lo = b == position / 64 ? position % 64 : 0;
    bool final = b == last / 64;
    uint8_t *block = block_at(t, b);
    shift_block_down(t, block, final ? NULL : block + t->stride, lo, final ? last % 64 : 63, width);
  }
  lower_offsets(t, quotient, last);
  t->used--;
}

ALWAYS_INLINE void close_slot(struct qtable *t, uint64_t quotient, uint64_t position, unsigned width) {
  close_down_from(t, quotient, position, cluster_end_from(t, position) - 1, width);
}

static inline void set_bit(struct qtable *t, uint64_t position, unsigned word, bool value) {
  uint8_t *block = block_at(t, position / 64);
  uint64_t bit = UINT64_C(1) << (position % 64), bits = block_word(t, block, word);
  set_block_word(t, block, word, value ? bits | bit : bits & ~bit);
}

ALWAYS_INLINE besom_status insert(struct qtable *t, besom_digest d, unsigned width) {
  struct address a = address_of(d, t->slots);
  struct run run = run_of(t, a.quotient);
  uint64_t empty = first_empty_from(t, run.end);
  if (UNLIKELY(empty >= t->room)) return BESOM_FULL;
  open_up_to(t, a.quotient, run.end, empty, width);
  if (run.start == run.end)
    set_bit(t, a.quotient, WORD_OCCUPIED, true);
  else
    set_bit(t, run.last, WORD_END, false);
  set_bit(t, run.end, WORD_END, true);
  if (t->has_heads) set_bit(t, run.end, WORD_HEAD, true);
  set_slot_remainder(t, block_at(t, run.end / 64), run.end % 64, remainder_of(a, width), width);
  return BESOM_OK;
}

ALWAYS_INLINE besom_status insert_many(struct qtable *t, const besom_digest *d, size_t n, size_t *done,
                                       unsigned width) {
  for (size_t i = 0; i < n && i < PREFETCH_AHEAD; i++) prefetch(t, d[i], true);
  besom_status status = BESOM_OK;
  size_t i = 0;
  for (; i < n; i++) {
    if (i + PREFETCH_AHEAD < n) prefetch(t, d[i + PREFETCH_AHEAD], true);
    status = insert(t, d[i], width);
    if (UNLIKELY(status != BESOM_OK)) break;
  }
  *done = i;
  return status;
}

/* The head before this one; there is one. */
static uint64_t head_before(const struct qtable *t, uint64_t position) {
  if (!t->has_heads) return position - 1;
  uint64_t b = position / 64;
  uint64_t heads = block_word(t, block_at(t, b), WORD_HEAD) & bits_below(position % 64);
  while (!heads && b) heads = block_word(t, block_at(t, --b), WORD_HEAD);
  return 64 * b + 63 - leading_zeros(heads);
}

ALWAYS_INLINE void remove_at(struct qtable *t, uint64_t quotient, uint64_t position, unsigned width) {
  struct run run = run_of(t, quotient);
  uint64_t last = cluster_end_from(t, position) - 1; /* before the bits that it is found by change */
  if (run.start == run.last)
    set_bit(t, quotient, WORD_OCCUPIED, false);
  else if (position == run.last)
    set_bit(t, head_before(t, position), WORD_END, true);
  close_down_from(t, quotient, position, last, width);
}

/* ------------------------------------------------------------------ tables of operations */

#define OPERATIONS(suffix, width)                                                                                      \
  static bool contains_##suffix(const struct qtable *t, besom_digest d) {                                              \
    return contains(t, d, width);                                                                                      \
  }                                                                                                                    \
  static void contains_many_##suffix(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap) {      \
    contains_many(t, d, n, bitmap, width);                                                                             \
  }                                                                                                                    \
  static besom_status insert_##suffix(struct qtable *t, besom_digest d) {                                              \
    return insert(t, d, width);                                                                                        \
  }                                                                                                                    \
  static besom_status insert_many_##suffix(struct qtable *t, const besom_digest *d, size_t n, size_t *done) {          \
    return insert_many(t, d, n, done, width);                                                                          \
  }                                                                                                                    \
  static uint64_t find_##suffix(const struct qtable *t, uint64_t quotient, uint64_t remainder, uint64_t *last) {       \
    return find(t, quotient, remainder, last, width);                                                                  \
  }                                                                                                                    \
  static void remove_##suffix(struct qtable *t, uint64_t quotient, uint64_t position) {                                \
    remove_at(t, quotient, position, width);                                                                           \
  }                                                                                                                    \
  static besom_status open_##suffix(struct qtable *t, uint64_t quotient, uint64_t position) {                          \
    return open_slot(t, quotient, position, width);                                                                    \
  }                                                                                                                    \
  static void close_##suffix(struct qtable *t, uint64_t quotient, uint64_t position) {                                 \
    close_slot(t, quotient, position, width);                                                                          \
  }

#define OPERATION_TABLE(suffix)                                                                                        \
  {                                                                                                                    \
    contains_##suffix, contains_many_##suffix, insert_##suffix, insert_many_##suffix, find_##suffix, remove_##suffix,  \
        open_##suffix, close_##suffix                                                                                  \
  }

/* Rates of 1 in 100, 1000 and 10,000 need 7, 10 and 14 bits; the others are round numbers or papers'. */
OPERATIONS(7, 7)
OPERATIONS(8, 8)
OPERATIONS(9, 9)
OPERATIONS(10, 10)
OPERATIONS(12, 12)
OPERATIONS(14, 14)
OPERATIONS(16, 16)
OPERATIONS(any, t->width)

const struct qtable_ops *NAME(BESOM_ISA)(unsigned width) {
  static const struct qtable_ops any = OPERATION_TABLE(any);
  static const struct qtable_ops common[17] = {
      [7] = OPERATION_TABLE(7),   [8] = OPERATION_TABLE(8),   [9] = OPERATION_TABLE(9),   [10] = OPERATION_TABLE(10),
      [12] = OPERATION_TABLE(12), [14] = OPERATION_TABLE(14), [16] = OPERATION_TABLE(16),
  };
  return width <= 16 && common[width].contains ? &common[width] : &any;
}
