/*
 * vectors.h - the queries of the test vectors, which every language makes again.
 *
 * With m(x) the finalizer of SplitMix64 and G = 0x9e3779b97f4a7c15, modulo 2^64:
 *
 *   key n        r = m((n + 1) * G). If r mod 4 is 0: the integer m(r). Else a string of
 *                floor(r / 2^8) mod 301 bytes: the 8 little-endian bytes of m(r + (k + 1) * G) for
 *                k = 0, 1, ..., cut to that length
 *   query i      s = m(i xor SEED). If s mod 2 is 1: key floor(s / 2) mod MEMBERS, else key
 *                MEMBERS + i. The members of a file are the keys 0 to MEMBERS - 1
 *
 * expected.txt has a line per file: its name, and for the first FEW and the first MANY queries the
 * CRC-32 of the answers and the number of yes; then the first 64 answers. The answers are a bitmap:
 * bit i mod 8 of byte i / 8 is that of query i.
 *
 * Maplets: key n has the value m(n xor VALUES) mod 2^10. If n mod 4 is 0, it also has the value
 * m(n xor (VALUES + 1)) mod 2^10. maps.txt has a line per file: its name, and for the first FEW and
 * the first MANY queries the CRC-32 of the answers and the number of candidates. An answer is a
 * byte, the number of candidates of the query, and two little-endian bytes per candidate, in
 * ascending order.
 */
#ifndef BESOM_TESTS_VECTORS_H
#define BESOM_TESTS_VECTORS_H

#include "besom_map.h"

enum { MEMBERS = 3000, FEW = 1 << 14, MANY = 1 << 20, MAX_KEY = 304, MAX_CANDIDATES = 16 };

#define SEED UINT64_C(0x76656374)
#define VALUES UINT64_C(0x76616c75)
#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)

typedef struct vector_key {
  bool is_integer;
  uint64_t integer;
  size_t len;
  uint8_t bytes[MAX_KEY]; /* also of an integer */
} vector_key;

static inline uint64_t vector_mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static inline vector_key vector_key_number(uint64_t n) {
  uint64_t r = vector_mix((n + 1) * GOLDEN_RATIO);
  vector_key key = {.is_integer = r % 4 == 0};
  if (key.is_integer) key.integer = vector_mix(r);
  key.len = key.is_integer ? 8 : (r >> 8) % 301;
  for (uint64_t k = 0; 8 * k < key.len; k++) {
    uint64_t word = key.is_integer ? key.integer : vector_mix(r + (k + 1) * GOLDEN_RATIO);
    memcpy(key.bytes + 8 * k, besom_u64(word).bytes, 8);
  }
  return key;
}

/* The CRC-32 of zlib, inverted at the beginning and at the end. */
static inline uint32_t vector_crc(uint32_t crc, uint8_t byte) {
  crc ^= byte;
  for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
  return crc;
}

static inline uint64_t vector_query(uint64_t i) {
  uint64_t s = vector_mix(i ^ SEED);
  return s % 2 ? s / 2 % MEMBERS : MEMBERS + i;
}

static inline uint64_t vector_value(uint64_t n, uint64_t which) {
  return vector_mix(n ^ (VALUES + which)) % 1024;
}

/* Adds the answer of a maplet to the CRC-32. Returns the number of candidates. */
static inline size_t vector_candidates(const besom_filter *f, const vector_key *key,
                                       uint32_t *crc) {
  uint64_t values[MAX_CANDIDATES];
  size_t n = 0;
  besom_status status = besom_get_values(f, key->bytes, key->len, values, MAX_CANDIDATES, &n);
  if (status != BESOM_OK || n > MAX_CANDIDATES) return SIZE_MAX / 2;
  *crc = vector_crc(*crc, (uint8_t)n);
  for (size_t k = 0; k < n; k++) {
    *crc = vector_crc(*crc, (uint8_t)values[k]);
    *crc = vector_crc(*crc, (uint8_t)(values[k] >> 8));
  }
  return n;
}

static inline bool vector_answer(const besom_filter *f, const vector_key *key) {
  return key->is_integer ? besom_contains_u64(f, key->integer)
                         : besom_contains(f, key->bytes, key->len);
}

#endif
