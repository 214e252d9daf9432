/*
 * keys.h - pseudo-random test keys: the same in every run, and all different by construction.
 */
#ifndef BESOM_TESTS_KEYS_H
#define BESOM_TESTS_KEYS_H

#include <string.h>

#include "besom.h"

/* The finalizer of splitmix64: a bijection of 64-bit numbers. */
uint64_t mix64(uint64_t x);

/* A pseudo-random number generator: splitmix64. Any initial state is valid. */
typedef struct random_stream {
  uint64_t state;
} random_stream;

uint64_t random_next(random_stream *random);
uint64_t random_below(random_stream *random, uint64_t bound);

/* Streams of keys, for members and absent keys. No key is in two streams. */
enum { MEMBERS = 1, NEGATIVES = 2, MORE_MEMBERS = 3, OTHER_MEMBERS = 4 };

/* The i-th key of a stream, i < 2^40. */
uint64_t key_u64(uint64_t stream, uint64_t i);

/*
 * A number whose bytes in memory are the little-endian bytes of this one: the key of an integer. It
 * is its own inverse.
 */
static inline uint64_t little_endian(uint64_t number) {
  besom_u64_key key = besom_u64(number);
  memcpy(&number, key.bytes, sizeof number);
  return number;
}

/* The first n keys of a stream; the caller calls free(). */
uint64_t *keys_u64(uint64_t stream, size_t n);

/*
 * The first n byte strings of a stream: key i has length i for i up to 100, then a length of 8 to
 * 100. All lengths occur, and no two keys of a stream are equal. Short keys of two streams may be
 * equal.
 */
typedef struct byte_keys {
  besom_bytes *keys;
  size_t n;
  unsigned char *storage;
} byte_keys;

enum { LONGEST_KEY = 100 };

byte_keys byte_keys_new(uint64_t stream, size_t n);
void byte_keys_free(byte_keys *keys);

/* The digests of n keys under the hash of the filter; the caller calls free(). */
besom_digest *digests_of_u64(const besom_filter *f, const uint64_t *keys, size_t n);

/* In the order that besom_input.digests needs. */
void sort_digests(besom_digest *digests, size_t n);

#endif
