/*
 * Claim maplet: which places have this key? A maplet, one Bloom filter per place, a hash map of all
 * keys and a sorted file of them answer the same queries. A read is a candidate that is opened, or
 * a page of the sorted file.
 */
#include <math.h>
#include <stdlib.h>

#include "besom.h"
#include "besom_map.h"
#include "claims/claims.h"
#include "fail.h"
#include "workloads/queries.h"

/* At a higher rate the default limit of exceptions is used up: one per 32 pairs. */
static const double room_for_reports = 1.0 / 64;

enum { PLACES = 256, VALUE_BITS = 8, MOST_CANDIDATES = 512, PAGE = 4096, ENTRY = 10 };

typedef struct pairs {
  uint64_t n, *keys, *values; /* two pairs of every eighth key */
} pairs;

typedef struct structure {
  const char *name;
  bool adapts;
  double rate;
  besom_filter *map;
  besom_filter *places[PLACES];
  const pairs *truth;
} structure;

typedef struct tally {
  uint64_t queries, reads, missing;
} tally;

/* ------------------------------------------------------------------ pairs */

static uint64_t place_of(uint64_t key, unsigned which) {
  return random_at(key, which) % PLACES;
}

static bool has_two(uint64_t key) {
  return random_at(key, 2) % 8 == 0 && place_of(key, 0) != place_of(key, 1);
}

static pairs pairs_of(uint64_t members) {
  pairs p = {0, calloc(2 * members, sizeof *p.keys), calloc(2 * members, sizeof *p.values)};
  key_stream stream = stream_members(BENCH_SEED);
  if (!p.keys || !p.values) fail("no memory for pairs");
  for (uint64_t i = 0; i < members; i++) {
    uint64_t key;
    stream.generate(&stream, i, 1, &key);
    for (unsigned which = 0; which < (has_two(key) ? 2u : 1u); which++) {
      p.keys[p.n] = key;
      p.values[p.n++] = place_of(key, which);
    }
  }
  return p;
}

/* ------------------------------------------------------------------ structures */

static besom_filter *map_of(const pairs *p, double rate, bool adapts) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "aqf",
                         .options = adapts ? "maplet=yes,forget=yes" : "maplet=yes",
                         .value_bits = VALUE_BITS,
                         .capacity = p->n,
                         .fpr = rate,
                         .seed = seed};
  besom_filter *f;
  check(besom_create(&config, &f), "creating a maplet");
  check(besom_insert_values_many_u64(f, p->keys, p->values, p->n, NULL), "inserting pairs");
  return f;
}

/* All have one seed: a key is hashed once for all of them. */
static void fill_places(structure *s, double rate) {
  uint64_t count[PLACES] = {0};
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  for (uint64_t i = 0; i < s->truth->n; i++) count[s->truth->values[i]]++;
  for (unsigned place = 0; place < PLACES; place++) {
    besom_config config = {.kind = "bloom", .capacity = count[place], .fpr = rate, .seed = seed};
    check(besom_create(&config, &s->places[place]), "creating a Bloom filter");
  }
  for (uint64_t i = 0; i < s->truth->n; i++)
    check(besom_insert_u64(s->places[s->truth->values[i]], s->truth->keys[i]), "inserting a key");
}

static void structure_free(structure *s) {
  besom_free(s->map);
  for (unsigned place = 0; place < PLACES; place++) besom_free(s->places[place]);
}

static size_t candidates_of(const structure *s, uint64_t key, uint64_t *out) {
  size_t n = 0;
  besom_digest digest = besom_hash_u64(s->map ? s->map : s->places[0], key);
  if (s->map)
    check(besom_get_values_digest(s->map, digest, out, MOST_CANDIDATES, &n), "candidates");
  else
    for (uint64_t place = 0; place < PLACES; place++)
      if (besom_contains_digest(s->places[place], digest)) out[n++] = place;
  return n;
}

static void report_wrong(structure *s, uint64_t key, uint64_t place) {
  besom_status status = s->map ? besom_adapt_value(s->map, besom_u64(key).bytes, 8, place)
                               : besom_adapt_u64(s->places[place], key);
  if (status != BESOM_EVICTED && status != BESOM_RESERVE_FULL) check(status, "a report");
}

/* Opens every candidate, and reports the wrong ones. Returns their number. */
static size_t ask(structure *s, uint64_t key, bool is_member, tally *t) {
  uint64_t found[MOST_CANDIDATES];
  size_t n = candidates_of(s, key, found), wrong = 0, right = 0;
  for (size_t i = 0; i < n; i++) {
    bool has = is_member &&
               (found[i] == place_of(key, 0) || (has_two(key) && found[i] == place_of(key, 1)));
    right += has;
    wrong += !has;
    if (!has && s->adapts) report_wrong(s, key, found[i]);
  }
  t->queries++;
  t->reads += n;
  t->missing += is_member && right != (has_two(key) ? 2 : 1);
  return wrong;
}

static double bits_of(const structure *s) {
  besom_statistics stats;
  double bytes = 0;
  for (unsigned i = 0; i < PLACES; i++) {
    const besom_filter *f = s->map ? s->map : s->places[i];
    check(besom_stats(f, &stats), "statistics");
    bytes += (double)stats.bytes;
    if (s->map) break;
  }
  return 8 * bytes / (double)s->truth->n;
}

/* ------------------------------------------------------------------ queries */

static tally ask_members(structure *s) {
  tally t = {0};
  for (uint64_t i = 0; i < s->truth->n; i++)
    if (!i || s->truth->keys[i] != s->truth->keys[i - 1]) ask(s, s->truth->keys[i], true, &t);
  return t;
}

static tally ask_zipf(structure *s, const queries *q) {
  tally t = {0};
  for (uint64_t i = 0; i < q->n; i++) ask(s, queries_key(q, i, BENCH_SEED), false, &t);
  return t;
}

/* Absent keys that come once; every tenth query repeats one that had a wrong candidate. */
static tally ask_hostile(structure *s, uint64_t n) {
  tally t = {0};
  key_stream absent = stream_absent(derive_seed(BENCH_SEED, SEED_TURNS));
  uint64_t *known = calloc(n, sizeof *known), known_count = 0;
  if (!known) fail("no memory for queries");
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key;
    if (i % 10 == 9 && known_count)
      ask(s, known[random_at(BENCH_SEED, i) % known_count], false, &t);
    else {
      absent.generate(&absent, i, 1, &key);
      if (ask(s, key, false, &t)) known[known_count++] = key;
    }
  }
  free(known);
  return t;
}

/* ------------------------------------------------------------------ a row */

typedef struct row {
  double bits, members, zipf, hostile;
  uint64_t missing;
} row;

static double reads_per(const tally *t) {
  return (double)t->reads / (double)t->queries;
}

static row measure(structure *s, const queries *absent) {
  progress("%s, rate %.4g", s->name, s->rate);
  tally members = ask_members(s), popular = ask_zipf(s, absent),
        hostile = ask_hostile(s, absent->n);
  return (row){bits_of(s), reads_per(&members), reads_per(&popular), reads_per(&hostile),
               members.missing};
}

static void write_row(report *numbers, const char *name, double rate, const char *adapts,
                      const row *r) {
  report_cell(numbers, "%s", name);
  report_cell(numbers, "%.4g", rate);
  report_cell(numbers, "%s", adapts);
  report_cell(numbers, "%.2f", r->bits);
  report_cell(numbers, "%.4f", r->members);
  report_cell(numbers, "%.5f", r->zipf);
  report_cell(numbers, "%.5f", r->hostile);
  report_cell(numbers, "%llu", (unsigned long long)r->missing);
}

/* Filters of rate/PLACES have as few wrong candidates per query as a maplet of this rate. */
static row measure_places(const pairs *p, const queries *absent, double rate, const char *name,
                          report *numbers) {
  structure s = {.name = name, .rate = rate, .truth = p};
  fill_places(&s, rate);
  row r = measure(&s, absent);
  write_row(numbers, name, rate, "no", &r);
  structure_free(&s);
  return r;
}

static row measure_map(const pairs *p, const queries *absent, double rate, bool adapts,
                       report *numbers) {
  structure s = {.name = "maplet", .rate = rate, .adapts = adapts, .truth = p};
  s.map = map_of(p, rate, adapts);
  row r = measure(&s, absent);
  write_row(numbers, "maplet", rate, adapts ? "yes" : "no", &r);
  structure_free(&s);
  return r;
}

/* The places that members have. */
static double places_per_member(const pairs *p) {
  uint64_t members = 0;
  for (uint64_t i = 0; i < p->n; i++) members += !i || p->keys[i] != p->keys[i - 1];
  return (double)p->n / (double)members;
}

/*
 * Computed. The hash map has open addressing at a load of at most 3/4, and the keys inside; the
 * file has its entries alone, and a lookup reads a page per halving until one page is left, then
 * that.
 */
static double exact_rows(const pairs *p, report *numbers) {
  double slots = exp2(ceil(log2((double)p->n / 0.75))), each = places_per_member(p);
  double pages = ceil((double)p->n * ENTRY / PAGE), read = ceil(log2(pages)) + 1;
  row map = {8.0 * (8 + VALUE_BITS / 8.0) * slots / (double)p->n, each, 0, 0, 0};
  row file = {8.0 * ENTRY, each + read, read, read, 0};
  write_row(numbers, "hash_map", 0, "exact", &map);
  write_row(numbers, "sorted_file", 0, "exact", &file);
  return map.bits;
}

static findings run(bool full, report *numbers) {
  static const double rates[] = {1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 4096};
  findings found = {0};
  uint64_t members = full ? 1000000 : 50000;
  pairs p = pairs_of(members);
  queries absent = queries_of_zipf(1, members, members, BENCH_SEED);
  double each = places_per_member(&p), exact_bits = exact_rows(&p, numbers);
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    double e = rates[i];
    row fixed = measure_map(&p, &absent, e, false, numbers);
    row adapted = measure_map(&p, &absent, e, true, numbers);
    row places = measure_places(&p, &absent, e, "bloom_per_place", numbers);
    row equal = measure_places(&p, &absent, e / PLACES, "bloom_equal_reads", numbers);
    finding(&found, !fixed.missing && !adapted.missing);
    finding(&found, fixed.members <= each + 1.1 * e);
    finding(&found, adapted.zipf < fixed.zipf && adapted.hostile < fixed.hostile);
    if (e <= room_for_reports) finding(&found, adapted.hostile <= 1.1 * e);
    finding(&found, fixed.bits < exact_bits && fixed.bits < equal.bits);
    finding(&found, adapted.hostile < places.hostile);
  }
  queries_free(&absent);
  free(p.keys);
  free(p.values);
  return found;
}

static const char *const columns[] = {"structure",     "rate",         "adapts",
                                      "bits_per_pair", "member_reads", "zipf_reads",
                                      "hostile_reads", "missing"};

static const plot plots[] = {{.title = "Places opened per query for an absent key, hostile queries",
                              .x = "rate",
                              .y = "hostile_reads",
                              .series = "structure,adapts",
                              .x_label = "target rate",
                              .y_label = "reads per query",
                              .log_x = true},
                             {0}};

const claim maplet_claim = {
    .name = "maplet",
    .title = "From a key to its places",
    .source = "besom",
    .statement =
        "a maplet finds every place of a member, opens no more wrong places per query than its "
        "rate says, also when a tenth of the queries repeats keys that had one, if wrong ones are "
        "reported (rates up to 1/64), and takes fewer bits per pair than one Bloom filter per "
        "place with as few wrong ones",
    .differs =
        "50,000 keys in 256 places, an eighth of them in two (full: 10^6). A read is a place that "
        "is opened. Members are asked first, then the absent keys of both columns; bits_per_pair "
        "includes the reports. At 1/16 these are more than the default limit, and old ones are "
        "forgotten. Zipf 1 queries are for absent keys, as many as members. bloom_equal_reads: the "
        "filters have the rate / 256; a query asks all 256. hash_map, computed: "
        "keys of 8 bytes, 2^k slots, a load below 3/4. sorted_file, computed: entries of 10 bytes, "
        "binary search for pages of 4096 bytes, none in memory.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
