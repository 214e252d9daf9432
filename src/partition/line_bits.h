/* Bits of a line of 64 bytes: making room for some of them, and taking some out. */
#ifndef BESOM_PARTITION_LINE_BITS_H
#define BESOM_PARTITION_LINE_BITS_H

#include "core/bits.h"
#include "core/relaxed.h"

enum { BIN_LINE_BYTES = 64 };

#if defined(__AVX2__)

/* The first bits of the words of a half of a line. */
ALWAYS_INLINE __m256i half_begin(unsigned half) {
  return half ? _mm256_setr_epi64x(256, 320, 384, 448) : _mm256_setr_epi64x(0, 64, 128, 192);
}

/* The bits of a half from this one of the line on. */
ALWAYS_INLINE __m256i half_bits_from(unsigned half, unsigned bit) {
  __m256i at = _mm256_set1_epi64x(bit), all = _mm256_set1_epi8(-1);
  /* a word that begins later: 0 bits are before */
  return _mm256_sllv_epi64(all, _mm256_subs_epu16(at, half_begin(half)));
}

/* A value at this bit: it may be in two words. */
ALWAYS_INLINE __m256i half_with(unsigned half, unsigned bit, uint64_t value) {
  __m256i at = _mm256_set1_epi64x(bit), begin = half_begin(half),
          x = _mm256_set1_epi64x((long long)value);
  return _mm256_or_si256(_mm256_sllv_epi64(x, _mm256_sub_epi64(at, begin)),
                         _mm256_srlv_epi64(x, _mm256_sub_epi64(begin, at)));
}

/* The words of x, moved up by some bits; below them are the last bits of `before`. */
ALWAYS_INLINE __m256i half_moved_up(__m256i x, __m256i before, unsigned bits) {
  return _mm256_or_si256(_mm256_slli_epi64(x, (int)bits),
                         _mm256_srli_epi64(before, (int)(64 - bits)));
}

ALWAYS_INLINE __m256i half_moved_down(__m256i x, __m256i after, unsigned bits) {
  return _mm256_or_si256(_mm256_srli_epi64(x, (int)bits),
                         _mm256_slli_epi64(after, (int)(64 - bits)));
}

/* The bits `from` of y, the others of x. */
ALWAYS_INLINE __m256i half_joined(__m256i x, __m256i y, __m256i from) {
  return _mm256_or_si256(_mm256_andnot_si256(from, x), _mm256_and_si256(from, y));
}

/* Makes room for `bits` bits, 1 to 63, at this one, and sets them. The last ones are lost. */
ALWAYS_INLINE void line_insert_bits(uint8_t *line, unsigned bit, unsigned bits, uint64_t value) {
  __m256i from[2] = {half_bits_from(0, bit), half_bits_from(1, bit)},
          x[2] = {load256_shared(line), load256_shared(line + 32)},
          upper[2] = {_mm256_and_si256(x[0], from[0]), _mm256_and_si256(x[1], from[1])},
          middle = _mm256_permute2x128_si256(upper[0], upper[1], 0x21),
          /* the words before; no bit of the first one is moved */
      before[2] = {_mm256_permute4x64_epi64(upper[0], 0x90),
                   _mm256_alignr_epi8(upper[1], middle, 8)};
  for (unsigned i = 0; i < 2; i++) {
    __m256i moved = half_moved_up(upper[i], before[i], bits);
    x[i] = _mm256_or_si256(_mm256_andnot_si256(from[i], x[i]), moved);
    store256_shared(line + 32 * i, _mm256_or_si256(x[i], half_with(i, bit, value)));
  }
}

/* Takes `bits` bits from this one on out. The last ones become 0. */
ALWAYS_INLINE void line_remove_bits(uint8_t *line, unsigned bit, unsigned bits) {
  __m256i x[2] = {load256_shared(line), load256_shared(line + 32)},
          middle = _mm256_permute2x128_si256(x[0], x[1], 0x21),
          last = _mm256_permute2x128_si256(x[1], x[1], 0x81),
          after[2] = {_mm256_alignr_epi8(middle, x[0], 8), _mm256_alignr_epi8(last, x[1], 8)};
  for (unsigned i = 0; i < 2; i++) {
    __m256i moved = half_moved_down(x[i], after[i], bits);
    store256_shared(line + 32 * i, half_joined(x[i], moved, half_bits_from(i, bit)));
  }
}

#else

/* Makes room for `bits` bits, 1 to 63, at this one, and sets them. The last ones are lost. */
ALWAYS_INLINE void line_insert_bits(uint8_t *line, unsigned bit, unsigned bits, uint64_t value) {
  unsigned word = bit / 64, within = bit % 64;
  uint8_t *at = line + 8 * (size_t)word;
  uint64_t x = load64(at), upper = x & bits_from(within);
  for (unsigned i = BIN_LINE_BYTES / 8 - 1; i > word + 1; i--)
    store64(line + 8 * (size_t)i,
            load64(line + 8 * (size_t)i) << bits | load64(line + 8 * (size_t)i - 8) >> (64 - bits));
  if (word + 1 < BIN_LINE_BYTES / 8)
    store64(at + 8, load64(at + 8) << bits | upper >> (64 - bits) |
                        (within + bits > 64 ? value >> (64 - within) : 0));
  store64(at, (x ^ upper) | upper << bits | value << within);
}

/* Takes `bits` bits from this one on out. The last ones become 0. */
ALWAYS_INLINE void line_remove_bits(uint8_t *line, unsigned bit, unsigned bits) {
  unsigned word = bit / 64;
  uint64_t kept = bits_below(bit % 64);
  for (unsigned i = word; i < BIN_LINE_BYTES / 8; i++, kept = 0) {
    uint8_t *at = line + 8 * (size_t)i;
    uint64_t x = load64(at), next = i + 1 < BIN_LINE_BYTES / 8 ? load64(at + 8) : 0;
    store64(at, (x & kept) | ((x >> bits | next << (64 - bits)) & ~kept));
  }
}

#endif

#endif
