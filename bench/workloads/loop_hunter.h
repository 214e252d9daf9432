/*
 * An adversary that searches for adaptation loops (Wen et al., "Adaptive Quotient Filters", section
 * 2.5): short sequences of queries, some of them false positives, that return the filter to a state
 * in which it errs again. The adversary only sees which of its queries were false positives.
 */
#ifndef BENCH_WORKLOADS_LOOP_HUNTER_H
#define BENCH_WORKLOADS_LOOP_HUNTER_H

#include "harness/tested_filter.h"

enum { MAX_LOOP_LENGTH = 16 };

typedef struct loop {
  uint64_t keys[MAX_LOOP_LENGTH];
  size_t length; /* 2 or more; 0: no loop */
  double fpr;    /* false positives per query, when the loop is repeated */
} loop;

typedef struct hunt {
  loop best;          /* highest FPR; the shortest of these */
  uint64_t loops;     /* loops found */
  uint64_t collected; /* false positives among the first queries */
  uint64_t recurring; /* of these: still false positives in each pass over all of them */
  /* of these: false positives when repeated alone, too: the filter did not adapt to them */
  uint64_t stuck;
  uint64_t queries; /* all queries of the search */
} hunt;

/* Searches for loops. The search starts with `queries` queries of the stream of absent keys. */
hunt hunt_loops(tested_filter *tested, const key_stream *absent, uint64_t queries);

/* Queries the keys of a loop in order, `times` times. Returns the number of false positives. */
uint64_t loop_replay(const loop *found, tested_filter *tested, uint64_t times);

#endif
