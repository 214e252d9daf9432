/*
 * The hot calls of concurrent aqf. There is one struct per instruction set and width; the shared
 * operations of a table point at the one that fits (qtable_ops.concurrent_calls). The filter must
 * be one that besom__calls_to_query and besom__calls_to_insert (quotient_calls.h) accept.
 */
#ifndef BESOM_QUOTIENT_CONCURRENT_CALLS_H
#define BESOM_QUOTIENT_CONCURRENT_CALLS_H

#include "quotient/aqf/concurrent/aqf_sync.h"

struct concurrent_calls {
  struct query_calls queries;
  struct insert_calls inserts;
  struct remove_calls removes;
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
};

/* contains for a run that leaves the block of its quotient. */
bool besom__concurrent_contains_far(const besom_filter *f, besom_digest d);

/*
 * Inserts a key whose region the caller has locked for a change, and unlocks the region. Returns
 * false if nothing changed: then besom__insert_anywhere must try it, which locks what it needs.
 */
bool besom__insert_far_locked(besom_filter *f, besom_digest d, struct region *region);
besom_status besom__insert_anywhere(besom_filter *f, besom_digest d);

#endif
