/* Digests in memory, as a source for besom_build_sorted. */
#ifndef BENCH_DIGEST_ARRAY_H
#define BENCH_DIGEST_ARRAY_H

#include <stddef.h>

#include "besom.h"

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
