/*
 * The kinds that the papers about telescoping filters compare, and besom's others, all asked the same.
 *
 * As there, tables are 95 % full and most kinds get 11 bits a slot: exaf and taf 8 for the remainder and 3 for
 * the rest (and one for besom's third metadata word, which makes inserts faster and answers no better), cuckoo kinds 11
 * for fingerprint and selector. qf, aqf, utaf and broom also have remainders of 8 bits, whatever else they need.
 */
#ifndef BENCH_HARNESS_TELESCOPING_PEERS_H
#define BENCH_HARNESS_TELESCOPING_PEERS_H

#include "harness/tested_filter.h"
#include "workloads/queries.h"

typedef struct contender {
  const char *name; /* of its columns */
  const char *kind, *options;
  learning way;       /* those that can learn do so in front of a store */
  double load;        /* as full as it gets */
  unsigned width;     /* of a remainder or fingerprint */
  unsigned looked_at; /* slots, by a query of a cuckoo kind; 0: a quotient filter */
} contender;

/* The false positives of the first RATED are compared; vacuum is there for its speed. */
enum {
  CF,
  EXAF,
  TAF,
  ACF1,
  ACF2,
  ACF3,
  ACF_SWAPPING,
  ACF_CUCKOOING,
  QF,
  AQF,
  UTAF,
  BROOM,
  VACUUM,
  CONTENDERS
};
enum { RATED = VACUUM };

extern const contender contenders[CONTENDERS];

/* The names of the RATED ones, in their order: for columns, and with commas for plots. */
#define RATED_NAMES                                                                          \
  "cf", "exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing", "qf", "aqf", \
      "utaf", "broom"
#define RATED_IN_PAPER "cf,exaf,taf,acf1,acf2,acf3,acf_swapping,acf_cuckooing"
#define RATED_ELSE "qf,aqf,exaf,taf,utaf,broom"

/* How to make an empty table of so many slots; seed: of hash_seed, must outlive it. */
besom_config contender_config(const contender *who, uint64_t slots, const uint8_t seed[16]);

/* A table of so many slots with the first members of the seed. */
learner contender_join(const contender *who, uint64_t slots, uint64_t members, uint64_t seed,
                       driver *d);

/* One that is full with them. */
learner contender_join_full(const contender *who, uint64_t members, uint64_t seed, driver *d);

/* What came of asking all RATED, averages over some sets of members. */
typedef struct ratings {
  double rates[RATED];    /* false positives a query */
  double rebuilds[RATED]; /* and blocks that began anew */
} ratings;

/* With one member for so many different queries (A/S). */
ratings contenders_rate(const queries *q, unsigned ratio, uint64_t seeds, driver *d);

#endif
