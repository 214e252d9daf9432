/*
 * How often keys are asked for, by rank and not by name: so many keys so many times each. All that planning needs of a
 * sample of queries, in a fixed amount of memory. Counts are kept exactly below 256, above that by their first 8 bits;
 * the sums of queries stay exact.
 *
 * How often keys outside of the sample will be asked for is estimated by leaving one query out (Good and Turing): it
 * is the share of queries whose key was asked for but once. Likewise the share of queries for keys that the rest of the
 * sample has r times is that of those it has r + 1 times. Where there are enough keys to tell, this is taken for r
 * instead of the counts: among many keys that are asked for alike, those that chance favoured are not popular.
 */
#ifndef BESOM_LAYERED_POPULARITY_H
#define BESOM_LAYERED_POPULARITY_H

#include "filter.h"

#define COUNT_CLASSES (256 + 56 * 128)

struct popularity {
  uint64_t keys[COUNT_CLASSES];    /* of that class of counts, */
  uint64_t queries[COUNT_CLASSES]; /* and all queries for them */
  uint64_t n_keys, n_queries;
  uint64_t lost;    /* queries that the sample no longer knows the key of */
  bool unseen_told; /* by who knows better than the estimate: */
  double unseen;    /* the share of queries for other keys */
};

/* The class of a count; more often means no lower class. */
unsigned besom__count_class(uint64_t count);

/* A further key, asked for so often; 0 is no key. */
void besom__popularity_add(struct popularity *p, uint64_t count);

/* The share of queries that are for keys outside of the sample, as far as one can tell: 0 to 1. */
double besom__popularity_unseen(const struct popularity *p);

/* A walk from the most popular key down. */
struct popularity_walk {
  const struct popularity *popularity;
  double
      unit; /* the share of all queries that is for a key with a count of 1, as far as counts tell */
  double known;   /* and that of all keys of the sample */
  double keys;    /* so far, a whole number */
  double share;   /* of all queries that are for them */
  double left;    /* keys of the class at hand that are still to come, */
  unsigned class; /* which is this one */
};

struct popularity_walk besom__popularity_walk(const struct popularity *p);

/* Goes on by one key at least, until they make up that much more of the queries; false if there are no more keys. */
bool besom__popularity_by_share(struct popularity_walk *walk, double more);

/* Goes on by so many keys, or to the end. */
void besom__popularity_by_keys(struct popularity_walk *walk, double more);

#endif
