/* A kind of filter on trial: a log of queries is sent through it, and what it would have cost is counted. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "numbered.h"

/* The keys with numbers below members are the set. The queries before number learn are to learn from, the others count.
 */
typedef struct query_log {
  const numbered *keys;
  uint32_t members;
  const uint32_t *queries;
  size_t learn, total;
} query_log;

/* How a filter comes to know its mistakes: as a kind's abilities allow, some by more than one. */
typedef enum learning {
  LEARNS_NEVER,
  LEARNS_ALONE, /* is told of its false positives (besom_adapt) */
  LEARNS_FROM_LOG, /* is built with what was asked in vain before (besom_build with a no list), and told */
  LEARNS_FROM_STORE, /* stands in front of the stored keys (besom_guard) */
} learning;

enum { CURVE_POINTS = 201 };

typedef struct trial {
  const char *kind;
  learning way;
  besom_status failed; /* if not BESOM_OK there are no figures */
  double bits;         /* a key, at the end */
  uint64_t reads;      /* queries of the test half that went to the store: the right ones, too */
  uint64_t false_positives, repeated;
  double nanoseconds;           /* a query, by the filter */
  uint64_t curve[CURVE_POINTS]; /* reads so far, from the beginning of the test half to its end */
} trial;

/* The ways in which a kind can be tried: writes one or two of them, and says how many. */
size_t trial_ways(const besom_kind_info *kind, learning ways[2]);

/* Makes the filter with so many bits a key, and runs the log. seed: see besom_config. tick: see besom_progress. */
void trial_run(trial *t, const query_log *log, double bits, const uint8_t *seed,
               const besom_progress *progress);

/* Queries of the test half for keys of the set: no filter can save these reads. */
uint64_t log_member_queries(const query_log *log);

#endif
