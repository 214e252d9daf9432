/* The front: a second filter in memory, when many false positives wait for a writer. */
#ifndef BESOM_GUARD_FRONT_H
#define BESOM_GUARD_FRONT_H

#include "guard/guard.h"

/* After a false positive, with the view locked for reading: begins a front if many wait for a
   writer, or scans some records for it. */
void besom__front_advance(besom_guard *g);

/* With the view locked for reading. */
bool besom__front_denies(const struct front *front, const besom_bytes *key);
uint64_t besom__front_bytes(const besom_guard *g); /* also if it is NULL */

/* With the view locked for writing. put: a new key. migration_begins: drops one that is not
   complete, because of the memory that three filters take. */
void besom__front_put(besom_guard *g, const besom_bytes *key);
void besom__front_migration_begins(besom_guard *g);
void besom__front_drop(besom_guard *g);

/* Frees one that was used up. The view is not locked. */
void besom__front_free_old(besom_guard *g);

static inline bool is_denied_by_front(const besom_guard *g, const besom_bytes *key) {
  const struct front *front = __atomic_load_n(&g->fronts.asked, __ATOMIC_ACQUIRE);
  return UNLIKELY(front != NULL) && besom__front_denies(front, key);
}

/* The end of a get: a reader cannot free what others read. */
static inline void end_get(besom_guard *g) {
  unlock(g);
  if (UNLIKELY(__atomic_load_n(&g->fronts.used_up, __ATOMIC_RELAXED) != NULL))
    besom__front_free_old(g);
}

#endif
