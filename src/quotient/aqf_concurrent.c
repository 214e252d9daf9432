/*
 * The thread-safe aqf (table_regions.h): the plain operations of aqf.c, run on a *view*, a struct
 * aqf on the caller's stack. The view's table ends where the locked regions do, and its counters
 * stand for what the caller may use. Their differences afterwards are added to the region's deltas.
 *
 * An operation on the whole filter locks all regions, sums the deltas, and runs the plain operation
 * on the filter.
 */
#include "core/address.h"
#include "quotient/aqf_sync.h"
#include "quotient/match.h"
#include "quotient/multislot.h"
#include "quotient/walk.h"

#define MANY_COPIES (UINT64_C(1) << 20) /* above, an insert locks everything: no sum overflows */
#define TRIES 16                        /* of a query without a lock */
#define FETCH_AHEAD 32                  /* keys whose blocks are prefetched */
#define BATCH_KEYS 512                  /* queries per call of the table */

static uint64_t quotient_of(const struct aqf_sync *sync, besom_digest d) {
  return address_of(d, sync->query_table.slots).quotient;
}

/* The number of slots of the longest fingerprint. */
static unsigned most_slots(const struct aqf *a) {
  return besom__fingerprint_slots(UINT64_C(1) << 62, MAX_EXTENSION, a->base.table.width);
}

/* ------------------------------------------------------------------ creation */

static void destroy(besom_filter *f) {
  besom__sync_free(aqf(f)->sync, &f->allocator);
  besom__aqf.destroy(f);
}

static besom_status share(besom_filter *f, const besom_filter *known) {
  struct aqf *a = aqf(f);
  a->sync = besom__sync_new(&f->allocator, regions_of(a->base.table.slots));
  if (!a->sync) return BESOM_NO_MEMORY;
  f->kind = &besom__aqf_concurrent;
  a->view_of = known;
  besom__sync_start(a);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

/* An optimistic read of the run of a digest: repeated until it is valid. */
struct read {
  struct aqf view; /* only its table and exceptions are set */
  besom_digest exception;
  struct locked_regions locks; /* if `locked` */
  struct region *region;
  uint64_t version;
  unsigned tries;
  bool locked;
};

/*
 * Whether the run leaves the table's room, which ends with the region, or an earlier region is
 * needed to find it.
 */
static bool leaves_region(const struct qtable *t, uint64_t quotient) {
  return block_offset(block_at(t, quotient / 64)) == OFFSET_SATURATED ||
         run_of(t, quotient).end >= t->room;
}

/* Returns the filter to query, for this digest only. */
static const besom_filter *begin_read(struct read *r, const besom_filter *f, besom_digest d) {
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
    besom__lock_regions(&r->locks, a->sync->regions, &a->sync->query_table, quotient, false);
    t->room = room_within(&a->sync->query_table, r->locks.end);
  }
  r->exception = (besom_digest){d.hi, d.lo + !(d.hi | d.lo)}; /* as the side table stores it */
  r->view.exceptions =
      is_exception(a, d) ? (struct exception_set){&r->exception, 1, 1} : (struct exception_set){0};
  return &r->view.base.head;
}

static bool end_read(struct read *r) {
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
    begin_read(&r, f, d);
    struct matching m = besom__matching_start(&r.view.base.table, d);
    answer = !r.view.exceptions.count && besom__next_match(&m);
  } while (!end_read(&r));
  return answer;
}

/* Most runs are in the block of their quotient. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->sync->query_table;
  struct region *region = region_at(a->sync, quotient_of(a->sync, d));
  uint64_t version = region_version(region);
  enum answer answer = t->ops->contains_in_block(t, d);
  bool denied = answer == ANSWER_YES && is_exception(a, d);
  bool known = (answer == ANSWER_NO) | (answer == ANSWER_YES);
  if (UNLIKELY(!region_unchanged(region, version) || !known)) return contains_slow(f, d);
  return answer == ANSWER_YES && !denied;
}

/* Whether a matching remainder may still be answered no. */
static bool needs_exact_match(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->extended, memory_order_relaxed) ||
         atomic_load_explicit(&sync->exceptions, memory_order_relaxed);
}

/*
 * Queries again one by one where the table's answer is not valid or, as with the plain filter,
 * where a yes needs a closer look.
 */
static void contains_batch(const besom_filter *f, const besom_digest *d, size_t n,
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
           answer = unsure ? contains_slow(f, d[i + j]) : contains(f, d[i + j]);
      bitmap[i / 64] |= (uint64_t)answer << j;
    }
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += BATCH_KEYS)
    contains_batch(f, d + i, n - i < BATCH_KEYS ? n - i : BATCH_KEYS, bitmap + i / 64);
}

static besom_status count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct read r;
  r.tries = 0;
  besom_status status;
  do status = besom__aqf.count(begin_read(&r, f, d), d, n);
  while (!end_read(&r));
  return status;
}

static besom_status get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct read r;
  r.tries = 0;
  besom_status status;
  uint64_t seen = 0;
  do status = besom__aqf.get_value(begin_read(&r, f, d), d, &seen);
  while (!end_read(&r));
  if (status == BESOM_OK) *value = seen;
  return status;
}

static besom_status matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                            size_t *total) {
  struct read r;
  r.tries = 0;
  besom_status status;
  do status = besom__aqf.matches(begin_read(&r, f, d), d, out, cap, total);
  while (!end_read(&r));
  return status;
}

/* ------------------------------------------------------------------ changes */

/* A change in progress. */
struct change {
  struct aqf view;
  struct aqf *filter;
  struct locked_regions locks;
  struct region *home;      /* the region of the quotient */
  uint64_t extension_slots; /* at its beginning */
  bool has_reserve, has_exceptions;
};

/* Other threads that extend fingerprints wait from now on. No further region may be locked. */
static void take_reserve(struct change *c) {
  struct aqf *view = &c->view;
  spin_lock(&c->filter->sync->reserve);
  c->has_reserve = true;
  uint64_t slots = atomic_load_explicit(&c->filter->sync->extension_slots, memory_order_relaxed);
  c->extension_slots += slots;
  view->counters.slots += slots;
  view->base.table.used += slots;
}

/* Sets the members of the view that operations use. The regions are locked. */
static void make_view(struct change *c) {
  struct aqf *view = &c->view, *a = c->filter;
  view->base.table = a->sync->query_table;
  view->base.table.room = room_within(&a->sync->query_table, c->locks.end);
  view->base.head.items = UNKNOWN_COUNT;
  view->base.head.capacity = UNKNOWN_COUNT + c->home->credit;
  view->counters.slots = c->extension_slots = 0;
  view->counters.tombstones = a->keep_tombstones ? UNKNOWN_COUNT : 0;
  view->counters.no_entries = 0;
  view->exceptions = (struct exception_set){0};
  view->reserve = a->reserve;
  view->no_capacity = a->no_capacity;
  view->keep_tombstones = a->keep_tombstones;
  view->reverse = a->reverse;
  view->view_of = a->view_of;
}

/* Locks the regions and makes the view. Without `change` queries go on. */
static besom_filter *take(struct change *c, besom_filter *f, uint64_t quotient, uint64_t slots,
                          bool change) {
  struct aqf *a = c->filter = aqf(f);
  besom__lock_regions(&c->locks, a->sync->regions, &a->sync->query_table, quotient, change);
  besom__lock_regions_to(&c->locks, &a->sync->query_table, quotient, slots);
  c->home = region_at(a->sync, quotient);
  c->has_reserve = c->has_exceptions = false;
  besom__take_credit(a->sync, c->home, slots);
  make_view(c);
  return &c->view.base.head;
}

/* Up to `slots` slots may be inserted: for members or, with the reserve, for extensions. */
static besom_filter *begin(struct change *c, besom_filter *f, uint64_t quotient, uint64_t slots) {
  return take(c, f, quotient, slots, true);
}

/* For a change that reads the exception of its key and may remove it. */
static void take_exceptions(struct change *c, besom_digest d) {
  if (LIKELY(!is_exception(c->filter, d))) return;
  besom__lock_exceptions(c->filter->sync);
  c->has_exceptions = true;
  c->view.exceptions = c->filter->exceptions;
}

static void release_exceptions(struct change *c) {
  if (!c->has_exceptions) return;
  c->filter->exceptions = c->view.exceptions;
  c->has_exceptions = false;
  atomic_store_explicit(&c->filter->sync->exceptions, c->view.exceptions.count,
                        memory_order_relaxed);
  besom__unlock_exceptions(c->filter->sync);
  c->view.exceptions = (struct exception_set){0};
}

static void add_deltas(struct change *c) {
  struct aqf_sync *sync = c->filter->sync;
  struct counter_deltas *deltas = &c->home->deltas;
  uint64_t members = member_slots(&c->view) - UNKNOWN_COUNT,
           extension_slots = c->view.counters.slots - c->extension_slots;
  deltas->items += c->view.base.head.items - UNKNOWN_COUNT;
  deltas->members += members;
  deltas->further_slots += c->view.base.table.further_slots - UNKNOWN_COUNT;
  deltas->extended += c->view.base.table.extended - UNKNOWN_COUNT;
  deltas->tombstones +=
      c->filter->keep_tombstones ? c->view.counters.tombstones - UNKNOWN_COUNT : 0;
  c->home->credit -= members;
  if (c->view.base.table.extended > UNKNOWN_COUNT)
    atomic_store_explicit(&sync->extended, true, memory_order_relaxed);
  if (extension_slots)
    atomic_fetch_add_explicit(&sync->extension_slots, extension_slots, memory_order_relaxed);
}

/* Ends the change and returns the status. */
static besom_status end(struct change *c, besom_status status) {
  struct aqf_sync *sync = c->filter->sync;
  add_deltas(c);
  besom__return_credit(sync, c->home);
  release_exceptions(c);
  if (c->has_reserve) spin_unlock(&sync->reserve);
  besom__unlock_regions(&c->locks);
  return status;
}

/* ------------------------------------------------------------------ members */

/* If a region has no credit left: with that of all regions. */
static besom_status insert_count_exclusive(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.insert_count(f, d, n);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct change c;
  if (n > MANY_COPIES) return insert_count_exclusive(f, d, n);
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), most_slots(aqf(f)));
  take_exceptions(&c, d);
  besom_status status = end(&c, besom__aqf.insert_count(view, d, n));
  return status == BESOM_FULL && may_have_free_slots(aqf(f)->sync) ? insert_count_exclusive(f, d, n)
                                                                   : status;
}

/* Adds a fingerprint if one region is enough for that; false if nothing changed. */
static bool insert_in_region(const struct aqf_sync *sync, besom_digest d, uint64_t quotient) {
  struct qtable t = sync->query_table;
  bool present = false;
  if (block_offset(block_at(&t, quotient / 64)) == OFFSET_SATURATED) return false;
  t.room = room_within(&t, quotient / REGION_SLOTS + 1);
  return t.ops->insert(&t, d, &present) == BESOM_OK && !present;
}

static besom_status insert(besom_filter *f, besom_digest d) {
  struct aqf_sync *sync = aqf(f)->sync;
  uint64_t quotient = quotient_of(sync, d);
  struct region *region = region_at(sync, quotient);
  region_lock(region, true);
  if (UNLIKELY(!region->credit)) besom__take_credit(sync, region, 1);
  bool done = region->credit && !is_exception(aqf(f), d) && insert_in_region(sync, d, quotient);
  if (LIKELY(done)) {
    region->credit--;
    region->deltas.items++;
    region->deltas.members++;
  }
  region_unlock(region);
  return LIKELY(done) ? BESOM_OK : insert_count(f, d, 1);
}

/* Prefetches the region, a block and the next one: most inserts shift no further. */
static void prefetch_to_insert(const struct aqf_sync *sync, besom_digest d) {
  uint64_t quotient = approximate_quotient(d, sync->query_table.slots);
  const uint8_t *block = block_at(&sync->query_table, quotient / 64),
                *end = block + 2 * sync->query_table.stride;
  __builtin_prefetch(region_at(sync, quotient), 1);
  for (; block < end; block += CACHE_LINE) __builtin_prefetch(block, 1);
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  const struct aqf_sync *sync = aqf(f)->sync;
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) prefetch_to_insert(sync, d[i]);
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK) {
    if (*done + FETCH_AHEAD < n) prefetch_to_insert(sync, d[*done + FETCH_AHEAD]);
    status = insert(f, d[*done]);
  }
  return status;
}

/* A tombstone may take one slot more than the member did. */
static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 1);
  if (aqf(f)->keep_tombstones) take_reserve(&c);
  take_exceptions(&c, d);
  return end(&c, besom__aqf.remove(view, d));
}

static besom_status set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  take_exceptions(&c, d);
  return end(&c, besom__aqf.set_value(view, d, value));
}

/* ------------------------------------------------------------------ in front of a store */

static besom_status bind(besom_filter *f, const besom_reverse *reverse) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.bind(f, reverse);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_at_exclusive(besom_filter *f, besom_digest d, uint64_t value,
                                        besom_match *match) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.insert_at(f, d, value, match);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_at(besom_filter *f, besom_digest d, uint64_t value, besom_match *match) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 1);
  take_exceptions(&c, d);
  besom_status status = end(&c, besom__aqf.insert_at(view, d, value, match));
  return status == BESOM_FULL && may_have_free_slots(aqf(f)->sync)
             ? insert_at_exclusive(f, d, value, match)
             : status;
}

/* Whether the match is in range; *quotient: its quotient. */
static bool quotient_of_match(const besom_filter *f, besom_match match, uint64_t *quotient) {
  const struct qtable *t = &const_aqf(f)->sync->query_table;
  *quotient = match.bucket >> t->width % 64;
  return has_buckets(t) && *quotient < t->slots;
}

static besom_status remove_at(besom_filter *f, besom_match match) {
  struct change c;
  uint64_t quotient;
  if (!quotient_of_match(f, match, &quotient)) return BESOM_NOT_FOUND;
  besom_filter *view = begin(&c, f, quotient, 0);
  return end(&c, besom__aqf.remove_at(view, match));
}

static besom_status adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                             besom_digest stored) {
  struct change c;
  uint64_t quotient;
  if (!quotient_of_match(f, match, &quotient)) return BESOM_NOT_FOUND;
  besom_filter *view = begin(&c, f, quotient, most_slots(aqf(f)));
  take_reserve(&c);
  return end(&c, besom__aqf.adapt_at(view, offender, match, stored));
}

/* ------------------------------------------------------------------ adapting */

/* Locks enough to give every match its greatest length and to insert `more` slots. */
static void lock_to_adapt(struct change *c, besom_digest d, unsigned more) {
  struct matching m = besom__matching_start(&c->view.base.table, d);
  uint64_t n = 0;
  while (besom__next_match(&m)) n++;
  besom__lock_regions_to(&c->locks, &c->filter->sync->query_table, m.address.quotient,
                         n * most_slots(c->filter) + more);
  c->view.base.table.room = room_within(&c->filter->sync->query_table, c->locks.end);
}

static besom_status adapt_by_keys(struct change *c, besom_digest d) {
  lock_to_adapt(c, d, 0);
  take_reserve(c);
  return besom__aqf.adapt(&c->view.base.head, d);
}

static besom_status add_exception(struct aqf *a, besom_digest d) {
  besom__lock_exceptions(a->sync);
  besom_status status = besom__exceptions_add(&a->exceptions, &a->base.head.allocator, d,
                                              besom__aqf_exception_bytes(a));
  atomic_store_explicit(&a->sync->exceptions, a->exceptions.count, memory_order_relaxed);
  besom__unlock_exceptions(a->sync);
  return status;
}

static besom_status adapt(besom_filter *f, besom_digest d) {
  struct change c;
  struct aqf *a = aqf(f);
  bool bound = a->reverse.digest_of;
  if (is_exception(a, d)) return BESOM_OK;
  besom_filter *view = begin(&c, f, quotient_of(a->sync, d), 0);
  if (!besom__aqf.contains(view, d)) return end(&c, BESOM_OK);
  return end(&c, bound ? adapt_by_keys(&c, d) : add_exception(a, d));
}

/*
 * Holds the lock of the key's region: so an insert of the same key comes before or after, and
 * removes the exception if it comes after.
 */
static besom_status no_add(besom_filter *f, besom_digest d) {
  struct change c;
  begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  return end(&c, add_exception(aqf(f), d));
}

static besom_status no_remove(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  besom__lock_exceptions(a->sync);
  bool was_there = besom__exceptions_remove(&a->exceptions, d);
  atomic_store_explicit(&a->sync->exceptions, a->exceptions.count, memory_order_relaxed);
  besom__unlock_exceptions(a->sync);
  return was_there ? BESOM_OK : BESOM_NOT_FOUND;
}

/* ------------------------------------------------------------------ operations on one key */

/*
 * What with_key passes to `work`: a change that does not stop queries; each operation stops them
 * itself. Or, if that finds too few free slots, the whole filter, locked; then the view only leads
 * to it.
 */
struct held {
  struct change change; /* its first member is the view */
  bool whole;
};

static struct held *held(besom_filter *view) {
  return (struct held *)view;
}

static void begin_change(struct held *h) {
  for (uint64_t i = h->change.locks.first; !h->whole && i < h->change.locks.end; i++)
    region_begin_change(&h->change.locks.regions[i]);
}

static besom_status end_change(struct held *h, besom_status status) {
  for (uint64_t i = h->change.locks.first; !h->whole && i < h->change.locks.end; i++)
    region_end_change(&h->change.locks.regions[i]);
  return status;
}

/* The filter that the plain operations use. */
static besom_filter *plain_of(struct held *h) {
  return h->whole ? &h->change.filter->base.head : &h->change.view.base.head;
}

static besom_status matches_held(const besom_filter *view, besom_digest d, besom_match *out,
                                 size_t cap, size_t *total) {
  struct held *h = (struct held *)(uintptr_t)view;
  *total = 0;
  if (!h->whole && is_exception(h->change.filter, d)) return BESOM_OK;
  return besom__aqf.matches(plain_of(h), d, out, cap, total);
}

static besom_status insert_at_held(besom_filter *view, besom_digest d, uint64_t value,
                                   besom_match *match) {
  struct held *h = held(view);
  begin_change(h);
  if (!h->whole) take_exceptions(&h->change, d);
  besom_status status = besom__aqf.insert_at(plain_of(h), d, value, match);
  if (!h->whole) release_exceptions(&h->change);
  return end_change(h, status);
}

static besom_status remove_at_held(besom_filter *view, besom_match match) {
  struct held *h = held(view);
  begin_change(h);
  return end_change(h, besom__aqf.remove_at(plain_of(h), match));
}

static besom_status adapt_at_held(besom_filter *view, besom_digest offender, besom_match match,
                                  besom_digest stored) {
  struct held *h = held(view);
  begin_change(h);
  if (!h->whole && !h->change.has_reserve) take_reserve(&h->change);
  return end_change(h, besom__aqf.adapt_at(plain_of(h), offender, match, stored));
}

static const struct besom_kind kind_held = {
    .info = {AQF_NAME, AQF_SUMMARY, AQF_ABILITIES},
    .matches = matches_held,
    .insert_at = insert_at_held,
    .remove_at = remove_at_held,
    .adapt_at = adapt_at_held,
};

static besom_status with_whole(besom_filter *f, besom_status (*work)(void *ctx, besom_filter *view),
                               void *ctx) {
  struct held h = {.change.filter = besom__lock_all(f, true), .whole = true};
  h.change.view.base.head.kind = &kind_held;
  besom_status status = work(ctx, &h.change.view.base.head);
  besom__unlock_all(h.change.filter);
  return status;
}

static besom_status with_key(besom_filter *f, besom_digest d,
                             besom_status (*work)(void *ctx, besom_filter *view), void *ctx) {
  struct held h = {.whole = false};
  besom_filter *view = take(&h.change, f, quotient_of(aqf(f)->sync, d), 1, false);
  lock_to_adapt(&h.change, d, most_slots(aqf(f)));
  view->kind = &kind_held;
  besom_status status = end(&h.change, work(ctx, view));
  return status == BESOM_FULL && may_have_free_slots(aqf(f)->sync) ? with_whole(f, work, ctx)
                                                                   : status;
}

/* ------------------------------------------------------------------ whole filters */

static void lock_filter(const besom_filter *f) {
  besom__lock_all(f, false);
}

static void unlock_filter(const besom_filter *f) {
  besom__unlock_all(const_aqf(f));
}

/*
 * Queries go on, so the exceptions must stay: the plain operation gets a copy of the filter without
 * any to remove.
 */
static besom_status resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                bool *finished) {
  struct aqf without_exceptions = *aqf(f);
  without_exceptions.exceptions = (struct exception_set){0};
  besom_status status = besom__aqf.resize_step(fresh, &without_exceptions.base.head, max, finished);
  if (status != BESOM_OK || !*finished) return status;
  return besom__exceptions_copy(&aqf(fresh)->exceptions, &aqf(f)->exceptions, &fresh->allocator);
}

static void iter_start(const besom_filter *f, besom_iter *iter) {
  lock_filter(f);
  besom__aqf.iter_start(f, iter);
  unlock_filter(f);
}

static void stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  besom__aqf.stats(f, out);
  s->bytes += const_aqf(f)->sync->size;
}

static const char *validate(const besom_filter *f) {
  return besom__aqf.validate(f);
}

static void save(const besom_filter *f, struct sections_out *out) {
  besom__aqf.save(f, out);
}

const struct besom_kind besom__aqf_concurrent = {
    .info = {AQF_NAME, AQF_SUMMARY, AQF_ABILITIES},
    .size = sizeof(struct aqf),
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .insert_count = insert_count,
    .remove = remove_key,
    .count = count,
    .adapt = adapt,
    .no_add = no_add,
    .no_remove = no_remove,
    .get_value = get_value,
    .set_value = set_value,
    .bind = bind,
    .matches = matches,
    .insert_at = insert_at,
    .remove_at = remove_at,
    .adapt_at = adapt_at,
    .resize_step = resize_step,
    .iter_start = iter_start,
    .iter_next = besom__quotient_iter_next,
    .stats = stats,
    .validate = validate,
    .share = share,
    .with_key = with_key,
    .pause_writers = lock_filter,
    .resume_writers = unlock_filter,
    .save = save,
};
