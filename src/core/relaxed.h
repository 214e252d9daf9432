/*
 * Access to memory: little-endian words at any address, and accesses to memory that other threads
 * may change at the same time, such as the blocks of a shared quotient table: relaxed atomic
 * accesses of 1, 8, 16, 32 and 64 bytes, at any address.
 *
 * Shared memory is an array of atomic bytes. A wide access stands for one relaxed access to each of
 * its bytes, in no particular order, so it may be torn. A reader therefore validates what it read,
 * with a seqlock (table_regions.h). Nothing here orders one access before another: the seqlock
 * does, with fences.
 *
 * Words of a table have any alignment, so they cannot be C11 atomic objects of 8 bytes. There are
 * two implementations of a wide access:
 *
 * - Portable: relaxed atomic accesses to the bytes. This is what the memory model of C11 asks for.
 *   Machines that are not named below run it, and so do builds with the thread sanitizer, which
 *   checks every one of these accesses and needs no other special case.
 * - One move instruction, on x86-64 and AArch64. Both architectures define an unaligned load or
 *   store, also of a vector, as accesses that never tear a byte. So it is the portable form with a
 *   further guarantee. The compiler must emit this one access: it may not repeat, invent or omit
 *   it, split a byte, or reuse an old value. `volatile` asks for exactly that; may_alias and
 *   aligned(1) take away what the compiler could conclude from type and alignment. A volatile
 *   access also stays visible to the address sanitizer, which inline assembly is not. Both gcc and
 *   clang order volatile accesses with atomic_thread_fence.
 *
 * Vectors have no portable form: only files compiled for AVX2 or AVX-512 use them, and those for
 * AArch64, whose compilers always have NEON.
 *
 * A source file that works on memory no other thread changes meanwhile defines UNSHARED before its
 * first #include. Then these functions are plain accesses, which the compiler may combine. That is
 * worth 2 to 10 % of a query and up to 28 % of an insert in the cache (AVX-512, widths 7 to 16).
 */
#ifndef BESOM_CORE_RELAXED_H
#define BESOM_CORE_RELAXED_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define BESOM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BESOM_THREAD_SANITIZER 1
#endif
#endif

#if (defined(__x86_64__) || (defined(__aarch64__) && defined(__ARM_FEATURE_UNALIGNED))) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(BESOM_THREAD_SANITIZER)
#define WIDE_MOVES 1
#endif

#if defined(WIDE_MOVES) && defined(__aarch64__) && defined(__ARM_NEON) && !defined(BESOM_NO_NEON)
#define NEON_ROWS 1
#include <arm_neon.h>
#endif

/*
 * FLATTEN: everything that the function calls is inline, also what xxhash.h leaves to the compiler.
 * BESOM_COMPACT: the compiler decides, for code that must compile soon (scripts/amalgamate.py).
 */
#if defined(BESOM_COMPACT)
#define ALWAYS_INLINE static __attribute__((unused))
#define FLATTEN
#elif defined(BESOM_COVERAGE)
/* gcov counts a branch of an inlined function at the line of the call */
#define ALWAYS_INLINE static inline
#define FLATTEN __attribute__((flatten))
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define FLATTEN __attribute__((flatten))
#endif

ALWAYS_INLINE uint64_t load64(const void *at) {
  uint64_t x;
  memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

ALWAYS_INLINE void store64(void *at, uint64_t x) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  memcpy(at, &x, sizeof x);
}

/* x as it is in a file: little-endian; and back. */
ALWAYS_INLINE uint64_t file_order64(uint64_t x) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(x);
#else
  return x;
#endif
}

/* ------------------------------------------------------------------ relaxed accesses */

ALWAYS_INLINE uint8_t load8_relaxed(const uint8_t *at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

ALWAYS_INLINE void store8_relaxed(uint8_t *at, uint8_t x) {
  __atomic_store_n(at, x, __ATOMIC_RELAXED);
}

ALWAYS_INLINE uint64_t load64_bytewise(const void *at) {
  uint64_t x = 0;
  for (unsigned i = 0; i < 8; i++) x |= (uint64_t)load8_relaxed((const uint8_t *)at + i) << (8 * i);
  return x;
}

ALWAYS_INLINE void store64_bytewise(void *at, uint64_t x) {
  for (unsigned i = 0; i < 8; i++) store8_relaxed((uint8_t *)at + i, (uint8_t)(x >> (8 * i)));
}

typedef uint64_t unaligned_word __attribute__((may_alias, aligned(1)));

ALWAYS_INLINE uint64_t load64_relaxed(const void *at) {
#ifdef WIDE_MOVES
  return *(const volatile unaligned_word *)at;
#else
  return load64_bytewise(at);
#endif
}

ALWAYS_INLINE void store64_relaxed(void *at, uint64_t x) {
#ifdef WIDE_MOVES
  *(volatile unaligned_word *)at = x;
#else
  store64_bytewise(at, x);
#endif
}

/* ------------------------------------------------------------------ plain if UNSHARED */

#ifdef UNSHARED
#define VECTOR_ACCESS
#define load8_shared(at) (*(const uint8_t *)(at))
#define store8_shared(at, x) (*(uint8_t *)(at) = (x))
#define load64_shared load64
#define store64_shared store64
#else
#define VECTOR_ACCESS volatile
#define load8_shared load8_relaxed
#define store8_shared store8_relaxed
#define load64_shared load64_relaxed
#define store64_shared store64_relaxed
#endif

#if defined(__AVX2__)

typedef long long unaligned_128 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef long long unaligned_256 __attribute__((vector_size(32), may_alias, aligned(1)));

ALWAYS_INLINE __m128i load128_shared(const void *at) {
  return (__m128i) * (const VECTOR_ACCESS unaligned_128 *)at;
}

ALWAYS_INLINE __m256i load256_shared(const void *at) {
  return (__m256i) * (const VECTOR_ACCESS unaligned_256 *)at;
}

ALWAYS_INLINE void store256_shared(void *at, __m256i x) {
  *(VECTOR_ACCESS unaligned_256 *)at = (unaligned_256)x;
}

#elif defined(NEON_ROWS)

typedef uint8_t unaligned_128 __attribute__((vector_size(16), may_alias, aligned(1)));

ALWAYS_INLINE uint8x16_t load128_shared(const void *at) {
  return (uint8x16_t) * (const VECTOR_ACCESS unaligned_128 *)at;
}

#endif

#if defined(__AVX512BW__)

typedef long long unaligned_512 __attribute__((vector_size(64), may_alias, aligned(1)));

ALWAYS_INLINE __m512i load512_shared(const void *at) {
  return (__m512i) * (const VECTOR_ACCESS unaligned_512 *)at;
}

/* Stores the bytes of x that `mask` selects. The caller must be the only writer of all 64. */
ALWAYS_INLINE void store512_masked_shared(void *at, uint64_t mask, __m512i x) {
#ifdef UNSHARED
  _mm512_mask_storeu_epi8(at, mask, x);
#else
  *(volatile unaligned_512 *)at =
      (unaligned_512)_mm512_mask_blend_epi8(mask, load512_shared(at), x);
#endif
}

#endif

#endif
