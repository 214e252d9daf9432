#include "quotient/aqf/concurrent/aqf_sync.h"

#include "core/system/memory.h"
#include "exceptions/exceptions.h"

#define MAX_CREDIT 64 /* most slots of capacity that a region takes at a time */

/* ------------------------------------------------------------------ writers */

/* Waits until the single writer has noticed that it is not alone. */
static void end_single_writer(struct aqf_sync *sync) {
  besom__heavy_fence();
  for (unsigned times = 0; atomic_load_explicit(&sync->writing, memory_order_acquire);)
    besom__wait(&times);
  atomic_store_explicit(&sync->writer, SEVERAL_WRITERS, memory_order_release);
}

void besom__become_writer(struct aqf_sync *sync) {
  uintptr_t thread = thread_number(), writer = atomic_load(&sync->writer);
  for (unsigned times = 0; writer != SEVERAL_WRITERS && writer != thread;
       writer = atomic_load(&sync->writer)) {
    if (writer == WRITER_LEAVING)
      besom__wait(&times);
    else if (writer == NO_WRITER)
      atomic_compare_exchange_strong(&sync->writer, &writer, thread);
    else if (atomic_compare_exchange_strong(&sync->writer, &writer, WRITER_LEAVING))
      end_single_writer(sync);
  }
}

/* ------------------------------------------------------------------ exceptions */

void besom__lock_exceptions(struct aqf_sync *sync) {
  for (unsigned i = 0; i < STRIPES; i++) spin_lock(&sync->stripes[i]);
}

void besom__unlock_exceptions(struct aqf_sync *sync) {
  for (unsigned i = STRIPES; i--;) spin_unlock(&sync->stripes[i]);
}

bool besom__is_exception(const struct aqf *a, besom_digest d) {
  struct spinlock *stripe = &a->sync->stripes[d.lo % STRIPES];
  spin_lock(stripe);
  bool found = besom__exceptions_has(a->base.head.exceptions, d);
  spin_unlock(stripe);
  return found;
}

/* ------------------------------------------------------------------ capacity */

/* How much a region takes at a time if `left` slots are free: less and less, so that few idle. */
static uint64_t credit_step(const struct aqf_sync *sync, uint64_t left) {
  uint64_t portion = left / (4 * sync->n_regions);
  return portion > MAX_CREDIT ? MAX_CREDIT : portion ? portion : 1;
}

void besom__take_credit(struct aqf_sync *sync, struct region *region, uint64_t wanted) {
  while (region->credit < wanted) {
    uint64_t free_slots = atomic_load_explicit(&sync->free_slots, memory_order_acquire),
             left = free_slots & ~HAS_CREDITS;
    if (!left) return;
    uint64_t n = credit_step(sync, left);
    if (atomic_compare_exchange_weak_explicit(&sync->free_slots, &free_slots,
                                              (left - n) | HAS_CREDITS, memory_order_acq_rel,
                                              memory_order_relaxed))
      region->credit += n;
  }
}

/*
 * Need not set HAS_CREDITS for what the region keeps: it keeps something only while slots are free,
 * and the thread that takes the last one sets it.
 */
void besom__return_credit(struct aqf_sync *sync, struct region *region) {
  uint64_t left = atomic_load_explicit(&sync->free_slots, memory_order_relaxed) & ~HAS_CREDITS;
  uint64_t portion = credit_step(sync, left);
  uint64_t keep = portion > 1 ? portion : 0;
  if (region->credit <= 2 * keep) return;
  atomic_fetch_add_explicit(&sync->free_slots, region->credit - keep, memory_order_acq_rel);
  region->credit = keep;
}

/* ------------------------------------------------------------------ the whole filter */

/* Does not write an equal value: another thread may read the counter through an iterator. */
static void aqf_sync_set_counter(uint64_t *counter, uint64_t value) {
  if (*counter != value) *counter = value;
}

/* Updates the counters of the filter. All regions are locked. */
static void sum_counters(struct aqf *a) {
  struct aqf_sync *sync = a->sync;
  struct counter_deltas sum = {0};
  for (uint64_t i = 0; i < sync->n_regions; i++) {
    const struct counter_deltas *one = &sync->regions[i].deltas;
    sum.items += one->items + one->inserted;
    sum.members += one->members + one->inserted;
    sum.further_slots += one->further_slots;
    sum.extended += one->extended;
    sum.tombstones += one->tombstones;
    sync->regions[i].deltas = (struct counter_deltas){0};
    sync->regions[i].credit = 0;
  }
  uint64_t members = member_slots(a) + sum.members;
  aqf_sync_set_counter(&a->base.head.items, a->base.head.items + sum.items);
  aqf_sync_set_counter(&a->counters.slots,
                       atomic_load_explicit(&sync->extension_slots, memory_order_relaxed));
  aqf_sync_set_counter(&a->counters.tombstones, a->counters.tombstones + sum.tombstones);
  aqf_sync_set_counter(&a->base.table.used, members + a->counters.slots);
  aqf_sync_set_counter(&a->base.table.further_slots,
                       a->base.table.further_slots + sum.further_slots);
  aqf_sync_set_counter(&a->base.table.extended, a->base.table.extended + sum.extended);
  bool extensions = atomic_load_explicit(&sync->has_extensions, memory_order_relaxed);
  if (a->counters.extensions != extensions) a->counters.extensions = extensions;
}

void besom__publish_counters(const struct aqf *a) {
  struct aqf_sync *sync = a->sync;
  atomic_store_explicit(&sync->free_slots, a->base.head.capacity - member_slots(a),
                        memory_order_release);
  atomic_store_explicit(&sync->extension_slots, a->counters.slots, memory_order_relaxed);
  atomic_store_explicit(&sync->exceptions, a->base.head.exceptions->count, memory_order_relaxed);
  if (a->base.table.further_slots)
    atomic_store_explicit(&sync->has_further_slots, true, memory_order_relaxed);
  if (a->base.table.extended) atomic_store_explicit(&sync->extended, true, memory_order_relaxed);
  if (a->counters.extensions || (a->base.table.extended && a->base.table.code == NO_CODE))
    atomic_store_explicit(&sync->has_extensions, true, memory_order_relaxed);
}

struct aqf *besom__lock_all(const besom_filter *f, bool change) {
  struct aqf *a = (struct aqf *)(uintptr_t)f; /* const to the user: only counters change */
  become_writer(a->sync);
  for (uint64_t i = 0; i < a->sync->n_regions; i++) region_lock(&a->sync->regions[i], change);
  if (change) besom__lock_exceptions(a->sync);
  a->sync->exclusive = change;
  sum_counters(a);
  return a;
}

void besom__unlock_all(const struct aqf *a) {
  besom__publish_counters(a);
  if (a->sync->exclusive) besom__unlock_exceptions(a->sync);
  for (uint64_t i = a->sync->n_regions; i--;) region_unlock(&a->sync->regions[i]);
}

/* ------------------------------------------------------------------ creation */

struct aqf_sync *besom__sync_new(const besom_allocator *allocator, uint64_t n_regions) {
  uint64_t size = CACHE_LINE + sizeof(struct aqf_sync) + n_regions * sizeof(struct region);
  uint8_t *memory = besom__allocate(allocator, size);
  if (!memory) return NULL;
  struct aqf_sync *sync = (struct aqf_sync *)(memory + (0 - (uintptr_t)memory) % CACHE_LINE);
  sync->memory = memory;
  sync->size = (size_t)size;
  sync->n_regions = n_regions;
  sync->regions = (struct region *)(sync + 1);
  return sync;
}

void besom__sync_start(struct aqf *a) {
  struct qtable *t = &a->base.table, *seen = &a->sync->query_table;
  t->ops = t->ops->shared;
  *seen = *t;
  seen->used = seen->further_slots = seen->extended = UNKNOWN_COUNT; /* never 0: no thread knows */
  besom__publish_counters(a);
  atomic_store(&a->sync->writer, besom__prepare_heavy_fence() ? NO_WRITER : SEVERAL_WRITERS);
}

void besom__sync_free(struct aqf_sync *sync, const besom_allocator *allocator) {
  if (sync) besom__release(allocator, sync->memory, sync->size);
}
