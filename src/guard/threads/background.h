/*
 * The background thread of a guard (config.background): takes steps as long as there is something
 * to do, and sleeps otherwise.
 */
#ifndef BESOM_GUARD_BACKGROUND_H
#define BESOM_GUARD_BACKGROUND_H

#include "besom_guard.h"

struct background;

/* Starts the thread. It works for at most this share of the time. Errors: NO_MEMORY. */
besom_status besom__background_start(besom_guard *g, const besom_allocator *allocator, double share,
                                     struct background **out);

/* Waits for the step that is running, and ends the thread. NULL is fine. */
void besom__background_stop(struct background *b);

/* There is something to do. Does not wait for the thread. */
void besom__background_wake(struct background *b);

/* One step (calls.c). *more: there is more to do. A failed step is counted. */
besom_status besom__background_step(besom_guard *g, bool *more);

#endif
