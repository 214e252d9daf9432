/*
 * What the threads of a thread-safe aqf share (aqf_concurrent.c): the regions of its table, the
 * counters, and the locks of what is not in the table.
 *
 * Lock order: regions, ascending; the reserve; the stripes of the exceptions, ascending.
 */
#ifndef BESOM_QUOTIENT_AQF_SYNC_H
#define BESOM_QUOTIENT_AQF_SYNC_H

#include "core/system/asymmetric_fence.h"
#include "quotient/aqf/aqf.h"
#include "quotient/table/table_regions.h"

#define UNKNOWN_COUNT (UINT64_C(1) << 40) /* no thread knows the counter: neither 0 nor full */
#define STRIPES 16

/*
 * A bit of free_slots: some region may have credit that it does not need. A thread that read
 * it from a variable of its own could miss slots: free_slots is 0 before all credits are returned,
 * and the variable is false after that.
 */
#define HAS_CREDITS (UINT64_C(1) << 63)

struct aqf_sync {
  struct qtable query_table; /* the table as queries see it: never written */
  struct region *regions;
  uint64_t n_regions;
  void *memory; /* the allocation that holds this struct */
  size_t size;
  _Atomic uint64_t exceptions;              /* how many there are */
  atomic_bool extended;                     /* as in struct qtable: some are extended, or were */
  atomic_bool has_extensions;               /* as in struct aqf_counters */
  atomic_bool has_further_slots;            /* some fingerprints have several slots, or had */
  bool exclusive;                           /* everything is locked, for a change */
  _Atomic uintptr_t writer;                 /* see below: a thread_number, or one of enum writers */
  _Alignas(CACHE_LINE) atomic_bool writing; /* the single writer changes the table */
  _Alignas(CACHE_LINE) _Atomic uint64_t free_slots;      /* without credits; and HAS_CREDITS */
  _Alignas(CACHE_LINE) _Atomic uint64_t extension_slots; /* as in struct aqf_counters */
  struct spinlock reserve;          /* held by a thread that may use the reserve for extensions */
  struct spinlock stripes[STRIPES]; /* readers of the exceptions hold one, writers all */
};

static inline struct region *region_at(const struct aqf_sync *sync, uint64_t quotient) {
  return &sync->regions[quotient / REGION_SLOTS];
}

/*
 * Single-writer mode. As long as only one thread has locked regions, its inserts take the locks by
 * plain stores: a locked instruction would wait for the cache misses of one insert before the next
 * one begins. The thread sets `writing` and then looks whether it is still the writer. Another
 * thread that wants to lock a region ends the mode for good: it changes `writer`, executes a heavy
 * fence and waits until `writing` is false. Without asymmetric fences there is no such mode.
 */
enum writers { NO_WRITER, SEVERAL_WRITERS, WRITER_LEAVING }; /* no thread_number */

/* Call this before region_lock. */
void besom__become_writer(struct aqf_sync *sync);

static inline void become_writer(struct aqf_sync *sync) {
  uintptr_t writer = atomic_load_explicit(&sync->writer, memory_order_acquire);
  if (UNLIKELY(writer != SEVERAL_WRITERS && writer != thread_number())) besom__become_writer(sync);
}

static inline bool has_several_writers(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->writer, memory_order_acquire) == SEVERAL_WRITERS;
}

/* Whether the caller is the single writer. Then it must not wait for anything until it leaves. */
ALWAYS_INLINE bool single_writer_enter(struct aqf_sync *sync) {
  uintptr_t thread = thread_number();
  if (atomic_load_explicit(&sync->writer, memory_order_acquire) != thread ||
      UNLIKELY(atomic_load_explicit(&sync->writing, memory_order_acquire)))
    return false;
  atomic_store_explicit(&sync->writing, true, memory_order_relaxed);
  light_fence();
  if (LIKELY(atomic_load_explicit(&sync->writer, memory_order_relaxed) == thread)) return true;
  atomic_store_explicit(&sync->writing, false, memory_order_release);
  return false;
}

static inline void single_writer_leave(struct aqf_sync *sync) {
  atomic_store_explicit(&sync->writing, false, memory_order_release);
}

/* NULL if there is no memory. */
struct aqf_sync *besom__sync_new(const besom_allocator *allocator, uint64_t n_regions);
void besom__sync_free(struct aqf_sync *sync,
                      const besom_allocator *allocator); /* NULL: no effect */

/* Call when the filter's table is ready, before other threads use it. */
void besom__sync_start(struct aqf *a);

/* Copies the counters of the filter, which are exact, to what the threads share. */
void besom__publish_counters(const struct aqf *a);

/*
 * Locks everything and updates the counters of the filter. Until unlock_all the filter is as it
 * would be without threads. With `change` the caller may change it, and queries wait.
 */
struct aqf *besom__lock_all(const besom_filter *f, bool change);
void besom__unlock_all(const struct aqf *a);

/* Whether the digest is an exception. Valid while the key's region does not change. */
bool besom__is_exception(const struct aqf *a, besom_digest d);

static inline bool is_exception(const struct aqf *a, besom_digest d) {
  return UNLIKELY(atomic_load_explicit(&a->sync->exceptions, memory_order_relaxed)) &&
         besom__is_exception(a, d);
}

/* Whether a matching remainder may still be answered no. */
static inline bool needs_exact_match(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->extended, memory_order_relaxed) ||
         atomic_load_explicit(&sync->exceptions, memory_order_relaxed);
}

/* For a change of the exceptions. */
void besom__lock_exceptions(struct aqf_sync *sync);
void besom__unlock_exceptions(struct aqf_sync *sync);

/*
 * Slots of members count against the capacity. So that not every insert writes to one shared
 * counter, a region takes several slots at a time as credit. take_credit tries to raise the
 * region's credit to `wanted`; return_credit gives back what the region should not keep. The caller
 * holds the region's lock.
 */
void besom__take_credit(struct aqf_sync *sync, struct region *region, uint64_t wanted);
void besom__return_credit(struct aqf_sync *sync, struct region *region);

/* Whether a region without credit may find free slots after all: only lock_all can tell. */
static inline bool may_have_free_slots(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->free_slots, memory_order_acquire);
}

#endif
