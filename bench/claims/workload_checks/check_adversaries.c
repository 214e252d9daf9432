/*
 * Part of claim workloads: the adversaries. What they find depends on the filter; that they find it
 * does not.
 */
#include <math.h>
#include <stdio.h>

#include "claims/workload_checks/checks.h"
#include "workloads/loop_hunter.h"
#include "workloads/replay_adversary.h"
#include "workloads/round_adversary.h"

enum { RECORDED = 1000, CHOICES = 100000, MEMBERS = 2000, QUEUE = 20000, QUERIES = 60000 };

/* ------------------------------------------------------------------ replaying */

/*
 * Both continue where they were, and skip no key: the adversary in its list, the others in their
 * stream.
 */
static bool test_replay(double share, report *numbers) {
  replay_adversary r = {.absent = stream_absent(BENCH_SEED), .share = share};
  key_stream recorded = stream_members(BENCH_SEED);
  uint64_t key, seen[2] = {0};
  for (uint64_t i = 0; i < RECORDED; i++) {
    recorded.generate(&recorded, i, 1, &key);
    key_list_add(&r.found, key);
  }
  trial t = {
      .generator = "replay", .s = share, .universe = RECORDED, .samples = CHOICES, .right = true};
  for (uint64_t i = 0; i < CHOICES; i++) {
    uint64_t replayed_key = r.found.keys[seen[0] % RECORDED], fresh_key;
    r.absent.generate(&r.absent, seen[1], 1, &fresh_key);
    replay_adversary_choose(&r, 1, &key);
    t.right &= key == replayed_key || key == fresh_key;
    seen[key != replayed_key]++;
  }
  t.fit = fit_bins(seen, (double[2]){share * CHOICES, (1 - share) * CHOICES}, 2);
  replay_adversary_free(&r);
  return report_trial(numbers, &t);
}

/* ------------------------------------------------------------------ rounds */

static tested_filter create_plain(adapt_mode mode, driver *d) {
  filter_setup s = {.slots = MEMBERS * 10 / 8,
                    .members = MEMBERS,
                    .key_seed = BENCH_SEED,
                    .filter_seed = BENCH_SEED};
  return tested_filter_create(mode, &s, d);
}

/*
 * With a filter that never adapts every false positive stays; with aqf none stays after two rounds.
 */
static bool test_rounds(adapt_mode mode, driver *d, report *numbers) {
  tested_filter tested = create_plain(mode, d);
  key_stream absent = stream_absent(BENCH_SEED);
  round_adversary r = round_adversary_create(&absent, QUEUE);
  trial t = {.generator = "rounds", .s = -1, .universe = QUEUE, .remark = adapt_mode_names[mode]};
  double expected = tested_filter_stats(&tested).expected_fpr * QUEUE;
  round_adversary_run(&r, &tested);
  uint64_t left = r.n, hits = r.hits;
  if (mode == ADAPT_NEVER)
    t.fit = fit_bins((uint64_t[2]){left, QUEUE - left}, (double[2]){expected, QUEUE - expected}, 2);
  round_adversary_run(&r, &tested);
  t.right = left > 0 && r.before == left;
  t.right &= mode == ADAPT_NEVER ? hits == SUBROUNDS * left && r.n == left
                                 : hits < 2 * left && round_adversary_beaten(&r, MEMBERS);
  t.samples = (uint64_t)SUBROUNDS * (QUEUE + left);
  round_adversary_free(&r);
  tested_filter_free(&tested);
  return report_trial(numbers, &t);
}

/* ------------------------------------------------------------------ loops */

typedef struct hunted_filter {
  const char *kind;
  size_t shortest;     /* length of the shortest loop to be found; 0: none */
  bool has_stuck_keys; /* it does not adapt to some keys, or to any */
} hunted_filter;

/* Runs the best loop once more: it must err as often as reported. */
static bool test_hunt(const hunted_filter *p, tested_filter *tested, report *numbers) {
  enum { TIMES = 20 };
  key_stream absent = stream_absent(BENCH_SEED);
  hunt h = hunt_loops(tested, &absent, QUERIES);
  char remark[64];
  snprintf(remark, sizeof remark, "%s: %llu loops; best: %zu keys at %.2f", p->kind,
           (unsigned long long)h.loops, h.best.length, h.best.fpr);
  trial t = {
      .generator = "loops", .s = -1, .universe = MEMBERS, .samples = h.queries, .remark = remark};
  t.right = h.collected > 100 && h.best.length == p->shortest && (h.loops > 0) == (p->shortest > 0);
  t.right &= (h.best.fpr > 0.5) == (p->shortest > 0) && (h.stuck > 0) == p->has_stuck_keys;
  loop_replay(&h.best, tested, 1);
  double hits = (double)loop_replay(&h.best, tested, TIMES);
  t.right &= fabs(hits - h.best.fpr * TIMES * (double)h.best.length) <= 1;
  return report_trial(numbers, &t);
}

static bool test_hunts(driver *d, report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "acf-cyclic",
                         .options = "selector_bits=1",
                         .capacity = MEMBERS,
                         .fpr = 1.0 / 32,
                         .seed = seed};
  tested_filter cyclic = tested_filter_create_guard(&config, BENCH_SEED, MEMBERS);
  config.kind = "aqf";
  config.options = NULL;
  config.reserve = 0.5;
  tested_filter growing = tested_filter_create_guard(&config, BENCH_SEED, MEMBERS),
                never = create_plain(ADAPT_NEVER, d);
  bool holds = test_hunt(&(hunted_filter){"acf-cyclic", 2, true}, &cyclic, numbers);
  holds &= test_hunt(&(hunted_filter){"aqf", 0, false}, &growing, numbers);
  holds &= test_hunt(&(hunted_filter){"qf", 0, true}, &never, numbers);
  tested_filter_free(&cyclic);
  tested_filter_free(&growing);
  tested_filter_free(&never);
  return holds;
}

bool check_adversaries(report *numbers) {
  static const double replayed[] = {0, 0.01, 0.25, 1};
  driver d = driver_create();
  bool holds = true;
  for (size_t i = 0; i < sizeof replayed / sizeof *replayed; i++)
    holds &= test_replay(replayed[i], numbers);
  holds &= test_rounds(ADAPT_NEVER, &d, numbers);
  holds &= test_rounds(ADAPT_STORE, &d, numbers);
  holds &= test_hunts(&d, numbers);
  driver_free(&d);
  return holds;
}
