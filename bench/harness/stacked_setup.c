#include "harness/stacked_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "harness/timing.h"
#include "workloads/key_stream.h"

enum { MAX_QUERIED = 1 << 23, MOST_POPULAR = 1 << 20 };
enum { UNQUERIED_KEYS = 1000000, SAMPLE_SEED = 77, QUERY_SEED = 78, QUERIES = 1 << 15, ROUNDS = 5 };

/* ------------------------------------------------------------------ popularity */

stacked_setup setup_zipf(double exponent, uint64_t members, uint64_t universe) {
  stacked_setup s = {.name = "zipf",
                     .members = members,
                     .universe = universe,
                     .popularity = zipf_create(exponent, universe)};
  /* smallest terms first: less rounding error */
  for (uint64_t k = universe; k; k--) s.all += pow((double)k, -exponent);
  return s;
}

/* Page popularity is about this skewed. */
stacked_setup setup_urls(uint64_t members, uint64_t universe) {
  stacked_setup s = setup_zipf(0.9, members, universe);
  s.name = "urls";
  s.keys = URLS;
  return s;
}

stacked_setup setup_firehose(uint64_t members, power_law *law) {
  return (stacked_setup){
      .name = "firehose", .members = members, .universe = POWER_LAW_KEYS, .firehose = law};
}

/* The probability that a negative query is for the absent key of this rank. */
static double key_probability(const stacked_setup *s, uint64_t rank) {
  if (!s->firehose) return pow((double)rank, -s->popularity.s) / s->all;
  const double *cumulative = s->firehose->cumulative;
  return (cumulative[rank - 1] - (rank > 1 ? cumulative[rank - 2] : 0)) /
         cumulative[POWER_LAW_KEYS - 1];
}

/* ------------------------------------------------------------------ keys */

static size_t key_of(const stacked_setup *s, const key_stream *stream, uint64_t i, bool member,
                     uint8_t *out) {
  uint64_t key;
  if (s->keys == URLS) return synthetic_url((char *)out, i, member, BENCH_SEED);
  stream->generate(stream, i, 1, &key);
  besom_u64_key k = besom_u64(key);
  memcpy(out, k.bytes, sizeof k.bytes);
  return sizeof k.bytes;
}

size_t setup_member(const stacked_setup *s, uint64_t i, uint8_t out[SETUP_KEY_BYTES]) {
  key_stream members = stream_members(BENCH_SEED);
  return key_of(s, &members, i, true, out);
}

size_t setup_absent(const stacked_setup *s, uint64_t i, uint8_t out[SETUP_KEY_BYTES]) {
  key_stream absent = stream_absent(BENCH_SEED);
  return key_of(s, &absent, i, false, out);
}

/* ------------------------------------------------------------------ samples and filters */

/* Writes the absent key of query number i. */
static size_t draw(const stacked_setup *s, uint64_t seed, uint64_t i,
                   uint8_t out[SETUP_KEY_BYTES]) {
  uint64_t number =
      s->firehose ? power_law_next(s->firehose) : zipf_rank(&s->popularity, random_at(seed, i)) - 1;
  return setup_absent(s, number, out);
}

besom_workload *setup_sample(const stacked_setup *s, uint64_t queries) {
  besom_workload *w;
  uint8_t key[SETUP_KEY_BYTES];
  check(besom_workload_create((uint64_t)1 << 32, NULL, &w), "creating a workload");
  for (uint64_t i = 0; i < queries; i++) {
    size_t len = draw(s, BENCH_SEED + SAMPLE_SEED, i, key);
    check(besom_workload_add(w, key, len, 1), "adding to a workload");
  }
  return w;
}

/* How often a key is queried if there are 100 queries per key on average. */
static uint64_t expected_count(const stacked_setup *s, uint64_t rank) {
  return 2 + (uint64_t)(100 * (double)s->universe * key_probability(s, rank));
}

besom_workload *setup_most_popular(const stacked_setup *s, uint64_t keys) {
  besom_workload *w;
  uint8_t key[SETUP_KEY_BYTES];
  check(besom_workload_create((uint64_t)1 << 32, NULL, &w), "creating a workload");
  for (uint64_t i = 0; i < keys; i++) {
    size_t len = setup_absent(s, i, key);
    check(besom_workload_add(w, key, len, expected_count(s, i + 1)), "adding to a workload");
  }
  return w;
}

void setup_known_option(const stacked_setup *s, char listed[LISTED_BYTES]) {
  double share = 0;
  for (uint64_t rank = s->universe / 2; rank; rank--) share += key_probability(s, rank);
  snprintf(listed, LISTED_BYTES, "sampled=%d", (int)(100 * share));
}

/* The more popular half of the absent keys, as a source. */
typedef struct known_half {
  const stacked_setup *setup;
  uint64_t at;
  uint8_t key[SETUP_KEY_BYTES];
} known_half;

static besom_status next_known(void *ctx, besom_bytes *key, uint64_t *weight) {
  known_half *k = ctx;
  if (k->at == k->setup->universe / 2) return BESOM_END;
  *key = (besom_bytes){k->key, setup_absent(k->setup, k->at, k->key)};
  *weight = expected_count(k->setup, ++k->at);
  return BESOM_OK;
}

static besom_status first_known(void *ctx) {
  ((known_half *)ctx)->at = 0;
  return BESOM_OK;
}

static void generate_more(member_source *m) {
  double start = cpu_seconds();
  for (size_t i = 0; i < 1024 && m->made < m->setup->members; i++)
    m->lens[i] = setup_member(m->setup, m->made++, m->keys[i]);
  m->seconds += cpu_seconds() - start;
}

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  (void)weight;
  if (m->at == m->setup->members) return BESOM_END;
  if (m->at == m->made) generate_more(m);
  *key = (besom_bytes){m->keys[m->at % 1024], m->lens[m->at % 1024]};
  m->at++;
  return BESOM_OK;
}

static besom_status first_member(void *ctx) {
  member_source *m = ctx;
  m->at = m->made = 0;
  return BESOM_OK;
}

besom_source setup_members(member_source *m, const stacked_setup *s) {
  m->setup = s;
  m->at = m->made = 0;
  m->seconds = 0;
  return (besom_source){
      .next = next_member, .rewind = first_member, .size_hint = s->members, .ctx = m};
}

static besom_filter *build(const stacked_setup *s, besom_config config, uint64_t seed,
                           const besom_source *no, double *seconds) {
  uint8_t hash[16];
  member_source members;
  besom_source yes = setup_members(&members, s);
  besom_filter *f;
  hash_seed(seed, hash);
  config.seed = hash;
  double start = cpu_seconds();
  check(besom_build(&config, &(besom_input){.yes = &yes, .no = no}, &f),
        "building %s at %g bits per key", config.kind, config.bits_per_key);
  if (seconds) *seconds = cpu_seconds() - start - members.seconds;
  return f;
}

besom_filter *setup_filter(const stacked_setup *s, besom_config config, uint64_t seed,
                           besom_workload *sample, double *seconds) {
  besom_source no = {0};
  if (sample) no = besom_workload_source(sample);
  return build(s, config, seed, sample ? &no : NULL, seconds);
}

besom_filter *setup_filter_known(const stacked_setup *s, besom_config config, uint64_t seed) {
  known_half known = {.setup = s};
  besom_source no = {
      .next = next_known, .rewind = first_known, .size_hint = s->universe / 2, .ctx = &known};
  return build(s, config, seed, &no, NULL);
}

besom_filter *setup_base(const stacked_setup *s, const char *base, double bits, uint64_t seed,
                         double *seconds) {
  return setup_filter(s, (besom_config){.kind = base, .bits_per_key = bits}, seed, NULL, seconds);
}

besom_filter *setup_stacked(const stacked_setup *s, const char *base, const char *more, double bits,
                            uint64_t seed, besom_workload *sample, double *seconds) {
  char options[128];
  snprintf(options, sizeof options, "base=%s%s%s", base, more ? "," : "", more ? more : "");
  return setup_filter(s,
                      (besom_config){.kind = "stacked", .options = options, .bits_per_key = bits},
                      seed, sample, seconds);
}

/* ------------------------------------------------------------------ false-positive rates */

static bool says_yes(const stacked_setup *s, const besom_filter *f, uint64_t i) {
  uint8_t key[SETUP_KEY_BYTES];
  size_t len = setup_absent(s, i, key);
  return besom_contains(f, key, len);
}

/* Of the less popular keys of a large universe only each `step`-th is queried. */
static uint64_t step_of(const stacked_setup *s) {
  return s->universe > MAX_QUERIED ? s->universe / (MAX_QUERIED / 2) : 1;
}

double setup_fpr(const stacked_setup *s, const besom_filter *f) {
  uint64_t step = step_of(s), popular = step > 1 ? MOST_POPULAR : s->universe;
  double rate = 0;
  for (uint64_t i = 0; i < popular; i++)
    if (says_yes(s, f, i)) rate += key_probability(s, i + 1);
  for (uint64_t i = popular; i < s->universe; i += step)
    if (says_yes(s, f, i)) rate += (double)step * key_probability(s, i + 1);
  return rate;
}

static double yes_share(const stacked_setup *s, const besom_filter *f, uint64_t first, uint64_t end,
                        uint64_t step) {
  uint64_t yes = 0, queried = 0;
  for (uint64_t i = first; i < end; i += step, queried++) yes += says_yes(s, f, i);
  return (double)yes / (double)queried;
}

double setup_fpr_uniform(const stacked_setup *s, const besom_filter *f) {
  return yes_share(s, f, 0, s->universe, step_of(s));
}

double setup_fpr_unqueried(const stacked_setup *s, const besom_filter *f) {
  return yes_share(s, f, s->universe, s->universe + UNQUERIED_KEYS, 1);
}

/* ------------------------------------------------------------------ times */

setup_queries setup_queries_create(const stacked_setup *s, bool members) {
  setup_queries q = {.keys = allocate(QUERIES, sizeof *q.keys),
                     .lens = allocate(QUERIES, sizeof *q.lens)};
  for (uint64_t i = 0; i < QUERIES; i++)
    q.lens[i] =
        members ? setup_member(s, random_below(random_at(BENCH_SEED + QUERY_SEED, i), s->members),
                               q.keys[i])
                : draw(s, BENCH_SEED + QUERY_SEED, i, q.keys[i]);
  return q;
}

void setup_queries_free(setup_queries *q) {
  free(q->keys);
  free(q->lens);
}

double setup_queries_time(const setup_queries *q, const besom_filter *f) {
  samples seconds = {0};
  for (int round = 0; round < ROUNDS; round++) {
    double start = cpu_seconds();
    for (size_t i = 0; i < QUERIES; i++) besom_contains(f, q->keys[i], q->lens[i]);
    samples_add(&seconds, cpu_seconds() - start);
  }
  double median = samples_median(&seconds);
  samples_free(&seconds);
  return 1e9 * median / QUERIES;
}
