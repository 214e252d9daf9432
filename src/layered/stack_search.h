/*
 * The search for the layers' false-positive rates, for given frequent non-members. For
 * stack_plan.c.
 */
#ifndef BESOM_LAYERED_STACK_SEARCH_H
#define BESOM_LAYERED_STACK_SEARCH_H

#include "layered/stack_plan.h"

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
 * Gives the first layer the best rate for the other rates of x. False if no stack is feasible; then
 * x is unchanged.
 */
bool besom__search_first(const struct stack_objective *objective, struct stack_candidate *x);

/* Improves x by changing the rate of one layer at a time, until that does not help. */
void besom__search_polish(const struct stack_objective *objective, struct stack_candidate *x);

/*
 * For kinds with fingerprints of whole bits: the best stack of up to objective->limits.layers
 * layers. Improvements of the false-positive rate below epsilon (0: a small part of the rate) are
 * not searched for. False if no stack is feasible.
 */
bool besom__search_whole_bits(const struct stack_objective *objective, double epsilon,
                              struct stack_candidate *x);

#endif
