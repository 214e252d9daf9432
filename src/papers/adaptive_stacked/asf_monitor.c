/*
 * The observed false-positive rate of an adaptive stacked filter, and what is done if it is not the
 * expected one. A window lasts until so many false positives were expected.
 *
 * If there are 1.5 times as many, the frequent keys have changed, or an adversary repeats the keys
 * that no layer denies: the filter drops what it has learned and learns again, with layers that err
 * differently. If that does not help, there is more to be learned than was planned: it builds the
 * whole stack again, with a second layer that is as large as possible. If that does not help,
 * either, it accepts the observed rate, and tries again later, after a time that doubles. Before it
 * drops anything, the filter estimates the skew from what it learned and looks whether that alone
 * explains the rate; then this is the expected one. A rate above that of the first layer is no
 * change of popularity but an adversary's: the larger second layer comes first then.
 *
 * In the published form the second remedy is another plan, for the estimated skew.
 *
 * If the rate is below half of the expected one, learning the same layers again could only make it
 * worse: it builds the plan for the estimated skew if that plan has a still lower rate (published
 * form), else it expects the low rate from then on.
 */
#include <math.h>

#include "papers/adaptive_stacked/asf.h"

#define WINDOW 128.0 /* expected false positives per window; their standard deviation is a tenth */
#define TOO_MANY 1.5 /* observed / expected false positives: more is too many */
#define TOO_FEW 0.5  /* less is too few */
#define AS_EXPECTED 1.25 /* less is about as expected */
#define SAME_SKEW 0.1
#define SKEW_STEP 0.25
#define MIN_PATIENCE 32 /* windows */

/* The rate of the first layer is lower than planned until all members are inserted. */
static double asf_monitor_first_rate(const struct asf *a) {
  besom_statistics stats;
  besom_stats(a->layers[0], &stats);
  return fmax(stats.expected_fpr, 0x1p-60);
}

/* The current rate of the first layer, relative to the planned one. */
static double relative_rate(const struct asf *a) {
  return asf_monitor_first_rate(a) / a->plan.stack.rates[0];
}

static double asf_monitor_count_denied(const struct asf *a) {
  return (double)atomic_load_explicit(&a->denied, memory_order_relaxed);
}

void besom__asf_begin_window(struct asf *a) {
  atomic_store_explicit(&a->denied, 0, memory_order_relaxed);
  a->wrong = 0;
  a->expected_now = a->expected_fpr * relative_rate(a);
}

void besom__asf_completed(struct asf *a) {
  a->queries = asf_monitor_count_denied(a) + (double)(a->learning + a->wrong);
  besom__asf_begin_window(a);
}

/* ------------------------------------------------------------------ the skew */

/*
 * Estimates the skew from the number of queries that filled the second layer. If nothing was
 * learned, because the plan was for a uniform workload, takes a skew with which something can be
 * learned; the skew can be estimated after that.
 */
static struct asf_objective objective_from_reports(const struct asf *a) {
  struct asf_objective objective = a->objective;
  if (a->n > 1) {
    double keys = (double)a->layers[1]->items / asf_monitor_first_rate(a);
    if (a->queries > 0)
      objective.workload.skew = besom__asf_skew(objective.workload.negatives, a->queries, keys);
    return objective;
  }
  while (objective.workload.skew < ASF_MAX_SKEW && besom__asf_plan(&objective).learn == 0)
    objective.workload.skew = fmin(objective.workload.skew + SKEW_STEP, ASF_MAX_SKEW);
  return objective;
}

/* The rate of the stack as it is, if the estimated skew is the right one. */
static double rate_by_reports(const struct asf *a) {
  struct asf_objective objective = objective_from_reports(a);
  double keys, share;
  objective.workload.measured = NULL;
  besom__asf_seen(&objective.workload, a->queries, &keys, &share);
  return besom__stack_fpr(&a->plan.stack, share);
}

/* ------------------------------------------------------------------ remedies */

static void learn_again(struct asf *a) {
  besom__asf_drop_learned(a);
  a->remedy = RELEARNED;
  a->relearned++;
}

/* If the plan needs another first layer, the filter goes on unchanged until that is filled. */
static besom_status build_anew(struct asf *a, const struct asf_objective *objective,
                               const struct asf_plan *plan) {
  if (objective->bits != 0 && fabs(plan->bits - a->plan.bits) >= 0.01 * objective->bits) {
    besom_status status = besom__asf_make_first(a, plan, &a->first);
    if (status != BESOM_OK) return status;
    a->another = *objective;
    besom__asf_begin_pass(a, FILL_FIRST);
    return BESOM_OK;
  }
  learn_again(a);
  besom__asf_set_objective(a, objective);
  besom__asf_begin_window(a);
  a->remedy = REPLANNED;
  return BESOM_OK;
}

static void accept(struct asf *a, double observed) {
  a->expected_fpr = fmin(observed / relative_rate(a), 1);
  a->remedy = NOTHING;
  a->patience = a->next_patience > MIN_PATIENCE ? a->next_patience : MIN_PATIENCE;
  a->next_patience = 2 * a->patience;
}

/*
 * Plans with the estimated skew. Accepts the observed rate as the expected one if that was tried
 * before, if the skew is about the same, or if the plan has no lower rate.
 */
static besom_status replan(struct asf *a, double observed) {
  struct asf_objective objective = objective_from_reports(a);
  struct asf_plan plan = besom__asf_plan(&objective);
  bool another = fabs(objective.workload.skew - a->objective.workload.skew) > SAME_SKEW &&
                 !a->measured && (plan.learn > 0 || a->plan.learn > 0);
  if (another && a->remedy != REPLANNED && plan.expected_fpr * relative_rate(a) < observed)
    return build_anew(a, &objective, &plan);
  accept(a, observed);
  return BESOM_OK;
}

/* Builds a stack that can learn more. If there is none, accepts the observed rate. */
static besom_status learn_more(struct asf *a, double observed) {
  struct asf_objective objective = a->objective;
  objective.widest = true;
  struct asf_plan plan = besom__asf_plan(&objective);
  double more = plan.learn / plan.stack.rates[0], now = a->plan.learn / a->plan.stack.rates[0];
  if (a->remedy != REPLANNED && more > 1.1 * now) return build_anew(a, &objective, &plan);
  accept(a, observed);
  return BESOM_OK;
}

/* Whether the rate is as planned, but for the skew. */
static bool is_explained(const struct asf *a, double observed) {
  return !a->objective.published && a->queries > 0 && a->remedy == NOTHING &&
         a->expected_fpr == a->plan.expected_fpr &&
         observed < TOO_MANY * rate_by_reports(a) * relative_rate(a);
}

/* No popularity has a rate above that of the first layer: some keys are repeated on purpose. */
static bool is_adversarial(const struct asf *a, double observed) {
  return !a->objective.published && observed > TOO_MANY * asf_monitor_first_rate(a);
}

static besom_status too_many(struct asf *a, double observed) {
  bool learns = a->plan.learn > 0, complete = asf_is_complete(a);
  if (complete && is_explained(a, observed))
    a->expected_fpr = fmax(observed / relative_rate(a), a->expected_fpr);
  else if (learns && (!complete || (a->remedy == NOTHING && !is_adversarial(a, observed))))
    learn_again(a);
  else if (learns && !a->objective.published)
    return learn_more(a, observed);
  else
    return replan(a, observed);
  return BESOM_OK;
}

/* Learning again could only be worse; some of the low rate may be chance. */
static besom_status too_few(struct asf *a, double observed, double wrong) {
  observed *= 1 + 2 / sqrt(wrong);
  if (a->objective.published || a->plan.learn == 0) return replan(a, observed);
  a->expected_fpr = fmin(observed / relative_rate(a), 1);
  a->remedy = NOTHING;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ windows */

/* A rate above the plan was accepted: after some windows it is no longer. */
static bool is_impatient(struct asf *a) {
  return a->patience > 0 && a->expected_fpr > TOO_MANY * a->plan.expected_fpr && --a->patience == 0;
}

/*
 * Acts as soon as there are too many for a window, or at the end of the window. Members inserted
 * since the window began raise the rate; then a new window begins. While the filter learns, too few
 * mean nothing, and the window goes on.
 */
besom_status besom__asf_check_rate(struct asf *a) {
  if (a->expected_now == 0) a->expected_now = a->expected_fpr * relative_rate(a);
  double denied = asf_monitor_count_denied(a), wrong = (double)a->wrong + 1;
  double due = a->expected_now * (denied + wrong), observed = wrong / (denied + wrong);
  bool learning = a->plan.learn > 0 && !asf_is_complete(a);
  bool many = wrong > TOO_MANY * WINDOW && wrong > TOO_MANY * due,
       over = due >= WINDOW && !learning, few = over && wrong < TOO_FEW * due;
  bool grown = many && a->expected_fpr * relative_rate(a) > 1.1 * a->expected_now;
  besom_status status = BESOM_OK;
  if (many && !grown)
    status = too_many(a, observed);
  else if (few)
    status = too_few(a, observed, wrong);
  else if (over && wrong < AS_EXPECTED * due)
    a->remedy = NOTHING; /* above that, only chance kept it below TOO_MANY */
  if (status != BESOM_OK) return status;
  a->wrong++;
  bool tries_again = over && is_impatient(a);
  if (tries_again) learn_again(a);
  if (many || over) besom__asf_begin_window(a);
  return BESOM_OK;
}
