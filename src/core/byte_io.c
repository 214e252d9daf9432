#include "core/byte_io.h"

#include <string.h>

#include "core/bits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void besom__read_bytes(struct byte_reader *r, void *out, size_t n) {
  if (r->failed || (size_t)(r->end - r->at) < n) {
    r->failed = true;
    memset(out, 0, n);
    return;
  }
  memcpy(out, r->at, n);
  r->at += n;
}

uint64_t besom__read_u64(struct byte_reader *r) {
  uint8_t bytes[8];
  besom__read_bytes(r, bytes, sizeof bytes);
  return load64(bytes);
}

uint32_t besom__read_u32(struct byte_reader *r) {
  uint8_t bytes[8] = {0};
  besom__read_bytes(r, bytes, 4);
  return (uint32_t)load64(bytes);
}

double besom__read_double(struct byte_reader *r) {
  uint64_t bits = besom__read_u64(r);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

void besom__write_bytes(struct byte_writer *w, const void *data, size_t n) {
  if (w->failed || (size_t)(w->end - w->at) < n) {
    w->failed = true;
    return;
  }
  memcpy(w->at, data, n);
  w->at += n;
}

void besom__write_u64(struct byte_writer *w, uint64_t x) {
  uint8_t bytes[8];
  store64(bytes, x);
  besom__write_bytes(w, bytes, sizeof bytes);
}

void besom__write_u32(struct byte_writer *w, uint32_t x) {
  uint8_t bytes[8];
  store64(bytes, x);
  besom__write_bytes(w, bytes, 4);
}

void besom__write_double(struct byte_writer *w, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  besom__write_u64(w, bits);
}

uint64_t besom__checksum(const void *data, size_t len) {
  return XXH3_64bits(data, len);
}
