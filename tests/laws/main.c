/*
 * main.c - runs every law on every kind in the registry.
 *
 * A test is named LAW/SUBJECT, for example no_false_negatives_of_u64/qf,isa=portable. The usage
 * text below describes the command line.
 */
#define _POSIX_C_SOURCE 200809L /* fnmatch */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "subjects.h"
#include "support/heap.h"

static const char usage[] =
    "usage: contract_tests [--list] [--defaults | --sample] [--part I/N] [PATTERN...]\n"
    "       contract_tests --write-golden | --help\n"
    "\n"
    "Runs all laws, or those that match a pattern (shell wildcards; quote them):\n"
    "  no_false_negatives_of_u64     one law over every kind\n"
    "  no_false_negatives_of_u64/qf  one law over one kind with its default options\n"
    "  '*/qf'  '*/qf*'               all laws over one kind; and with all its options\n"
    "\n"
    "--list          print the names of the tests instead\n"
    "--defaults      kinds with their default options only: what `make check` runs\n"
    "--sample        of kinds with other options only a fifth of the tests: what sanitizers and\n"
    "                emulators run\n"
    "--part I/N      every N-th test, starting with the I-th\n"
    "--write-golden  write the files in tests/golden instead\n"
    "\n"
    "The exit code is 0 if all laws hold, 1 if one does not, 2 if the command line is wrong.\n";

static const law *const all_laws[] = {
    membership_laws, full_laws,   multiset_laws, exception_laws, report_laws, adapt_bound_laws,
    tombstone_laws,  value_laws,  cache_laws,    list_laws,      moving_laws, file_laws,
    hostile_laws,    merge_laws,  build_laws,    patch_laws,     growth_laws, task_laws,
    memory_laws,     config_laws, argument_laws, ability_laws,   golden_laws, memory_call_laws,
    set_laws,        maplet_laws,
/* Millions of queries, through code that the other laws run, too. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(BESOM_EMULATED) && !defined(BESOM_COVERAGE)
    rate_laws,       size_laws,
#endif
};

static bool applies(const law *l, const subject *s) {
  if (s->kind->abilities & l->unless) return false;
  if (!can(s, l->needs)) return false;
  return l->scope == EVERY_SUBJECT || (l->scope == EVERY_KIND && s->is_default);
}

/* ------------------------------------------------------------------ the command line */

typedef struct request {
  bool list, defaults_only, sample;
  unsigned part, parts;
  char **patterns; /* all tests, if there are none */
  int n_patterns;
} request;

/* Returns false if the command line is wrong. Moves the patterns to the front of argv. */
static bool parse(request *r, int argc, char **argv) {
  *r = (request){.part = 1, .parts = 1, .patterns = argv};
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') {
      r->patterns[r->n_patterns++] = argv[i];
    } else if (!strcmp(argv[i], "--list")) {
      r->list = true;
    } else if (!strcmp(argv[i], "--defaults")) {
      r->defaults_only = true;
    } else if (!strcmp(argv[i], "--sample")) {
      r->sample = true;
    } else if (!strcmp(argv[i], "--part") && i + 1 < argc) {
      if (sscanf(argv[++i], "%u/%u", &r->part, &r->parts) != 2) return false;
    } else {
      return false;
    }
  }
  return r->part >= 1 && r->part <= r->parts;
}

/* A pattern without a slash is one for the law alone. */
static bool is_requested(const request *r, const char *name) {
  char law_name[128];
  snprintf(law_name, sizeof law_name, "%.*s", (int)strcspn(name, "/"), name);
  for (int i = 0; i < r->n_patterns; i++) {
    const char *pattern = r->patterns[i];
    if (!fnmatch(pattern, strchr(pattern, '/') ? name : law_name, 0)) return true;
  }
  return !r->n_patterns;
}

/* ------------------------------------------------------------------ the tests */

typedef struct plan {
  struct CMUnitTest *tests;
  size_t n;
  size_t candidates; /* tests that match, of all parts */
} plan;

static void add_test(plan *p, const request *r, const law *l, subject *s) {
  char *name = heap_array(1, 128);
  snprintf(name, 128, s ? "%s/%s" : "%s", l->name, s ? s->label : "");
  if (!is_requested(r, name) || p->candidates++ % r->parts != r->part - 1) {
    free(name);
    return;
  }
  p->tests = heap_resize(p->tests, (p->n + 1) * sizeof *p->tests);
  p->tests[p->n++] = (struct CMUnitTest){.name = name, .test_func = l->holds, .initial_state = s};
}

/* The sample has another fifth of the subjects for each law. */
static bool is_wanted(const request *r, const subject *s, size_t i, size_t law_number) {
  if (s->is_default) return true;
  return !r->defaults_only && (!r->sample || (i + law_number) % 5 == 0);
}

static void plan_tests(plan *p, const request *r, subjects *all) {
  size_t law_number = 0;
  for (size_t g = 0; g < sizeof all_laws / sizeof *all_laws; g++)
    for (const law *l = all_laws[g]; l->name; l++, law_number++) {
      if (l->scope == THE_LIBRARY) add_test(p, r, l, NULL);
      for (size_t i = 0; i < all->n; i++) {
        subject *s = &all->list[i];
        if (applies(l, s) && is_wanted(r, s, i, law_number)) add_test(p, r, l, s);
      }
    }
}

static void free_plan(plan *p) {
  for (size_t i = 0; i < p->n; i++) free((char *)p->tests[i].name);
  free(p->tests);
}

static int run(const plan *p, const request *r) {
  if (!p->candidates) {
    fputs("contract_tests: no test matches (contract_tests --list prints all)\n", stderr);
    return 2;
  }
  if (!r->list) return _cmocka_run_group_tests("contract", p->tests, p->n, NULL, NULL) ? 1 : 0;
  for (size_t i = 0; i < p->n; i++) puts(p->tests[i].name);
  return 0;
}

/* Published systems that this build was made without. Their laws and golden files are skipped. */
static void print_left_out(void) {
  for (const char *const *name = published_systems(); *name; name++) {
    char text[100];
    besom_config config = {.kind = *name, .capacity = 10};
    if (besom_config_check(&config, text, sizeof text) == BESOM_UNKNOWN_KIND)
      printf("not in this build: %s\n", *name);
  }
}

int main(int argc, char **argv) {
  static subjects all;
  request r;
  plan p = {0};
  if (argc == 2 && !strcmp(argv[1], "--write-golden")) return !write_golden_files();
  if (argc == 2 && !strcmp(argv[1], "--help")) return fputs(usage, stdout) < 0;
  if (!parse(&r, argc, argv)) return fputs(usage, stderr), 2;
  find_subjects(&all);
  plan_tests(&p, &r, &all);
  if (!r.list) print_left_out();
  int code = run(&p, &r);
  free_plan(&p);
  return code;
}
