/*
 * What the prototypes share: clock, medians, keys. Prototypes are programs that compare a design
 * with the library's own code, inside out: they include sources of the library. They are not
 * installed and not part of any test; docs/benchmarks.md ("Evaluated and not adopted") has their
 * results.
 */
#ifndef BENCH_PROTOTYPES_PROTOTYPE_H
#define BENCH_PROTOTYPES_PROTOTYPE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/bits.h"

enum { QUERIES = 1 << 21, ROUNDS = 9 };

#define LOOP __attribute__((noinline, flatten)) static uint64_t

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double median(double *samples) {
  qsort(samples, ROUNDS, sizeof *samples, by_value);
  return samples[ROUNDS / 2];
}

static inline uint64_t member_key(uint64_t i) {
  return mixed(i + 1);
}

/* Random members, or absent keys. The caller calls free(). */
static inline uint64_t *query_keys(bool members, uint64_t n_members) {
  uint64_t *keys = malloc(QUERIES * sizeof *keys);
  if (!keys) exit(1);
  for (uint64_t i = 0; i < QUERIES; i++)
    keys[i] = members ? member_key(mixed(i + 77) % n_members) : mixed(i + (UINT64_C(1) << 50));
  return keys;
}

static inline uint64_t slots_of(int argc, char **argv) {
  return UINT64_C(1) << (argc > 1 ? atoi(argv[1]) : 22);
}

#endif
