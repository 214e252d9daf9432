/*
 * The yardstick: what this machine's memory gives at this moment. Absolute times on a shared machine say
 * little; divided by the time of a random read over as many bytes, in the same run, they can be compared.
 */
#ifndef BENCH_HARNESS_PROBE_H
#define BENCH_HARNESS_PROBE_H

#include <stddef.h>
#include <stdint.h>

typedef struct probe {
  uint64_t *memory;
  size_t bytes;
  uint64_t
      next; /* index of the next random address: no two samples read the same lines in the same order */
} probe;

/* Ordinary 4K pages, all of them touched. */
probe probe_create(uint64_t bytes);
void probe_free(probe *p);

/* Nanoseconds a random read of one cache line; no read waits for another, nothing is prefetched. */
double probe_independent(probe *p);

/* The same with software prefetch some reads ahead: about the best that a batched query could reach. */
double probe_prefetched(probe *p);

#endif
