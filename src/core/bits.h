/*
 * Words of bits: little-endian loads and stores, masks, rank and select.
 *
 * Everything is inline and picks its instructions by the flags the including file is compiled with, so
 * that a source compiled once per instruction set (see cpu.h) becomes fast without a second version of
 * its algorithms. Without flags the portable code remains; it is what every test compares with.
 */
#ifndef BESOM_CORE_BITS_H
#define BESOM_CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__BMI2__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define BYTE_ONES UINT64_C(0x0101010101010101)
#define BYTE_TOPS UINT64_C(0x8080808080808080)

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input changes half of the output. */
ALWAYS_INLINE uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/*
 * Memory that others may be changing: a table that is read without a lock, by who looks afterwards whether what he
 * saw can be true. The thread sanitizer must know that this is meant, and sees atomic bytes; otherwise these are plain
 * loads and stores.
 */
#if defined(__SANITIZE_THREAD__)
#define BESOM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BESOM_THREAD_SANITIZER 1
#endif
#endif

ALWAYS_INLINE uint8_t load8(const uint8_t *at) {
#ifdef BESOM_THREAD_SANITIZER
  return __atomic_load_n(at, __ATOMIC_RELAXED);
#else
  return *at;
#endif
}

ALWAYS_INLINE void store8(uint8_t *at, uint8_t x) {
#ifdef BESOM_THREAD_SANITIZER
  __atomic_store_n(at, x, __ATOMIC_RELAXED);
#else
  *at = x;
#endif
}

ALWAYS_INLINE uint64_t load64(const void *at) {
#ifdef BESOM_THREAD_SANITIZER
  uint64_t bytes = 0;
  for (unsigned i = 0; i < 8; i++) bytes |= (uint64_t)load8((const uint8_t *)at + i) << (8 * i);
  return bytes;
#endif
  uint64_t x;
  memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

ALWAYS_INLINE void store64(void *at, uint64_t x) {
#ifdef BESOM_THREAD_SANITIZER
  for (unsigned i = 0; i < 8; i++) store8((uint8_t *)at + i, (uint8_t)(x >> (8 * i)));
  return;
#endif
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  memcpy(at, &x, sizeof x);
}

ALWAYS_INLINE unsigned popcount(uint64_t x) {
  return (unsigned)__builtin_popcountll(x);
}

/* Trailing and leading zeros; 64 for 0. */
ALWAYS_INLINE unsigned trailing_zeros(uint64_t x) {
#ifdef __BMI__
  return (unsigned)_tzcnt_u64(x); /* the plain form below becomes a branch that is guessed wrong */
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

/* The same for n up to 255: nothing is left from 64 on. */
ALWAYS_INLINE uint64_t bits_from_any(unsigned n) {
#ifdef __BMI2__
  return ~_bzhi_u64(~UINT64_C(0), n);
#else
  return n < 64 ? bits_from(n) : 0;
#endif
}

/* Bits lo .. hi, both included, for lo <= hi <= 63. */
ALWAYS_INLINE uint64_t bits_between(unsigned lo, unsigned hi) {
  return bits_from(lo) & (~UINT64_C(0) >> (63 - hi));
}

/* The k-th set bit of x (from 0), alone in its word; 0 if x has no more than k bits. k in 0 .. 63. */
ALWAYS_INLINE uint64_t select_bit(uint64_t x, unsigned k) {
#ifdef __BMI2__
  return _pdep_u64(UINT64_C(1) << k, x);
#else
  /* Sums of bits up to each byte, then all bytes whose sum is at most k are counted at once. */
  uint64_t sums = x - ((x >> 1) & UINT64_C(0x5555555555555555));
  sums = (sums & UINT64_C(0x3333333333333333)) + ((sums >> 2) & UINT64_C(0x3333333333333333));
  sums = ((sums + (sums >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * BYTE_ONES;
  if (k >= sums >> 56) return 0;
  unsigned byte = popcount(((k * BYTE_ONES | BYTE_TOPS) - sums) & BYTE_TOPS) * 8;
  k -= (unsigned)((sums << 8) >> byte) & 0xff;
  x = x >> byte << byte;
  for (; k; k--) x &= x - 1;
  return x & (0 - x);
#endif
}

/* The first n set bits of x (0 to 64), or all if it has fewer. */
ALWAYS_INLINE uint64_t first_bits(uint64_t x, unsigned n) {
#ifdef __BMI2__
  return _pdep_u64(_bzhi_u64(~UINT64_C(0), n), x);
#else
  if (n == 0) return 0;
  uint64_t last = select_bit(x, n - 1);
  return last ? x & (last | (last - 1)) : x;
#endif
}

/* Bit i of the result: does byte i of the 16 bytes at `at` equal this one? */
ALWAYS_INLINE uint32_t equal_bytes_16(const uint8_t *at, uint8_t byte) {
#if defined(__AVX2__)
  __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), _mm_set1_epi8((char)byte));
  return (uint32_t)_mm_movemask_epi8(equal);
#else
  uint32_t result = 0;
  for (unsigned i = 0; i < 2; i++) {
    uint64_t x = load64(at + 8 * i) ^ byte * BYTE_ONES;
    uint64_t zero =
        ~(((x & ~BYTE_TOPS) + ~BYTE_TOPS) | x) & BYTE_TOPS; /* the top bit of each byte that is 0 */
    result |= (uint32_t)((zero >> 7) * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
  }
  return result;
#endif
}

/* The same for 32 bytes. */
ALWAYS_INLINE uint32_t equal_bytes_32(const uint8_t *at, uint8_t byte) {
#if defined(__AVX2__)
  __m256i equal =
      _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)at), _mm256_set1_epi8((char)byte));
  return (uint32_t)_mm256_movemask_epi8(equal);
#else
  return equal_bytes_16(at, byte) | equal_bytes_16(at + 16, byte) << 16;
#endif
}

/* The same for 64 bytes. */
ALWAYS_INLINE uint64_t equal_bytes_64(const uint8_t *at, uint8_t byte) {
#if defined(__AVX512BW__)
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_set1_epi8((char)byte));
#else
  return equal_bytes_32(at, byte) | (uint64_t)equal_bytes_32(at + 32, byte) << 32;
#endif
}

/*
 * Of the 64 bytes at `at`, those numbered lo .. hi-1 move up by one place. The byte before must be
 * readable. Vectors move all and keep what is wanted: no branch depends on the length.
 */
ALWAYS_INLINE void move_bytes_up(uint8_t *at, unsigned lo, unsigned hi) {
#if defined(__AVX512BW__)
  _mm512_mask_storeu_epi8(at, bits_between(lo, hi) & ~(UINT64_C(1) << lo),
                          _mm512_loadu_si512(at - 1));
#elif defined(__AVX2__)
  __m256i number = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  __m256i above_lo = _mm256_set1_epi8((char)lo), above_hi = _mm256_set1_epi8((char)hi);
  __m256i shifted[2] = {_mm256_loadu_si256((const __m256i *)(at - 1)),
                        _mm256_loadu_si256((const __m256i *)(at + 31))};
  for (unsigned half = 0; half < 2; half++) {
    __m256i *to = (__m256i *)(at + 32 * half);
    __m256i moved = _mm256_andnot_si256(_mm256_cmpgt_epi8(number, above_hi),
                                        _mm256_cmpgt_epi8(number, above_lo));
    _mm256_storeu_si256(to, _mm256_blendv_epi8(_mm256_loadu_si256(to), shifted[half], moved));
    number = _mm256_add_epi8(number, _mm256_set1_epi8(32));
  }
#elif defined(BESOM_THREAD_SANITIZER)
  for (unsigned i = hi; i > lo; i--) store8(at + i, load8(at + i - 1));
#else
  memmove(at + lo + 1, at + lo, hi - lo);
#endif
}

/* Those numbered lo+1 .. hi move down by one place. */
ALWAYS_INLINE void move_bytes_down(uint8_t *at, unsigned lo, unsigned hi) {
#ifdef BESOM_THREAD_SANITIZER
  for (unsigned i = lo; i < hi; i++) store8(at + i, load8(at + i + 1));
#else
  memmove(at + lo, at + lo + 1, hi - lo);
#endif
}

#endif
