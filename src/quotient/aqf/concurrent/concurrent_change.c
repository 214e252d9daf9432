#include "exceptions/reports.h"
#include "quotient/aqf/concurrent/concurrent_aqf.h"
#include "quotient/fingerprint/match.h"

void besom__take_reserve(struct change *c) {
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
  view->counters.tombstones = a->options.keep_tombstones ? UNKNOWN_COUNT : 0;
  view->counters.no_entries = 0;
  view->counters.extensions = false;
  view->reserve = a->reserve;
  view->options = a->options;
  view->reverse = a->reverse;
  view->view_of = a->view_of;
}

besom_filter *besom__view_begin(struct change *c, besom_filter *f, uint64_t quotient,
                                uint64_t slots) {
  struct aqf *a = c->filter = aqf(f);
  become_writer(a->sync);
  besom__lock_regions(&c->locks, a->sync->regions, &a->sync->query_table, quotient, true);
  besom__lock_regions_to(&c->locks, &a->sync->query_table, quotient, slots);
  c->home = region_at(a->sync, quotient);
  c->has_reserve = c->has_exceptions = false;
  besom__take_credit(a->sync, c->home, slots);
  make_view(c);
  return &c->view.base.head;
}

void besom__take_exceptions(struct change *c, besom_digest d) {
  if (LIKELY(!is_exception(c->filter, d))) return;
  besom__lock_exceptions(c->filter->sync);
  c->has_exceptions = true;
}

besom_status besom__release_exceptions(struct change *c, besom_digest d, besom_status status) {
  if (!c->has_exceptions) return status;
  struct exception_set *m = c->filter->base.head.exceptions;
  if (status == BESOM_OK) besom__exceptions_remove(m, d, false);
  c->has_exceptions = false;
  atomic_store_explicit(&c->filter->sync->exceptions, m->count, memory_order_relaxed);
  besom__unlock_exceptions(c->filter->sync);
  return status;
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
      c->filter->options.keep_tombstones ? c->view.counters.tombstones - UNKNOWN_COUNT : 0;
  c->home->credit -= members;
  if (c->view.base.table.extended > UNKNOWN_COUNT)
    atomic_store_explicit(&sync->extended, true, memory_order_relaxed);
  if (c->view.counters.extensions)
    atomic_store_explicit(&sync->has_extensions, true, memory_order_relaxed);
  if (c->view.base.table.further_slots > UNKNOWN_COUNT)
    atomic_store_explicit(&sync->has_further_slots, true, memory_order_relaxed);
  if (extension_slots)
    atomic_fetch_add_explicit(&sync->extension_slots, extension_slots, memory_order_relaxed);
}

besom_status besom__view_end(struct change *c, besom_status status) {
  struct aqf_sync *sync = c->filter->sync;
  add_deltas(c);
  besom__return_credit(sync, c->home);
  if (c->has_reserve) spin_unlock(&sync->reserve);
  besom__unlock_regions(&c->locks);
  return status;
}

void besom__lock_to_adapt(struct change *c, besom_digest d) {
  struct matching m = besom__matching_start(&c->view.base.table, d);
  uint64_t n = 0;
  while (besom__next_match(&m)) n++;
  besom__lock_regions_to(&c->locks, &c->filter->sync->query_table, m.address.quotient,
                         n * most_slots(c->filter));
  c->view.base.table.room = room_within(&c->filter->sync->query_table, c->locks.end);
}
