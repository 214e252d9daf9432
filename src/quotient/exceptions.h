/*
 * Exceptions: the set of digests that a filter without a store must answer no. An open-addressing
 * hash table, at most seven eighths full, growing by a quarter; 16 bytes per cell. Adjacent digests
 * are in the order of their homes (Robin Hood hashing), so that a search for a digest that is not
 * in the set ends at the first one whose home is after its own: 5 cells at most load, not 32.
 *
 * The set keeps whole digests, not prefixes. This takes 146 to 185 bits per exception instead of
 * about 80. In return exceptions survive resizing and merging unchanged, and can hide a member only
 * if two keys share all 128 bits.
 */
#ifndef BESOM_QUOTIENT_EXCEPTIONS_H
#define BESOM_QUOTIENT_EXCEPTIONS_H

#include "besom.h"

struct exception_set {
  besom_digest *cells; /* as in a file; {0, 0}: a free cell */
  uint64_t size;       /* cells */
  uint64_t count;
};

bool besom__exceptions_has(const struct exception_set *m, besom_digest d);

/* Prefetches the cell where a search begins. The set is not empty. */
void besom__exceptions_prefetch(const struct exception_set *m, besom_digest d);

/*
 * Adds a digest. OK also if it is in the set. RESERVE_FULL if the cells would take more than
 * max_bytes, NO_MEMORY; nothing has changed then.
 */
besom_status besom__exceptions_add(struct exception_set *m, const besom_allocator *allocator,
                                   besom_digest d, uint64_t max_bytes);

/* The digest of a cell; {0, 0} of a free one. */
besom_digest besom__exception_at(const struct exception_set *m, uint64_t cell);

/* Removes a digest. Returns whether it was in the set. */
bool besom__exceptions_remove(struct exception_set *m, besom_digest d);

/* Copies a set into an empty one, with memory of its own. Returns NO_MEMORY. */
besom_status besom__exceptions_copy(struct exception_set *to, const struct exception_set *from,
                                    const besom_allocator *allocator);

void besom__exceptions_free(struct exception_set *m, const besom_allocator *allocator);

/* Checks cells of unknown origin. Returns NULL, or what is wrong. */
const char *besom__exceptions_check(const struct exception_set *m);

#endif
