#include "layered/plan.h"

#include <math.h>
#include <stdio.h>

#include "core/memory.h"
#include "layered/workload.h"

/* Without it fingerprints of one bit would be tempting: they send half of the members through all layers. */
#define MOST_CHECKS_OF_MEMBERS 2.5

extern const struct besom_kind besom__stacked;

/* ------------------------------------------------------------------ wishes */

static besom_status read_option(struct stack_wishes *w, const struct option *option) {
  uint64_t number;
  bool layers = besom__option_is(option, "layers"), frequent = besom__option_is(option, "frequent");
  bool worst = besom__option_is(option, "worst"), listed = besom__option_is(option, "listed");
  if (!(layers || frequent || worst || listed)) return besom__inner_option(&w->base, option);
  besom_status status = besom__option_number(option, &number);
  if (status != BESOM_OK) return status;
  if (frequent) {
    w->limits.frequent = number;
    return number ? BESOM_OK : BESOM_BAD_OPTION;
  }
  if (number > 100) return BESOM_BAD_OPTION;
  if (worst) w->limits.worst_fpr = exp2(-(double)number);
  if (listed) w->listed_told = true, w->listed = (double)number / 100;
  if (layers) w->limits.layers = (uint32_t)number;
  return !layers || (number % 2 && number <= MAX_STACK_LAYERS) ? BESOM_OK : BESOM_BAD_OPTION;
}

besom_status besom__wishes_read(const char *options, struct stack_wishes *w) {
  struct option option;
  besom_status status;
  *w = (struct stack_wishes){.base = {.kind = besom__kind_named("bloom"), .may_be_built = true},
                             .limits.checks_member = MOST_CHECKS_OF_MEMBERS};
  while ((status = besom__option_next(&options, &option)) == BESOM_OK)
    if ((status = read_option(w, &option)) != BESOM_OK) return status;
  return status == BESOM_END && w->base.kind->bits_per_key ? BESOM_OK : BESOM_BAD_OPTION;
}

void besom__wishes_unseen(const struct stack_wishes *w, bool weighed,
                          struct popularity *popularity) {
  popularity->unseen_told = w->listed_told || !weighed;
  popularity->unseen = w->listed_told ? 1 - w->listed : 0.5;
}

besom_status besom__wishes_aim(const struct stack_wishes *w, const besom_config *config,
                               uint64_t members, struct stack_aim *aim) {
  *aim = (struct stack_aim){.members = (double)members, .bits = config->bits, .limits = w->limits};
  if (config->bits == 0) aim->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (!besom__layer_prices(w->base.kind, aim->members, &aim->prices)) return BESOM_INVALID;
  aim->prices.head_bits = 8.0 * (double)besom__stacked.size;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ plans */

static bool limits_in_range(const besom_plan_limits *l) {
  return l->worst_fpr >= 0 && l->worst_fpr <= 1 && (l->checks == 0 || l->checks >= 1) &&
         (l->checks_member == 0 || l->checks_member >= 1) && l->epsilon >= 0 && l->epsilon <= 1 &&
         (l->layers == 0 || (l->layers % 2 && l->layers <= MAX_STACK_LAYERS));
}

static besom_stack_plan plan_of(const struct stack_choice *x) {
  const struct stack *s = &x->stack;
  besom_stack_plan plan = {.frequent = (uint64_t)x->frequent,
                           .share = x->share,
                           .layers = s->layers,
                           .bits = x->bits,
                           .expected_fpr = x->fpr,
                           .worst_fpr = besom__stack_rate_other(s),
                           .checks_member = besom__stack_checks_member(s),
                           .checks = besom__stack_checks(s, x->share)};
  for (unsigned i = 0; i < s->layers; i++) plan.rates[i] = s->rates[i];
  return plan;
}

static besom_status plan_for(const struct stack_aim *aim, const struct stack_wishes *w,
                             const besom_workload *workload, besom_stack_plan *plan) {
  const besom_allocator *allocator = besom__workload_allocator(workload);
  struct popularity *popularity = besom__allocate(allocator, sizeof *popularity);
  struct stack_choice choice;
  if (!popularity) return BESOM_NO_MEMORY;
  besom__workload_popularity(workload, popularity);
  besom__wishes_unseen(w, true, popularity);
  bool found = besom__stack_plan(aim, popularity, &choice);
  besom__release(allocator, popularity, sizeof *popularity);
  if (found) *plan = plan_of(&choice);
  return found ? BESOM_OK : BESOM_INVALID;
}

besom_status besom_plan(const besom_config *config, uint64_t set_size,
                        const besom_workload *workload, const besom_plan_limits *limits,
                        besom_stack_plan *plan) {
  struct stack_wishes w;
  struct stack_aim aim;
  const struct besom_kind *kind;
  struct hasher hasher;
  if (!config || !workload || !plan || !set_size) return BESOM_INVALID;
  besom_config sized = *config;
  sized.capacity = set_size;
  if (sized.max_capacity < set_size) sized.max_capacity = 0;
  besom_status status = besom__config_read(&sized, &kind, &hasher);
  if (status == BESOM_OK && kind != &besom__stacked) status = BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__wishes_read(config->options, &w);
  if (status != BESOM_OK) return status;
  if (limits) w.limits = *limits;
  if (!limits_in_range(&w.limits)) return BESOM_INVALID;
  status = besom__wishes_aim(&w, config, set_size, &aim);
  return status == BESOM_OK ? plan_for(&aim, &w, workload, plan) : status;
}

/* ------------------------------------------------------------------ for people */

/* Text that counts what does not fit, too. */
struct text {
  char *at;
  size_t room, len;
};

static void write_number(struct text *t, const char *format, double number) {
  size_t left = t->len < t->room ? t->room - t->len : 0;
  int n = snprintf(left ? t->at + t->len : NULL, left, format, number);
  if (n > 0) t->len += (size_t)n;
}

size_t besom_plan_text(const besom_stack_plan *plan, char *text, size_t room) {
  struct text t = {text, text ? room : 0, 0};
  if (!plan) return 0;
  write_number(&t, "layers: %.0f\n", plan->layers);
  for (uint32_t i = 0; i < plan->layers && i < BESOM_PLAN_LAYERS; i++) {
    write_number(&t, i % 2 ? "  %.0f, frequent non-members:" : "  %.0f, members:", i + 1);
    write_number(&t, " rate %.4g\n", plan->rates[i]);
  }
  write_number(&t, "frequent non-members: %.0f", (double)plan->frequent);
  write_number(&t, ", %.4g of the queries for non-members\n", plan->share);
  write_number(&t, "bits a member: %.4g\n", plan->bits);
  write_number(&t, "expected rate: %.4g\n", plan->expected_fpr);
  write_number(&t, "worst rate: %.4g\n", plan->worst_fpr);
  write_number(&t, "layers asked for a member: %.4g", plan->checks_member);
  write_number(&t, ", for others: %.4g\n", plan->checks);
  return t.len;
}
