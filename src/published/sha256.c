#include "published/sha256.h"

#include <string.h>

/* The first bits of the fractional parts of cube roots and of square roots of primes. */
static const uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t sha256_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t sha256_rotate(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void sha256_schedule(const uint8_t *block, uint32_t w[64]) {
  for (int i = 0; i < 16; i++, block += 4)
    w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    uint32_t s0 = sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3;
    uint32_t s1 = sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
}

/* s: the variables a to h of the standard. */
static void sha256_compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], s[8];
  sha256_schedule(block, w);
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t e = s[4], a = s[0];
    uint32_t one = sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25);
    uint32_t t1 = s[7] + one + ((e & s[5]) ^ (~e & s[6])) + sha256_rounds[i] + w[i];
    uint32_t zero = sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22);
    uint32_t t2 = zero + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void besom__sha256_begin(struct sha256 *s) {
  *s = (struct sha256){0};
  memcpy(s->state, sha256_start, sizeof s->state);
}

void besom__sha256_add(struct sha256 *s, const void *data, size_t len) {
  const uint8_t *from = data;
  while (len) {
    size_t at = (size_t)(s->len % SHA256_BLOCK), room = SHA256_BLOCK - at;
    size_t n = len < room ? len : room;
    memcpy(s->block + at, from, n);
    s->len += n;
    from += n;
    len -= n;
    if (n == room) sha256_compress(s->state, s->block);
  }
}

/* A 1 bit, zeros, and the length in bits. */
void besom__sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]) {
  static const uint8_t one = 0x80, zero = 0;
  uint64_t bits = 8 * s->len;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  besom__sha256_add(s, &one, 1);
  while (s->len % SHA256_BLOCK != SHA256_BLOCK - sizeof length) besom__sha256_add(s, &zero, 1);
  besom__sha256_add(s, length, sizeof length);
  for (int i = 0; i < SHA256_BYTES; i++) out[i] = (uint8_t)(s->state[i / 4] >> (24 - i % 4 * 8));
}
