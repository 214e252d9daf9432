/* The locks of a guard with readers and a writer. */
#ifndef BESOM_GUARD_LOCK_H
#define BESOM_GUARD_LOCK_H

#include "besom.h"

struct locks;

/* NULL if there is no memory. */
struct locks *besom__locks_new(const besom_allocator *allocator);
void besom__locks_free(struct locks *l, const besom_allocator *allocator); /* NULL is fine */

/* Filter and store view: readers together, or the writer alone, which does not wait for readers that come after it. */
void besom__lock_read(struct locks *l);
void besom__lock_write(struct locks *l);
void besom__unlock(struct locks *l);

/* What a store does one at a time, and may take its time for: writing, and counting what it has. */
void besom__lock_commit(struct locks *l);
void besom__unlock_commit(struct locks *l);

/* The queue from readers to the writer, and the list of offenders; for moments only. */
void besom__lock_queue(struct locks *l);
void besom__unlock_queue(struct locks *l);

#endif
