/* What packed filters of the same configuration have in common. */
#ifndef BESOM_QUOTIENT_PACKED_MODEL_H
#define BESOM_QUOTIENT_PACKED_MODEL_H

#include "kind.h"

struct packed_model {
  struct packed_model *next;
  uint64_t references;
  uint32_t slots, capacity; /* of the table; capacity in slots */
  uint32_t tail;            /* of the table: slots after the last quotient */
  uint8_t width, fields_per_window;
  uint64_t fields; /* bit 0 of each remainder of a window (packed_ops.c) */
  const struct packed_ops *ops;
  bool grows;          /* a chain */
  uint32_t len, total; /* of the saved bytes: stored; with the zeros that follow */
  uint8_t bytes[];
};

/* The model of the filter, whose table is that of `layer`. Takes a reference. NULL: no memory. */
struct packed_model *besom__packed_model_of(const besom_filter *f, const besom_filter *layer);
struct packed_model *besom__packed_model_ref(struct packed_model *m);
void besom__packed_model_unref(struct packed_model *m);

/* An empty filter with this seed. Errors: NO_MEMORY. */
besom_status besom__packed_model_make(const struct packed_model *m, const uint8_t *seed,
                                      const besom_allocator *allocator, besom_filter **out);

#endif
