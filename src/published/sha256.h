/* SHA-256 (FIPS 180-4): the checksum that fixes have of their list. */
#ifndef BESOM_PUBLISHED_SHA256_H
#define BESOM_PUBLISHED_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

struct sha256 {
  uint32_t state[8];
  uint64_t len;
  uint8_t block[SHA256_BLOCK]; /* what has not been added yet */
};

void besom__sha256_begin(struct sha256 *s);
void besom__sha256_add(struct sha256 *s, const void *data, size_t len);
void besom__sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);

#endif
