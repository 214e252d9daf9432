/*
 * The hot calls of concurrent aqf (struct query_calls, insert_calls, remove_calls of kind.h), and
 * their batches of inserts. Compiled once per instruction set and width (table_variant.h), like
 * quotient_calls.c. Each object exports its calls: besom__concurrent_calls_avx2_8 and so on.
 *
 * A query takes no lock, an insert or a remove one: that of the region of its key. What needs more
 * than one block, or a remove more than a region, is left to functions that are not inline.
 */
#define BESOM_SHARED 1

#include "quotient/aqf/concurrent/concurrent_calls.h"

#include "quotient/table/block_insert.h"
#include "quotient/table/block_remove.h"
#include "quotient/table/table_variant.h"

#define NOINLINE static __attribute__((noinline))
#define CALL static FLATTEN
#define MAX_SHORT_KEY 16 /* bytes: the longest key that is hashed inline */
#define FETCH_AHEAD 32   /* keys of a batch whose blocks are prefetched */

/* ------------------------------------------------------------------ queries */

NOINLINE bool contains_generally(const besom_filter *f, besom_digest d) {
  return f->kind->query.contains(f, d);
}

/*
 * Flags of the filter are read after the version: if another thread raised one in this region, the
 * new version says so.
 */
ALWAYS_INLINE bool concurrent_call_has(const besom_filter *f, besom_digest d) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  unsigned width = WIDTH(&sync->query_table);
  struct qtable t = with_constant_offsets(&sync->query_table, width);
  struct target at = target_of(&t, d, width);
  struct region *region = region_at(sync, at.quotient);
  uint64_t version = region_version(region);
  unsigned i = at.quotient % 64;
  uint64_t run = run_from_quotient(&t, at.block, i);
  uint64_t equal = slots_equal_32(&t, at.block, i, at.remainder, width) & run;
  if (UNLIKELY(run & FAR_SLOTS)) return besom__concurrent_contains_far(f, d);
  if (equal) {
    if (UNLIKELY(needs_exact_match(sync))) return contains_generally(f, d);
    t.further_slots = atomic_load_explicit(&sync->has_further_slots, memory_order_relaxed);
    equal &= heads_that_matter(&t, at.block, at.remainder, width) >> i;
  }
  if (UNLIKELY(!region_unchanged(region, version))) return contains_generally(f, d);
  return equal;
}

NOINLINE bool concurrent_call_contains_long_key(const besom_filter *f, const void *key,
                                                size_t len) {
  return f->kind->query.contains(f, hash_bytes(&f->hasher, key, len));
}

CALL bool concurrent_call_contains(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return concurrent_call_contains_long_key(f, key, len);
  return concurrent_call_has(f, xxh3_bytes(&f->hasher, key, len));
}

CALL bool concurrent_call_contains_u64(const besom_filter *f, uint64_t key) {
  return concurrent_call_has(f, xxh3_u64(&f->hasher, key));
}

CALL bool concurrent_call_contains_digest(const besom_filter *f, besom_digest d) {
  return concurrent_call_has(f, d);
}

/* ------------------------------------------------------------------ inserts */

/*
 * For what takes more than one block. If another thread is changing the region, waits for it.
 * Returns false if nothing changed.
 */
NOINLINE bool concurrent_call_insert_far(besom_filter *f, besom_digest d, bool alone) {
  struct aqf_sync *sync = const_aqf(f)->sync;
  struct region *region = region_at(sync, address_of(d, sync->query_table.slots).quotient);
  if (alone) {
    region_lock_alone(region, region_version(region));
  } else {
    become_writer(sync);
    region_lock(region, true);
  }
  return besom__insert_far_locked(f, d, region);
}

/* Locks the region if that is possible at once, and if it has credit for a slot. */
ALWAYS_INLINE bool lock_with_credit(struct region *region, uint64_t version, bool alone) {
  if (LIKELY(alone))
    region_lock_alone(region, version);
  else if (UNLIKELY(!region_lock_unchanged(region, version)))
    return false;
  if (LIKELY(region->credit)) return true;
  region_unlock_changed(region, version);
  return false;
}

/*
 * Inserts what takes one block and no exception. The change is planned before the lock is taken:
 * the processor executes no later load before it has a lock by a locked instruction. Returns false
 * if nothing changed.
 */
ALWAYS_INLINE bool add_in_block(const struct aqf_sync *sync, besom_digest d, bool prefetched,
                                bool alone) {
  unsigned width = WIDTH(&sync->query_table);
  struct qtable t = with_constant_offsets(&sync->query_table, width);
  struct address a = address_of(d, t.slots);
  struct region *region = region_at(sync, a.quotient);
  if (!prefetched && !alone) {
    prefetch_to_write(region);
    prefetch_to_write(block_at(&t, a.quotient / 64));
    prefetch_to_write(block_at(&t, a.quotient / 64) + CACHE_LINE);
  }
  uint64_t version = region_version(region);
  t.further_slots = atomic_load_explicit(&sync->has_further_slots, memory_order_relaxed);
  bool exceptions = atomic_load_explicit(&sync->exceptions, memory_order_relaxed);
  struct planned_insert plan = plan_insert(&t, a, true, width);
  if (UNLIKELY(plan.result != INSERTED || exceptions || !lock_with_credit(region, version, alone)))
    return false;
  do_insert(&t, plan, width);
  region->credit--;
  region->deltas.inserted++;
  region_unlock_changed(region, version);
  return true;
}

ALWAYS_INLINE besom_status concurrent_call_add(besom_filter *f, besom_digest d, bool prefetched) {
  struct aqf_sync *sync = const_aqf(f)->sync;
  bool done;
  if (single_writer_enter(sync)) {
    done =
        LIKELY(add_in_block(sync, d, prefetched, true)) || concurrent_call_insert_far(f, d, true);
    single_writer_leave(sync);
  } else {
    done = (has_several_writers(sync) && add_in_block(sync, d, prefetched, false)) ||
           concurrent_call_insert_far(f, d, false);
  }
  return LIKELY(done) ? BESOM_OK : besom__insert_anywhere(f, d);
}

NOINLINE besom_status concurrent_call_insert_long_key(besom_filter *f, const void *key,
                                                      size_t len) {
  return f->kind->change->insert(f, hash_bytes(&f->hasher, key, len));
}

CALL besom_status concurrent_call_insert(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return concurrent_call_insert_long_key(f, key, len);
  return concurrent_call_add(f, xxh3_bytes(&f->hasher, key, len), false);
}

CALL besom_status concurrent_call_insert_u64(besom_filter *f, uint64_t key) {
  return concurrent_call_add(f, xxh3_u64(&f->hasher, key), false);
}

CALL besom_status concurrent_call_insert_digest(besom_filter *f, besom_digest d) {
  return concurrent_call_add(f, d, false);
}

/* Prefetches the region, a block and the next one: most inserts shift no further. */
ALWAYS_INLINE void concurrent_call_prefetch_to_insert(const struct aqf_sync *sync, besom_digest d) {
  uint64_t quotient = approximate_quotient(d, sync->query_table.slots);
  const uint8_t *block = block_at(&sync->query_table, quotient / 64),
                *end = block + 2 * sync->query_table.stride;
  prefetch_to_write(region_at(sync, quotient));
  for (; block < end; block += CACHE_LINE) prefetch_to_write(block);
}

static besom_status concurrent_call_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                                size_t *done) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  besom_status status = BESOM_OK;
  size_t i = 0;
  for (; i < n && i < FETCH_AHEAD; i++) concurrent_call_prefetch_to_insert(sync, d[i]);
  for (i = 0; i < n; i++) {
    if (i + FETCH_AHEAD < n) concurrent_call_prefetch_to_insert(sync, d[i + FETCH_AHEAD]);
    status = concurrent_call_add(f, d[i], true);
    if (UNLIKELY(status != BESOM_OK)) break;
  }
  *done = i;
  return status;
}

/* ------------------------------------------------------------------ removes */

/*
 * Removes a key that is no exception, if its cluster ends in its region. As in add_in_block, the
 * change is planned before the lock is taken. Returns false if nothing changed.
 */
ALWAYS_INLINE bool remove_in_region(struct aqf_sync *sync, besom_digest d, bool alone) {
  unsigned width = WIDTH(&sync->query_table);
  struct qtable t = with_constant_offsets(&sync->query_table, width);
  struct address a = address_of(d, t.slots);
  struct region *region = region_at(sync, a.quotient);
  t.room = room_within(&sync->query_table, a.quotient / REGION_SLOTS + 1);
  if (!alone) prefetch_to_write(region);
  uint64_t version = region_version(region), last = 0;
  t.further_slots = atomic_load_explicit(&sync->has_further_slots, memory_order_relaxed);
  bool exceptions = atomic_load_explicit(&sync->exceptions, memory_order_relaxed);
  struct planned_remove plan = plan_remove(&t, a, width);
  if (UNLIKELY(plan.result != ANSWER_YES || exceptions)) return false;
  if (!plan.moved) last = last_of_cluster_from(&t, a.quotient / 64 + 1);
  if (UNLIKELY(last + 1 >= t.room)) return false;
  if (LIKELY(alone))
    region_lock_alone(region, version);
  else if (UNLIKELY(!region_lock_unchanged(region, version)))
    return false;
  if (LIKELY(plan.moved))
    do_remove(&t, a.quotient, plan, width);
  else
    do_remove_far(&t, a.quotient, plan, last, width);
  region->deltas.inserted--;
  region->credit++;
  besom__return_credit(sync, region);
  region_unlock_changed(region, version);
  return true;
}

ALWAYS_INLINE besom_status concurrent_call_take(besom_filter *f, besom_digest d) {
  struct aqf_sync *sync = const_aqf(f)->sync;
  bool done = false;
  if (single_writer_enter(sync)) {
    done = remove_in_region(sync, d, true);
    single_writer_leave(sync);
  } else if (has_several_writers(sync)) {
    done = remove_in_region(sync, d, false);
  }
  return LIKELY(done) ? BESOM_OK : f->kind->change->remove(f, d);
}

CALL besom_status concurrent_call_remove_digest(besom_filter *f, besom_digest d) {
  return concurrent_call_take(f, d);
}

/* Integer keys have 8 bytes. */
CALL besom_status concurrent_call_remove(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len != 8)) return f->kind->change->remove(f, hash_bytes(&f->hasher, key, len));
  return concurrent_call_take(f, xxh3_u64(&f->hasher, load64(key)));
}

/* ------------------------------------------------------------------ the exported symbol */

#define CALLS_NAME JOIN(JOIN(besom__concurrent_calls, BESOM_ISA), BESOM_WIDTH)

extern const struct concurrent_calls CALLS_NAME;

const struct concurrent_calls CALLS_NAME = {
    .queries = {.contains = concurrent_call_contains,
                .contains_u64 = concurrent_call_contains_u64,
                .contains_digest = concurrent_call_contains_digest},
    .inserts = {.insert = concurrent_call_insert,
                .insert_u64 = concurrent_call_insert_u64,
                .insert_digest = concurrent_call_insert_digest},
    .removes = {.remove = NOT_IN_SMALL_CODE(concurrent_call_remove),
                .remove_digest = NOT_IN_SMALL_CODE(concurrent_call_remove_digest)},
    .insert_many = concurrent_call_insert_many,
};
