/*
 * yesno: a static quotient filter built from a yes list and a no list, exact on both. It answers
 * yes to every key of the yes list and no to every key of the no list. For all other keys the
 * false-positive rate is at most the target (Wen et al., "Adaptive Quotient Filters", 2024, section
 * 5). The result is that of an adaptive filter to which every key of the no list was reported, but
 * it is built at once and to the exact size.
 *
 * The no list is stored only in the lengths of the fingerprints. So the filter cannot insert keys:
 * a new fingerprint might match a no key. It can remove keys, and add keys to the no list, which
 * become exceptions.
 */
#include "core/options.h"
#include "quotient/aqf/aqf.h"
#include "quotient/yesno/yesno_table.h"

#define MOST_TRIES 32
#define MARGIN 1.02 /* for a table that turns out larger than planned */

/* ------------------------------------------------------------------ reading the lists */

/* Combines the progress of several passes into one. */
struct passes {
  const besom_progress *progress;
  uint64_t before, total;
};

static bool tick_pass(void *ctx, uint64_t done, uint64_t total) {
  const struct passes *p = ctx;
  (void)total; /* of this pass */
  return besom__tick(p->progress, p->before + done, p->total) == BESOM_OK;
}

static besom_status yesno_read_list(const besom_filter *f, const besom_source *source,
                                    uint64_t most, struct passes *p, struct digests *list) {
  besom_progress pass = {.tick = tick_pass, .ctx = p};
  besom_status status = besom__collect(f, source, most, &pass, list);
  if (status != BESOM_OK) return status;
  p->before += list->n;
  besom__digests_unite(list);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ making the table */

/* The widest remainder within the given bits per key; 0 if there is none. */
static unsigned yesno_width_for_bits(const struct lists *l, double bits,
                                     struct qtable_shape shape) {
  for (unsigned width = 64; width >= AQF_MIN_WIDTH; width--) {
    shape.slots = 0;
    besom__yesno_table_plan(l->n_yes, l->n_no, width, width, &shape);
    double bytes = MARGIN * (double)besom__qtable_bytes(&shape) + (double)sizeof(struct aqf);
    if (shape.slots && 8 * bytes <= bits * (double)l->n_yes) return width;
  }
  return 0;
}

static besom_status yesno_plan(const besom_config *config, const struct lists *l,
                               struct qtable_shape *shape) {
  double rate = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  unsigned width = config->width;
  if (config->slots) {
    shape->slots = config->slots;
    shape->width =
        width ? width : besom__quotient_width(l->n_yes, config->slots, rate, AQF_MIN_WIDTH);
    return shape->width >= AQF_MIN_WIDTH && shape->width <= 64 ? BESOM_OK : BESOM_INVALID;
  }
  if (config->bits_per_key != 0) width = yesno_width_for_bits(l, config->bits_per_key, *shape);
  if (config->bits_per_key != 0 && !width) return BESOM_INVALID;
  besom__yesno_table_plan(l->n_yes, l->n_no,
                          width ? width : besom__quotient_width(1, 1, rate, AQF_MIN_WIDTH),
                          width ? width : 64, shape);
  return shape->slots ? BESOM_OK : BESOM_INVALID;
}

/*
 * Raises shape->slots until all fingerprints fit. Returns FULL if the number of slots is fixed and
 * too small.
 */
static besom_status fit_slots(const struct lists *l, bool fixed, struct qtable_shape *shape) {
  for (unsigned i = 0; i < MOST_TRIES; i++) {
    uint64_t used;
    besom_status status = besom__yesno_table_count_slots(l, shape, &used);
    if (status != BESOM_OK) return status;
    uint64_t slots = besom__yesno_table_slots_for(used);
    if (slots <= shape->slots) return BESOM_OK;
    if (fixed) return used <= shape->slots ? BESOM_OK : BESOM_FULL;
    shape->slots = slots;
  }
  return BESOM_OK; /* filling the table will decide */
}

static besom_status make_table(besom_filter *f, const struct lists *l, const besom_config *config,
                               const besom_progress *progress) {
  struct aqf *a = aqf(f);
  struct qtable_shape shape = {.heads = true};
  besom_status status = yesno_plan(config, l, &shape);
  if (status != BESOM_OK) return status;
  for (unsigned i = 0; i < MOST_TRIES; i++) {
    status = fit_slots(l, config->slots, &shape);
    if (status == BESOM_OK) status = besom__quotient_table_new(f, &shape, &a->base.table);
    if (status != BESOM_OK) return status;
    status = besom__yesno_table_fill(l, &a->base.table, progress);
    a->counters.slots = a->base.table.used - l->n_yes;
    if (status == BESOM_OK) return BESOM_OK;
    besom__quotient_table_free(f, &a->base.table);
    if (status != BESOM_FULL || config->slots) return status;
    shape.slots += shape.slots / 64 + 1; /* rare: too many keys near the end of the table */
  }
  return BESOM_FULL;
}

besom_status besom__yesno_build(besom_filter *f, const besom_config *config,
                                const besom_source *yes, const besom_source *no,
                                const besom_progress *progress) {
  struct aqf *a = aqf(f);
  f->kind = &besom__yesno;
  if (config->value_bits) return BESOM_INVALID;
  a->reserve = config->reserve != 0 ? config->reserve : AQF_DEFAULT_RESERVE;
  besom_status status = besom__option_isa(&f->kind->options, config->options, &a->base.isa);
  if (status != BESOM_OK) return status;
  struct digests members = {0}, others = {0};
  struct passes passes = {.progress = progress};
  if (yes->size_hint && (!no || no->size_hint))
    passes.total = 2 * yes->size_hint + (no ? no->size_hint : 0);
  status = yesno_read_list(f, yes, config->capacity ? config->capacity : MAX_CAPACITY, &passes,
                           &members);
  if (status == BESOM_OK && no) status = yesno_read_list(f, no, MAX_CAPACITY, &passes, &others);
  struct lists lists = {members.at, others.at, (size_t)members.n, (size_t)others.n};
  besom_progress pass = {.tick = tick_pass, .ctx = &passes};
  if (status == BESOM_OK) status = make_table(f, &lists, config, &pass);
  besom__digests_free(f, &members);
  besom__digests_free(f, &others);
  f->items = lists.n_yes;
  f->capacity = lists.n_yes ? lists.n_yes : 1;
  return status;
}

static besom_status yesno_build_like(besom_filter *f, const besom_filter *model,
                                     const besom_source *yes, const besom_source *no,
                                     const besom_progress *progress) {
  const struct qtable *t = &const_quotient_filter(model)->table;
  besom_config config = {
      .slots = t->slots, .width = t->width, .reserve = const_aqf(model)->reserve};
  return besom__yesno_build(f, &config, yes, no, progress);
}

const struct besom_kind besom__yesno = {
    .name = "yesno",
    .summary = "static quotient filter of a yes list and a no list, exact on both",
    .size = sizeof(struct aqf),
    .options = ISA_ONLY,
    .destroy = besom__quotient_destroy,
    .full_exceptions = true,
    .stats = besom__aqf_stats,
    .query = {.calls = besom__aqf_query_calls,
              .contains = besom__aqf_contains,
              .contains_many = besom__aqf_contains_many,
              .prefetch = besom__quotient_prefetch},
    .change = &(const struct change_ops){.remove = besom__aqf_remove},
    .adapt = &(const struct adapt_ops){.exception_slots = besom__aqf_exception_slots},
    .whole = &(const struct whole_ops){.iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .build = &(const struct build_ops){.takes_no = BESOM_CAN_BUILD_NO,
                                       .build = besom__yesno_build,
                                       .build_like = yesno_build_like},
    .file = &besom__aqf_files,
};
