/*
 * Queries of one block of the quotient table: the run of a quotient, and whether it has a
 * remainder. Inline: table_ops.c and quotient_calls.c compile it per instruction set and width.
 */
#ifndef BESOM_QUOTIENT_BLOCK_SEARCH_H
#define BESOM_QUOTIENT_BLOCK_SEARCH_H

#include "core/hash.h"
#include "quotient/table/walk.h"

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

/*
 * Prefetches the words of a block, and the remainders where the run is expected. With `heads`, also
 * the head word, which exact answers need.
 */
ALWAYS_INLINE struct target target_prefetched(const struct qtable *t, besom_digest d, bool heads,
                                              unsigned width) {
  struct target at = target_of(t, d, width);
  const uint8_t *bytes = at.block + t->remainders_at + 8 * (width % 8);
  __builtin_prefetch(at.block);
  __builtin_prefetch(bytes - 1);
  for (unsigned j = 0; j < width / 8; j++)
    __builtin_prefetch(bytes + 64 * j + at.quotient % 64 + 4);
  if (heads) __builtin_prefetch(at.block + t->heads_at);
  return at;
}

/* ------------------------------------------------------------------ the run of a quotient */

/* A run that has more slots than this from the quotient's own on is looked up elsewhere. */
#define NEAR_SLOTS 31
#define FAR_SLOTS (~UINT64_C(0) << NEAR_SLOTS)

/*
 * The slots of quotient i's run, slot i is bit 0; 0 if there is no run. Some of FAR_SLOTS are set
 * if the run is too long or does not end before the last slot: shifting a negative number copies
 * its sign.
 *
 * Bit k of `starts` is where the run of the block's k-th occupied quotient begins, if the quotient
 * is not above it: the slot after the last of the run before. The last slot of the runs of earlier
 * blocks is slot offset-1, so that bit number 0 is the offset.
 *
 * Most runs lie in the block of their quotient and are short. To find them takes no branch: it
 * could be mispredicted, and would cost a wait for memory then.
 */
ALWAYS_INLINE uint64_t run_from_quotient(const struct qtable *t, const uint8_t *block, unsigned i) {
  uint64_t occupied = block_word(t, block, WORD_OCCUPIED), ends = block_word(t, block, WORD_END);
  uint64_t starts = (ends << 1 | 1) & bits_from_any(block_offset(block));
  uint64_t nth = (occupied >> i & 1) << bits_set_below(occupied, i);
  uint64_t start = bit_number(starts, nth), next = bit_after(starts, start, nth);
  return (uint64_t)((int64_t)(next - start - (start < nth)) >> i);
}

/* ------------------------------------------------------------------ fingerprints that match */

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
 * Whether the slots with the remainder, *matches, hold fingerprints of it: *matches become those.
 * MAYBE if one of them has several slots.
 */
ALWAYS_INLINE enum answer single_slots(const struct qtable *t, const uint8_t *block,
                                       uint64_t *matches) {
  if (t->further_slots) {
    uint64_t heads = block_heads(t, block), last = heads >> 1 | block_word(t, block, WORD_END);
    *matches &= heads;
    if (UNLIKELY(*matches & ~last)) return ANSWER_MAYBE;
  }
  return *matches ? ANSWER_YES : ANSWER_NO;
}

/* The fingerprints with one quotient and remainder, and their run. MAYBE: one has several slots. */
struct minirun {
  enum answer found;
  uint64_t count, last; /* last: the position of the last one */
  struct run run;
};

/* The same, of a run in any number of blocks. */
ALWAYS_INLINE struct minirun minirun_of_run(const struct qtable *t, struct run run,
                                            uint64_t remainder, unsigned width) {
  struct minirun m = {.run = run};
  for (uint64_t b = run.start / 64; 64 * b < run.end; b++) {
    const uint8_t *block = block_at(t, b);
    uint64_t matches = slots_equal(t, block, remainder, width) & run_in_block(run, b);
    enum answer found = single_slots(t, block, &matches);
    if (found == ANSWER_NO) continue;
    m.found = found;
    if (found == ANSWER_MAYBE) break;
    m.count += popcount(matches);
    m.last = 64 * b + 63 - leading_zeros(matches);
  }
  return m;
}

/*
 * Whether a key with this suffix matches a fingerprint, from the fingerprint's bit string
 * (fingerprint/multislot.h): all of it, the first bit uppermost, then zeros. MAYBE if it has a
 * count and an extension.
 */
ALWAYS_INLINE enum answer answer_of_extension(uint64_t string, uint64_t suffix) {
  uint64_t extension = string << 1, closing = extension & (0 - extension);
  if (UNLIKELY(string >> 63 || !closing)) return string >> 62 == 3 ? ANSWER_YES : ANSWER_MAYBE;
  return (extension ^ suffix) & ~(closing | (closing - 1)) ? ANSWER_NO : ANSWER_YES;
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
 * The answer of matches that are heads of several slots each. `last`: the slots that end a
 * fingerprint. Not inline: most matches have one slot.
 */
static __attribute__((noinline)) enum answer answer_of_multislot(const struct qtable *t,
                                                                 const uint8_t *block,
                                                                 uint64_t matches, uint64_t last,
                                                                 besom_digest d, unsigned width) {
  uint64_t suffix = suffix_of(t, d, width);
  enum answer answer = ANSWER_NO;
  for (; matches && answer == ANSWER_NO; matches &= matches - 1) {
    unsigned i = trailing_zeros(matches);
    answer = answer_of_long(t, block, i, i + trailing_zeros(last >> i), suffix, width);
  }
  return answer;
}

/*
 * The answer of the slots of a run that have the digest's remainder: of those that are heads
 * without a tag. YES if one of them is a fingerprint of one slot: a head follows, or the next run.
 * Else their further slots are compared with the digest. MAYBE if these are whole slots: then their
 * payload would not be a constant at any width.
 */
ALWAYS_INLINE enum answer answer_of(const struct qtable *t, const uint8_t *block, uint64_t matches,
                                    besom_digest d, unsigned width) {
  uint64_t heads = block_heads(t, block), last = heads >> 1 | block_word(t, block, WORD_END);
  matches &= heads & ~block_tags(t, block);
  if (LIKELY(matches & last)) return ANSWER_YES;
  if (!matches) return ANSWER_NO;
  if (has_whole_slots(t, width)) return ANSWER_MAYBE;
  return answer_of_multislot(t, block, matches, last, d, width);
}

#endif
