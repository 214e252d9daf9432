#include "layered/stack_options.h"

#include <math.h>
#include <stdio.h>

#include "core/memory.h"
#include "layered/workload.h"

/*
 * Without this limit the planner may choose 1-bit fingerprints, and half of the members would pass
 * through all layers.
 */
#define MAX_CHECKS_OF_MEMBERS 2.5

extern const struct besom_kind besom__stacked;

/* ------------------------------------------------------------------ options */

static besom_status read_option(struct stack_options *options, const struct option *option) {
  uint64_t number;
  bool layers = besom__option_is(option, "layers"), frequent = besom__option_is(option, "frequent");
  bool worst_fpr = besom__option_is(option, "worst_fpr_bits");
  bool sampled = besom__option_is(option, "sampled");
  if (!(layers || frequent || worst_fpr || sampled))
    return besom__layer_option(&options->base, option);
  besom_status status = besom__option_number(option, &number);
  if (status != BESOM_OK) return status;
  if (frequent) {
    options->limits.frequent = number;
    return number ? BESOM_OK : BESOM_BAD_OPTION;
  }
  if (number > 100) return BESOM_BAD_OPTION;
  if (worst_fpr) options->limits.worst_fpr = exp2(-(double)number);
  if (sampled) options->sampled_given = true, options->sampled = (double)number / 100;
  if (layers) options->limits.layers = (uint32_t)number;
  return !layers || (number % 2 && number <= MAX_STACK_LAYERS) ? BESOM_OK : BESOM_BAD_OPTION;
}

besom_status besom__stack_options_read(const char *text, struct stack_options *options) {
  struct option option;
  besom_status status;
  *options =
      (struct stack_options){.base = {.kind = besom__kind_named("bloom"), .may_be_built = true},
                             .limits.checks_member = MAX_CHECKS_OF_MEMBERS};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if ((status = read_option(options, &option)) != BESOM_OK) return status;
  return status == BESOM_END && options->base.kind->bits_per_key ? BESOM_OK : BESOM_BAD_OPTION;
}

void besom__stack_options_unseen(const struct stack_options *options, bool weighted,
                                 struct rank_frequency *frequencies) {
  frequencies->unseen_given = options->sampled_given || !weighted;
  frequencies->unseen = options->sampled_given ? 1 - options->sampled : 0.5;
}

besom_status besom__stack_objective(const struct stack_options *options, const besom_config *config,
                                    uint64_t members, struct stack_objective *objective) {
  *objective = (struct stack_objective){
      .members = (double)members, .bits = config->bits, .limits = options->limits};
  if (config->bits == 0) objective->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
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
                           .bits = x->bits,
                           .expected_fpr = x->fpr,
                           .worst_fpr = besom__stack_fpr_other(s),
                           .checks_member = besom__stack_checks_member(s),
                           .checks = besom__stack_checks(s, x->share)};
  for (unsigned i = 0; i < s->layers; i++) plan.rates[i] = s->rates[i];
  return plan;
}

static besom_status plan_for(const struct stack_objective *objective,
                             const struct stack_options *options, const besom_workload *workload,
                             besom_stack_plan *plan) {
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

besom_status besom_plan(const besom_config *config, uint64_t set_size,
                        const besom_workload *workload, const besom_plan_limits *limits,
                        besom_stack_plan *plan) {
  struct stack_options options;
  struct stack_objective objective;
  const struct besom_kind *kind;
  struct hasher hasher;
  if (!config || !workload || !plan || !set_size) return BESOM_INVALID;
  besom_config sized = *config;
  sized.capacity = set_size;
  if (sized.max_capacity < set_size) sized.max_capacity = 0;
  besom_status status = besom__config_read(&sized, &kind, &hasher);
  if (status == BESOM_OK && kind != &besom__stacked) status = BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__stack_options_read(config->options, &options);
  if (status != BESOM_OK) return status;
  if (limits) options.limits = *limits;
  if (!limits_in_range(&options.limits)) return BESOM_INVALID;
  status = besom__stack_objective(&options, config, set_size, &objective);
  return status == BESOM_OK ? plan_for(&objective, &options, workload, plan) : status;
}

/* ------------------------------------------------------------------ text */

/* Text of which len also counts what does not fit. */
struct text {
  char *at;
  size_t size, len;
};

static void write_number(struct text *t, const char *format, double number) {
  size_t left = t->len < t->size ? t->size - t->len : 0;
  int n = snprintf(left ? t->at + t->len : NULL, left, format, number);
  if (n > 0) t->len += (size_t)n;
}

size_t besom_plan_text(const besom_stack_plan *plan, char *text, size_t room) {
  struct text t = {text, text ? room : 0, 0};
  if (!plan) return 0;
  write_number(&t, "layers: %.0f\n", plan->layers);
  for (uint32_t i = 0; i < plan->layers && i < BESOM_PLAN_LAYERS; i++) {
    write_number(&t, i % 2 ? "  %.0f, frequent non-members:" : "  %.0f, members:", i + 1);
    write_number(&t, " false-positive rate %.4g\n", plan->rates[i]);
  }
  write_number(&t, "frequent non-members: %.0f", (double)plan->frequent);
  write_number(&t, ", %.4g of the negative queries\n", plan->share);
  write_number(&t, "bits per key: %.4g\n", plan->bits);
  write_number(&t, "expected false-positive rate: %.4g\n", plan->expected_fpr);
  write_number(&t, "worst-case false-positive rate: %.4g\n", plan->worst_fpr);
  write_number(&t, "layers per positive query: %.4g", plan->checks_member);
  write_number(&t, ", per negative query: %.4g\n", plan->checks);
  return t.len;
}
