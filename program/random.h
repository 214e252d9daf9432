/* Reproducible random numbers: pure functions of a seed and an index. */
#ifndef PROGRAM_RANDOM_H
#define PROGRAM_RANDOM_H

#include <stdint.h>

/* The i-th number of SplitMix64 for a seed. It is a bijection of i: all numbers of one seed are
 * distinct. */
static inline uint64_t random_at(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Maps a random number to the range 0 to bound - 1. */
static inline uint64_t random_below(uint64_t random, uint64_t bound) {
  __extension__ typedef unsigned __int128 wide;
  return (uint64_t)(((wide)random * bound) >> 64);
}

/* Maps a random number to the open interval (0, 1). */
static inline double random_unit(uint64_t random) {
  return ((double)(random >> 11) + 0.5) * 0x1p-53;
}

#endif
