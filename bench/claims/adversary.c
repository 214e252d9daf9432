/*
 * Claim adversary: an adversary that collects false positives and repeats them gains nothing
 * against a filter that adapts.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/tested_filter.h"
#include "workloads/key_list.h"

enum { CYCLES = 10, CHUNK = 4096 };

static const double load = 0.9;
static const double large_reserve = 0.5, load_with_it = 0.45; /* the reserve is part of the table */

/* ------------------------------------------------------------------ the adversary */

/* Every false positive among the first n absent keys. */
static key_list collect(tested_filter *tested, uint64_t n) {
  key_stream absent = stream_absent(BENCH_SEED);
  uint64_t keys[CHUNK];
  key_list found = {0};
  for (uint64_t done = 0; done < n; done += CHUNK) {
    absent.generate(&absent, done, CHUNK, keys);
    for (size_t i = 0; i < CHUNK && done + i < n; i++)
      if (tested_filter_query(tested, keys[i])) key_list_add(&found, keys[i]);
  }
  return found;
}

typedef struct attack {
  uint64_t hits[CYCLES]; /* false positives per cycle */
  uint64_t full;         /* of those collected: the filter had no space */
  uint64_t missing;      /* members answered no afterwards */
} attack;

static attack cycle(tested_filter *tested, const key_list *found, uint64_t members, driver *d) {
  attack a = {.full = tested->not_taken};
  for (int c = 0; c < CYCLES; c++)
    for (size_t i = 0; i < found->count; i++)
      a.hits[c] += tested_filter_query(tested, found->keys[i]);
  key_stream stream = stream_members(BENCH_SEED);
  drive_contains(d, tested->filter, &stream, members, BATCH, &a.missing);
  a.missing = members - a.missing;
  return a;
}

static uint64_t hits_from(const attack *a, int first) {
  uint64_t sum = 0;
  for (int c = first; c < CYCLES; c++) sum += a->hits[c];
  return sum;
}

/* ------------------------------------------------------------------ rekeying */

typedef struct member_source {
  uint64_t given, count;
  besom_u64_key key;
} member_source;

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  member_source *m = ctx;
  if (m->given == m->count) return BESOM_END;
  key_stream members = stream_members(BENCH_SEED);
  uint64_t number;
  members.generate(&members, m->given++, 1, &number);
  m->key = besom_u64(number);
  *key = (besom_bytes){.data = m->key.bytes, .len = sizeof m->key.bytes};
  return BESOM_OK;
}

static void rekey(tested_filter *tested, uint64_t members) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED + 1, seed);
  member_source m = {.count = members};
  besom_source source = {.next = next_member, .size_hint = members, .ctx = &m};
  check(besom_rekey(tested->own, &source, NULL, seed, NULL), "rekeying the filter");
  tested->not_taken = 0;
}

/* ------------------------------------------------------------------ the claim */

static void report_attack(report *numbers, const char *name, const filter_setup *s,
                          const char *stage, size_t collected, const attack *a,
                          const char *verdict) {
  report_cell(numbers, "%s", name);
  report_cell(numbers, "%llu", (unsigned long long)s->slots);
  report_cell(numbers, "%.2f", (double)s->members / (double)s->slots);
  report_cell(numbers, "%s", stage);
  report_cell(numbers, "%zu", collected);
  report_cell(numbers, "%llu", (unsigned long long)a->full);
  report_cell(numbers, "%llu", (unsigned long long)a->missing);
  report_cell(numbers, "%llu", (unsigned long long)a->hits[0]);
  report_cell(numbers, "%llu", (unsigned long long)a->hits[1]);
  report_cell(numbers, "%llu", (unsigned long long)hits_from(a, 2));
  report_cell(numbers, "%s", verdict);
}

static bool test_mode(adapt_mode mode, const filter_setup *s, uint64_t queries, driver *d,
                      report *numbers) {
  progress("%s at %llu slots", adapt_mode_names[mode], (unsigned long long)s->slots);
  tested_filter tested = tested_filter_create(mode, s, d);
  key_list found = collect(&tested, queries);
  attack a = cycle(&tested, &found, s->members, d);
  bool holds = a.missing == 0 && (mode == ADAPT_NEVER || hits_from(&a, 0) == 0);
  const char *verdict = mode == ADAPT_NEVER ? "-" : holds ? "yes" : "no";
  report_attack(numbers, adapt_mode_names[mode], s, "filled", found.count, &a, verdict);
  if (mode == ADAPT_EXCEPTIONS && a.full) { /* the new seed makes new false positives: once each */
    rekey(&tested, s->members);
    a = cycle(&tested, &found, s->members, d);
    a.full = tested.not_taken;
    bool clean = a.missing == 0 && (a.full || hits_from(&a, 1) == 0);
    report_attack(numbers, adapt_mode_names[mode], s, "rekeyed", found.count, &a,
                  clean ? "yes" : "no");
    holds &= clean;
  }
  key_list_free(&found);
  tested_filter_free(&tested);
  return holds;
}

static bool test_size(int log_slots, double share, double reserve, uint64_t queries, driver *d,
                      report *numbers) {
  uint64_t slots = (uint64_t)1 << log_slots;
  filter_setup s = {.slots = slots,
                    .members = (uint64_t)((double)slots * share),
                    .reserve = reserve,
                    .key_seed = BENCH_SEED,
                    .filter_seed = BENCH_SEED};
  bool holds = true;
  for (int mode = 0; mode < ADAPT_MODES; mode++)
    holds &= test_mode((adapt_mode)mode, &s, queries, d, numbers);
  return holds;
}

static findings run(bool full, report *numbers) {
  driver d = driver_create();
  findings found = {0};
  /* 38 queries per slot: more false positives than the default reserve can hold. */
  int small = full ? 18 : 16;
  uint64_t many = full ? 10000000 : 2500000;
  finding(&found, test_size(small, load, 0, many, &d, numbers));
  finding(&found, test_size(small, load_with_it, large_reserve, many, &d, numbers));
  finding(&found, test_size(full ? 22 : 20, load, 0, full ? 10000000 : 1000000, &d, numbers));
  if (full) finding(&found, test_size(26, load, 0, 10000000, &d, numbers));
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"filter",    "slots",          "load",    "stage",
                                      "collected", "reserve_full",   "missing", "cycle_1",
                                      "cycle_2",   "cycles_3_to_10", "holds"};

static const plot plots[] = {
    {.title = "Collected false positives that are false positives again in the first cycle",
     .x = "filter",
     .y = "collected,cycle_1",
     .panels = "slots",
     .where = "load=0.90,stage=filled",
     .x_label = "filter",
     .y_label = "keys",
     .bars = true},
    {0}};

const claim adversary_claim = {
    .name = "adversary",
    .title = "An adversary that replays false positives",
    .source = "adaptiveqf: Section 6.4",
    .paper = "An adversary that collects false positives and cycles through them makes filters "
             "that do not adapt useless, however large a cache is. It gains nothing against the "
             "AQF.",
    .statement = "no collected false positive of aqf is a false positive again in 10 cycles of "
                 "queries, also when its reserve is full; after a rekey at most once",
    .differs = "No database: the false positives of each of 10 cycles are counted, with 2^16 and "
               "2^20 slots (full: 2^18, 2^22 and 2^26). The smaller table gets more false "
               "positives than its default reserve of 5 % can hold, as any table does in the end. "
               "aqf also adapts without a store (aqf_exceptions).",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
