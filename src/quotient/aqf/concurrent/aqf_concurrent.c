/*
 * The thread-safe aqf (table_regions.h): the plain operations of aqf.c, run on a *view*, a struct
 * aqf on the caller's stack (concurrent_aqf.h). concurrent_queries.c has the queries,
 * concurrent_calls.c the calls that must be fast.
 *
 * An operation on the whole filter locks all regions, sums the deltas, and runs the plain operation
 * on the filter.
 */
#include "exceptions/reports.h"
#include "quotient/aqf/concurrent/concurrent_aqf.h"
#include "quotient/aqf/concurrent/concurrent_calls.h"
#include "quotient/fingerprint/match.h"
#include "quotient/quotient_calls.h"
#include "quotient/table/walk.h"

#define MANY_COPIES (UINT64_C(1) << 20) /* above, an insert locks everything: no sum overflows */

/* ------------------------------------------------------------------ creation */

static void concurrent_destroy(besom_filter *f) {
  besom__sync_free(aqf(f)->sync, &f->allocator);
  besom__aqf.destroy(f);
}

static besom_status concurrent_share(besom_filter *f, const besom_filter *known) {
  struct aqf *a = aqf(f);
  a->sync = besom__sync_new(&f->allocator, regions_of(a->base.table.slots));
  if (!a->sync) return BESOM_NO_MEMORY;
  if (!besom__reports_set(f)) {
    besom__sync_free(a->sync, &f->allocator);
    return BESOM_NO_MEMORY;
  }
  f->kind = &besom__aqf_concurrent;
  a->view_of = known;
  besom__sync_start(a);
  return BESOM_OK;
}

static const struct query_calls *concurrent_query_calls(const besom_filter *f) {
  return f->hasher.id == HASH_XXH3 ? &const_aqf(f)->sync->query_table.ops->concurrent_calls->queries
                                   : NULL;
}

/* Tables with values, or with whole slots, have no calls of their own. */
static bool has_insert_calls(const struct qtable *t) {
  return !t->value_bits && has_constant_offsets(t);
}

/* NULL if there are none. */
static const struct concurrent_calls *calls_to_change(const besom_filter *f) {
  const struct qtable *t = &const_aqf(f)->sync->query_table;
  return f->hasher.id == HASH_XXH3 && has_insert_calls(t) ? t->ops->concurrent_calls : NULL;
}

static const struct insert_calls *concurrent_insert_calls(const besom_filter *f) {
  const struct concurrent_calls *calls = calls_to_change(f);
  return calls ? &calls->inserts : NULL;
}

static const struct remove_calls *concurrent_remove_calls(const besom_filter *f) {
  const struct concurrent_calls *calls = calls_to_change(f);
  return calls ? &calls->removes : NULL;
}

/* ------------------------------------------------------------------ members */

/* If a region has no credit left: with that of all regions. */
static besom_status insert_count_exclusive(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.change->insert_count(f, d, n);
  if (status == BESOM_OK) besom__reports_remove(f, d, false);
  besom__unlock_all(a);
  return status;
}

static besom_status concurrent_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct change c;
  if (n > MANY_COPIES) return insert_count_exclusive(f, d, n);
  besom_filter *view = besom__view_begin(&c, f, quotient_of(aqf(f)->sync, d), most_slots(aqf(f)));
  besom__take_exceptions(&c, d);
  besom_status status = besom__aqf.change->insert_count(view, d, n);
  besom__view_end(&c, besom__release_exceptions(&c, d, status));
  return status == BESOM_FULL && may_have_free_slots(aqf(f)->sync) ? insert_count_exclusive(f, d, n)
                                                                   : status;
}

/*
 * Adds a fingerprint if one region, which is locked, is enough for that. Returns false if nothing
 * changed. With `far` insert_in_block was tried before.
 */
static bool insert_in_region(const struct aqf_sync *sync, besom_digest d, bool far) {
  struct qtable t = sync->query_table;
  struct address at = address_of(d, t.slots);
  bool present = false;
  if (block_offset(block_at(&t, at.quotient / 64)) == OFFSET_SATURATED) return false;
  t.room = room_within(&t, at.quotient / REGION_SLOTS + 1);
  besom_status status =
      far ? t.ops->insert_far(&t, at.quotient, remainder_of(at, t.width), &present)
          : t.ops->insert(&t, d, &present);
  return status == BESOM_OK && !present;
}

/* The region is locked for a change, and is unlocked then. Returns false if nothing changed. */
static bool insert_locked(besom_filter *f, besom_digest d, struct region *region, bool far) {
  struct aqf_sync *sync = aqf(f)->sync;
  if (UNLIKELY(!region->credit)) besom__take_credit(sync, region, 1);
  bool done = region->credit && !is_exception(aqf(f), d) && insert_in_region(sync, d, far);
  if (LIKELY(done)) {
    region->credit--;
    region->deltas.inserted++;
  }
  region_unlock(region);
  return done;
}

bool besom__insert_far_locked(besom_filter *f, besom_digest d, struct region *region) {
  return insert_locked(f, d, region, true);
}

besom_status besom__insert_anywhere(besom_filter *f, besom_digest d) {
  return concurrent_insert_count(f, d, 1);
}

static besom_status concurrent_insert(besom_filter *f, besom_digest d) {
  struct aqf_sync *sync = aqf(f)->sync;
  struct region *region = region_at(sync, quotient_of(sync, d));
  become_writer(sync);
  region_lock(region, true);
  return LIKELY(insert_locked(f, d, region, false)) ? BESOM_OK : concurrent_insert_count(f, d, 1);
}

static besom_status concurrent_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                           size_t *done) {
  const struct qtable *t = &aqf(f)->sync->query_table;
  if (LIKELY(has_insert_calls(t))) return t->ops->concurrent_calls->insert_many(f, d, n, done);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK)
    status = concurrent_insert(f, d[*done]);
  return status;
}

/* A tombstone takes two bits more than the member did. */
static besom_status concurrent_remove(besom_filter *f, besom_digest d) {
  struct change c;
  besom_filter *view = besom__view_begin(&c, f, quotient_of(aqf(f)->sync, d), 2);
  if (aqf(f)->options.keep_tombstones) besom__take_reserve(&c);
  bool denied = is_exception(c.filter, d);
  return besom__view_end(&c, denied ? BESOM_NOT_FOUND : besom__aqf.change->remove(view, d));
}

static besom_status concurrent_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct change c;
  besom_filter *view = besom__view_begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  bool denied = is_exception(c.filter, d);
  return besom__view_end(&c,
                         denied ? BESOM_NOT_FOUND : besom__aqf.change->set_value(view, d, value));
}

/* ------------------------------------------------------------------ in front of a store */

static besom_status concurrent_bind(besom_filter *f, const besom_reverse *reverse) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.store->bind(f, reverse);
  besom__unlock_all(a);
  return status;
}

static besom_status insert_at_exclusive(besom_filter *f, besom_digest d, uint64_t value,
                                        besom_match *match) {
  struct aqf *a = besom__lock_all(f, true);
  besom_status status = besom__aqf.store->insert_at(f, d, value, match);
  if (status == BESOM_OK) besom__reports_remove(f, d, false);
  besom__unlock_all(a);
  return status;
}

static besom_status concurrent_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                         besom_match *match) {
  struct change c;
  besom_filter *view = besom__view_begin(&c, f, quotient_of(aqf(f)->sync, d), 1);
  besom__take_exceptions(&c, d);
  besom_status status = besom__aqf.store->insert_at(view, d, value, match);
  besom__view_end(&c, besom__release_exceptions(&c, d, status));
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

static besom_status concurrent_remove_at(besom_filter *f, besom_match match) {
  struct change c;
  uint64_t quotient;
  if (!quotient_of_match(f, match, &quotient)) return BESOM_NOT_FOUND;
  bool keep = aqf(f)->options.keep_tombstones;
  besom_filter *view = besom__view_begin(&c, f, quotient, keep ? 2 : 0);
  if (keep) besom__take_reserve(&c);
  return besom__view_end(&c, besom__aqf.store->remove_at(view, match));
}

static besom_status concurrent_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                        besom_digest stored) {
  struct change c;
  uint64_t quotient;
  if (!quotient_of_match(f, match, &quotient)) return BESOM_NOT_FOUND;
  besom_filter *view = besom__view_begin(&c, f, quotient, most_slots(aqf(f)));
  besom__take_reserve(&c);
  return besom__view_end(&c, besom__aqf.store->adapt_at(view, offender, match, stored));
}

/* ------------------------------------------------------------------ adapting */

static besom_status concurrent_adapt_by_keys(struct change *c, besom_digest d) {
  besom__lock_to_adapt(c, d);
  besom__take_reserve(c);
  return besom__aqf.adapt->adapt(&c->view.base.head, d);
}

/* The region of the digest is locked. */
static besom_status concurrent_add_exception(struct change *c, besom_digest d, bool listed) {
  struct aqf *a = c->filter;
  besom__lock_exceptions(a->sync);
  besom_status status = besom__reports_add(&a->base.head, d, listed);
  atomic_store_explicit(&a->sync->exceptions, a->base.head.exceptions->count, memory_order_relaxed);
  besom__unlock_exceptions(a->sync);
  return status;
}

static besom_status concurrent_adapt(besom_filter *f, besom_digest d) {
  struct change c;
  struct aqf *a = aqf(f);
  besom_filter *view = besom__view_begin(&c, f, quotient_of(a->sync, d), 0);
  bool known = is_exception(a, d), bound = a->reverse.digest_of;
  if (!known && !besom__aqf.query.contains(view, d)) return besom__view_end(&c, BESOM_OK);
  if (!bound && a->options.published) return besom__view_end(&c, BESOM_NEEDS_STORE);
  return besom__view_end(&c, bound && !known ? concurrent_adapt_by_keys(&c, d)
                                             : concurrent_add_exception(&c, d, false));
}

/*
 * Holds the lock of the key's region: so an insert of the same key comes before or after, and
 * removes the exception if it comes after.
 */
static besom_status concurrent_no_add(besom_filter *f, besom_digest d) {
  struct change c;
  besom__view_begin(&c, f, quotient_of(aqf(f)->sync, d), 0);
  return besom__view_end(&c, concurrent_add_exception(&c, d, true));
}

/* Holds a region's lock, too: calls that read the whole filter lock the regions, no stripes. */
static besom_status concurrent_no_remove(besom_filter *f, besom_digest d) {
  struct change c;
  struct aqf_sync *sync = aqf(f)->sync;
  besom__view_begin(&c, f, quotient_of(sync, d), 0);
  besom__lock_exceptions(sync);
  bool was_there = besom__reports_remove(f, d, true);
  atomic_store_explicit(&sync->exceptions, f->exceptions->count, memory_order_relaxed);
  besom__unlock_exceptions(sync);
  return besom__view_end(&c, was_there ? BESOM_OK : BESOM_NOT_FOUND);
}

/* ------------------------------------------------------------------ whole filters */

static void lock_filter(const besom_filter *f) {
  besom__lock_all(f, false);
}

static void unlock_filter(const besom_filter *f) {
  besom__unlock_all(const_aqf(f));
}

/* The flag is set before a fingerprint is extended. */
static unsigned concurrent_prefix_bits(const besom_filter *f) {
  const struct aqf_sync *sync = const_aqf(f)->sync;
  bool extended = atomic_load_explicit(&sync->has_extensions, memory_order_relaxed);
  return extended ? 0 : besom__quotient_prefix_bits(f);
}

static void concurrent_iter_start(const besom_filter *f, besom_iter *iter) {
  lock_filter(f);
  besom__aqf.whole->iter_start(f, iter);
  unlock_filter(f);
}

static void concurrent_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  besom__aqf.stats(f, out);
  s->bytes += const_aqf(f)->sync->size;
}

static const char *concurrent_validate(const besom_filter *f) {
  return besom__aqf.file->validate(f);
}

static void concurrent_save(const besom_filter *f, struct sections_out *out) {
  besom__aqf.file->save(f, out);
}

const struct besom_kind besom__aqf_concurrent = {
    .name = AQF_NAME,
    .summary = AQF_SUMMARY,
    .size = sizeof(struct aqf),
    .takes_repeats = true,
    .keeps_reports = true,
    .destroy = concurrent_destroy,
    .stats = concurrent_stats,
    .query = {.prefix_bits = concurrent_prefix_bits,
              .calls = concurrent_query_calls,
              .contains = besom__concurrent_contains,
              .contains_many = besom__concurrent_contains_many,
              .prefetch = besom__concurrent_prefetch,
              .count = besom__concurrent_count,
              .get_value = besom__concurrent_get_value},
    .change = &(const struct change_ops){.calls = concurrent_insert_calls,
                                         .remove_calls = NOT_IN_SMALL_CODE(concurrent_remove_calls),
                                         .insert = concurrent_insert,
                                         .insert_many = concurrent_insert_many,
                                         .insert_count = concurrent_insert_count,
                                         .remove = concurrent_remove,
                                         .set_value = concurrent_set_value},
    .adapt = &(const struct adapt_ops){.exception_slots = besom__aqf_exception_slots,
                                       .adapt = concurrent_adapt,
                                       .is_published = besom__aqf_is_published,
                                       .no_add = concurrent_no_add,
                                       .no_remove = concurrent_no_remove},
    .store = &(const struct store_ops){.bind = concurrent_bind,
                                       .matches = besom__concurrent_matches,
                                       .insert_at = concurrent_insert_at,
                                       .remove_at = concurrent_remove_at,
                                       .adapt_at = concurrent_adapt_at},
    .whole = &(const struct whole_ops){.resize_step = besom__aqf_resize_step,
                                       .iter_start = concurrent_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .file = &(const struct file_ops){.validate = concurrent_validate, .save = concurrent_save},
    .threads = &(const struct thread_ops){.plain = &besom__aqf,
                                          .share = concurrent_share,
                                          .pause_writers = lock_filter,
                                          .resume_writers = unlock_filter},
};
