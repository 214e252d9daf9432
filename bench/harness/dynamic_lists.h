/*
 * Two lists whose keys are added one by one: the kind yesno-dynamic in front of a store in memory.
 */
#ifndef BENCH_HARNESS_DYNAMIC_LISTS_H
#define BENCH_HARNESS_DYNAMIC_LISTS_H

#include "besom.h"
#include "besom_store.h"

typedef struct dynamic_lists {
  besom_filter *filter;
  besom_store *store;
  double reads; /* of the store, per key */
} dynamic_lists;

/*
 * Adds the keys of both sources alternately, in proportion to their size_hint, which must be exact;
 * both need rewind. The filter has as little reserve as is enough.
 */
dynamic_lists dynamic_lists_new(const besom_source *yes, const besom_source *no, double rate);
void dynamic_lists_free(dynamic_lists *d);

#endif
