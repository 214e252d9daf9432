/*
 * How large the three layers of an adaptive stacked filter should be (Deeds, Hentschel, Idreos: "Stacked Filters",
 * 2021, section 6), when it is known how skewed the queries for non-members are, but not which keys they are for.
 *
 * Layers are Bloom filters, taken to need log2(1 / rate) / ln 2 bits a key. The first holds the members, the second the
 * false positives of the first that were reported, the third those members that the second is wrong about.
 */
#ifndef BESOM_LAYERED_ASF_PLAN_H
#define BESOM_LAYERED_ASF_PLAN_H

#include <stdbool.h>

#define ASF_LAYERS 3

/* What is known of the queries for non-members: so many different keys, the k-th of them k^-skew times as popular. */
struct asf_shape {
  double skew;
  double negatives;
};

struct asf_wishes {
  struct asf_shape shape;
  double members;
  double life; /* queries for non-members until the filter is replaced; 0: for ever */
  double bits; /* a member, of all layers; or 0, */
  double rate; /* the first layer has this rate, */
  double room; /* and the others this share of its memory */
};

struct asf_plan {
  double bits;              /* a member, of the first layer */
  double rates[ASF_LAYERS]; /* each layer's */
  double learn;             /* the second layer holds so many keys */
  double share;             /* of the queries for non-members: those for keys that were learnt */
  double expected;          /* rate of the three layers over all such queries */
};

/*
 * If the filter has a life: the layers for which it errs least in all of it, the time that it takes to learn included,
 * when just the first layer answers. If not: those for which it errs least in the end, had it learnt the most
 * popular keys.
 */
struct asf_plan besom__asf_plan(const struct asf_wishes *w);

/* Rate of a stack of three if this share of the queries is for keys of the second layer (the paper's section 4.1). */
double besom__asf_rate(const double rates[ASF_LAYERS], double share);

/* After so many queries: how many different keys have come, and the share of all queries that is for these. */
void besom__asf_seen(const struct asf_shape *shape, double queries, double *keys, double *share);

/* The skew with which so many queries are for so many different keys: 0 to ASF_MOST_SKEW. */
#define ASF_MOST_SKEW 3.0
double besom__asf_skew(double negatives, double queries, double keys);

#endif
