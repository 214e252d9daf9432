#include "stacked/stack_plan.h"

#include <math.h>

#include "stacked/stack_search.h"

/* Frequent non-members are tried by factors of 2^GRID_STEP, then of 2^LAST_STEP near the best. */
#define GRID_STEP 1.0
#define LAST_STEP 0.03

/* The best stack with equal rates, for given frequent non-members. */
static bool search_equal_rates(const struct stack_objective *objective, struct stack_candidate *x) {
  bool found = false;
  for (unsigned layers = objective->limits.frequent ? 3 : 1; layers <= objective->limits.layers;
       layers += 2) {
    struct stack_candidate other = {.frequent = x->frequent, .share = x->share};
    if (!besom__search_equals(objective, layers, &other)) continue;
    if (!found || besom__candidate_is_better(objective, &other, x)) *x = other;
    found = true;
  }
  return found;
}

/* The best stack for given frequent non-members. */
static bool stack_plan_search(const struct stack_objective *objective, const struct stack *start,
                              struct stack_candidate *x) {
  bool equal = objective->limits.equal_rates && !objective->costs.whole_bits;
  return equal ? search_equal_rates(objective, x)
               : besom__search_rates(objective, objective->limits.epsilon / 3, start, x);
}

/* Another number of frequent non-members. all: places of a walk over all of them. */
static struct stack_candidate with_frequent(const struct rank_places *all,
                                            const struct stack_candidate *x, double keys) {
  struct stack_candidate other = *x;
  struct rank_walk walk = besom__rank_walk_to(all, fmax(round(keys), 1));
  other.frequent = walk.keys;
  other.share = walk.share;
  return other;
}

/* Keeps x in *best if the search finds rates for it that are better. */
static bool keep_better(const struct stack_objective *objective, struct stack_candidate x,
                        struct stack_candidate *best) {
  if (!stack_plan_search(objective, &best->stack, &x) ||
      !besom__candidate_is_better(objective, &x, best))
    return false;
  *best = x;
  return true;
}

static bool may_fill_up(const struct stack_objective *objective) {
  return objective->costs.whole_bits && objective->bits != 0 && !objective->tied;
}

/*
 * Holds as many frequent non-members as fit, with the rates as they are. If rates are of whole
 * bits, a budget is rarely spent otherwise.
 */
static void fill_up(const struct stack_objective *objective, const struct rank_places *all,
                    struct stack_candidate *best) {
  double low = best->frequent, high = (double)all->at[0].frequencies->n_keys;
  for (unsigned i = 0; i < 30 && high - low >= 1; i++) {
    struct stack_candidate x = with_frequent(all, best, i ? (low + high) / 2 : high);
    besom__candidate_evaluate(objective, &x);
    bool fits = besom__candidate_is_feasible(objective, &x);
    *(fits ? &low : &high) = x.frequent;
    if (fits && besom__candidate_is_better(objective, &x, best)) *best = x;
    if (fits && i == 0) break;
  }
}

/* More and fewer frequent non-members, by factors that approach 1. */
static void refine(const struct stack_objective *objective, const struct rank_places *all,
                   double first_step, struct stack_candidate *best) {
  for (double step = first_step; step > LAST_STEP; step /= 2) {
    if (may_fill_up(objective)) fill_up(objective, all, best);
    for (bool again = true; again;)
      again =
          keep_better(objective, with_frequent(all, best, best->frequent * exp2(-step)), best) ||
          keep_better(objective, with_frequent(all, best, best->frequent * exp2(step)), best);
  }
}

/* All numbers of frequent non-members, up to all of them, by a constant factor. */
static void plan_frequent(const struct stack_objective *objective, const struct rank_places *all,
                          struct stack_candidate *best) {
  double most = (double)all->at[0].frequencies->n_keys;
  double step = objective->costs.whole_bits ? GRID_STEP / 4 : GRID_STEP;
  for (double keys = most; keys >= 1; keys *= exp2(keys > most / 64 ? -step : -GRID_STEP)) {
    struct stack_candidate x = with_frequent(all, best, keys);
    if (!stack_plan_search(objective, NULL, &x)) continue;
    if (may_fill_up(objective) && x.fpr < 1.5 * best->fpr) fill_up(objective, all, &x);
    if (besom__candidate_is_better(objective, &x, best)) *best = x;
  }
  if (best->stack.layers == 1) return;
  refine(objective, all, GRID_STEP / 2, best);
}

/* ------------------------------------------------------------------ ties */

#define TIE_OF_RATE 0.005 /* of the rate of the best plan */
#define TIE_OF_ONE 0.0001 /* of the rate of a single layer: below that, 0 is no better */
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

/*
 * Among plans that are about as good as the best one, finds that with the lowest rate for keys
 * that it does not hold: by coordinate descent, the number of frequent non-members included.
 */
static void decide_tie(const struct stack_objective *objective, const struct rank_places *all,
                       double one_layer, struct stack_candidate *best) {
  struct stack_objective tied = tied_with(objective, best, one_layer);
  struct stack_candidate x = *best;
  if (stack_plan_search(&tied, NULL, &x) && besom__candidate_is_better(&tied, &x, best)) *best = x;
  refine(&tied, all, 1, best);
}

/* ------------------------------------------------------------------ plans */

static unsigned layers_allowed(const struct stack_objective *objective) {
  unsigned most = objective->limits.layers;
  return most == 0 || most > MAX_STACK_LAYERS ? MAX_STACK_LAYERS : (most - 1) / 2 * 2 + 1;
}

bool besom__stack_plan_for(const struct stack_objective *wanted, double frequent, double share,
                           struct stack_candidate *best) {
  struct stack_objective objective = *wanted;
  objective.limits.layers = layers_allowed(wanted);
  *best = (struct stack_candidate){.frequent = frequent, .share = share};
  return stack_plan_search(&objective, NULL, best);
}

bool besom__stack_plan(const struct stack_objective *wanted,
                       const struct rank_frequency *frequencies, struct stack_candidate *best) {
  struct stack_objective objective = *wanted;
  objective.limits.layers = layers_allowed(wanted);
  struct rank_places all;
  besom__rank_places(frequencies, &all);
  if (objective.limits.frequent && frequencies->n_keys) {
    struct rank_walk walk = besom__rank_walk_to(&all, (double)objective.limits.frequent);
    return besom__stack_plan_for(&objective, walk.keys, walk.share, best);
  }
  *best = (struct stack_candidate){0};
  bool one = stack_plan_search(&objective, NULL, best);
  double one_layer = best->fpr;
  if (!one) best->fpr = best->bits = INFINITY;
  if (frequencies->n_keys) plan_frequent(&objective, &all, best);
  if (best->stack.layers > 1 && !objective.limits.equal_rates)
    decide_tie(&objective, &all, one_layer, best);
  if (best->stack.layers == 1) {
    best->frequent = best->share = 0;
    besom__candidate_evaluate(&objective, best);
  }
  return best->stack.layers > 0;
}
