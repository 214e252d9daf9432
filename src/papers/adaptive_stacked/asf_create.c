/* Options of adaptive stacked filters; creating, building and freeing them. */
#include <math.h>

#include "core/system/memory.h"
#include "kinds.h"
#include "papers/adaptive_stacked/asf.h"
#include "stacked/query_sample.h"

#define DEFAULT_RESERVE 0.05
#define DEFAULT_NEGATIVES 100.0 /* per member */
#define DEFAULT_LIFETIME 100.0  /* queries per member */
#define DEFAULT_LAYERS 5
#define LAYER_ROUNDING 256 /* bits per layer, on average */
#define WORTH_LAYERS 1.03  /* the rate may be so much higher with the default layers than with 3 */

/* ------------------------------------------------------------------ options */

struct asf_values {
  besom_bytes base;
  uint64_t form, layers, skew, negatives, lifetime, objective;
};

const struct option_row besom__asf_rows[ASF_ROWS] = {
    OPTION_WORDS(asf_values, form, "incremental, published",
                 "published: the third layer is made when the second is full; three layers"),
    OPTION_ROW(asf_values, base, BESOM_OPTION_KIND,
               .words = "bloom, blocked-bloom, cf, vacuum, qf, pqf",
               .meaning = "the kind of the layers"),
    OPTION_NUMBER(asf_values, layers, ODD, 3, ASF_MAX_LAYERS,
                  "5; 3 if their heads would make the rate of a small filter 3 % higher",
                  "maximum number of layers"),
    OPTION_NUMBER(asf_values, skew, NUMBER, 0, 300, "100",
                  "exponent of the Zipf distribution, in hundredths"),
    OPTION_NUMBER(asf_values, negatives, NUMBER, 1, MAX_CAPACITY, "100 per member",
                  "distinct absent keys that are queried"),
    OPTION_NUMBER(asf_values, lifetime, NUMBER, 1, MAX_CAPACITY, "100 per member",
                  "negative queries until the filter is replaced"),
    OPTION_WORDS(asf_values, objective, "lifetime, final",
                 "the objective of the planner: fewest false positives over the lifetime, or the "
                 "lowest rate of the complete stack"),
};

const char *besom__asf_conflict(const void *values) {
  const struct asf_values *o = values;
  return o->form && o->layers != OPTION_UNSET && o->layers > 3 ? "form=published has three layers"
                                                               : NULL;
}

/* ------------------------------------------------------------------ creating */

void besom__asf_set_objective(struct asf *a, const struct asf_objective *objective) {
  a->objective = *objective;
  a->plan = besom__asf_plan(objective);
  a->expected_fpr = a->plan.expected_fpr;
}

besom_status besom__asf_make_first(const struct asf *a, const struct asf_plan *plan,
                                   besom_filter **out) {
  const struct asf_objective *objective = &a->objective;
  struct layer_kind base = {.kind = objective->kind};
  besom_config config = {.capacity = a->head.capacity};
  double head = 8.0 * (double)objective->kind->size / (double)config.capacity;
  if (objective->bits != 0)
    config.bits_per_key = plan->bits + head;
  else
    config.fpr = objective->fpr;
  return besom__layer_create(&a->head, &base, &config, out);
}

/* Bits for heads and rounding: of the filter, of its layers, and of the copy that waits. */
static double head_bits(const struct asf *a, unsigned layers) {
  double all = layers + (a->objective.published ? 0 : 1);
  double measured = a->measured ? sizeof *a->measured : 0;
  return 8 * (sizeof *a + measured) +
         all * (8.0 * (double)a->objective.kind->size + LAYER_ROUNDING);
}

/* The objective with so many layers, whose heads are taken from the budget of bits. */
static struct asf_objective objective_with(const struct asf *a, unsigned layers, double bits) {
  struct asf_objective objective = a->objective;
  objective.layers = layers;
  if (bits > 0) objective.bits = (bits - head_bits(a, layers)) / objective.members;
  return objective;
}

/*
 * More than three layers deny what an adversary would repeat. They are the default unless their
 * heads take too much of a small filter. Errors: INVALID (the bits do not even suffice for heads).
 */
static besom_status choose_layers(struct asf *a, const struct asf_values *o, double bits) {
  bool chosen = o->layers != OPTION_UNSET;
  unsigned layers = chosen ? (unsigned)o->layers : 3;
  struct asf_objective few = objective_with(a, layers, bits),
                       many = objective_with(a, DEFAULT_LAYERS, bits);
  if (bits > 0 && !(few.bits > 0)) return BESOM_INVALID;
  besom__asf_set_objective(a, &few);
  if (chosen || o->form || (bits > 0 && !(many.bits > 0))) return BESOM_OK;
  double value = a->plan.value;
  besom__asf_set_objective(a, &many);
  if (a->plan.learn == 0 || a->plan.value > WORTH_LAYERS * value) besom__asf_set_objective(a, &few);
  return BESOM_OK;
}

/* The measured distribution replaces the Zipf distribution of the options. */
static void use_measured(struct asf *a) {
  const struct measured_ranks *ranks = a->measured;
  double keys = 0;
  a->objective.workload.measured = ranks;
  for (uint64_t i = 0; i < ranks->n; i++)
    if (ranks->keys[i] < 0x1p52) keys += ranks->keys[i];
  a->objective.workload.negatives = fmax(keys, 1);
}

static double given_or(uint64_t given, double by_default) {
  return given == OPTION_UNSET ? by_default : (double)given;
}

/* a->measured is set if the distribution is known. */
besom_status besom__asf_create(besom_filter *f, const besom_config *config) {
  struct asf *a = asf(f);
  struct asf_values o;
  struct layer_kind base;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double members = (double)most, bits = config->bits_per_key * members;
  besom_status status = besom__layered_options_read(f->kind, config->options, &o, &base);
  if (status != BESOM_OK) return status;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  a->objective = (struct asf_objective){
      .kind = base.kind,
      .published = o.form,
      .workload = {.skew = (double)o.skew / 100,
                   .negatives = given_or(o.negatives, DEFAULT_NEGATIVES * members)},
      .members = members,
      .lifetime = o.objective ? 0 : given_or(o.lifetime, DEFAULT_LIFETIME * members),
      .fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR,
      .reserve = config->reserve != 0 ? config->reserve : DEFAULT_RESERVE};
  if (a->measured) use_measured(a);
  status = choose_layers(a, &o, bits);
  if (status != BESOM_OK) return status;
  f->capacity = most;
  a->n = 1;
  return besom__asf_make_first(a, &a->plan, &a->layers[0]);
}

besom_status besom__asf_create_like(besom_filter *f, const besom_filter *model) {
  const struct asf *m = const_asf(model);
  struct asf *a = asf(f);
  struct asf_objective objective = m->objective;
  if (m->measured) {
    a->measured = besom__allocate(&f->allocator, sizeof *a->measured);
    if (!a->measured) return BESOM_NO_MEMORY;
    *a->measured = *m->measured;
    objective.workload.measured = a->measured;
  }
  besom__asf_set_objective(a, &objective);
  a->n = 1;
  besom_status status = besom_create_like(m->layers[0], &a->layers[0]);
  if (status != BESOM_OK) besom__release(&f->allocator, a->measured, sizeof *a->measured);
  return status;
}

void besom__asf_destroy(besom_filter *f) {
  struct asf *a = asf(f);
  besom__asf_end_pass(a);
  for (unsigned i = 0; i < ASF_MAX_LAYERS; i++) {
    besom_free(a->layers[i]);
    besom_free(a->next[i]);
  }
  besom__release(&f->allocator, a->measured, a->measured ? sizeof *a->measured : 0);
}

/* ------------------------------------------------------------------ building */

/*
 * Measures the rank-frequency distribution of a sample of queries, without the members in it. A
 * sample in which every key occurs once tells nothing; then the options count.
 */
static besom_status measure(struct asf *a, const struct digests *members, const besom_source *no,
                            const besom_progress *progress) {
  const besom_allocator *allocator = &a->head.allocator;
  struct query_sample sample;
  besom_status status = besom__query_sample_collect(&a->head, no, progress, &sample);
  if (status != BESOM_OK) return status;
  struct rank_frequency *frequencies = besom__allocate(allocator, sizeof *frequencies);
  if (sample.weighted) a->measured = besom__allocate(allocator, sizeof *a->measured);
  if (!frequencies || (sample.weighted && !a->measured)) {
    status = BESOM_NO_MEMORY;
  } else if (sample.weighted) {
    besom__query_sample_remove_members(&sample, members);
    besom__query_sample_rank_frequency(&sample, frequencies);
    besom__measure_ranks(frequencies, a->measured);
  }
  besom__release(allocator, frequencies, sizeof *frequencies);
  besom__query_sample_free(&a->head, &sample);
  return status;
}

static besom_status build_measured(besom_filter *f, const besom_config *config,
                                   const struct digests *members, const besom_source *no,
                                   const besom_progress *progress) {
  struct asf *a = asf(f);
  size_t done;
  besom_status status = measure(a, members, no, progress);
  if (status == BESOM_OK) status = besom__asf_create(f, config);
  if (status == BESOM_OK)
    status = a->layers[0]->kind->change->insert_many(a->layers[0], members->at, (size_t)members->n,
                                                     &done);
  if (a->layers[0]) f->items = a->layers[0]->items;
  if (status != BESOM_OK) besom__asf_destroy(f);
  return status;
}

besom_status besom__asf_build(besom_filter *f, const besom_config *config, const besom_source *yes,
                              const besom_source *no, const besom_progress *progress) {
  struct digests members;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  besom_status status = besom__collect(f, yes, most, progress, &members);
  if (status != BESOM_OK) return status;
  besom__digests_unite(&members);
  status = build_measured(f, config, &members, no, progress);
  besom__digests_free(f, &members);
  return status;
}
