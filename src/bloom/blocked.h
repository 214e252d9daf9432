/*
 * How a key sets its bits in a blocked Bloom filter: the geometry of a line, and the operations on lines,
 * compiled once for each instruction set.
 *
 * A line is 512 bits, 8 words, and one line of cache. A key sets in it, by layers of its hash:
 *   full layers (0 to 4): one bit in each of the 8 words;
 *   at most one half layer: one bit in each of the 4 pairs of words.
 * So a key has 4, 8, 12 ... 36 bits, and all of them are tested with a few vector instructions.
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
  /* Sets the bits of all n keys, and tells how many of them were not all set before. */
  size_t (*insert_many)(const struct blocked *b, const besom_digest *d, size_t n);
};

/* For filters with the layers of b, on a machine that has the instructions. */
const struct blocked_ops *besom__blocked_ops(enum isa isa, const struct blocked *b);

#endif
