/*
 * The lines of a blocked Bloom filter, and the operations on them, which are compiled once per
 * instruction set.
 *
 * A line is one cache line: 512 bits, 8 words. In its line a key sets
 *   per full layer (0 to 4 of them): one bit in each of the 8 words;
 *   per half layer (at most one): one bit in each of the 4 pairs of words.
 * So a key sets 4, 8, 12, ... 36 bits, and a few vector instructions test all of them.
 */
#ifndef BESOM_BLOOM_BLOCKED_H
#define BESOM_BLOOM_BLOCKED_H

#include "core/cpu.h"

#define LINE_BYTES 64
#define LINE_BITS 512
#define MAX_FULL_LAYERS 4

struct blocked {
  uint8_t *lines; /* at a multiple of LINE_BYTES */
  uint64_t n_lines;
  uint32_t full_layers;
  bool half_layer;
};

struct blocked_ops {
  bool (*contains)(const struct blocked *b, besom_digest d);
  void (*contains_many)(const struct blocked *b, const besom_digest *d, size_t n, uint64_t *bitmap);
  /* Sets the bits of n keys. Returns the number of keys that had an unset bit before. */
  size_t (*insert_many)(const struct blocked *b, const besom_digest *d, size_t n);
};

/* The operations for filters with the layers of b. The machine must support the instruction set. */
const struct blocked_ops *besom__blocked_ops(enum isa isa, const struct blocked *b);

#endif
