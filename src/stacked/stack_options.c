#include "stacked/stack_options.h"

#include <math.h>

#include "core/system/memory.h"
#include "kinds.h"
#include "stacked/workload.h"

/*
 * Without this limit the planner may choose 1-bit fingerprints, and half of the members would pass
 * through all layers.
 */
#define MAX_CHECKS_OF_MEMBERS 2.5

/* ------------------------------------------------------------------ options */

struct stacked_values {
  besom_bytes base;
  uint64_t layers, frequent, worst_fpr_bits, sampled;
};

const struct option_row besom__stacked_rows[STACKED_ROWS] = {
    OPTION_ROW(stacked_values, base, BESOM_OPTION_KIND,
               .words = "fuse, bloom, blocked-bloom, cf, vacuum, qf, pqf, ribbon",
               .standard = "fuse; bloom if `capacity` has room for later inserts",
               .meaning = "the kind of the layers"),
    OPTION_NUMBER(stacked_values, layers, ODD, 1, MAX_STACK_LAYERS, "15",
                  "maximum number of layers"),
    OPTION_NUMBER(stacked_values, frequent, NUMBER, 1, UINT64_MAX, "chosen by the planner",
                  "number of frequent non-members"),
    OPTION_NUMBER(stacked_values, worst_fpr_bits, NUMBER, 0, 100, "no limit",
                  "the false-positive rate for keys outside of the sample is at most 2^-this"),
    OPTION_NUMBER(stacked_values, sampled, NUMBER, 0, 100, "estimated, or 50 without weights",
                  "percentage of the negative queries that are for keys of the sample"),
};

besom_status besom__stack_options_read(const char *text, struct stack_options *options) {
  struct stacked_values o;
  *options = (struct stack_options){.limits.checks_member = MAX_CHECKS_OF_MEMBERS};
  besom_status status = besom__layered_options_read(&besom__stacked, text, &o, &options->base);
  if (status != BESOM_OK) return status;
  if (!o.base.len) options->base.kind = NULL;
  options->limits.layers = (uint32_t)o.layers;
  if (o.frequent != OPTION_UNSET) options->limits.frequent = o.frequent;
  if (o.worst_fpr_bits != OPTION_UNSET) options->limits.worst_fpr = exp2(-(double)o.worst_fpr_bits);
  options->sampled_given = o.sampled != OPTION_UNSET;
  options->sampled = (double)o.sampled / 100;
  return BESOM_OK;
}

/* Whether the stack's head and one layer, as small as the kind allows, fit into the budget. */
static bool one_layer_fits(const struct besom_kind *kind, double keys, double bits_per_key) {
  double highest = 0.999, bits = kind->bits_per_key(keys, &highest);
  double heads = 8.0 * (double)(kind->size + besom__stacked.size) + LAYER_PADDING;
  return bits > 0 && keys * bits + heads <= keys * bits_per_key;
}

void besom__stack_options_base(struct stack_options *options, const besom_config *config,
                               uint64_t capacity, bool inserts) {
  const struct besom_kind *bloom = besom__in_this_build(&besom__bloom);
  struct layer_kind *base = &options->base;
  double keys = (double)capacity, rate = 0.5;
  bool chosen = !base->kind;
  if (chosen) base->kind = inserts ? bloom : besom__in_this_build(&besom__fuse);
  bool fits = config->bits_per_key == 0 || one_layer_fits(base->kind, keys, config->bits_per_key);
  bool possible = base->kind->bits_per_key(keys, &rate) > 0;
  if (fits && (possible || !chosen)) return;
  base->kind = bloom;
  if (!chosen) base->options[0] = 0; /* they are those of the given kind, and were checked */
}

void besom__stack_options_unseen(const struct stack_options *options, bool weighted,
                                 struct rank_frequency *frequencies) {
  frequencies->unseen_given = options->sampled_given || !weighted;
  frequencies->unseen = options->sampled_given ? 1 - options->sampled : 0.5;
}

void besom__stack_limit_unweighted(const struct stack_options *options,
                                   struct stack_objective *objective) {
  struct layer_costs bloom;
  double limit = objective->fpr, members = objective->members;
  if (options->sampled_given || objective->limits.worst_fpr > 0) return;
  if (objective->bits != 0) {
    const struct besom_kind *kind = besom__in_this_build(&besom__bloom);
    const struct layer_costs *own = &objective->costs;
    besom__layer_costs(kind, members, &bloom);
    double rate = exp2(-besom__layer_log_rate(&bloom, objective->bits -
                                                          8.0 * (double)kind->size / members)),
           one = exp2(-besom__layer_log_rate(
               own, objective->bits - (own->head_bits + own->layer_bits) / members));
    limit = 1.001 * fmax(rate, one); /* so that one layer is feasible */
  }
  objective->limits.worst_fpr = limit;
}

besom_status besom__stack_objective(const struct stack_options *options, const besom_config *config,
                                    uint64_t members, struct stack_objective *objective) {
  *objective = (struct stack_objective){
      .members = (double)members, .bits = config->bits_per_key, .limits = options->limits};
  if (config->bits_per_key == 0) objective->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (!besom__layer_costs(options->base.kind, objective->members, &objective->costs))
    return BESOM_INVALID;
  objective->costs.head_bits = 8.0 * (double)besom__stacked.size;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ plans */

static bool limits_in_range(const besom_plan_limits *l) {
  return l->worst_fpr >= 0 && l->worst_fpr <= 1 && (l->checks == 0 || l->checks >= 1) &&
         (l->checks_member == 0 || l->checks_member >= 1) && l->epsilon >= 0 && l->epsilon <= 1 &&
         (l->layers == 0 || (l->layers % 2 && l->layers <= MAX_STACK_LAYERS));
}

static besom_stack_plan plan_of(const struct stack_candidate *x) {
  const struct stack *s = &x->stack;
  besom_stack_plan plan = {.frequent = (uint64_t)x->frequent,
                           .share = x->share,
                           .layers = s->layers,
                           .bits_per_key = x->bits,
                           .expected_fpr = x->fpr,
                           .worst_fpr = besom__stack_fpr_other(s),
                           .checks_member = besom__stack_checks_member(s),
                           .checks = besom__stack_checks(s, x->share)};
  for (unsigned i = 0; i < s->layers; i++) plan.rates[i] = s->rates[i];
  return plan;
}

static besom_status stack_options_plan_for(const struct stack_objective *objective,
                                           const struct stack_options *options,
                                           const besom_workload *workload, besom_stack_plan *plan) {
  const besom_allocator *allocator = besom__workload_allocator(workload);
  struct rank_frequency *frequencies = besom__allocate(allocator, sizeof *frequencies);
  struct stack_candidate candidate;
  if (!frequencies) return BESOM_NO_MEMORY;
  besom__workload_rank_frequency(workload, frequencies);
  besom__stack_options_unseen(options, true, frequencies);
  bool found = besom__stack_plan(objective, frequencies, &candidate);
  besom__release(allocator, frequencies, sizeof *frequencies);
  if (found) *plan = plan_of(&candidate);
  return found ? BESOM_OK : BESOM_INVALID;
}

static besom_status stack_options_plan(const besom_config *config, uint64_t set_size,
                                       const besom_workload *workload,
                                       const besom_plan_limits *limits, besom_stack_plan *out) {
  struct stack_options options;
  struct stack_objective objective;
  const struct besom_kind *kind;
  struct hasher hasher;
  besom_config sized = *config;
  sized.capacity = set_size;
  if (sized.max_capacity < set_size) sized.max_capacity = 0;
  besom_status status = besom__config_read(&sized, &kind, &hasher);
  if (status == BESOM_OK && kind != &besom__stacked) status = BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__stack_options_read(config->options, &options);
  if (status != BESOM_OK) return status;
  if (limits) options.limits = *limits;
  if (!limits_in_range(&options.limits)) return BESOM_INVALID;
  uint64_t capacity =
      config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  besom__stack_options_base(&options, config, set_size, capacity > set_size);
  status = besom__stack_objective(&options, config, set_size, &objective);
  return status == BESOM_OK ? stack_options_plan_for(&objective, &options, workload, out) : status;
}

besom_status besom_plan_sized(const besom_config *config, size_t config_size, uint64_t set_size,
                              const besom_workload *workload, const besom_plan_limits *limits,
                              size_t limits_size, besom_stack_plan *out, size_t plan_size) {
  besom_config c;
  besom_plan_limits l;
  besom_stack_plan all;
  if (!config || !workload || !out || !set_size) return BESOM_INVALID;
  besom_copy_struct(&c, sizeof c, config, config_size);
  if (limits) besom_copy_struct(&l, sizeof l, limits, limits_size);
  besom_status status = stack_options_plan(&c, set_size, workload, limits ? &l : NULL, &all);
  if (status == BESOM_OK) besom_copy_struct(out, plan_size, &all, sizeof all);
  return status;
}
