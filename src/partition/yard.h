/*
 * One bin of the backyard, a yard: 64 bytes. It is a header like that of a bin, with origins
 * instead of mini-quotients, and the values of its entries, mini_bits and the bits of a remainder
 * each, packed, sorted by origin and then by value. The bits after them are 0.
 */
#ifndef BESOM_PARTITION_YARD_H
#define BESOM_PARTITION_YARD_H

#include "partition/bin.h"

ALWAYS_INLINE unsigned yard_count(const uint8_t *yard) {
  return popcount(load64(yard));
}

/* Within the yard, whatever its header is: first <= end <= yard_slots. */
ALWAYS_INLINE struct slot_run yard_run(const uint8_t *yard, const struct bin_layout *l,
                                       unsigned origin) {
  struct slot_run run = run_of_header(load64(yard), origin);
  return (struct slot_run){run.first < l->yard_slots ? run.first : l->yard_slots,
                           run.end < l->yard_slots ? run.end : l->yard_slots};
}

ALWAYS_INLINE unsigned yard_entry_bits(const struct bin_layout *l) {
  return l->mini_bits + (unsigned)l->bits;
}

/* May read beyond the yard, but not beyond the table: bins of the front follow. */
ALWAYS_INLINE uint64_t yard_value(const uint8_t *yard, const struct bin_layout *l, unsigned slot) {
  unsigned bit = 64 + slot * yard_entry_bits(l);
  return load64(yard + bit / 8) >> bit % 8 & bits_below(yard_entry_bits(l));
}

/* ------------------------------------------------------------------ comparing */

/* Entries that were compared with a value: bit i is that of the first slot + i. */
struct yard_comparison {
  unsigned equal, smaller;
};

#if defined(__AVX2__)

/* Values that one vector holds: 8 lanes of 4 bytes, from 16 bytes. None if values are too long. */
ALWAYS_INLINE unsigned yard_lanes(const struct bin_layout *l) {
  unsigned bits = yard_entry_bits(l), most = (128 - 7) / bits;
  return bits + 14 > 32 ? 0 : most < 8 ? most : 8;
}

/* Of byte i of the lanes: which of the 16 bytes it is. Lane k begins with that of bit k * bits. */
ALWAYS_INLINE char yard_lane_byte(const struct bin_layout *l, unsigned i) {
  unsigned byte = i / 4 * yard_entry_bits(l) / 8 + i % 4;
  return (char)(byte < 16 ? byte : 15);
}

#define LANE_BYTES(l, i) \
  yard_lane_byte(l, i), yard_lane_byte(l, i + 1), yard_lane_byte(l, i + 2), yard_lane_byte(l, i + 3)
#define LANE_BYTES_16(l, i) \
  LANE_BYTES(l, i), LANE_BYTES(l, i + 4), LANE_BYTES(l, i + 8), LANE_BYTES(l, i + 12)
#define LANE_SHIFT(l, i) (int)(32 - yard_entry_bits(l) - i * yard_entry_bits(l) % 8)
#define LANE_SHIFTS_4(l, i) \
  LANE_SHIFT(l, i), LANE_SHIFT(l, (i + 1)), LANE_SHIFT(l, (i + 2)), LANE_SHIFT(l, (i + 3))

/* Compares yard_lanes(l) values from this slot on. May read beyond the yard, as yard_value. */
ALWAYS_INLINE struct yard_comparison yard_compare(const uint8_t *yard, const struct bin_layout *l,
                                                  unsigned slot, uint64_t value) {
  unsigned bits = yard_entry_bits(l), bit = 64 + slot * bits;
  __m256i x = _mm256_broadcastsi128_si256(load128_shared(yard + bit / 8)),
          bytes = _mm256_setr_epi8(LANE_BYTES_16(l, 0), LANE_BYTES_16(l, 16)),
          shifts = _mm256_setr_epi32(LANE_SHIFTS_4(l, 0), LANE_SHIFTS_4(l, 4)),
          wanted = _mm256_set1_epi32((int)value);
  shifts = _mm256_sub_epi32(shifts, _mm256_set1_epi32((int)(bit % 8)));
  x = _mm256_sllv_epi32(_mm256_shuffle_epi8(x, bytes), shifts);
  x = _mm256_srli_epi32(x, (int)(32 - bits));
  __m256 equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, wanted)),
         smaller = _mm256_castsi256_ps(_mm256_cmpgt_epi32(wanted, x));
  /* a last lane without a value has the bits of several entries */
  unsigned lanes = yard_lanes(l), valid = lanes < 8 ? (1u << lanes) - 1 : ~0u;
  return (struct yard_comparison){(unsigned)_mm256_movemask_ps(equal) & valid,
                                  (unsigned)_mm256_movemask_ps(smaller) & valid};
}

#else

ALWAYS_INLINE unsigned yard_lanes(const struct bin_layout *l) {
  (void)l;
  return 0;
}

ALWAYS_INLINE struct yard_comparison yard_compare(const uint8_t *yard, const struct bin_layout *l,
                                                  unsigned slot, uint64_t value) {
  (void)yard, (void)l, (void)slot, (void)value;
  return (struct yard_comparison){0, 0};
}

#endif

/* Whether one of the n entries from this bit on has the value; n may be more than a word has. */
ALWAYS_INLINE bool yard_word_has(const uint8_t *yard, const struct bin_layout *l, unsigned bit,
                                 unsigned n, uint64_t value) {
  unsigned bits = yard_entry_bits(l), lanes = (64 - 7) / bits;
  uint64_t ones = 0;
  for (unsigned i = 0; i < lanes; i++) ones |= UINT64_C(1) << i * bits;
  uint64_t others = bits_from((n < lanes ? n : lanes) * bits),
           x = (load64(yard + bit / 8) >> bit % 8 ^ value * ones) | others;
  return ((x - ones) & ~x & ones << (bits - 1)) != 0; /* a lane is 0 */
}

/* The same from a slot on, by words. No branch for the entries of two words. */
ALWAYS_INLINE bool yard_words_have(const uint8_t *yard, const struct bin_layout *l, unsigned slot,
                                   unsigned n, uint64_t value) {
  unsigned bits = yard_entry_bits(l), lanes = (64 - 7) / bits, bit = 64 + slot * bits;
  bool found = yard_word_has(yard, l, bit, n, value);
  bit = n > lanes ? bit + lanes * bits : bit;
  n = n > lanes ? n - lanes : n;
  found |= yard_word_has(yard, l, bit, n, value);
  for (; UNLIKELY(n > lanes) && bit < 8 * YARD_BYTES; n -= lanes) {
    bit += lanes * bits;
    found |= yard_word_has(yard, l, bit, n - lanes, value);
  }
  return found;
}

/*
 * Whether an entry of this origin has the value. No branch depends on the entries of most yards:
 * else every query that comes here would wait for the yard, and so would the queries after it.
 */
ALWAYS_INLINE bool yard_has(const uint8_t *yard, const struct bin_layout *l, unsigned origin,
                            uint64_t value) {
  struct slot_run run = run_of_header(load64(yard), origin);
  unsigned first = run.first < l->yard_slots ? run.first : l->yard_slots, n = run.end - first,
           lanes = yard_lanes(l);
  if (!lanes) return yard_words_have(yard, l, first, n, value);
  uint64_t found = yard_compare(yard, l, first, value).equal & ~bits_from_any(n);
  for (unsigned from = lanes; UNLIKELY(from < n) && first + from < l->yard_slots; from += lanes)
    found |= yard_compare(yard, l, first + from, value).equal & ~bits_from_any(n - from);
  return found != 0;
}

/* The slots of this origin from the first one on that has the value or a greater one. */
ALWAYS_INLINE struct slot_run yard_slots_from(const uint8_t *yard, const struct bin_layout *l,
                                              unsigned origin, uint64_t value) {
  struct slot_run run = yard_run(yard, l, origin);
  unsigned lanes = yard_lanes(l), smaller = lanes;
  while (lanes && smaller == lanes && run.first < run.end) {
    unsigned n = run.end - run.first < lanes ? run.end - run.first : lanes;
    smaller = popcount(yard_compare(yard, l, run.first, value).smaller & bits_below(n));
    run.first += smaller;
  }
  while (!lanes && run.first < run.end && yard_value(yard, l, run.first) < value) run.first++;
  return run;
}

/* How many entries of this origin have the value. */
ALWAYS_INLINE unsigned yard_matches(const uint8_t *yard, const struct bin_layout *l,
                                    unsigned origin, uint64_t value) {
  struct slot_run run = yard_slots_from(yard, l, origin, value);
  unsigned n = 0;
  while (run.first + n < run.end && yard_value(yard, l, run.first + n) == value) n++;
  return n;
}

/* ------------------------------------------------------------------ changing */

/* Adds a value to a yard that is not full. */
ALWAYS_INLINE void yard_insert(uint8_t *yard, const struct bin_layout *l, unsigned origin,
                               uint64_t value) {
  unsigned slot = yard_slots_from(yard, l, origin, value).first, bits = yard_entry_bits(l);
  line_insert_bits(yard, 64 + slot * bits, bits, value);
  store64(yard, header_with(load64(yard), slot + origin));
}

ALWAYS_INLINE void yard_remove(uint8_t *yard, const struct bin_layout *l, unsigned origin,
                               unsigned slot) {
  line_remove_bits(yard, 64 + slot * yard_entry_bits(l), yard_entry_bits(l));
  store64(yard, header_without(load64(yard), slot + origin));
}

#endif
