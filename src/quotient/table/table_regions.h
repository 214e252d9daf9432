/*
 * A thread-safe quotient table: it is divided into regions of 4096 slots, each with a version in a
 * cache line of its own. The version is a seqlock and also the lock of the region's writers.
 *
 * A writer locks, in ascending order, every region that it reads or writes. It works on a copy of
 * struct qtable whose room ends where its regions do, so it cannot touch a slot after them; if it
 * needs one the operation is FULL.
 *
 * A reader takes no lock. It reads the version, the slots, and the version again. If the version
 * changed, or said that a change was under way, the reader may have seen a torn state and retries.
 * Reading a torn state is safe because every walk ends at the table's end, whatever the bits are.
 *
 * Counters that every change would write (items, used slots) are kept per region and summed when
 * all regions are locked.
 *
 * Memory order (C11, in every build). Table memory is accessed by relaxed atomics only
 * (core/relaxed.h). A writer sets CHANGING in the version, executes a release fence, writes slots,
 * and stores the next version with release. A reader loads the version with acquire, reads slots,
 * executes an acquire fence and loads the version again. If the reader saw any byte of the
 * writer's, the two fences synchronize, so the second load sees CHANGING or a later version. If the
 * first load saw the version that the writer stored last, it acquired all of its writes.
 *
 * The thread sanitizer does not model fences. None of its verdicts depends on them: what they order
 * is atomic on both sides, and everything else is protected by locks, which it does model.
 */
#ifndef BESOM_QUOTIENT_TABLE_REGIONS_H
#define BESOM_QUOTIENT_TABLE_REGIONS_H

#include <stdatomic.h>

#include "core/system/wait.h"
#include "quotient/table/quotient_table.h"

#define REGION_SLOTS 4096

/* How much the counters of a filter changed in a region since they were summed, modulo 2^64. */
struct counter_deltas {
  uint64_t items, members; /* members: slots of members */
  uint64_t inserted;       /* to add to both */
  uint64_t further_slots, extended, tombstones;
};

/* Version: bit 0 = locked, bit 1 = being changed, the rest counts changes. */
enum { REGION_LOCKED = 1, REGION_CHANGING = 2, REGION_CHANGE = 4 };

struct region {
  _Alignas(CACHE_LINE) _Atomic uint64_t version;
  uint64_t credit; /* slots for members, taken from the filter's capacity for inserts to come */
  struct counter_deltas deltas;
};

/* ------------------------------------------------------------------ locks */

/* A spinlock in a cache line of its own, for short critical sections. */
struct spinlock {
  _Alignas(CACHE_LINE) atomic_bool taken;
};

static inline void spin_lock(struct spinlock *s) {
  for (unsigned times = 0; atomic_exchange_explicit(&s->taken, true, memory_order_acquire);)
    besom__wait(&times);
}

static inline void spin_unlock(struct spinlock *s) {
  atomic_store_explicit(&s->taken, false, memory_order_release);
}

/* ------------------------------------------------------------------ one region */

/* Gets the cache line of this address for writing: no other core has it then. */
static inline void prefetch_to_write(const void *at) {
#if defined(__AVX2__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
  __builtin_prefetch(at, 1);
#endif
}

/* gcc warns that the thread sanitizer ignores fences: see above why it may. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* Between the version that says CHANGING and the first write to a slot. */
static inline void writer_fence(void) {
  atomic_thread_fence(memory_order_release);
}

/* Between the last read of a slot and the second read of the version. */
static inline void reader_fence(void) {
  atomic_thread_fence(memory_order_acquire);
}

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic pop
#endif

/*
 * Waits for the region's lock. With `change` the caller may change slots, and readers retry until
 * the region is unlocked. Without it only other writers wait. Returns the version before.
 */
static inline uint64_t region_lock(struct region *r, bool change) {
  uint64_t taken = change ? REGION_LOCKED | REGION_CHANGING : REGION_LOCKED;
  uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
  for (unsigned times = 0;
       UNLIKELY(version & REGION_LOCKED) ||
       UNLIKELY(!atomic_compare_exchange_weak_explicit(&r->version, &version, version | taken,
                                                       memory_order_acquire, memory_order_relaxed));
       version = atomic_load_explicit(&r->version, memory_order_relaxed))
    besom__wait(&times);
  writer_fence();
  return version;
}

/*
 * Locks the region for a change if nothing has changed since region_version returned this version.
 * If it does, what the caller read of the region meanwhile is valid until it unlocks the region.
 */
static inline bool region_lock_unchanged(struct region *r, uint64_t version) {
  uint64_t taken = version | REGION_LOCKED | REGION_CHANGING;
  bool locked = !(version & (REGION_LOCKED | REGION_CHANGING)) &&
                atomic_compare_exchange_strong_explicit(&r->version, &version, taken,
                                                        memory_order_acquire, memory_order_relaxed);
  writer_fence();
  return locked;
}

/*
 * The same for a caller that is alone: no other thread locks a region meanwhile (single-writer mode
 * of aqf_sync.h). The version must not be LOCKED.
 */
static inline void region_lock_alone(struct region *r, uint64_t version) {
  atomic_store_explicit(&r->version, version | REGION_LOCKED | REGION_CHANGING,
                        memory_order_relaxed);
  writer_fence();
}

/* region_unlock for a region that was locked with `change`, at this version. */
static inline void region_unlock_changed(struct region *r, uint64_t version) {
  atomic_store_explicit(&r->version, version + REGION_CHANGE, memory_order_release);
}

static inline void region_unlock(struct region *r) {
  uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
  uint64_t next = version & ~(uint64_t)(REGION_LOCKED | REGION_CHANGING);
  if (version & REGION_CHANGING) next += REGION_CHANGE;
  atomic_store_explicit(&r->version, next, memory_order_release);
}

/* For a thread that locked the region without `change`: begins and ends a change of its slots. */
static inline void region_begin_change(struct region *r) {
  atomic_fetch_or_explicit(&r->version, REGION_CHANGING, memory_order_relaxed);
  writer_fence();
}

static inline void region_end_change(struct region *r) {
  uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
  atomic_store_explicit(&r->version, version - REGION_CHANGING + REGION_CHANGE,
                        memory_order_release);
}

/* Begins a read: the version to pass to region_unchanged. */
static inline uint64_t region_version(const struct region *r) {
  return atomic_load_explicit(&r->version, memory_order_acquire);
}

/* Ends a read: whether everything read since region_version belongs to one state of the region. */
static inline bool region_unchanged(const struct region *r, uint64_t version) {
  reader_fence();
  uint64_t now = atomic_load_explicit(&r->version, memory_order_relaxed);
  return !((now ^ version) & ~(uint64_t)REGION_LOCKED) && !(version & REGION_CHANGING);
}

/* ------------------------------------------------------------------ several regions */

/* How many regions a table with this many quotients has. */
static inline uint64_t regions_of(uint64_t slots) {
  return (besom__qtable_room(slots) + REGION_SLOTS - 1) / REGION_SLOTS;
}

/* Regions first .. end-1, locked by the caller. */
struct locked_regions {
  struct region *regions; /* all regions of the table */
  uint64_t first, end;
  bool change; /* as for region_lock */
};

/*
 * Locks the regions that an operation on the run of this quotient can touch: up to the first empty
 * slot, and back to where a saturated offset would be computed from.
 */
void besom__lock_regions(struct locked_regions *l, struct region *regions, const struct qtable *t,
                         uint64_t quotient, bool change);

/* Locks further regions, up to the n-th empty slot from the quotient on, or to the table's end. */
void besom__lock_regions_to(struct locked_regions *l, const struct qtable *t, uint64_t quotient,
                            uint64_t n);

void besom__unlock_regions(const struct locked_regions *l);

/* The room of a table that ends with the region before `end`. */
static inline uint64_t room_within(const struct qtable *t, uint64_t end) {
  return end * REGION_SLOTS < t->room ? end * REGION_SLOTS : t->room;
}

#endif
