/*
 * A bin of the front. Its header has a bit per entry, 1, and one per mini-quotient, 0, which ends
 * the entries of this mini-quotient; the bits after the last one are 0, so that zeroed memory is an
 * empty bin. Then the mark: entries of this bin are in the backyard. Then the remainders, in the
 * order of the entries (rows.h).
 *
 * A bin that is marked is full, and all its entries in the backyard are at least as large as those
 * here. (After a remove, the smallest one comes back.) So what a bin holds does not depend on the
 * order of inserts, and most queries look nowhere else.
 */
#ifndef BESOM_PARTITION_BIN_H
#define BESOM_PARTITION_BIN_H

#include "partition/rows.h"

ALWAYS_INLINE uint8_t *bin_at(const struct pqf *p, const struct bin_layout *l, uint64_t bin) {
  return p->front + bin * l->bytes;
}

ALWAYS_INLINE void bin_prefetch(const struct pqf *p, const struct bin_layout *l, besom_digest d) {
  __builtin_prefetch(bin_at(p, l, scaled(d.hi, p->bins)));
}

/* ------------------------------------------------------------------ headers */

ALWAYS_INLINE uint64_t bin_entries(const uint8_t *bin, const struct bin_layout *l) {
  return load64(bin) & bits_below(bin_mark_at(l));
}

ALWAYS_INLINE bool bin_is_marked(const uint8_t *bin, const struct bin_layout *l) {
  return load64(bin) >> bin_mark_at(l) & 1;
}

ALWAYS_INLINE uint64_t bin_header_of(const struct bin_layout *l, uint64_t entries, bool marked) {
  return entries | (uint64_t)marked << bin_mark_at(l);
}

/* A header of 7 bytes is in one word with the first remainder. */
ALWAYS_INLINE void bin_set_header(uint8_t *bin, const struct bin_layout *l, uint64_t header) {
  store64(bin, (load64(bin) & bits_behind_header(l)) | header);
}

/*
 * The slots first .. end-1 are those of the mini-quotient of this number. Also for the headers of
 * the backyard, with origins instead of mini-quotients. In a damaged header they may be any
 * numbers.
 */
struct slot_run {
  unsigned first, end;
};

ALWAYS_INLINE struct slot_run run_of_header(uint64_t header, unsigned number) {
  uint64_t ends = ~header, end = select_bit(ends, number);
  return (struct slot_run){64 - leading_zeros(ends & (end - 1)) - number,
                           trailing_zeros(end) - number};
}

/* The header with an entry more before this bit, and with that of this bit less. */
ALWAYS_INLINE uint64_t header_with(uint64_t header, unsigned at) {
#if defined(__BMI2__)
  uint64_t below = _bzhi_u64(header, at);
#else
  uint64_t below = header & bits_below(at);
#endif
  return (2 * header - below) | UINT64_C(1) << at; /* the bits from there on are doubled */
}

ALWAYS_INLINE uint64_t header_without(uint64_t header, unsigned at) {
#if defined(__BMI2__)
  return _pext_u64(header, ~(UINT64_C(1) << at));
#endif
  uint64_t below = bits_below(at);
  return (header & below) | (header >> 1 & ~below);
}

/* ------------------------------------------------------------------ entries */

/* Where a further entry goes, as a bit of the header. */
ALWAYS_INLINE unsigned bin_place_for(const uint8_t *bin, const struct bin_layout *l,
                                     uint64_t header, unsigned mini, uint64_t remainder) {
#if defined(__AVX2__)
  uint64_t end = select_bit(~header, mini),
           from = _pdep_u64(bin_slots_from(bin, l, remainder), header);
  /* after the last smaller entry of the run, or else after the end of the run before */
  return 64 - leading_zeros(~from & (end - 1));
#else
  struct slot_run run = run_of_header(header, mini);
  while (run.first < run.end && bin_remainder(bin, l, run.first) < remainder) run.first++;
  return run.first + mini;
#endif
}

/* The value of the last entry of a full bin. */
ALWAYS_INLINE uint64_t bin_last(const uint8_t *bin, const struct bin_layout *l) {
  unsigned last = l->slots - 1, mini = 63 - leading_zeros(bin_entries(bin, l)) - last;
  return (uint64_t)mini << l->bits | bin_remainder(bin, l, last);
}

/* The slots of the run that have this remainder: bit 0 is its first one. */
ALWAYS_INLINE uint64_t bin_matches(const uint8_t *bin, const struct bin_layout *l,
                                   struct slot_run run, uint64_t remainder) {
  return bin_slots_equal(bin, l, remainder) >> run.first % 64 &
         bits_below((run.end - run.first) % 64);
}

/* Whether the slots from this one on have the remainder as often as there may be copies. */
ALWAYS_INLINE bool bin_has_all_copies(const uint8_t *bin, const struct bin_layout *l,
                                      uint64_t header, unsigned slot, unsigned mini,
                                      uint64_t remainder) {
  _Static_assert(PQF_MAX_COPIES == 16, "bits of the type below");
  uint16_t entries = (uint16_t)(header >> (slot + mini) % 64);
  return UNLIKELY(entries == UINT16_MAX) &&
         bin_remainder(bin, l, slot + PQF_MAX_COPIES - 1) == remainder;
}

/* The header of these entries with one more, before this bit. Its remainder is the one given. */
ALWAYS_INLINE void bin_insert_at(uint8_t *bin, const struct bin_layout *l, uint64_t entries,
                                 unsigned at, unsigned mini, uint64_t remainder, bool marked) {
  uint64_t header = bin_header_of(l, header_with(entries, at), marked);
  rows_insert(bin, l, at - mini, remainder, header);
  if (!rows_have_header(l)) bin_set_header(bin, l, header);
}

/* Adds an entry to a bin that is not full. False: it has all copies of it that there may be. */
ALWAYS_INLINE bool bin_insert(uint8_t *bin, const struct bin_layout *l, unsigned mini,
                              uint64_t remainder) {
  uint64_t entries = bin_entries(bin, l);
  unsigned at = bin_place_for(bin, l, entries, mini, remainder);
  if (bin_has_all_copies(bin, l, entries, at - mini, mini, remainder)) return false;
  bin_insert_at(bin, l, entries, at, mini, remainder, false);
  return true;
}

/* Adds the entry that becomes the last one of a bin with one empty slot. */
ALWAYS_INLINE void bin_fill(uint8_t *bin, const struct bin_layout *l, uint64_t value, bool marked) {
  unsigned slot = l->slots - 1u, mini = (unsigned)(value >> l->bits);
  bin_set_remainder(bin, l, slot, value);
  uint64_t entries = bin_entries(bin, l) | UINT64_C(1) << (slot + mini) % 64;
  bin_set_header(bin, l, bin_header_of(l, entries, marked));
}

/* The bit of the header of an entry with this remainder; NO_ENTRY if there is none. */
enum { NO_ENTRY = 64 };

ALWAYS_INLINE unsigned bin_find(const uint8_t *bin, const struct bin_layout *l, uint64_t header,
                                unsigned mini, uint64_t remainder) {
#if defined(__BMI2__)
  uint64_t below = select_bit(~header, mini) - 1,
           equal = _pdep_u64(bin_slots_equal(bin, l, remainder), header) & below;
  /* the last one, if it is after the end of the run before */
  return equal > (~header & below) ? 63 - leading_zeros(equal) : NO_ENTRY;
#else
  struct slot_run run = run_of_header(header, mini);
  uint64_t matches = bin_matches(bin, l, run, remainder);
  return matches ? run.first + mini + trailing_zeros(matches) : NO_ENTRY;
#endif
}

/* Takes the entry with this bit of the header out. The mark is removed. */
ALWAYS_INLINE void bin_remove(uint8_t *bin, const struct bin_layout *l, unsigned at,
                              unsigned mini) {
  uint64_t header = header_without(bin_entries(bin, l), at);
  rows_remove(bin, l, at - mini, header);
  if (!rows_have_header(l)) bin_set_header(bin, l, header);
}

#endif
