/*
 * Claim asf: an adaptive stacked filter, which is told of its false positives, beside a Bloom filter of the same size.
 * Queries for non-members by Zipf's law; in the second phase the least popular key becomes the most popular, and so on.
 * A false positive costs a read of the store behind the filter.
 */
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "timing.h"
#include "workload.h"

enum { BITS = 10, PHASES = 2, PARTS = 5 };

static const double skew = 1, read_seconds = 74e-6; /* of 4 KB from a disk, not from a cache */

typedef struct effort {
  uint64_t members, negatives, queries; /* of a phase */
} effort;

static const effort quick = {100000, 10000000, 1000000};
static const effort thorough = {1000000, 100000000, 10000000};

/* The first is what the others are measured against. */
static const struct {
  const char *kind, *mode;
} subjects[] = {{"bloom", "-"}, {"adaptive-stacked", "soon"}, {"adaptive-stacked", "final"}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ------------------------------------------------------------------ members */

typedef struct member_source {
  key_stream keys;
  uint64_t n, at;
  uint8_t key[8];
} member_source;

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  uint64_t k;
  (void)weight;
  if (m->at == m->n) return BESOM_END;
  m->keys.generate(&m->keys, m->at++, 1, &k);
  key_bytes(k, m->key);
  *key = (besom_bytes){m->key, sizeof m->key};
  return BESOM_OK;
}

static besom_status first_member(void *ctx) {
  ((member_source *)ctx)->at = 0;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

typedef struct contest {
  effort e;
  zipf popularity;
  key_stream absent;
  uint64_t asked; /* by this filter, in all phases */
} contest;

static uint64_t next_query(contest *c, bool flipped) {
  uint64_t rank = zipf_rank(&c->popularity, random_at(BENCH_SEED, c->asked++)), key;
  c->absent.generate(&c->absent, flipped ? c->e.negatives - rank : rank - 1, 1, &key);
  return key;
}

static uint64_t ask(contest *c, besom_filter *f, bool adapts, bool flipped, uint64_t queries) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < queries; i++) {
    uint64_t key = next_query(c, flipped);
    if (!besom_contains_u64(f, key)) continue;
    wrong++;
    if (adapts) check(besom_adapt_u64(f, key), "adapting");
  }
  return wrong;
}

static besom_filter *make(size_t s, const effort *e, const besom_source *members) {
  uint8_t seed[16];
  char options[96] = "";
  hash_seed(BENCH_SEED, seed);
  bool adapts = s > 0;
  if (adapts)
    snprintf(options, sizeof options, "skew=%.0f,negatives=%llu,life=%llu,mode=%s", 100 * skew,
             (unsigned long long)e->negatives, (unsigned long long)e->queries, subjects[s].mode);
  besom_config config = {
      .kind = subjects[s].kind, .options = options, .seed = seed, .capacity = e->members, .bits = BITS};
  besom_filter *f;
  check(besom_build(&config, members, NULL, NULL, &f), "building %s", config.kind);
  if (adapts) check(besom_bind_source(f, members), "binding %s", config.kind);
  return f;
}

static void assert_members(const besom_filter *f, member_source *m) {
  for (uint64_t i = 0, key; i < m->n; i++) {
    m->keys.generate(&m->keys, i, 1, &key);
    if (!besom_contains_u64(f, key)) fail("a member is denied");
  }
}

static void show(size_t s, int phase, int part, uint64_t queries, uint64_t wrong, double cpu, const besom_filter *f,
                 report *numbers) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  report_cell(numbers, "%s", subjects[s].kind);
  report_cell(numbers, "%s", subjects[s].mode);
  report_cell(numbers, "%d", phase + 1);
  report_cell(numbers, "%d", part + 1);
  report_cell(numbers, "%llu", (unsigned long long)queries);
  report_cell(numbers, "%llu", (unsigned long long)wrong);
  report_cell(numbers, "%.6f", (double)wrong / (double)queries);
  report_cell(numbers, "%llu", (unsigned long long)stats.marks);
  report_cell(numbers, "%llu", (unsigned long long)stats.rebuilds);
  report_cell(numbers, "%.2f", stats.bits_per_item);
  report_cell(numbers, "%.2f", cpu);
  report_cell(numbers, "%.2f", cpu + (double)wrong * read_seconds);
}

/* The seconds that the queries and their false positives take, by phase. */
static void try_subject(size_t s, const effort *e, double seconds[PHASES], report *numbers) {
  member_source members = {.keys = stream_members(BENCH_SEED), .n = e->members};
  besom_source source = {.next = next_member, .rewind = first_member, .size_hint = e->members, .ctx = &members};
  contest c = {.e = *e, .popularity = zipf_create(skew, e->negatives), .absent = stream_absent(BENCH_SEED)};
  besom_filter *f = make(s, e, &source);
  for (int phase = 0; phase < PHASES; phase++) {
    seconds[phase] = 0;
    for (int part = 0; part < PARTS; part++) {
      progress("%s %s, phase %d", subjects[s].kind, subjects[s].mode, phase + 1);
      uint64_t queries = e->queries / PARTS;
      double start = cpu_seconds();
      uint64_t wrong = ask(&c, f, s > 0, phase == 1, queries);
      double cpu = cpu_seconds() - start;
      seconds[phase] += cpu + (double)wrong * read_seconds;
      show(s, phase, part, queries, wrong, cpu, f, numbers);
    }
  }
  assert_members(f, &members);
  besom_free(f);
}

static verdict run(bool full, report *numbers) {
  double first[PHASES], seconds[PHASES];
  findings found = {0};
  try_subject(0, full ? &thorough : &quick, first, numbers);
  for (size_t s = 1; s < SUBJECTS; s++) {
    try_subject(s, full ? &thorough : &quick, seconds, numbers);
    bool planned_for_this = strcmp(subjects[s].mode, "soon") == 0;
    for (int phase = 0; phase < PHASES && planned_for_this; phase++) finding(&found, seconds[phase] < first[phase]);
  }
  return verdict_of(&found);
}

static const char *const columns[] = {"kind", "mode",   "phase",    "part", "queries",  "false_positives",
                                      "rate", "learnt", "rebuilds", "bits", "filter_s", "total_s"};

const claim asf_claim = {
    .name = "asf",
    .source = "stacked-filters: Figure 6",
    .statement =
        "an adaptive stacked filter learns the workload, and a new one, and takes less time than a Bloom filter",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
