/* What the planner sees of a workload. */
#ifndef BESOM_LAYERED_WORKLOAD_H
#define BESOM_LAYERED_WORKLOAD_H

#include "layered/popularity.h"

const besom_allocator *besom__workload_allocator(const besom_workload *w);

/* How popular its keys are; *out is zero before. */
void besom__workload_popularity(const besom_workload *w, struct popularity *out);

#endif
