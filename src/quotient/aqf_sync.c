#include "quotient/aqf_sync.h"

#include "core/memory.h"

#define BORROWED 64 /* slots of capacity that a region takes at a time, at most */

/* ------------------------------------------------------------------ marks */

void besom__lock_marks(struct aqf_sync *sync) {
  for (unsigned i = 0; i < STRIPES; i++) spin_lock(&sync->stripes[i]);
}

void besom__unlock_marks(struct aqf_sync *sync) {
  for (unsigned i = STRIPES; i--;) spin_unlock(&sync->stripes[i]);
}

bool besom__is_marked(const struct aqf *a, besom_digest d) {
  struct spin *stripe = &a->sync->stripes[d.lo % STRIPES];
  spin_lock(stripe);
  bool marked = besom__exceptions_has(&a->exceptions, d);
  spin_unlock(stripe);
  return marked;
}

/* ------------------------------------------------------------------ room for members */

/* What a region takes at a time when so much is left in common: less and less, so that not much lies idle. */
static uint64_t portion_of(const struct aqf_sync *sync, uint64_t left) {
  uint64_t portion = left / (4 * sync->n_regions);
  return portion > BORROWED ? BORROWED : portion ? portion : 1;
}

/* `lent` is set first, so that who finds nothing left knows that there may be more. */
void besom__borrow_room(struct aqf_sync *sync, struct region *region, uint64_t wanted) {
  while (region->room < wanted) {
    uint64_t left = atomic_load_explicit(&sync->room, memory_order_acquire);
    if (!left) return;
    uint64_t n = portion_of(sync, left);
    if (!atomic_load_explicit(&sync->lent, memory_order_relaxed))
      atomic_store_explicit(&sync->lent, true, memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&sync->room, &left, left - n, memory_order_acq_rel,
                                              memory_order_relaxed))
      region->room += n;
  }
}

void besom__return_room(struct aqf_sync *sync, struct region *region) {
  uint64_t portion = portion_of(sync, atomic_load_explicit(&sync->room, memory_order_relaxed));
  uint64_t keep = portion > 1 ? portion : 0;
  if (region->room <= 2 * keep) return;
  atomic_fetch_add_explicit(&sync->room, region->room - keep, memory_order_acq_rel);
  region->room = keep;
}

/* ------------------------------------------------------------------ the whole filter */

/* Not written if it stays: somebody else may be reading it through an iterator. */
static void set_number(uint64_t *number, uint64_t value) {
  if (*number != value) *number = value;
}

/* Brings the numbers of the filter up to date. All regions are locked. */
static void sum_up(struct aqf *a) {
  struct aqf_sync *sync = a->sync;
  struct tally sum = {0};
  for (uint64_t i = 0; i < sync->n_regions; i++) {
    const struct tally *one = &sync->regions[i].tally;
    sum.items += one->items;
    sum.members += one->members;
    sum.further_slots += one->further_slots;
    sum.extended += one->extended;
    sum.tombstones += one->tombstones;
    sync->regions[i].tally = (struct tally){0};
    sync->regions[i].room = 0;
  }
  uint64_t members = member_slots(a) + sum.members;
  set_number(&a->base.head.items, a->base.head.items + sum.items);
  set_number(&a->counters.slots,
             atomic_load_explicit(&sync->extension_slots, memory_order_relaxed));
  set_number(&a->counters.tombstones, a->counters.tombstones + sum.tombstones);
  set_number(&a->base.table.used, members + a->counters.slots);
  set_number(&a->base.table.further_slots, a->base.table.further_slots + sum.further_slots);
  set_number(&a->base.table.extended, a->base.table.extended + sum.extended);
}

void besom__share(const struct aqf *a) {
  struct aqf_sync *sync = a->sync;
  atomic_store_explicit(&sync->room, a->base.head.capacity - member_slots(a), memory_order_release);
  atomic_store_explicit(&sync->lent, false, memory_order_relaxed);
  atomic_store_explicit(&sync->extension_slots, a->counters.slots, memory_order_relaxed);
  atomic_store_explicit(&sync->marks, a->exceptions.count, memory_order_relaxed);
  if (a->base.table.extended) atomic_store_explicit(&sync->extended, true, memory_order_relaxed);
}

struct aqf *besom__lock_all(const besom_filter *f, bool change) {
  struct aqf *a = (struct aqf *)(uintptr_t)f; /* const to the user: its numbers lag behind */
  for (uint64_t i = 0; i < a->sync->n_regions; i++) region_lock(&a->sync->regions[i], change);
  if (change) besom__lock_marks(a->sync);
  a->sync->alone = change;
  sum_up(a);
  return a;
}

void besom__unlock_all(const struct aqf *a) {
  besom__share(a);
  if (a->sync->alone) besom__unlock_marks(a->sync);
  for (uint64_t i = a->sync->n_regions; i--;) region_unlock(&a->sync->regions[i]);
}

/* ------------------------------------------------------------------ life */

struct aqf_sync *besom__sync_new(const besom_allocator *allocator, uint64_t n_regions) {
  size_t size = CACHE_LINE + sizeof(struct aqf_sync) + (size_t)n_regions * sizeof(struct region);
  uint8_t *memory = besom__allocate(allocator, size);
  if (!memory) return NULL;
  struct aqf_sync *sync = (struct aqf_sync *)(memory + (0 - (uintptr_t)memory) % CACHE_LINE);
  sync->memory = memory;
  sync->size = size;
  sync->n_regions = n_regions;
  sync->regions = (struct region *)(sync + 1);
  return sync;
}

void besom__sync_start(struct aqf *a) {
  struct qtable *asked = &a->sync->asked;
  *asked = a->base.table;
  asked->used = asked->further_slots = asked->extended =
      SOME; /* whether there are any is not known */
  besom__share(a);
}

void besom__sync_free(struct aqf_sync *sync, const besom_allocator *allocator) {
  if (sync) besom__release(allocator, sync->memory, sync->size);
}
