#include "support/keys.h"

#include <stdlib.h>
#include <string.h>

#include "support/heap.h"

uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t random_next(random_stream *random) {
  return mix64(random->state += 0x9e3779b97f4a7c15u);
}

uint64_t random_below(random_stream *random, uint64_t bound) {
  return random_next(random) % bound;
}

uint64_t key_u64(uint64_t stream, uint64_t i) {
  return mix64((stream << 40) + i);
}

uint64_t *keys_u64(uint64_t stream, size_t n) {
  uint64_t *keys = heap_array(n, sizeof *keys);
  for (size_t i = 0; i < n; i++) keys[i] = key_u64(stream, i);
  return keys;
}

/* Keys of equal length from 8 on differ in the first 8 bytes; each shorter length occurs once. */
static void write_byte_key(unsigned char *out, size_t len, uint64_t stream, size_t i) {
  uint64_t word = key_u64(stream, i);
  random_stream random = {word};
  for (size_t at = 0; at < len; at += 8) {
    memcpy(out + at, &word, len - at < 8 ? len - at : 8);
    word = random_next(&random);
  }
}

byte_keys byte_keys_new(uint64_t stream, size_t n) {
  byte_keys keys = {.n = n};
  keys.keys = heap_array(n, sizeof *keys.keys);
  keys.storage = heap_array(n, LONGEST_KEY);
  for (size_t i = 0; i < n; i++) {
    unsigned char *data = keys.storage + i * LONGEST_KEY;
    size_t len = i <= LONGEST_KEY ? i : 8 + (size_t)(key_u64(stream, i) % (LONGEST_KEY - 7));
    write_byte_key(data, len, stream, i);
    keys.keys[i] = (besom_bytes){data, len};
  }
  return keys;
}

void byte_keys_free(byte_keys *keys) {
  free(keys->keys);
  free(keys->storage);
}

besom_digest *digests_of_u64(const besom_filter *f, const uint64_t *keys, size_t n) {
  besom_digest *digests = heap_array(n, sizeof *digests);
  for (size_t i = 0; i < n; i++) digests[i] = besom_hash_u64(f, keys[i]);
  return digests;
}

static int compare_digests(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

void sort_digests(besom_digest *digests, size_t n) {
  qsort(digests, n, sizeof *digests, compare_digests);
}
