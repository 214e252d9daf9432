/*
 * From the options and numbers of a config to the objective of the planner (stacked, besom_plan).
 */
#ifndef BESOM_LAYERED_STACK_OPTIONS_H
#define BESOM_LAYERED_STACK_OPTIONS_H

#include "layered/layer.h"
#include "layered/stack_plan.h"

struct stack_options {
  struct layer_kind base;
  besom_plan_limits limits;
  bool sampled_given;
  double sampled; /* the share of negative queries that are for keys of the sample */
};

/*
 * Reads base=KIND (default bloom), layers=N, frequent=N, worst_fpr_bits=BITS (the worst-case
 * false-positive rate is at most 2^-BITS), sampled=PERCENT. Other options are for the base kind.
 * Errors: BAD_OPTION.
 */
besom_status besom__stack_options_read(const char *text, struct stack_options *options);

/*
 * Sets the share of negative queries for keys outside of the sample where it cannot be estimated:
 * to the option's value, or to one half if the sample has no weights.
 */
void besom__stack_options_unseen(const struct stack_options *options, bool weighted,
                                 struct rank_frequency *frequencies);

/* The objective for a set of so many keys. Errors: INVALID (bits_per_key of the kind fails). */
besom_status besom__stack_objective(const struct stack_options *options, const besom_config *config,
                                    uint64_t members, struct stack_objective *objective);

#endif
