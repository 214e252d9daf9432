/*
 * Ranks what can be in front of a store by the total time of several replays. Candidates whose
 * difference is within the spread of the replays share a rank.
 */
#ifndef CLI_RANKING_H
#define CLI_RANKING_H

#include "advise/replay.h"

enum { MAX_RUNS = 25 };

/* A candidate, its replays with different seeds, and its place in the ranking. */
typedef struct contender {
  candidate candidate;
  outcome runs[MAX_RUNS];
  size_t run_count;
  besom_status status; /* of the first replay that failed; then there are no figures */
  const char *unfit;   /* why it is not ranked, in a word or two; NULL if it is */

  /* Means of the replays. seconds is the total time of filter and store; least and most are
   * those of the single replays, or one standard deviation of the count from the mean. */
  double bits_per_key, store_reads, false_positives, repeats, ns_per_query;
  double seconds, least_seconds, most_seconds;
  uint64_t curve[CURVE_POINTS];

  unsigned rank; /* from 1; equal for ties. 0: it is not ranked */
  bool tied;     /* another one has the same rank */
} contender;

enum { CONTENDER_NAME_SIZE = 64 };

/* A name that no other contender has: "aqf with store". */
const char *contender_name(const contender *c, char name[CONTENDER_NAME_SIZE]);

/* Computes the means. us_per_read: time of one store read, in microseconds. */
void contender_sum_up(contender *c, double us_per_read);

/*
 * Sorts the contenders and ranks them. Ranked ones are first, then those that are unfit, then those
 * that failed. A rank begins with its fastest contender. It is shared with all whose range of times
 * overlaps with its own, and with all that are slower by less than 1 %, or by less than 1/100,000
 * of the time without a filter. Among ties, what needs less from the application is first, then
 * what has fewer false positives. Returns the number of those that did not fail.
 */
size_t ranking_sort(contender *all, size_t n);

/* The best ranked filter, or NULL. */
const contender *ranking_best_filter(const contender *all, size_t n);

/* The contender of a form, or of a kind; NULL if there is none. */
const contender *ranking_find(const contender *all, size_t n, candidate_form form,
                              const char *kind);

#endif
