/*
 * Which stack is the best: how many of the frequent non-members to know, how many layers, and the rate of each (section
 * 5 of the paper).
 */
#ifndef BESOM_LAYERED_STACK_PLAN_H
#define BESOM_LAYERED_STACK_PLAN_H

#include "layered/popularity.h"
#include "layered/stack_model.h"

/* What is wanted: the least rate within a budget, or the least size at a rate. */
struct stack_aim {
  struct layer_prices prices;
  double members;
  double bits; /* a member; or 0, and */
  double fpr;  /* over the queries for non-members that are expected */
  besom_plan_limits limits;
};

/* A stack, and whom it knows. */
struct stack_choice {
  struct stack stack;
  double frequent; /* non-members, a whole number */
  double share;    /* of the queries for non-members that are for them */
  double fpr;      /* over all of these queries */
  double bits;     /* a member */
};

/* The best stack of at most so many layers that knows the most popular keys. False if none keeps to the aim. */
bool besom__stack_plan(const struct stack_aim *aim, const struct popularity *popularity,
                       struct stack_choice *best);

/* The same for given frequent non-members, and their share of the queries. With limits.frequent never of one layer. */
bool besom__stack_plan_for(const struct stack_aim *aim, double frequent, double share,
                           struct stack_choice *best);

#endif
