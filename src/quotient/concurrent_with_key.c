/*
 * The operation with_key of the concurrent aqf: several operations on one bucket, during which no
 * other thread changes the bucket.
 */
#include "quotient/concurrent_aqf.h"

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
  if (!h->whole) besom__take_exceptions(&h->change, d);
  besom_status status = besom__aqf.insert_at(plain_of(h), d, value, match);
  if (!h->whole) besom__release_exceptions(&h->change);
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
  if (!h->whole && !h->change.has_reserve) besom__take_reserve(&h->change);
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

besom_status besom__concurrent_with_key(besom_filter *f, besom_digest d,
                                        besom_status (*work)(void *ctx, besom_filter *view),
                                        void *ctx) {
  struct held h = {.whole = false};
  besom_filter *view = besom__view_take(&h.change, f, quotient_of(aqf(f)->sync, d), 1, false);
  besom__lock_to_adapt(&h.change, d, most_slots(aqf(f)));
  view->kind = &kind_held;
  besom_status status = besom__view_end(&h.change, work(ctx, view));
  return status == BESOM_FULL && may_have_free_slots(aqf(f)->sync) ? with_whole(f, work, ctx)
                                                                   : status;
}
