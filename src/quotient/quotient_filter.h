/*
 * The base of all quotient kinds: a filter with one quotient table. It has what the kinds share:
 * options, files, bulk loading, iteration, resizing.
 */
#ifndef BESOM_QUOTIENT_QUOTIENT_FILTER_H
#define BESOM_QUOTIENT_QUOTIENT_FILTER_H

#include "kind.h"
#include "quotient/fingerprint/quotient_geometry.h"
#include "quotient/table/table_resize.h"

/* The first member of the struct of every quotient kind. */
struct quotient_filter {
  besom_filter head;
  struct qtable table;
  enum isa isa;
  struct repetition repeats; /* what the filter was made for */
  /* while the table is being filled from another filter's; else NULL */
  struct quotient_resizing *resizing;
};

static inline struct quotient_filter *quotient_filter(besom_filter *f) {
  return (struct quotient_filter *)f;
}

static inline const struct quotient_filter *const_quotient_filter(const besom_filter *f) {
  return (const struct quotient_filter *)f;
}

struct qtable_shape besom__quotient_shape(const struct qtable *t);

/*
 * quotient_set.c: the operation merge for BESOM_SET. Both tables have the shape of into's, which is
 * empty, and no extensions. A fingerprint that both have is kept once. Sets into->items. FULL.
 */
besom_status besom__quotient_set_merge(const besom_filter *a, const besom_filter *b,
                                       besom_filter *into);

/* Makes an empty table with the filter's allocator. Returns INVALID, NO_MEMORY. */
besom_status besom__quotient_table_new(const besom_filter *f, const struct qtable_shape *shape,
                                       struct qtable *out);
/* its blocks may be NULL */
void besom__quotient_table_free(const besom_filter *f, struct qtable *t);

/* The operation destroy of kind.h, and how besom_diff compares tables. */
extern const struct run_diff_ops besom__quotient_run_diff;
void besom__quotient_destroy(besom_filter *f);
/* The operation visit_blocks. */
void besom__quotient_visit(besom_filter *f, const struct block_visitor *v);
unsigned besom__quotient_prefix_bits(const besom_filter *f);
/* The operation prefetch. */
void besom__quotient_prefetch(const besom_filter *f, besom_digest d);

/* Makes an empty table for f, of the model's shape. */
besom_status besom__quotient_create_like(besom_filter *f, const besom_filter *model);

/* The capacity that statistics tell: of distinct keys. */
uint64_t besom__quotient_keys(const besom_filter *f);

/*
 * Writes and reads parameters and bits of the table. load also gets what the kind's tables keep
 * beside slots. The kind checks items and capacity, and sets repeats.counted. saved_code: what the
 * file has there; reads ahead of load.
 */
void besom__quotient_save(const besom_filter *f, struct sections_out *out);
uint32_t besom__saved_code(const struct sections_in *in);
besom_status besom__quotient_load(besom_filter *f, struct sections_in *in, enum table_code code);

/*
 * quotient_append.c: the operation append of kind.h. copies: a fingerprint for every copy of a key.
 * counts: the same counts that one besom_insert per copy would make.
 */
besom_status besom__quotient_append_copies(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress);
besom_status besom__quotient_append_counts(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress);

extern const struct part_ops besom__quotient_copies_in_parts, besom__quotient_counts_in_parts;

/* The operation bulk_load: fills an empty filter with the digests of a whole store. */
besom_status besom__quotient_bulk_load(besom_filter *f, const struct digest_walk *walk);

/* The operations iter_start and iter_next. */
void besom__quotient_iter_start(const besom_filter *f, besom_iter *iter);
besom_status besom__quotient_iter_next(const besom_filter *f, besom_iter *iter, besom_entry *entry);

/*
 * Fills `fresh`, which is zero except for its head, with f's table at another size, by doublings or
 * halvings: for the operations resize_start and resize_step. When *finished is set,
 * *extension_slots is the number of slots that extensions take in the new table. hooks may be NULL.
 */
besom_status besom__quotient_resize_start(besom_filter *fresh, const besom_filter *f,
                                          uint64_t slots, const struct qtable_resize_hooks *hooks);
besom_status besom__quotient_resize_step(besom_filter *fresh, uint64_t max, bool *finished,
                                         uint64_t *extension_slots);

#endif
