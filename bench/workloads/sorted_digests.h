/* Digests in ascending order: drawn, or in memory as a source for besom_build_sorted. */
#ifndef BENCH_WORKLOADS_SORTED_DIGESTS_H
#define BENCH_WORKLOADS_SORTED_DIGESTS_H

#include <stddef.h>

#include "besom.h"

/* n uniform digests, none of which need be kept. {.seed, .n} to begin with. */
typedef struct sorted_digests {
  uint64_t seed, n, given;
  double log_above; /* of the share of all digests that is above the last one */
  uint64_t last;    /* its upper half */
} sorted_digests;

/* The next one; n times at the most. */
besom_digest sorted_digests_next(sorted_digests *s);

typedef struct digest_array {
  besom_digest *digests;
  size_t count, given; /* given: to the source so far */
} digest_array;

digest_array digest_array_create(size_t count);
void digest_array_free(digest_array *a);

/* By qsort, ascending. */
void digest_array_sort(digest_array *a);

/* From the beginning. */
besom_digest_source digest_array_source(digest_array *a);

#endif
