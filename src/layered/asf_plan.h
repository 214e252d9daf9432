/*
 * How large the three layers of an adaptive stacked filter should be (Deeds, Hentschel, Idreos: "Stacked Filters",
 * 2021, section 6), when it is known how skewed the queries for non-members are, but not which keys they are for. Rates
 * and sizes are those of stack_model.h: it is a stack for the keys that will have come until it is complete.
 */
#ifndef BESOM_LAYERED_ASF_PLAN_H
#define BESOM_LAYERED_ASF_PLAN_H

#include "layered/stack_model.h"

#define ASF_LAYERS 3

/* What is known of the queries for non-members: so many different keys, the k-th of them k^-skew times as popular. */
struct asf_shape {
  double skew;
  double negatives;
};

struct asf_wishes {
  struct asf_shape shape;
  const struct besom_kind *kind; /* of the layers */
  double members;
  double life; /* queries for non-members until the filter is replaced; 0: for ever */
  double bits; /* a member, of all layers; or 0, */
  double fpr;  /* the first layer has this rate, */
  double room; /* and the others this share of its memory */
};

struct asf_plan {
  struct stack stack; /* of ASF_LAYERS, or of one if learning is not worth it */
  double bits;        /* a member, of the first layer */
  double learn;       /* the second layer holds so many keys; 0 if there is none */
  double share;       /* of the queries for non-members: those for keys that have come until then */
  double expected;    /* rate of all layers over all such queries */
};

/*
 * If the filter has a life: the layers for which it errs least in all of it, the time that it takes to learn included,
 * when just the first layer answers. If not: those for which it errs least in the end, had it learnt the most
 * popular keys.
 */
struct asf_plan besom__asf_plan(const struct asf_wishes *w);

/* After so many queries: how many different keys have come, and the share of all queries that is for these. */
void besom__asf_seen(const struct asf_shape *shape, double queries, double *keys, double *share);

/* The skew with which so many queries are for so many different keys: 0 to ASF_MOST_SKEW. */
#define ASF_MOST_SKEW 3.0
double besom__asf_skew(double negatives, double queries, double keys);

#endif
