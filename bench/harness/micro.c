/*
 * besom-bench micro: every operation of several kinds side by side, in nanoseconds and in probes.
 *
 * Rounds are interleaved (peers, probe, kind, probe, next kind, ... and again), so that a slow
 * phase of the machine affects all of them alike. Every result is the median over the rounds.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "besom.h"
#include "fail.h"
#include "harness/commands.h"
#include "harness/micro_case.h"
#include "harness/peer_case.h"
#include "harness/probe.h"
#include "json.h"
#include "report.h"

typedef struct bench {
  micro_plan plan;
  micro_case *cases;
  size_t case_count;
  peer_case *peers;
  size_t peer_count;
  uint64_t probe_bytes;
  bool p99;                        /* measure it, too */
  samples independent, prefetched; /* nanoseconds per read */
} bench;

/* ------------------------------------------------------------------ what to measure */

static void add_case(bench *b, const besom_kind_info *kind) {
  micro_case_create(&b->cases[b->case_count++], kind->name, &b->plan);
}

static const besom_kind_info *find_kind(const char *name, size_t len) {
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)) != NULL; i++)
    if (strlen(kind->name) == len && memcmp(kind->name, name, len) == 0) break;
  if (!kind) usage_error("--kinds: there is no kind '%.*s'", (int)len, name);
  if (needs_store(kind)) usage_error("--kinds: %s needs a store", kind->name);
  return kind;
}

static void add_listed_cases(bench *b, const char *list) {
  /* enough: a name has at least one letter */
  b->cases = allocate(strlen(list) + 1, sizeof *b->cases);
  for (const char *name = list;; name++) {
    size_t len = strcspn(name, ",");
    add_case(b, find_kind(name, len));
    name += len;
    if (!*name) return;
  }
}

static void add_every_case(bench *b) {
  size_t kind_count = 0;
  while (besom_kinds(kind_count)) kind_count++;
  b->cases = allocate(kind_count, sizeof *b->cases);
  for (size_t i = 0; i < kind_count; i++)
    if (!needs_store(besom_kinds(i))) add_case(b, besom_kinds(i));
}

/* The kinds of a comma-separated list; all kinds if list is NULL. */
static void add_cases(bench *b, const char *list) {
  if (list)
    add_listed_cases(b, list);
  else
    add_every_case(b);
}

/* Starts the drivers of --against. */
static void add_peers(bench *b, const words *against, uint64_t seconds) {
  b->peers = allocate(against->n + 1, sizeof *b->peers);
  for (; b->peer_count < against->n; b->peer_count++) {
    peer_case *peer = &b->peers[b->peer_count];
    peer_case_create(peer, against->at[b->peer_count], seconds);
    for (const peer_case *other = b->peers; other < peer; other++)
      if (strcmp(other->name, peer->name) == 0)
        usage_error("--against: there are two drivers of %s", peer->name);
  }
}

static void free_bench(bench *b) {
  for (size_t i = 0; i < b->peer_count; i++) peer_case_free(&b->peers[i]);
  free(b->peers);
  for (size_t i = 0; i < b->case_count; i++) micro_case_free(&b->cases[i]);
  free(b->cases);
  samples_free(&b->independent);
  samples_free(&b->prefetched);
}

static void check_isa(const char *isa) {
  /*
   * Checked here because a kind without isa= also returns BESOM_BAD_OPTION, which would hide a
   * typing error.
   */
  static const char *const known[] = {"portable", "avx2", "avx512"};
  if (!isa) return;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i], isa) == 0) return;
  usage_error("--isa: '%s' is none of portable, avx2, avx512", isa);
}

/* ------------------------------------------------------------------ measuring */

static void calibrate(bench *b, probe *p) {
  samples_add(&b->independent, probe_independent(p));
  samples_add(&b->prefetched, probe_prefetched(p));
}

static void measure_peers(bench *b, uint64_t round) {
  for (size_t i = 0; i < b->peer_count; i++) {
    progress("round %llu of %llu: %s", (unsigned long long)round + 1,
             (unsigned long long)b->plan.rounds, b->peers[i].name);
    peer_case_measure(&b->peers[i], &b->plan, random_at(b->plan.seed, round));
  }
}

static void measure(bench *b) {
  /* The size of the first kind: then the ratios of a kind do not depend on the other kinds. */
  b->probe_bytes = b->cases[0].stats.bytes;
  probe p = probe_create(b->probe_bytes);
  driver d = driver_create();
  tick_clock clock = tick_clock_calibrate();
  for (uint64_t round = 0; round < b->plan.rounds; round++) {
    measure_peers(b, round); /* first: a mistake in a driver is found at once */
    for (size_t i = 0; i < b->case_count; i++) {
      progress("round %llu of %llu: %s", (unsigned long long)round + 1,
               (unsigned long long)b->plan.rounds, b->cases[i].config.kind);
      calibrate(b, &p);
      uint64_t seed = random_at(b->plan.seed, round);
      micro_case_measure(&b->cases[i], &b->plan, &d, seed);
      if (b->p99) micro_case_measure_p99(&b->cases[i], &b->plan, &d, seed, &clock);
    }
  }
  calibrate(b, &p);
  progress_end();
  driver_free(&d);
  probe_free(&p);
}

/* ------------------------------------------------------------------ reporting */

enum { MAX_TEXT = 1024 };

static void find_machine(char model[MAX_TEXT]) {
  char line[MAX_TEXT];
  strcpy(model, "unknown processor");
  FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
  while (cpuinfo && fgets(line, sizeof line, cpuinfo))
    if (sscanf(line, "model name : %1023[^\n]", model) == 1) break;
  if (cpuinfo) fclose(cpuinfo);
}

static void write_command_line(int argc, char **argv, char line[MAX_TEXT]) {
  size_t len = (size_t)snprintf(line, MAX_TEXT, "besom-bench");
  for (int i = 0; i < argc && len < MAX_TEXT; i++)
    len += (size_t)snprintf(line + len, MAX_TEXT - len, " %s", argv[i]);
}

static void print_head(const bench *b, const char *line, const char *machine) {
  printf("command: %s\nmachine: %s\nfilters: besom %s, %llu keys (%g of %llu slots, %llu bits)",
         line, machine, besom_version(), (unsigned long long)micro_plan_items(&b->plan),
         b->plan.load, (unsigned long long)b->plan.slots, (unsigned long long)b->plan.width);
  for (size_t i = 0; i < b->case_count; i++) {
    const besom_statistics *stats = &b->cases[i].stats;
    printf("; %s (%s) %.1f MB", stats->kind, stats->isa, 1e-6 * (double)stats->bytes);
  }
  printf("\nratio:   ns divided by an independent random read over %.1f MB of 4K pages; CPU "
         "time, median of %llu rounds\nspread:  interquartile range, in percent of the "
         "median\n",
         1e-6 * (double)b->probe_bytes, (unsigned long long)b->plan.rounds);
  if (b->peer_count)
    printf("besom/NAME: speed of the kind divided by that of the peer, median of the ratios of the "
           "rounds\n");
  printf("\n");
}

static void report_time(report *r, const bench *b, const char *kind, const char *op,
                        const samples *nanoseconds, const samples *p99) {
  double median = samples_median(nanoseconds);
  report_cell(r, "%s", kind);
  report_cell(r, "%s", op);
  report_cell(r, "%.2f", median);
  report_cell(r, "%.3f", median / samples_median(&b->independent));
  report_cell(r, "%s", "");
  if (nanoseconds->count > 1)
    report_cell(r, "%.1f", 100 * samples_spread(nanoseconds));
  else
    report_cell(r, "%s", "");
  if (b->p99 && p99 && p99->count)
    report_cell(r, "%.1f", samples_median(p99));
  else if (b->p99)
    report_cell(r, "%s", "");
}

/* The cells of a row in the columns of peers; s is NULL in rows that are not times of a kind. */
static void report_peers(report *r, const bench *b, const micro_case *s, int style, int op) {
  for (const peer_case *peer = b->peers; peer < b->peers + b->peer_count; peer++) {
    double ratio = s ? peer_case_ratio(peer, s, (call_style)style, (operation)op) : 0;
    if (ratio > 0)
      report_cell(r, "%.2f", ratio);
    else
      report_cell(r, "%s", "");
  }
}

static void report_probe(report *r, const bench *b, const char *kind, const samples *nanoseconds) {
  report_time(r, b, kind, "probe", nanoseconds, NULL);
  report_peers(r, b, NULL, 0, 0);
}

/* s is NULL for a peer. */
static void report_operations(report *r, const bench *b, const char *kind,
                              const samples nanoseconds[CALL_STYLES][OPERATIONS],
                              const micro_case *s) {
  for (int style = 0; style < CALL_STYLES; style++)
    for (int op = 0; op < OPERATIONS; op++) {
      if (nanoseconds[style][op].count == 0) continue;
      report_time(r, b, kind, operation_names[style][op], &nanoseconds[style][op],
                  s && style == SINGLE ? &s->p99[op] : NULL);
      report_peers(r, b, s, style, op);
    }
}

static void report_value(report *r, const bench *b, const char *kind, const char *op,
                         double value) {
  report_cell(r, "%s", kind);
  report_cell(r, "%s", op);
  report_cell(r, "%s", "");
  report_cell(r, "%s", "");
  report_cell(r, "%.6g", value);
  report_cell(r, "%s", "");
  if (b->p99) report_cell(r, "%s", "");
  report_peers(r, b, NULL, 0, 0);
}

static void report_rate(report *r, const bench *b, const char *kind, uint64_t false_positives,
                        uint64_t negatives) {
  if (negatives) report_value(r, b, kind, "fpr", (double)false_positives / (double)negatives);
}

static void add_rows(report *r, const bench *b) {
  report_probe(r, b, "independent", &b->independent);
  report_probe(r, b, "prefetched", &b->prefetched);
  for (const micro_case *s = b->cases; s < b->cases + b->case_count; s++) {
    report_operations(r, b, s->config.kind, s->nanoseconds, s);
    report_value(r, b, s->config.kind, "bits_per_key", s->stats.bits_per_key);
    report_rate(r, b, s->config.kind, s->false_positives, s->negatives);
  }
  for (const peer_case *peer = b->peers; peer < b->peers + b->peer_count; peer++) {
    report_operations(r, b, peer->name, peer->nanoseconds, NULL);
    if (peer->bits_per_key > 0) report_value(r, b, peer->name, "bits_per_key", peer->bits_per_key);
    report_rate(r, b, peer->name, peer->false_positives, peer->negatives);
  }
}

/* The columns; besom/NAME for every peer. Release them with free_columns. */
static char **name_columns(const bench *b, size_t *n) {
  static const char *const names[] = {"kind", "op", "ns", "ratio", "value", "spread", "p99"};
  size_t own = sizeof names / sizeof *names - !b->p99;
  *n = own + b->peer_count;
  char **columns = allocate(*n, sizeof *columns);
  for (size_t i = 0; i < *n; i++) {
    const char *before = i < own ? "" : "besom/";
    const char *name = i < own ? names[i] : b->peers[i - own].name;
    size_t size = strlen(before) + strlen(name) + 1;
    columns[i] = allocate(size, 1);
    snprintf(columns[i], size, "%s%s", before, name);
  }
  return columns;
}

static void free_columns(char **columns, size_t n) {
  for (size_t i = 0; i < n; i++) free(columns[i]);
  free(columns);
}

static void print_plan(const bench *b) {
  const micro_plan *p = &b->plan;
  printf("{\"slots\": %llu, \"width\": %llu, \"load\": %.17g, \"keys\": %llu, \"rounds\": %llu, "
         "\"probe_bytes\": %llu",
         (unsigned long long)p->slots, (unsigned long long)p->width, p->load,
         (unsigned long long)micro_plan_items(p), (unsigned long long)p->rounds,
         (unsigned long long)b->probe_bytes);
  printf(", \"isa\": ");
  json_print_text(p->isa);
  printf(", \"options\": ");
  json_print_text(p->options);
  printf("}");
}

static void print_json(const bench *b, const report *rows, const char *line, const char *machine) {
  printf("{\"command\": ");
  json_print_text(line);
  printf(",\n\"machine\": ");
  json_print_text(machine);
  printf(",\n\"version\": ");
  json_print_text(besom_version());
  printf(",\n\"seed\": \"%llx\",\n\"plan\": ", (unsigned long long)b->plan.seed);
  print_plan(b);
  printf(",\n\"rows\": ");
  json_print_rows(rows);
  printf("}\n");
}

typedef enum format { TABLE, CSV, JSON } format;

static void print_results(const bench *b, format as, int argc, char **argv) {
  char line[MAX_TEXT], machine[MAX_TEXT];
  write_command_line(argc, argv, line);
  find_machine(machine);
  size_t column_count;
  char **columns = name_columns(b, &column_count);
  report *r = report_create((const char *const *)columns, column_count, as == CSV);
  add_rows(r, b);
  if (as == TABLE) print_head(b, line, machine);
  if (as == JSON)
    print_json(b, r, line, machine);
  else
    report_print(r);
  report_free(r);
  free_columns(columns, column_count);
}

int micro_command(int argc, char **argv) {
  bench b = {.plan = {.slots = 1 << 26, .width = 8, .load = 0.9, .rounds = 5, .seed = BENCH_SEED}};
  const char *kinds = NULL;
  words against = {0};
  uint64_t answer_within = 600;
  bool csv = false, as_json = false;
  const argument arguments[] = {
      {"--kinds", "A,B", "kinds to compare; the first one sizes the probe; default: all",
       .text = &kinds},
      {"--slots", "N", "slots of a quotient table; default 67108864", .count = &b.plan.slots,
       .least = 1024, .most = (double)((uint64_t)1 << 44)},
      {"--width", "N", "bits per remainder; default 8", .count = &b.plan.width, .least = 1,
       .most = 64},
      {"--load", "X", "load factor to fill to; default 0.9", .real = &b.plan.load, .least = 0.01,
       .most = 1},
      {"--rounds", "N", "number of rounds; results are medians; default 5", .count = &b.plan.rounds,
       .least = 1, .most = 1e6},
      {"--seed", "HEX", "seed of keys and hash: the same seed repeats the run; default be50",
       .hex = &b.plan.seed},
      {"--isa", "NAME", "use no faster instructions than portable, avx2 or avx512",
       .text = &b.plan.isa},
      {"--options", "TEXT", "options of every listed kind, such as heads=no; not with --isa",
       .text = &b.plan.options},
      {"--concurrent", NULL, "filters with BESOM_CONCURRENT, used by one thread",
       .flag = &b.plan.concurrent},
      {"--p99", NULL, "add a column: the 99th percentile of single calls, in ns", .flag = &b.p99},
      {"--against", "NAME=COMMAND",
       "also measure a peer by its driver, a command of the shell; may "
       "be repeated",
       .list = &against},
      {"--answer-within", "S", "seconds that a driver may take for one operation; default 600",
       .count = &answer_within, .least = 1, .most = 1e6},
      {"--csv", NULL,
       "print CSV: kind,op,ns,ratio,value,spread, and p99 and besom/NAME if asked for",
       .flag = &csv},
      {"--json", NULL, "print JSON: command, machine, version, seed, plan, and the same rows",
       .flag = &as_json},
  };
  arguments_parse(
      &(command){
          .usage = "micro [options]",
          .about =
              "Measures the operations of filter kinds: insert, negative and positive queries, "
              "by single\ncalls and by batch calls; build (from keys), build_sorted (from sorted "
              "digests), count,\nremove (the last keys inserted), merge (two filters with half "
              "of the keys each).\nns: nanoseconds per key; ratio: ns divided by the time of a "
              "random memory read;\nspread: interquartile range of the rounds, in percent of the "
              "median;\np99: of insert, insert_last, negative, positive and remove, each call "
              "timed "
              "alone, without\nthe cost of the clock.\nKinds without slots get the capacity and "
              "FPR of a quotient table of "
              "these slots.\n\nThe driver of a peer is a program that measures another filter, and "
              "speaks the protocol\nof docs/benchmarks.md on stdin and stdout. Column besom/NAME: "
              "speed of the kind divided by\nthat of the peer, median of the ratios of the rounds.",
          .arguments = arguments,
          .argument_count = sizeof arguments / sizeof *arguments,
      },
      argc, argv);
  check_isa(b.plan.isa);
  if (csv && as_json) usage_error("--csv and --json exclude each other");
  if (b.plan.isa && b.plan.options)
    usage_error("--options: pass isa=%s there instead of --isa", b.plan.isa);
  add_cases(&b, kinds);
  add_peers(&b, &against, answer_within);
  measure(&b);
  print_results(&b, as_json ? JSON : csv ? CSV : TABLE, argc, argv);
  free((void *)against.at);
  free_bench(&b);
  return 0;
}
