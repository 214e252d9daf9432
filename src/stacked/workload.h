/* The planner's view of a workload. */
#ifndef BESOM_LAYERED_WORKLOAD_H
#define BESOM_LAYERED_WORKLOAD_H

#include "stacked/rank_frequency.h"

const besom_allocator *besom__workload_allocator(const besom_workload *w);

/* Adds all keys to *out, which must be zero. */
void besom__workload_rank_frequency(const besom_workload *w, struct rank_frequency *out);

#endif
