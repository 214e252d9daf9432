/*
 * Measures the memory speed of this machine at this moment. Absolute times on a shared machine say
 * little. Divided by the time of a random read over the same number of bytes, in the same run, they
 * are comparable.
 */
#ifndef BENCH_HARNESS_PROBE_H
#define BENCH_HARNESS_PROBE_H

#include <stddef.h>
#include <stdint.h>

typedef struct probe {
  uint64_t *memory;
  size_t bytes;
  /* index of the next random address: no two samples read the same lines in the same order */
  uint64_t next;
} probe;

/* Ordinary 4K pages, all of them touched. */
probe probe_create(uint64_t bytes);
void probe_free(probe *p);

/* Nanoseconds per random read of one cache line. Reads are independent; nothing is prefetched. */
double probe_independent(probe *p);

/*
 * The same with software prefetch some reads ahead: about the best that a batched query can reach.
 */
double probe_prefetched(probe *p);

#endif
