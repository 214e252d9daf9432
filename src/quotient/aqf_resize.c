/* Merging and resizing aqf filters. */
#include "core/address.h"
#include "quotient/aqf.h"
#include "quotient/match.h"

bool besom__aqf_may_match(const struct aqf *a, const struct exception *e) {
  const struct qtable *t = &a->base.table;
  unsigned quotient_bits = 64 - leading_zeros(t->slots), known = e->length - quotient_bits;
  if (e->length < quotient_bits + t->width) return true; /* only among layers of a long chain */
  besom_digest rest = besom__extension_of(e->number, quotient_bits, known);
  struct matching m =
      besom__minirun_start(t, e->number.hi >> (64 - quotient_bits), rest.hi >> (64 - t->width));
  besom_digest suffix = besom__extension_of(rest, t->width, known - t->width);
  while (besom__next_of_minirun(&m)) {
    unsigned common = common_bits(m.fp.extension, suffix);
    if (is_member(&m.fp) && (common >= m.fp.extension_bits || common >= known - t->width))
      return true;
  }
  return false;
}

/* Keeps an exception of one filter unless the other one may hold its key. */
static besom_status merge_exceptions(struct aqf *into, const struct aqf *from,
                                     const struct aqf *other) {
  struct exception_limit limit = {besom__aqf_exception_limit(into), into->options.forget,
                                  .no_memory_fails = true};
  struct exception e;
  for (uint64_t i = 0; besom__exceptions_next(&from->exceptions, &i, &e);) {
    bool denied = besom__exceptions_cover(&other->exceptions, &e);
    if (!denied && besom__aqf_may_match(other, &e)) continue;
    besom_status status =
        besom__exceptions_add(&into->exceptions, &into->base.head.allocator, &e, &limit);
    if (status != BESOM_OK && status != BESOM_EVICTED) return status;
  }
  return BESOM_OK;
}

besom_status besom__aqf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct qtable *x = &const_quotient_filter(a)->table, *y = &const_quotient_filter(b)->table;
  struct aqf *out = aqf(into);
  if (x->slots != y->slots || x->width != y->width || x->value_bits != y->value_bits)
    return BESOM_INCOMPATIBLE;
  const struct aqf_counters *p = &const_aqf(a)->counters, *q = &const_aqf(b)->counters;
  out->counters = (struct aqf_counters){p->slots + q->slots, p->tombstones + q->tombstones,
                                        p->no_entries + q->no_entries};
  out->options.keep_tombstones |= const_aqf(b)->options.keep_tombstones;
  if (a->items > AQF_MAX_COUNT || b->items > AQF_MAX_COUNT - a->items) return BESOM_FULL;
  if (member_slots(const_aqf(a)) + member_slots(const_aqf(b)) > into->capacity) return BESOM_FULL;
  if (out->counters.slots > besom__aqf_reserve(out)) return BESOM_RESERVE_FULL;
  besom__exceptions_start(&out->exceptions, x->slots);
  besom_status status = x->ops->merge(x, y, &out->base.table);
  if (status == BESOM_OK) status = merge_exceptions(out, const_aqf(a), const_aqf(b));
  if (status == BESOM_OK) status = merge_exceptions(out, const_aqf(b), const_aqf(a));
  into->items = a->items + b->items;
  return status;
}

besom_status besom__aqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct aqf *a = const_aqf(f);
  aqf(fresh)->reserve = a->reserve;
  aqf(fresh)->no_capacity = a->no_capacity;
  aqf(fresh)->options = a->options;
  aqf(fresh)->counters = a->counters;
  fresh->capacity = besom__quotient_capacity(slots, a->reserve);
  /* the last step knows exactly: wider slots need fewer of them for counters */
  const struct qtable *t = &a->base.table;
  uint64_t members = t->used - t->further_slots - a->counters.tombstones;
  if (fresh->capacity < members && slots < t->slots) return BESOM_FULL;
  unsigned doublings =
      slots > a->base.table.slots ? trailing_zeros(slots / a->base.table.slots) : 0;
  if (a->base.table.width < AQF_MIN_WIDTH + doublings) return BESOM_INVALID;
  return besom__quotient_resize_start(fresh, f, slots, NULL);
}

/*
 * The numbers of exceptions and the reverse map do not depend on the size. They move to the new
 * filter.
 */
besom_status besom__aqf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                    bool *finished) {
  struct aqf *a = aqf(fresh);
  besom_status status = besom__quotient_resize_step(fresh, max, finished, &a->counters.slots);
  if (status != BESOM_OK || !*finished) return status;
  if (member_slots(a) > fresh->capacity) return BESOM_FULL;
  if (a->base.table.slots < aqf(f)->base.table.slots && a->counters.slots > besom__aqf_reserve(a))
    return BESOM_RESERVE_FULL;
  a->exceptions = aqf(f)->exceptions;
  a->reverse = aqf(f)->reverse;
  aqf(f)->exceptions = (struct exception_set){0};
  return BESOM_OK;
}
