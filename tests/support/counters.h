/* counters.h - one counter of a filter by its name. */
#ifndef BESOM_TESTS_COUNTERS_H
#define BESOM_TESTS_COUNTERS_H

#include "besom.h"

/* 0 if the filter has no counter of that name. */
uint64_t counter_of(const besom_filter *f, const char *name);

#endif
