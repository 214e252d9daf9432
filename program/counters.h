/* The named counters of a filter. */
#ifndef PROGRAM_COUNTERS_H
#define PROGRAM_COUNTERS_H

#include "besom.h"

enum { MAX_COUNTERS = 64 };

/* Writes all counters of a filter; returns their number, at most MAX_COUNTERS. */
size_t counters_all(const besom_filter *f, besom_counter counters[MAX_COUNTERS]);

/* The counter of this name; 0 if the filter does not have it. */
uint64_t counter_of(const besom_filter *f, const char *name);

#endif
