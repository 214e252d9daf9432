/*
 * qf: the plain quotient filter (Bender et al. 2012; rank-and-select layout of Pandey et al. 2017).
 * One remainder per key and nothing else: the baseline for every adaptive kind on the same table.
 */
#include "core/hash.h"
#include "quotient/quotient_calls.h"
#include "quotient/quotient_filter.h"

/* ------------------------------------------------------------------ creating and freeing */

struct qf_values {
  uint64_t isa, heads;
};

static const struct option_row qf_rows[] = {
    OPTION_ISA(qf_values),
    OPTION_WORDS(qf_values, heads, "yes, no",
                 "no: leave out the third metadata word: one bit per slot less, the same queries, "
                 "slower inserts"),
};

static besom_status qf_create(besom_filter *f, const besom_config *config) {
  struct qtable_shape shape = {0};
  if (config->value_bits) return BESOM_INVALID;
  struct qf_values o;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  quotient_filter(f)->isa = isa_of_option(o.isa);
  shape.heads = o.heads == 0;
  status = besom__counting_geometry(config, sizeof(struct quotient_filter), 0, false, &shape,
                                    &quotient_filter(f)->repeats);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, 0);
  return besom__quotient_table_new(f, &shape, &quotient_filter(f)->table);
}

static double qf_bits_per_key(double keys, double *rate) {
  return besom__quotient_bits_per_key(keys, rate, (struct qtable_shape){.heads = true});
}

/* ------------------------------------------------------------------ keys */

static bool qf_contains(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return t->ops->contains(t, d) != ANSWER_NO;
}

static void qf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                             uint64_t *bitmap) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  t->ops->contains_many(t, d, n, bitmap);
}

static besom_status qf_insert(besom_filter *f, besom_digest d) {
  struct qtable *t = &quotient_filter(f)->table;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  besom_status status = t->ops->insert(t, d, NULL);
  f->items += status == BESOM_OK;
  return status;
}

static besom_status qf_insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  struct qtable *t = &quotient_filter(f)->table;
  uint64_t left = f->capacity > f->items ? f->capacity - f->items : 0;
  size_t fitting = n < left ? n : (size_t)left;
  besom_status status = t->ops->insert_many(t, d, fitting, NULL, done);
  f->items += *done;
  return status == BESOM_OK && fitting < n ? BESOM_FULL : status;
}

static unsigned qf_longest_match(const besom_filter *f, besom_digest d) {
  return qf_contains(f, d) ? const_quotient_filter(f)->table.width : 0;
}

/* Equal fingerprints cannot be distinguished. Removing the last one moves the fewest slots. */
static besom_status qf_remove(besom_filter *f, besom_digest d) {
  struct qtable *t = &quotient_filter(f)->table;
  if (t->ops->remove_last(t, d) == ANSWER_NO) return BESOM_NOT_FOUND;
  f->items--;
  return BESOM_OK;
}

/* Appends one copy after the other. If one does not fit, removes those before it. */
static besom_status qf_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  besom_status status = n > f->capacity - f->items ? BESOM_FULL : BESOM_OK;
  uint64_t done = 0;
  for (; done < n && status == BESOM_OK; done += status == BESOM_OK) status = qf_insert(f, d);
  for (; status != BESOM_OK && done; done--) qf_remove(f, d);
  return status;
}

static besom_status qf_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  t->ops->count(t, d, n);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

static besom_status qf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct qtable *x = &const_quotient_filter(a)->table, *y = &const_quotient_filter(b)->table;
  if (x->slots != y->slots || x->width != y->width || x->has_heads != y->has_heads)
    return BESOM_INCOMPATIBLE;
  if (into->is_set) return besom__quotient_set_merge(a, b, into);
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  return x->ops->merge(x, y, &quotient_filter(into)->table);
}

static besom_status qf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  fresh->capacity = besom__quotient_capacity(slots, 0);
  return fresh->capacity < f->items ? BESOM_FULL
                                    : besom__quotient_resize_start(fresh, f, slots, NULL);
}

static besom_status qf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                   bool *finished) {
  (void)f; /* its table has everything */
  uint64_t none;
  return besom__quotient_resize_step(fresh, max, finished, &none);
}

static void qf_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct qtable *t = &const_quotient_filter(f)->table;
  s->isa = besom__isa_name(const_quotient_filter(f)->isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t);
  s->load_factor = (double)f->items / (double)t->slots;
  s->expected_fpr = besom__quotient_fpr(f->items, t->slots, t->width);
  s->capacity = besom__quotient_keys(f);
  s->fpr_at_capacity = besom__quotient_fpr(s->capacity, t->slots, t->width);
}

static const char *qf_validate(const besom_filter *f) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  if (f->items != t->used || t->further_slots)
    return "the number of items is not the number of used slots";
  if (f->items > f->capacity) return "the number of items exceeds the capacity";
  return besom__qtable_check(t);
}

/* ------------------------------------------------------------------ files */

static void qf_save(const besom_filter *f, struct sections_out *out) {
  besom__quotient_save(f, out);
}

static besom_status qf_load(besom_filter *f, struct sections_in *in) {
  besom_status status = besom__quotient_load(f, in, NO_CODE);
  if (status != BESOM_OK) return status;
  const struct qtable *t = &quotient_filter(f)->table;
  if (f->capacity == besom__quotient_capacity(t->slots, 0) && !t->value_bits) return BESOM_OK;
  besom__quotient_destroy(f);
  return BESOM_CORRUPT;
}

/* ------------------------------------------------------------------ the kind */

static const struct query_calls *qf_query_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_query(f);
  return calls ? &calls->qf_queries : NULL;
}

static const struct insert_calls *qf_insert_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_insert(f);
  return calls ? &calls->qf_inserts : NULL;
}

const struct besom_kind besom__qf = {
    .name = "qf",
    .summary = "quotient filter: counts, removes, merges, grows",
    .also = BESOM_CAN_REKEY,
    .size = sizeof(struct quotient_filter),
    .options = {OPTION_ROWS(qf_rows)},
    .takes_repeats = true,
    .create = qf_create,
    .create_like = besom__quotient_create_like,
    .destroy = besom__quotient_destroy,
    .visit_blocks = besom__quotient_visit,
    .bits_per_key = qf_bits_per_key,
    .stats = qf_stats,
    .query = {.few_keys = 4,
              .calls = qf_query_calls,
              .contains = qf_contains,
              .contains_many = qf_contains_many,
              .prefetch = besom__quotient_prefetch,
              .longest_match = qf_longest_match,
              .prefix_bits = besom__quotient_prefix_bits,
              .count = qf_count},
    .change =
        &(const struct change_ops){.calls = qf_insert_calls,
                                   .remove_calls = NOT_IN_SMALL_CODE(besom__quotient_remove_calls),
                                   .insert = qf_insert,
                                   .insert_many = qf_insert_many,
                                   .insert_count = qf_insert_count,
                                   .remove = qf_remove},
    .whole = &(const struct whole_ops){.merge = qf_merge,
                                       .resize_start = qf_resize_start,
                                       .resize_step = qf_resize_step,
                                       .append = besom__quotient_append_copies,
                                       .parts = &besom__quotient_copies_in_parts,
                                       .iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .file = &(const struct file_ops){.run_diff = &besom__quotient_run_diff,
                                     .validate = qf_validate,
                                     .save = qf_save,
                                     .load = qf_load},
};
