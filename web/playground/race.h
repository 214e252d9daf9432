/*
 * race.h - the same stream of queries against several filters, each in front of a store.
 *
 * A race is a pure function of its setup. The page runs it in WebAssembly, playground-numbers runs
 * it natively, and a test compares the numbers.
 *
 * The stream: one query in ten is for a member. Of the others, a share `attack` is an adversary's,
 * and the rest are of ordinary clients, who draw absent keys by a Zipf distribution (skew 0:
 * uniform). The adversary knows which queries were false positives and cycles through these keys.
 * So the queries of clients are the same for all filters, and each filter has its own adversary.
 * While it knows no key, it queries random absent keys.
 *
 * A filter that answers yes causes a read of the store. If the key is absent, the answer was a
 * false positive, and it is reported, except to ordinary and planned filters.
 */
#ifndef PLAYGROUND_RACE_H
#define PLAYGROUND_RACE_H

#include <stdint.h>

#include "besom.h"

typedef struct race race;

typedef struct race_setup {
  uint64_t seed;
  uint64_t members;      /* keys in the set */
  uint64_t universe;     /* absent keys that clients query */
  double skew;           /* exponent of the Zipf distribution */
  double attack;         /* share of the negative queries that are the adversary's, 0 to 1 */
  double bits_per_key;   /* of each filter, including metadata, without its struct */
  uint64_t past_queries; /* queries of clients that `stacked` is planned for */
} race_setup;

/* The numbers of one filter. Doubles, so that JavaScript reads them as one array. */
typedef struct race_numbers {
  double queries;
  double false_positives;
  double repeats;         /* false positives for keys already reported */
  double needed_reads;    /* reads of the store for members */
  double reads;           /* all reads of the store */
  double false_negatives; /* members answered no: 0 */
  double bits_per_key;
  double adapted;      /* reports that changed the filter */
  double reserve_used; /* 0 to 1 */
  double status;       /* besom_status of making the filter; if not BESOM_OK it does not run */
} race_numbers;

/* Makes all filters and inserts the members. Errors: INVALID, NO_MEMORY. */
besom_status race_create(const race_setup *setup, race **out);
void race_free(race *r);

/* How many filters there are; the kind of one; its numbers. */
unsigned race_filters(void);
const char *race_kind(unsigned i);
void race_read(const race *r, unsigned i, race_numbers *out);

/* Runs the next n queries. */
void race_run(race *r, uint64_t n);

#endif
