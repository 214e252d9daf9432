/*
 * The query streams of the FireHose benchmark (Anderson and Plimpton, Sandia 2015). The telescoping
 * filter paper measures with them. The streams return key numbers; the caller maps the numbers to
 * keys.
 */
#ifndef BENCH_WORKLOADS_FIREHOSE_STREAMS_H
#define BENCH_WORKLOADS_FIREHOSE_STREAMS_H

#include <stdint.h>

/*
 * Keys 1 to 99,999, distributed by the Yule-Simon power law with concentration 0.5: the first few
 * keys are queried very often.
 */
typedef struct power_law {
  double *cumulative; /* cumulative probability: a number up to this index */
  uint64_t seed, drawn;
} power_law;

enum { POWER_LAW_KEYS = 100000 };

power_law power_law_create(uint64_t seed);
void power_law_free(power_law *p);
uint64_t power_law_next(power_law *p);

/*
 * 131,072 active keys with a trend. The number of queries of a key is drawn when the key starts.
 * The key is queried rarely at first, then often, then rarely again. Then a new key replaces it.
 * Keys are numbered in the order in which they start, from 0.
 */
typedef struct trending_key {
  uint64_t number;
  uint32_t queried, total;
  uint32_t next; /* in its queue; UINT32_MAX for the last one */
} trending_key;

typedef struct active_set {
  trending_key *keys;
  uint32_t *first, *last; /* of each queue; UINT32_MAX for an empty queue */
  uint32_t *totals;       /* the possible numbers of queries per key */
  uint32_t *ahead;        /* how many queues ahead a key moves, by its progress */
  uint32_t now;           /* the current queue */
  uint64_t seed, drawn, started;
  uint32_t max_queries; /* upper limit of the queries per key */
} active_set;

enum { ACTIVE_KEYS = 131072 };

/* exponent: exponent of the power law of the queries per key, POW_EXP in FireHose. */
active_set active_set_create(uint64_t seed, double exponent);
void active_set_free(active_set *a);
uint64_t active_set_next(active_set *a);

/*
 * Two levels: packets with outer keys that trend, at most five packets per outer key. The first
 * four packets carry 16 bits each of an inner key, lowest bits first. A receiver that has seen all
 * four knows the inner key. The fifth packet carries no bits. The choice of inner keys is ours:
 * another active set, so that inner keys recur under other outer keys.
 */
typedef struct packet {
  uint64_t outer; /* its number */
  uint64_t inner; /* number of the inner key; a receiver can know it from the fourth packet on */
  uint32_t nth;   /* position among the packets of the outer key, 1 to 5 */
  uint16_t bits;  /* bits of the inner key */
} packet;

enum { PACKETS_PER_KEY = 5, PACKETS_TO_KNOW = 4 };

typedef struct two_level {
  active_set outer, inner;
  uint64_t *carried; /* per active outer key: number of the inner key that it carries */
  uint64_t seed;
} two_level;

two_level two_level_create(uint64_t seed, double exponent);
void two_level_free(two_level *t);
packet two_level_next(two_level *t);

/* The 64-bit inner key with this number, which the packets carry. All inner keys are distinct. */
uint64_t two_level_inner_key(const two_level *t, uint64_t number);

#endif
