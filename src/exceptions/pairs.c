#include "exceptions/pairs.h"

#include <string.h>

#include "core/system/memory.h"

static uint64_t pair_value_mask(const besom_filter *f) {
  return bits_below(f->kind->map->value_bits(f));
}

static besom_digest pair_number(const besom_filter *f, besom_digest d, uint64_t value) {
  besom_digest number = besom__exception_number(f->exceptions, d);
  number.lo = (number.lo & ~pair_value_mask(f)) | value;
  return number;
}

bool besom__pair_is_reported(const besom_filter *f, besom_digest d, uint64_t value) {
  return besom__exceptions_has_number(f->exceptions, pair_number(f, d, value));
}

/* What all pairs of a key begin with. */
static struct exception exception_of_key(const besom_filter *f, besom_digest number) {
  uint64_t mask = pair_value_mask(f);
  return (struct exception){.number = {number.hi, number.lo & ~mask},
                            .length = NUMBER_BITS - popcount(mask)};
}

static struct exception exception_of_pair(const besom_filter *f, besom_digest d, uint64_t value) {
  return (struct exception){pair_number(f, d, value), NUMBER_BITS, .fresh = true};
}

static besom_status pair_report(besom_filter *f, besom_digest d, uint64_t value,
                                const struct exception_limit *limit) {
  bool was_empty = !f->exceptions->count;
  struct exception e = exception_of_pair(f, d, value);
  besom_status status = besom__exceptions_add(f->exceptions, &f->allocator, &e, limit);
  if (was_empty) besom__choose_calls(f);
  return status;
}

besom_status besom__pair_report(besom_filter *f, besom_digest d, uint64_t value) {
  struct exception_limit limit = {besom__report_limit(f), f->reports.forget};
  return besom__reports_set(f) ? pair_report(f, d, value, &limit) : BESOM_RESERVE_FULL;
}

void besom__pair_forget(besom_filter *f, besom_digest d, uint64_t value) {
  if (!pair_is_denied(f, d, value)) return;
  besom__exceptions_remove_number(f->exceptions, pair_number(f, d, value), false);
  if (!f->exceptions->count) besom__choose_calls(f);
}

/*
 * All of the values or, if it fails, none: room is made before the first. No report of this key is
 * forgotten for another one.
 */
static besom_status pair_report_values(besom_filter *f, besom_digest d, const uint64_t *values,
                                       size_t n) {
  struct exception_set *m = besom__reports_set(f);
  if (!m) return BESOM_RESERVE_FULL;
  struct exception key = exception_of_key(f, besom__exception_number(m, d)),
                   first = exception_of_pair(f, d, values[0]);
  struct exception_limit limit = {besom__report_limit(f), f->reports.forget, .reserved = true,
                                  .keep = &key};
  besom_status result = besom__exceptions_reserve(m, &f->allocator, &first, n, &limit);
  for (size_t i = 0; i < n && result != BESOM_RESERVE_FULL; i++) {
    besom_status status = pair_report(f, d, values[i], &limit);
    if (status != BESOM_OK) result = status;
  }
  return result;
}

besom_status besom__pair_report_all(besom_filter *f, besom_digest d) {
  size_t room = f->kind->map->get(f, d, NULL, 0), bytes = room * sizeof(uint64_t);
  if (!room) return BESOM_OK;
  uint64_t *values = besom__allocate(&f->allocator, bytes);
  if (!values) return BESOM_RESERVE_FULL;
  besom_status status = pair_report_values(f, d, values, f->kind->map->get(f, d, values, room));
  besom__release(&f->allocator, values, bytes);
  return status;
}

/* ------------------------------------------------------------------ candidates */

bool besom__keep_value(uint64_t *kept, size_t *n, size_t room, uint64_t value) {
  size_t at = *n;
  while (at && kept[at - 1] > value) at--;
  if (at && kept[at - 1] == value) return true;
  if (at == room) return false;
  bool drop = *n == room;
  if (drop) --*n;
  memmove(kept + at + 1, kept + at, (*n - at) * sizeof *kept);
  kept[at] = value;
  ++*n;
  return !drop;
}

void besom__pairs_deny(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      if (!f->kind->query.contains(f, d[i + trailing_zeros(left)]))
        bitmap[i / 64] &= ~(left & (0 - left));
}

/* ------------------------------------------------------------------ whole filters */

static besom_status pairs_merge_from(const besom_filter *from, const besom_filter *other,
                                     besom_filter *into) {
  const struct exception_set *m = from->exceptions;
  if (!has_pairs(from)) return BESOM_OK;
  struct exception_set *all = besom__reports_set(into);
  if (!all) return BESOM_NO_MEMORY;
  struct exception_limit limit = {besom__report_limit(into), into->reports.forget,
                                  .no_memory_fails = true};
  struct exception e;
  for (uint64_t i = 0; besom__exceptions_next(m, &i, &e);) {
    struct exception key = exception_of_key(into, e.number);
    besom_digest first, last;
    besom__exception_range(m, &key, &first, &last);
    bool reported = has_pairs(other) && besom__exceptions_has_number(other->exceptions, e.number);
    if (!reported &&
        other->kind->map->may_hold(other, first, last, e.number.lo & pair_value_mask(into)))
      continue;
    besom_status status = besom__exceptions_add(all, &into->allocator, &e, &limit);
    if (status != BESOM_OK && status != BESOM_EVICTED) return status;
  }
  return BESOM_OK;
}

besom_status besom__pairs_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  besom_status status = pairs_merge_from(a, b, into);
  return status == BESOM_OK ? pairs_merge_from(b, a, into) : status;
}

bool besom__pairs_are_sound(const besom_filter *f) {
  const struct exception_set *m = f->exceptions;
  return !m || (!m->listed && !m->mixed && (!m->cells || m->length == NUMBER_BITS));
}
