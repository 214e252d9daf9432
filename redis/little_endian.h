/*
 * little_endian.h - numbers in saved bytes.
 */
#ifndef BESOM_REDIS_LITTLE_ENDIAN_H
#define BESOM_REDIS_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads a number of up to 8 bytes. */
static inline uint64_t get_le(const void *from, size_t bytes) {
  const unsigned char *b = from;
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; i++) number |= (uint64_t)b[i] << 8 * i;
  return number;
}

static inline void put_le(void *to, uint64_t number, size_t bytes) {
  unsigned char *b = to;
  for (size_t i = 0; i < bytes; i++) b[i] = (unsigned char)(number >> 8 * i);
}

static inline double get_le_double(const void *from) {
  uint64_t bits = get_le(from, 8);
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static inline void put_le_double(void *to, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  put_le(to, bits, 8);
}

#endif
