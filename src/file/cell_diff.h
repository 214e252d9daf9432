/*
 * The cells in which a range of bytes differs from another one, for besom_diff: where they are, and
 * what they have become. A cell is a number of adjacent bits, such as a fingerprint of a cuckoo
 * filter.
 */
#ifndef BESOM_CELL_DIFF_H
#define BESOM_CELL_DIFF_H

#include "core/bitstream.h"

#define MAX_CELL_BITS 32

/* Two ranges of len bytes. old may be shorter, old_len: the rest of it is zero. */
struct cell_ranges {
  const uint8_t *old;
  uint64_t old_len;
  uint64_t len;
  unsigned width; /* of a cell, 1 to MAX_CELL_BITS bits; the last cell may be cut */
};

/* Writes the cells of fresh that differ, the gaps between them in the shorter one of two codes. */
void besom__cells_write(const struct cell_ranges *r, const uint8_t *fresh, struct bit_writer *w);

/* Writes what cells_write was given as fresh: len bytes at out. Errors: CORRUPT. */
besom_status besom__cells_read(const struct cell_ranges *r, struct bit_reader *bits, uint8_t *out);

#endif
