/* besom advise: which kind of filter suits a workload, found out by trying all of them on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "fail.h"
#include "keys.h"
#include "kinds.h"
#include "page.h"
#include "report.h"
#include "seed.h"
#include "trial.h"
#include "verb.h"

static struct {
  words set, queries;
  double fpr, bits, cost;
  const char *seed, *html;
  bool json;
  key_form form;
} given = {.cost = 100};

static const argument arguments[] = {
    {"--set", "FILE", "keys of the set; may be given again", .list = &given.set},
    {"--queries", "LOG", "keys that were asked for, in their order; may be given again",
     .list = &given.queries},
    {"--bits", "BITS", "memory of every filter: bits a key", .real = &given.bits, .least = 1,
     .most = 1000},
    {"--fpr", "RATE", "instead: as much as an aqf of this rate takes; default 1/256",
     .real = &given.fpr, .least = 1e-12, .most = 0.5},
    {"--cost-read", "US", "microseconds that a read of the store takes; default 100",
     .real = &given.cost, .most = 1e9},
    {"--html", "FILE", "write a page with the table and curves of the reads", .text = &given.html},
    {"--seed", "HEX", "32 hex digits: the key of the hash, for the same counts again",
     .text = &given.seed},
    {"--json", NULL, "for programs", .flag = &given.json},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command advise_command = {
    .usage = "advise --set FILE --queries LOG [options]",
    .about = "Sends a log of queries through every kind of filter in front of the set, all with "
             "the same memory, and\n"
             "ranks them by the time that filter and store would have taken. The first half of the "
             "log is there to\n"
             "learn from, the second half counts. A store read is a yes of the filter, right or "
             "wrong; repeated are\n"
             "false positives of keys that were one before. Kinds that learn from the store stand "
             "in front of one in\n"
             "memory (besom_guard); those that are built with a no list get what the first half "
             "asked in "
             "vain.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .more = "  besom advise --set members.txt --queries log.txt --cost-read 80 --html advice.html",
};

static const char *const way_names[] = {"never", "when told", "from the log", "from the store"};

/* How to get a filter that learns so. */
static const char *const way_advice[] = {
    "as it is", "told of its false positives (besom fix, besom_adapt)",
    "built with a no list of what was asked in vain (besom build --no)",
    "in front of the stored keys (besom db, besom_guard)"};

/* ------------------------------------------------------------------ the log */

static uint32_t read_set(numbered *keys) {
  key_reader *r = keys_open(given.set, &given.form);
  besom_bytes key;
  for (bar_begin("reading the set", "bytes"); keys_next(r, &key); keys_tick(r))
    numbered_add(keys, key);
  bar_end();
  keys_close(r);
  if (!numbered_count(keys)) fail("%s: there is no key in it", given.set.at[0]);
  return numbered_count(keys);
}

static uint32_t *read_queries(numbered *keys, size_t *n) {
  key_reader *r = keys_open(given.queries, &given.form);
  size_t room = 1024;
  uint32_t *queries = allocate(room, sizeof *queries);
  besom_bytes key;
  *n = 0;
  for (bar_begin("reading the log", "bytes"); keys_next(r, &key); keys_tick(r)) {
    if (*n == room) queries = realloc(queries, (room *= 2) * sizeof *queries);
    if (!queries) fail("no memory for %zu queries", room);
    queries[(*n)++] = numbered_add(keys, key);
  }
  bar_end();
  keys_close(r);
  if (*n < 2)
    fail("%s: too few queries to learn from some and count the others", given.queries.at[0]);
  return queries;
}

/* ------------------------------------------------------------------ the trials */

/* The memory that everyone gets, in bits a key. */
static double bits_of_all(uint32_t members) {
  if (given.bits) return given.bits;
  besom_config config = {.kind = "aqf", .capacity = members, .fpr = given.fpr};
  besom_filter *f;
  besom_statistics stats;
  check(besom_create(&config, &f), "an aqf of that rate");
  check(besom_stats(f, &stats), "statistics");
  besom_free(f);
  return 8 * (double)stats.bytes / members;
}

/* All kinds in all their ways, one after the other, behind one bar. */
typedef struct contest {
  trial *trials;
  size_t n, done;
} contest;

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  const contest *c = ctx;
  bar_tick(c->done * total + done, c->n * total);
  return true;
}

static contest list_trials(void) {
  contest c = {0};
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  c.trials = allocate(2 * kinds, sizeof *c.trials);
  for (size_t i = 0; i < kinds; i++) {
    learning ways[2];
    size_t n = trial_ways(besom_kinds(i), ways);
    for (size_t k = 0; k < n; k++)
      c.trials[c.n++] = (trial){.kind = besom_kinds(i)->name, .way = ways[k]};
  }
  return c;
}

static void tell_left_out(const contest *c) {
  for (const trial *t = c->trials; t < c->trials + c->n; t++)
    if (t->failed)
      fprintf(stderr, "left out: %s, which learns %s: %s\n", t->kind, way_names[t->way],
              t->failed == BESOM_INVALID ? "cannot be made with so many bits a key"
                                         : besom_strerror(t->failed));
}

static double seconds(const trial *t, size_t queries) {
  return 1e-6 * given.cost * (double)t->reads + 1e-9 * t->nanoseconds * (double)queries;
}

static size_t tested; /* queries, for the comparison */

static int compare_trials(const void *a, const void *b) {
  const trial *x = a, *y = b;
  if (!x->failed != !y->failed) return x->failed ? 1 : -1;
  double difference = seconds(x, tested) - seconds(y, tested);
  return difference < 0 ? -1 : difference > 0;
}

/* Runs all of them; then those that could be run come first, the best of them before the others. */
static size_t run_trials(contest *c, const query_log *log, double bits) {
  uint8_t seed[SEED_BYTES];
  const uint8_t *key = seed_read(given.seed, seed);
  besom_progress progress = {.tick = tick, .ctx = c};
  bar_begin("trying all kinds", "queries");
  for (; c->done < c->n; c->done++) trial_run(&c->trials[c->done], log, bits, key, &progress);
  bar_end();
  tell_left_out(c);
  tested = log->total - log->learn;
  qsort(c->trials, c->n, sizeof *c->trials, compare_trials);
  size_t ranked = 0;
  while (ranked < c->n && !c->trials[ranked].failed) ranked++;
  if (!ranked) fail("no kind of filter can be made with %.3g bits a key", bits);
  return ranked;
}

/* ------------------------------------------------------------------ what is told */

static const char *const columns[] = {"kind",        "learns",          "bits a key",
                                      "store reads", "false positives", "repeated",
                                      "ns a query",  "seconds"};

static report *make_table(const trial *trials, size_t n) {
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (const trial *t = trials; t < trials + n; t++) {
    report_cell(r, "%s", t->kind);
    report_cell(r, "%s", way_names[t->way]);
    report_cell(r, "%.2f", t->bits);
    report_cell(r, "%llu", (unsigned long long)t->reads);
    report_cell(r, "%llu", (unsigned long long)t->false_positives);
    report_cell(r, "%llu", (unsigned long long)t->repeated);
    report_cell(r, "%.0f", t->nanoseconds);
    report_cell(r, "%.4g", seconds(t, tested));
  }
  return r;
}

static void print_json(const trial *t, size_t rank) {
  printf(
      "{\"rank\":%zu,\"kind\":\"%s\",\"learns\":\"%s\",\"bits_per_key\":%.4f,\"store_reads\":%llu,"
      "\"false_positives\":%llu,\"repeated\":%llu,\"ns_per_query\":%.1f,\"seconds\":%.6g}\n",
      rank, t->kind, way_names[t->way], t->bits, (unsigned long long)t->reads,
      (unsigned long long)t->false_positives, (unsigned long long)t->repeated, t->nanoseconds,
      seconds(t, tested));
}

/* What most people have: the best is told by how much better it is. */
static const trial *usual(const trial *trials, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(trials[i].kind, "bloom") == 0) return &trials[i];
  return &trials[n - 1];
}

/* Kinds that take no key once they are made. */
static bool is_static(const trial *t) {
  return !(kind_named(t->kind)->abilities & (BESOM_CAN_INSERT | BESOM_CAN_MATCH));
}

enum { ADVICE_ROOM = 512 };

static void write_advice(char advice[ADVICE_ROOM], const trial *trials, size_t n) {
  const trial *best = trials, *other = usual(trials, n), *changing = trials;
  double gain = seconds(other, tested) / seconds(best, tested);
  if (gain < 1.05 || (best->reads >= other->reads && gain < 2)) {
    snprintf(advice, ADVICE_ROOM,
             "It hardly matters: %s, the first, saves %.0f %% of the time of %s, so take what is "
             "simplest.",
             best->kind, 100 - 100 / gain, other->kind);
    return;
  }
  int len = snprintf(
      advice, ADVICE_ROOM,
      "Take %s, %s: %.4g s instead of the %.4g s of %s, with %llu store reads instead of %llu",
      best->kind, way_advice[best->way], seconds(best, tested), seconds(other, tested), other->kind,
      (unsigned long long)best->reads, (unsigned long long)other->reads);
  while (changing + 1 < trials + n && is_static(changing)) changing++;
  if (changing == best)
    snprintf(advice + len, ADVICE_ROOM - (size_t)len, ".");
  else
    snprintf(advice + len, ADVICE_ROOM - (size_t)len, "; if the set changes, %s, %s (%.4g s).",
             changing->kind, way_advice[changing->way], seconds(changing, tested));
}

static void write_page(const trial *trials, size_t n, const report *table, const char *about,
                       const char *advice) {
  curve *curves = allocate(n, sizeof *curves);
  char(*names)[64] = allocate(n, sizeof *names);
  for (size_t i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "%s%s", trials[i].kind,
             trials[i].way == LEARNS_FROM_STORE ? " with a store" : "");
    curves[i] = (curve){names[i], trials[i].curve};
  }
  chart c = {.x_name = "queries of the second half",
             .y_name = "store reads so far",
             .x_most = (double)tested,
             .points = CURVE_POINTS,
             .curves = curves,
             .curve_count = n};
  page *p = page_create("Which filter suits this workload");
  page_text(p, "%s", about);
  page_text(p, "%s", advice);
  page_chart(p, &c);
  page_table(p, table);
  page_finish(p, given.html);
  free(names);
  free(curves);
}

static void tell(const trial *trials, size_t n, const char *about) {
  char advice[ADVICE_ROOM];
  write_advice(advice, trials, n);
  report *table = make_table(trials, n);
  if (!given.json) report_print(table), printf("\n%s\n", advice);
  for (size_t i = 0; given.json && i < n; i++) print_json(&trials[i], i + 1);
  if (given.html) write_page(trials, n, table, about, advice);
  report_free(table);
}

static int run(words words) {
  (void)words;
  if (!given.set.n) usage_error("--set is missing: a file of the keys of the set");
  if (!given.queries.n) usage_error("--queries is missing: a file of the keys that were asked for");
  if (given.fpr && given.bits) usage_error("--fpr and --bits exclude each other");
  numbered *keys = numbered_create();
  query_log log = {.keys = keys, .members = read_set(keys)};
  uint32_t *queries = read_queries(keys, &log.total);
  log.queries = queries;
  log.learn = log.total / 2;
  double bits = bits_of_all(log.members);
  contest c = list_trials();
  size_t ranked = run_trials(&c, &log, bits);
  char about[300];
  snprintf(about, sizeof about,
           "%u keys, %.2f bits for each; %zu queries that count, %llu of them for keys of the set; "
           "a read takes %g us.",
           log.members, bits, tested, (unsigned long long)log_member_queries(&log), given.cost);
  fprintf(stderr, "%s\n", about);
  tell(c.trials, ranked, about);
  free(c.trials);
  free(queries);
  numbered_free(keys);
  return 0;
}

const verb advise_verb = {"advise", "tell which kind of filter suits a workload", &advise_command,
                          run};
