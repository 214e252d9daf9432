/*
 * The Zipf distribution: of `universe` ranks, rank k (from 1) has a probability proportional to
 * k^-s. It needs no table, so `universe` may be as large as 2^40. Any s >= 0 is valid; s = 0 is the
 * uniform distribution.
 */
#ifndef PROGRAM_ZIPF_H
#define PROGRAM_ZIPF_H

#include <stdint.h>

typedef struct zipf {
  double s;
  uint64_t universe;
  double first, area; /* the area under the curve: its start and its size */
} zipf;

zipf zipf_create(double s, uint64_t universe);

/* Draws a rank from 1 to universe: a pure function of the seed. */
uint64_t zipf_rank(const zipf *z, uint64_t seed);

#endif
