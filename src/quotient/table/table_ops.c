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

#include "quotient/aqf/concurrent/concurrent_calls.h"
#include "quotient/quotient_calls.h"
#include "quotient/table/block_insert.h"
#include "quotient/table/table_merge.h"
#include "quotient/table/table_regions.h"
#include "quotient/table/table_slots.h"

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

static uint64_t table_search(const struct qtable *t, uint64_t quotient, uint64_t remainder,
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

ALWAYS_INLINE uint64_t equal_in_run(const struct qtable *t, uint64_t from, uint64_t run_end,
                                    uint64_t remainder, unsigned width) {
  for (uint64_t b = from / 64; from < run_end && b <= (run_end - 1) / 64; b++) {
    uint64_t matches = matches_in_block(t, b, from, run_end, remainder, width);
    if (matches) return 64 * b + trailing_zeros(matches);
  }
  return run_end;
}

static uint64_t next_equal(const struct qtable *t, uint64_t from, uint64_t run_end,
                           uint64_t remainder) {
  return equal_in_run(t, from, run_end, remainder, WIDTH(t));
}

/* ------------------------------------------------------------------ single queries */

/* For runs that leave their block. Not inline: it would slow down the fast path. */
static __attribute__((noinline)) enum answer query_far(const struct qtable *t, struct target at,
                                                       besom_digest d) {
  unsigned width = WIDTH(t);
  struct run run = besom__find_run(t, at.quotient);
  enum answer answer = ANSWER_NO;
  for (uint64_t b = run.start / 64; answer == ANSWER_NO && 64 * b < run.end; b++) {
    uint64_t matches = matches_in_block(t, b, run.start, run.end, at.remainder, width);
    if (UNLIKELY(t->extended))
      answer = answer_of(t, block_at(t, b), matches, d, width);
    else if (matches)
      answer = ANSWER_YES;
  }
  return answer;
}

static enum answer contains_far(const struct qtable *t, besom_digest d) {
  return query_far(t, target_of(t, d, WIDTH(t)), d);
}

/* Tables that threads share have no slot metadata. */
ALWAYS_INLINE enum answer query_elsewhere(const struct qtable *t, struct target at, besom_digest d,
                                          bool flags) {
#ifndef BESOM_SHARED
  if (flags) return besom__contains_flagged_far(t, at.quotient, at.remainder);
#else
  (void)flags;
#endif
  return query_far(t, at, d);
}

/*
 * The answer of a block; ELSEWHERE if run_from_quotient does not find the run. The remainders near
 * the quotient's own slot are loaded together with the words. With `out`, tells where the run is.
 * With `flags`, the answer is MAYBE if a slot of the run may carry metadata.
 */
ALWAYS_INLINE enum answer query_block(const struct qtable *t, struct target at, besom_digest d,
                                      struct block_run *out, bool flags, unsigned width) {
  unsigned i = at.quotient % 64;
  uint64_t run = run_from_quotient(t, at.block, i);
  if (UNLIKELY(run & FAR_SLOTS)) return ANSWER_ELSEWHERE;
  if (flags && UNLIKELY(block_code(at.block) & flags_of_slots(run << i))) return ANSWER_MAYBE;
  if (out) *out = (struct block_run){at.block, run << i, 64 - leading_zeros(run << i)};
  uint64_t equal = slots_equal_32(t, at.block, i, at.remainder, width) & run;
  if (!equal) return ANSWER_NO;
  if (UNLIKELY(t->extended)) return answer_of(t, at.block, equal << i, d, width);
  return equal & heads_that_matter(t, at.block, at.remainder, width) >> i ? ANSWER_YES : ANSWER_NO;
}

ALWAYS_INLINE enum answer query(const struct qtable *t, struct target at, besom_digest d,
                                bool flags, unsigned width) {
  enum answer answer = query_block(t, at, d, NULL, flags, width);
  return UNLIKELY(answer == ANSWER_ELSEWHERE) ? query_elsewhere(t, at, d, flags) : answer;
}

static enum answer table_contains(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query(t, target_of(t, d, width), d, false, width);
}

/* ------------------------------------------------------------------ batches of queries */

/* More slots of a run are not compared in a batch, but one by one. */
#define BATCH_SLOTS 16

/* The slots of a run, the first one is bit 0. More than BATCH_SLOTS bits: look it up elsewhere. */
struct prefetched_run {
  unsigned first;
  uint64_t slots;
};

ALWAYS_INLINE struct prefetched_run run_prefetched(const struct qtable *t, struct target at) {
  uint64_t slots = run_from_quotient(t, at.block, at.quotient % 64);
  unsigned after = trailing_zeros(slots) & 63;
  return (struct prefetched_run){at.quotient % 64 + after, (uint64_t)((int64_t)slots >> after)};
}

/*
 * A query of a block that was prefetched: only the remainders of the run are loaded, after its
 * position is known, so that no needless cache line is touched. With `flags`, the answer is also
 * yes if a slot of the run may carry metadata. If the run leaves its block: sets *elsewhere, or if
 * that is NULL, looks it up.
 */
ALWAYS_INLINE bool query_prefetched(const struct qtable *t, struct target at, besom_digest d,
                                    bool flags, bool *elsewhere, unsigned width) {
  struct prefetched_run run = run_prefetched(t, at);
  if (UNLIKELY(run.slots >> BATCH_SLOTS))
    return elsewhere ? (*elsewhere = true) : query_elsewhere(t, at, d, flags) != ANSWER_NO;
  uint64_t equal = slots_equal_in(t, at.block, run.first, run.slots, at.remainder, width);
  if (flags) return (block_code(at.block) & flags_of_slots(run.slots << run.first)) | equal;
  return equal && equal & heads_that_matter(t, at.block, at.remainder, width) >> run.first;
}

/* ------------------------------------------------------------------ only shared tables */

#ifdef BESOM_SHARED

static enum answer contains_in_block(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query_block(t, target_of(t, d, width), d, NULL, false, width);
}

ALWAYS_INLINE struct target prefetch_shared(const struct qtable *t, const struct region *regions,
                                            besom_digest d, unsigned width) {
  struct target at = target_prefetched(t, d, false, width);
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
    bool elsewhere = false, answer = query_prefetched(t, at, d[i], false, &elsewhere, width);
    bitmap[i / 64] |= (uint64_t)answer << (i % 64);
    unsure[i / 64] |= (uint64_t)(elsewhere | !region_unchanged(region, version)) << (i % 64);
  }
}

/* ------------------------------------------------------------------ only unshared tables */

#else

static enum answer contains_flagged(const struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  return query(t, target_of(t, d, width), d, true, width);
}

static enum answer contains_at(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  struct target at = {block_at(t, quotient / 64), quotient, remainder};
  return query(t, at, (besom_digest){0, 0}, false, WIDTH(t));
}

static enum answer contains_run(const struct qtable *t, besom_digest d, struct block_run *run) {
  unsigned width = WIDTH(t);
  return query_block(t, target_of(t, d, width), d, run, false, width);
}

/* contains of a block that was prefetched; MAYBE if the run leaves its block. */
ALWAYS_INLINE enum answer answer_prefetched(const struct qtable *t, struct target at,
                                            besom_digest d, unsigned width) {
  struct prefetched_run run = run_prefetched(t, at);
  if (UNLIKELY(run.slots >> BATCH_SLOTS)) return query_far(t, at, d);
  uint64_t equal = slots_equal_in(t, at.block, run.first, run.slots, at.remainder, width);
  if (!equal) return ANSWER_NO;
  return answer_of(t, at.block, equal << run.first, d, width);
}

/*
 * A table of this many bytes is in the cache before its second batch: prefetching and the detour
 * around needless cache lines would only cost time.
 */
#define SMALL_TABLE (UINT64_C(1) << 18)

/* query_many, one by one. */
ALWAYS_INLINE void query_each(const struct qtable *t, const besom_digest *d, size_t n,
                              uint64_t *bitmap, uint64_t *unsure, bool flags, unsigned width) {
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0, maybes = 0;
    size_t some = n - i < 64 ? n - i : 64;
    for (size_t j = 0; j < some; j++) {
      enum answer answer = query(t, target_of(t, d[i + j], width), d[i + j], flags, width);
      answers |= (uint64_t)(unsure ? answer == ANSWER_YES : answer != ANSWER_NO) << j;
      maybes |= (uint64_t)(answer == ANSWER_MAYBE) << j;
    }
    bitmap[i / 64] = answers;
    if (unsure) unsure[i / 64] = maybes;
  }
}

/* With `unsure`: exact answers, or MAYBE. */
ALWAYS_INLINE void query_many(const struct qtable *t, const besom_digest *d, size_t n,
                              uint64_t *bitmap, uint64_t *unsure, bool flags, unsigned width) {
  if (t->room / 64 * t->stride <= SMALL_TABLE) {
    query_each(t, d, n, bitmap, unsure, flags, width);
    return;
  }
  struct target ahead[FETCH_AHEAD];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++)
    ahead[i] = target_prefetched(t, d[i], unsure, width);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0, maybes = 0;
    size_t some = n - i < 64 ? n - i : 64;
    for (size_t j = 0; j < some; j++) {
      struct target *next = &ahead[j % FETCH_AHEAD], at = *next;
      if (i + j + FETCH_AHEAD < n)
        *next = target_prefetched(t, d[i + j + FETCH_AHEAD], unsure, width);
      if (unsure) {
        enum answer answer = answer_prefetched(t, at, d[i + j], width);
        answers |= (uint64_t)(answer == ANSWER_YES) << j;
        maybes |= (uint64_t)(answer == ANSWER_MAYBE) << j;
      } else {
        answers |= (uint64_t)query_prefetched(t, at, d[i + j], flags, NULL, width) << j;
      }
    }
    bitmap[i / 64] = answers;
    if (unsure) unsure[i / 64] = maybes;
  }
}

static void table_contains_many(const struct qtable *t, const besom_digest *d, size_t n,
                                uint64_t *bitmap) {
  query_many(t, d, n, bitmap, NULL, false, WIDTH(t));
}

static void contains_many_exactly(const struct qtable *t, const besom_digest *d, size_t n,
                                  uint64_t *bitmap, uint64_t *unsure) {
  query_many(t, d, n, bitmap, unsure, false, WIDTH(t));
}

static void contains_flagged_many(const struct qtable *t, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  query_many(t, d, n, bitmap, NULL, true, WIDTH(t));
}

/* ------------------------------------------------------------------ values of a batch */

/* The slots of a key's run that have its remainder. */
struct equal_slots {
  uint64_t block, slots;
  enum answer answer; /* YES: there is one, and it can be read at once */
};

ALWAYS_INLINE uint64_t first_equal(const struct equal_slots *found) {
  return 64 * found->block + trailing_zeros(found->slots);
}

/* For runs that leave their block: all slots, if equal ones are in two blocks. */
static __attribute__((noinline)) uint64_t equal_far(const struct qtable *t, struct target at,
                                                    uint64_t *block) {
  struct run run = besom__find_run(t, at.quotient);
  uint64_t slots = 0;
  for (uint64_t b = run.start / 64; 64 * b < run.end; b++) {
    uint64_t here = matches_in_block(t, b, run.start, run.end, at.remainder, WIDTH(t));
    if (!here) continue;
    *block = b;
    slots = slots ? ~UINT64_C(0) : here;
  }
  return slots;
}

/* Prefetches the value, too. */
ALWAYS_INLINE struct equal_slots equal_prefetched(const struct qtable *t, struct target at,
                                                  unsigned width) {
  struct prefetched_run run = run_prefetched(t, at);
  struct equal_slots found = {.block = at.quotient / 64};
  if (UNLIKELY(run.slots >> BATCH_SLOTS))
    found.slots = equal_far(t, at, &found.block);
  else
    found.slots = slots_equal_in(t, at.block, run.first, run.slots, at.remainder, width)
                  << run.first;
  bool further = t->further_slots && is_like_further(at.remainder, width);
  bool one = !(found.slots & (found.slots - 1)) & !further & !t->extended & !has_tags(t);
  found.answer = !found.slots ? ANSWER_NO : one ? ANSWER_YES : ANSWER_MAYBE;
  unsigned shift;
  if (found.answer != ANSWER_NO) __builtin_prefetch(packed_word(t, first_equal(&found), &shift));
  return found;
}

static void values_many(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *values,
                        uint8_t *answers) {
  unsigned width = WIDTH(t);
  struct target ahead[FETCH_AHEAD];
  uint64_t found[VALUES_BATCH];
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++)
    ahead[i] = target_prefetched(t, d[i], false, width);
  for (size_t i = 0; i < n; i++) {
    struct target *next = &ahead[i % FETCH_AHEAD], at = *next;
    if (i + FETCH_AHEAD < n) *next = target_prefetched(t, d[i + FETCH_AHEAD], false, width);
    struct equal_slots equal = equal_prefetched(t, at, width);
    answers[i] = (uint8_t)equal.answer;
    found[i] = first_equal(&equal);
  }
  for (size_t i = 0; i < n; i++)
    if (answers[i] == ANSWER_YES) values[i] = slot_value(t, found[i]);
}

#endif

/* ------------------------------------------------------------------ inserts */

/* Where the next slot of a quotient's run goes, and what the run has. */
struct run_to_extend {
  uint64_t end; /* the position */
  bool has_slots, has_remainder;
};

ALWAYS_INLINE struct run_to_extend find_run_to_extend(const struct qtable *t, uint64_t quotient,
                                                      uint64_t remainder, unsigned width) {
  const uint8_t *block = block_at(t, quotient / 64);
  unsigned i = quotient % 64;
  struct insertion at = find_insertion(t, block, i);
  if (LIKELY(at.from))
    return (struct run_to_extend){(quotient & ~UINT64_C(63)) + trailing_zeros(at.from), at.has_run,
                                  slots_equal(t, block, remainder, width) & at.run << i};
  struct run run = besom__find_run(t, quotient);
  bool equal = equal_in_run(t, run.start, run.end, remainder, width) < run.end;
  return (struct run_to_extend){run.end, run.start < run.end, equal};
}

static besom_status table_insert_far(struct qtable *t, uint64_t quotient, uint64_t remainder,
                                     bool *present) {
  unsigned width = WIDTH(t);
  struct run_to_extend run = find_run_to_extend(t, quotient, remainder, width);
  if (present && run.has_remainder) {
    *present = true;
    return BESOM_OK;
  }
  uint64_t empty = first_empty_from(t, run.end, width);
  if (UNLIKELY(empty >= t->room)) return BESOM_FULL;
  set_bit(t, quotient, WORD_OCCUPIED, true);
  if (run.has_slots) set_bit(t, run.end - 1, WORD_END, false);
  put_slot(t, quotient, run.end, empty, (struct slot){1, 1, remainder, 0}, width);
  return BESOM_OK;
}

ALWAYS_INLINE besom_status table_insert_digest(struct qtable *t, besom_digest d, bool *present,
                                               unsigned width) {
  struct address a = address_of(d, t->slots);
  enum inserted done =
      LIKELY(t->has_heads) ? insert_in_block(t, a, present, width) : INSERT_ELSEWHERE;
  if (UNLIKELY(done == INSERT_ELSEWHERE))
    return t->ops->insert_far(t, a.quotient, remainder_of(a, width), present);
  t->used += done == INSERTED;
  if (UNLIKELY(done == INSERT_PRESENT)) *present = true;
  return BESOM_OK;
}

static besom_status table_insert(struct qtable *t, besom_digest d, bool *present) {
  return table_insert_digest(t, d, present, WIDTH(t));
}

/* ------------------------------------------------------------------ counts and removals */

/* For runs that leave their block. */
static __attribute__((noinline)) struct minirun find_minirun_far(const struct qtable *t,
                                                                 struct target at) {
  return minirun_of_run(t, besom__find_run(t, at.quotient), at.remainder, WIDTH(t));
}

ALWAYS_INLINE struct minirun find_minirun(const struct qtable *t, struct target at,
                                          unsigned width) {
  unsigned i = at.quotient % 64;
  uint64_t run = run_from_quotient(t, at.block, i), start = at.quotient & ~UINT64_C(63);
  if (UNLIKELY(run & FAR_SLOTS)) return find_minirun_far(t, at);
  uint64_t matches = (uint64_t)(slots_equal_32(t, at.block, i, at.remainder, width) & run) << i;
  run <<= i;
  enum answer found = single_slots(t, at.block, &matches);
  return (struct minirun){found,
                          popcount(matches),
                          start + 63 - leading_zeros(matches),
                          {start + trailing_zeros(run), start + 64 - leading_zeros(run)}};
}

static enum answer remove_last(struct qtable *t, besom_digest d) {
  unsigned width = WIDTH(t);
  struct target at = target_of(t, d, width);
  if (UNLIKELY(has_tags(t))) return ANSWER_MAYBE;
  struct minirun m = find_minirun(t, at, width);
  if (LIKELY(m.found == ANSWER_YES)) take_slot(t, at.quotient, m.run, m.last, width);
  return m.found;
}

static enum answer table_count(const struct qtable *t, besom_digest d, uint64_t *n) {
  unsigned width = WIDTH(t);
  if (UNLIKELY(has_tags(t))) return ANSWER_MAYBE;
  struct minirun m = find_minirun(t, target_of(t, d, width), width);
  *n = m.count;
  return m.found;
}

/* ------------------------------------------------------------------ batches of inserts */

#ifndef BESOM_SHARED

/* Prefetches a block and the next one: most inserts shift no further. */
ALWAYS_INLINE void table_prefetch_to_insert(const struct qtable *t, besom_digest d) {
  const uint8_t *block = block_at(t, approximate_quotient(d, t->slots) / 64),
                *end = block + 2 * t->stride;
  for (; block < end; block += 64) __builtin_prefetch(block, 1);
}

static besom_status table_insert_many(struct qtable *t, const besom_digest *d, size_t n,
                                      bool *present, size_t *done) {
  unsigned width = WIDTH(t);
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) table_prefetch_to_insert(t, d[i]);
  besom_status status = BESOM_OK;
  size_t i = 0;
  for (; i < n; i++) {
    if (i + FETCH_AHEAD < n) table_prefetch_to_insert(t, d[i + FETCH_AHEAD]);
    status = table_insert_digest(t, d[i], present, width);
    if (UNLIKELY(status != BESOM_OK || (present && *present))) break;
  }
  *done = i;
  return status;
}

static besom_status table_append(struct qtable_appender *appender, const besom_digest *d,
                                 size_t n) {
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

#define CALLS_NAME JOIN(JOIN(besom__quotient_calls, BESOM_ISA), BESOM_WIDTH)
#define CONCURRENT_CALLS_NAME JOIN(JOIN(besom__concurrent_calls, BESOM_ISA), BESOM_WIDTH)

extern const struct qtable_ops OPS_NAME, SHARED_OPS_NAME;
extern const struct quotient_calls CALLS_NAME;
extern const struct concurrent_calls CONCURRENT_CALLS_NAME;

const struct qtable_ops OPS_NAME = {
    .contains = table_contains,
    .contains_far = contains_far,
    .insert = NOT_IN_READER(table_insert),
    .insert_far = NOT_IN_READER(table_insert_far),
    .remove_last = NOT_IN_READER(remove_last),
    .count = table_count,
    .find = table_search,
    .next_equal = next_equal,
    .run_of = besom__find_run,
    .insert_slot = NOT_IN_READER(besom__insert_slot),
    .delete_slot = NOT_IN_READER(besom__delete_slot),
    .merge = NOT_IN_READER(besom__merge_tables),
    .shared = NOT_IN_READER(&SHARED_OPS_NAME),
#ifdef BESOM_SHARED
    .contains_in_block = contains_in_block,
    .contains_many_shared = contains_many_shared,
    .concurrent_calls = &CONCURRENT_CALLS_NAME,
#else
    .contains_many = NOT_IN_MODULE(table_contains_many),
    .contains_many_exactly = NOT_IN_MODULE(contains_many_exactly),
    .contains_run = contains_run,
    .contains_flagged = contains_flagged,
    .contains_flagged_many = NOT_IN_MODULE(contains_flagged_many),
    .contains_at = contains_at,
    .values_many = values_many,
    .insert_many = NOT_IN_READER(table_insert_many),
    .append = NOT_IN_READER(table_append),
    .calls = NOT_IN_READER(&CALLS_NAME),
#endif
};
