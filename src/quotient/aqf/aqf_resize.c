/* Merging and resizing aqf filters. */
#include "quotient/aqf/aqf.h"

/*
 * A filter that is no set may have extensions: then its fingerprints are not compared. Those of a
 * maplet may be equal and have different values.
 */
static bool aqf_can_merge_as_sets(const besom_filter *a, const besom_filter *b,
                                  const besom_filter *into) {
  return into->is_set && a->is_set && b->is_set && !into->kind->map;
}

besom_status besom__aqf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct qtable *x = &const_quotient_filter(a)->table, *y = &const_quotient_filter(b)->table;
  struct aqf *out = aqf(into);
  if (x->slots != y->slots || x->width != y->width || x->value_bits != y->value_bits ||
      x->code != y->code)
    return BESOM_INCOMPATIBLE;
  if (aqf_can_merge_as_sets(a, b, into)) return besom__quotient_set_merge(a, b, into);
  const struct aqf_counters *p = &const_aqf(a)->counters, *q = &const_aqf(b)->counters;
  out->counters =
      (struct aqf_counters){p->slots + q->slots, p->tombstones + q->tombstones,
                            p->no_entries + q->no_entries, p->extensions || q->extensions};
  out->options.keep_tombstones |= const_aqf(b)->options.keep_tombstones;
  if (a->items > AQF_MAX_COUNT || b->items > AQF_MAX_COUNT - a->items) return BESOM_FULL;
  if (member_slots(const_aqf(a)) + member_slots(const_aqf(b)) > into->capacity) return BESOM_FULL;
  if (out->counters.slots > besom__aqf_reserve(out)) return BESOM_RESERVE_FULL;
  into->items = a->items + b->items;
  return x->ops->merge(x, y, &out->base.table);
}

besom_status besom__aqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct aqf *a = const_aqf(f);
  if (f->kind->map) fresh->kind = f->kind;
  aqf(fresh)->reserve = a->reserve;
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

/* The reverse map does not depend on the size. */
besom_status besom__aqf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                    bool *finished) {
  struct aqf *a = aqf(fresh);
  besom_status status = besom__quotient_resize_step(fresh, max, finished, &a->counters.slots);
  if (status != BESOM_OK || !*finished) return status;
  if (member_slots(a) > fresh->capacity) return BESOM_FULL;
  if (a->base.table.slots < aqf(f)->base.table.slots && a->counters.slots > besom__aqf_reserve(a))
    return BESOM_RESERVE_FULL;
  a->reverse = aqf(f)->reverse;
  return BESOM_OK;
}
