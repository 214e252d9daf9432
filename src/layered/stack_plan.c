#include "layered/stack_plan.h"

#include <math.h>

#include "layered/stack_search.h"

/*
 * The best stack for given frequent non-members: with exactly so many layers, or, if rates are of
 * whole bits, with any number of layers up to the limit.
 */
static bool search(const struct stack_objective *objective, unsigned layers, double epsilon,
                   struct stack_candidate *x) {
  return objective->costs.whole_bits ? besom__search_whole_bits(objective, epsilon, x)
                                     : besom__search_equals(objective, layers, x);
}

/*
 * The share of the queries that may be skipped before the next number of frequent non-members is
 * tried (Theorem 1). A stack that holds more non-members is no smaller, so its rates are no lower;
 * it gains only because more of the queries are for keys that it holds. So skipping a share d of
 * the queries loses at most d times the rate for other keys. If the caller gives no epsilon, there
 * are at most 1000 steps: if all keys are in the sample, a hundredth of the rate is close to 0.
 */
static double next_step(const struct stack_objective *objective, const struct stack_candidate *x,
                        double epsilon) {
  double step = epsilon / (3 * besom__stack_fpr_other(&x->stack));
  if (objective->bits == 0) step = (1 - x->share) * epsilon / (3 * objective->fpr);
  return objective->limits.epsilon > 0 ? step : fmax(step, 0.001);
}

/* Tries every number of frequent non-members that can make a difference, with so many layers. */
static void sweep(const struct stack_objective *objective, const struct rank_frequency *frequencies,
                  unsigned layers, double epsilon, struct stack_candidate *best) {
  struct rank_walk walk = besom__rank_walk_start(frequencies);
  struct stack_candidate x = *best;
  while (besom__rank_walk_by_share(&walk, next_step(objective, &x, epsilon))) {
    x.frequent = walk.keys;
    x.share = walk.share;
    if (!search(objective, layers, epsilon / 3, &x)) break; /* with more keys it is only larger */
    if (besom__candidate_is_better(objective, &x, best)) *best = x;
  }
}

/* Whether x is better than y by so much that two more layers are justified. */
static bool much_better(const struct stack_objective *objective, const struct stack_candidate *x,
                        const struct stack_candidate *y, double epsilon) {
  double won =
      objective->bits != 0 ? y->fpr - x->fpr : (y->bits - x->bits) / y->bits * objective->fpr;
  return won > epsilon / 3;
}

/*
 * Tries more and more layers, from those of *best on, until more do not help. If rates are of whole
 * bits, one search covers all numbers of layers.
 */
static void plan_layers(const struct stack_objective *objective,
                        const struct rank_frequency *frequencies, double epsilon,
                        struct stack_candidate *best) {
  if (objective->costs.whole_bits) {
    sweep(objective, frequencies, 0, epsilon, best);
    return;
  }
  unsigned first = best->stack.layers > 1 ? best->stack.layers : 3;
  for (unsigned layers = first; layers <= objective->limits.layers; layers += 2) {
    struct stack_candidate before = *best;
    sweep(objective, frequencies, layers, epsilon, best);
    if (!much_better(objective, best, &before, epsilon)) break;
  }
}

/*
 * If the caller gives no epsilon, a plan may be worse than the optimum by a hundredth of its rate.
 * That rate is known only after a first, coarser plan, whose epsilon comes from the rate of one
 * layer.
 */
static void plan_closely(const struct stack_objective *objective,
                         const struct rank_frequency *frequencies, struct stack_candidate *best) {
  const double close = 0.01;
  double epsilon = objective->limits.epsilon > 0
                       ? objective->limits.epsilon
                       : close * (objective->bits != 0 ? best->fpr : objective->fpr);
  plan_layers(objective, frequencies, epsilon, best);
  if (objective->limits.epsilon > 0 || best->fpr * close > epsilon / 2) return;
  plan_layers(objective, frequencies, close * best->fpr, best);
}

/* ------------------------------------------------------------------ ties */

#define TIE_OF_RATE 0.01  /* of the rate of the best plan */
#define TIE_OF_ONE 0.001  /* of the rate of a single layer: below that, 0 is no better */
#define TIE_OF_BITS 0.001 /* of the size of the best plan */

/* The same constraints, with what the best plan achieves as a limit, and ties to be decided. */
static struct stack_objective tied_with(const struct stack_objective *objective,
                                        const struct stack_candidate *best, double one_layer) {
  struct stack_objective tied = *objective;
  tied.tied = true;
  if (objective->bits == 0) {
    tied.bits = best->bits * (1 + TIE_OF_BITS);
    return tied;
  }
  double tie = TIE_OF_RATE * best->fpr + TIE_OF_ONE * one_layer;
  if (objective->limits.epsilon > 0) tie = fmin(tie, objective->limits.epsilon);
  tied.fpr = best->fpr + tie;
  return tied;
}

/* Another number of frequent non-members: 2^by times as many. */
static struct stack_candidate with_frequent(const struct rank_frequency *frequencies,
                                            const struct stack_candidate *x, double by) {
  struct stack_candidate other = *x;
  struct rank_walk walk = besom__rank_walk_start(frequencies);
  besom__rank_walk_by_keys(&walk, fmax(round(x->frequent * exp2(by)), 1));
  other.frequent = walk.keys;
  other.share = walk.share;
  return other;
}

/* Keeps x in *best if the search finds rates for it that are better. */
static bool keep_better(const struct stack_objective *tied, struct stack_candidate x,
                        struct stack_candidate *best) {
  bool found = tied->costs.whole_bits ? besom__search_whole_bits(tied, 0, &x)
                                      : besom__search_first(tied, &x);
  if (!found || !besom__candidate_is_better(tied, &x, best)) return false;
  *best = x;
  return true;
}

/*
 * Among plans that are about as good as the best one, finds that with the lowest rate for keys
 * that it does not hold: by coordinate descent, the number of frequent non-members included.
 */
static void decide_tie(const struct stack_objective *objective,
                       const struct rank_frequency *frequencies, double one_layer,
                       struct stack_candidate *best) {
  struct stack_objective tied = tied_with(objective, best, one_layer);
  if (tied.costs.whole_bits) keep_better(&tied, *best, best);
  for (double step = 1; step > 0.1; step /= 2) {
    if (!tied.costs.whole_bits) besom__search_polish(&tied, best);
    for (bool again = true; again;)
      again = keep_better(&tied, with_frequent(frequencies, best, -step), best) ||
              keep_better(&tied, with_frequent(frequencies, best, step), best);
  }
  if (!tied.costs.whole_bits) besom__search_polish(&tied, best);
}

/* ------------------------------------------------------------------ plans */

static unsigned layers_allowed(const struct stack_objective *objective) {
  unsigned most = objective->limits.layers;
  return most == 0 || most > MAX_STACK_LAYERS ? MAX_STACK_LAYERS : (most - 1) / 2 * 2 + 1;
}

bool besom__stack_plan_for(const struct stack_objective *wanted, double frequent, double share,
                           struct stack_candidate *best) {
  struct stack_objective objective = *wanted;
  bool found = false;
  objective.limits.layers = layers_allowed(wanted);
  for (unsigned layers = objective.limits.frequent ? 3 : 1; layers <= objective.limits.layers;
       layers += 2) {
    struct stack_candidate x = {.frequent = frequent, .share = share};
    if (!search(&objective, layers, 0, &x)) {
      if (found) break;
      continue;
    }
    if (!found || besom__candidate_is_better(&objective, &x, best)) *best = x;
    found = true;
    if (objective.costs.whole_bits) break;
  }
  if (found && !objective.costs.whole_bits && !objective.limits.equal_rates)
    besom__search_polish(&objective, best);
  return found;
}

bool besom__stack_plan(const struct stack_objective *wanted,
                       const struct rank_frequency *frequencies, struct stack_candidate *best) {
  struct stack_objective objective = *wanted;
  objective.limits.layers = layers_allowed(wanted);
  if (objective.limits.frequent && frequencies->n_keys) {
    struct rank_walk walk = besom__rank_walk_start(frequencies);
    besom__rank_walk_by_keys(&walk, (double)objective.limits.frequent);
    return besom__stack_plan_for(&objective, walk.keys, walk.share, best);
  }
  *best = (struct stack_candidate){0};
  if (!search(&objective, 1, 0, best)) return false;
  double one_layer = best->fpr;
  if (frequencies->n_keys) plan_closely(&objective, frequencies, best);
  if (best->stack.layers == 1) {
    best->frequent = best->share = 0;
    besom__candidate_evaluate(&objective, best);
    return true;
  }
  if (!objective.costs.whole_bits && !objective.limits.equal_rates)
    besom__search_polish(&objective, best);
  if (!objective.limits.equal_rates) decide_tie(&objective, frequencies, one_layer, best);
  return true;
}
