/*
 * The concurrent aqf, shared by aqf_concurrent.c and concurrent_*.c. A change runs the plain
 * operation of aqf.c on a view, a struct aqf on the caller's stack. The view's table ends where the
 * locked regions do, and its counters stand for what the caller may use. Their differences
 * afterwards are added to the region's deltas.
 */
#ifndef BESOM_QUOTIENT_CONCURRENT_AQF_H
#define BESOM_QUOTIENT_CONCURRENT_AQF_H

#include "core/hash.h"
#include "quotient/aqf/concurrent/aqf_sync.h"

static inline uint64_t quotient_of(const struct aqf_sync *sync, besom_digest d) {
  return address_of(d, sync->query_table.slots).quotient;
}

/* The number of slots of the longest fingerprint. */
static inline unsigned most_slots(const struct aqf *a) {
  return besom__fingerprint_slots(UINT64_C(1) << 62, MAX_EXTENSION,
                                  further_payload_of(&a->base.table));
}

/* A change in progress. */
struct change {
  struct aqf view;
  struct aqf *filter;
  struct locked_regions locks;
  struct region *home;      /* the region of the quotient */
  uint64_t extension_slots; /* at its beginning */
  bool has_reserve, has_exceptions;
};

/*
 * Locks the regions and makes the view, which is returned. Up to `slots` slots may be inserted: for
 * members or, with the reserve, for extensions.
 */
besom_filter *besom__view_begin(struct change *c, besom_filter *f, uint64_t quotient,
                                uint64_t slots);

/* Ends the change and returns the status. */
besom_status besom__view_end(struct change *c, besom_status status);

/* Other threads that extend fingerprints wait from now on. No further region may be locked. */
void besom__take_reserve(struct change *c);

/* For a change that may remove the exception of its key: locks all if there is one. */
void besom__take_exceptions(struct change *c, besom_digest d);
/* After an insert of the key. */
besom_status besom__release_exceptions(struct change *c, besom_digest d, besom_status status);

/* Locks enough to give every match its greatest length. */
void besom__lock_to_adapt(struct change *c, besom_digest d);

/* Operations of kind.h. */
bool besom__concurrent_contains(const besom_filter *f, besom_digest d);
void besom__concurrent_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap);
void besom__concurrent_prefetch(const besom_filter *f, besom_digest d);
besom_status besom__concurrent_count(const besom_filter *f, besom_digest d, uint64_t *n);
besom_status besom__concurrent_get_value(const besom_filter *f, besom_digest d, uint64_t *value);
besom_status besom__concurrent_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                       size_t cap, size_t *total);
#endif
