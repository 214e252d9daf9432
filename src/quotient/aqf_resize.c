/* Merging and resizing aqf filters. */
#include "quotient/aqf.h"

/* Keeps an exception of one filter unless the other one holds the key. */
static besom_status merge_exceptions(struct aqf *into, const besom_filter *from,
                                     const besom_filter *other) {
  const struct exception_set *m = &const_aqf(from)->exceptions;
  for (uint64_t i = 0; i < m->size; i++) {
    besom_digest d = besom__exception_at(m, i);
    if ((d.hi == 0 && d.lo == 0) || besom__aqf_contains(other, d)) continue;
    besom_status status = besom__exceptions_add(&into->exceptions, &into->base.head.allocator, d,
                                                besom__aqf_exception_bytes(into));
    if (status != BESOM_OK) return status;
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
  out->keep_tombstones |= const_aqf(b)->keep_tombstones;
  if (a->items > AQF_MAX_COUNT || b->items > AQF_MAX_COUNT - a->items) return BESOM_FULL;
  if (member_slots(const_aqf(a)) + member_slots(const_aqf(b)) > into->capacity) return BESOM_FULL;
  if (out->counters.slots > besom__aqf_reserve(out)) return BESOM_RESERVE_FULL;
  besom_status status = x->ops->merge(x, y, &out->base.table);
  if (status == BESOM_OK) status = merge_exceptions(out, a, b);
  if (status == BESOM_OK) status = merge_exceptions(out, b, a);
  into->items = a->items + b->items;
  return status;
}

besom_status besom__aqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct aqf *a = const_aqf(f);
  aqf(fresh)->reserve = a->reserve;
  aqf(fresh)->no_capacity = a->no_capacity;
  aqf(fresh)->keep_tombstones = a->keep_tombstones;
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

/* Exceptions and the reverse map do not depend on the size. They move to the new filter. */
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
