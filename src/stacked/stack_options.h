/*
 * From the options and numbers of a config to the objective of the planner (stacked, besom_plan).
 */
#ifndef BESOM_LAYERED_STACK_OPTIONS_H
#define BESOM_LAYERED_STACK_OPTIONS_H

#include "layers/layer.h"
#include "stacked/stack_plan.h"

struct stack_options {
  struct layer_kind base;
  besom_plan_limits limits;
  bool sampled_given;
  double sampled; /* the share of negative queries that are for keys of the sample */
};

/* The options of stacked. */
#define STACKED_ROWS 5
extern const struct option_row besom__stacked_rows[STACKED_ROWS];

/* base.kind is NULL if none is given: see besom__stack_options_base. Errors: BAD_OPTION. */
besom_status besom__stack_options_read(const char *text, struct stack_options *options);

/*
 * Decides on the kind of the layers for a capacity of so many keys. If no base was given: fuse, or
 * bloom if there is room for later inserts. If not even one layer of the base fits into
 * bits_per_key, the heads of the filter and of its layer included: bloom, which has every size.
 */
void besom__stack_options_base(struct stack_options *options, const besom_config *config,
                               uint64_t capacity, bool inserts);

/*
 * Sets the share of negative queries for keys outside of the sample where it cannot be estimated:
 * to the option's value, or to one half if the sample has no weights.
 */
void besom__stack_options_unseen(const struct stack_options *options, bool weighted,
                                 struct rank_frequency *frequencies);

/*
 * The limit for a sample without weights, which does not tell how many of the queries are for its
 * keys: the rate for other keys may not be above that of a Bloom filter of the same size, or of a
 * single layer of the base. Without a budget of bits: not above the target.
 */
void besom__stack_limit_unweighted(const struct stack_options *options,
                                   struct stack_objective *objective);

/* The objective for a set of so many keys. Errors: INVALID (bits_per_key of the kind fails). */
besom_status besom__stack_objective(const struct stack_options *options, const besom_config *config,
                                    uint64_t members, struct stack_objective *objective);

#endif
