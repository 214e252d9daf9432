/*
 * Claim learned: keys that show by their letters whether they are members, and what a filter makes of that, beside one
 * that does not look at them, from 6 to 14 bits a member. Non-members are asked by Zipf's law; only the more popular
 * half of them is known when the filter is built.
 *
 * Addresses that are made up, and, in the full run, the lists of bench/fetch_data.sh.
 */
#include <math.h>
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/timing.h"
#include "kinds.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"

enum { LEAST_BITS = 6, MOST_BITS = 14 };

static const char *const yes_path = "data/lists/yes.txt", *const no_path = "data/lists/no.txt";
static const double skew = 0.75, max_queries = 1e9;

/*
 * The first is what the others are measured against. A stack knows keys and not their letters: it is told what share of
 * the queries the keys of its sample have, and is judged by all queries.
 */
static const struct {
  const char *kind, *options;
  bool knows_keys;
} subjects[] = {{"bloom", NULL, false},
                {"stacked", "listed=84", true},
                {"learned", "form=plain", false},
                {"learned", "form=sandwiched", false}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ------------------------------------------------------------------ lists */

/* A random order, which is that of popularity, and how often each is asked. */
static void set_popularity(text_list *l) {
  l->weights = allocate(l->n, sizeof *l->weights);
  for (size_t i = l->n; i > 1; i--) {
    size_t k = (size_t)random_below(random_at(BENCH_SEED, i), i);
    besom_bytes line = l->lines[i - 1];
    l->lines[i - 1] = l->lines[k];
    l->lines[k] = line;
  }
  for (size_t i = 0; i < l->n; i++)
    l->weights[i] = (uint64_t)ceil(max_queries * pow((double)i + 1, -skew));
}

/* Both lists are there, and no others are asked for. */
typedef struct lists {
  const char *name;
  text_list yes, no;
} lists;

static lists lists_made_up(bool full) {
  return (lists){"made-up", text_list_urls(full ? 1000000 : 50000, true, BENCH_SEED),
                 text_list_urls(full ? 2000000 : 100000, false, BENCH_SEED)};
}

static lists lists_fetched(void) {
  return (lists){"fetched", text_list_read(yes_path), text_list_read(no_path)};
}

/* ------------------------------------------------------------------ filters */

typedef struct outcome {
  double bits, fpr, unseen_rate, build_seconds, query_nanoseconds;
} outcome;

/* All non-members, each as often as it is asked; and those that were not known, each once. */
static void ask(const besom_filter *f, const text_list *no, outcome *o) {
  double asked = 0, wrong = 0, unseen_wrong = 0, start = cpu_seconds();
  size_t half = no->n / 2;
  for (size_t i = 0; i < no->n; i++) {
    bool yes = besom_contains(f, no->lines[i].data, no->lines[i].len);
    asked += (double)no->weights[i];
    wrong += yes ? (double)no->weights[i] : 0;
    unseen_wrong += yes && i >= half;
  }
  o->query_nanoseconds = (cpu_seconds() - start) / (double)no->n * 1e9;
  o->fpr = wrong / asked;
  o->unseen_rate = unseen_wrong / (double)(no->n - half);
}

static outcome try_subject(size_t s, double bits, text_list *yes, text_list *no) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {
      .kind = subjects[s].kind, .options = subjects[s].options, .bits = bits, .seed = seed};
  besom_source members = text_list_source(yes, yes->n), others = text_list_source(no, no->n / 2);
  besom_filter *f;
  outcome o = {.build_seconds = -cpu_seconds()};
  check(besom_build(&config, &members,
                    kind_named(config.kind)->abilities & BESOM_TAKES_SAMPLE ? &others : NULL, NULL,
                    &f),
        "building %s", config.kind);
  o.build_seconds += cpu_seconds();
  for (size_t i = 0; i < yes->n; i++)
    if (!besom_contains(f, yes->lines[i].data, yes->lines[i].len))
      fail("%s denies a member", config.kind);
  ask(f, no, &o);
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", config.kind);
  o.bits = 8 * (double)stats.bytes / (double)yes->n;
  besom_free(f);
  return o;
}

static void show(const lists *l, int bits, size_t s, const outcome *o, report *numbers) {
  report_cell(numbers, "%s", l->name);
  report_cell(numbers, "%zu", l->yes.n);
  report_cell(numbers, "%d", bits);
  report_cell(numbers, "%s", subjects[s].kind);
  report_cell(numbers, "%s", subjects[s].options ? subjects[s].options : "-");
  report_cell(numbers, "%.2f", o->bits);
  report_cell(numbers, "%.6f", o->fpr);
  report_cell(numbers, "%.6f", o->unseen_rate);
  report_cell(numbers, "%.2f", o->build_seconds);
  report_cell(numbers, "%.0f", o->query_nanoseconds);
}

/*
 * By the keys that were not known: one very popular key that is a false positive says little about a filter. But a
 * stack knows those.
 */
static bool is_no_worse(size_t s, const outcome *o, const outcome *first, double keys) {
  if (subjects[s].knows_keys) return o->fpr <= first->fpr;
  double wrong = o->unseen_rate * keys, of_first = first->unseen_rate * keys;
  return wrong <= 1.1 * of_first + 3 * sqrt(of_first);
}

static void try_lists(lists *l, bool full, findings *found, report *numbers) {
  set_popularity(&l->no);
  for (int bits = LEAST_BITS; bits <= MOST_BITS; bits += full ? 2 : 4) {
    outcome first = {0};
    for (size_t s = 0; s < SUBJECTS; s++) {
      progress("%s, %d bits, %s", l->name, bits, subjects[s].kind);
      outcome o = try_subject(s, bits, &l->yes, &l->no);
      if (s == 0) first = o;
      if (s > 0)
        finding(found, is_no_worse(s, &o, &first, (double)l->no.n / 2) && o.bits <= 1.01 * bits);
      show(l, bits, s, &o, numbers);
    }
  }
  text_list_free(&l->yes);
  text_list_free(&l->no);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  if (full) {
    lists fetched = lists_fetched();
    try_lists(&fetched, full, &found, numbers);
  }
  lists made_up = lists_made_up(full);
  try_lists(&made_up, full, &found, numbers);
  return found;
}

static const char *const columns[] = {"lists", "members", "budget", "kind",    "options",
                                      "bits",  "rate",    "unseen", "build_s", "query_ns"};

static const plot plots[] = {{.title = "All queries (as Figure 3a)",
                              .x = "budget",
                              .y = "rate",
                              .series = "kind,options",
                              .panels = "lists",
                              .x_label = "bits a member",
                              .y_label = "false positives a query",
                              .log_y = true},
                             {.title = "Keys that were not known when the filter was built",
                              .x = "budget",
                              .y = "unseen",
                              .series = "kind,options",
                              .panels = "lists",
                              .x_label = "bits a member",
                              .y_label = "false positives a key",
                              .log_y = true},
                             {0}};

const claim learned_claim = {
    .name = "learned",
    .source = "stacked-filters: Figure 3",
    .paper = "On addresses of web pages, where keys show what they are, learned filters, "
             "sandwiched ones and stacks "
             "err less than a Bloom filter of the same memory, stacks least at most sizes (3a).",
    .statement = "of keys that show what they are, neither a learned filter nor a stack errs more "
                 "than a Bloom filter",
    .differs = "Shalla's lists and Open PageRank are not to be had: addresses are made up, 10^6 "
               "members (quick 5 * "
               "10^4) and twice as many others; the full run has phishing and malware domains "
               "against names of "
               "packages, too (bench/fetch_data.sh). The model is linear, not a recurrent network.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
