/*
 * A quotient table that several threads use at once. It is divided into regions of 4096 slots, each with a version in
 * a line of cache of its own, which is also the lock of those who change it.
 *
 * Who changes something locks, in ascending order, every region that he reads or writes, and works on a copy of struct
 * qtable whose room ends where his regions do: so nothing behind them can be touched, and no room there is FULL.
 *
 * Who asks takes no lock. He reads the version, the slots, and the version again; if it has changed, or said that a
 * change is going on, what he saw may be nonsense, and he does it again. This is safe because every walk ends at the
 * table's end, whatever the bits say.
 *
 * Numbers that every change would write (items, used slots) are kept by region, and summed when all are locked.
 */
#ifndef BESOM_QUOTIENT_CONCURRENT_H
#define BESOM_QUOTIENT_CONCURRENT_H

#include <stdatomic.h>

#include "core/wait.h"
#include "quotient/table.h"

#define REGION_SLOTS 4096

/* By how much the numbers of a filter have changed in a region since they were summed, modulo 2^64. */
struct tally {
  uint64_t items, members, further_slots, extended, tombstones; /* members: slots that these take */
};

/* Version: bit 0 = locked, bit 1 = being changed, the rest counts changes. */
enum { REGION_LOCKED = 1, REGION_CHANGING = 2, REGION_CHANGE = 4 };

struct region {
  _Alignas(CACHE_LINE) _Atomic uint64_t version;
  uint64_t room; /* of members' slots, borrowed from the filter's capacity for inserts to come */
  struct tally tally;
};

/* ------------------------------------------------------------------ locks */

/* A lock for moments, in a line of its own. */
struct spin {
  _Alignas(CACHE_LINE) atomic_bool taken;
};

static inline void spin_lock(struct spin *s) {
  for (unsigned times = 0; atomic_exchange_explicit(&s->taken, true, memory_order_acquire);)
    besom__wait(&times);
}

static inline void spin_unlock(struct spin *s) {
  atomic_store_explicit(&s->taken, false, memory_order_release);
}

/* ------------------------------------------------------------------ one region */

/*
 * With `change` the slots may be changed, and queries wait; without, only other threads with the lock do. The fence
 * has everybody see the version before the first change; gcc has none under the thread sanitizer.
 */
static inline void region_lock(struct region *r, bool change) {
  uint64_t taken = change ? REGION_LOCKED | REGION_CHANGING : REGION_LOCKED;
  for (unsigned times = 0;; besom__wait(&times)) {
    uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
    if (!(version & REGION_LOCKED) &&
        atomic_compare_exchange_weak_explicit(&r->version, &version, version | taken,
                                              memory_order_acquire, memory_order_relaxed))
      break;
  }
#ifndef BESOM_THREAD_SANITIZER
  atomic_thread_fence(memory_order_release);
#endif
}

static inline void region_unlock(struct region *r) {
  uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
  uint64_t now = version & ~(uint64_t)(REGION_LOCKED | REGION_CHANGING);
  if (version & REGION_CHANGING) now += REGION_CHANGE;
  atomic_store_explicit(&r->version, now, memory_order_release);
}

/* For who has the lock without `change`: queries wait, or go on again. */
static inline void region_begin_change(struct region *r) {
  atomic_fetch_or_explicit(&r->version, REGION_CHANGING, memory_order_relaxed);
#ifndef BESOM_THREAD_SANITIZER
  atomic_thread_fence(memory_order_release);
#endif
}

static inline void region_end_change(struct region *r) {
  uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
  atomic_store_explicit(&r->version, version - REGION_CHANGING + REGION_CHANGE,
                        memory_order_release);
}

/* The version to read under, for region_unchanged. */
static inline uint64_t region_version(const struct region *r) {
  return atomic_load_explicit(&r->version, memory_order_acquire);
}

/* Whether all that was read since the version was that of one moment. */
static inline bool region_unchanged(struct region *r, uint64_t version) {
#ifdef BESOM_THREAD_SANITIZER
  uint64_t now = atomic_fetch_add_explicit(&r->version, 0, memory_order_acq_rel);
#else
  atomic_thread_fence(memory_order_acquire);
  uint64_t now = atomic_load_explicit(&r->version, memory_order_relaxed);
#endif
  return !((now ^ version) & ~(uint64_t)REGION_LOCKED) && !(version & REGION_CHANGING);
}

/* ------------------------------------------------------------------ several regions */

/* How many a table of so many quotients has. */
static inline uint64_t regions_of(uint64_t slots) {
  return (besom__qtable_room(slots) + REGION_SLOTS - 1) / REGION_SLOTS;
}

/* Regions first .. end-1, locked. */
struct range {
  struct region *regions; /* of the table, from its first */
  uint64_t first, end;
  bool change;
};

/*
 * Locks what an operation on the run of this quotient can touch: all up to the first empty slot, and back to where a
 * saturated offset would be computed from.
 */
void besom__range_lock(struct range *r, struct region *regions, const struct qtable *t,
                       uint64_t quotient, bool change);

/* And more, up to the n-th empty slot from the quotient on, if there are so many. */
void besom__range_reach(struct range *r, const struct qtable *t, uint64_t quotient, uint64_t n);

void besom__range_unlock(const struct range *r);

/* The room of a table of which only the regions before `end` exist. */
static inline uint64_t room_within(const struct qtable *t, uint64_t end) {
  return end * REGION_SLOTS < t->room ? end * REGION_SLOTS : t->room;
}

#endif
