/* Finds newlines in blocks of bytes. */
#ifndef CLI_NEWLINES_H
#define CLI_NEWLINES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NEWLINES_BLOCK = 64 };

/* As many bytes after the text must be readable; what they hold does not matter. */
enum { NEWLINES_SLACK = NEWLINES_BLOCK };

/* Bit i is set if block[i] is a newline. A block is 64 bytes, and only the first len count. */
static inline uint64_t newlines_in(const char *block, size_t len) {
  uint64_t found = 0;
#ifdef __SSE2__
  const __m128i newline = _mm_set1_epi8('\n');
  for (unsigned i = 0; i < NEWLINES_BLOCK; i += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
    found |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline)) << i;
  }
#else
  for (unsigned i = 0; i < NEWLINES_BLOCK; i++) found |= (uint64_t)(block[i] == '\n') << i;
#endif
  return len < NEWLINES_BLOCK ? found & ((UINT64_C(1) << len) - 1) : found;
}

#endif
