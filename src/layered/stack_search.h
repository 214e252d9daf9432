/* How the rates of a stack's layers are found when the frequent non-members are given: what stack_plan.c is made of. */
#ifndef BESOM_LAYERED_STACK_SEARCH_H
#define BESOM_LAYERED_STACK_SEARCH_H

#include "layered/stack_plan.h"

/* Whether x keeps to the aim; of two that do, whether x is better than y. */
bool besom__choice_fits(const struct stack_aim *aim, const struct stack_choice *x);
bool besom__choice_better(const struct stack_aim *aim, const struct stack_choice *x,
                          const struct stack_choice *y);

/* Fills in what follows from the stack, frequent and share. */
void besom__choice_measure(const struct stack_aim *aim, struct stack_choice *x);

/* For kinds that have every rate: so many layers, all alike. False if there is no such stack. x has frequent and share.
 */
bool besom__search_equals(const struct stack_aim *aim, unsigned layers, struct stack_choice *x);

/* From there on each layer by itself, as long as it helps. */
void besom__search_polish(const struct stack_aim *aim, struct stack_choice *x);

/*
 * For kinds with fingerprints of whole bits: any number of layers up to aim->limits.layers. What would make the rate
 * better by less than epsilon (0: a small part of it) is not looked for. False if there is no such stack.
 */
bool besom__search_whole_bits(const struct stack_aim *aim, double epsilon, struct stack_choice *x);

#endif
