/*
 * Claim stacked-training: filters that know a part of the absent keys, from 10 to 80 %, always the
 * most popular ones: does the order of the filters by FPR depend on how much they know?
 */
#include <math.h>
#include <stdio.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/interval.h"
#include "kinds.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"

static const int percents[] = {10, 20, 50, 80};
enum { PERCENTS = sizeof percents / sizeof *percents, DEFAULT = 2 }; /* the paper's own: 50 */

static const double skew = 0.75, max_queries = 1e9, bits = 10;

enum { BLOOM, STACKED, LEARNED_PLAIN, SANDWICHED, FILTERS };
static const struct {
  const char *name, *kind, *options;
} filters[FILTERS] = {{"bloom", "bloom", NULL},
                      {"stacked", "stacked", "base=bloom"},
                      {"learned", "learned", "form=plain"},
                      {"sandwiched", "learned", "form=sandwiched"}};

typedef struct effort {
  size_t members, absent, seeds;
} effort;

static const effort quick = {.members = 10000, .absent = 20000, .seeds = 6};
static const effort thorough = {.members = 1000000, .absent = 10000000, .seeds = 6};

/* ------------------------------------------------------------------ measuring */

static void set_popularity(text_list *l) {
  l->weights = allocate(l->n, sizeof *l->weights);
  for (size_t i = 0; i < l->n; i++)
    l->weights[i] = (uint64_t)ceil(max_queries * pow((double)i + 1, -skew));
}

/* The share of the queries that are for the first n keys, in percent. */
static int share_of(const text_list *no, size_t n) {
  double known = 0, all = 0;
  for (size_t i = no->n; i--;) {
    all += (double)no->weights[i];
    if (i < n) known += (double)no->weights[i];
  }
  return (int)(100 * known / all);
}

static double rate_of(const besom_filter *f, const text_list *no) {
  double wrong = 0, all = 0;
  for (size_t i = 0; i < no->n; i++) {
    double queries = (double)no->weights[i];
    all += queries;
    if (besom_contains(f, no->lines[i].data, no->lines[i].len)) wrong += queries;
  }
  return wrong / all;
}

static double try_filter(int which, text_list *yes, text_list *no, size_t known, uint64_t seed) {
  uint8_t hash[16];
  char options[64];
  hash_seed(seed, hash);
  besom_config config = {.kind = filters[which].kind,
                         .options = filters[which].options,
                         .bits_per_key = bits,
                         .seed = hash};
  if (which == STACKED) {
    snprintf(options, sizeof options, "base=bloom,sampled=%d", share_of(no, known));
    config.options = options;
  }
  besom_source members = text_list_source(yes, yes->n), others = text_list_source(no, known);
  besom_filter *f;
  besom_input input = {.yes = &members, .no = which == BLOOM ? NULL : &others};
  check(besom_build(&config, &input, &f), "building %s", config.kind);
  double rate = rate_of(f, no);
  besom_free(f);
  return rate;
}

/* ------------------------------------------------------------------ reporting */

typedef struct outcome {
  samples rates[FILTERS];
} outcome;

/* 1 if filter a has more false positives than b, -1 if fewer, 0 if the intervals overlap. */
static int order_of(const outcome *o, int a, int b) {
  interval x = interval_of(&o->rates[a]), y = interval_of(&o->rates[b]);
  return x.low > y.high ? 1 : x.high < y.low ? -1 : 0;
}

/* Whether no pair of filters has the opposite order. */
static bool same_order(const outcome *o, const outcome *other) {
  bool same = true;
  for (int a = 0; a < FILTERS; a++)
    for (int b = 0; b < a; b++) same &= order_of(o, a, b) * order_of(other, a, b) >= 0;
  return same;
}

static void report_outcome(int percent, const outcome *o, bool same, report *numbers) {
  for (int i = 0; i < FILTERS; i++) {
    report_cell(numbers, "%d", percent);
    report_cell(numbers, "%s", filters[i].name);
    interval_report(interval_of(&o->rates[i]), numbers);
    report_cell(numbers, "%.2f",
                interval_of(&o->rates[BLOOM]).mean / interval_of(&o->rates[i]).mean);
    report_cell(numbers, "%s", same ? "yes" : "no");
  }
}

static void run_seed(const effort *e, uint64_t number, outcome outcomes[PERCENTS]) {
  uint64_t seed = random_at(BENCH_SEED, number);
  text_list yes = text_list_urls(e->members, true, seed),
            no = text_list_urls(e->absent, false, seed);
  set_popularity(&no);
  for (int p = 0; p < PERCENTS; p++)
    for (int i = 0; i < FILTERS; i++) {
      progress("%d %% known, seed %llu: %s", percents[p], (unsigned long long)number + 1,
               filters[i].name);
      samples_add(&outcomes[p].rates[i],
                  try_filter(i, &yes, &no, no.n * (size_t)percents[p] / 100, seed));
    }
  text_list_free(&yes);
  text_list_free(&no);
}

static findings run(bool full, report *numbers) {
  const effort *e = full ? &thorough : &quick;
  findings found = {0};
  outcome outcomes[PERCENTS] = {0};
  for (uint64_t i = 0; i < e->seeds; i++) run_seed(e, i, outcomes);
  for (int p = 0; p < PERCENTS; p++) {
    bool same = same_order(&outcomes[p], &outcomes[DEFAULT]);
    report_outcome(percents[p], &outcomes[p], same, numbers);
    if (p != DEFAULT) finding(&found, same);
  }
  for (int p = 0; p < PERCENTS; p++)
    for (int i = 0; i < FILTERS; i++) samples_free(&outcomes[p].rates[i]);
  return found;
}

static const char *const columns[] = {"known_percent", "filter", "fpr",       "low",
                                      "high",          "times",  "same_order"};

static const plot plots[] = {{.title = "FPR by how much of the absent keys is known",
                              .x = "known_percent",
                              .y = "fpr",
                              .series = "filter",
                              .x_label = "known part of the absent keys, %",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {0}};

const claim stacked_training_claim = {
    .name = "stacked-training",
    .title = "How much of the absent keys must be known",
    .source = "stacked-filters: Section 8",
    .paper = "Learned, sandwiched and stacked filters are given the more frequent half of the "
             "absent keys. With 10 to 80 % instead the relative results are the same.",
    .statement = "with 10, 20 and 80 % of the absent keys known no pair of filters has the "
                 "opposite order of false positives to that with 50 % (pairs whose 95 % intervals "
                 "over seeds overlap are equal)",
    .differs = "Synthetic URLs, 10,000 members and 20,000 absent keys, Zipf 0.75, 10 bits, 6 seeds "
               "(full: 10^6 members and 10^7 absent keys, as many as the paper has URLs; its 10^8 "
               "are integers). The classifier is linear, not a recurrent network.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
