/* besom-bench run: lists the claims, or tests one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/commands.h"
#include "json.h"
#include "workloads/key_stream.h"

enum { MAX_SEEDS = 100 };

/* ------------------------------------------------------------------ listing claims */

static void list_claims(void) {
  for (size_t i = 0; claims[i]; i++)
    printf("%-20s %s (%s)\n", claims[i]->name, claims[i]->statement, claims[i]->source);
}

/* Prints a member of a JSON object; text may be NULL. */
static void print_member(const char *name, const char *text) {
  printf("\"%s\":", name);
  json_print_text(text);
  printf(",");
}

static void print_flag(const char *name, bool value) {
  printf("\"%s\":%s,", name, value ? "true" : "false");
}

static void print_plot(const plot *p) {
  printf("{");
  print_member("title", p->title);
  print_member("x", p->x);
  print_member("y", p->y);
  print_member("series", p->series);
  print_member("panels", p->panels);
  print_member("where", p->where);
  print_member("x_label", p->x_label);
  print_member("y_label", p->y_label);
  print_member("map", p->map);
  print_member("map_value", p->map_value);
  print_flag("log_x", p->log_x);
  print_flag("log_y", p->log_y);
  printf("\"bars\":%s}", p->bars ? "true" : "false");
}

static void print_claim(const claim *c) {
  printf("{");
  print_member("name", c->name);
  print_member("title", c->title);
  print_member("source", c->source);
  print_member("paper", c->paper);
  print_member("statement", c->statement);
  print_member("differs", c->differs);
  print_flag("timed", c->timed);
  unsigned seeds = c->seeds ? c->seeds : 1;
  printf("\"seeds\":%u,\"full_seeds\":%u,", seeds, c->full_seeds ? c->full_seeds : seeds);
  printf("\"columns\":[");
  for (size_t i = 0; i < c->column_count; i++) {
    if (i) printf(",");
    json_print_text(c->columns[i]);
  }
  printf("],\"plots\":[");
  for (const plot *p = c->plots; p && p->title; p++) {
    if (p != c->plots) printf(",");
    print_plot(p);
  }
  printf("]}");
}

static void print_claims(void) {
  printf("[");
  for (size_t i = 0; claims[i]; i++) {
    if (i) printf(",\n");
    print_claim(claims[i]);
  }
  printf("]\n");
}

/* ------------------------------------------------------------------ testing a claim */

static const claim *find_claim(const char *name) {
  for (size_t i = 0; claims[i]; i++)
    if (strcmp(claims[i]->name, name) == 0) return claims[i];
  usage_error("there is no claim '%s'; besom-bench run lists them", name);
}

static bool is_first(const findings *f, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (strcmp(f->measurements[i].sentence, f->measurements[at].sentence) == 0) return false;
  return true;
}

/* One line per sentence: its id and its factors, in the order measured. */
static void print_measurements(const findings *f, const char *prefix) {
  for (size_t i = 0; i < f->measurement_count; i++) {
    const char *sentence = f->measurements[i].sentence;
    if (!is_first(f, i)) continue;
    printf("%s%s:", prefix, sentence);
    for (size_t j = i; j < f->measurement_count; j++)
      if (strcmp(f->measurements[j].sentence, sentence) == 0)
        printf(" %.4g", f->measurements[j].factor);
    printf("\n");
  }
}

/* The rows of further seeds, as comments: "#2,cell,cell". The table has those of the first. */
static void print_further_rows(const report *r, unsigned number) {
  for (size_t row = 1; row < report_rows(r); row++) {
    printf("#%u", number);
    for (size_t i = 0; i < report_columns(r); i++) printf(",%s", report_text(r, row, i));
    printf("\n");
  }
}

/* seeds: how many were run; wanted: how many the caller asked for. */
static void print_head(const claim *c, bool full, unsigned seeds, unsigned wanted,
                       const findings *found) {
  printf("# claim: %s\n# size: %s\n# seed: %x\n# seeds: %u\n# wanted_seeds: %u\n", c->name,
         full ? "full" : "quick", FIRST_BENCH_SEED, seeds, wanted);
  printf("# cpu_seconds: %.1f\n", cpu_seconds());
  printf("# verdict: %s\n# parts: %zu of %zu\n", verdict_of(found), found->held, found->tested);
  print_measurements(found, "# measured ");
}

/* Adds the factors of a further seed, and frees them. Our own bars are those of the first seed. */
static void merge_findings(findings *all, findings *seed) {
  if (!all->tested) all->tested = seed->tested, all->held = seed->held;
  for (size_t i = 0; i < seed->measurement_count; i++)
    add_factor(all, seed->measurements[i].sentence, seed->measurements[i].factor);
  findings_free(seed);
}

/* Elapsed time, if the claim is about times; else CPU time, which other programs do not affect. */
static double clock_of(const claim *c) {
  return c->timed ? wall_seconds() : cpu_seconds();
}

/*
 * Runs one seed after the other. A further seed is not started if it would end after the limit,
 * provided that it takes as long as the longest so far. Returns how many were run.
 */
static unsigned run_seeds(const claim *c, bool full, bool csv, unsigned wanted, double limit,
                          report *numbers[MAX_SEEDS], findings *found) {
  double start = clock_of(c), longest = 0;
  unsigned seeds = 0;
  while (seeds < wanted) {
    double before = clock_of(c);
    if (seeds && before - start + longest > limit) break;
    if (seeds) bench_seed++;
    numbers[seeds] = report_create(c->columns, c->column_count, csv);
    findings again = c->run(full, numbers[seeds++]);
    longest = fmax(longest, clock_of(c) - before);
    merge_findings(found, &again);
  }
  return seeds;
}

static void test_claim(const claim *c, bool full, bool csv, unsigned wanted, double limit) {
  report *numbers[MAX_SEEDS];
  findings found = {0};
  unsigned seeds = run_seeds(c, full, csv, wanted, limit, numbers, &found);
  progress_end();
  if (csv)
    print_head(c, full, seeds, wanted, &found);
  else
    printf("%s: %s (%s)\n\n", c->name, c->statement, c->source);
  for (unsigned i = 0; i < seeds; i++) {
    if (csv && i)
      print_further_rows(numbers[i], i + 1);
    else
      report_print(numbers[i]);
    report_free(numbers[i]);
  }
  if (!csv) {
    printf("\n%s (%zu of %zu parts)\n", verdict_of(&found), found.held, found.tested);
    print_measurements(&found, "measured ");
  }
  findings_free(&found);
}

int run_command(int argc, char **argv) {
  bool full = false, csv = false, as_json = false;
  uint64_t seeds = 1, limit = UINT32_MAX;
  const argument arguments[] = {
      {"--full", NULL, "run at full size: minutes instead of seconds", .flag = &full},
      {"--seeds", "N", "run with N seeds, one after the other (default 1)", .count = &seeds,
       .least = 1, .most = MAX_SEEDS},
      {"--seconds", "N",
       "start no seed that would end later: CPU time, or elapsed time of a timed claim",
       .count = &limit, .least = 1, .most = UINT32_MAX},
      {"--csv", NULL, "print the numbers as CSV, after header lines that start with #",
       .flag = &csv},
      {"--json", NULL, "list the claims as JSON", .flag = &as_json},
  };
  words claim_name = arguments_parse(
      &(command){
          .usage = "run [CLAIM] [options]",
          .about =
              "Tests a claim: prints its statement, its numbers, and whether it holds.\nWithout "
              "a claim: lists all claims. The exit code is 0 whether the claim holds or not.",
          .arguments = arguments,
          .argument_count = sizeof arguments / sizeof *arguments,
          .most_words = 1,
      },
      argc, argv);
  if (claim_name.n)
    test_claim(find_claim(claim_name.at[0]), full, csv, (unsigned)seeds, (double)limit);
  else if (as_json)
    print_claims();
  else
    list_claims();
  return 0;
}
