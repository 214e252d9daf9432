/*
 * The fast operations of the quotient table, compiled once for each instruction set (BESOM_ISA) and, in
 * each, once for every common width: a template is an inline function whose width is a constant in the
 * caller.
 */
#include "core/address.h"
#include "quotient/concurrent.h"
#include "quotient/long.h"
#include "quotient/walk.h"

/* Keys of a batch whose blocks are on their way from memory; a divisor of 64. */
#define FETCH_AHEAD 32

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
  if (t->further_slots) wanted &= block_heads(t, block);
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

ALWAYS_INLINE uint64_t next_equal(const struct qtable *t, uint64_t from, uint64_t run_end, uint64_t remainder,
                                  unsigned width) {
  for (uint64_t b = from / 64; from < run_end && b <= (run_end - 1) / 64; b++) {
    uint64_t matches = matches_in_block(t, b, from, run_end, remainder, width);
    if (matches) return 64 * b + trailing_zeros(matches);
  }
  return run_end;
}

/* Where a key belongs. */
struct place {
  const uint8_t *block;
  uint64_t quotient, remainder;
};

ALWAYS_INLINE struct place place_of(const struct qtable *t, besom_digest d, unsigned width) {
  struct address a = address_of(d, t->slots);
  return (struct place){block_at(t, a.quotient / 64), a.quotient, remainder_of(a, width)};
}

ALWAYS_INLINE uint64_t behind_of(const struct qtable *t, besom_digest d, unsigned width) {
  return behind_remainder(address_of(d, t->slots), width);
}

/* For runs that leave their block. Not inline, or its needs would burden the fast path. */
static __attribute__((noinline)) enum answer contains_by_find(const struct qtable *t, uint64_t quotient,
                                                              uint64_t remainder) {
  uint64_t last;
  if (!t->ops->find(t, quotient, remainder, &last)) return ANSWER_NO;
  return t->extended ? ANSWER_MAYBE : ANSWER_YES;
}

/* The same for tables with marks: MAYBE if a slot of the run may be marked. */
static __attribute__((noinline)) enum answer contains_unmarked_by_find(const struct qtable *t, uint64_t quotient,
                                                                       uint64_t remainder) {
  struct run run = run_of(t, quotient);
  uint64_t equal = 0;
  for (uint64_t b = run.start / 64; run.start < run.end && b <= (run.end - 1) / 64; b++) {
    uint64_t ours = run_in_block(run, b);
    if (block_code(block_at(t, b)) & marks_of_slots(ours)) return ANSWER_MAYBE;
    equal |= slots_equal(t, block_at(t, b), remainder, t->width) & ours;
  }
  return equal ? ANSWER_YES : ANSWER_NO;
}

ALWAYS_INLINE enum answer contains_elsewhere(const struct qtable *t, struct place at, bool marks) {
  return (marks ? contains_unmarked_by_find : contains_by_find)(t, at.quotient, at.remainder);
}

/*
 * The heads of a block, as far as they matter to slots that are equal to a remainder: they do if a further slot
 * could be. The word is in another line of cache, mostly, so it is read only then; and since that cannot be
 * guessed, without a branch.
 */
ALWAYS_INLINE uint64_t heads_that_matter(const struct qtable *t, const uint8_t *block, uint64_t remainder,
                                         unsigned width) {
  bool matter = (t->further_slots != 0) & is_like_further(remainder, width);
  uint64_t heads = load64(block + (t->heads_at & (0 - (unsigned)matter)));
  return heads | (matter - UINT64_C(1));
}

/* The answer of the fingerprint in slots i to `last` of a block; MAYBE if there is more of it than a word can hold. */
ALWAYS_INLINE enum answer answer_of_long(const struct qtable *t, const uint8_t *block, unsigned i, unsigned last,
                                         uint64_t behind, unsigned width) {
  unsigned payload = further_payload(width), bits = (last - i) * payload;
  uint64_t string = 0;
  if (UNLIKELY(last >= BLOCK_SLOTS || bits > 64)) return ANSWER_MAYBE;
  while (i++ < last) string = string << payload | (slot_remainder(t, block, i, width) & bits_below(payload));
  return answer_of_string(string << (64 - bits), behind);
}

/*
 * The answer of the matches that are heads without a tag: YES if one of them is all there is of its fingerprint, since
 * a head follows, or the next run. Else their strings are looked at. What was a false positive once ends here, so it
 * should be fast.
 */
ALWAYS_INLINE enum answer answer_of(const struct qtable *t, const uint8_t *block, uint64_t matches, uint64_t behind,
                                    unsigned width) {
  uint64_t heads = block_heads(t, block), last = heads >> 1 | block_word(t, block, WORD_END);
  matches &= heads & ~block_tags(t, block);
  if (matches & last) return ANSWER_YES;
  enum answer answer = ANSWER_NO;
  for (; matches && answer == ANSWER_NO; matches &= matches - 1) {
    unsigned i = trailing_zeros(matches);
    answer = answer_of_long(t, block, i, i + trailing_zeros(last >> i), behind, width);
  }
  return answer;
}

/*
 * Most runs lie in the block of their quotient and are short. Then the answer takes no branch that could be
 * guessed wrong, each of which would cost a wait for memory: the run ends at the n-th run end, n = runs
 * before it; it starts behind the run end before that, and not before the quotient or the offset.
 *
 * The remainders near the quotient's own slot are loaded at once with the words, in whichever lines they are.
 * `behind` is what the digest has behind the remainder. With `out`, tells where the run is; with `marks`, if a slot of
 * it is marked the answer is MAYBE.
 */
ALWAYS_INLINE enum answer contains_in_block(const struct qtable *t, struct place at, uint64_t behind,
                                            struct block_run *out, bool marks, unsigned width) {
  unsigned i = at.quotient % 64;
  uint64_t occupied = block_word(t, at.block, WORD_OCCUPIED), is_occupied = occupied >> i & 1;
  uint64_t ours = bits_from_any(block_offset(at.block)), ends = block_word(t, at.block, WORD_END) & ours;
  uint64_t end = select_bit(ends, popcount(occupied & bits_below(i)));
  uint64_t run = (end | (end - 1)) & bits_from((64 - leading_zeros(ends & (end - 1))) & 63) & ours;
  run = run >> i & (0 - is_occupied);
  uint64_t marked = marks ? block_code(at.block) & marks_of_slots(run << i) : 0;
  if (UNLIKELY((is_occupied > end) | (run >> 32 | marked))) return marked ? ANSWER_MAYBE : ANSWER_ELSEWHERE;
  if (out) *out = (struct block_run){at.block, run << i, 64 - leading_zeros(run << i)};
  uint64_t equal = slots_equal_32(t, at.block, i, at.remainder, width) & run;
  if (!equal) return ANSWER_NO;
  if (UNLIKELY(t->extended)) return answer_of(t, at.block, equal << i, behind, width);
  return equal & heads_that_matter(t, at.block, at.remainder, width) >> i ? ANSWER_YES : ANSWER_NO;
}

ALWAYS_INLINE enum answer contains_place(const struct qtable *t, struct place at, uint64_t behind, bool marks,
                                         unsigned width) {
  enum answer answer = contains_in_block(t, at, behind, NULL, marks, width);
  return UNLIKELY(answer == ANSWER_ELSEWHERE) ? contains_elsewhere(t, at, marks) : answer;
}

ALWAYS_INLINE enum answer contains(const struct qtable *t, besom_digest d, bool marks, unsigned width) {
  return contains_place(t, place_of(t, d, width), behind_of(t, d, width), marks, width);
}

/*
 * The same when the block has been fetched: only the remainders of the run are loaded, when it is known where
 * it is, so that no needless line of cache is touched. With `marks` a marked slot of the run is a yes, too; with
 * `elsewhere` it is set if the run leaves the block.
 */
ALWAYS_INLINE bool may_contain_at(const struct qtable *t, struct place at, bool marks, bool *elsewhere,
                                  unsigned width) {
  unsigned i = at.quotient % 64, offset = block_offset(at.block);
  uint64_t occupied = block_word(t, at.block, WORD_OCCUPIED), is_occupied = occupied >> i & 1;
  uint64_t ends = block_word(t, at.block, WORD_END) & bits_from_any(offset);
  uint64_t end = select_bit(ends, popcount(occupied & bits_below(i)));
  unsigned start = 64 - leading_zeros(ends & (end - 1));
  start = start > offset ? start : offset;
  start = start > i ? start : i;
  unsigned n = trailing_zeros(end) + 1 - start;
  if (UNLIKELY((is_occupied > end) | (is_occupied & (n > 16))))
    return elsewhere ? (*elsewhere = true) : contains_elsewhere(t, at, marks) != ANSWER_NO;
  uint32_t equal = slots_equal_in(t, at.block, start & 63, n & 31, at.remainder, width) & (0 - (uint32_t)is_occupied);
  if (marks) {
    uint64_t run = bits_below(n & 31) << (start & 63) & (0 - is_occupied);
    return (block_code(at.block) & marks_of_slots(run)) | equal;
  }
  return equal && equal & heads_that_matter(t, at.block, at.remainder, width) >> (start & 63);
}

/* Fetches the words of a block, and the remainders where the run should be: some slots behind its own. */
ALWAYS_INLINE struct place fetch_place(const struct qtable *t, besom_digest d, unsigned width) {
  struct place at = place_of(t, d, width);
  const uint8_t *bytes = at.block + t->remainders_at + 8 * (width % 8);
  __builtin_prefetch(at.block);
  __builtin_prefetch(bytes - 1);
  for (unsigned j = 0; j < width / 8; j++) __builtin_prefetch(bytes + 64 * j + at.quotient % 64 + 4);
  return at;
}

ALWAYS_INLINE void contains_many(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap, bool marks,
                                 unsigned width) {
  struct place ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) ahead[i] = fetch_place(t, d[i], width);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0;
    size_t some = n - i < 64 ? n - i : 64;
    for (size_t j = 0; j < some; j++) {
      struct place *next = &ahead[j % FETCH_AHEAD], at = *next;
      if (i + j + FETCH_AHEAD < n) *next = fetch_place(t, d[i + j + FETCH_AHEAD], width);
      answers |= (uint64_t)may_contain_at(t, at, marks, NULL, width) << j;
    }
    bitmap[i / 64] = answers;
  }
}

ALWAYS_INLINE struct place fetch_shared(const struct qtable *t, const struct region *regions, besom_digest d,
                                        unsigned width) {
  struct place at = fetch_place(t, d, width);
  __builtin_prefetch(&regions[at.quotient / REGION_SLOTS]);
  return at;
}

ALWAYS_INLINE void contains_many_shared(const struct qtable *t, struct region *regions, const besom_digest *d, size_t n,
                                        uint64_t *bitmap, uint64_t *unsure, unsigned width) {
  struct place ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) ahead[i] = fetch_shared(t, regions, d[i], width);
  for (size_t i = 0; i < n; i++) {
    struct place *next = &ahead[i % FETCH_AHEAD], at = *next;
    if (i + FETCH_AHEAD < n) *next = fetch_shared(t, regions, d[i + FETCH_AHEAD], width);
    if (i % 64 == 0) bitmap[i / 64] = unsure[i / 64] = 0;
    struct region *region = &regions[at.quotient / REGION_SLOTS];
    uint64_t version = region_version(region);
    bool elsewhere = false, answer = may_contain_at(t, at, false, &elsewhere, width);
    bitmap[i / 64] |= (uint64_t)answer << (i % 64);
    unsure[i / 64] |= (uint64_t)(elsewhere | !region_unchanged(region, version)) << (i % 64);
  }
}

/* ------------------------------------------------------------------ changes */

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

static uint64_t push_value(const struct qtable *t, uint8_t *block, unsigned lo, unsigned hi, uint64_t in) {
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
ALWAYS_INLINE struct slot push_slot(const struct qtable *t, uint8_t *block, unsigned lo, unsigned hi, struct slot in,
                                    unsigned width) {
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
ALWAYS_INLINE void put_slot(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t empty, struct slot in,
                            unsigned width) {
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
ALWAYS_INLINE void pull_bits(uint8_t *block, const uint8_t *after, unsigned at, unsigned words, unsigned lo,
                             unsigned hi) {
  uint64_t moved = bits_between(lo, hi);
  for (unsigned j = 0; j < words; j++, at += 8) {
    uint64_t word = load64(block + at), in = after ? load64(after + at) & 1 : 0;
    store64(block + at, (word & ~moved) | ((word & moved) >> 1 & moved) | in << hi);
  }
}

/* Slots lo+1 .. hi move down by one; slot hi becomes the first slot of `after`, or empty if that is NULL. */
ALWAYS_INLINE void pull_slot(const struct qtable *t, uint8_t *block, const uint8_t *after, unsigned lo, unsigned hi,
                             unsigned width) {
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
ALWAYS_INLINE void close_down_from(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t last,
                                   unsigned width) {
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

ALWAYS_INLINE besom_status open_slot(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t bits,
                                     unsigned width) {
  uint64_t empty = first_empty_from(t, position, width);
  if (empty >= t->room) return BESOM_FULL;
  bool ends = ends_run(t, position - 1);
  set_bit(t, position - 1, WORD_END, false);
  put_slot(t, quotient, position, empty, (struct slot){.end = ends, .remainder = bits}, width);
  t->further_slots++;
  return BESOM_OK;
}

ALWAYS_INLINE void close_slot(struct qtable *t, uint64_t quotient, uint64_t position, unsigned width) {
  struct run run = run_of(t, quotient);
  uint64_t last = cluster_end_from(t, position) - 1; /* before the bits that it is found by change */
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
ALWAYS_INLINE unsigned run_end_in_block(const struct qtable *t, const uint8_t *block, unsigned i, uint64_t *run) {
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
ALWAYS_INLINE bool run_has(const struct qtable *t, uint64_t quotient, unsigned end, uint64_t run, uint64_t remainder,
                           unsigned width) {
  if (UNLIKELY(end >= BLOCK_SLOTS || run >> 32)) return contains_by_find(t, quotient, remainder);
  return (slots_equal_32(t, block_at(t, quotient / 64), quotient % 64, remainder, width) & run) != 0;
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
  const uint8_t *block = block_at(t, quotient_near(d, t->slots) / 64), *end = block + 2 * t->stride;
  for (; block < end; block += 64) __builtin_prefetch(block, 1);
}

ALWAYS_INLINE besom_status insert_many(struct qtable *t, const besom_digest *d, size_t n, bool *unless, size_t *done,
                                       unsigned width) {
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

ALWAYS_INLINE besom_status append(struct qtable_appender *appender, const besom_digest *d, size_t n, unsigned width) {
  struct qtable_appender out = *appender;
  for (size_t i = 0; i < n; i++) {
    struct address a = address_of(d[i], out.table.slots);
    besom_status status = qtable_append(&out, a.quotient, remainder_of(a, width), width);
    if (UNLIKELY(status != BESOM_OK)) return status;
  }
  *appender = out;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ merging */

/* Where the runs of a block's quotients are: first slots and numbers of slots, 0 for a quotient that has none. */
struct runs {
  uint64_t start[BLOCK_SLOTS], n[BLOCK_SLOTS];
};

/* Gives the occupied word. *end: where the runs of the blocks before end, then those of this one, too. */
ALWAYS_INLINE uint64_t find_runs(const struct qtable *t, uint64_t b, uint64_t *end, struct runs *runs) {
  uint64_t at = *end;
  memset(runs, 0, sizeof *runs);
  uint64_t occupied = block_word(t, block_at(t, b), WORD_OCCUPIED);
  for (uint64_t left = occupied; left; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    uint64_t start = at > 64 * b + i ? at : 64 * b + i;
    if (UNLIKELY(start >= t->room)) break;
    uint64_t ends = block_word(t, block_at(t, start / 64), WORD_END) >> (start % 64);
    at = start + trailing_zeros(ends) + 1;
    if (UNLIKELY(!ends)) {
      at = run_end_from(t, start, 0) + 1;
      if (at > t->room) at = t->room;
    }
    runs->start[i] = start;
    runs->n[i] = at - start;
  }
  *end = at;
  return occupied;
}

ALWAYS_INLINE void set_bits(uint8_t *word, uint64_t bits) {
  store64(word, load64(word) | bits);
}

/* Copies n slots to empty ones, one by one. */
static void copy_slots(const struct qtable *t, uint64_t from, uint64_t n, const struct qtable *into, uint64_t to) {
  for (; n; n--, from++, to++) {
    const uint8_t *source = block_at(t, from / 64);
    uint8_t *block = block_at(into, to / 64);
    set_slot_remainder(into, block, to % 64, slot_remainder(t, source, from % 64, t->width), t->width);
    set_slot_value(into, block, to % 64, slot_value(t, source, from % 64));
    if (t->has_heads) set_bits(block + t->heads_at, (block_heads(t, source) >> (from % 64) & 1) << (to % 64));
  }
}

/* A few slots of one block, as part of a word. */
struct few {
  const uint8_t *block;
  unsigned i, n;
};

ALWAYS_INLINE uint64_t few_bits(struct few few, unsigned word_at) {
  return load64(few.block + word_at) >> few.i & bits_below(few.n);
}

ALWAYS_INLINE uint64_t few_bytes(struct few few, unsigned row_at) {
  unsigned i = few.i < 56 ? few.i : 56; /* not beyond the row */
  return load64(few.block + row_at + i) >> 8 * (few.i - i) & bits_below(8 * few.n);
}

/*
 * Copies x and then y to empty slots of one block, from k on; seven or less in all, without values. Every word is put
 * together from both and stored once.
 */
ALWAYS_INLINE void copy_few(const struct qtable *t, struct few x, struct few y, uint8_t *block, unsigned k,
                            unsigned width) {
  unsigned at = t->remainders_at;
  for (unsigned j = 0; j < width % 8; j++, at += 8)
    set_bits(block + at, (few_bits(x, at) | few_bits(y, at) << x.n) << k);
  for (unsigned j = 0; j < width / 8; j++, at += 64) {
    uint64_t bytes = few_bytes(x, at) | few_bytes(y, at) << 8 * x.n;
    if (LIKELY(k <= 56))
      store64(block + at + k, bytes); /* zeros behind the last slot, where nothing is yet */
    else
      set_bits(block + at + 56, bytes << 8 * (k - 56));
  }
  if (!t->has_heads) return;
  uint64_t heads = bits_below(x.n + y.n);
  if (t->further_slots) heads = few_bits(x, t->heads_at) | few_bits(y, t->heads_at) << x.n;
  set_bits(block + t->heads_at, heads << k);
}

/* Copies the run of x and then that of y to empty slots: most of them are short, and at once in one block. */
ALWAYS_INLINE void copy_runs(const struct qtable *a, uint64_t x, uint64_t n_x, const struct qtable *b, uint64_t y,
                             uint64_t n_y, const struct qtable *out, uint64_t to, unsigned width) {
  bool few = (n_x + n_y < 8) & (to % 64 + n_x + n_y <= 64) & (x % 64 + n_x <= 64) & (y % 64 + n_y <= 64);
  if (LIKELY(few & !a->value_bits)) {
    struct few few_x = {block_at(a, x / 64), x % 64, (unsigned)n_x};
    struct few few_y = {block_at(b, y / 64), y % 64, (unsigned)n_y};
    copy_few(a, few_x, few_y, block_at(out, to / 64), to % 64, width);
  } else {
    copy_slots(a, x, n_x, out, to);
    copy_slots(b, y, n_y, out, to + n_x);
  }
}

/* All three tables have one shape, which is said once: the loop needs all the registers. */
ALWAYS_INLINE besom_status merge(const struct qtable *from_a, const struct qtable *from_b, struct qtable *into,
                                 unsigned width) {
  struct qtable a = *from_a, b = a, out = a;
  b.blocks = from_b->blocks, out.blocks = into->blocks;
  a.further_slots = b.further_slots = from_a->further_slots + from_b->further_slots;
  struct runs x, y;
  uint64_t end_a = 0, end_b = 0, position = 0;
  for (uint64_t q = 0; q < out.room; q += 64) {
    uint8_t *block = block_at(&out, q / 64);
    uint64_t offset = position > q ? position - q : 0;
    set_block_offset(block, offset);
    uint64_t occupied = find_runs(&a, q / 64, &end_a, &x) | find_runs(&b, q / 64, &end_b, &y);
    set_block_word(&out, block, WORD_OCCUPIED, occupied);
    for (; occupied; occupied &= occupied - 1) {
      unsigned i = trailing_zeros(occupied);
      uint64_t start = position > q + i ? position : q + i;
      position = start + x.n[i] + y.n[i];
      if (UNLIKELY(position > out.room || position == start)) return BESOM_FULL; /* the latter in no sound table */
      copy_runs(&a, x.start[i], x.n[i], &b, y.start[i], y.n[i], &out, start, width);
      set_bits(block_at(&out, (position - 1) / 64) + out.words_at + 8 * WORD_END, UINT64_C(1) << ((position - 1) % 64));
    }
  }
  into->used = from_a->used + from_b->used;
  into->further_slots = from_a->further_slots + from_b->further_slots;
  into->extended = from_a->extended + from_b->extended;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ tables of operations */

#define OPERATIONS(suffix, width)                                                                                  \
  static enum answer contains_##suffix(const struct qtable *t, besom_digest d) {                                   \
    return contains(t, d, false, width);                                                                           \
  }                                                                                                                \
  static void contains_many_##suffix(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap) {  \
    contains_many(t, d, n, bitmap, false, width);                                                                  \
  }                                                                                                                \
  static void contains_many_shared_##suffix(const struct qtable *t, struct region *regions, const besom_digest *d, \
                                            size_t n, uint64_t *bitmap, uint64_t *unsure) {                        \
    contains_many_shared(t, regions, d, n, bitmap, unsure, width);                                                 \
  }                                                                                                                \
  static enum answer contains_in_block_##suffix(const struct qtable *t, besom_digest d) {                          \
    return contains_in_block(t, place_of(t, d, width), behind_of(t, d, width), NULL, false, width);                \
  }                                                                                                                \
  static enum answer contains_run_##suffix(const struct qtable *t, besom_digest d, struct block_run *run) {        \
    return contains_in_block(t, place_of(t, d, width), behind_of(t, d, width), run, false, width);                 \
  }                                                                                                                \
  static enum answer contains_unmarked_##suffix(const struct qtable *t, besom_digest d) {                          \
    return contains(t, d, true, width);                                                                            \
  }                                                                                                                \
  static void contains_unmarked_many_##suffix(const struct qtable *t, const besom_digest *d, size_t n,             \
                                              uint64_t *bitmap) {                                                  \
    contains_many(t, d, n, bitmap, true, width);                                                                   \
  }                                                                                                                \
  static enum answer contains_at_##suffix(const struct qtable *t, uint64_t quotient, uint64_t remainder) {         \
    return contains_place(t, (struct place){block_at(t, quotient / 64), quotient, remainder}, 0, false, width);    \
  }                                                                                                                \
  static besom_status insert_##suffix(struct qtable *t, besom_digest d, bool *unless) {                            \
    return insert(t, d, unless, width);                                                                            \
  }                                                                                                                \
  static besom_status insert_many_##suffix(struct qtable *t, const besom_digest *d, size_t n, bool *unless,        \
                                           size_t *done) {                                                         \
    return insert_many(t, d, n, unless, done, width);                                                              \
  }                                                                                                                \
  static besom_status append_##suffix(struct qtable_appender *a, const besom_digest *d, size_t n) {                \
    const struct qtable *t = &a->table;                                                                            \
    (void)t;                                                                                                       \
    return append(a, d, n, width);                                                                                 \
  }                                                                                                                \
  static uint64_t find_##suffix(const struct qtable *t, uint64_t quotient, uint64_t remainder, uint64_t *last) {   \
    return find(t, quotient, remainder, last, width);                                                              \
  }                                                                                                                \
  static uint64_t next_equal_##suffix(const struct qtable *t, uint64_t from, uint64_t end, uint64_t remainder) {   \
    return next_equal(t, from, end, remainder, width);                                                             \
  }                                                                                                                \
  static besom_status open_##suffix(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t bits) {       \
    return open_slot(t, quotient, position, bits, width);                                                          \
  }                                                                                                                \
  static void close_##suffix(struct qtable *t, uint64_t quotient, uint64_t position) {                             \
    close_slot(t, quotient, position, width);                                                                      \
  }                                                                                                                \
  static besom_status merge_##suffix(const struct qtable *a, const struct qtable *b, struct qtable *t) {           \
    return merge(a, b, t, width);                                                                                  \
  }

#define OPERATION_TABLE(suffix)                                                                                   \
  {                                                                                                               \
    contains_##suffix, contains_many_##suffix, contains_many_shared_##suffix, contains_in_block_##suffix,         \
        contains_run_##suffix, contains_unmarked_##suffix, contains_unmarked_many_##suffix, contains_at_##suffix, \
        insert_##suffix, insert_many_##suffix, append_##suffix, find_##suffix, run_of, next_equal_##suffix,       \
        open_##suffix, close_##suffix, merge_##suffix                                                             \
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
