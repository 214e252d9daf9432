/*
 * Claim growing: what is left of adaptations while a filter grows. An adversary has collected false
 * positives, all of which were reported. Then the number of keys grows eightfold, and the adversary
 * queries all of its keys after each doubling. A guard doubles its filter and moves the records; a
 * chain (scaling) adds layers; besom_resize doubles a table.
 */
#include <math.h>
#include <string.h>

#include "besom_guard.h"
#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/interval.h"
#include "workloads/key_list.h"
#include "workloads/key_stream.h"

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
enum { FILTERS = sizeof filters / sizeof *filters, IS_RESIZE = 6, IS_LAYERS = 7 };

typedef struct effort {
  uint64_t members, probes, seeds;
} effort;

static const effort quick = {.members = 4000, .probes = 20000, .seeds = 8};
static const effort thorough = {.members = 500000, .probes = 2000000, .seeds = 10};

/* ------------------------------------------------------------------ a filter that grows */

typedef struct target {
  besom_guard *guard; /* BY_GUARD */
  besom_filter *own;  /* else */
  way way;
} target;

static target target_create(int which, uint64_t capacity, uint64_t seed) {
  uint8_t hash[16];
  hash_seed(seed, hash);
  besom_config config = {.kind = filters[which].kind,
                         .options = filters[which].options,
                         .capacity = capacity,
                         .fpr = eps,
                         .seed = hash};
  if (filters[which].way == BY_RESIZE) config.max_capacity = capacity << DOUBLINGS;
  target t = {.way = filters[which].way};
  if (t.way != BY_GUARD) {
    check(besom_create(&config, &t.own), "creating %s", config.kind);
    return t;
  }
  besom_store *store;
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&(besom_guard_config){.filter = &config, .rekey_at = 2}, store, &t.guard),
        "opening a guard");
  return t;
}

static void insert(target *t, uint64_t key) {
  if (t->guard) {
    check(besom_guard_put_u64(t->guard, key, NULL, 0, BESOM_PUT_NEW), "storing a key");
    return;
  }
  besom_status status = besom_insert_u64(t->own, key);
  if (status == BESOM_FULL && t->way == BY_RESIZE) {
    besom_statistics stats;
    check(besom_stats(t->own, &stats), "statistics");
    check(besom_resize(t->own, 2 * stats.slots, NULL), "doubling a filter");
    status = besom_insert_u64(t->own, key);
  }
  check(status, "inserting a key");
}

/* Finishes a migration, so that all keys are in one filter. */
static void settle(target *t) {
  bool finished = !t->guard;
  while (!finished) check(besom_guard_step(t->guard, 100000, &finished), "a step");
}

/* Queries an absent key, and reports it if it is a false positive. */
static bool query(target *t, uint64_t key) {
  const besom_filter *f = t->guard ? besom_guard_filter(t->guard) : t->own;
  if (!besom_contains_u64(f, key)) return false;
  if (t->guard) {
    besom_status status = besom_guard_get_u64(t->guard, key, NULL);
    if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
    return true;
  }
  besom_status status = besom_adapt_u64(t->own, key);
  if (status != BESOM_RESERVE_FULL && status != BESOM_EVICTED) check(status, "adapting");
  return true;
}

static double bits_per_key(const target *t) {
  besom_statistics stats;
  check(besom_stats(t->guard ? besom_guard_filter(t->guard) : t->own, &stats), "statistics");
  return stats.bits_per_key;
}

/* ------------------------------------------------------------------ one run */

typedef struct outcome {
  samples again[DOUBLINGS + 1], fresh[DOUBLINGS + 1];
  double bits[DOUBLINGS + 1];
} outcome;

typedef struct attack {
  target t;
  key_stream members, absent;
  uint64_t inserted, queried;
  key_list known;
} attack;

static void insert_until(attack *a, uint64_t n) {
  for (; a->inserted < n; a->inserted++) {
    uint64_t key;
    a->members.generate(&a->members, a->inserted, 1, &key);
    insert(&a->t, key);
  }
  settle(&a->t);
}

static double query_known(attack *a) {
  uint64_t hits = 0;
  for (size_t i = 0; i < a->known.count; i++) hits += query(&a->t, a->known.keys[i]);
  return (double)hits / (double)a->known.count;
}

static double query_fresh(attack *a, uint64_t n, bool keep) {
  uint64_t hits = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key;
    a->absent.generate(&a->absent, a->queried++, 1, &key);
    bool hit = query(&a->t, key);
    if (hit && keep) key_list_add(&a->known, key);
    hits += hit;
  }
  return (double)hits / (double)n;
}

/* The reserve is not exhausted: as many false positives as 2 % of the keys. */
static void run_seed(int which, const effort *e, uint64_t number, outcome *o) {
  uint64_t seed = random_at(BENCH_SEED, number);
  attack a = {.t = target_create(which, e->members, seed),
              .members = stream_members(seed),
              .absent = stream_absent(seed)};
  insert_until(&a, e->members * 9 / 10);
  query_fresh(&a, (uint64_t)(0.02 * (double)e->members / eps), true);
  for (int d = 0; d <= DOUBLINGS; d++) {
    if (d) insert_until(&a, (e->members << d) * 9 / 10);
    samples_add(&o->again[d], query_known(&a));
    samples_add(&o->fresh[d], query_fresh(&a, e->probes / 4, false));
    o->bits[d] += bits_per_key(&a.t) / (double)e->seeds;
  }
  key_list_free(&a.known);
  check(besom_guard_close(a.t.guard), "closing a guard");
  besom_free(a.t.own);
}

static void test(int which, const effort *e, findings *found, report *numbers) {
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
    .differs = "eps = 1/64, 4000 keys at first, 8 seeds (full: 500,000 and 10). At each size the "
               "adversary queries all its keys once; what is a false positive then is reported "
               "again. A guard never rekeys here.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
