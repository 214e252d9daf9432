/*
 * Claim learned: keys whose text shows whether they are members. Filters that learn from the text
 * are compared with filters that do not, at 6 to 14 bits per member. Absent keys are queried by
 * Zipf popularity. Only the more popular half of them is known when the filter is built.
 *
 * The keys are synthetic URLs and, in the full run, the lists of bench/fetch_data.sh.
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

enum { MIN_BITS = 6, MAX_BITS = 14 };

static const char *const yes_path = "data/lists/yes.txt", *const no_path = "data/lists/no.txt";
static const double skew = 0.75, max_queries = 1e9;

/*
 * The first one is the baseline. A stacked filter knows keys and not their text: it is told the
 * share of the queries that the keys of its sample have, and is judged by all queries.
 */
static const struct {
  const char *kind, *options;
  bool knows_keys;
} filters[] = {{"bloom", NULL, false},
               {"stacked", "base=bloom,sampled=84", true},
               {"learned", "form=plain", false},
               {"learned", "form=sandwiched", false}};
enum { FILTERS = sizeof filters / sizeof *filters };

/* ------------------------------------------------------------------ lists */

/* Shuffles the keys; the new order is the popularity. Sets the number of queries per key. */
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

/* No other keys are queried. */
typedef struct lists {
  const char *name;
  text_list yes, no;
} lists;

static lists lists_synthetic(bool full) {
  return (lists){"synthetic", text_list_urls(full ? 1000000 : 50000, true, BENCH_SEED),
                 text_list_urls(full ? 10000000 : 100000, false, BENCH_SEED)};
}

static lists lists_fetched(void) {
  return (lists){"fetched", text_list_read(yes_path), text_list_read(no_path)};
}

/* ------------------------------------------------------------------ filters */

typedef struct outcome {
  double bits, fpr, unseen_rate, build_seconds, query_nanoseconds;
} outcome;

/* Queries all absent keys, weighted by their queries; and the unknown ones, each once. */
static void measure_fpr(const besom_filter *f, const text_list *no, outcome *o) {
  double queried = 0, wrong = 0, unseen_wrong = 0, start = cpu_seconds();
  size_t half = no->n / 2;
  for (size_t i = 0; i < no->n; i++) {
    bool yes = besom_contains(f, no->lines[i].data, no->lines[i].len);
    queried += (double)no->weights[i];
    wrong += yes ? (double)no->weights[i] : 0;
    unseen_wrong += yes && i >= half;
  }
  o->query_nanoseconds = (cpu_seconds() - start) / (double)no->n * 1e9;
  o->fpr = wrong / queried;
  o->unseen_rate = unseen_wrong / (double)(no->n - half);
}

static outcome try_filter(size_t s, double bits, text_list *yes, text_list *no) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {
      .kind = filters[s].kind, .options = filters[s].options, .bits_per_key = bits, .seed = seed};
  besom_source members = text_list_source(yes, yes->n), others = text_list_source(no, no->n / 2);
  besom_filter *f;
  outcome o = {.build_seconds = -cpu_seconds()};
  bool takes_sample = kind_named(config.kind)->abilities & BESOM_TAKES_SAMPLE;
  besom_input input = {.yes = &members, .no = takes_sample ? &others : NULL};
  check(besom_build(&config, &input, &f), "building %s", config.kind);
  o.build_seconds += cpu_seconds();
  for (size_t i = 0; i < yes->n; i++)
    if (!besom_contains(f, yes->lines[i].data, yes->lines[i].len))
      fail("%s answers no to a member", config.kind);
  measure_fpr(f, no, &o);
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
  report_cell(numbers, "%s", filters[s].kind);
  const char *options = filters[s].options ? filters[s].options : "-";
  report_cell(numbers, "%.*s", (int)strcspn(options, ","), options);
  report_cell(numbers, "%.2f", o->bits);
  report_cell(numbers, "%.6f", o->fpr);
  report_cell(numbers, "%.6f", o->unseen_rate);
  report_cell(numbers, "%.2f", o->build_seconds);
  report_cell(numbers, "%.0f", o->query_nanoseconds);
}

/*
 * Judged by the keys that were not known: a single very popular key that is a false positive says
 * little about a filter. A stacked filter knows the popular keys, so it is judged by all queries.
 */
static bool is_not_worse(size_t s, const outcome *o, const outcome *first, double keys) {
  if (filters[s].knows_keys) return o->fpr <= first->fpr;
  double wrong = o->unseen_rate * keys, of_first = first->unseen_rate * keys;
  return wrong <= 1.1 * of_first + 3 * sqrt(of_first);
}

static void try_lists(lists *l, bool full, findings *found, report *numbers) {
  set_popularity(&l->no);
  for (int bits = MIN_BITS; bits <= MAX_BITS; bits += full ? 2 : 4) {
    outcome first = {0};
    for (size_t s = 0; s < FILTERS; s++) {
      progress("%s, %d bits, %s", l->name, bits, filters[s].kind);
      outcome o = try_filter(s, bits, &l->yes, &l->no);
      if (s == 0) first = o;
      if (s > 0)
        finding(found, is_not_worse(s, &o, &first, (double)l->no.n / 2) && o.bits <= 1.01 * bits);
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
  lists synthetic = lists_synthetic(full);
  try_lists(&synthetic, full, &found, numbers);
  return found;
}

static const char *const columns[] = {"lists", "members", "budget",     "kind",    "options",
                                      "bits",  "fpr",     "unseen_fpr", "build_s", "query_ns"};

static const plot plots[] = {{.title = "All queries (as Figure 3a)",
                              .x = "budget",
                              .y = "fpr",
                              .series = "kind,options",
                              .panels = "lists",
                              .x_label = "bits per member",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {.title = "Keys that were not known when the filter was built",
                              .x = "budget",
                              .y = "unseen_fpr",
                              .series = "kind,options",
                              .panels = "lists",
                              .x_label = "bits per member",
                              .y_label = "false positives per key",
                              .log_y = true},
                             {0}};

const claim learned_claim = {
    .name = "learned",
    .title = "Stacked against learned filters on URLs",
    .source = "stacked-filters: Figure 3",
    .paper = "On URLs, where the text of a key shows what it is, learned filters, sandwiched "
             "ones and stacked filters have a lower FPR than a Bloom filter of the same memory; "
             "stacked filters have the lowest at most sizes (3a).",
    .statement = "on keys whose text shows what they are, neither a learned filter nor a stacked "
                 "filter has a higher FPR than a Bloom filter",
    .differs = "Shalla's lists and Open PageRank are not available: the URLs are synthetic, 10^6 "
               "members and 10^7 absent keys, as many as the paper has URLs (quick 5 * 10^4 and "
               "10^5); the full run also has phishing and malware domains against package names "
               "(bench/fetch_data.sh). Layers are Bloom filters, as in the paper. The model is "
               "linear, not a "
               "recurrent network.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 5,
    .run = run,
};
