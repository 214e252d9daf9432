/*
 * Claim growing: what is left of adaptations while a filter grows. An adversary has collected false
 * positives, all of which were reported. Then the number of keys grows eightfold, and the adversary
 * queries all of its keys after each doubling. A guard doubles its filter and moves the records; a
 * chain (scaling) adds layers; besom_resize doubles a table.
 */
#include "claims/claims.h"
#include "fail.h"
#include "harness/attacked_filter.h"
#include "harness/interval.h"
#include "workloads/key_list.h"

enum { DOUBLINGS = 3 };

static const double eps = 1.0 / 64;

typedef enum way { BY_GUARD, BY_LAYERS, BY_RESIZE } way;

static const struct {
  const char *name, *kind, *options;
  way way;
} filters[] = {{"aqf_guard", "aqf", NULL, BY_GUARD},
               {"aqf_published_guard", "aqf", "form=published", BY_GUARD},
               {"exaf_guard", "exaf", NULL, BY_GUARD},
               {"taf_guard", "taf", NULL, BY_GUARD},
               {"utaf_guard", "utaf", NULL, BY_GUARD},
               {"broom_guard", "broom", NULL, BY_GUARD},
               {"aqf_resize", "aqf", NULL, BY_RESIZE},
               {"aqf_layers", "scaling", "base=aqf", BY_LAYERS}};
enum { FILTERS = sizeof filters / sizeof *filters };

/* queries: for fresh keys, of all sizes together */
static const attack_effort quick = {.members = 4000, .queries = 20000, .seeds = 8};
static const attack_effort thorough = {.members = 200000, .queries = 1000000, .seeds = 8};

/* ------------------------------------------------------------------ a filter that grows */

static attacked_filter create(int which, uint64_t capacity, uint64_t seed) {
  uint8_t hash[16];
  hash_seed(seed, hash);
  besom_config config = {.kind = filters[which].kind,
                         .options = filters[which].options,
                         .capacity = capacity,
                         .fpr = eps,
                         .seed = hash};
  if (filters[which].way == BY_RESIZE) config.max_capacity = capacity << DOUBLINGS;
  besom_guard_config guard = {.rekey_at = 2};
  return attacked_create(&config, filters[which].way == BY_GUARD ? &guard : NULL);
}

/* Finishes a migration, so that all keys are in one filter. */
static void settle(attacked_filter *f) {
  bool finished = !f->guard;
  while (!finished) check(besom_guard_step(f->guard, 100000, &finished), "a step");
}

static double bits_per_key(const attacked_filter *f) {
  besom_statistics stats;
  check(besom_stats(f->guard ? besom_guard_filter(f->guard) : f->own, &stats), "statistics");
  return stats.bits_per_key;
}

/* ------------------------------------------------------------------ one run */

typedef struct outcome {
  samples again[DOUBLINGS + 1], fresh[DOUBLINGS + 1];
  double bits[DOUBLINGS + 1];
} outcome;

typedef struct attack {
  attacked_filter filter;
  key_stream members, absent;
  uint64_t inserted, queried;
  key_list known;
} attack;

static void insert_until(attack *a, uint64_t n) {
  attacked_insert(&a->filter, &a->members, a->inserted, n);
  a->inserted = n;
  settle(&a->filter);
}

static double query_known(attack *a) {
  uint64_t hits = 0;
  for (size_t i = 0; i < a->known.count; i++) hits += attacked_query(&a->filter, a->known.keys[i]);
  return (double)hits / (double)a->known.count;
}

static double query_fresh(attack *a, uint64_t n, bool keep) {
  uint64_t hits = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key;
    a->absent.generate(&a->absent, a->queried++, 1, &key);
    bool hit = attacked_query(&a->filter, key);
    if (hit && keep) key_list_add(&a->known, key);
    hits += hit;
  }
  return (double)hits / (double)n;
}

/* The reserve is not exhausted: as many false positives as 2 % of the keys. */
static void run_seed(int which, const attack_effort *e, uint64_t number, outcome *o) {
  uint64_t seed = random_at(BENCH_SEED, number);
  attack a = {.filter = create(which, e->members, seed),
              .members = stream_members(seed),
              .absent = stream_absent(seed)};
  insert_until(&a, e->members * 9 / 10);
  query_fresh(&a, (uint64_t)(0.02 * (double)e->members / eps), true);
  for (int d = 0; d <= DOUBLINGS; d++) {
    if (d) insert_until(&a, (e->members << d) * 9 / 10);
    samples_add(&o->again[d], query_known(&a));
    samples_add(&o->fresh[d], query_fresh(&a, e->queries / 4, false));
    o->bits[d] += bits_per_key(&a.filter) / (double)e->seeds;
  }
  key_list_free(&a.known);
  attacked_free(&a.filter);
}

static void test(int which, const attack_effort *e, findings *found, report *numbers) {
  outcome o = {0};
  for (uint64_t i = 0; i < e->seeds; i++) {
    progress("%s, seed %llu", filters[which].name, (unsigned long long)i + 1);
    run_seed(which, e, i, &o);
  }
  for (int d = 0; d <= DOUBLINGS; d++) {
    interval again = interval_of(&o.again[d]);
    bool holds = again.low <= eps;
    report_cell(numbers, "%s", filters[which].name);
    report_cell(numbers, "%d", 1 << d);
    interval_report(again, numbers);
    report_cell(numbers, "%.4g", interval_of(&o.fresh[d]).mean);
    report_cell(numbers, "%.2f", o.bits[d]);
    report_cell(numbers, "%s", holds ? "yes" : "no");
    finding(found, holds);
    samples_free(&o.again[d]);
    samples_free(&o.fresh[d]);
  }
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int which = 0; which < FILTERS; which++)
    test(which, full ? &thorough : &quick, &found, numbers);
  return found;
}

static const char *const columns[] = {"filter", "growth",    "again_fpr",    "low",
                                      "high",   "fresh_fpr", "bits_per_key", "at_most_eps"};

static const plot plots[] = {{.title = "Reported false positives while the set grows",
                              .x = "growth",
                              .y = "again_fpr",
                              .series = "filter",
                              .x_label = "keys, relative to the first capacity",
                              .y_label = "share of the reported keys that are false positives",
                              .log_x = true},
                             {.title = "Fresh keys while the set grows",
                              .x = "growth",
                              .y = "fresh_fpr",
                              .series = "filter",
                              .x_label = "keys, relative to the first capacity",
                              .y_label = "false positives per query",
                              .log_x = true},
                             {0}};

const claim growing_claim = {
    .name = "growing",
    .title = "What is left of adaptations while a filter grows",
    .source = "besom",
    .statement = "while the set grows eightfold, reported false positives are false positives "
                 "again with probability at most eps, as fresh keys are, for all kinds that grow "
                 "in front of a store, and for aqf without one (95 % intervals over seeds)",
    .differs = "eps = 1/64, 4000 keys at first, 8 seeds (full: 200,000 keys). At each size the "
               "adversary queries all its keys once; what is a false positive then is reported "
               "again. A guard never rekeys here.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
