/* How often a pqf is FULL below its capacity, with digests in random or in ascending order. */
#ifndef BESOM_TESTS_PQF_LOAD_H
#define BESOM_TESTS_PQF_LOAD_H

#include <stdlib.h>

#include "besom.h"
#include "support/heap.h"
#include "support/keys.h"

static int compare_digests(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* The number of seeds with which it is. */
static unsigned pqf_full_early(uint64_t capacity, double fpr, uint64_t seeds, bool sorted) {
  unsigned full = 0;
  besom_digest *digests = heap_array((size_t)capacity, sizeof *digests);
  for (uint64_t seed = 0; seed < seeds; seed++) {
    static const uint8_t of_hash[16] = {1};
    besom_config config = {.kind = "pqf", .capacity = capacity, .fpr = fpr, .seed = of_hash};
    besom_filter *f = NULL;
    random_stream random = {seed + 1};
    size_t done = 0;
    for (uint64_t i = 0; i < capacity; i++) digests[i] = (besom_digest){random_next(&random), 0};
    if (sorted) qsort(digests, (size_t)capacity, sizeof *digests, compare_digests);
    if (besom_create(&config, &f) != BESOM_OK) abort();
    full += besom_insert_many_digest(f, digests, (size_t)capacity, &done) != BESOM_OK;
    besom_free(f);
  }
  free(digests);
  return full;
}

#endif
