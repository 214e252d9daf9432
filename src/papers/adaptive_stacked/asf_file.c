/*
 * Saving and loading adaptive stacked filters. The plan is not saved: it follows from the
 * objective. Layers that wait for a pass are saved if they hold reported keys; a pass begins again.
 */
#include <math.h>

#include "core/system/memory.h"
#include "papers/adaptive_stacked/asf.h"

enum { PUBLISHED = 1, WIDEST = 2 }; /* forms, in the file */

/* ------------------------------------------------------------------ saving */

void besom__asf_save(const besom_filter *f, struct sections_out *out) {
  const struct asf *a = const_asf(f);
  const struct asf_objective *objective = &a->objective;
  bool as_planned = a->expected_fpr == a->plan.expected_fpr;
  const double numbers[] = {objective->workload.skew,
                            objective->workload.negatives,
                            objective->lifetime,
                            objective->bits,
                            objective->fpr,
                            objective->reserve,
                            as_planned ? 0 : a->expected_fpr};
  uint64_t waiting = 0;
  for (unsigned i = 1; i < ASF_MAX_LAYERS; i += 2) waiting |= (uint64_t)(a->next[i] != NULL) << i;
  const uint64_t counts[] = {a->n,
                             waiting,
                             objective->published ? PUBLISHED
                             : objective->widest  ? WIDEST
                                                  : 0,
                             objective->layers,
                             a->remedy,
                             a->generation,
                             a->measured ? a->measured->n : 0};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    besom__write_u64(&out->parameters, counts[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    besom__write_double(&out->parameters, numbers[i]);
  for (uint64_t i = 0; a->measured && i < a->measured->n; i++) {
    besom__write_double(&out->parameters, a->measured->keys[i]);
    besom__write_double(&out->parameters, a->measured->each[i]);
  }
  for (unsigned i = 0; i < a->n; i++) besom__layer_save(a->layers[i], out);
  for (unsigned i = 1; i < ASF_MAX_LAYERS; i += 2)
    if (a->next[i]) besom__layer_save(a->next[i], out);
}

/* ------------------------------------------------------------------ loading */

/* The counts at the beginning of the parameters. */
struct saved_counts {
  uint64_t layers, waiting, form, max_layers, remedy, generation, groups;
};

static struct saved_counts read_counts(struct byte_reader *r) {
  struct saved_counts c = {0};
  uint64_t *const counts[] = {&c.layers, &c.waiting,    &c.form,  &c.max_layers,
                              &c.remedy, &c.generation, &c.groups};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *counts[i] = besom__read_u64(r);
  return c;
}

/* A layer of non-members waits only if the layers before it are in use. */
static bool counts_in_range(const struct saved_counts *c) {
  uint64_t may_wait = 0;
  for (unsigned i = 1; i < ASF_MAX_LAYERS && i < c->max_layers && i <= c->layers; i += 2)
    may_wait |= UINT64_C(1) << i;
  return c->max_layers >= 3 && c->max_layers <= ASF_MAX_LAYERS && c->max_layers % 2 &&
         c->layers <= c->max_layers && c->layers % 2 && !(c->waiting & ~may_wait) &&
         c->form <= WIDEST && c->remedy <= REPLANNED && c->groups <= MEASURED_GROUPS;
}

/* False for NaN, and for -0, so that zero has one encoding. */
static bool within(double x, double low, double high) {
  return x >= low && x <= high && !signbit(x);
}

static bool objective_in_range(const struct asf_objective *objective) {
  return within(objective->workload.skew, 0, ASF_MAX_SKEW) &&
         within(objective->workload.negatives, 1, 0x1p60) &&
         within(objective->lifetime, 0, 0x1p52) && within(objective->bits, 0, 1024) &&
         within(objective->fpr, 0x1p-1074, 1) && within(objective->reserve, 0x1p-1074, 0.5);
}

static double read_numbers(struct byte_reader *r, struct asf_objective *objective) {
  double expected_fpr = 0;
  double *const numbers[] = {&objective->workload.skew,
                             &objective->workload.negatives,
                             &objective->lifetime,
                             &objective->bits,
                             &objective->fpr,
                             &objective->reserve,
                             &expected_fpr};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = besom__read_double(r);
  return expected_fpr;
}

static besom_status load_measured(struct asf *a, struct byte_reader *r, uint64_t groups) {
  if (!groups) return BESOM_OK;
  a->measured = besom__allocate(&a->head.allocator, sizeof *a->measured);
  if (!a->measured) return BESOM_NO_MEMORY;
  a->measured->n = groups;
  for (uint64_t i = 0; i < groups; i++) {
    a->measured->keys[i] = besom__read_double(r);
    a->measured->each[i] = besom__read_double(r);
  }
  return besom__measured_ranks_valid(a->measured) ? BESOM_OK : BESOM_CORRUPT;
}

static besom_status asf_load_layers(struct asf *a, struct sections_in *in, uint64_t n,
                                    uint64_t waiting) {
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < n && status == BESOM_OK; i++)
    status = besom__layer_load(&a->head, in, &a->layers[i]);
  for (unsigned i = 1; i < ASF_MAX_LAYERS && status == BESOM_OK; i += 2)
    if (waiting >> i & 1) status = besom__layer_load(&a->head, in, &a->next[i]);
  return status;
}

/* Whether all layers are of one kind, which can be planned with. */
static bool layers_are_alike(const struct asf *a) {
  const struct besom_kind *kind = a->layers[0]->kind;
  for (unsigned i = 0; i < ASF_MAX_LAYERS; i++) {
    if (a->layers[i] && a->layers[i]->kind != kind) return false;
    if (a->next[i] && a->next[i]->kind != kind) return false;
  }
  return kind->bits_per_key;
}

static besom_status load_all(struct asf *a, struct sections_in *in) {
  struct byte_reader *r = &in->parameters;
  struct saved_counts counts = read_counts(r);
  struct asf_objective objective = {.members = (double)a->head.capacity,
                                    .published = counts.form == PUBLISHED,
                                    .widest = counts.form == WIDEST,
                                    .layers = (unsigned)counts.max_layers};
  if (a->head.capacity == 0 || !counts_in_range(&counts)) return BESOM_CORRUPT;
  double expected_fpr = read_numbers(r, &objective);
  if (!objective_in_range(&objective) || !within(expected_fpr, 0, 1)) return BESOM_CORRUPT;
  besom_status status = load_measured(a, r, counts.groups);
  if (status == BESOM_OK) status = asf_load_layers(a, in, counts.layers, counts.waiting);
  if (status != BESOM_OK) return status;
  if (!layers_are_alike(a)) return BESOM_CORRUPT;
  objective.kind = a->layers[0]->kind;
  objective.workload.measured = a->measured;
  a->n = (unsigned)counts.layers;
  a->remedy = (enum remedy)counts.remedy;
  a->generation = counts.generation;
  besom__asf_set_objective(a, &objective);
  if (expected_fpr == a->expected_fpr) return BESOM_CORRUPT; /* save would have left it out */
  if (expected_fpr > 0) a->expected_fpr = expected_fpr;
  return BESOM_OK;
}

besom_status besom__asf_load(besom_filter *f, struct sections_in *in) {
  besom_status status = load_all(asf(f), in);
  if (status != BESOM_OK) besom__asf_destroy(f);
  return status;
}
