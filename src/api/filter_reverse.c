/* Calls for filters in front of a store: the reverse map, matches, changes by match, iteration. */
#include <string.h>

#include "api/filter_calls.h"
#include "exceptions/reports.h"

/*
 * A caller's besom_match may be shorter or longer than this version's: only these members are used.
 */
static besom_match get_match(const besom_match *m) {
  return (besom_match){m->bucket, m->rank};
}

static void set_match(besom_match *m, besom_match at) {
  m->bucket = at.bucket;
  m->rank = at.rank;
}

besom_status besom_bind_sized(besom_filter *f, const besom_reverse *reverse, size_t size) {
  struct reader r;
  besom_reverse copy = {0};
  if (reverse) besom_copy_struct(&copy, sizeof copy, reverse, size);
  ENTER_TO_CHANGE_OWN(r, f, store, bind, !reverse || copy.digest_of);
  besom_status status = r.filter->kind->store->bind(r.filter, reverse ? &copy : NULL);
  if (status == BESOM_OK) r.filter->bound = reverse;
  return leave(r, status);
}

besom_status besom_bind_source(besom_filter *f, const besom_source *members) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, adapt, bind_source, !members || (members->next && members->rewind));
  return leave(r, r.filter->kind->adapt->bind_source(r.filter, members));
}

/* -------------------------------------------------------------- matches */

typedef besom_status (*find_matches)(const besom_filter *f, besom_digest d, besom_match *out,
                                     size_t cap, size_t *total);

/* Spreads n matches, one after the other in the caller's array, over its stride. */
static void spread(besom_match *out, size_t n, size_t stride) {
  if (stride == sizeof *out) return;
  for (size_t i = n; i-- > 0;) {
    besom_match at = out[i];
    unsigned char *to = (unsigned char *)out + i * stride;
    memset(to, 0, stride);
    memcpy(to, &at, sizeof at);
  }
}

static besom_status reverse_matches(const besom_filter *f, find_matches find, besom_digest digest,
                                    besom_match *out, size_t stride, size_t cap, size_t *total) {
  struct reader r = besom__reader_enter(f);
  besom_status status = find(r.filter, digest, out, cap, total);
  if (status == BESOM_OK) spread(out, *total < cap ? *total : cap, stride);
  return leave(r, status);
}

besom_status besom_matches_sized(const besom_filter *f, besom_digest digest, besom_match *out,
                                 size_t stride, size_t cap, size_t *total) {
  if (!f || !total || (!out && cap) || stride < sizeof *out) return BESOM_INVALID;
  if (!f->kind->store || f->is_set) return BESOM_UNSUPPORTED;
  *total = 0;
  return is_reported(f, digest)
             ? BESOM_OK
             : reverse_matches(f, f->kind->store->matches, digest, out, stride, cap, total);
}

besom_status besom_no_matches_sized(const besom_filter *f, besom_digest digest, besom_match *out,
                                    size_t stride, size_t cap, size_t *total) {
  if (!f || !total || (!out && cap) || stride < sizeof *out) return BESOM_INVALID;
  if (!KIND_HAS(f->kind, store, no_matches) || f->is_set) return BESOM_UNSUPPORTED;
  return reverse_matches(f, f->kind->store->no_matches, digest, out, stride, cap, total);
}

/* -------------------------------------------------------------- changes */

besom_status besom_insert_at(besom_filter *f, besom_digest digest, uint64_t value,
                             besom_match *match) {
  struct reader r;
  besom_match at = {0, 0};
  ENTER_TO_CHANGE_OWN(r, f, store, insert_at, match);
  besom_status status = r.filter->kind->store->insert_at(r.filter, digest, value, &at);
  if (status == BESOM_OK) forget_reports_of(r.filter, &digest, 1);
  if (status == BESOM_OK || status == BESOM_IS_MEMBER) set_match(match, at);
  return leave(r, status);
}

besom_status besom_remove_at(besom_filter *f, const besom_match *match) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, store, remove_at, match);
  return leave(r, r.filter->kind->store->remove_at(r.filter, get_match(match)));
}

besom_status besom_adapt_at(besom_filter *f, besom_digest offender, const besom_match *match,
                            besom_digest stored) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, store, adapt_at, match);
  besom_status status =
      r.filter->kind->store->adapt_at(r.filter, offender, get_match(match), stored);
  return leave(r, status == BESOM_FULL ? BESOM_RESERVE_FULL : status);
}

besom_status besom_no_add_at(besom_filter *f, besom_digest digest, besom_match *match) {
  struct reader r;
  besom_match at = {0, 0};
  ENTER_TO_CHANGE_OWN(r, f, store, no_add_at, match);
  besom_status status = r.filter->kind->store->no_add_at(r.filter, digest, &at);
  if (status == BESOM_OK || status == BESOM_IS_MEMBER) set_match(match, at);
  return leave(r, status);
}

besom_status besom_no_remove_at(besom_filter *f, const besom_match *match) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, store, no_remove_at, match);
  return leave(r, r.filter->kind->store->no_remove_at(r.filter, get_match(match)));
}

/* -------------------------------------------------------------- iteration */

besom_status besom_iter_next_sized(besom_iter *iter, besom_entry *entry, size_t size) {
  if (!iter || !iter->filter || !entry) return BESOM_INVALID;
  const besom_filter *f = iter->filter;
  if (!KIND_HAS(f->kind, whole, iter_next)) return BESOM_UNSUPPORTED;
  besom_entry next = {0};
  struct reader r = besom__reader_enter(f);
  if (!iter->started) r.filter->kind->whole->iter_start(r.filter, iter);
  iter->started = 1;
  besom_status status = r.filter->kind->whole->iter_next(r.filter, iter, &next);
  besom__reader_leave(r);
  if (status == BESOM_OK) besom_copy_struct(entry, size, &next, sizeof next);
  return status;
}
