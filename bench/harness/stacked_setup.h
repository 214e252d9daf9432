/*
 * What the claims about stacked filters have in common: a set of members, keys outside of it that are asked for with
 * known probabilities, a sample of such queries, and filters made of them. Rates are sums of those probabilities over
 * the keys that a filter says yes to, so that no noise of drawing queries is in them.
 */
#ifndef BENCH_HARNESS_STACKED_SETUP_H
#define BENCH_HARNESS_STACKED_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "workloads/firehose_streams.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"
#include "zipf.h"

enum { SCENE_KEY_BYTES = MOST_URL };

typedef enum scene_keys { INTEGERS, URLS } scene_keys;

/* Which keys there are, and how popular the absent ones: rank k, from 1, by Zipf, or by FireHose's power law. */
typedef struct scene {
  const char *name;
  scene_keys keys;
  uint64_t members, universe;
  zipf popularity;
  double all;          /* the sum of k^-s */
  power_law *firehose; /* instead, unless NULL */
} scene;

scene scene_of_zipf(double s, uint64_t members, uint64_t universe);
scene scene_of_urls(uint64_t members, uint64_t universe);
scene scene_of_firehose(uint64_t members, power_law *law);

/* A key of the scene, written into `out`; gives its length. Absent keys from number `universe` on are never asked for.
 */
size_t scene_member(const scene *s, uint64_t i, uint8_t out[SCENE_KEY_BYTES]);
size_t scene_absent(const scene *s, uint64_t i, uint8_t out[SCENE_KEY_BYTES]);

/* So many queries for absent keys, drawn at random; besom_workload_free it. */
besom_workload *scene_sample(const scene *s, uint64_t queries);

/* The most popular keys, with the counts that a hundred queries for each key on average would give. */
besom_workload *scene_most_popular(const scene *s, uint64_t keys);

/* The more popular half of the keys, and the option of stacked that says what share of the queries is for them. */
enum { LISTED_BYTES = 16 };
besom_workload *scene_known_half(const scene *s, char listed[LISTED_BYTES]);

/* The members as a source, and the CPU seconds that it took to make them. */
typedef struct member_source {
  const scene *scene;
  uint64_t at, made;
  uint8_t keys[1024][SCENE_KEY_BYTES];
  size_t lens[1024];
  double seconds;
} member_source;

besom_source scene_members(member_source *m, const scene *s);

/*
 * A filter of all members, of this kind and size; its seed is made of that number. sample: NULL if the kind takes none.
 * Gives the CPU seconds that building took, but for the making of keys; seconds may be NULL.
 */
besom_filter *scene_filter(const scene *s, besom_config config, uint64_t seed,
                           besom_workload *sample, double *seconds);

/*
 * The same at so many bits a member: of the base kind alone, or stacked, planned by the sample. more: further options
 * of stacked, or NULL.
 */
besom_filter *scene_base(const scene *s, const char *base, double bits, uint64_t seed,
                         double *seconds);
besom_filter *scene_stacked(const scene *s, const char *base, const char *more, double bits,
                            uint64_t seed, besom_workload *sample, double *seconds);

/* The rate over queries of this scene; over all absent keys alike; over keys that nobody ever asks for. */
double scene_rate(const scene *s, const besom_filter *f);
double scene_rate_of_keys(const scene *s, const besom_filter *f);
double scene_rate_of_strangers(const scene *s, const besom_filter *f);

/* Queries that are drawn and written down beforehand, so that only the filter is timed. */
typedef struct scene_queries {
  uint8_t (*keys)[SCENE_KEY_BYTES];
  size_t *lens;
} scene_queries;

/* For members, all alike; or for absent keys, by their popularity. */
scene_queries scene_queries_create(const scene *s, bool members);
void scene_queries_free(scene_queries *q);

/* The nanoseconds that a query takes. */
double scene_queries_time(const scene_queries *q, const besom_filter *f);

#endif
