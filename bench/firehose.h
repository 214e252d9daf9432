/*
 * The query streams of the FireHose benchmark (Anderson and Plimpton, Sandia 2015), which the telescoping filters were
 * measured by. Both give numbers of keys, from 0; which keys these are is the caller's business.
 */
#ifndef BENCH_FIREHOSE_H
#define BENCH_FIREHOSE_H

#include <stdint.h>

/* 100,000 keys by Yule and Simon's power law of concentration 0.5: few are asked very often. */
typedef struct power_law {
  double *up_to; /* probability of each key or one before it */
  uint64_t seed, drawn;
} power_law;

enum { POWER_LAW_KEYS = 100000 };

power_law power_law_create(uint64_t seed);
void power_law_free(power_law *p);
uint64_t power_law_next(power_law *p);

/*
 * 131,072 keys that trend: each is asked a number of times that is decided at its birth, seldom first, then often, then
 * seldom again, and then another takes its place. Numbers are by birth.
 */
typedef struct trending_key {
  uint64_t number;
  uint32_t asked, total;
  uint32_t next; /* in its queue; UINT32_MAX if it is the last */
} trending_key;

typedef struct active_set {
  trending_key *keys;
  uint32_t *first, *last; /* of each queue; UINT32_MAX if it is empty */
  uint32_t *totals;       /* that a key may get at its birth */
  uint32_t *ahead;        /* how many queues ahead a key goes, by how far its life is */
  uint32_t now;           /* the queue at hand */
  uint64_t seed, drawn, born;
} active_set;

/* exponent: of the power law of the numbers of times, POW_EXP there. */
active_set active_set_create(uint64_t seed, double exponent);
void active_set_free(active_set *a);
uint64_t active_set_next(active_set *a);

#endif
