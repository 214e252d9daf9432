/* What all quotient kinds share: a filter with a table in it. Kinds are policies on top. */
#ifndef BESOM_QUOTIENT_BASE_H
#define BESOM_QUOTIENT_BASE_H

#include "filter.h"
#include "quotient/quotient_geometry.h"
#include "quotient/table_resize.h"

/* Begins the struct of every quotient kind. */
struct quotient_filter {
  besom_filter head;
  struct qtable table;
  enum isa isa;
  struct quotient_resizing
      *resizing; /* while the table is being filled from another filter's; else NULL */
};

static inline struct quotient_filter *quotient_filter(besom_filter *f) {
  return (struct quotient_filter *)f;
}

static inline const struct quotient_filter *const_quotient_filter(const besom_filter *f) {
  return (const struct quotient_filter *)f;
}

/* The options of quotient kinds: isa, and the kind's own one, yes or no. BAD_OPTION for any other. */
besom_status besom__quotient_options(const char *text, enum isa *isa, const char *name, bool *own);

struct qtable_shape besom__quotient_shape(const struct qtable *t);

/* A new, empty table with the filter's allocator. INVALID, NO_MEMORY. */
besom_status besom__quotient_table_new(const besom_filter *f, const struct qtable_shape *shape,
                                   struct qtable *out);
void besom__quotient_table_free(const besom_filter *f, struct qtable *t); /* one without blocks is fine */

/* The operations table and destroy of filter.h. */
const struct qtable *besom__quotient_table_of(const besom_filter *f);
void besom__quotient_destroy(besom_filter *f);

/* Makes f's table, empty, like the model's. */
besom_status besom__quotient_create_like(besom_filter *f, const besom_filter *model);

/*
 * Parameters and bits of the table, and back; the filter's items and capacity are checked by the kind, which says
 * what its tables have beside slots.
 */
void besom__quotient_save(const struct qtable *t, struct sections_out *out);
besom_status besom__quotient_load(besom_filter *f, struct sections_in *in, enum table_code code);

/*
 * The operation append of filter.h: every copy of a key as a fingerprint of its own, or as many of them in a count as
 * besom_insert one after the other would.
 */
besom_status besom__quotient_append_copies(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress);
besom_status besom__quotient_append_counts(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress);

/* The operation admit. */
besom_status besom__quotient_bulk_load(besom_filter *f, const struct digest_walk *walk);

/* The operations iter_start and iter_next. */
void besom__quotient_iter_start(besom_iter *iter);
besom_status besom__quotient_iter_next(besom_iter *iter, besom_entry *entry);

/*
 * Fills fresh, which is zero but for its head, with f's table at another size, by doublings or halvings: what the
 * operations resize_start and resize_step of filter.h ask for. With *finished comes the number of slots that extensions
 * take in the new table, which is counted on the way. escort: NULL for none.
 */
besom_status besom__quotient_resize_start(besom_filter *fresh, const besom_filter *f,
                                          uint64_t slots, const struct qtable_resize_hooks *hooks);
besom_status besom__quotient_resize_step(besom_filter *fresh, uint64_t max, bool *finished,
                                         uint64_t *extension_slots);

#endif
