/*
 * The remainders of a bin, behind its header. Row k has byte k of each, in the order of the
 * entries. If a layout has 4 bits more, the bin has 64 bytes and one row of bytes, and its last
 * bits are a row of half bytes: the upper 4 bits of each remainder.
 */
#ifndef BESOM_PARTITION_ROWS_H
#define BESOM_PARTITION_ROWS_H

#include "partition/line_bits.h"
#include "partition/pqf.h"

/* The bits of entries and mini-quotients, below the mark. */
ALWAYS_INLINE unsigned bin_mark_at(const struct bin_layout *l) {
  return l->slots + l->minis;
}

ALWAYS_INLINE unsigned bin_header_bytes(const struct bin_layout *l) {
  return bin_mark_at(l) / 8 + 1;
}

/* The bits of the first word behind the header. */
ALWAYS_INLINE uint64_t bits_behind_header(const struct bin_layout *l) {
  return bin_header_bytes(l) == 8 ? 0 : bits_from(8 * bin_header_bytes(l));
}

ALWAYS_INLINE unsigned byte_rows(const struct bin_layout *l) {
  return l->bits / 8;
}

ALWAYS_INLINE bool has_half_bytes(const struct bin_layout *l) {
  return l->bits % 8 != 0;
}

/* ------------------------------------------------------------------ one remainder */

ALWAYS_INLINE uint8_t *bin_row(uint8_t *bin, const struct bin_layout *l, unsigned row) {
  return bin + bin_header_bytes(l) + row * l->slots;
}

ALWAYS_INLINE uint8_t byte_of_row(uint64_t remainder, unsigned row) {
  return (uint8_t)(remainder >> (8 * row));
}

/* Of a remainder that is in range. */
ALWAYS_INLINE uint8_t half_byte_of(const struct bin_layout *l, uint64_t remainder) {
  return byte_of_row(remainder, byte_rows(l));
}

/* The bit of the bin at which the half byte of a slot begins. */
ALWAYS_INLINE unsigned half_byte_at(const struct bin_layout *l, unsigned slot) {
  return 8u * l->bytes - 4u * (l->slots - slot);
}

ALWAYS_INLINE uint64_t bin_remainder(const uint8_t *bin, const struct bin_layout *l,
                                     unsigned slot) {
  uint64_t remainder = 0;
  for (unsigned row = 0; row < byte_rows(l); row++)
    remainder |= (uint64_t)bin[bin_header_bytes(l) + row * l->slots + slot] << (8 * row);
  if (has_half_bytes(l)) {
    unsigned at = half_byte_at(l, slot);
    remainder |= (uint64_t)(bin[at / 8] >> at % 8 & 15) << (8 * byte_rows(l));
  }
  return remainder;
}

/* Sets that of an empty slot. */
ALWAYS_INLINE void bin_set_remainder(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                                     uint64_t remainder) {
  for (unsigned row = 0; row < byte_rows(l); row++)
    bin_row(bin, l, row)[slot] = byte_of_row(remainder, row);
  if (has_half_bytes(l)) {
    unsigned at = half_byte_at(l, slot);
    bin[at / 8] |= (uint8_t)((half_byte_of(l, remainder) & 15) << at % 8);
  }
}

/* ------------------------------------------------------------------ comparing */

/* 32 bytes of a bin that contain a row, which begins `before` bytes after their first one. */
struct row_window {
  unsigned at, before;
};

ALWAYS_INLINE struct row_window row_window_of(const struct bin_layout *l, unsigned row) {
  unsigned first = bin_header_bytes(l) + row * l->slots, last = (unsigned)l->bytes - 32,
           at = first < last ? first : last;
  return (struct row_window){at, first - at};
}

/* A row of more than 32 bytes has these behind the last ones. */
ALWAYS_INLINE unsigned row_rest(const struct bin_layout *l) {
  return l->slots > 32 ? l->slots - 32u : 0;
}

ALWAYS_INLINE uint64_t row_slots_equal(const uint8_t *bin, const struct bin_layout *l, unsigned row,
                                       uint8_t byte) {
  struct row_window w = row_window_of(l, row);
  uint64_t equal = equal_bytes_32(bin + w.at, byte) >> w.before;
  if (row_rest(l)) equal |= (uint64_t)equal_bytes_32(bin + w.at + row_rest(l), byte) << row_rest(l);
  return equal;
}

#if defined(__AVX2__)

/* Comparisons of the half bytes in the last 32 bytes of a bin, of even and of odd ones, by slot. */
ALWAYS_INLINE uint64_t half_byte_slots(const struct bin_layout *l, __m256i even, __m256i odd) {
  uint64_t bits = _pdep_u64((uint32_t)_mm256_movemask_epi8(even), BYTE_ONES * 0x55) +
                  2 * _pdep_u64((uint32_t)_mm256_movemask_epi8(odd), BYTE_ONES * 0x55);
  return bits >> (64 - l->slots);
}

ALWAYS_INLINE __m256i even_half_bytes(const uint8_t *bin, const struct bin_layout *l) {
  return _mm256_and_si256(load256_shared(bin + l->bytes - 32), _mm256_set1_epi8(0x0f));
}

ALWAYS_INLINE __m256i odd_half_bytes(const uint8_t *bin, const struct bin_layout *l) {
  return _mm256_andnot_si256(_mm256_set1_epi8(0x0f), load256_shared(bin + l->bytes - 32));
}

/* Of the slots whose bytes are equal, those whose half bytes are, too. */
ALWAYS_INLINE uint64_t half_bytes_equal(const uint8_t *bin, const struct bin_layout *l,
                                        uint64_t equal, uint8_t half) {
  __m256i even = _mm256_set1_epi8((char)half), odd = _mm256_slli_epi16(even, 4);
  return equal & half_byte_slots(l, _mm256_cmpeq_epi8(even_half_bytes(bin, l), even),
                                 _mm256_cmpeq_epi8(odd_half_bytes(bin, l), odd));
}

#else

/* The same: few bytes are equal by chance. */
ALWAYS_INLINE uint64_t half_bytes_equal(const uint8_t *bin, const struct bin_layout *l,
                                        uint64_t equal, uint8_t half) {
  equal &= bits_below(l->slots);
  for (uint64_t left = equal; left; left &= left - 1) {
    unsigned at = half_byte_at(l, trailing_zeros(left));
    if ((bin[at / 8] >> at % 8 & 15) != half) equal &= ~(left & -left);
  }
  return equal;
}

#endif

/* Bit i: slot i has this remainder. Bits from l->slots on mean nothing. */
ALWAYS_INLINE uint64_t bin_slots_equal(const uint8_t *bin, const struct bin_layout *l,
                                       uint64_t remainder) {
  uint64_t equal = ~UINT64_C(0);
  for (unsigned row = 0; row < byte_rows(l); row++)
    equal &= row_slots_equal(bin, l, row, byte_of_row(remainder, row));
  return has_half_bytes(l) ? half_bytes_equal(bin, l, equal, half_byte_of(l, remainder)) : equal;
}

/* ------------------------------------------------------------------ changing */

#if defined(__AVX2__)

/* Whether rows_insert and rows_remove set the header. */
ALWAYS_INLINE bool rows_have_header(const struct bin_layout *l) {
  return row_window_of(l, 0).at == 0 || has_half_bytes(l);
}

ALWAYS_INLINE __m256i numbers_of_32_bytes(void) {
  return _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                          21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}

/* Bytes that are no less than this one, as bits. */
ALWAYS_INLINE uint32_t bytes_from(__m256i x, __m256i byte) {
  return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(x, byte), x));
}

ALWAYS_INLINE uint64_t row_slots_from(const uint8_t *bin, const struct bin_layout *l, unsigned row,
                                      uint8_t byte) {
  struct row_window w = row_window_of(l, row);
  __m256i bytes = _mm256_set1_epi8((char)byte);
  uint64_t from = bytes_from(load256_shared(bin + w.at), bytes) >> w.before;
  if (row_rest(l))
    from |= (uint64_t)bytes_from(load256_shared(bin + w.at + row_rest(l)), bytes) << row_rest(l);
  return from;
}

/* Of the bits `from` of lower rows: the same with the half bytes. */
ALWAYS_INLINE uint64_t half_bytes_from(const uint8_t *bin, const struct bin_layout *l,
                                       uint64_t from, uint8_t half) {
  __m256i even = _mm256_set1_epi8((char)half), odd = _mm256_slli_epi16(even, 4),
          x = even_half_bytes(bin, l), y = odd_half_bytes(bin, l);
  uint64_t no_less = half_byte_slots(l, _mm256_cmpeq_epi8(_mm256_max_epu8(x, even), x),
                                     _mm256_cmpeq_epi8(_mm256_max_epu8(y, odd), y));
  return no_less & (~half_bytes_equal(bin, l, ~UINT64_C(0), half) | from);
}

/* Bit i: slot i has this remainder or a greater one. */
ALWAYS_INLINE uint64_t bin_slots_from(const uint8_t *bin, const struct bin_layout *l,
                                      uint64_t remainder) {
  uint64_t from = ~UINT64_C(0);
  for (unsigned row = 0; row < byte_rows(l); row++) {
    uint8_t byte = byte_of_row(remainder, row);
    uint64_t here = row_slots_from(bin, l, row, byte);
    /* greater, or equal and the rows before decide */
    if (row) here &= ~row_slots_equal(bin, l, row, byte) | from;
    from = here;
  }
  return has_half_bytes(l) ? half_bytes_from(bin, l, from, half_byte_of(l, remainder)) : from;
}

/* A row and the header are in one vector. */
ALWAYS_INLINE __m256i with_header(__m256i x, const struct bin_layout *l, uint64_t header) {
  __m256i rest = _mm256_setr_epi64x((long long)bits_behind_header(l), -1, -1, -1),
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

/*
 * The same for a bin of two vectors: the header, a row of bytes that goes on in the second vector,
 * and the row of half bytes. The first byte of the row is byte 8 of the bin.
 */
ALWAYS_INLINE void long_rows_insert(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                                    uint64_t remainder, uint64_t header) {
  __m256i number = numbers_of_32_bytes(), byte = _mm256_set1_epi8((char)remainder),
          at = _mm256_set1_epi8((char)(8 + slot)), at_second = _mm256_set1_epi8((char)(slot - 24)),
          end = _mm256_set1_epi8((char)(l->slots - 24)), x = load256_shared(bin),
          y = load256_shared(bin + 32), lower = _mm256_permute2x128_si256(x, x, 0x08),
          middle = _mm256_permute2x128_si256(x, y, 0x21),
          after = _mm256_and_si256(_mm256_cmpgt_epi8(number, at_second),
                                   _mm256_cmpgt_epi8(end, number)),
          from = half_bits_from(1, half_byte_at(l, slot)), half;
  x = _mm256_blendv_epi8(x, _mm256_alignr_epi8(x, lower, 15), _mm256_cmpgt_epi8(number, at));
  x = _mm256_blendv_epi8(x, byte, _mm256_cmpeq_epi8(number, at));
  y = _mm256_blendv_epi8(y, _mm256_alignr_epi8(y, middle, 15), after);
  y = _mm256_blendv_epi8(y, byte, _mm256_cmpeq_epi8(number, at_second));
  half = _mm256_and_si256(y, from); /* nothing in its first word */
  half = half_moved_up(half, _mm256_permute4x64_epi64(half, 0x90), 4);
  half = _mm256_or_si256(half, half_with(1, half_byte_at(l, slot), half_byte_of(l, remainder)));
  store256_shared(bin, with_header(x, l, header));
  store256_shared(bin + 32, _mm256_or_si256(_mm256_andnot_si256(from, y), half));
}

ALWAYS_INLINE void long_rows_remove(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                                    uint64_t header) {
  __m256i number = numbers_of_32_bytes(), before = _mm256_set1_epi8((char)(7 + slot)),
          before_second = _mm256_set1_epi8((char)(slot - 25)),
          end = _mm256_set1_epi8((char)(l->slots - 24)),
          last = _mm256_set1_epi8((char)(l->slots - 25)), x = load256_shared(bin),
          y = load256_shared(bin + 32), middle = _mm256_permute2x128_si256(x, y, 0x21),
          upper = _mm256_permute2x128_si256(y, y, 0x81),
          from = _mm256_and_si256(_mm256_cmpgt_epi8(number, before_second),
                                  _mm256_cmpgt_epi8(end, number)),
          moved =
              _mm256_and_si256(_mm256_alignr_epi8(upper, y, 1), _mm256_cmpgt_epi8(last, number)),
          half = half_moved_down(y, _mm256_alignr_epi8(upper, y, 8), 4);
  x = _mm256_blendv_epi8(x, _mm256_alignr_epi8(middle, x, 1), _mm256_cmpgt_epi8(number, before));
  y = _mm256_blendv_epi8(y, moved, from);
  store256_shared(bin, with_header(x, l, header));
  store256_shared(bin + 32, half_joined(y, half, half_bits_from(1, half_byte_at(l, slot))));
}

/* Adds a remainder at this slot. The last one is lost. */
ALWAYS_INLINE void rows_insert(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                               uint64_t remainder, uint64_t header) {
  if (has_half_bytes(l)) {
    long_rows_insert(bin, l, slot, remainder, header);
    return;
  }
  for (unsigned row = 0; row < byte_rows(l); row++)
    row_insert(bin, l, row, slot, byte_of_row(remainder, row), header);
}

/* Takes that of this slot out. The last slot becomes 0. */
ALWAYS_INLINE void rows_remove(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                               uint64_t header) {
  if (has_half_bytes(l)) {
    long_rows_remove(bin, l, slot, header);
    return;
  }
  for (unsigned row = 0; row < byte_rows(l); row++) row_remove(bin, l, row, slot, header);
}

#else

ALWAYS_INLINE bool rows_have_header(const struct bin_layout *l) {
  (void)l;
  return false;
}

/* Adds a remainder at this slot. The last one is lost. */
ALWAYS_INLINE void rows_insert(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                               uint64_t remainder, uint64_t header) {
  (void)header;
  for (unsigned row = 0; row < byte_rows(l); row++) {
    uint8_t *at = bin_row(bin, l, row) + slot;
    memmove(at + 1, at, l->slots - 1 - slot);
    *at = byte_of_row(remainder, row);
  }
  if (has_half_bytes(l))
    line_insert_bits(bin, half_byte_at(l, slot), 4, half_byte_of(l, remainder));
}

/* Takes that of this slot out. The last slot becomes 0. */
ALWAYS_INLINE void rows_remove(uint8_t *bin, const struct bin_layout *l, unsigned slot,
                               uint64_t header) {
  (void)header;
  for (unsigned row = 0; row < byte_rows(l); row++) {
    uint8_t *at = bin_row(bin, l, row) + slot;
    memmove(at, at + 1, l->slots - 1 - slot);
    at[l->slots - 1 - slot] = 0;
  }
  if (has_half_bytes(l)) line_remove_bits(bin, half_byte_at(l, slot), 4);
}

#endif

#endif
