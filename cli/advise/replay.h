/*
 * Replays a log of queries through a filter and counts the reads of the store that they cost:
 * besom advise does so with every kind.
 */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "lists/key_index.h"

/*
 * A log of queries, and what else happens while it is replayed. Keys with numbers below `members`
 * are the set. The queries before number `training` are for the filter to learn from; the queries
 * after them are measured.
 */
typedef struct query_log {
  const key_index *keys;
  uint32_t members;
  const uint32_t *queries;
  size_t training, total;
  double updates; /* new keys per query of the log */
  bool deletes;   /* keys are deleted, too, as many as are inserted */
  double hostile; /* share of all queries that an adversary adds to those of the log, below 1 */
} query_log;

/* The keys that a filter of this log must hold at once. */
uint64_t log_capacity(const query_log *log);

/* The measured queries for members: no filter can save these reads. */
uint64_t log_positive_queries(const query_log *log);

/* What is in front of the store. */
typedef enum candidate_form { NO_FILTER, EXACT_SET, FILTER } candidate_form;

/* How a filter learns of its false positives. A kind may support more than one way. */
typedef enum adaptation {
  ADAPTS_NEVER,
  ADAPTS_FROM_NO_LIST, /* built with the absent keys of the training as its no list, then reports */
  ADAPTS_ON_REPORT,    /* each false positive is reported to it (besom_adapt) */
  ADAPTS_WITH_STORE,   /* it is in front of a store (besom_guard) */
} adaptation;

typedef struct candidate {
  candidate_form form;
  const char *kind; /* FILTER: its kind; else a name for the table */
  adaptation adaptation;
} candidate;

/* Writes the ways in which a kind can adapt, or not; returns their number. */
enum { MAX_ADAPTATIONS = 3 };
size_t kind_adaptations(const besom_kind_info *kind, adaptation ways[MAX_ADAPTATIONS]);

/* Can this candidate follow a set that changes: take new keys, and delete keys? */
bool takes_inserts(const candidate *c);
bool takes_deletes(const candidate *c);

/* Must the application report false positives to it? */
bool takes_reports(const candidate *c);

/* Can an adversary that sees the answers bring back fixed false positives? */
bool is_open_to_attack(const candidate *c);

enum { CURVE_POINTS = 201 };

/* The figures of one replay. */
typedef struct outcome {
  besom_status status; /* if it is not BESOM_OK, there are no figures */
  double bits_per_key; /* at the end */
  double fpr;          /* expected false-positive rate of the full filter */
  uint64_t bytes, queries;
  uint64_t store_reads; /* measured queries that the candidate answered yes, rightly or wrongly */
  uint64_t false_positives, repeat_false_positives;
  double ns_per_query;          /* time of the candidate alone */
  uint64_t curve[CURVE_POINTS]; /* false positives so far, over the measured queries */
} outcome;

/* Makes a filter with this many bits per key and replays the log. seed: see besom_config.
 * Candidates that cannot follow a set that changes are replayed without its changes. */
void replay_run(const candidate *c, const query_log *log, double bits_per_key, const uint8_t *seed,
                const besom_progress *progress, outcome *o);

#endif
