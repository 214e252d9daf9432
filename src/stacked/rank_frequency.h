/*
 * The rank-frequency distribution of a sample of queries: how many keys were queried how often. The
 * planner needs nothing else, and it takes a fixed amount of memory. Counts below 256 are exact;
 * larger ones are classified by their first 8 bits. The sums of queries are exact.
 *
 * The share of future queries for keys outside of the sample is estimated by leaving one query out
 * (the Good-Turing estimator): it is the share of queries whose key occurs once. Likewise, the
 * share of queries for keys that occur r times is estimated by that of keys that occur r + 1 times.
 * If there are enough keys, this estimate is used instead of the counts: among many keys of equal
 * frequency, those that occur more often by chance are not more frequent.
 */
#ifndef BESOM_LAYERED_RANK_FREQUENCY_H
#define BESOM_LAYERED_RANK_FREQUENCY_H

#include "besom_plan.h"
#include "kind.h"

#define COUNT_CLASSES (256 + 56 * 128)

struct rank_frequency {
  uint64_t keys[COUNT_CLASSES];    /* per class of counts */
  uint64_t queries[COUNT_CLASSES]; /* for these keys */
  uint64_t n_keys, n_queries;
  uint64_t lost;     /* queries whose keys the sample has dropped */
  bool unseen_given; /* use unseen instead of the estimate */
  double unseen;     /* the share of queries for keys outside of the sample */
};

/* The class of a count; it does not descend as counts ascend. */
unsigned besom__count_class(uint64_t count);

/* Adds a key that was queried `count` times. A count of 0 adds nothing. */
void besom__rank_frequency_add(struct rank_frequency *p, uint64_t count);

/* A key that was queried `count` times, not 0, is queried `times` more. */
void besom__rank_frequency_raise(struct rank_frequency *p, uint64_t count, uint64_t times);

/* The share of queries for keys outside of the sample, given or estimated: 0 to 1. */
double besom__rank_frequency_unseen(const struct rank_frequency *p);

/* An iterator over the keys in descending order of frequency. */
struct rank_walk {
  const struct rank_frequency *frequencies;
  double unit;    /* the share of all queries that one query of the sample stands for */
  double known;   /* the share of all queries for keys of the sample */
  double keys;    /* visited so far, a whole number */
  double share;   /* of all queries, for the visited keys */
  double left;    /* keys of the current class that are not visited yet */
  unsigned class; /* the current class */
};

struct rank_walk besom__rank_walk_start(const struct rank_frequency *p);

/* Advances by so many keys, or to the end. */
void besom__rank_walk_by_keys(struct rank_walk *walk, double more);

/*
 * Places of a walk, from its start on, whose keys differ by a factor of 2: so a walk to any key
 * begins near to it.
 */
#define MAX_RANK_PLACES 65

struct rank_places {
  unsigned n;
  struct rank_walk at[MAX_RANK_PLACES];
};

void besom__rank_places(const struct rank_frequency *p, struct rank_places *out);

/* A walk from the start by so many keys. */
struct rank_walk besom__rank_walk_to(const struct rank_places *places, double keys);

#endif
