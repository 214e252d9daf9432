/* What a chain of aqf filters (layered/scaling.c) needs of its layers: one table of exceptions. */
#include "quotient/aqf.h"

static bool has_exception(const besom_filter *f, besom_digest d) {
  return besom__exceptions_has(&const_aqf(f)->exceptions, d);
}

/* The newest layer has the longest fingerprints, so that the length is enough for all layers. */
static besom_status add_exception(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  return besom__aqf_add_exception(a, d, besom__aqf_exception_length(a, d), false);
}

static void remove_exception(besom_filter *f, besom_digest d) {
  besom__exceptions_remove(&aqf(f)->exceptions, d, false);
}

/* The number of a digest is the same in all layers: their slots differ by a power of two. */
static void move_exceptions(besom_filter *from, besom_filter *to) {
  struct exception_set *moved = &aqf(from)->exceptions;
  if (to) {
    aqf(to)->exceptions = *moved;
    *moved = (struct exception_set){0};
  } else {
    besom__exceptions_free(moved, &from->allocator);
  }
}

static bool may_hold(besom_filter *const *layers, uint64_t n, const struct exception *e) {
  if (besom__exceptions_cover(&aqf(layers[n - 1])->exceptions, e)) return false;
  for (uint64_t i = 0; i < n; i++)
    if (besom__aqf_may_match(aqf(layers[i]), e)) return true;
  return false;
}

static besom_status merge_exceptions(besom_filter *into, const besom_filter *from,
                                     besom_filter *const *others, uint64_t n) {
  struct aqf *a = aqf(into);
  struct exception_limit limit = {besom__aqf_exception_limit(a), a->options.forget,
                                  .no_memory_fails = true};
  struct exception e;
  if (!a->exceptions.slots) besom__exceptions_start(&a->exceptions, a->base.table.slots);
  for (uint64_t i = 0; besom__exceptions_next(&const_aqf(from)->exceptions, &i, &e);) {
    if (may_hold(others, n, &e)) continue;
    besom_status status = besom__exceptions_add(&a->exceptions, &into->allocator, &e, &limit);
    if (status != BESOM_OK && status != BESOM_EVICTED) return status;
  }
  return BESOM_OK;
}

const struct layer_exception_ops besom__aqf_layer_exceptions = {
    .has = has_exception,
    .add = add_exception,
    .remove = remove_exception,
    .move = move_exceptions,
    .merge = merge_exceptions,
};
