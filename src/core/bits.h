/*
 * Words of bits: masks, rank and select; rows of 64 bytes.
 *
 * Everything is inline. The compiler flags of the including file select the instructions, so a
 * source that is compiled once per instruction set (cpu.h) needs no second version of its
 * algorithms. Without flags the portable code is used, with NEON on AArch64 where it saves much
 * (docs/platforms.md). Tests compare each version with naive loops.
 */
#ifndef BESOM_CORE_BITS_H
#define BESOM_CORE_BITS_H

#include <stdbool.h>

#if defined(__BMI2__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "core/relaxed.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define BYTE_ONES UINT64_C(0x0101010101010101)
#define BYTE_TOPS UINT64_C(0x8080808080808080)

/*
 * The finalizer of SplitMix64 (Steele, Lea, Flood 2014): each bit of the input changes each bit of
 * the output with probability 1/2.
 */
ALWAYS_INLINE uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

ALWAYS_INLINE unsigned popcount(uint64_t x) {
  return (unsigned)__builtin_popcountll(x);
}

/* Trailing and leading zeros; 64 for 0. */
ALWAYS_INLINE unsigned trailing_zeros(uint64_t x) {
#ifdef __BMI__
  return (unsigned)_tzcnt_u64(x); /* the form below is a branch that is often mispredicted */
#else
  return x ? (unsigned)__builtin_ctzll(x) : 64;
#endif
}

ALWAYS_INLINE unsigned leading_zeros(uint64_t x) {
#ifdef __LZCNT__
  return (unsigned)_lzcnt_u64(x);
#else
  return x ? (unsigned)__builtin_clzll(x) : 64;
#endif
}

/* Bits 0 .. n-1 and n .. 63, for n in 0 .. 63. */
ALWAYS_INLINE uint64_t bits_below(unsigned n) {
  return (UINT64_C(1) << n) - 1;
}

ALWAYS_INLINE uint64_t bits_from(unsigned n) {
  return ~UINT64_C(0) << n;
}

/* bits_from for n up to 255; 0 from 64 on. */
ALWAYS_INLINE uint64_t bits_from_any(unsigned n) {
#ifdef __BMI2__
  return ~_bzhi_u64(~UINT64_C(0), n);
#else
  return n < 64 ? bits_from(n) : 0;
#endif
}

/* Bits lo .. hi, inclusive, for lo <= hi <= 63. */
ALWAYS_INLINE uint64_t bits_between(unsigned lo, unsigned hi) {
  return bits_from(lo) & (~UINT64_C(0) >> (63 - hi));
}

/* The k-th set bit of x (from 0) as a mask; 0 if x has k set bits or fewer. k in 0 .. 63. */
ALWAYS_INLINE uint64_t select_bit(uint64_t x, unsigned k) {
#ifdef __BMI2__
  return _pdep_u64(UINT64_C(1) << k, x);
#else
  /* Prefix sums of the bits of each byte, then one popcount of the bytes whose sum is <= k. */
  uint64_t sums = x - ((x >> 1) & UINT64_C(0x5555555555555555));
  sums = (sums & UINT64_C(0x3333333333333333)) + ((sums >> 2) & UINT64_C(0x3333333333333333));
  sums = ((sums + (sums >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * BYTE_ONES;
  if (k >= sums >> 56) return 0;
  unsigned byte = popcount(((k * BYTE_ONES | BYTE_TOPS) - sums) & BYTE_TOPS) * 8;
  k -= (unsigned)((sums << 8) >> byte) & 0xff;
  /* The same for the bits of that byte, each in a byte of its own: no branch depends on them. */
  uint64_t bits = (x >> byte & 0xff) * BYTE_ONES & UINT64_C(0x8040201008040201);
  sums = ((bits + ~BYTE_TOPS) >> 7 & BYTE_ONES) * BYTE_ONES;
  return UINT64_C(1) << (byte + popcount(((k * BYTE_ONES | BYTE_TOPS) - sums) & BYTE_TOPS));
#endif
}

/* The lowest n set bits of x (n in 0 .. 64), or all of them if x has fewer. */
ALWAYS_INLINE uint64_t first_bits(uint64_t x, unsigned n) {
#ifdef __BMI2__
  return _pdep_u64(_bzhi_u64(~UINT64_C(0), n), x);
#else
  if (n == 0) return 0;
  uint64_t last = select_bit(x, n - 1);
  return last ? x & (last | (last - 1)) : x;
#endif
}

/* The number of set bits of x below bit i. */
ALWAYS_INLINE unsigned bits_set_below(uint64_t x, unsigned i) {
#ifdef __BMI2__
  return popcount(_bzhi_u64(x, i)); /* gcc 12 makes two instructions of the form below */
#else
  return popcount(x & bits_below(i));
#endif
}

/* For `nth` with one bit k: the k-th set bit of x (from 0), 0 if there is none. 0 if nth is 0. */
ALWAYS_INLINE uint64_t bit_number(uint64_t x, uint64_t nth) {
#ifdef __BMI2__
  return _pdep_u64(nth, x);
#else
  return nth ? select_bit(x, trailing_zeros(nth)) : 0;
#endif
}

/* The set bit of x after `bit`, which is bit_number(x, nth); 0 if there is none. */
ALWAYS_INLINE uint64_t bit_after(uint64_t x, uint64_t bit, uint64_t nth) {
#ifdef __BMI2__
  (void)bit;
  return _pdep_u64(nth << 1, x);
#else
  uint64_t above = x & (0 - bit) & ~bit;
  (void)nth;
  return above & (0 - above);
#endif
}

/* ------------------------------------------------------------------ rows of 64 bytes, relaxed.h */

#if defined(NEON_ROWS)

/*
 * NEON has no instruction that gathers one bit per byte. A byte that is equal becomes its bit of a
 * mask of 8; three rounds of adding neighbours make the masks.
 */
ALWAYS_INLINE uint8x16_t equal_as_bits(const uint8_t *at, uint8_t byte) {
  const uint8x16_t bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return vandq_u8(vceqq_u8(load128_shared(at), vdupq_n_u8(byte)), bits);
}

#endif

/* Bit i of the result: is byte i of the 16 bytes at `at` equal to this one? */
ALWAYS_INLINE uint32_t equal_bytes_16(const uint8_t *at, uint8_t byte) {
#if defined(__AVX2__)
  __m128i equal = _mm_cmpeq_epi8(load128_shared(at), _mm_set1_epi8((char)byte));
  return (uint32_t)_mm_movemask_epi8(equal);
#elif defined(__wasm_simd128__)
  return (uint32_t)wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(at), wasm_i8x16_splat(byte)));
#elif defined(NEON_ROWS)
  uint8x16_t x = equal_as_bits(at, byte);
  for (unsigned round = 0; round < 3; round++) x = vpaddq_u8(x, x);
  return vgetq_lane_u16(vreinterpretq_u16_u8(x), 0);
#else
  uint32_t result = 0;
  for (unsigned i = 0; i < 2; i++) {
    uint64_t x = load64_shared(at + 8 * i) ^ byte * BYTE_ONES;
    /* The top bit of each byte that is 0. */
    uint64_t zero = ~(((x & ~BYTE_TOPS) + ~BYTE_TOPS) | x) & BYTE_TOPS;
    result |= (uint32_t)((zero >> 7) * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
  }
  return result;
#endif
}

/* The same for 32 bytes. */
ALWAYS_INLINE uint32_t equal_bytes_32(const uint8_t *at, uint8_t byte) {
#if defined(__AVX2__)
  __m256i equal = _mm256_cmpeq_epi8(load256_shared(at), _mm256_set1_epi8((char)byte));
  return (uint32_t)_mm256_movemask_epi8(equal);
#elif defined(NEON_ROWS)
  uint8x16_t x = vpaddq_u8(equal_as_bits(at, byte), equal_as_bits(at + 16, byte));
  for (unsigned round = 1; round < 3; round++) x = vpaddq_u8(x, x);
  return vgetq_lane_u32(vreinterpretq_u32_u8(x), 0);
#else
  return equal_bytes_16(at, byte) | equal_bytes_16(at + 16, byte) << 16;
#endif
}

/* The same for 64 bytes. */
ALWAYS_INLINE uint64_t equal_bytes_64(const uint8_t *at, uint8_t byte) {
#if defined(__AVX512BW__)
  return _mm512_cmpeq_epi8_mask(load512_shared(at), _mm512_set1_epi8((char)byte));
#elif defined(NEON_ROWS)
  uint8x16_t lower = vpaddq_u8(equal_as_bits(at, byte), equal_as_bits(at + 16, byte));
  uint8x16_t upper = vpaddq_u8(equal_as_bits(at + 32, byte), equal_as_bits(at + 48, byte));
  uint8x16_t x = vpaddq_u8(lower, upper);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(x, x)), 0);
#else
  return equal_bytes_32(at, byte) | (uint64_t)equal_bytes_32(at + 32, byte) << 32;
#endif
}

/* The bytes lo .. hi-1 of a row of 64, as far as they are in its word k: all bits of them. */
ALWAYS_INLINE uint64_t bytes_of_word(unsigned k, unsigned lo, unsigned hi) {
  unsigned first = lo > 8 * k ? lo - 8 * k : 0, end = hi < 8 * k + 8 ? hi - 8 * k : 8;
  return ~UINT64_C(0) >> (64 - 8 * (end - first)) << 8 * first;
}

/*
 * Bytes lo .. hi-1 of the 64 bytes at `at` move up by one: byte i+1 becomes what byte i was. The
 * byte at at[-1] must be readable. Vectors move all 64 and blend: no branch depends on the length.
 */
ALWAYS_INLINE void move_bytes_up(uint8_t *at, unsigned lo, unsigned hi) {
#if defined(__AVX512BW__)
  store512_masked_shared(at, bits_between(lo, hi) & ~(UINT64_C(1) << lo), load512_shared(at - 1));
#elif defined(__AVX2__)
  __m256i number = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  __m256i above_lo = _mm256_set1_epi8((char)lo), above_hi = _mm256_set1_epi8((char)hi);
  __m256i shifted[2] = {load256_shared(at - 1), load256_shared(at + 31)};
  for (unsigned half = 0; half < 2; half++) {
    uint8_t *to = at + 32 * half;
    __m256i moved = _mm256_andnot_si256(_mm256_cmpgt_epi8(number, above_hi),
                                        _mm256_cmpgt_epi8(number, above_lo));
    store256_shared(to, _mm256_blendv_epi8(load256_shared(to), shifted[half], moved));
    number = _mm256_add_epi8(number, _mm256_set1_epi8(32));
  }
#elif defined(UNSHARED)
  memmove(at + lo + 1, at + lo, hi - lo);
#else
  for (unsigned k = hi / 8 + 1; lo < hi && k > (lo + 1) / 8; k--) {
    uint8_t *to = at + 8 * (k - 1);
    uint64_t moved = bytes_of_word(k - 1, lo + 1, hi + 1), word = load64_shared(to);
    uint64_t shifted = word << 8 | load8_shared(to - 1);
    store64_shared(to, (word & ~moved) | (shifted & moved));
  }
#endif
}

/* Bytes lo+1 .. hi of the 64 bytes at `at` move down by one. */
ALWAYS_INLINE void move_bytes_down(uint8_t *at, unsigned lo, unsigned hi) {
#if defined(__AVX512BW__)
  __m512i x = load512_shared(at), lanes = _mm512_alignr_epi64(_mm512_setzero_si512(), x, 2);
  store512_masked_shared(at, bits_between(lo, hi) & ~(UINT64_C(1) << hi),
                         _mm512_alignr_epi8(lanes, x, 1));
#elif defined(__AVX2__)
  __m256i number = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  __m256i from_lo = _mm256_set1_epi8((char)(lo - 1)), below_hi = _mm256_set1_epi8((char)hi);
  __m256i last = load256_shared(at + 32), lanes = _mm256_permute2x128_si256(last, last, 0x81);
  __m256i shifted[2] = {load256_shared(at + 1), _mm256_alignr_epi8(lanes, last, 1)};
  for (unsigned half = 0; half < 2; half++) {
    uint8_t *to = at + 32 * half;
    __m256i moved =
        _mm256_and_si256(_mm256_cmpgt_epi8(number, from_lo), _mm256_cmpgt_epi8(below_hi, number));
    store256_shared(to, _mm256_blendv_epi8(load256_shared(to), shifted[half], moved));
    number = _mm256_add_epi8(number, _mm256_set1_epi8(32));
  }
#elif defined(UNSHARED)
  memmove(at + lo, at + lo + 1, hi - lo);
#else
  for (unsigned k = lo / 8; lo < hi && 8 * k < hi; k++) {
    uint64_t moved = bytes_of_word(k, lo, hi), word = load64_shared(at + 8 * k);
    uint64_t next = k < 7 ? load8_shared(at + 8 * k + 8) : 0;
    store64_shared(at + 8 * k, (word & ~moved) | ((word >> 8 | next << 56) & moved));
  }
#endif
}

#endif
