/*
 * Zipf's distribution: of `universe` ranks, rank k (from 1) has a probability proportional to k^-s. Needs no table,
 * hence universes of up to 2^40 ranks, and any s >= 0: 0 is uniform.
 */
#ifndef PROGRAM_ZIPF_H
#define PROGRAM_ZIPF_H

#include <stdint.h>

typedef struct zipf {
  double s;
  uint64_t universe;
  double first, area; /* where the area under the curve begins, and how large it is */
} zipf;

zipf zipf_create(double s, uint64_t universe);

/* A rank, 1 to universe: a pure function of the seed. */
uint64_t zipf_rank(const zipf *z, uint64_t seed);

#endif
