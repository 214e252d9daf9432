/* besom advise: finds the kind of filter for a workload by replaying a query log through each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advice.h"
#include "bar.h"
#include "build_line.h"
#include "config_text.h"
#include "fail.h"
#include "json.h"
#include "kinds.h"
#include "lists/keys.h"
#include "number_text.h"
#include "page.h"
#include "plan_text.h"
#include "report.h"
#include "seed.h"
#include "verb.h"

static struct {
  words set, queries;
  double fpr, bits, read_cost, updates, hostile;
  uint64_t memory, runs;
  const char *seed, *html;
  bool json, plan, deletes, all;
  key_form form;
} given = {.read_cost = 100, .memory = 1 << 20};

static const argument arguments[] = {
    {"--set", "FILE", "keys of the set; may be repeated", .list = &given.set},
    {"--queries", "LOG", "queried keys, in the order of the queries; may be repeated",
     .list = &given.queries},
    {"--bits", "BITS", "memory of every filter, in bits per key", .real = &given.bits, .least = 1,
     .most = 1000},
    {"--fpr", "RATE",
     "instead of --bits: the memory of an aqf with this false-positive rate; default 1/256",
     .rate = &given.fpr, .least = 1e-12, .most = 0.5},
    {"--read-cost", "US", "time of one store read, in microseconds; default 100",
     .real = &given.read_cost, .most = 1e9},
    {"--updates", "RATE", "the set changes: new keys per query, such as 0.01 or 1/100",
     .rate = &given.updates, .most = 1},
    {"--deletes", NULL, "with --updates: keys are deleted, too", .flag = &given.deletes},
    {"--hostile", "SHARE",
     "share of the queries that come from a client who repeats what costs a read, such as 10%",
     .rate = &given.hostile, .most = 0.95},
    {"--memory", "BYTES",
     "memory at hand: an exact hash set is advised if it fits; default 1048576",
     .count = &given.memory, .most = 1e18},
    {"--runs", "N", "replays per kind, with different seeds; default 5, above a million queries 3",
     .count = &given.runs, .least = 1, .most = MAX_RUNS},
    {"--html", "FILE", "also write an HTML page with the table and a chart", .text = &given.html},
    {"--seed", "HEX", "seed of the hash, 32 hex digits; the same seed gives the same counts",
     .text = &given.seed},
    {"--all", NULL, "print all rows of the table; default: the best five", .flag = &given.all},
    JSON_ARGUMENT(given.json),
    {"--plan", NULL, "also print the plan of a stacked filter for the first half of the log",
     .flag = &given.plan},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command advise_command = {
    .usage = "advise --set FILE --queries LOG [options]",
    .about =
        "Replays a query log without a filter, with an exact hash set, and with every kind of "
        "filter in front of the set; ranks them by the total time of filter and store; and "
        "recommends one, with the command that builds it. Or it says that a filter is not worth "
        "it. All filters have the same memory. The first half of the log is for training; the "
        "second half is measured.\n\n"
        "Every yes, right or wrong, costs one store read. A wasted read is a false positive. Every "
        "kind is replayed several times with different seeds; a rank with = is a tie: the times "
        "overlap, or differ by less than 1 %.\n\n"
        "Kinds that adapt with the stored keys run in front of a store in memory (besom_guard). "
        "Kinds that are built with a no list get the absent keys of the first half. With "
        "--updates, new keys are inserted during the replay, and static kinds are not ranked; "
        "with --deletes, keys are deleted, too. With --hostile, an adversary sends further "
        "queries: it repeats those that cost a read.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .examples = "  besom advise --set members.txt --queries log.txt --read-cost 80\n"
                "  besom advise --set members.txt --queries log.txt --updates 1/100 --deletes\n"
                "  besom advise --set members.txt --queries log.txt --hostile 10%",
};

static const char *const adaptation_names[] = {[ADAPTS_NEVER] = "never",
                                               [ADAPTS_FROM_NO_LIST] = "from no list",
                                               [ADAPTS_ON_REPORT] = "on report",
                                               [ADAPTS_WITH_STORE] = "with store"};

/* ------------------------------------------------------------------ input */

static uint32_t read_set(key_index *keys) {
  key_form form = given.form;
  form.is_list = true;
  key_reader *r = keys_open(given.set, &form);
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
    if (*n == allocated) queries = reallocate(queries, allocated *= 2, sizeof *queries);
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

/* The memory of every filter, in bits per key. */
static double common_bits_per_key(uint64_t capacity) {
  if (given.bits) return given.bits;
  besom_config config = {.kind = "aqf", .capacity = capacity, .fpr = given.fpr};
  besom_filter *f;
  besom_statistics stats;
  char text[CONFIG_TEXT_SIZE];
  if (explain_config(&config, text) != BESOM_OK) usage_error("%s", text);
  check(besom_create(&config, &f), "an aqf with this false-positive rate");
  check(besom_stats(f, &stats), "statistics");
  besom_free(f);
  double bits_per_key = 8 * (double)stats.bytes / (double)capacity;
  if (bits_per_key > 1024) /* the most that filters are made with */
    fail("so few keys need no filter: keep the keys themselves, for example in a hash set");
  return bits_per_key;
}

/* All contenders. They run one after the other and share a progress bar. */
typedef struct contender_list {
  contender *at;
  size_t n, runs_done, runs;
} contender_list;

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  const contender_list *list = ctx;
  bar_tick(list->runs_done * total + done, list->runs * total);
  return true;
}

static const char *why_unfit(const candidate *c, const query_log *log) {
  if (log->updates > 0 && !takes_inserts(c)) return "static";
  if (log->deletes && !takes_deletes(c)) return "no deletes";
  if (log->hostile > 0 && is_open_to_attack(c)) return "attackable";
  return NULL;
}

static void add_contender(contender_list *list, const query_log *log, candidate what) {
  list->at[list->n++] = (contender){.candidate = what, .unfit = why_unfit(&what, log)};
}

static contender_list list_contenders(const query_log *log) {
  contender_list list = {0};
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  list.at = allocate(2 * kinds + 2, sizeof *list.at);
  add_contender(&list, log, (candidate){.form = NO_FILTER, .kind = "no filter"});
  add_contender(&list, log, (candidate){.form = EXACT_SET, .kind = "exact hash set"});
  for (size_t i = 0; i < kinds; i++) {
    adaptation ways[MAX_ADAPTATIONS];
    size_t n = kind_adaptations(besom_kinds(i), ways);
    for (size_t k = 0; k < n; k++)
      add_contender(&list, log, (candidate){FILTER, besom_kinds(i)->name, ways[k]});
  }
  list.runs = list.n * given.runs;
  return list;
}

/* Why there is no such filter. */
static void explain_skipped(const contender *c, const query_log *log, double bits_per_key,
                            char text[CONFIG_TEXT_SIZE]) {
  besom_config config = {
      .kind = c->candidate.kind, .capacity = log->members, .bits_per_key = bits_per_key};
  if (c->status == BESOM_INVALID && explain_config(&config, text) != BESOM_OK) return;
  snprintf(text, CONFIG_TEXT_SIZE, "%s",
           c->status == BESOM_INVALID ? "impossible with this many bits per key"
           : c->status == BESOM_FULL  ? "its table is full before all keys are in"
                                      : besom_strerror(c->status));
}

static void print_skipped(const contender *c, const query_log *log, double bits_per_key) {
  char text[CONFIG_TEXT_SIZE];
  explain_skipped(c, log, bits_per_key, text);
  fprintf(stderr, "skipped: %s (adapts %s): %s\n", c->candidate.kind,
          adaptation_names[c->candidate.adaptation], text);
}

/* The text, without --all, says how many. */
static void print_all_skipped(const contender_list *list, const query_log *log,
                              double bits_per_key) {
  bool each = given.all || given.json;
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++) {
    if (list->at[i].status == BESOM_OK) continue;
    n++;
    if (each) print_skipped(&list->at[i], log, bits_per_key);
  }
  if (n && !each) fprintf(stderr, "%zu skipped: --all says why\n", n);
}

/* The seed of a replay: the first has the given one. NULL: a random seed. */
static const uint8_t *seed_of_run(uint8_t seed[SEED_BYTES], size_t run) {
  if (!seed_read(given.seed, seed)) return NULL;
  seed[0] ^= (uint8_t)run;
  return seed;
}

static void run_contender(contender_list *list, contender *c, const query_log *log,
                          double bits_per_key) {
  besom_progress progress = {.tick = tick, .ctx = list};
  uint8_t seed[SEED_BYTES];
  for (; c->run_count < given.runs && c->status == BESOM_OK; c->run_count++, list->runs_done++) {
    outcome *o = &c->runs[c->run_count];
    replay_run(&c->candidate, log, bits_per_key, seed_of_run(seed, c->run_count), &progress, o);
    c->status = o->status;
  }
  if (c->status == BESOM_OK) contender_sum_up(c, given.read_cost);
}

/* Runs all contenders and ranks them. Returns the number of those that did not fail. */
static size_t run_all(contender_list *list, const query_log *log, double bits_per_key) {
  bar_begin("replaying the log", "queries");
  for (size_t i = 0; i < list->n; i++) {
    list->runs_done = i * given.runs;
    run_contender(list, &list->at[i], log, bits_per_key);
  }
  bar_end();
  print_all_skipped(list, log, bits_per_key);
  size_t valid = ranking_sort(list->at, list->n);
  if (!ranking_find(list->at, valid, FILTER, NULL))
    fail("no kind of filter works with %.3g bits per key: try more --bits", bits_per_key);
  return valid;
}

/* ------------------------------------------------------------------ output */

/* What was replayed. */
typedef struct replayed {
  const query_log *log;
  const contender *at;
  size_t n;
  double bits_per_key;
  char about[500];
} replayed;

static bool has_tabs(const query_log *log) {
  for (uint32_t i = 0; i < log->members; i++) {
    besom_bytes key = key_index_key(log->keys, i);
    if (memchr(key.data, '\t', key.len)) return true;
  }
  return false;
}

static char *command_line(const contender *c, const replayed *r) {
  const query_log *log = r->log;
  const candidate *k = &c->candidate;
  bool exact_on_no_list = kind_named(k->kind)->abilities & BESOM_CAN_BUILD_NO,
       has_store = k->adaptation == ADAPTS_WITH_STORE;
  build_plan plan = {
      .kind = k->kind,
      .adaptation = k->adaptation,
      .hash = log->hostile > 0 && !has_store ? "sip" : NULL,
      /* With the whole log as its no list it is larger than with the first half. */
      .by_fpr = has_store || (k->adaptation == ADAPTS_FROM_NO_LIST && exact_on_no_list),
      .bits_per_key = r->bits_per_key,
      .fpr = c->runs[0].fpr,
      .capacity = has_store || (log->updates > 0 && !c->unfit) ? log_capacity(log) : 0,
      .has_tabs = has_store && has_tabs(log),
      .set = given.set,
      .queries = given.queries,
      .form = &given.form};
  return build_line(&plan);
}

static const char *const columns[] = {"filter",      "rank",         "total seconds",
                                      "store reads", "wasted reads", "bits per key",
                                      "adapts",      "repeats",      "ns per query"};

static const char *rank_text(const contender *c, char text[16]) {
  if (c->unfit) return c->unfit;
  snprintf(text, 16, "%u%s", c->rank, c->tied ? "=" : "");
  return text;
}

/* The first n candidates. */
static report *make_table(const replayed *r, size_t n) {
  report *table = report_create(columns, COUNT_OF(columns), false);
  char text[16];
  for (const contender *c = r->at; c < r->at + n; c++) {
    report_cell(table, "%s", c->candidate.kind);
    report_cell(table, "%s", rank_text(c, text));
    report_cell(table, "%.4g", c->seconds);
    report_cell(table, "%s", grouped((uint64_t)(c->store_reads + 0.5)).text);
    report_cell(table, "%s", grouped((uint64_t)(c->false_positives + 0.5)).text);
    report_cell(table, "%.2f", c->bits_per_key);
    report_cell(table, "%s", adaptation_names[c->candidate.adaptation]);
    report_cell(table, "%s", grouped((uint64_t)(c->repeats + 0.5)).text);
    report_cell(table, "%.0f", c->ns_per_query);
  }
  return table;
}

static void print_contender_json(json *j, const contender *c, const replayed *r) {
  json_open(j, NULL, '{');
  json_count(j, "rank", c->rank);
  json_flag(j, "tied", c->tied);
  json_text(j, "kind", c->candidate.form == FILTER ? c->candidate.kind : NULL);
  json_text(j, "name", c->candidate.kind);
  json_text(j, "adapts",
            c->candidate.form == FILTER ? adaptation_names[c->candidate.adaptation] : NULL);
  json_text(j, "unfit", c->unfit);
  json_count(j, "bytes", c->runs[0].bytes);
  json_real(j, "bits_per_key", c->bits_per_key);
  json_real(j, "store_reads", c->store_reads);
  json_real(j, "false_positives", c->false_positives);
  json_real(j, "repeat_false_positives", c->repeats);
  json_real(j, "ns_per_query", c->ns_per_query);
  json_real(j, "seconds", c->seconds);
  json_real(j, "least_seconds", c->least_seconds);
  json_real(j, "most_seconds", c->most_seconds);
  char *line = c->candidate.form == FILTER ? command_line(c, r) : NULL;
  json_text(j, "command", line);
  free(line);
  json_close(j);
}

static const char *const verdict_names[] = {
    [USE_FILTER] = "filter", [USE_EXACT_SET] = "exact hash set", [USE_NOTHING] = "no filter"};

static void print_json(const replayed *r, const advice *a) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_count(&j, "keys", r->log->members);
  json_count(&j, "queries", r->log->total - r->log->training);
  json_count(&j, "positive_queries", log_positive_queries(r->log));
  json_real(&j, "read_cost_us", given.read_cost);
  json_real(&j, "updates", r->log->updates);
  json_flag(&j, "deletes", r->log->deletes);
  json_real(&j, "hostile", r->log->hostile);
  json_count(&j, "runs", given.runs);
  json_text(&j, "verdict", verdict_names[a->verdict]);
  json_text(&j, "kind", a->verdict == USE_FILTER ? a->best->candidate.kind : NULL);
  json_text(&j, "advice", a->text);
  char *line = a->verdict == USE_FILTER ? command_line(a->best, r) : NULL;
  json_text(&j, "command", line);
  free(line);
  json_open(&j, "candidates", '[');
  for (size_t i = 0; i < r->n; i++) print_contender_json(&j, &r->at[i], r);
  json_close(&j);
  json_close(&j);
}

static void print_text(const replayed *r, const advice *a) {
  enum { ROWS = 5 };
  size_t rows = given.all || r->n < ROWS ? r->n : ROWS;
  report_finish(make_table(r, rows));
  if (rows < r->n) printf("%zu more: --all\n", r->n - rows);
  printf("\n");
  arguments_print_filled(a->text, 0);
  if (a->verdict != USE_FILTER) return;
  char *line = command_line(a->best, r);
  printf("\nBuild it:\n  %s\n", line);
  free(line);
}

/* The recommended kind first, then the filters in the order of the table. */
static size_t list_curves(const replayed *r, const advice *a, curve *curves,
                          char (*names)[CONTENDER_NAME_SIZE]) {
  enum { SHOWN = 5 };
  const contender *first =
      a->verdict == USE_FILTER ? a->best : ranking_find(r->at, r->n, EXACT_SET, NULL);
  size_t n = 0;
  if (a->verdict != USE_NOTHING) {
    contender_name(first, names[0]);
    strncat(names[0], " (recommended)", CONTENDER_NAME_SIZE - strlen(names[0]) - 1);
    curves[n++] = (curve){names[0], first->curve, true};
  }
  for (const contender *c = r->at; c < r->at + r->n; c++) {
    if (c->candidate.form != FILTER || (n && c == first)) continue;
    curves[n] = (curve){contender_name(c, names[n]), c->curve, c->rank && n < SHOWN};
    n++;
  }
  return n;
}

static void write_page(const replayed *r, const advice *a) {
  report *table = make_table(r, r->n);
  curve *curves = allocate(r->n, sizeof *curves);
  char(*names)[CONTENDER_NAME_SIZE] = allocate(r->n, sizeof *names);
  size_t n = list_curves(r, a, curves, names);
  chart wasted = {.x_name = "measured queries",
                  .y_name = "wasted reads so far",
                  .x_most = (double)r->at[0].runs[0].queries,
                  .points = CURVE_POINTS,
                  .curves = curves,
                  .curve_count = n};
  page *p = page_create("Filters for this workload");
  page_text(p, "%s", a->text);
  if (a->verdict == USE_FILTER) {
    char *line = command_line(a->best, r);
    page_text(p, "Build it:");
    page_code(p, line);
    free(line);
  }
  page_heading(p, "Wasted reads");
  page_text(p,
            "False positives over the measured queries, means of the replays. The best filters are "
            "selected.");
  page_chart(p, &wasted);
  page_heading(p, "All candidates");
  page_text(p, "%s", r->about);
  page_table(p, table);
  page_finish(p, given.html);
  report_free(table);
  free(names);
  free(curves);
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

static void check_options(void) {
  if (!given.set.n) usage_error("--set is missing: a file with the keys of the set");
  if (!given.queries.n) usage_error("--queries is missing: a file with the queried keys");
  if (given.json && given.plan)
    usage_error("--json and --plan exclude each other: give one of them");
  if (given.fpr && given.bits) usage_error("--fpr and --bits exclude each other: give one of them");
  if (given.deletes && !given.updates) usage_error("--deletes needs --updates");
}

static void describe(replayed *r) {
  const query_log *log = r->log;
  size_t measured = log->total - log->training;
  int len = snprintf(r->about, sizeof r->about,
                     "%s keys, %.2f bits per key; %s queries measured, %s of them for members; a "
                     "store read takes %g us",
                     grouped(log->members).text, r->bits_per_key, grouped(measured).text,
                     grouped(log_positive_queries(log)).text, given.read_cost);
  if (log->updates > 0)
    len += snprintf(r->about + len, sizeof r->about - (size_t)len, "; %g new keys per query%s",
                    log->updates, log->deletes ? ", as many deleted" : "");
  if (log->hostile > 0)
    len += snprintf(r->about + len, sizeof r->about - (size_t)len,
                    "; %g %% of the queries are hostile", 100 * log->hostile);
  snprintf(r->about + len, sizeof r->about - (size_t)len, "; means of %llu replay%s.",
           (unsigned long long)given.runs, given.runs == 1 ? "" : "s");
}

static void print_results(const replayed *r) {
  advice a = advice_find(r->at, r->n, r->log, given.memory, given.read_cost);
  fprintf(stderr, "%s\n", r->about);
  if (given.json)
    print_json(r, &a);
  else
    print_text(r, &a);
  if (given.html) write_page(r, &a);
}

static int run(words args) {
  (void)args;
  check_options();
  key_index *keys = key_index_create();
  query_log log = {.keys = keys,
                   .members = read_set(keys),
                   .updates = given.updates,
                   .deletes = given.deletes,
                   .hostile = given.hostile};
  uint32_t *queries = read_queries(keys, &log.total);
  log.queries = queries;
  if (!given.runs) given.runs = log.total > 1000000 ? 3 : 5;
  log.training = log.total / 2;
  replayed r = {.log = &log, .bits_per_key = common_bits_per_key(log_capacity(&log))};
  contender_list list = list_contenders(&log);
  r.at = list.at;
  r.n = run_all(&list, &log, r.bits_per_key);
  describe(&r);
  print_results(&r);
  if (given.plan) print_plan(&log, r.bits_per_key);
  free(list.at);
  free(queries);
  key_index_free(keys);
  return 0;
}

const verb advise_verb = {"advise", "find the kind of filter for a workload", &advise_command, run};
