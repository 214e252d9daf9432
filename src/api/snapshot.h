/*
 * Snapshot handles: read-copy-update for concurrent filters (see struct reader in kind.h).
 *
 * A reader first announces itself in a reader slot and then loads the pointer to the current
 * filter. A writer that replaces the filter publishes the new pointer and then looks at the reader
 * slots. So a reader that the writer does not see has loaded the new pointer. What orders store and
 * load is an asymmetric fence: entering and leaving are plain stores.
 *
 * Reader slots have a cache line each. The first thread that finds a slot free gets it for as long
 * as the filter exists, and it alone may own it as a reader. Other threads that come to the slot,
 * and calls inside of a call of the same thread, are counted in it by atomic operations. If the
 * system has no asymmetric fence, no thread gets a slot, and every reader owns it by an atomic
 * operation.
 *
 * Grace period: readers announce themselves under one of two phases. The writer waits until nobody
 * is left under the other phase, makes that the phase of new readers, and does so once more. New
 * readers never prolong the wait.
 */
#ifndef BESOM_SNAPSHOT_H
#define BESOM_SNAPSHOT_H

#include "core/system/asymmetric_fence.h"
#include "core/system/wait.h"
#include "kind.h"

#define SLOT_BITS 6
#define READER_SLOTS (1u << SLOT_BITS)

/* Whether writers may enter. REPLACING: they wait. A task takes long: they get BUSY. */
enum snapshot_state { OPEN, REPLACING, TASK };

struct reader_slot {
  /* 1 + the phase of the reader that owns it; 0: none. */
  _Alignas(CACHE_LINE) _Atomic uint64_t owner;
  _Atomic uintptr_t thread;   /* the thread_number of the only thread that may own it; 0: none */
  _Atomic uint64_t others[2]; /* number of further readers, by phase */
};

struct snapshot_handle {
  _Atomic(besom_filter *) current;
  atomic_uint state;
  atomic_uint phase; /* of readers that enter */
  bool asymmetric;   /* there is an asymmetric fence */
  void *memory;      /* the allocation that this is in */
  struct reader_slot slots[READER_SLOTS];
};

static inline unsigned first_slot_of(uintptr_t thread) {
  return (unsigned)((uint64_t)thread * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SLOT_BITS));
}

/* The slot that the calling thread has and does not use as a reader; NULL: announce by the call. */
ALWAYS_INLINE struct reader_slot *free_slot(struct snapshot_handle *h) {
  uintptr_t thread = thread_number();
  struct reader_slot *slot = &h->slots[first_slot_of(thread)];
  bool mine = atomic_load_explicit(&slot->thread, memory_order_relaxed) == thread &&
              !atomic_load_explicit(&slot->owner, memory_order_relaxed);
  return LIKELY(mine) ? slot : NULL;
}

/* Announces a reader in such a slot. The pointer to the current filter is to be loaded then. */
ALWAYS_INLINE void slot_enter(const struct snapshot_handle *h, struct reader_slot *slot) {
  uint64_t phase = atomic_load_explicit(&h->phase, memory_order_relaxed);
  atomic_store_explicit(&slot->owner, 1 + phase, memory_order_relaxed);
  light_fence();
}

ALWAYS_INLINE void slot_leave(struct reader_slot *slot) {
  atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

ALWAYS_INLINE bool writers_may_enter(const struct snapshot_handle *h) {
  return LIKELY(atomic_load_explicit(&h->state, memory_order_acquire) == OPEN);
}

/* Load it after the state: it may have been replaced before that was OPEN. */
ALWAYS_INLINE besom_filter *current_filter(const struct snapshot_handle *h) {
  return atomic_load_explicit(&h->current, memory_order_acquire);
}

#endif
