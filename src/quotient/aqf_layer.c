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

static besom_status walk_exceptions(const besom_filter *f,
                                    besom_status (*give)(void *to, besom_digest d), void *to) {
  const struct exception_set *all = &const_aqf(f)->exceptions;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < all->size && status == BESOM_OK; i++) {
    besom_digest d = besom__exception_at(all, i);
    if (d.hi | d.lo) status = give(to, d);
  }
  return status;
}

const struct layer_exception_ops besom__aqf_layer_exceptions = {
    .has = has_exception,
    .add = besom__aqf_no_add,
    .move = move_exceptions,
    .walk = walk_exceptions,
};
