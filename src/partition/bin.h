/*
 * A bin of the front. Its header has a bit per entry, 1, and one per mini-quotient, 0, which ends
 * the entries of this mini-quotient; the bits after the last one are 0, so that zeroed memory is an
 * empty bin. Then the mark: entries of this bin are in the backyard. Then the remainders, in the
 * order of the entries: row k has byte k of each.
 *
 * A bin that is marked is full, and all its entries in the backyard are at least as large as those
 * here. (After a remove, the smallest one comes back.) So what a bin holds does not depend on the
 * order of inserts, and most queries look nowhere else.
 */
#ifndef BESOM_PARTITION_BIN_H
#define BESOM_PARTITION_BIN_H

#include "partition/pqf.h"

ALWAYS_INLINE uint8_t *bin_at(const struct pqf *p, const struct bin_layout *l, uint64_t bin) {
  return p->front + bin * l->bytes;
}

ALWAYS_INLINE void bin_prefetch(const struct pqf *p, const struct bin_layout *l, besom_digest d) {
  __builtin_prefetch(bin_at(p, l, scaled(d.hi, p->bins)));
}

/* ------------------------------------------------------------------ headers */

/* The bits of entries and mini-quotients, below the mark. */
ALWAYS_INLINE unsigned bin_mark_at(const struct bin_layout *l) {
  return l->slots + l->minis;
}

ALWAYS_INLINE unsigned bin_header_bytes(const struct bin_layout *l) {
  return bin_mark_at(l) / 8 + 1;
}

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
  uint64_t kept = bin_header_bytes(l) == 8 ? 0 : load64(bin) & bits_from(8 * bin_header_bytes(l));
  store64(bin, kept | header);
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

/* ------------------------------------------------------------------ rows */

/* 32 bytes of a bin that contain a row, which begins `before` bytes after their first one. */
struct row_window {
  unsigned at, before;
};

ALWAYS_INLINE struct row_window row_window_of(const struct bin_layout *l, unsigned row) {
  unsigned first = bin_header_bytes(l) + row * l->slots, last = (unsigned)l->bytes - 32,
           at = first < last ? first : last;
  return (struct row_window){at, first - at};
}

ALWAYS_INLINE uint8_t *bin_row(uint8_t *bin, const struct bin_layout *l, unsigned row) {
  return bin + bin_header_bytes(l) + row * l->slots;
}

ALWAYS_INLINE uint8_t byte_of_row(uint64_t remainder, unsigned row) {
  return (uint8_t)(remainder >> (8 * row));
}

/* Bit i: slot i has this remainder. Bits from l->slots on mean nothing. */
ALWAYS_INLINE uint32_t bin_slots_equal(const uint8_t *bin, const struct bin_layout *l,
                                       uint64_t remainder) {
  uint32_t equal = ~UINT32_C(0);
  for (unsigned row = 0; row < l->rows; row++) {
    struct row_window w = row_window_of(l, row);
    equal &= equal_bytes_32(bin + w.at, byte_of_row(remainder, row)) >> w.before;
  }
  return equal;
}

ALWAYS_INLINE uint64_t bin_remainder(const uint8_t *bin, const struct bin_layout *l,
                                     unsigned slot) {
  uint64_t remainder = 0;
  for (unsigned row = 0; row < l->rows; row++)
    remainder |= (uint64_t)bin[bin_header_bytes(l) + row * l->slots + slot] << (8 * row);
  return remainder;
}

#if defined(__AVX2__)

/* Whether row_insert and row_remove set the header. */
ALWAYS_INLINE bool rows_have_header(const struct bin_layout *l) {
  return row_window_of(l, 0).at == 0;
}

ALWAYS_INLINE __m256i numbers_of_32_bytes(void) {
  return _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                          21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}

/* Bit i: slot i has this remainder or a greater one. */
ALWAYS_INLINE uint32_t bin_slots_from(const uint8_t *bin, const struct bin_layout *l,
                                      uint64_t remainder) {
  uint32_t from = ~UINT32_C(0);
  for (unsigned row = 0; row < l->rows; row++) {
    struct row_window w = row_window_of(l, row);
    __m256i x = load256_shared(bin + w.at),
            byte = _mm256_set1_epi8((char)byte_of_row(remainder, row)),
            no_less = _mm256_cmpeq_epi8(_mm256_max_epu8(x, byte), x);
    uint32_t here = (uint32_t)_mm256_movemask_epi8(no_less) >> w.before;
    if (row) { /* greater, or equal and the rows before decide */
      __m256i equal = _mm256_cmpeq_epi8(x, byte);
      here &= ~((uint32_t)_mm256_movemask_epi8(equal) >> w.before) | from;
    }
    from = here;
  }
  return from;
}

/* Where a further entry goes, as a bit of the header. */
ALWAYS_INLINE unsigned bin_place_for(const uint8_t *bin, const struct bin_layout *l,
                                     uint64_t header, unsigned mini, uint64_t remainder) {
  uint64_t end = select_bit(~header, mini),
           from = _pdep_u64(bin_slots_from(bin, l, remainder), header);
  /* after the last smaller entry of the run, or else after the end of the run before */
  return 64 - leading_zeros(~from & (end - 1));
}

/* A row and the header are in one vector. */
ALWAYS_INLINE __m256i with_header(__m256i x, const struct bin_layout *l, uint64_t header) {
  __m256i rest = _mm256_setr_epi64x((long long)bits_from(8 * bin_header_bytes(l)), -1, -1, -1),
          word = _mm256_setr_epi64x((long long)header, 0, 0, 0);
  return _mm256_or_si256(_mm256_and_si256(x, rest), word);
}

/*
 * The bytes of a row from this slot on move up by one; the last one is lost. If the header is in
 * the same vector, it becomes this one: one write, so that what reads the bin next need not wait.
 */
ALWAYS_INLINE void row_insert(uint8_t *bin, const struct bin_layout *l, unsigned row, unsigned slot,
                              uint8_t byte, uint64_t header) {
  struct row_window w = row_window_of(l, row);
  __m256i number = numbers_of_32_bytes(), at = _mm256_set1_epi8((char)(slot + w.before)),
          x = load256_shared(bin + w.at), lower = _mm256_permute2x128_si256(x, x, 0x08),
          moved = _mm256_alignr_epi8(x, lower, 15), after = _mm256_cmpgt_epi8(number, at),
          end = _mm256_set1_epi8((char)(w.before + l->slots));
  if (w.before + l->slots < 32) after = _mm256_and_si256(after, _mm256_cmpgt_epi8(end, number));
  x = _mm256_blendv_epi8(x, moved, after);
  x = _mm256_blendv_epi8(x, _mm256_set1_epi8((char)byte), _mm256_cmpeq_epi8(number, at));
  store256_shared(bin + w.at, w.at ? x : with_header(x, l, header));
}

/* The bytes after this slot move down by one; the last one becomes 0. */
ALWAYS_INLINE void row_remove(uint8_t *bin, const struct bin_layout *l, unsigned row, unsigned slot,
                              uint64_t header) {
  struct row_window w = row_window_of(l, row);
  __m256i number = numbers_of_32_bytes(), before = _mm256_set1_epi8((char)(slot + w.before - 1)),
          end = _mm256_set1_epi8((char)(w.before + l->slots)), x = load256_shared(bin + w.at),
          upper = _mm256_permute2x128_si256(x, x, 0x81), moved = _mm256_alignr_epi8(upper, x, 1),
          from = _mm256_cmpgt_epi8(number, before);
  if (w.before + l->slots < 32) {
    from = _mm256_and_si256(from, _mm256_cmpgt_epi8(end, number));
    moved = _mm256_and_si256(
        moved, _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(w.before + l->slots - 1)), number));
  }
  x = _mm256_blendv_epi8(x, moved, from);
  store256_shared(bin + w.at, w.at ? x : with_header(x, l, header));
}

#else

ALWAYS_INLINE bool rows_have_header(const struct bin_layout *l) {
  (void)l;
  return false;
}

ALWAYS_INLINE unsigned bin_place_for(const uint8_t *bin, const struct bin_layout *l,
                                     uint64_t header, unsigned mini, uint64_t remainder) {
  struct slot_run run = run_of_header(header, mini);
  while (run.first < run.end && bin_remainder(bin, l, run.first) < remainder) run.first++;
  return run.first + mini;
}

ALWAYS_INLINE void row_insert(uint8_t *bin, const struct bin_layout *l, unsigned row, unsigned slot,
                              uint8_t byte, uint64_t header) {
  (void)header;
  uint8_t *at = bin_row(bin, l, row) + slot;
  memmove(at + 1, at, l->slots - 1 - slot);
  *at = byte;
}

ALWAYS_INLINE void row_remove(uint8_t *bin, const struct bin_layout *l, unsigned row, unsigned slot,
                              uint64_t header) {
  (void)header;
  uint8_t *at = bin_row(bin, l, row) + slot;
  memmove(at, at + 1, l->slots - 1 - slot);
  at[l->slots - 1 - slot] = 0;
}

#endif

/* ------------------------------------------------------------------ entries */

/* The value of the last entry of a full bin. */
ALWAYS_INLINE uint64_t bin_last(const uint8_t *bin, const struct bin_layout *l) {
  unsigned last = l->slots - 1, mini = 63 - leading_zeros(bin_entries(bin, l)) - last;
  return (uint64_t)mini << (8 * l->rows) | bin_remainder(bin, l, last);
}

/* The slots of the run that have this remainder: bit 0 is its first one. */
ALWAYS_INLINE uint32_t bin_matches(const uint8_t *bin, const struct bin_layout *l,
                                   struct slot_run run, uint64_t remainder) {
  return bin_slots_equal(bin, l, remainder) >> run.first % 32 &
         (uint32_t)bits_below((run.end - run.first) % 64);
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
  for (unsigned row = 0; row < l->rows; row++)
    row_insert(bin, l, row, at - mini, byte_of_row(remainder, row), header);
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
  unsigned slot = l->slots - 1u, mini = (unsigned)(value >> (8 * l->rows));
  for (unsigned row = 0; row < l->rows; row++) bin_row(bin, l, row)[slot] = byte_of_row(value, row);
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
  uint32_t matches = bin_matches(bin, l, run, remainder);
  return matches ? run.first + mini + trailing_zeros(matches) : NO_ENTRY;
#endif
}

/* Takes the entry with this bit of the header out. The mark is removed. */
ALWAYS_INLINE void bin_remove(uint8_t *bin, const struct bin_layout *l, unsigned at,
                              unsigned mini) {
  uint64_t header = header_without(bin_entries(bin, l), at);
  for (unsigned row = 0; row < l->rows; row++) row_remove(bin, l, row, at - mini, header);
  if (!rows_have_header(l)) bin_set_header(bin, l, header);
}

#endif
