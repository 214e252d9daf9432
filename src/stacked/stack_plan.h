/*
 * The planner of stacked filters: finds the stack with the best objective value. It chooses the
 * number of frequent non-members to hold, the number of layers, and the false-positive rate of each
 * layer (section 5 of the paper).
 */
#ifndef BESOM_LAYERED_STACK_PLAN_H
#define BESOM_LAYERED_STACK_PLAN_H

#include "stacked/rank_frequency.h"
#include "stacked/stack_model.h"

/*
 * The objective function and its constraints. If bits is not 0: minimize the expected
 * false-positive rate within that budget. Else: minimize the bits per key at the expected
 * false-positive rate fpr. With tied, both are limits: minimize the rate for other keys.
 */
struct stack_objective {
  struct layer_costs costs;
  double members;
  double bits; /* budget in bits per key, or 0 */
  double fpr;  /* target false-positive rate over the expected negative queries */
  bool tied;
  besom_plan_limits limits;
};

/* A stack, the non-members that it holds, and its value under the objective. */
struct stack_candidate {
  struct stack stack;
  double frequent; /* non-members held, a whole number */
  double share;    /* of the negative queries, for these non-members */
  double fpr;      /* over all negative queries */
  double bits;     /* bits per key */
};

/*
 * The best stack for this rank-frequency distribution; it holds the most frequent keys. Among
 * stacks that are equally good, within a hundredth, the one with the lowest rate for keys that it
 * does not hold. False if no stack is feasible.
 */
bool besom__stack_plan(const struct stack_objective *objective,
                       const struct rank_frequency *frequencies, struct stack_candidate *best);

/*
 * The same for a given number of frequent non-members and their share of the negative queries. If
 * limits.frequent is set, the stack has at least three layers.
 */
bool besom__stack_plan_for(const struct stack_objective *objective, double frequent, double share,
                           struct stack_candidate *best);

#endif
