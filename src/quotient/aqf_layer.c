/* What a chain of aqf filters (layered/scaling.c) needs of its layers: one table of exceptions. */
#include "quotient/aqf.h"

static bool has_exception(const besom_filter *f, besom_digest d) {
  return besom__exceptions_has(&const_aqf(f)->exceptions, d);
}

static void move_exceptions(besom_filter *from, besom_filter *to) {
  struct exception_set *moved = &aqf(from)->exceptions;
  if (to) {
    aqf(to)->exceptions = *moved;
    *moved = (struct exception_set){0};
  } else {
    besom__exceptions_free(moved, &from->allocator);
  }
}

static void remove_exception(besom_filter *f, besom_digest d) {
  besom__exceptions_remove(&aqf(f)->exceptions, d);
}

static bool may_hold(besom_filter *const *layers, uint64_t n, besom_digest d) {
  if (has_exception(layers[n - 1], d)) return false;
  for (uint64_t i = 0; i < n; i++)
    if (besom__aqf_contains(layers[i], d)) return true;
  return false;
}

static besom_status merge_exceptions(besom_filter *into, const besom_filter *from,
                                     besom_filter *const *others, uint64_t n) {
  const struct exception_set *all = &const_aqf(from)->exceptions;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < all->size && status == BESOM_OK; i++) {
    besom_digest d = besom__exception_at(all, i);
    if ((d.hi | d.lo) && !may_hold(others, n, d)) status = besom__aqf_no_add(into, d);
  }
  return status;
}

const struct layer_exception_ops besom__aqf_layer_exceptions = {
    .has = has_exception,
    .add = besom__aqf_no_add,
    .remove = remove_exception,
    .move = move_exceptions,
    .merge = merge_exceptions,
};
