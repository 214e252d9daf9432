/*
 * besom-bench instructions: how many instructions each operation of each kind executes. Times on a
 * shared machine vary by a factor of two; these counts do not vary, so a test can hold them to a
 * budget.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "besom.h"
#include "fail.h"
#include "harness/commands.h"
#include "harness/driver.h"
#include "harness/instruction_loops.h"
#include "kinds.h"
#include "report.h"

enum { DEFAULT_SLOTS = 262144, MAX_LIST = 4096 };

typedef struct request {
  instruction_plan plan;
  const char *csv, *budget, *new_budget; /* paths; NULL for none */
  instruction_table allowed;             /* of the budget */
  char kinds[MAX_LIST];
} request;

/* ------------------------------------------------------------------ what to count */

static void append_kind(request *r, const char *kind) {
  size_t len = strlen(r->kinds);
  if (len + strlen(kind) + 2 > sizeof r->kinds) usage_error("--kinds: the list is too long");
  sprintf(r->kinds + len, "%s%s", len ? "," : "", kind);
}

static void add_listed_kinds(request *r, const char *list) {
  char name[64];
  for (;; list++) {
    size_t len = strcspn(list, ",");
    snprintf(name, sizeof name, "%.*s", (int)len, list);
    const besom_kind_info *kind = kind_named(name);
    if (!kind) usage_error("--kinds: there is no kind '%s'", name);
    if (needs_store(kind)) usage_error("--kinds: %s needs a store", name);
    append_kind(r, name);
    list += len;
    if (!*list) return;
  }
}

/* All kinds of the budget; all kinds that need no store if there is no budget. */
static void add_default_kinds(request *r) {
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)); i++)
    if (r->budget ? table_find(&r->allowed, kind->name, NULL) != NULL : !needs_store(kind))
      append_kind(r, kind->name);
}

static void read_budget(request *r) {
  FILE *file = fopen(r->budget, "r");
  if (!file) fail("%s: %s", r->budget, strerror(errno));
  table_read_budget(&r->allowed, file, r->budget);
  fclose(file);
  if (r->plan.slots && r->plan.slots != r->allowed.slots)
    usage_error("--slots: the budget is for %llu slots", (unsigned long long)r->allowed.slots);
  r->plan.slots = r->allowed.slots;
}

static void complete_request(request *r, const char *kinds) {
  if (r->plan.isa && strcmp(r->plan.isa, "portable") != 0 && strcmp(r->plan.isa, "avx2") != 0)
    usage_error("--isa: '%s' is none of portable, avx2", r->plan.isa);
  if (r->budget && (r->plan.concurrent || r->plan.reports))
    usage_error("--budget: it is for plain filters");
  if (r->plan.reports && r->plan.concurrent) usage_error("--reports excludes --concurrent");
  if (r->budget) read_budget(r);
  if (r->budget && r->plan.width) usage_error("--budget: it is for 8-bit remainders");
  if (!r->plan.width) r->plan.width = 8;
  if (!r->plan.slots) r->plan.slots = DEFAULT_SLOTS;
  if (kinds)
    add_listed_kinds(r, kinds);
  else
    add_default_kinds(r);
  r->plan.kinds = r->kinds;
}

/* ------------------------------------------------------------------ reporting */

static void print_table(const instruction_table *t) {
  const char *columns[16] = {"kind"};
  size_t n = 1;
  for (const counted_operation *op = counted_operations; op->name; op++) columns[n++] = op->name;
  report *r = report_create(columns, n, false);
  printf("instructions per operation, hash included; besom %s, %llu slots, %s\n\n", besom_version(),
         (unsigned long long)t->slots, t->build);
  const char *last = "";
  for (const instruction_row *row = t->rows; row < t->rows + t->count; row++) {
    if (strcmp(row->kind, last) == 0) continue;
    last = row->kind;
    report_cell(r, "%s", row->kind);
    for (const counted_operation *op = counted_operations; op->name; op++) {
      const instruction_row *cell = table_find(t, row->kind, op->name);
      if (cell)
        report_cell(r, "%.1f", cell->instructions);
      else
        report_cell(r, "%s", "");
    }
  }
  report_finish(r);
}

typedef void writer(const instruction_table *t, FILE *to);

static void write_file(const instruction_table *t, const char *path, writer *write) {
  FILE *to = fopen(path, "w");
  if (!to) fail("%s: %s", path, strerror(errno));
  write(t, to);
  if (ferror(to) | (fclose(to) != 0)) fail("writing %s", path);
}

static void print_results(const request *r, const instruction_table *t) {
  bool to_stdout = r->csv && strcmp(r->csv, "-") == 0;
  if (to_stdout)
    table_write_csv(t, stdout);
  else
    print_table(t);
  if (r->csv && !to_stdout) write_file(t, r->csv, table_write_csv);
}

/* A change on purpose (--write-budget) is printed, but is no failure. */
static void compare(const request *r, const instruction_table *t) {
  if (strcmp(r->allowed.build, t->build) != 0 && !r->new_budget)
    fail("not compared: the budget is for %s, this is %s", r->allowed.build, t->build);
  fflush(stdout);
  size_t failures = table_compare(&r->allowed, t, stderr);
  if (failures == 0 || r->new_budget) return;
  fail("%zu operations exceed their budget. If this is on purpose, update it:\n"
       "  besom-bench instructions --budget %s --write-budget %s",
       failures, r->budget, r->budget);
}

/* ------------------------------------------------------------------ the command */

static int run_child(int argc, char **argv) {
  if (argc != 7) usage_error(INSTRUCTION_CHILD " takes SLOTS WIDTH ISA KINDS FORM");
  return instruction_child(
      &(instruction_plan){.slots = strtoull(argv[2], NULL, 10),
                          .width = strtoull(argv[3], NULL, 10),
                          .isa = strcmp(argv[4], BEST_ISA) == 0 ? NULL : argv[4],
                          .kinds = argv[5],
                          .concurrent = strcmp(argv[6], CONCURRENT_FORM) == 0,
                          .reports = strcmp(argv[6], REPORTS_FORM) == 0});
}

static void parse(request *r, int argc, char **argv) {
  const char *kinds = NULL;
  const argument arguments[] = {
      {"--kinds", "A,B", "kinds to count; default: those of the budget, or all", .text = &kinds},
      {"--slots", "N", "slots of a quotient table; default: those of the budget, or 262144",
       .count = &r->plan.slots, .least = 4096, .most = 1 << 26},
      {"--width", "N", "bits of a remainder of quotient kinds; default 8", .count = &r->plan.width,
       .least = 1, .most = 32},
      {"--isa", "NAME", "use no faster instructions than portable or avx2; default avx2",
       .text = &r->plan.isa},
      {"--concurrent", NULL, "count filters with BESOM_CONCURRENT, used by one thread",
       .flag = &r->plan.concurrent},
      {"--reports", NULL, "count filters with exceptions for 1 % of the keys",
       .flag = &r->plan.reports},
      {"--csv", "FILE", "write CSV: kind,op,instructions; - for stdout, instead of the table",
       .text = &r->csv},
      {"--budget", "FILE", "fail if an operation takes 5 % more than in this file",
       .text = &r->budget},
      {"--write-budget", "FILE", "write the counts as a budget; with --budget: update it",
       .text = &r->new_budget},
  };
  arguments_parse(
      &(command){
          .usage = "instructions [options]",
          .about =
              "Counts the instructions per operation with valgrind --tool=callgrind. Keys are "
              "64-bit integers; the hash is included, the loop around the calls is not. "
              "Quotient kinds have 8-bit remainders, or those of --width; the other kinds have the "
              "same FPR, and cuckoo kinds therefore fingerprints of 4 bits more.\n\n"
              "insert: average from empty to 85 % of the slots; insert_last: from 85 to 90 %; "
              "negative, positive: queries at 90 %; remove: the keys of insert_last; _batch: by "
              "the _many calls, 256 keys per call, per key. A kind without slots is filled to "
              "its capacity.\n\n"
              "Two runs of one program give the same counts. Valgrind 3.19 has no AVX-512: the "
              "filters use AVX2.",
          .arguments = arguments,
          .argument_count = sizeof arguments / sizeof *arguments,
          .examples = "  besom-bench instructions --kinds aqf,qf\n"
                      "  besom-bench instructions --budget bench/tests/instructions.csv",
      },
      argc, argv);
  complete_request(r, kinds);
}

int instructions_command(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], INSTRUCTION_CHILD) == 0) return run_child(argc, argv);
  request r = {0};
  instruction_table t = {0};
  parse(&r, argc, argv);
  instruction_parent(&r.plan, &t);
  print_results(&r, &t);
  if (r.budget) compare(&r, &t);
  if (r.new_budget) write_file(&t, r.new_budget, table_write_budget);
  table_free(&t);
  table_free(&r.allowed);
  return 0;
}
