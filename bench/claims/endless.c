/*
 * Claim endless: a guard under an adversary that never stops. Half of the queries are for fresh
 * absent keys; the other half cycle through the last 4096 keys that were false positives. A guard
 * rekeys its filter when the reserve is used up, a few entries with every false positive. Measured:
 * the FPR over the second half of the queries, and the largest memory of the filters, of both
 * during a migration.
 */
#include <math.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/attacked_filter.h"
#include "harness/interval.h"

enum { KNOWN = 4096, STEP_ITEMS = 64 };

static const double eps = 1.0 / 64, tolerance = 1.05;

typedef enum way {
  NEVER,  /* a guard that does not adapt */
  FIXED,  /* a guard that adapts and never rekeys */
  REKEYS, /* a guard that adapts and rekeys */
  ALONE   /* a filter without a store, which is told of false positives */
} way;

/* max_exceptions: a reserve of 5 %, as the others have. */
static const struct {
  const char *name, *kind, *options;
  way way;
  double reserve;
  bool judged;
} guards[] = {{"aqf_published", "aqf", "form=published", REKEYS, 0.1, true},
              {"aqf", "aqf", NULL, REKEYS, 0, false},
              {"aqf_no_rekey", "aqf", NULL, FIXED, 0, false},
              {"aqf_never", "aqf", NULL, NEVER, 0, false},
              {"aqf_forget", "aqf", "forget=yes", ALONE, 0, false},
              {"cached", "cached", "base=qf,cache_bits=32768", ALONE, 0, false},
              {"exaf", "exaf", NULL, REKEYS, 0, false},
              {"exaf_no_rekey", "exaf", NULL, FIXED, 0, false},
              {"taf_published", "taf", "form=published", REKEYS, 0, false},
              {"taf", "taf", NULL, REKEYS, 0, false},
              {"taf_no_rekey", "taf", NULL, FIXED, 0, false},
              {"utaf", "utaf", NULL, FIXED, 0, false},
              {"broom", "broom", NULL, FIXED, 0, false},
              {"broom_published", "broom", "form=published", REKEYS, 0, false},
              {"acf_cyclic", "acf-cyclic", NULL, FIXED, 0, false},
              {"acf_swapping", "acf-swapping", NULL, FIXED, 0, false},
              {"acf_cuckooing", "acf-cuckooing", NULL, FIXED, 0, false}};
enum { GUARDS = sizeof guards / sizeof *guards };

static const attack_effort quick = {.members = 4000, .queries = 200000, .seeds = 3};
static const attack_effort thorough = {.members = 100000, .queries = 5000000, .seeds = 8};

/* ------------------------------------------------------------------ the filter under attack */

typedef struct target {
  attacked_filter filter;
  uint64_t most_bytes;
} target;

static target target_create(int which, uint64_t members, uint64_t seed) {
  uint8_t hash[16];
  way by = guards[which].way;
  hash_seed(seed, hash);
  besom_config config = {.kind = guards[which].kind,
                         .options = guards[which].options,
                         .capacity = members,
                         .fpr = eps,
                         .reserve = guards[which].reserve,
                         .seed = hash};
  besom_guard_config guard = {.adapt = by == NEVER ? BESOM_ADAPT_NEVER : BESOM_ADAPT_ALWAYS,
                              .grow_at = 1,
                              .rekey_at = by == REKEYS ? 1 : 2};
  key_stream keys = stream_members(seed);
  target t = {.filter = attacked_create(&config, by == ALONE ? NULL : &guard)};
  attacked_insert(&t.filter, &keys, 0, members);
  return t;
}

/* Queries an absent key. A guard that has a false positive migrates some entries. */
static bool query(target *t, uint64_t key) {
  if (!attacked_query(&t->filter, key)) return false;
  if (t->filter.guard) check(besom_guard_step(t->filter.guard, STEP_ITEMS, NULL), "a step");
  uint64_t bytes = attacked_bytes(&t->filter);
  if (bytes > t->most_bytes) t->most_bytes = bytes;
  return true;
}

/* ------------------------------------------------------------------ the attack */

typedef struct attack {
  uint64_t known[KNOWN], found, turn; /* a ring of false positives */
} attack;

static void remember(attack *a, uint64_t key) {
  a->known[a->found++ % KNOWN] = key;
}

typedef struct tally {
  samples rates, replayed, bits;
  double rekeys, migrated;
} tally;

static void run_seed(int which, const attack_effort *e, uint64_t number, tally *all,
                     findings *found) {
  uint64_t seed = random_at(BENCH_SEED, number), hits = 0, replay_hits = 0, replays = 0;
  target t = target_create(which, e->members, seed);
  key_stream absent = stream_absent(seed);
  attack a = {.found = 0};
  for (uint64_t i = 0; i < e->queries; i++) {
    bool replay = i % 2 && a.found, counts = 2 * i >= e->queries;
    uint64_t known = a.found < KNOWN ? a.found : KNOWN, key;
    if (replay)
      key = a.known[a.turn++ % known];
    else
      absent.generate(&absent, i, 1, &key);
    bool hit = query(&t, key);
    if (hit && !replay) remember(&a, key);
    hits += hit && counts;
    replay_hits += hit && counts && replay;
    replays += counts && replay;
  }
  samples_add(&all->rates, 2 * (double)hits / (double)e->queries);
  if (guards[which].judged)
    add_factor(found, "aqf-rekeying-eps-k", eps * (double)e->queries / 2 / fmax((double)hits, 1));
  samples_add(&all->replayed, replays ? (double)replay_hits / (double)replays : 0);
  samples_add(&all->bits, 8 * (double)t.most_bytes / (double)e->members);
  if (t.filter.guard) {
    besom_guard_statistics stats = attacked_guard_stats(&t.filter);
    all->rekeys += (double)stats.rekeys / (double)e->seeds;
    all->migrated += (double)stats.step_items / (double)e->seeds;
  }
  attacked_free(&t.filter);
}

/* ------------------------------------------------------------------ reporting */

static void test_guard(int which, const attack_effort *e, findings *found, report *numbers) {
  tally t = {.rekeys = 0};
  progress("%s", guards[which].name);
  for (uint64_t i = 0; i < e->seeds; i++) run_seed(which, e, i, &t, found);
  interval rate = interval_of(&t.rates);
  report_cell(numbers, "%s", guards[which].name);
  interval_report(rate, numbers);
  report_cell(numbers, "%.3f", rate.mean / eps);
  report_cell(numbers, "%.4g", interval_of(&t.replayed).mean);
  report_cell(numbers, "%.2f", interval_of(&t.bits).mean);
  report_cell(numbers, "%.1f", t.rekeys);
  report_cell(numbers, "%.3f", t.migrated / (double)e->queries);
  bool holds = rate.low <= tolerance * eps;
  report_cell(numbers, "%s", holds ? "yes" : "no");
  if (guards[which].judged) finding(found, holds);
  samples_free(&t.rates);
  samples_free(&t.replayed);
  samples_free(&t.bits);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int which = 0; which < GUARDS; which++)
    test_guard(which, full ? &thorough : &quick, &found, numbers);
  return found;
}

static const char *const columns[] = {"filter",    "fpr",         "low",
                                      "high",      "fpr_per_eps", "replayed_fpr",
                                      "most_bits", "rekeys",      "migrated_per_query",
                                      "sustained"};

static const plot plots[] = {{.title = "Sustained false-positive rate under an endless adversary",
                              .x = "filter",
                              .y = "fpr_per_eps",
                              .x_label = "filter",
                              .y_label = "false positives per query / eps",
                              .log_y = true,
                              .bars = true},
                             {.title = "Memory of the filter, at most",
                              .x = "filter",
                              .y = "most_bits",
                              .x_label = "filter",
                              .y_label = "bits per key",
                              .bars = true},
                             {0}};

const claim endless_claim = {
    .name = "endless",
    .title = "A guard under an endless adversary",
    .source = "adaptiveqf: Section 4.4",
    .paper = "The filter is built a tenth larger than necessary and rebuilt with a new hash "
             "function when adaptations have used up the extra space. So its space stays "
             "constant, and of any k queries about eps k are false positives.",
    .statement = "while an adversary makes half of the queries, and these repeat the last 4096 "
                 "false positives, aqf in its published form with rekeying has an FPR of at most "
                 "1.05 eps over the second half of the queries (the 95 % interval reaches it)",
    .differs =
        "eps = 1/64, 4000 keys, 200,000 queries, 3 seeds (full: 10^5, 5 * 10^6, 8). The guard "
        "migrates 64 entries with every false positive. The other kinds are not judged. "
        "aqf_forget and cached have no store: they are told of false positives, keep a "
        "bounded number of them, and never rekey. acf kinds cannot rekey.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
