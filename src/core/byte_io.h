/* Bounded reader and writer of little-endian numbers, and the checksum of files. */
#ifndef BESOM_CORE_BYTE_IO_H
#define BESOM_CORE_BYTE_IO_H

#include "besom.h"

/* Reading past the end returns zeros and sets failed. Callers check failed once, at the end. */
struct byte_reader {
  const uint8_t *at, *end;
  bool failed;
};

/* Writing past the end drops the data and sets failed. */
struct byte_writer {
  uint8_t *at, *end;
  bool failed;
};

void besom__read_bytes(struct byte_reader *r, void *out, size_t n);
uint32_t besom__read_u32(struct byte_reader *r);
uint64_t besom__read_u64(struct byte_reader *r);
double besom__read_double(struct byte_reader *r);

void besom__write_bytes(struct byte_writer *w, const void *data, size_t n);
void besom__write_u32(struct byte_writer *w, uint32_t x);
void besom__write_u64(struct byte_writer *w, uint64_t x);
void besom__write_double(struct byte_writer *w, double x);

/* XXH3-64 without a seed: detects damage, but an adversary can forge it. */
uint64_t besom__checksum(const void *data, size_t len);

#endif
