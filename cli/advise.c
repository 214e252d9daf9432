/* besom advise: finds the kind of filter for a workload by replaying a query log through each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "config_text.h"
#include "fail.h"
#include "keys.h"
#include "kinds.h"
#include "page.h"
#include "plan_text.h"
#include "replay.h"
#include "report.h"
#include "seed.h"
#include "verb.h"

static struct {
  words set, queries;
  double fpr, bits, read_cost;
  const char *seed, *html;
  bool json, plan;
  key_form form;
} given = {.read_cost = 100};

static const argument arguments[] = {
    {"--set", "FILE", "keys of the set; may be repeated", .list = &given.set},
    {"--queries", "LOG", "queried keys, in the order of the queries; may be repeated",
     .list = &given.queries},
    {"--bits", "BITS", "memory of every filter, in bits per key", .real = &given.bits, .least = 1,
     .most = 1000},
    {"--fpr", "RATE",
     "instead of --bits: the memory of an aqf with this false-positive rate; default 1/256",
     .real = &given.fpr, .least = 1e-12, .most = 0.5},
    {"--read-cost", "US", "time of one store read, in microseconds; default 100",
     .real = &given.read_cost, .most = 1e9},
    {"--html", "FILE", "also write an HTML page with the table and a chart of the store reads",
     .text = &given.html},
    {"--seed", "HEX", "seed of the hash, 32 hex digits; the same seed gives the same counts",
     .text = &given.seed},
    {"--json", NULL, "print one JSON object per line", .flag = &given.json},
    {"--plan", NULL, "also print the plan of a stacked filter for the first half of the log",
     .flag = &given.plan},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command advise_command = {
    .usage = "advise --set FILE --queries LOG [options]",
    .about =
        "Replays a query log through every kind of filter in front of the set, all with the same "
        "memory, and ranks the kinds by the total time of filter and store. The first half of the "
        "log is for training; the second half is measured.\n\n"
        "Every yes of a filter, right or wrong, costs one store read. A repeat is a false positive "
        "for a key that was a false positive before. Kinds that adapt with the stored keys run in "
        "front of a store in memory (besom_guard). Kinds that are built with a no list get the "
        "absent keys of the first half.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .examples = "  besom advise --set members.txt --queries log.txt --read-cost 80",
};

static const char *const adaptation_names[] = {[ADAPTS_NEVER] = "never",
                                               [ADAPTS_ON_REPORT] = "on report",
                                               [ADAPTS_FROM_NO_LIST] = "from no list",
                                               [ADAPTS_WITH_STORE] = "with store"};

/* How to use a filter that adapts in this way. */
static const char *const adaptation_advice[] = {
    [ADAPTS_NEVER] = "as it is",
    [ADAPTS_ON_REPORT] = "with its false positives reported (besom fix, besom_adapt)",
    [ADAPTS_FROM_NO_LIST] = "built with a no list of queried absent keys (besom build --no)",
    [ADAPTS_WITH_STORE] = "in front of the stored keys (besom db, besom_guard)"};

/* ------------------------------------------------------------------ input */

static uint32_t read_set(key_index *keys) {
  key_reader *r = keys_open(given.set, &given.form);
  besom_bytes key;
  for (bar_begin("reading the set", "bytes"); keys_next(r, &key); keys_tick(r))
    key_index_add(keys, key);
  bar_end();
  keys_close(r);
  if (!key_index_count(keys)) fail("%s: no keys in this file", given.set.at[0]);
  return key_index_count(keys);
}

static uint32_t *read_queries(key_index *keys, size_t *n) {
  key_reader *r = keys_open(given.queries, &given.form);
  size_t allocated = 1024;
  uint32_t *queries = allocate(allocated, sizeof *queries);
  besom_bytes key;
  *n = 0;
  for (bar_begin("reading the log", "bytes"); keys_next(r, &key); keys_tick(r)) {
    if (*n == allocated) queries = realloc(queries, (allocated *= 2) * sizeof *queries);
    if (!queries) fail("out of memory: %zu queries", allocated);
    queries[(*n)++] = key_index_add(keys, key);
  }
  bar_end();
  keys_close(r);
  if (*n < 2)
    fail("%s: too few queries: advise needs at least one for training and one to measure",
         given.queries.at[0]);
  return queries;
}

/* ------------------------------------------------------------------ replay */

/* Like config_text, in the words of this verb. With --fpr the bits per key are no option. */
static besom_status explain_config(const besom_config *config, char text[CONFIG_TEXT_SIZE]) {
  const option_name names[] = {{"fpr", "--fpr"},
                               {"bits_per_key", given.bits ? "--bits" : "bits per key"}};
  return config_text(config, names, COUNT_OF(names), text);
}

/* The memory of every candidate, in bits per key. */
static double common_bits_per_key(uint32_t members) {
  if (given.bits) return given.bits;
  besom_config config = {.kind = "aqf", .capacity = members, .fpr = given.fpr};
  besom_filter *f;
  besom_statistics stats;
  char text[CONFIG_TEXT_SIZE];
  if (explain_config(&config, text) != BESOM_OK) usage_error("%s", text);
  check(besom_create(&config, &f), "an aqf with this false-positive rate");
  check(besom_stats(f, &stats), "statistics");
  besom_free(f);
  return 8 * (double)stats.bytes / members;
}

/* All kinds in all their ways to adapt. They run one after the other and share a progress bar. */
typedef struct candidate_list {
  candidate *at;
  size_t n, done;
} candidate_list;

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  const candidate_list *list = ctx;
  bar_tick(list->done * total + done, list->n * total);
  return true;
}

static candidate_list list_candidates(void) {
  candidate_list list = {0};
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  list.at = allocate(2 * kinds, sizeof *list.at);
  for (size_t i = 0; i < kinds; i++) {
    adaptation ways[2];
    size_t n = kind_adaptations(besom_kinds(i), ways);
    for (size_t k = 0; k < n; k++)
      list.at[list.n++] = (candidate){.kind = besom_kinds(i)->name, .adaptation = ways[k]};
  }
  return list;
}

/* Why there is no such filter. */
static void explain_skipped(const candidate *c, const query_log *log, double bits_per_key,
                            char text[CONFIG_TEXT_SIZE]) {
  besom_config config = {.kind = c->kind, .capacity = log->members, .bits_per_key = bits_per_key};
  if (c->status == BESOM_INVALID && explain_config(&config, text) != BESOM_OK) return;
  snprintf(text, CONFIG_TEXT_SIZE, "%s",
           c->status == BESOM_INVALID ? "impossible with this many bits per key"
           : c->status == BESOM_FULL  ? "its table is full before all keys are in"
                                      : besom_strerror(c->status));
}

static void print_skipped(const candidate_list *list, const query_log *log, double bits_per_key) {
  char text[CONFIG_TEXT_SIZE];
  for (const candidate *c = list->at; c < list->at + list->n; c++)
    if (c->status) {
      explain_skipped(c, log, bits_per_key, text);
      fprintf(stderr, "skipped: %s (adapts %s): %s\n", c->kind, adaptation_names[c->adaptation],
              text);
    }
}

static double total_seconds(const candidate *c, size_t queries) {
  return 1e-6 * given.read_cost * (double)c->store_reads + 1e-9 * c->ns_per_query * (double)queries;
}

static size_t measured; /* queries; a global because qsort passes no context */

static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (!x->status != !y->status) return x->status ? 1 : -1;
  double difference = total_seconds(x, measured) - total_seconds(y, measured);
  return difference < 0 ? -1 : difference > 0;
}

/* Runs all candidates and sorts them, the best first and failed ones last. Returns the number of
 * those that did not fail. */
static size_t run_candidates(candidate_list *list, const query_log *log, double bits_per_key) {
  uint8_t seed_bytes[SEED_BYTES];
  const uint8_t *seed = seed_read(given.seed, seed_bytes);
  besom_progress progress = {.tick = tick, .ctx = list};
  bar_begin("replaying the log", "queries");
  for (; list->done < list->n; list->done++)
    replay_run(&list->at[list->done], log, bits_per_key, seed, &progress);
  bar_end();
  print_skipped(list, log, bits_per_key);
  measured = log->total - log->training;
  qsort(list->at, list->n, sizeof *list->at, compare_candidates);
  size_t ranked = 0;
  while (ranked < list->n && !list->at[ranked].status) ranked++;
  if (!ranked)
    fail("no kind of filter works with %.3g bits per key: try more --bits", bits_per_key);
  return ranked;
}

/* ------------------------------------------------------------------ output */

static const char *const columns[] = {"kind",         "adapts",          "bits per key",
                                      "store reads",  "false positives", "repeats",
                                      "ns per query", "seconds"};

static report *make_table(const candidate *ranked, size_t n) {
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (const candidate *c = ranked; c < ranked + n; c++) {
    report_cell(r, "%s", c->kind);
    report_cell(r, "%s", adaptation_names[c->adaptation]);
    report_cell(r, "%.2f", c->bits_per_key);
    report_cell(r, "%llu", (unsigned long long)c->store_reads);
    report_cell(r, "%llu", (unsigned long long)c->false_positives);
    report_cell(r, "%llu", (unsigned long long)c->repeat_false_positives);
    report_cell(r, "%.0f", c->ns_per_query);
    report_cell(r, "%.4g", total_seconds(c, measured));
  }
  return r;
}

static void print_json(const candidate *c, size_t rank) {
  printf("{\"rank\":%zu,\"kind\":\"%s\",\"adapts\":\"%s\",\"bits_per_key\":%.4f,"
         "\"store_reads\":%llu,\"false_positives\":%llu,\"repeat_false_positives\":%llu,"
         "\"ns_per_query\":%.1f,\"seconds\":%.6g}\n",
         rank, c->kind, adaptation_names[c->adaptation], c->bits_per_key,
         (unsigned long long)c->store_reads, (unsigned long long)c->false_positives,
         (unsigned long long)c->repeat_false_positives, c->ns_per_query,
         total_seconds(c, measured));
}

/* The advice compares the best candidate with a Bloom filter, or else with the worst candidate. */
static const candidate *baseline(const candidate *ranked, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(ranked[i].kind, "bloom") == 0) return &ranked[i];
  return &ranked[n - 1];
}

/* Is the set of this kind fixed when the filter is built? */
static bool is_static(const candidate *c) {
  return !(kind_named(c->kind)->abilities & (BESOM_CAN_INSERT | BESOM_CAN_MATCH));
}

enum { ADVICE_SIZE = 512 };

static void write_advice(char advice[ADVICE_SIZE], const candidate *ranked, size_t n) {
  const candidate *best = ranked, *other = baseline(ranked, n), *dynamic = ranked;
  double gain = total_seconds(other, measured) / total_seconds(best, measured);
  if (gain < 1.05 || (best->store_reads >= other->store_reads && gain < 2)) {
    snprintf(
        advice, ADVICE_SIZE,
        "The kinds hardly differ on this workload: the best one, %s, saves %.0f %% of the time "
        "of %s. Use the simplest.",
        best->kind, 100 - 100 / gain, other->kind);
    return;
  }
  int len = snprintf(advice, ADVICE_SIZE,
                     "Use %s, %s: %.4g s and %llu store reads; %s takes %.4g s and %llu.",
                     best->kind, adaptation_advice[best->adaptation], total_seconds(best, measured),
                     (unsigned long long)best->store_reads, other->kind,
                     total_seconds(other, measured), (unsigned long long)other->store_reads);
  while (dynamic + 1 < ranked + n && is_static(dynamic)) dynamic++;
  if (dynamic != best)
    snprintf(advice + len, ADVICE_SIZE - (size_t)len,
             " %s is static: if the set changes, use %s, %s (%.4g s).", best->kind, dynamic->kind,
             adaptation_advice[dynamic->adaptation], total_seconds(dynamic, measured));
}

static void write_page(const candidate *ranked, size_t n, const report *table, const char *about,
                       const char *advice) {
  curve *curves = allocate(n, sizeof *curves);
  char(*names)[64] = allocate(n, sizeof *names);
  for (size_t i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "%s%s", ranked[i].kind,
             ranked[i].adaptation == ADAPTS_WITH_STORE ? " with store" : "");
    curves[i] = (curve){names[i], ranked[i].curve};
  }
  chart c = {.x_name = "measured queries",
             .y_name = "store reads so far",
             .x_most = (double)measured,
             .points = CURVE_POINTS,
             .curves = curves,
             .curve_count = n};
  page *p = page_create("Filters for this workload");
  page_text(p, "%s", about);
  page_text(p, "%s", advice);
  page_chart(p, &c);
  page_table(p, table);
  page_finish(p, given.html);
  free(names);
  free(curves);
}

static void print_results(const candidate *ranked, size_t n, const char *about) {
  char advice[ADVICE_SIZE];
  write_advice(advice, ranked, n);
  report *table = make_table(ranked, n);
  if (!given.json) report_print(table), printf("\n%s\n", advice);
  for (size_t i = 0; given.json && i < n; i++) print_json(&ranked[i], i + 1);
  if (given.html) write_page(ranked, n, table, about, advice);
  report_free(table);
}

/* The stacked filter that besom_build would make from the training queries. */
static void print_plan(const query_log *log, double bits_per_key) {
  besom_workload *absent;
  besom_stack_plan plan;
  check(besom_workload_create(0, NULL, &absent), "planning");
  for (size_t i = 0; i < log->training; i++) {
    besom_bytes key = key_index_key(log->keys, log->queries[i]);
    if (log->queries[i] >= log->members)
      check(besom_workload_add(absent, key.data, key.len, 1), "planning");
  }
  besom_config config = {.kind = "stacked", .bits_per_key = bits_per_key};
  check(besom_plan(&config, log->members, absent, NULL, &plan),
        "planning a stacked filter of %.3g bits per key", bits_per_key);
  besom_workload_free(absent);
  printf("\nThe plan of a stacked filter:\n");
  plan_text_print(stdout, &plan);
}

static int run(words args) {
  (void)args;
  if (!given.set.n) usage_error("--set is missing: a file with the keys of the set");
  if (!given.queries.n) usage_error("--queries is missing: a file with the queried keys");
  if (given.json && given.plan)
    usage_error("--json and --plan exclude each other: give one of them");
  if (given.fpr && given.bits) usage_error("--fpr and --bits exclude each other: give one of them");
  key_index *keys = key_index_create();
  query_log log = {.keys = keys, .members = read_set(keys)};
  uint32_t *queries = read_queries(keys, &log.total);
  log.queries = queries;
  log.training = log.total / 2;
  double bits_per_key = common_bits_per_key(log.members);
  candidate_list list = list_candidates();
  size_t ranked = run_candidates(&list, &log, bits_per_key);
  char about[300];
  snprintf(about, sizeof about,
           "%u keys, %.2f bits per key; %zu queries measured, %llu of them for members; a store "
           "read takes %g us.",
           log.members, bits_per_key, measured, (unsigned long long)log_positive_queries(&log),
           given.read_cost);
  fprintf(stderr, "%s\n", about);
  print_results(list.at, ranked, about);
  if (given.plan) print_plan(&log, bits_per_key);
  free(list.at);
  free(queries);
  key_index_free(keys);
  return 0;
}

const verb advise_verb = {"advise", "find the kind of filter for a workload", &advise_command, run};
