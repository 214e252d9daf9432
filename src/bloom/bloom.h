/*
 * The bits of a Bloom filter, and the operations on them, which are compiled once per instruction
 * set.
 */
#ifndef BESOM_BLOOM_BLOOM_H
#define BESOM_BLOOM_BLOOM_H

#include "core/cpu.h"
#include "kind.h"

#define WORD_BITS 64
#define MAX_HASHES 64

struct bloom_bits {
  uint8_t *words;
  uint64_t n_bits; /* an odd number of words */
  uint32_t hashes; /* bits that a key sets: 1 to MAX_HASHES */
};

struct bloom {
  besom_filter head;
  struct bloom_bits bits;
  const struct bloom_ops *ops;
};

struct bloom_ops {
  enum isa isa;
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  struct insert_calls inserts;
  void (*contains_many)(const struct bloom_bits *b, const besom_digest *d, size_t n,
                        uint64_t *bitmap);
  void (*prefetch)(const struct bloom_bits *b, besom_digest d);
  /* Inserts n keys. None of them is FULL: the filter has room for n more. */
  void (*insert_many)(besom_filter *f, const besom_digest *d, size_t n);
};

#endif
