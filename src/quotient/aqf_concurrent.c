/*
 * aqf for several threads (concurrent.h): the plain operations of aqf.c, run on a *view*, a struct aqf of the caller's
 * own. The view's table ends where the locked regions do, and its numbers stand for what the caller may use; by how
 * much they differ afterwards is entered into the tally of the region.
 *
 * What concerns the whole filter locks all regions, sums the tallies, and runs the plain operation on the filter.
 */
#include "core/address.h"
#include "quotient/aqf_sync.h"
#include "quotient/match.h"
#include "quotient/multislot.h"
#include "quotient/walk.h"

#define MANY_COPIES \
  (UINT64_C(1) << 20) /* from here on an insert waits for all others: so no sum can overflow */
#define TRIES 16      /* of a query without a lock */
#define FETCH_AHEAD 32
#define SOME_KEYS 512 /* asked at a time */

static uint64_t quotient_of(const struct aqf_sync *sync, besom_digest d) {
  return address_of(d, sync->asked.slots).quotient;
}

/* The slots that the longest fingerprint has. */
static unsigned most_slots(const struct aqf *a) {
  return besom__fingerprint_slots(UINT64_C(1) << 62, MAX_EXTENSION, a->base.table.width);
}

/* ------------------------------------------------------------------ life */

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

/* A look at the run of a digest: to be repeated until it was a true one. */
struct look {
  struct aqf view; /* of which only the table and the marks are there */
  besom_digest mark;
  struct range range; /* locked, if not all could be seen otherwise */
  struct region *region;
  uint64_t version;
  unsigned tries;
  bool locked;
};

/* The run leaves the table's room, which ends with the region; or it takes an earlier region to find it. */
static bool leaves_region(const struct qtable *t, uint64_t quotient) {
  return block_offset(block_at(t, quotient / 64)) == OFFSET_SATURATED ||
         run_of(t, quotient).end >= t->room;
}

/* Gives the filter to ask, for this digest alone. */
static const besom_filter *look_at(struct look *l, const besom_filter *f, besom_digest d) {
  const struct aqf *a = const_aqf(f);
  struct qtable *t = &l->view.base.table;
  uint64_t quotient = quotient_of(a->sync, d);
  l->region = region_at(a->sync, quotient);
  l->version = region_version(l->region);
  for (; l->version & REGION_CHANGING && l->tries < TRIES; l->version = region_version(l->region))
    besom__wait(&l->tries);
  *t = a->sync->asked;
  t->room = room_within(&a->sync->asked, quotient / REGION_SLOTS + 1);
  l->locked = l->tries++ >= TRIES || leaves_region(t, quotient);
  if (l->locked) {
    besom__range_lock(&l->range, a->sync->regions, &a->sync->asked, quotient, false);
    t->room = room_within(&a->sync->asked, l->range.end);
  }
  l->mark = (besom_digest){d.hi, d.lo + !(d.hi | d.lo)}; /* as marks.c keeps it */
  l->view.exceptions =
      is_marked(a, d) ? (struct exception_set){&l->mark, 1, 1} : (struct exception_set){0};
  return &l->view.base.head;
}

static bool was_true(struct look *l) {
  if (!l->locked) return region_unchanged(l->region, l->version);
  besom__range_unlock(&l->range);
  return true;
}

/* Not inline, or its needs would burden the fast path. */
static __attribute__((noinline)) bool contains_by_look(const besom_filter *f, besom_digest d) {
  struct look l;
  l.tries = 0;
  bool answer;
  do {
    look_at(&l, f, d);
    struct matching m = besom__matching_start(&l.view.base.table, d);
    answer = !l.view.exceptions.count && besom__next_match(&m);
  } while (!was_true(&l));
  return answer;
}

/* Most runs are in the block of their quotient. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->sync->asked;
  struct region *region = region_at(a->sync, quotient_of(a->sync, d));
  uint64_t version = region_version(region);
  enum answer answer = t->ops->contains_in_block(t, d);
  bool marked = answer == ANSWER_YES && is_marked(a, d);
  bool known = (answer == ANSWER_NO) | (answer == ANSWER_YES);
  if (UNLIKELY(!region_unchanged(region, version) || !known)) return contains_by_look(f, d);
  return answer == ANSWER_YES && !marked;
}

/* Whether a remainder that is there may not be all that there is to see. */
static bool needs_second_look(const struct aqf_sync *sync) {
  return atomic_load_explicit(&sync->extended, memory_order_relaxed) ||
         atomic_load_explicit(&sync->marks, memory_order_relaxed);
}

/* Asks again where the table's answers are worth nothing, or, as with the plain filter, a yes could be wrong. */
static void contains_some(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  uint64_t again[SOME_KEYS / 64];
  bool yes_too = needs_second_look(sync);
  sync->asked.ops->contains_many_shared(&sync->asked, sync->regions, d, n, bitmap, again);
  yes_too |= needs_second_look(sync);
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = again[i / 64] | (yes_too ? bitmap[i / 64] : 0); left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      bitmap[i / 64] &= ~(UINT64_C(1) << j);
      bool unsure = again[i / 64] >> j & 1,
           answer = unsure ? contains_by_look(f, d[i + j]) : contains(f, d[i + j]);
      bitmap[i / 64] |= (uint64_t)answer << j;
    }
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += SOME_KEYS)
    contains_some(f, d + i, n - i < SOME_KEYS ? n - i : SOME_KEYS, bitmap + i / 64);
}

static besom_status count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct look l;
  l.tries = 0;
  besom_status status;
  do status = besom__aqf.count(look_at(&l, f, d), d, n);
  while (!was_true(&l));
  return status;
}

static besom_status get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct look l;
  l.tries = 0;
  besom_status status;
  uint64_t seen = 0;
  do status = besom__aqf.get_value(look_at(&l, f, d), d, &seen);
  while (!was_true(&l));
  if (status == BESOM_OK) *value = seen;
  return status;
}

static besom_status matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                            size_t *total) {
  struct look l;
  l.tries = 0;
  besom_status status;
  do status = besom__aqf.matches(look_at(&l, f, d), d, out, cap, total);
  while (!was_true(&l));
  return status;
}

/* ------------------------------------------------------------------ changes */

/* A change under way. */
struct change {
  struct aqf view;
  struct aqf *filter;
  struct range range;
  struct region *home;      /* the quotient's */
  uint64_t extension_slots; /* when it began */
  bool has_reserve, has_marks;
};

/* From now on others that extend fingerprints have to wait. No further regions can be locked. */
static void take_reserve(struct change *c) {
  struct aqf *view = &c->view;
  spin_lock(&c->filter->sync->reserve);
  c->has_reserve = true;
  uint64_t slots = atomic_load_explicit(&c->filter->sync->extension_slots, memory_order_relaxed);
  c->extension_slots += slots;
  view->counters.slots += slots;
  view->base.table.used += slots;
}

/* Fills what operations use of the view; the regions are locked. */
static void make_view(struct change *c) {
  struct aqf *view = &c->view, *a = c->filter;
  view->base.table = a->sync->asked;
  view->base.table.room = room_within(&a->sync->asked, c->range.end);
  view->base.head.items = SOME;
  view->base.head.capacity = SOME + c->home->room;
  view->counters.slots = c->extension_slots = 0;
  view->counters.tombstones = a->keep_tombstones ? SOME : 0;
  view->counters.no_entries = 0;
  view->exceptions = (struct exception_set){0};
  view->reserve = a->reserve;
  view->no_capacity = a->no_capacity;
  view->keep_tombstones = a->keep_tombstones;
  view->reverse = a->reverse;
  view->view_of = a->view_of;
}

/* Locks and makes the view. Without `now` queries go on. */
static besom_filter *take(struct change *c, besom_filter *f, uint64_t quotient, uint64_t slots,
                          bool now) {
  struct aqf *a = c->filter = aqf(f);
  besom__range_lock(&c->range, a->sync->regions, &a->sync->asked, quotient, now);
  besom__range_reach(&c->range, &a->sync->asked, quotient, slots);
  c->home = region_at(a->sync, quotient);
  c->has_reserve = c->has_marks = false;
  besom__borrow_room(a->sync, c->home, slots);
  make_view(c);
  return &c->view.base.head;
}

/* Up to `slots` may be opened, for members or, once the reserve is taken, for extensions. */
static besom_filter *begin(struct change *c, besom_filter *f, uint64_t quotient, uint64_t slots) {
  return take(c, f, quotient, slots, true);
}

/* For a change that looks at the mark of its key, and may take it away. */
static void take_mark(struct change *c, besom_digest d) {
  if (LIKELY(!is_marked(c->filter, d))) return;
  besom__lock_marks(c->filter->sync);
  c->has_marks = true;
  c->view.exceptions = c->filter->exceptions;
}

static void give_marks_back(struct change *c) {
  if (!c->has_marks) return;
  c->filter->exceptions = c->view.exceptions;
  c->has_marks = false;
  atomic_store_explicit(&c->filter->sync->marks, c->view.exceptions.count, memory_order_relaxed);
  besom__unlock_marks(c->filter->sync);
  c->view.exceptions = (struct exception_set){0};
}

static void enter_tally(struct change *c) {
  struct aqf_sync *sync = c->filter->sync;
  struct tally *tally = &c->home->tally;
  uint64_t members = member_slots(&c->view) - SOME,
           extension_slots = c->view.counters.slots - c->extension_slots;
  tally->items += c->view.base.head.items - SOME;
  tally->members += members;
  tally->further_slots += c->view.base.table.further_slots - SOME;
  tally->extended += c->view.base.table.extended - SOME;
  tally->tombstones += c->filter->keep_tombstones ? c->view.counters.tombstones - SOME : 0;
  c->home->room -= members;
  if (c->view.base.table.extended > SOME)
    atomic_store_explicit(&sync->extended, true, memory_order_relaxed);
  if (extension_slots)
    atomic_fetch_add_explicit(&sync->extension_slots, extension_slots, memory_order_relaxed);
}

/* Ends the change; gives the status back. */
static besom_status end(struct change *c, besom_status status) {
  struct aqf_sync *sync = c->filter->sync;
  enter_tally(c);
  besom__return_room(sync, c->home);
  give_marks_back(c);
  if (c->has_reserve) spin_unlock(&sync->reserve);
  besom__range_unlock(&c->range);
  return status;
}

/* ------------------------------------------------------------------ members */

/* When a region has no room: with that of all others. */
static besom_status insert_count_alone(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.insert_count(f, d, n);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct change c;
  if (n > MANY_COPIES) return insert_count_alone(f, d, n);
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), most_slots(aqf(f)));
  take_mark(&c, d);
  besom_status status = end(&c, besom__aqf.insert_count(view, d, n));
  return status == BESOM_FULL && may_have_room(aqf(f)->sync) ? insert_count_alone(f, d, n) : status;
}

/* A new fingerprint, if that can be seen from one region; false if nothing has happened. */
static bool insert_in_region(const struct aqf_sync *sync, besom_digest d, uint64_t quotient) {
  struct qtable t = sync->asked;
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
  if (UNLIKELY(!region->room)) besom__borrow_room(sync, region, 1);
  bool done = region->room && !is_marked(aqf(f), d) && insert_in_region(sync, d, quotient);
  if (LIKELY(done)) {
    region->room--;
    region->tally.items++;
    region->tally.members++;
  }
  region_unlock(region);
  return LIKELY(done) ? BESOM_OK : insert_count(f, d, 1);
}

/* Fetches the region, a block and the next: that far most inserts shift. */
static void prefetch_to_insert(const struct aqf_sync *sync, besom_digest d) {
  uint64_t quotient = approximate_quotient(d, sync->asked.slots);
  const uint8_t *block = block_at(&sync->asked, quotient / 64),
                *end = block + 2 * sync->asked.stride;
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

/* A tombstone can take a slot more than the member did. */
static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 1);
  if (aqf(f)->keep_tombstones) take_reserve(&c);
  take_mark(&c, d);
  return end(&c, besom__aqf.remove(view, d));
}

static besom_status set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  take_mark(&c, d);
  return end(&c, besom__aqf.set_value(view, d, value));
}

/* ------------------------------------------------------------------ in front of a store */

static besom_status bind(besom_filter *f, const besom_reverse *reverse) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.bind(f, reverse);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_at_alone(besom_filter *f, besom_digest d, uint64_t value,
                                    besom_match *match) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.insert_at(f, d, value, match);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_at(besom_filter *f, besom_digest d, uint64_t value, besom_match *match) {
  struct change c;
  besom_filter *view = begin(&c, f, quotient_of(aqf(f)->sync, d), 1);
  take_mark(&c, d);
  besom_status status = end(&c, besom__aqf.insert_at(view, d, value, match));
  return status == BESOM_FULL && may_have_room(aqf(f)->sync) ? insert_at_alone(f, d, value, match)
                                                             : status;
}

/* Whether there can be such a match; its quotient. */
static bool quotient_of_match(const besom_filter *f, besom_match match, uint64_t *quotient) {
  const struct qtable *t = &const_aqf(f)->sync->asked;
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

/* Locks what it takes that every match becomes as long as can be, and `more` slots are opened. */
static void reach_to_adapt(struct change *c, besom_digest d, unsigned more) {
  struct matching m = besom__matching_start(&c->view.base.table, d);
  uint64_t n = 0;
  while (besom__next_match(&m)) n++;
  besom__range_reach(&c->range, &c->filter->sync->asked, m.address.quotient,
                     n * most_slots(c->filter) + more);
  c->view.base.table.room = room_within(&c->filter->sync->asked, c->range.end);
}

static besom_status adapt_by_keys(struct change *c, besom_digest d) {
  reach_to_adapt(c, d, 0);
  take_reserve(c);
  return besom__aqf.adapt(&c->view.base.head, d);
}

static besom_status add_mark(struct aqf *a, besom_digest d) {
  besom__lock_marks(a->sync);
  besom_status status = besom__exceptions_add(&a->exceptions, &a->base.head.allocator, d,
                                              besom__aqf_exception_bytes(a));
  atomic_store_explicit(&a->sync->marks, a->exceptions.count, memory_order_relaxed);
  besom__unlock_marks(a->sync);
  return status;
}

static besom_status adapt(besom_filter *f, besom_digest d) {
  struct change c;
  struct aqf *a = aqf(f);
  bool bound = a->reverse.digest_of;
  if (is_marked(a, d)) return BESOM_OK;
  besom_filter *view = begin(&c, f, quotient_of(a->sync, d), 0);
  if (!besom__aqf.contains(view, d)) return end(&c, BESOM_OK);
  return end(&c, bound ? adapt_by_keys(&c, d) : add_mark(a, d));
}

/* With the key's region held: so an insert of the same key comes before or after, and takes the mark away if after. */
static besom_status no_add(besom_filter *f, besom_digest d) {
  struct change c;
  begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  return end(&c, add_mark(aqf(f), d));
}

static besom_status no_remove(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  besom__lock_marks(a->sync);
  bool was_there = besom__exceptions_remove(&a->exceptions, d);
  atomic_store_explicit(&a->sync->marks, a->exceptions.count, memory_order_relaxed);
  besom__unlock_marks(a->sync);
  return was_there ? BESOM_OK : BESOM_NOT_FOUND;
}

/* ------------------------------------------------------------------ several operations on a key in a row */

/*
 * What work gets for with_key: a change, taken without stopping queries, which each of the operations does for itself.
 * Or if that turns out to have too little room, the whole filter, locked; the view is only the way to it then.
 */
struct held {
  struct change change; /* begins with the view */
  bool whole;
};

static struct held *held(besom_filter *view) {
  return (struct held *)view;
}

static void begin_change(struct held *h) {
  for (uint64_t i = h->change.range.first; !h->whole && i < h->change.range.end; i++)
    region_begin_change(&h->change.range.regions[i]);
}

static besom_status end_change(struct held *h, besom_status status) {
  for (uint64_t i = h->change.range.first; !h->whole && i < h->change.range.end; i++)
    region_end_change(&h->change.range.regions[i]);
  return status;
}

/* The filter for the plain operations. */
static besom_filter *plain_of(struct held *h) {
  return h->whole ? &h->change.filter->base.head : &h->change.view.base.head;
}

static besom_status matches_held(const besom_filter *view, besom_digest d, besom_match *out,
                                 size_t cap, size_t *total) {
  struct held *h = (struct held *)(uintptr_t)view;
  *total = 0;
  if (!h->whole && is_marked(h->change.filter, d)) return BESOM_OK;
  return besom__aqf.matches(plain_of(h), d, out, cap, total);
}

static besom_status insert_at_held(besom_filter *view, besom_digest d, uint64_t value,
                                   besom_match *match) {
  struct held *h = held(view);
  begin_change(h);
  if (!h->whole) take_mark(&h->change, d);
  besom_status status = besom__aqf.insert_at(plain_of(h), d, value, match);
  if (!h->whole) give_marks_back(&h->change);
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
  reach_to_adapt(&h.change, d, most_slots(aqf(f)));
  view->kind = &kind_held;
  besom_status status = end(&h.change, work(ctx, view));
  return status == BESOM_FULL && may_have_room(aqf(f)->sync) ? with_whole(f, work, ctx) : status;
}

/* ------------------------------------------------------------------ whole filters */

static void hold(const besom_filter *f) {
  besom__lock_all(f, false);
}

static void let_go(const besom_filter *f) {
  besom__unlock_all(const_aqf(f));
}

/* Queries go on, so that the marks must stay: the plain operation gets a filter that has none to take out. */
static besom_status resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                bool *finished) {
  struct aqf without_marks = *aqf(f);
  without_marks.exceptions = (struct exception_set){0};
  besom_status status = besom__aqf.resize_step(fresh, &without_marks.base.head, max, finished);
  if (status != BESOM_OK || !*finished) return status;
  return besom__exceptions_copy(&aqf(fresh)->exceptions, &aqf(f)->exceptions, &fresh->allocator);
}

static void iter_start(const besom_filter *f, besom_iter *iter) {
  hold(f);
  besom__aqf.iter_start(f, iter);
  let_go(f);
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
    .pause_writers = hold,
    .resume_writers = let_go,
    .save = save,
};
