/*
 * What the threads of a concurrent aqf have in common (aqf_concurrent.c): the regions of its table, the room that is
 * left, and the locks of what is not in the table.
 *
 * Locks are taken in this order: regions, ascending; the reserve; the stripes of marks, ascending.
 */
#ifndef BESOM_QUOTIENT_AQF_SYNC_H
#define BESOM_QUOTIENT_AQF_SYNC_H

#include "quotient/aqf.h"
#include "quotient/concurrent.h"

#define SOME (UINT64_C(1) << 40) /* of a number that no thread knows exactly: neither 0 nor full */
#define STRIPES 16

struct aqf_sync {
  struct qtable asked; /* the table as queries see it: never written */
  struct region *regions;
  uint64_t n_regions;
  void *memory; /* the allocation that this is in */
  size_t size;
  _Atomic uint64_t marks; /* how many there are */
  atomic_bool extended;   /* there are fingerprints with extensions, or have been */
  atomic_bool lent;       /* some region may have room that it does not need */
  bool alone;             /* all is locked, for a change */
  _Alignas(CACHE_LINE) _Atomic uint64_t
      room; /* slots left to members, but for what regions have borrowed */
  _Alignas(CACHE_LINE) _Atomic uint64_t extension_slots; /* those of the books */
  struct spin reserve;          /* held by who may take of what is kept for extensions */
  struct spin stripes[STRIPES]; /* who looks at the marks holds one, who changes them all */
};

static inline struct region *region_at(const struct aqf_sync *sync, uint64_t quotient) {
  return &sync->regions[quotient / REGION_SLOTS];
}

/* NULL if there is no memory. */
struct aqf_sync *besom__sync_new(const besom_allocator *allocator, uint64_t n_regions);
void besom__sync_free(struct aqf_sync *sync, const besom_allocator *allocator); /* NULL is fine */

/* The filter's table is ready, and nobody else uses it yet. */
void besom__sync_start(struct aqf *a);

/* From the numbers of the filter, which are right, to what is in common. */
void besom__share(const struct aqf *a);

/*
 * Locks everything and brings the numbers of the filter up to date: it is as it would be without threads, up to
 * unlock_all. With `change` it may be changed, and queries wait.
 */
struct aqf *besom__lock_all(const besom_filter *f, bool change);
void besom__unlock_all(const struct aqf *a);

/* True or false for as long as the key's region does not change. */
bool besom__is_marked(const struct aqf *a, besom_digest d);

static inline bool is_marked(const struct aqf *a, besom_digest d) {
  return UNLIKELY(atomic_load_explicit(&a->sync->marks, memory_order_relaxed)) &&
         besom__is_marked(a, d);
}

/* To change the marks. */
void besom__lock_marks(struct aqf_sync *sync);
void besom__unlock_marks(struct aqf_sync *sync);

/*
 * Slots of members count against the capacity. So that not every insert writes to one place, a region borrows some at
 * a time: borrow tries to have so much in the region, return gives back what it should not keep. Both with its lock.
 */
void besom__borrow_room(struct aqf_sync *sync, struct region *region, uint64_t wanted);
void besom__return_room(struct aqf_sync *sync, struct region *region);

/* Whether there may be room that a region without any did not get: only lock_all can tell. */
static inline bool may_have_room(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->room, memory_order_acquire) ||
         atomic_load_explicit(&sync->lent, memory_order_relaxed);
}

#endif
