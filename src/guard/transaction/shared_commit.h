/* Writers that wait for the disk share one commit. */
#ifndef BESOM_GUARD_SHARED_COMMIT_H
#define BESOM_GUARD_SHARED_COMMIT_H

#include "guard/guard.h"

/* Waits until the open transaction is committed, or commits it. */
besom_status besom__shared_wait(besom_guard *g, struct waiting_writer *me);
static inline besom_status besom__shared_join(besom_guard *g) {
  struct waiting_writer me = {.done = false};
  return besom__shared_wait(g, &me);
}

/* Commits the open transaction for the writers that wait. */
besom_status besom__shared_commit(besom_guard *g);

#endif
