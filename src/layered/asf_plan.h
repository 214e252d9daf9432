/*
 * The planner of adaptive stacked filters: the sizes of the three layers (Deeds, Hentschel, Idreos:
 * "Stacked Filters", 2021, section 6). The skew of the negative queries is known, but not the keys
 * that they are for. Rates and sizes come from stack_model.h: the plan is a stack for the keys that
 * will have been queried when it is complete.
 */
#ifndef BESOM_LAYERED_ASF_PLAN_H
#define BESOM_LAYERED_ASF_PLAN_H

#include "layered/stack_model.h"

#define ASF_LAYERS 3

/*
 * The negative queries: Zipf-distributed over so many distinct keys. Key number k is queried
 * k^-skew times as often as the first.
 */
struct zipf_workload {
  double skew;
  double negatives;
};

/*
 * The objective function and its constraints. If lifetime is not 0: minimize the false positives
 * over the lifetime. Else: minimize the false-positive rate of the complete stack.
 */
struct asf_objective {
  struct zipf_workload workload;
  const struct besom_kind *kind; /* of the layers */
  double members;
  double lifetime; /* negative queries until the filter is replaced; 0: unlimited */
  double bits;     /* bits per key of all layers, or 0 */
  double fpr;      /* if bits is 0: the rate of the first layer */
  double reserve;  /* if bits is 0: memory of the other layers, as a share of the first */
};

struct asf_plan {
  struct stack stack;  /* of ASF_LAYERS, or of one layer if learning does not pay */
  double bits;         /* bits per key of the first layer */
  double learn;        /* capacity of the second layer in keys; 0 if there is none */
  double share;        /* of the negative queries, for keys queried until the stack is complete */
  double expected_fpr; /* false-positive rate of the complete stack */
};

/*
 * The plan with the best objective value. With a lifetime it minimizes the false positives over the
 * whole lifetime; until the second layer is full, only the first layer answers. Without one it
 * minimizes the rate of the complete stack, assuming that it has learnt the most frequent keys.
 */
struct asf_plan besom__asf_plan(const struct asf_objective *objective);

/*
 * After so many queries: the expected number of distinct keys queried, and their share of all
 * queries.
 */
void besom__asf_seen(const struct zipf_workload *workload, double queries, double *keys,
                     double *share);

/* The skew with which so many queries are for so many distinct keys: 0 to ASF_MAX_SKEW. */
#define ASF_MAX_SKEW 3.0
double besom__asf_skew(double negatives, double queries, double keys);

#endif
