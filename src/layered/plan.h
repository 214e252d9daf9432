/* From the options and numbers of a config to what the planner is asked for; of stacked, and of whoever plans alike. */
#ifndef BESOM_LAYERED_PLAN_H
#define BESOM_LAYERED_PLAN_H

#include "layered/inner.h"
#include "layered/stack_plan.h"

struct stack_wishes {
  struct inner_kind base;
  besom_plan_limits limits;
  bool listed_told;
  double listed; /* the share of the queries that are for keys of the sample */
};

/*
 * base=KIND (default bloom), layers=N, frequent=N, worst=BITS (the worst rate is 2^-BITS), listed=PERCENT; others are
 * the base's. Errors: BAD_OPTION.
 */
besom_status besom__wishes_read(const char *options, struct stack_wishes *w);

/*
 * Tells what share of the queries is for keys outside of the sample, where it cannot be estimated: by the option, or a
 * half if the sample says of no key how often it is asked for.
 */
void besom__wishes_unseen(const struct stack_wishes *w, bool weighed,
                          struct popularity *popularity);

/* For a set of so many keys. INVALID if the kind cannot tell its prices for so many. */
besom_status besom__wishes_aim(const struct stack_wishes *w, const besom_config *config,
                               uint64_t members, struct stack_aim *aim);

#endif
