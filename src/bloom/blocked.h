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
#include "kind.h"

#define LINE_BYTES 64
#define LINE_BITS 512
#define MAX_FULL_LAYERS 4
#define MAX_SHAPE (2 * MAX_FULL_LAYERS + 1)

struct blocked {
  uint8_t *lines;   /* at a multiple of LINE_BYTES */
  uint64_t n_lines; /* odd */
  unsigned shape;   /* twice the full layers, and 1 for a half layer: 1 to MAX_SHAPE */
};

struct blocked_bloom {
  besom_filter head;
  struct blocked blocked;
  const struct blocked_ops *ops;
  enum isa isa;
  uint8_t *memory; /* the allocation: the lines, and up to one line more for their alignment */
};

static inline const struct blocked *blocked_of(const besom_filter *f) {
  return &((const struct blocked_bloom *)f)->blocked;
}

struct blocked_ops {
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  struct insert_calls inserts;
  void (*contains_many)(const struct blocked *b, const besom_digest *d, size_t n, uint64_t *bitmap);
  /* Sets the bits of n keys. Returns the number of keys that had an unset bit before. */
  size_t (*insert_many)(const struct blocked *b, const besom_digest *d, size_t n);
};

/* The operations for filters of this shape. The machine must support the instruction set. */
const struct blocked_ops *besom__blocked_ops(enum isa isa, unsigned shape);

#endif
