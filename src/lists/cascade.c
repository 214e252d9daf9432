/*
 * cascade: exact on a yes list and a no list, in one of two forms.
 *
 * base=bloom (the default): a chain of Bloom filters (Larisch et al., "CRLite", 2017). The first
 * filter holds the yes list. The second holds the keys of the no list that are false positives of
 * the first. The third holds the keys of the yes list that are false positives of the second, and
 * so on, until there are no false positives. The first filter that answers no decides. The baseline
 * for yesno.
 *
 * base=ribbon or fuse: one filter for the yes list, then a retrieval of one bit for the keys of
 * both lists to which the filter answers yes. The bit decides. The filter's rate makes the whole
 * smallest (cascade_plan.h). This is within a few percent of the least possible size.
 *
 * A key on neither list is answered yes no more often than the target rate says. With
 * universe=closed no such key is ever asked: then there may be no filter, or it may hold the no
 * list, if that is the shorter one.
 */
#include "core/sort.h"
#include "core/system/memory.h"
#include "kinds.h"
#include "layers/layer_chain.h"
#include "lists/cascade_plan.h"
#include "ribbon/retrieval.h"

#define MAX_LEVELS 48 /* each has half as many false positives as the one before */

struct cascade {
  besom_filter head;
  struct layer_chain levels;
  besom_filter *filter;  /* the only level, if there is a retrieval */
  struct retrieval last; /* its bit is 1 for the list that the filter holds; no layers: none */
  bool holds_no;         /* the filter holds the no list */
};

/* What the options say. */
struct cascade_options {
  struct layer_kind base;
  bool closed;
};

static const struct cascade *const_cascade(const besom_filter *f) {
  return (const struct cascade *)f;
}

static struct cascade *cascade(besom_filter *f) {
  return (struct cascade *)f;
}

/* Room for a chain of levels, or for one. */
static besom_status cascade_make_room(struct cascade *c, bool chain) {
  c->levels = (struct layer_chain){.layers = &c->filter, .max = 1};
  if (!chain) return BESOM_OK;
  besom_filter **room = besom__allocate(&c->head.allocator, MAX_LEVELS * sizeof *c->levels.layers);
  if (!room) return BESOM_NO_MEMORY;
  c->levels = (struct layer_chain){.layers = room, .max = MAX_LEVELS};
  return BESOM_OK;
}

static void cascade_destroy(besom_filter *f) {
  struct layer_chain *levels = &cascade(f)->levels;
  besom__layer_chain_free(levels);
  if (levels->max == MAX_LEVELS)
    besom__release(&f->allocator, levels->layers, MAX_LEVELS * sizeof *levels->layers);
  if (!f->mapping) besom__retrieval_free(&cascade(f)->last, &f->allocator);
}

/* ------------------------------------------------------------------ building */

/* Adds a level that holds all of the list. */
static besom_status add_level(struct cascade *c, const struct layer_kind *bloom, double rate,
                              const struct digests *list) {
  besom_config config = {.capacity = list->n ? list->n : 1, .fpr = rate};
  return rate > 0 ? besom__layer_chain_add(&c->levels, &c->head, bloom, &config, list)
                  : BESOM_INVALID;
}

static besom_status add_levels(struct cascade *c, const struct layer_kind *bloom, double rate,
                               struct digests *yes, struct digests *no) {
  struct digests *held = yes, *denied = no;
  besom_status status = add_level(c, bloom, rate, held);
  while (status == BESOM_OK) {
    besom__layer_chain_keep_false_positives(&c->levels, denied);
    if (!denied->n) break;
    struct digests *next = denied;
    denied = held;
    held = next;
    status = add_level(c, bloom, 0.5, held);
  }
  return status;
}

/* The retrieval sees other bits of a digest than the filter. */
static besom_digest last_digest(besom_digest d) {
  return layer_digest(d, MAX_LEVELS);
}

static void copy_with_bit(const struct digests *from, uint64_t bit, struct digests *to) {
  for (uint64_t i = 0; i < from->n; i++) {
    besom_digest d = last_digest(from->at[i]);
    to->at[to->n++] = (besom_digest){d.hi, (d.lo & ~UINT64_C(1)) | bit};
  }
}

static besom_status add_last(struct cascade *c, const struct digests *held,
                             const struct digests *others) {
  struct digests all = {.room = held->n + others->n + 1};
  all.at = besom__allocate(&c->head.allocator, all.room * sizeof *all.at);
  if (!all.at) return BESOM_NO_MEMORY;
  copy_with_bit(held, 1, &all);
  copy_with_bit(others, 0, &all);
  besom__sort_digests(all.at, (size_t)all.n, 0);
  besom_status status = besom__retrieval_build(&c->last, &c->head.allocator, &all,
                                               (struct retrieval_width){.columns = 1}, true);
  besom__digests_free(&c->head, &all);
  return status;
}

/* A filter, unless its rate would be 1, and the retrieval. */
static besom_status add_filter_and_bits(struct cascade *c, const struct layer_kind *base,
                                        struct cascade_plan plan, struct digests *yes,
                                        struct digests *no) {
  struct digests *held = plan.holds_no ? no : yes, *others = plan.holds_no ? yes : no;
  if (held->n + others->n > MAX_RETRIEVAL_KEYS) return BESOM_FULL;
  c->holds_no = plan.holds_no;
  besom_status status = BESOM_OK;
  if (plan.rate < 1) {
    status = add_level(c, base, plan.rate, held);
    if (status == BESOM_OK) besom__layer_chain_keep_false_positives(&c->levels, others);
  }
  return status == BESOM_OK ? add_last(c, held, others) : status;
}

static bool is_bloom(const struct layer_kind *base) {
  return is_kind(base->kind, &besom__bloom);
}

struct cascade_values {
  besom_bytes base;
  uint64_t universe;
};

#define UNIVERSE                                         \
  OPTION_WORDS(cascade_values, universe, "open, closed", \
               "closed: only keys of the lists are asked; needs base=ribbon or fuse")

static const struct option_row cascade_rows[] = {
    OPTION_ROW(cascade_values, base, BESOM_OPTION_KIND, .words = "bloom, fuse, ribbon",
               .meaning = "the kind of the filters"),
    UNIVERSE,
};

const struct option_row besom__updated_rows[UPDATED_ROWS] = {
    OPTION_ROW(cascade_values, base, BESOM_OPTION_KIND, .words = "ribbon, fuse, bloom",
               .meaning = "the kind of the filters of the base"),
    UNIVERSE,
};

const char *besom__cascade_conflict(const void *values) {
  const struct cascade_values *o = values;
  return o->universe && besom__says(o->base, "bloom")
             ? "universe=closed needs base=ribbon or base=fuse"
             : NULL;
}

static besom_status cascade_read_options(const struct besom_kind *kind, const char *text,
                                         struct cascade_options *out) {
  struct cascade_values o;
  besom_status status = besom__layered_options_read(kind, text, &o, &out->base);
  out->closed = o.universe;
  return status;
}

static besom_status cascade_build_of(besom_filter *f, const besom_config *config,
                                     const struct cascade_options *options, struct digests *yes,
                                     struct digests *no) {
  struct cascade *c = cascade(f);
  besom__digests_unite(yes);
  besom__digests_unite(no);
  f->items = yes->n;
  f->capacity = config->capacity;
  if (besom__digests_have_common(yes, no)) return BESOM_IS_MEMBER;
  if (is_bloom(&options->base)) {
    double rate = besom__cascade_first_rate(config, yes->n, no->n, sizeof *c, options->base.kind);
    return add_levels(c, &options->base, rate, yes, no);
  }
  struct cascade_plan plan =
      besom__cascade_plan(config, yes->n, no->n, options->closed, sizeof *c, options->base.kind);
  return plan.rate > 0 ? add_filter_and_bits(c, &options->base, plan, yes, no) : BESOM_INVALID;
}

besom_status besom__cascade_build_as(const struct besom_kind *kind, besom_filter *f,
                                     const besom_config *config, const besom_source *yes,
                                     const besom_source *no, const besom_progress *progress) {
  struct cascade_options options;
  struct digests held = {0}, denied = {0};
  if (config->slots || config->value_bits) return BESOM_INVALID;
  besom_status status = cascade_read_options(kind, config->options, &options);
  if (status == BESOM_OK) status = cascade_make_room(cascade(f), is_bloom(&options.base));
  if (status != BESOM_OK) return status;
  status = besom__collect(f, yes, config->capacity, progress, &held);
  if (status == BESOM_OK && no) status = besom__collect(f, no, MAX_CAPACITY, progress, &denied);
  if (status == BESOM_OK) status = cascade_build_of(f, config, &options, &held, &denied);
  besom__digests_free(f, &held);
  besom__digests_free(f, &denied);
  if (status != BESOM_OK) cascade_destroy(f);
  return status;
}

static besom_status cascade_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress) {
  return besom__cascade_build_as(f->kind, f, config, yes, no, progress);
}

besom_status besom__cascade_of_digests(besom_filter *f, const besom_config *config,
                                       struct digests *yes, struct digests *no) {
  struct cascade_options options;
  besom_status status = cascade_read_options(f->kind, config->options, &options);
  if (status == BESOM_OK) status = cascade_make_room(cascade(f), is_bloom(&options.base));
  if (status != BESOM_OK) return status;
  status = cascade_build_of(f, config, &options, yes, no);
  if (status != BESOM_OK) cascade_destroy(f);
  return status;
}

/* ------------------------------------------------------------------ queries */

/* The answer for a key to which the filter, if there is one, answers yes. */
static bool answer_of_bit(const struct cascade *c, besom_digest d) {
  return retrieval_bit(&c->last, last_digest(d)) != c->holds_no;
}

static bool cascade_contains(const besom_filter *f, besom_digest d) {
  const struct cascade *c = const_cascade(f);
  if (!c->last.layers) return besom__layer_chain_answer(&c->levels, 0, d);
  if (c->levels.n && !layer_chain_has(&c->levels, 0, d)) return c->holds_no;
  return answer_of_bit(c, d);
}

static void cascade_prefetch(const besom_filter *f, besom_digest d) {
  const struct cascade *c = const_cascade(f);
  layer_chain_prefetch(&c->levels, d);
  if (c->last.layers && c->last.bytes) retrieval_fetch(&c->last, last_digest(d));
}

static void cascade_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  const struct cascade *c = const_cascade(f);
  if (!c->last.layers) {
    besom__layer_chain_answer_many(&c->levels, d, n, bitmap);
    return;
  }
  memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
  for (size_t i = 0; i < n; i++) bitmap[i / 64] |= (uint64_t)cascade_contains(f, d[i]) << (i % 64);
}

/* ------------------------------------------------------------------ whole filters */

/* For a key on neither list the bit is random. */
static void cascade_stats(const besom_filter *f, struct stats_out *out) {
  const struct cascade *c = const_cascade(f);
  besom_statistics *s = &out->common;
  s->fpr_at_capacity = s->expected_fpr = c->last.layers ? 1 : 0;
  if (c->levels.n) besom__layer_chain_stats(&c->levels, out);
  if (c->levels.max == MAX_LEVELS) s->bytes += MAX_LEVELS * sizeof *c->levels.layers;
  if (!c->last.layers) return;
  s->bytes += besom__retrieval_bytes(&c->last);
  s->fpr_at_capacity = c->holds_no ? 1 - s->fpr_at_capacity / 2 : s->fpr_at_capacity / 2;
  s->expected_fpr = c->holds_no ? 1 - s->expected_fpr / 2 : s->expected_fpr / 2;
}

static const besom_filter *cascade_layer(const besom_filter *f, size_t i) {
  return i < const_cascade(f)->levels.n ? const_cascade(f)->levels.layers[i] : NULL;
}

static const char *cascade_validate(const besom_filter *f) {
  const struct cascade *c = const_cascade(f);
  const char *wrong = c->levels.n ? besom__layer_chain_validate(&c->levels) : NULL;
  if (!wrong && c->last.layers) wrong = besom__retrieval_validate(&c->last);
  if (wrong) return wrong;
  return f->items <= f->capacity ? NULL : "there are more keys than the capacity";
}

static void cascade_save(const besom_filter *f, struct sections_out *out) {
  const struct cascade *c = const_cascade(f);
  besom__write_u64(&out->parameters, c->levels.n);
  besom__write_u64(&out->parameters, c->last.layers ? 1 + c->holds_no : 0);
  if (c->last.layers) besom__retrieval_save(&c->last, out);
  besom__layer_chain_save(&c->levels, out);
}

static bool has_right_levels(const struct cascade *c) {
  if (!c->levels.n) return c->last.layers && c->last.columns == 1;
  const struct besom_kind *kind = c->levels.layers[0]->kind;
  if (!c->last.layers) return is_kind(kind, &besom__bloom);
  bool known = is_kind(kind, &besom__fuse) || is_kind(kind, &besom__ribbon);
  return c->levels.n == 1 && c->last.columns == 1 && known;
}

static besom_status cascade_load(besom_filter *f, struct sections_in *in) {
  struct cascade *c = cascade(f);
  uint64_t levels = besom__read_u64(&in->parameters), form = besom__read_u64(&in->parameters);
  if (form > 2) return BESOM_CORRUPT;
  c->holds_no = form == 2;
  besom_status status = cascade_make_room(c, !form);
  if (status != BESOM_OK) return status;
  status = form ? besom__retrieval_load(&c->last, &f->allocator, in, f->mapping) : BESOM_OK;
  if (status == BESOM_OK && levels) status = besom__layer_chain_load(&c->levels, f, in, levels);
  if (status == BESOM_OK && has_right_levels(c)) return BESOM_OK;
  cascade_destroy(f);
  return status == BESOM_OK ? BESOM_CORRUPT : status;
}

const struct besom_kind besom__cascade = {
    .name = "cascade",
    .summary = "static: yes to all of one list, no to all of another; base=ribbon is the smallest",
    .size = sizeof(struct cascade),
    .options = {OPTION_ROWS(cascade_rows), .passes_on = true, .conflict = besom__cascade_conflict},
    .destroy = cascade_destroy,
    .stats = cascade_stats,
    .layer = cascade_layer,
    .query = {.contains = cascade_contains,
              .contains_many = cascade_contains_many,
              .prefetch = cascade_prefetch},
    .build = &(const struct build_ops){.takes_no = BESOM_CAN_BUILD_NO, .build = cascade_build},
    .file = &(const struct file_ops){.validate = cascade_validate,
                                     .save = cascade_save,
                                     .load = cascade_load},
};
