/*
 * The search for the layers' false-positive rates, for given frequent non-members. For
 * stack_plan.c.
 */
#ifndef BESOM_LAYERED_STACK_SEARCH_H
#define BESOM_LAYERED_STACK_SEARCH_H

#include "stacked/stack_plan.h"

/*
 * Whether x satisfies the constraints of the objective. Of two feasible ones, whether x is better.
 */
bool besom__candidate_is_feasible(const struct stack_objective *objective,
                                  const struct stack_candidate *x);
bool besom__candidate_is_better(const struct stack_objective *objective,
                                const struct stack_candidate *x, const struct stack_candidate *y);

/* Fills in fpr and bits from stack, frequent and share. */
void besom__candidate_evaluate(const struct stack_objective *objective, struct stack_candidate *x);

/*
 * For kinds that have every rate: the best stack of so many layers with equal rates. frequent and
 * share of x are set. False if no stack is feasible.
 */
bool besom__search_equals(const struct stack_objective *objective, unsigned layers,
                          struct stack_candidate *x);

/*
 * The best stack of up to objective->limits.layers layers, with a rate of its own for each. Two
 * more layers must improve the objective by more than epsilon. start: NULL, or the best stack for
 * about as many frequent non-members, near which to search. False if no stack is feasible.
 */
bool besom__search_rates(const struct stack_objective *objective, double epsilon,
                         const struct stack *start, struct stack_candidate *x);

#endif
