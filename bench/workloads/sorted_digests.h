/*
 * Digests in ascending order: generated one by one, or an array that is a source for
 * besom_build.
 */
#ifndef BENCH_WORKLOADS_SORTED_DIGESTS_H
#define BENCH_WORKLOADS_SORTED_DIGESTS_H

#include <stddef.h>

#include "besom.h"

/*
 * A generator of n uniform digests in ascending order, which stores none. Initialise {.seed, .n}.
 */
typedef struct sorted_digests {
  uint64_t seed, n, given;
  double log_above; /* log of the share of all digests above the last one */
  uint64_t last;    /* upper half of the last digest */
} sorted_digests;

/* The next digest; call at most n times. */
besom_digest sorted_digests_next(sorted_digests *s);

typedef struct digest_array {
  besom_digest *digests;
  size_t count, given; /* given: digests read from the source so far */
} digest_array;

digest_array digest_array_create(size_t count);
void digest_array_free(digest_array *a);

/* Sorts in ascending order, by qsort. */
void digest_array_sort(digest_array *a);

/* A source that starts at the first digest. */
besom_digest_source digest_array_source(digest_array *a);

#endif
