/*
 * The shared setup of the claims about stacked filters: members, absent keys that are queried with
 * known probabilities, a sample of such queries, and filters built from them. Rates are sums of the
 * probabilities of the keys that the filter answers yes to, so they have no sampling noise. Of more
 * than 2^23 absent keys the most popular 2^20 are all queried, and of the others 2^22 at equal
 * distances.
 */
#ifndef BENCH_HARNESS_STACKED_SETUP_H
#define BENCH_HARNESS_STACKED_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "besom_plan.h"
#include "workloads/firehose_streams.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"
#include "zipf.h"

enum { SETUP_KEY_BYTES = MAX_URL_BYTES };

typedef enum setup_keys { INTEGERS, URLS } setup_keys;

/*
 * The keys, and the popularity of the absent ones: rank k, from 1, by Zipf or by the FireHose power
 * law.
 */
typedef struct stacked_setup {
  const char *name;
  setup_keys keys;
  uint64_t members, universe;
  zipf popularity;
  double all;          /* the sum of k^-s */
  power_law *firehose; /* used instead of Zipf unless NULL */
} stacked_setup;

stacked_setup setup_zipf(double s, uint64_t members, uint64_t universe);
stacked_setup setup_urls(uint64_t members, uint64_t universe);
stacked_setup setup_firehose(uint64_t members, power_law *law);

/*
 * Writes a key into `out`. Returns its length. Absent keys from number `universe` on are never
 * queried.
 */
size_t setup_member(const stacked_setup *s, uint64_t i, uint8_t out[SETUP_KEY_BYTES]);
size_t setup_absent(const stacked_setup *s, uint64_t i, uint8_t out[SETUP_KEY_BYTES]);

/* `queries` random queries for absent keys. Free it by besom_workload_free. */
besom_workload *setup_sample(const stacked_setup *s, uint64_t queries);

/* The most popular keys, with the expected counts of 100 queries per key on average. */
besom_workload *setup_most_popular(const stacked_setup *s, uint64_t keys);

/* Writes the option of `stacked` that gives the share of the queries of the more popular half. */
enum { LISTED_BYTES = 16 };
void setup_known_option(const stacked_setup *s, char listed[LISTED_BYTES]);

/* The members as a source, and the CPU seconds spent on generating them. */
typedef struct member_source {
  const stacked_setup *setup;
  uint64_t at, made;
  uint8_t keys[1024][SETUP_KEY_BYTES];
  size_t lens[1024];
  double seconds;
} member_source;

besom_source setup_members(member_source *m, const stacked_setup *s);

/*
 * A filter of all members, of this kind and size, hashed with a seed derived from `seed`. sample:
 * NULL if the kind takes none. Returns the CPU seconds of the build without key generation in
 * `seconds`, which may be NULL.
 */
besom_filter *setup_filter(const stacked_setup *s, besom_config config, uint64_t seed,
                           besom_workload *sample, double *seconds);

/*
 * The same for a filter that knows the more popular half of the absent keys, with their expected
 * counts. The keys are generated while the filter is built and never stored.
 */
besom_filter *setup_filter_known(const stacked_setup *s, besom_config config, uint64_t seed);

/*
 * The same at a budget of bits per member: the base kind alone, or a stacked filter planned from
 * the sample. more: further options of `stacked`, or NULL.
 */
besom_filter *setup_base(const stacked_setup *s, const char *base, double bits, uint64_t seed,
                         double *seconds);
besom_filter *setup_stacked(const stacked_setup *s, const char *base, const char *more, double bits,
                            uint64_t seed, besom_workload *sample, double *seconds);

/*
 * FPR over the query distribution; over all absent keys with equal weight; over keys that are never
 * queried.
 */
double setup_fpr(const stacked_setup *s, const besom_filter *f);
double setup_fpr_uniform(const stacked_setup *s, const besom_filter *f);
double setup_fpr_unqueried(const stacked_setup *s, const besom_filter *f);

/* Queries drawn in advance, so that only the filter is timed. */
typedef struct setup_queries {
  uint8_t (*keys)[SETUP_KEY_BYTES];
  size_t *lens;
} setup_queries;

/* For members, uniformly; or for absent keys, by popularity. */
setup_queries setup_queries_create(const stacked_setup *s, bool members);
void setup_queries_free(setup_queries *q);

/* Nanoseconds per query. */
double setup_queries_time(const setup_queries *q, const besom_filter *f);

#endif
