/* Little-endian words at any address. For memory that other threads change, see relaxed.h. */
#ifndef BESOM_CORE_WORDS_H
#define BESOM_CORE_WORDS_H

#include <stdint.h>
#include <string.h>

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

#endif
