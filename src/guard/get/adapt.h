/* False positives: counting, adapting, the queue from readers to writers. */
#ifndef BESOM_GUARD_ADAPT_H
#define BESOM_GUARD_ADAPT_H

#include "guard/get/lookup.h"

/* Counts a false positive. If the policy says so, adapts the filter to l's false matches. */
besom_status besom__guard_adapt(struct lookup *l);

/* Wants a rekey if so much of the reserve is used up. */
void besom__guard_check_reserve(besom_guard *g, const besom_filter *f);

/* Queues a false positive for the next writer. If the queue is full, drops it. */
void besom__guard_queue(struct lookup *l);

/* A writer: adapts to what readers have queued. Errors: those of the store. The false positive
   that failed is dropped; later ones stay in the queue. */
besom_status besom__guard_apply_queue(besom_guard *g);

#endif
