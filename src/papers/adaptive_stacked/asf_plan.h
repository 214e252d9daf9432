/*
 * The planner of adaptive stacked filters: the sizes of the layers (Deeds, Hentschel, Idreos:
 * "Stacked Filters", 2021, section 6). The rank-frequency distribution of the negative queries is
 * known, but not the keys that they are for. Rates and sizes come from stack_model.h: the plan is a
 * stack for the keys that will have been queried when it is complete.
 */
#ifndef BESOM_LAYERED_ASF_PLAN_H
#define BESOM_LAYERED_ASF_PLAN_H

#include "stacked/rank_frequency.h"
#include "stacked/stack_model.h"

#define ASF_MAX_LAYERS 7

/*
 * A measured rank-frequency distribution: groups of keys with about the same frequency, the most
 * frequent first. The number of keys in each, and the share of all negative queries per key.
 */
#define MEASURED_GROUPS 20 /* so that they fit into the parameters of a file */

struct measured_ranks {
  uint64_t n;
  double keys[MEASURED_GROUPS], each[MEASURED_GROUPS];
};

/* From the counts of a sample; its last group stands for the keys outside of the sample. */
void besom__measure_ranks(const struct rank_frequency *frequencies, struct measured_ranks *out);

/* Whether the numbers, which may come from a file, can be planned with. */
bool besom__measured_ranks_valid(const struct measured_ranks *ranks);

/*
 * The negative queries: as measured, or Zipf-distributed over so many distinct keys; key number k
 * is queried k^-skew times as often as the first.
 */
struct rank_workload {
  double skew;
  double negatives;
  const struct measured_ranks *measured; /* or NULL */
};

/*
 * The objective function and its constraints. If lifetime is not 0: minimize the false positives
 * over the lifetime. Else: minimize the false-positive rate of the complete stack.
 */
struct asf_objective {
  struct rank_workload workload;
  const struct besom_kind *kind; /* of the layers */
  bool published;                /* the upper layers answer only when the second is full */
  bool widest;     /* instead: maximize the queried keys whose false positives can be learned */
  unsigned layers; /* 3, 5 or 7 */
  double members;
  double lifetime; /* negative queries until the filter is replaced; 0: unlimited */
  double bits;     /* bits per key of all layers, or 0 */
  double fpr;      /* if bits is 0: the rate of the first layer */
  double reserve;  /* if bits is 0: memory of the other layers, as a share of the first */
};

struct asf_plan {
  struct stack stack;  /* of objective.layers, or of one layer if learning does not pay */
  double bits;         /* bits per key of the first layer */
  double learn;        /* capacity of the second layer in keys; 0 if there is none */
  double share;        /* of the negative queries, for keys queried until the stack is complete */
  double expected_fpr; /* false-positive rate of the complete stack */
  double value; /* what was minimized: the rate over the lifetime, or of the complete stack */
};

/*
 * The plan with the best objective value. With a lifetime it minimizes the false positives over the
 * whole lifetime. In the published form only the first layer answers until the second is full. Else
 * what was reported is denied soon after, the second layer is there twice while it is extended, and
 * the rate of the first layer is at most ASF_WORST times that of a filter without further layers.
 */
#define ASF_WORST 1.25
struct asf_plan besom__asf_plan(const struct asf_objective *objective);

/* The keys of layer i, an odd number of the plan, at capacity. */
double besom__asf_learned(const struct asf_plan *plan, unsigned i);

/*
 * After so many queries: the expected number of distinct keys queried, and their share of all
 * queries.
 */
void besom__asf_seen(const struct rank_workload *workload, double queries, double *keys,
                     double *share);

/* The skew with which so many queries are for so many distinct keys: 0 to ASF_MAX_SKEW. */
#define ASF_MAX_SKEW 3.0
double besom__asf_skew(double negatives, double queries, double keys);

#endif
