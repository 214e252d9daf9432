/*
 * Replays a log of queries through a filter and counts the reads of the store that they cost:
 * besom advise does so with every kind.
 */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "key_index.h"

/*
 * A log of queries. Keys with numbers below `members` are the set. The queries before number
 * `training` are for the filter to learn from; the queries after them are measured.
 */
typedef struct query_log {
  const key_index *keys;
  uint32_t members;
  const uint32_t *queries;
  size_t training, total;
} query_log;

/* How a filter learns of its false positives. A kind may support more than one way. */
typedef enum adaptation {
  ADAPTS_NEVER,
  ADAPTS_ON_REPORT,    /* each false positive is reported to it (besom_adapt) */
  ADAPTS_FROM_NO_LIST, /* built with the absent keys of the training as its no list, then reports */
  ADAPTS_WITH_STORE,   /* it is in front of a store (besom_guard) */
} adaptation;

enum { CURVE_POINTS = 201 };

/* A kind and the way it adapts, and the figures that a replay measures. */
typedef struct candidate {
  const char *kind;
  adaptation adaptation;
  besom_status status;  /* if it is not BESOM_OK, there are no figures */
  double bits_per_key;  /* at the end */
  uint64_t store_reads; /* measured queries that the filter answered yes, rightly or wrongly */
  uint64_t false_positives, repeat_false_positives;
  double ns_per_query;          /* time of the filter alone */
  uint64_t curve[CURVE_POINTS]; /* store reads so far, over the measured queries */
} candidate;

/* Writes the one or two ways in which a kind can adapt; returns their number. */
size_t kind_adaptations(const besom_kind_info *kind, adaptation ways[2]);

/* Makes a filter with this many bits per key and replays the log. seed: see besom_config. */
void replay_run(candidate *c, const query_log *log, double bits_per_key, const uint8_t *seed,
                const besom_progress *progress);

/* The number of measured queries for members: no filter can save these reads. */
uint64_t log_positive_queries(const query_log *log);

#endif
