/*
 * The cells of a fuse filter: where the three cells of a key are, how they are built, and how they
 * are queried. Queries are compiled once per instruction set.
 */
#ifndef BESOM_BLOOM_FUSE_H
#define BESOM_BLOOM_FUSE_H

#include "core/hash.h"
#include "kind.h"

#define MAX_SEED 1000                   /* attempts to build rarely fail; so many never do */
#define MAX_SEGMENT (UINT64_C(1) << 18) /* the hash has no more bits for it */

struct fuse_cells {
  uint8_t *bits;
  uint64_t segment; /* cells per segment, a power of two */
  uint64_t first;   /* cells that can be the first of a key: all but the last two segments */
  uint64_t mask;    /* the lowest `width` bits */
  uint32_t width;   /* bits per cell */
  uint32_t seed;    /* the number of failed attempts to build */
};

struct fuse {
  struct static_set set;
  struct fuse_cells cells;
};

static inline uint64_t fuse_cells_of(const struct fuse_cells *x) {
  return x->first + 2 * x->segment;
}

/* ------------------------------------------------------------------ the cells of a key */

/*
 * From the upper half of the digest to the hash of the attempt that succeeded. Two keys with one
 * hash have the same cells and the same fingerprint: one of them is enough.
 */
ALWAYS_INLINE uint64_t fuse_hash(uint64_t hi, uint32_t seed) {
  for (; UNLIKELY(seed); seed--) hi = mixed(hi);
  return hi;
}

ALWAYS_INLINE uint64_t rotated_right(uint64_t x, unsigned by) {
  return x >> by | x << (64 - by);
}

struct fuse_key {
  uint64_t cell[3];
};

/*
 * The upper bits of the hash choose the first cell, anywhere. The others are one and two segments
 * further, with the position in the segment changed by other bits.
 */
ALWAYS_INLINE struct fuse_key fuse_key_of(const struct fuse_cells *x, uint64_t hash) {
  uint64_t first = scaled(hash, x->first);
  uint64_t segment = x->segment, within = segment - 1;
  return (struct fuse_key){{first, (first + segment) ^ (rotated_right(hash, 18) & within),
                            (first + 2 * segment) ^ (hash & within)}};
}

ALWAYS_INLINE void fuse_cells_fetch(const struct fuse_cells *x, uint64_t hash) {
  struct fuse_key key = fuse_key_of(x, hash);
  for (unsigned i = 0; i < 3; i++) __builtin_prefetch(x->bits + key.cell[i] * x->width / 8);
}

/* The lowest `width` bits count. */
ALWAYS_INLINE uint64_t fuse_fingerprint(uint64_t hash) {
  return hash ^ rotated_right(hash, 32);
}

/* The cell is in the lowest `width` bits. */
ALWAYS_INLINE uint64_t fuse_cell(const struct fuse_cells *x, uint64_t cell) {
  uint64_t bit = cell * x->width;
  return load64(x->bits + (size_t)shifted(bit, 3)) >> (bit % 8);
}

/* ------------------------------------------------------------------ building */

/*
 * Fills the zeroed cells. The upper halves of the digests are the hashes; the rest of their memory
 * is used. Errors: NO_MEMORY, END (the hashes must change, or two are equal; the digests are still
 * there, in another order and with lower halves of 0).
 */
besom_status besom__fuse_fill(const besom_filter *f, const struct fuse_cells *x,
                              const struct digests *d);

#endif
