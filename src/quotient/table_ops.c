/*
 * Queries and inserts of the quotient table.
 *
 * CMake compiles this file several times: once for each instruction set (BESOM_ISA) and, for AVX2
 * and AVX-512, once more for each of the most used widths (BESOM_WIDTH). Without BESOM_WIDTH the
 * width is the table's. table_ops_shared.c compiles all of it again for tables that several threads
 * share. Each object exports one symbol, its operations: besom__qtable_ops_portable_any,
 * besom__qtable_ops_avx2_8, besom__qtable_ops_shared_avx2_8 and so on.
 */
#ifndef BESOM_SHARED
#define UNSHARED 1 /* core/relaxed.h */
#endif

#include "core/address.h"
#include "quotient/multislot.h"
#include "quotient/slot_shift.h"
#include "quotient/table_regions.h"
#include "quotient/table_slots.h"

#ifndef BESOM_WIDTH
#define BESOM_WIDTH any
#define WIDTH(t) ((t)->width)
#else
#define WIDTH(t) ((void)(t), (unsigned)BESOM_WIDTH)
#endif

#define FETCH_AHEAD 32 /* keys of a batch whose blocks are prefetched; a divisor of 64 */

/* ------------------------------------------------------------------ remainders of a run */

/* The slots of block b that hold a fingerprint with this remainder, in positions from .. to-1. */
ALWAYS_INLINE uint64_t matches_in_block(const struct qtable *t, uint64_t b, uint64_t from,
                                        uint64_t to, uint64_t remainder, unsigned width) {
  const uint8_t *block = block_at(t, b);
  uint64_t wanted = ~UINT64_C(0);
  if (from > 64 * b) wanted &= bits_from(from - 64 * b);
  if (to < 64 * b + 64) wanted &= bits_below(to - 64 * b);
  if (t->further_slots) wanted &= block_heads(t, block);
  return slots_equal(t, block, remainder, width) & wanted;
}

static uint64_t find(const struct qtable *t, uint64_t quotient, uint64_t remainder,
                     uint64_t *last) {
  unsigned width = WIDTH(t);
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

static uint64_t next_equal(const struct qtable *t, uint64_t from, uint64_t run_end,
                           uint64_t remainder) {
  unsigned width = WIDTH(t);
  for (uint64_t b = from / 64; from < run_end && b <= (run_end - 1) / 64; b++) {
    uint64_t matches = matches_in_block(t, b, from, run_end, remainder, width);
    if (matches) return 64 * b + trailing_zeros(matches);
  }
  return run_end;
}

/* ------------------------------------------------------------------ single queries */

/* Where a query looks, and for what. */
struct target {
  const uint8_t *block;
  uint64_t quotient, remainder;
};

ALWAYS_INLINE struct target target_of(const struct qtable *t, besom_digest d, unsigned width) {
  struct address a = address_of(d, t->slots);
  return (struct target){block_at(t, a.quotient / 64), a.quotient, remainder_of(a, width)};
}

/* The 64 bits of the digest that follow the remainder. */
ALWAYS_INLINE uint64_t suffix_of(const struct qtable *t, besom_digest d, unsigned width) {
  return bits_after_remainder(address_of(d, t->slots), width);
}

/* For runs that leave their block. Not inline: it would slow down the fast path. */
static __attribute__((noinline)) enum answer contains_far(const struct qtable *t, uint64_t quotient,
                                                          uint64_t remainder) {
  uint64_t last;
  if (!t->ops->find(t, quotient, remainder, &last)) return ANSWER_NO;
  return t->extended ? ANSWER_MAYBE : ANSWER_YES;
}

ALWAYS_INLINE enum answer contains_elsewhere(const struct qtable *t, struct target at, bool flags) {
  return (flags ? besom__contains_flagged_far : contains_far)(t, at.quotient, at.remainder);
}

/*
 * The heads of a block, as far as they matter to slots that are equal to a remainder: they do if a
 * further slot could be equal. The word is mostly in another cache line, so it is read only then.
 * That cannot be predicted, so there is no branch.
 */
ALWAYS_INLINE uint64_t heads_that_matter(const struct qtable *t, const uint8_t *block,
                                         uint64_t remainder, unsigned width) {
  bool matter = (t->further_slots != 0) & is_like_further(remainder, width);
  uint64_t heads = load64_shared(block + (t->heads_at & (0 - (unsigned)matter)));
  return heads | (matter - UINT64_C(1));
}

/*
 * The answer of the fingerprint in slots i .. last of a block; MAYBE if its further slots are in
 * the next block or do not fit into a word.
 */
ALWAYS_INLINE enum answer answer_of_long(const struct qtable *t, const uint8_t *block, unsigned i,
                                         unsigned last, uint64_t suffix, unsigned width) {
  unsigned payload = further_payload(width), bits = (last - i) * payload;
  uint64_t string = 0;
  if (UNLIKELY(last >= BLOCK_SLOTS || bits > 64)) return ANSWER_MAYBE;
  while (i++ < last)
    string = string << payload | (slot_remainder(t, block, i, width) & bits_below(payload));
  return answer_of_extension(string << (64 - bits), suffix);
}

/*
 * The answer of the matches that are heads without a tag. YES if one of them is a fingerprint of
 * one slot: a head follows, or the next run. Else their further slots are compared with the suffix.
 * Queries for fixed false positives end here, so it must be fast.
 */
ALWAYS_INLINE enum answer answer_of(const struct qtable *t, const uint8_t *block, uint64_t matches,
                                    uint64_t suffix, unsigned width) {
  uint64_t heads = block_heads(t, block), last = heads >> 1 | block_word(t, block, WORD_END);
  matches &= heads & ~block_tags(t, block);
  if (matches & last) return ANSWER_YES;
  enum answer answer = ANSWER_NO;
  for (; matches && answer == ANSWER_NO; matches &= matches - 1) {
    unsigned i = trailing_zeros(matches);
    answer = answer_of_long(t, block, i, i + trailing_zeros(last >> i), suffix, width);
  }
  return answer;
}

/*
 * Most runs lie in the block of their quotient and are short. Then the answer takes no branch that
 * could be mispredicted; each such branch would cost a wait for memory. The run ends at the n-th
 * run end, n = runs before it; it starts after the run end before that, and not before the quotient
 * or the offset.
 *
 * The remainders near the quotient's own slot are loaded together with the words. With `out`, tells
 * where the run is. With `flags`, the answer is MAYBE if a slot of the run may carry metadata.
 */
ALWAYS_INLINE enum answer query_block(const struct qtable *t, struct target at, uint64_t suffix,
                                      struct block_run *out, bool flags, unsigned width) {
  unsigned i = at.quotient % 64;
  uint64_t occupied = block_word(t, at.block, WORD_OCCUPIED), is_occupied = occupied >> i & 1;
  uint64_t ours = bits_from_any(block_offset(at.block)),
           ends = block_word(t, at.block, WORD_END) & ours;
  uint64_t end = select_bit(ends, popcount(occupied & bits_below(i)));
  uint64_t run = (end | (end - 1)) & bits_from((64 - leading_zeros(ends & (end - 1))) & 63) & ours;
  run = run >> i & (0 - is_occupied);
  uint64_t flagged = flags ? block_code(at.block) & flags_of_slots(run << i) : 0;
  if (UNLIKELY((is_occupied > end) | (run >> 32 | flagged)))
    return flagged ? ANSWER_MAYBE : ANSWER_ELSEWHERE;
  if (out) *out = (struct block_run){at.block, run << i, 64 - leading_zeros(run << i)};
  uint64_t equal = slots_equal_32(t, at.block, i, at.remainder, width) & run;
  if (!equal) return ANSWER_NO;
  if (UNLIKELY(t->extended)) return answer_of(t, at.block, equal << i, suffix, width);
  return equal & heads_that_matter(t, at.block, at.remainder, width) >> i ? ANSWER_YES : ANSWER_NO;
}

ALWAYS_INLINE enum answer query(const struct qtable *t, struct target at, uint64_t suffix,
                                bool flags, unsigned width) {
  enum answer answer = query_block(t, at, suffix, NULL, flags, width);
  return UNLIKELY(answer == ANSWER_ELSEWHERE) ? contains_elsewhere(t, at, flags) : answer;
}

static enum answer contains(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query(t, target_of(t, d, width), suffix_of(t, d, width), false, width);
}

/* ------------------------------------------------------------------ batches of queries */

/*
 * A query of a block that was prefetched: only the remainders of the run are loaded, after its
 * position is known, so that no needless cache line is touched. With `flags`, the answer is also
 * yes if a slot of the run may carry metadata. If the run leaves its block: sets *elsewhere, or if
 * that is NULL, looks it up.
 */
ALWAYS_INLINE bool query_prefetched(const struct qtable *t, struct target at, bool flags,
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
    return elsewhere ? (*elsewhere = true) : contains_elsewhere(t, at, flags) != ANSWER_NO;
  uint32_t equal = slots_equal_in(t, at.block, start & 63, n & 31, at.remainder, width) &
                   (0 - (uint32_t)is_occupied);
  if (flags) {
    uint64_t run = bits_below(n & 31) << (start & 63) & (0 - is_occupied);
    return (block_code(at.block) & flags_of_slots(run)) | equal;
  }
  return equal && equal & heads_that_matter(t, at.block, at.remainder, width) >> (start & 63);
}

/* Prefetches the words of a block, and the remainders where the run is expected. */
ALWAYS_INLINE struct target prefetch(const struct qtable *t, besom_digest d, unsigned width) {
  struct target at = target_of(t, d, width);
  const uint8_t *bytes = at.block + t->remainders_at + 8 * (width % 8);
  __builtin_prefetch(at.block);
  __builtin_prefetch(bytes - 1);
  for (unsigned j = 0; j < width / 8; j++)
    __builtin_prefetch(bytes + 64 * j + at.quotient % 64 + 4);
  return at;
}

/* ------------------------------------------------------------------ only shared tables */

#ifdef BESOM_SHARED

static enum answer contains_in_block(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query_block(t, target_of(t, d, width), suffix_of(t, d, width), NULL, false, width);
}

ALWAYS_INLINE struct target prefetch_shared(const struct qtable *t, const struct region *regions,
                                            besom_digest d, unsigned width) {
  struct target at = prefetch(t, d, width);
  __builtin_prefetch(&regions[at.quotient / REGION_SLOTS]);
  return at;
}

static void contains_many_shared(const struct qtable *t, struct region *regions,
                                 const besom_digest *d, size_t n, uint64_t *bitmap,
                                 uint64_t *unsure) {
  unsigned width = WIDTH(t);
  struct target ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++)
    ahead[i] = prefetch_shared(t, regions, d[i], width);
  for (size_t i = 0; i < n; i++) {
    struct target *next = &ahead[i % FETCH_AHEAD], at = *next;
    if (i + FETCH_AHEAD < n) *next = prefetch_shared(t, regions, d[i + FETCH_AHEAD], width);
    if (i % 64 == 0) bitmap[i / 64] = unsure[i / 64] = 0;
    struct region *region = &regions[at.quotient / REGION_SLOTS];
    uint64_t version = region_version(region);
    bool elsewhere = false, answer = query_prefetched(t, at, false, &elsewhere, width);
    bitmap[i / 64] |= (uint64_t)answer << (i % 64);
    unsure[i / 64] |= (uint64_t)(elsewhere | !region_unchanged(region, version)) << (i % 64);
  }
}

/* ------------------------------------------------------------------ only unshared tables */

#else

static enum answer contains_flagged(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query(t, target_of(t, d, width), suffix_of(t, d, width), true, width);
}

static enum answer contains_at(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  struct target at = {block_at(t, quotient / 64), quotient, remainder};
  return query(t, at, 0, false, WIDTH(t));
}

static enum answer contains_run(const struct qtable *t, besom_digest d, struct block_run *run) {
  unsigned width = WIDTH(t);
  return query_block(t, target_of(t, d, width), suffix_of(t, d, width), run, false, width);
}

ALWAYS_INLINE void query_many(const struct qtable *t, const besom_digest *d, size_t n,
                              uint64_t *bitmap, bool flags, unsigned width) {
  struct target ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) ahead[i] = prefetch(t, d[i], width);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0;
    size_t some = n - i < 64 ? n - i : 64;
    for (size_t j = 0; j < some; j++) {
      struct target *next = &ahead[j % FETCH_AHEAD], at = *next;
      if (i + j + FETCH_AHEAD < n) *next = prefetch(t, d[i + j + FETCH_AHEAD], width);
      answers |= (uint64_t)query_prefetched(t, at, flags, NULL, width) << j;
    }
    bitmap[i / 64] = answers;
  }
}

static void contains_many(const struct qtable *t, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  query_many(t, d, n, bitmap, false, WIDTH(t));
}

static void contains_flagged_many(const struct qtable *t, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  query_many(t, d, n, bitmap, true, WIDTH(t));
}

#endif

/* ------------------------------------------------------------------ inserts */

/*
 * Where a run that ends in the block of its quotient ends, or would begin; BLOCK_SLOTS if it does
 * not end there. As in query_block, no branch. *run: the run's slots from the quotient's own on, as
 * bits from 0.
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
  if (UNLIKELY(end >= BLOCK_SLOTS || run >> 32)) return contains_far(t, quotient, remainder);
  return (slots_equal_32(t, block_at(t, quotient / 64), quotient % 64, remainder, width) & run) !=
         0;
}

ALWAYS_INLINE besom_status insert_digest(struct qtable *t, besom_digest d, bool *present,
                                         unsigned width) {
  struct address a = address_of(d, t->slots);
  uint8_t *block = block_at(t, a.quotient / 64);
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), bit = UINT64_C(1) << (a.quotient % 64);
  bool has_run = occupied & bit;
  uint64_t run_slots;
  unsigned end = run_end_in_block(t, block, a.quotient % 64, &run_slots);
  if (present && run_has(t, a.quotient, end, run_slots, remainder_of(a, width), width)) {
    *present = true;
    return BESOM_OK;
  }
  uint64_t position = (a.quotient & ~UINT64_C(63)) + end;
  if (UNLIKELY(end >= BLOCK_SLOTS)) position = besom__find_run(t, a.quotient).end;
  uint64_t empty = first_empty_from(t, position, width), old_last = position - has_run;
  if (UNLIKELY(empty >= t->room)) return BESOM_FULL;
  uint8_t *old_block = block_at(t, old_last / 64);
  uint64_t ends = block_word(t, old_block, WORD_END);
  set_block_word(t, old_block, WORD_END, ends & ~((uint64_t)has_run << (old_last % 64)));
  set_block_word(t, block, WORD_OCCUPIED, occupied | bit);
  put_slot(t, a.quotient, position, empty, (struct slot){1, 1, remainder_of(a, width), 0}, width);
  return BESOM_OK;
}

static besom_status insert(struct qtable *t, besom_digest d, bool *present) {
  return insert_digest(t, d, present, WIDTH(t));
}

#ifndef BESOM_SHARED

/* Prefetches a block and the next one: most inserts shift no further. */
ALWAYS_INLINE void prefetch_to_insert(const struct qtable *t, besom_digest d) {
  const uint8_t *block = block_at(t, approximate_quotient(d, t->slots) / 64),
                *end = block + 2 * t->stride;
  for (; block < end; block += 64) __builtin_prefetch(block, 1);
}

static besom_status insert_many(struct qtable *t, const besom_digest *d, size_t n, bool *present,
                                size_t *done) {
  unsigned width = WIDTH(t);
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) prefetch_to_insert(t, d[i]);
  besom_status status = BESOM_OK;
  size_t i = 0;
  for (; i < n; i++) {
    if (i + FETCH_AHEAD < n) prefetch_to_insert(t, d[i + FETCH_AHEAD]);
    status = insert_digest(t, d[i], present, width);
    if (UNLIKELY(status != BESOM_OK || (present && *present))) break;
  }
  *done = i;
  return status;
}

static besom_status append(struct qtable_appender *appender, const besom_digest *d, size_t n) {
  unsigned width = WIDTH(&appender->table);
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

/* ------------------------------------------------------------------ the exported symbol */

#define OPS_NAME JOIN(JOIN(besom__qtable_ops, VARIANT), BESOM_WIDTH)
#define SHARED_OPS_NAME JOIN(JOIN(besom__qtable_ops_shared, BESOM_ISA), BESOM_WIDTH)

extern const struct qtable_ops OPS_NAME, SHARED_OPS_NAME;

const struct qtable_ops OPS_NAME = {
    .contains = contains,
    .insert = insert,
    .find = find,
    .next_equal = next_equal,
    .run_of = besom__find_run,
    .insert_slot = besom__insert_slot,
    .delete_slot = besom__delete_slot,
    .merge = besom__merge_tables,
    .shared = &SHARED_OPS_NAME,
#ifdef BESOM_SHARED
    .contains_in_block = contains_in_block,
    .contains_many_shared = contains_many_shared,
#else
    .contains_many = contains_many,
    .contains_run = contains_run,
    .contains_flagged = contains_flagged,
    .contains_flagged_many = contains_flagged_many,
    .contains_at = contains_at,
    .insert_many = insert_many,
    .append = append,
#endif
};
