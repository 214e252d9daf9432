/*
 * Queries of the concurrent aqf: optimistic reads of one region (table_regions.h). contains and
 * contains_many here are what concurrent_calls.c leaves to them; the others run the plain operation
 * on a view of the filter whose table ends with the region.
 */
#include "quotient/aqf/concurrent/concurrent_aqf.h"
#include "quotient/aqf/concurrent/concurrent_calls.h"
#include "quotient/fingerprint/match.h"
#include "quotient/table/block_search.h"
#include "quotient/table/walk.h"

#define TRIES 16       /* of a query without a lock */
#define BATCH_KEYS 512 /* queries per call of the table */

/* An optimistic read of the run of a digest: repeated until it is valid. */
struct read {
  struct aqf view;             /* only its table is set */
  struct locked_regions locks; /* if `locked` */
  struct region *region;
  uint64_t version;
  unsigned tries;
  bool locked;
  bool denied; /* the digest is an exception */
};

/*
 * Whether the run leaves the table's room, which ends with the region, or an earlier region is
 * needed to find it.
 */
static bool leaves_region(const struct qtable *t, uint64_t quotient) {
  return block_offset(block_at(t, quotient / 64)) == OFFSET_SATURATED ||
         t->ops->run_of(t, quotient).end >= t->room;
}

/* Returns the filter to query, for this digest only. */
static const besom_filter *concurrent_begin_read(struct read *r, const besom_filter *f,
                                                 besom_digest d) {
  const struct aqf *a = const_aqf(f);
  struct qtable *t = &r->view.base.table;
  uint64_t quotient = quotient_of(a->sync, d);
  r->region = region_at(a->sync, quotient);
  r->version = region_version(r->region);
  for (; r->version & REGION_CHANGING && r->tries < TRIES; r->version = region_version(r->region))
    besom__wait(&r->tries);
  *t = a->sync->query_table;
  t->room = room_within(&a->sync->query_table, quotient / REGION_SLOTS + 1);
  r->locked = r->tries++ >= TRIES || leaves_region(t, quotient);
  if (r->locked) {
    become_writer(a->sync);
    besom__lock_regions(&r->locks, a->sync->regions, &a->sync->query_table, quotient, false);
    t->room = room_within(&a->sync->query_table, r->locks.end);
  }
  r->denied = is_exception(a, d);
  return &r->view.base.head;
}

static bool concurrent_end_read(struct read *r) {
  if (!r->locked) return region_unchanged(r->region, r->version);
  besom__unlock_regions(&r->locks);
  return true;
}

/* Not inline: it would slow down the fast path. */
static __attribute__((noinline)) bool contains_slow(const besom_filter *f, besom_digest d) {
  struct read r;
  r.tries = 0;
  bool answer;
  do {
    concurrent_begin_read(&r, f, d);
    struct matching m = besom__matching_start(&r.view.base.table, d);
    answer = !r.denied && besom__next_match(&m);
  } while (!concurrent_end_read(&r));
  return answer;
}

/* For runs that leave their block, but not their region. */
bool besom__concurrent_contains_far(const besom_filter *f, besom_digest d) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  struct qtable t = sync->query_table;
  struct address at = address_of(d, t.slots);
  const struct region *region = region_at(sync, at.quotient);
  uint64_t version = region_version(region);
  t.room = room_within(&t, at.quotient / REGION_SLOTS + 1);
  if (block_offset(block_at(&t, at.quotient / 64)) == OFFSET_SATURATED) return contains_slow(f, d);
  struct run run = t.ops->run_of(&t, at.quotient);
  bool found = t.ops->next_equal(&t, run.start, run.end, remainder_of(at, t.width)) < run.end;
  if (UNLIKELY(run.end >= t.room || (found && needs_exact_match(sync)) ||
               !region_unchanged(region, version)))
    return contains_slow(f, d);
  return found;
}

/* Most runs are in the block of their quotient. */
bool besom__concurrent_contains(const besom_filter *f, besom_digest d) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->sync->query_table;
  struct region *region = region_at(a->sync, quotient_of(a->sync, d));
  uint64_t version = region_version(region);
  enum answer answer = t->ops->contains_in_block(t, d);
  bool denied = answer == ANSWER_YES && is_exception(a, d);
  if (UNLIKELY(answer == ANSWER_ELSEWHERE)) return besom__concurrent_contains_far(f, d);
  if (UNLIKELY(!region_unchanged(region, version) || answer == ANSWER_MAYBE))
    return contains_slow(f, d);
  return answer == ANSWER_YES && !denied;
}

/*
 * Queries again one by one where the table's answer is not valid or, as with the plain filter,
 * where a yes needs a closer look.
 */
static void concurrent_contains_batch(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  uint64_t again[BATCH_KEYS / 64];
  bool yes_too = needs_exact_match(sync);
  sync->query_table.ops->contains_many_shared(&sync->query_table, sync->regions, d, n, bitmap,
                                              again);
  yes_too |= needs_exact_match(sync);
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = again[i / 64] | (yes_too ? bitmap[i / 64] : 0); left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      bitmap[i / 64] &= ~(UINT64_C(1) << j);
      bool unsure = again[i / 64] >> j & 1,
           answer = unsure ? besom__concurrent_contains_far(f, d[i + j])
                           : besom__concurrent_contains(f, d[i + j]);
      bitmap[i / 64] |= (uint64_t)answer << j;
    }
}

void besom__concurrent_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += BATCH_KEYS)
    concurrent_contains_batch(f, d + i, n - i < BATCH_KEYS ? n - i : BATCH_KEYS, bitmap + i / 64);
}

void besom__concurrent_prefetch(const besom_filter *f, besom_digest d) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  const struct qtable *t = &sync->query_table;
  __builtin_prefetch(region_at(sync, target_prefetched(t, d, false, t->width).quotient));
}

besom_status besom__concurrent_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct read r;
  r.tries = 0;
  besom_status status;
  do {
    status = besom__aqf.query.count(concurrent_begin_read(&r, f, d), d, n);
    if (r.denied) *n = 0;
  } while (!concurrent_end_read(&r));
  return status;
}

besom_status besom__concurrent_get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct read r;
  r.tries = 0;
  besom_status status;
  uint64_t seen = 0;
  do {
    status = besom__aqf.query.get_value(concurrent_begin_read(&r, f, d), d, &seen);
    if (r.denied && status == BESOM_OK) status = BESOM_NOT_FOUND;
  } while (!concurrent_end_read(&r));
  if (status == BESOM_OK) *value = seen;
  return status;
}

besom_status besom__concurrent_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                       size_t cap, size_t *total) {
  struct read r;
  r.tries = 0;
  besom_status status;
  do {
    status = besom__aqf.store->matches(concurrent_begin_read(&r, f, d), d, out, cap, total);
    if (r.denied) *total = 0;
  } while (!concurrent_end_read(&r));
  return status;
}
