#include "layered/stack_plan.h"

#include <math.h>

#include "layered/stack_search.h"

/* The best for given frequent non-members. Stacks of several layers are tried up to that number, or at it. */
static bool search(const struct stack_aim *aim, unsigned layers, double epsilon,
                   struct stack_choice *x) {
  return aim->prices.whole_bits ? besom__search_whole_bits(aim, epsilon, x)
                                : besom__search_equals(aim, layers, x);
}

/*
 * How much of the queries may be skipped on the way to the next number of frequent non-members (Theorem 1). A stack for
 * more of them is no smaller, so its rates are no lower; what it wins is that more of the queries are for keys that it
 * knows. Skipping a share d of the queries so loses d times the rate for other keys, at most. Who says no epsilon gets
 * a thousand steps at most: where all keys are known, a hundredth of the rate is next to nothing.
 */
static double next_step(const struct stack_aim *aim, const struct stack_choice *x, double epsilon) {
  double step = epsilon / (3 * besom__stack_rate_other(&x->stack));
  if (aim->bits == 0) step = (1 - x->share) * epsilon / (3 * aim->fpr);
  return aim->limits.epsilon > 0 ? step : fmax(step, 0.001);
}

/* Every number of frequent non-members that may make a difference, with so many layers. */
static void sweep(const struct stack_aim *aim, const struct popularity *popularity, unsigned layers,
                  double epsilon, struct stack_choice *best) {
  struct popularity_walk walk = besom__popularity_walk(popularity);
  struct stack_choice x = *best;
  while (besom__popularity_by_share(&walk, next_step(aim, &x, epsilon))) {
    x.frequent = walk.keys;
    x.share = walk.share;
    if (!search(aim, layers, epsilon / 3, &x))
      break; /* with more of them it would only be larger */
    if (besom__choice_better(aim, &x, best)) *best = x;
  }
}

/* Whether a plan is better than another by so much that two more layers are worth it. */
static bool much_better(const struct stack_aim *aim, const struct stack_choice *x,
                        const struct stack_choice *y, double epsilon) {
  double won = aim->bits != 0 ? y->fpr - x->fpr : (y->bits - x->bits) / y->bits * aim->fpr;
  return won > epsilon / 3;
}

/* From as many layers as there are on, until more do not help; all widths at once where rates are of whole bits. */
static void plan_layers(const struct stack_aim *aim, const struct popularity *popularity,
                        double epsilon, struct stack_choice *best) {
  if (aim->prices.whole_bits) {
    sweep(aim, popularity, 0, epsilon, best);
    return;
  }
  unsigned first = best->stack.layers > 1 ? best->stack.layers : 3;
  for (unsigned layers = first; layers <= aim->limits.layers; layers += 2) {
    struct stack_choice before = *best;
    sweep(aim, popularity, layers, epsilon, best);
    if (!much_better(aim, best, &before, epsilon)) break;
  }
}

/*
 * How far a plan may be from the best: a hundredth of the rate, if nobody says. What that is shows after a first,
 * coarser plan, by the rate of one layer.
 */
static void plan_closely(const struct stack_aim *aim, const struct popularity *popularity,
                         struct stack_choice *best) {
  const double close = 0.01;
  double epsilon = aim->limits.epsilon > 0 ? aim->limits.epsilon
                                           : close * (aim->bits != 0 ? best->fpr : aim->fpr);
  plan_layers(aim, popularity, epsilon, best);
  if (aim->limits.epsilon > 0 || best->fpr * close > epsilon / 2) return;
  plan_layers(aim, popularity, close * best->fpr, best);
}

static unsigned layers_allowed(const struct stack_aim *aim) {
  unsigned most = aim->limits.layers;
  return most == 0 || most > MAX_STACK_LAYERS ? MAX_STACK_LAYERS : (most - 1) / 2 * 2 + 1;
}

bool besom__stack_plan_for(const struct stack_aim *wanted, double frequent, double share,
                           struct stack_choice *best) {
  struct stack_aim aim = *wanted;
  bool found = false;
  aim.limits.layers = layers_allowed(wanted);
  for (unsigned layers = aim.limits.frequent ? 3 : 1; layers <= aim.limits.layers; layers += 2) {
    struct stack_choice x = {.frequent = frequent, .share = share};
    if (!search(&aim, layers, 0, &x)) {
      if (found) break;
      continue;
    }
    if (!found || besom__choice_better(&aim, &x, best)) *best = x;
    found = true;
    if (aim.prices.whole_bits) break;
  }
  if (found && !aim.prices.whole_bits && !aim.limits.equal_rates) besom__search_polish(&aim, best);
  return found;
}

bool besom__stack_plan(const struct stack_aim *wanted, const struct popularity *popularity,
                       struct stack_choice *best) {
  struct stack_aim aim = *wanted;
  aim.limits.layers = layers_allowed(wanted);
  if (aim.limits.frequent && popularity->n_keys) {
    struct popularity_walk walk = besom__popularity_walk(popularity);
    besom__popularity_by_keys(&walk, (double)aim.limits.frequent);
    return besom__stack_plan_for(&aim, walk.keys, walk.share, best);
  }
  *best = (struct stack_choice){0};
  if (!search(&aim, 1, 0, best)) return false;
  if (popularity->n_keys) plan_closely(&aim, popularity, best);
  if (best->stack.layers == 1) {
    best->frequent = best->share = 0;
    besom__choice_measure(&aim, best);
  } else if (!aim.prices.whole_bits && !aim.limits.equal_rates) {
    besom__search_polish(&aim, best);
  }
  return true;
}
