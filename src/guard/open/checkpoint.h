/* The saved filter that close leaves beside the store. */
#ifndef BESOM_GUARD_CHECKPOINT_H
#define BESOM_GUARD_CHECKPOINT_H

#include "guard/guard.h"

/* load: replaces the guard's empty filters by the saved ones, if they were saved from exactly this
   state of the store; false if not. save: a failure only means that the next open has no
   checkpoint. drop must succeed before the store is changed. */
bool besom__checkpoint_load(besom_guard *g);

/* Whether a guard that changed its store has left a checkpoint here: then the store had a
   manifest. */
bool besom__checkpoint_exists(const besom_guard *g);
besom_status besom__checkpoint_save(besom_guard *g);
besom_status besom__checkpoint_drop(besom_guard *g);

#endif
