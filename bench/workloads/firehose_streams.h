/*
 * The query streams of the FireHose benchmark (Anderson and Plimpton, Sandia 2015), which the telescoping filters were
 * measured by. They give numbers of keys; which keys these are is the caller's business.
 */
#ifndef BENCH_WORKLOADS_FIREHOSE_STREAMS_H
#define BENCH_WORKLOADS_FIREHOSE_STREAMS_H

#include <stdint.h>

/* Keys 1 to 99,999 by Yule and Simon's power law of concentration 0.5: the first few are asked very often. */
typedef struct power_law {
  double *up_to; /* probability of each number or one before it */
  uint64_t seed, drawn;
} power_law;

enum { POWER_LAW_KEYS = 100000 };

power_law power_law_create(uint64_t seed);
void power_law_free(power_law *p);
uint64_t power_law_next(power_law *p);

/*
 * 131,072 keys that trend: each is asked a number of times that is decided at its birth, seldom first, then often, then
 * seldom again, and then another takes its place. Numbers are by birth, from 0.
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
  uint32_t most_asked; /* however large the total */
} active_set;

enum { ACTIVE_KEYS = 131072 };

/* exponent: of the power law of the numbers of times, POW_EXP there. */
active_set active_set_create(uint64_t seed, double exponent);
void active_set_free(active_set *a);
uint64_t active_set_next(active_set *a);

/*
 * Two levels: packets with outer keys that trend, each at most five times. The first four of a key carry 16 bits each
 * of an inner key, the lowest first, so that who has seen all four knows it; the fifth carries none. Which inner keys
 * there are is our choice: another active set, so that they come back under other outer keys.
 */
typedef struct packet {
  uint64_t outer; /* its number */
  uint64_t
      inner;     /* the number of the inner key; a receiver may know it from the fourth packet on */
  uint32_t nth;  /* of its outer key, 1 to 5 */
  uint16_t bits; /* of the inner key */
} packet;

enum { PACKETS_A_KEY = 5, PACKETS_TO_KNOW = 4 };

typedef struct two_level {
  active_set outer, inner;
  uint64_t *told; /* number of the inner key that each live outer one tells */
  uint64_t seed;
} two_level;

two_level two_level_create(uint64_t seed, double exponent);
void two_level_free(two_level *t);
packet two_level_next(two_level *t);

/* The 64 bits that a number of an inner key stands for: the packets carry these. All are different. */
uint64_t two_level_inner_key(const two_level *t, uint64_t number);

#endif
