/*
 * The kinds that the telescoping filter papers compare, in their published form, and other kinds of
 * besom, with the same queries. exaf_default and taf_default are besom's own forms.
 *
 * As in the papers, the load factor is 0.95 and most kinds get 11 bits per slot. exaf and taf use 8
 * for the remainder and 3 for metadata, plus one for besom's third metadata word, which speeds up
 * inserts and does not change the FPR. Cuckoo kinds use 11 for fingerprint and selector. qf, aqf,
 * utaf and broom also have 8-bit remainders, plus whatever else they need.
 */
#ifndef BENCH_HARNESS_TELESCOPING_PEERS_H
#define BENCH_HARNESS_TELESCOPING_PEERS_H

#include "harness/tested_filter.h"
#include "workloads/queries.h"

typedef struct telescoping_peer {
  const char *name; /* of its columns */
  const char *kind, *options;
  adapt_mode mode;          /* kinds that can adapt do so in front of a store */
  double load;              /* the highest load factor */
  unsigned width;           /* of a remainder or fingerprint */
  unsigned slots_per_query; /* slots per query of a cuckoo kind; 0: a quotient filter */
  double reserve;           /* 0 for the default */
  bool rekeys;              /* rekeyed when its reserve is full, as its paper says */
} telescoping_peer;

/* The FPRs of the first COMPARED_PEERS are compared. vacuum is only measured for speed. */
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
  EXAF_DEFAULT,
  TAF_DEFAULT,
  VACUUM,
  TELESCOPING_PEERS
};
enum { COMPARED_PEERS = VACUUM };

extern const telescoping_peer telescoping_peers[TELESCOPING_PEERS];

/* The names of the compared kinds in order: as columns, and comma-separated for plots. */
#define COMPARED_PEER_NAMES                                                                  \
  "cf", "exaf", "taf", "acf1", "acf2", "acf3", "acf_swapping", "acf_cuckooing", "qf", "aqf", \
      "utaf", "broom", "exaf_default", "taf_default"
#define PEERS_IN_PAPER "cf,exaf,taf,acf1,acf2,acf3,acf_swapping,acf_cuckooing"
#define QUOTIENT_PEERS "qf,aqf,exaf,taf,exaf_default,taf_default,utaf,broom"

/* Configures an empty table of `slots` slots. seed: from hash_seed; it must outlive the config. */
besom_config telescoping_config(const telescoping_peer *peer, uint64_t slots,
                                const uint8_t seed[16]);

/* A table of `slots` slots with the first `members` members of the seed. */
tested_filter telescoping_filter(const telescoping_peer *peer, uint64_t slots, uint64_t members,
                                 uint64_t seed, driver *d);

/* A table that is filled to its highest load factor by them. */
tested_filter telescoping_filter_full(const telescoping_peer *peer, uint64_t members, uint64_t seed,
                                      driver *d);

/* Results of all compared kinds, averaged over several sets of members. */
typedef struct peer_rates {
  double rates[COMPARED_PEERS];    /* false positives per query */
  double rebuilds[COMPARED_PEERS]; /* rebuilt blocks */
} peer_rates;

/* ratio: distinct queried keys per member (A/S). */
peer_rates telescoping_peers_fpr(const queries *q, unsigned ratio, uint64_t seeds, driver *d);

#endif
