/*
 * An adversary who looks for adaptation loops (Wen et al., "Adaptive Quotient Filters", section 2.5): short sequences
 * of queries, some of them false positives, after which the filter is back in a state in which it errs again. He sees
 * no more of a filter than which of his queries were false positives.
 */
#ifndef BENCH_WORKLOADS_LOOP_HUNTER_H
#define BENCH_WORKLOADS_LOOP_HUNTER_H

#include "harness/tested_filter.h"

enum { LONGEST_LOOP = 16 };

typedef struct loop {
  uint64_t keys[LONGEST_LOOP];
  size_t length; /* 2 and more; 0: there is none */
  double fpr;    /* false positives a query, when it is asked again and again */
} loop;

typedef struct hunt {
  loop best;          /* of the highest rate; among these the shortest */
  uint64_t loops;     /* found */
  uint64_t collected; /* false positives among the first queries */
  uint64_t recurring; /* of these: they still are, each time that all of them are asked in turn */
  uint64_t
      stuck; /* of these: they are when asked alone, too, again and again: the filter has not learnt from them */
  uint64_t queries; /* all that it took */
} hunt;

/* Begins with so many queries for strangers, keys that are no members. */
hunt hunt_loops(learner *l, const key_stream *strangers, uint64_t queries);

/* Asks for the keys of a loop in turn, so many times: how many queries were false positives? */
uint64_t loop_replay(const loop *found, learner *l, uint64_t times);

#endif
