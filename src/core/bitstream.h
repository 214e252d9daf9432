/* Numbers as a string of bits, the first bit lowest in its byte. Small numbers take few bits. */
#ifndef BESOM_CORE_BITSTREAM_H
#define BESOM_CORE_BITSTREAM_H

#include "besom.h"
#include "core/bits.h"

/* Writing past the end writes nothing and sets failed. The memory must be zero. */
struct bit_writer {
  uint8_t *bytes;
  uint64_t at, end; /* in bits */
  bool failed;
};

/* Reading past the end gives zeros and sets failed. */
struct bit_reader {
  const uint8_t *bytes;
  uint64_t at, end;
  bool failed;
};

static inline void write_bits(struct bit_writer *w, uint64_t bits, unsigned n) {
  if (n > w->end - w->at) {
    w->failed = true;
    return;
  }
  for (; n; n--, w->at++, bits >>= 1) w->bytes[w->at / 8] |= (uint8_t)((bits & 1) << (w->at % 8));
}

static inline uint64_t read_bits(struct bit_reader *r, unsigned n) {
  if (n > r->end - r->at) {
    r->failed = true;
    return 0;
  }
  uint64_t bits = 0;
  for (unsigned i = 0; i < n; i++, r->at++)
    bits |= (uint64_t)(r->bytes[r->at / 8] >> (r->at % 8) & 1) << i;
  return bits;
}

/*
 * The Elias gamma code of x = number + 1: as many zeros as x has bits after its first, then a one,
 * then these bits. number < 2^64 - 1.
 */
static inline void write_gamma(struct bit_writer *w, uint64_t number) {
  unsigned length = 63 - (unsigned)__builtin_clzll(number + 1);
  write_bits(w, 0, length);
  write_bits(w, 1, 1);
  write_bits(w, number + 1, length);
}

static inline uint64_t read_gamma(struct bit_reader *r) {
  unsigned length = 0;
  while (!r->failed && length < 63 && !read_bits(r, 1)) length++;
  return (UINT64_C(1) << length | read_bits(r, length)) - 1;
}

/* The Rice code: numbers below 2^k take k + 1 bits; every 2^k more takes one bit more. k < 64. */
static inline void write_rice(struct bit_writer *w, uint64_t number, unsigned k) {
  uint64_t ones = number >> k;
  if (ones >= w->end - w->at) {
    w->failed = true;
    return;
  }
  for (; ones; ones--) write_bits(w, 1, 1);
  write_bits(w, 0, 1);
  write_bits(w, number, k);
}

static inline uint64_t read_rice(struct bit_reader *r, unsigned k) {
  uint64_t ones = 0;
  while (!r->failed && read_bits(r, 1)) ones++;
  return ones << k | read_bits(r, k);
}

#endif
