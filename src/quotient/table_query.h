/* Of table_ops.c: queries, single, in batches, and beside others that change the table. */
#ifndef BESOM_QUOTIENT_TABLE_QUERY_H
#define BESOM_QUOTIENT_TABLE_QUERY_H

#include "core/address.h"
#include "quotient/concurrent.h"
#include "quotient/multislot.h"
#include "quotient/walk.h"

/* Keys of a batch whose blocks are on their way from memory; a divisor of 64. */
#define FETCH_AHEAD 32

/* The slots of a block that hold a fingerprint with this remainder, from position `from` to before `to`. */
ALWAYS_INLINE uint64_t matches_in_block(const struct qtable *t, uint64_t b, uint64_t from,
                                        uint64_t to, uint64_t remainder, unsigned width) {
  const uint8_t *block = block_at(t, b);
  uint64_t wanted = ~UINT64_C(0);
  if (from > 64 * b) wanted &= bits_from(from - 64 * b);
  if (to < 64 * b + 64) wanted &= bits_below(to - 64 * b);
  if (t->further_slots) wanted &= block_heads(t, block);
  return slots_equal(t, block, remainder, width) & wanted;
}

ALWAYS_INLINE uint64_t find(const struct qtable *t, uint64_t quotient, uint64_t remainder,
                            uint64_t *last, unsigned width) {
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

ALWAYS_INLINE uint64_t next_equal(const struct qtable *t, uint64_t from, uint64_t run_end,
                                  uint64_t remainder, unsigned width) {
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
  return bits_after_remainder(address_of(d, t->slots), width);
}

/* For runs that leave their block. Not inline, or its needs would burden the fast path. */
static __attribute__((noinline)) enum answer
contains_by_find(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  uint64_t last;
  if (!t->ops->find(t, quotient, remainder, &last)) return ANSWER_NO;
  return t->extended ? ANSWER_MAYBE : ANSWER_YES;
}

/* The same for tables with marks: MAYBE if a slot of the run may be marked. */
static __attribute__((noinline)) enum answer
contains_unmarked_by_find(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
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
ALWAYS_INLINE uint64_t heads_that_matter(const struct qtable *t, const uint8_t *block,
                                         uint64_t remainder, unsigned width) {
  bool matter = (t->further_slots != 0) & is_like_further(remainder, width);
  uint64_t heads = load64(block + (t->heads_at & (0 - (unsigned)matter)));
  return heads | (matter - UINT64_C(1));
}

/* The answer of the fingerprint in slots i to `last` of a block; MAYBE if there is more of it than a word can hold. */
ALWAYS_INLINE enum answer answer_of_long(const struct qtable *t, const uint8_t *block, unsigned i,
                                         unsigned last, uint64_t behind, unsigned width) {
  unsigned payload = further_payload(width), bits = (last - i) * payload;
  uint64_t string = 0;
  if (UNLIKELY(last >= BLOCK_SLOTS || bits > 64)) return ANSWER_MAYBE;
  while (i++ < last)
    string = string << payload | (slot_remainder(t, block, i, width) & bits_below(payload));
  return answer_of_extension(string << (64 - bits), behind);
}

/*
 * The answer of the matches that are heads without a tag: YES if one of them is all there is of its fingerprint, since
 * a head follows, or the next run. Else their strings are looked at. What was a false positive once ends here, so it
 * should be fast.
 */
ALWAYS_INLINE enum answer answer_of(const struct qtable *t, const uint8_t *block, uint64_t matches,
                                    uint64_t behind, unsigned width) {
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
ALWAYS_INLINE enum answer contains_in_block(const struct qtable *t, struct place at,
                                            uint64_t behind, struct block_run *out, bool marks,
                                            unsigned width) {
  unsigned i = at.quotient % 64;
  uint64_t occupied = block_word(t, at.block, WORD_OCCUPIED), is_occupied = occupied >> i & 1;
  uint64_t ours = bits_from_any(block_offset(at.block)),
           ends = block_word(t, at.block, WORD_END) & ours;
  uint64_t end = select_bit(ends, popcount(occupied & bits_below(i)));
  uint64_t run = (end | (end - 1)) & bits_from((64 - leading_zeros(ends & (end - 1))) & 63) & ours;
  run = run >> i & (0 - is_occupied);
  uint64_t marked = marks ? block_code(at.block) & marks_of_slots(run << i) : 0;
  if (UNLIKELY((is_occupied > end) | (run >> 32 | marked)))
    return marked ? ANSWER_MAYBE : ANSWER_ELSEWHERE;
  if (out) *out = (struct block_run){at.block, run << i, 64 - leading_zeros(run << i)};
  uint64_t equal = slots_equal_32(t, at.block, i, at.remainder, width) & run;
  if (!equal) return ANSWER_NO;
  if (UNLIKELY(t->extended)) return answer_of(t, at.block, equal << i, behind, width);
  return equal & heads_that_matter(t, at.block, at.remainder, width) >> i ? ANSWER_YES : ANSWER_NO;
}

ALWAYS_INLINE enum answer contains_place(const struct qtable *t, struct place at, uint64_t behind,
                                         bool marks, unsigned width) {
  enum answer answer = contains_in_block(t, at, behind, NULL, marks, width);
  return UNLIKELY(answer == ANSWER_ELSEWHERE) ? contains_elsewhere(t, at, marks) : answer;
}

ALWAYS_INLINE enum answer contains(const struct qtable *t, besom_digest d, bool marks,
                                   unsigned width) {
  return contains_place(t, place_of(t, d, width), behind_of(t, d, width), marks, width);
}

/*
 * The same when the block has been fetched: only the remainders of the run are loaded, when it is known where
 * it is, so that no needless line of cache is touched. With `marks` a marked slot of the run is a yes, too; with
 * `elsewhere` it is set if the run leaves the block.
 */
ALWAYS_INLINE bool may_contain_at(const struct qtable *t, struct place at, bool marks,
                                  bool *elsewhere, unsigned width) {
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
  uint32_t equal = slots_equal_in(t, at.block, start & 63, n & 31, at.remainder, width) &
                   (0 - (uint32_t)is_occupied);
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
  for (unsigned j = 0; j < width / 8; j++)
    __builtin_prefetch(bytes + 64 * j + at.quotient % 64 + 4);
  return at;
}

ALWAYS_INLINE void contains_many(const struct qtable *t, const besom_digest *d, size_t n,
                                 uint64_t *bitmap, bool marks, unsigned width) {
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

ALWAYS_INLINE struct place fetch_shared(const struct qtable *t, const struct region *regions,
                                        besom_digest d, unsigned width) {
  struct place at = fetch_place(t, d, width);
  __builtin_prefetch(&regions[at.quotient / REGION_SLOTS]);
  return at;
}

ALWAYS_INLINE void contains_many_shared(const struct qtable *t, struct region *regions,
                                        const besom_digest *d, size_t n, uint64_t *bitmap,
                                        uint64_t *unsure, unsigned width) {
  struct place ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++)
    ahead[i] = fetch_shared(t, regions, d[i], width);
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

#endif
