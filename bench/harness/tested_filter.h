/*
 * A filter that is queried for absent keys and adapts to its false positives if it can, in one of
 * the modes that the library offers. Claims compare the modes on the same keys.
 */
#ifndef BENCH_HARNESS_TESTED_FILTER_H
#define BENCH_HARNESS_TESTED_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "besom_guard.h"
#include "harness/driver.h"

/*
 * qf: never adapts. aqf_exceptions: adapts by besom_adapt, without a store. aqf_store: adapts by a
 * guard, which extends fingerprints.
 */
typedef enum adapt_mode { ADAPT_NEVER, ADAPT_EXCEPTIONS, ADAPT_STORE, ADAPT_MODES } adapt_mode;

extern const char *const adapt_mode_names[ADAPT_MODES];

/*
 * What it takes to rekey a filter when its reserve is full: it is filled again, with the next hash
 * seed. The seeds are a pure function of the first one, so a run can be repeated.
 */
typedef struct rekeying {
  besom_config config;
  uint8_t seed[16];
  uint64_t key_seed, members, count; /* count: rekeys so far */
} rekeying;

typedef struct tested_filter {
  const besom_filter *filter;
  besom_filter *own;     /* owned filter; NULL for ADAPT_STORE */
  besom_guard *guard;    /* only for ADAPT_STORE */
  bool adapts;           /* ADAPT_EXCEPTIONS: report false positives by besom_adapt */
  uint64_t reserve_full; /* false positives that the reserve had no space for */
  uint64_t not_taken;    /* false positives that did not change the filter */
  rekeying *rekeying;    /* owned; NULL: never rekeyed */
} tested_filter;

/*
 * A table of this geometry with the first `members` members of key_seed. filter_seed seeds the
 * hash.
 */
typedef struct filter_setup {
  uint64_t slots, members;
  double reserve; /* 0 for the default */
  uint64_t key_seed, filter_seed;
} filter_setup;

tested_filter tested_filter_create(adapt_mode mode, const filter_setup *s, driver *d);

/* A filter of any kind that supports the mode, with the first `members` members of key_seed. */
tested_filter tested_filter_create_with(adapt_mode mode, const besom_config *config,
                                        uint64_t key_seed, uint64_t members, driver *d);
/*
 * A filter of this config with the first n keys of a stream. d is not used for ADAPT_STORE and may
 * be NULL then.
 */
tested_filter tested_filter_create_from(adapt_mode mode, const besom_config *config,
                                        const key_stream *members, uint64_t n, driver *d);

/* A filter of any kind that works with a store, with the first `members` members of key_seed. */
tested_filter tested_filter_create_guard(const besom_config *config, uint64_t key_seed,
                                         uint64_t members);

/* The same, but rekeyed whenever an adaptation finds no space. */
tested_filter tested_filter_create_rekeying(const besom_config *config, uint64_t key_seed,
                                            uint64_t members);
void tested_filter_free(tested_filter *tested);

/* Queries an absent key. Returns true for a false positive, and adapts to it at once. */
bool tested_filter_query(tested_filter *tested, uint64_t key);

/* Adds an absent key; removes a member. */
void tested_filter_insert(tested_filter *tested, uint64_t key);
void tested_filter_remove(tested_filter *tested, uint64_t key);

besom_statistics tested_filter_stats(const tested_filter *tested);

/* Queries the keys and adapts. Returns the CPU seconds and the number of false positives. */
double tested_filter_query_all(tested_filter *tested, const uint64_t *keys, uint64_t n,
                               uint64_t *hits);

/* Bits per key that adaptation has used of its reserve; 0 for kinds with a fixed reserve. */
double tested_filter_extra_bits(const tested_filter *tested, double reserve);

#endif
