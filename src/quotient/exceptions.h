/*
 * A set of digests: the keys that a filter without a store was told are no members. Open addressing, at
 * most seven eighths full, growing by a quarter; 16 bytes a place.
 *
 * Whole digests are kept, not prefixes: it costs 146 to 185 bits a mark instead of about 80, and in return
 * marks survive growth and merging as they are, and can hide a member only if two keys share all 128 bits.
 */
#ifndef BESOM_QUOTIENT_MARKS_H
#define BESOM_QUOTIENT_MARKS_H

#include "besom.h"

struct marks {
  besom_digest *cells; /* {0, 0} is a free one */
  uint64_t size;        /* places */
  uint64_t count;
};

bool besom__marks_has(const struct marks *m, besom_digest d);

/* OK also if it was there; FULL if the places would take more than max_bytes; NO_MEMORY. */
besom_status besom__marks_add(struct marks *m, const besom_allocator *allocator, besom_digest d,
                              uint64_t max_bytes);

/* Whether it was there. */
bool besom__marks_remove(struct marks *m, besom_digest d);

/* The same marks in memory of their own; to must be empty. NO_MEMORY. */
besom_status besom__marks_copy(struct marks *to, const struct marks *from,
                               const besom_allocator *allocator);

void besom__exceptions_free(struct marks *m, const besom_allocator *allocator);

/* NULL, or what is wrong with places of unknown origin. */
const char *besom__exceptions_check(const struct marks *m);

#endif
