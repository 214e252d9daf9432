/*
 * main.c - tries every law on every kind in the registry.
 *
 *     contract_tests                  all of them
 *     contract_tests 'no_false_*'     those whose name ("law/kind") fits the pattern
 *     contract_tests --list           the names
 *     contract_tests --part 2/4       the second quarter of them, every fourth from the second on
 *     contract_tests --write-golden   makes tests/golden anew, instead
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"

static const law *const all_laws[] = {
    membership_laws, full_laws,    multiset_laws, adapt_marks_laws, adapt_bound_laws,
    tombstone_laws,  value_laws,   cache_laws,    list_laws,        moving_laws,
    file_laws,       hostile_laws, merge_laws,    build_laws,       delta_laws,
    growth_laws,     task_laws,    memory_laws,   argument_laws,    golden_laws,
#ifndef __SANITIZE_ADDRESS__ /* these measure, a million times over, what others touch once */
    rate_laws,       size_laws,
#endif
};

enum { MOST_SUBJECTS = 256 };

typedef struct subjects {
  subject list[MOST_SUBJECTS];
  size_t n;
} subjects;

/* The instructions that a subject runs on, or NULL if this kind or machine does not have it. */
static const char *isa_of(const subject *s) {
  besom_config config = config_of(s, 10, 0);
  uint64_t key = 1;
  array_source source;
  source_of_u64(&source, &key, 1);
  besom_filter *f = NULL;
  besom_status status = can(s, CAN_BUILD) ? besom_build(&config, &source.api, NULL, NULL, &f)
                                          : besom_create(&config, &f);
  if (status != BESOM_OK) {
    if (status != BESOM_BAD_OPTION && status != BESOM_UNSUPPORTED)
      printf("making a %s: %s\n", s->label, besom_strerror(status));
    return NULL;
  }
  besom_statistics stats = {.isa = NULL};
  besom_stats(f, &stats);
  besom_free(f);
  return stats.isa;
}

/* A subject that only says which instructions it would have used anyway adds nothing. */
static bool is_new(const subjects *all, size_t first, const char *isa) {
  for (size_t i = first; i < all->n; i++)
    if (all->list[i].same_format && !strcmp(isa_of(&all->list[i]), isa)) return false;
  return true;
}

/* Options of one kind or another; a kind that does not know them is not tried with them. */
static const struct {
  const char *text;
  bool same_format;
  bool
      of_tables; /* layered kinds hand it to their inner filters, which are tried with it by themselves */
} all_options[] = {{"isa=portable", true, true},
                   {"isa=avx2", true, true},
                   {"isa=avx512", true, true},
                   {"heads=no", false, true},
                   {"heads=no,isa=portable", false, true},
                   {"selector_bits=1", false, true},
                   {"selector_bits=3", false, true},
                   {"base=aqf", false, false},
                   {"cache=topk,cache_bits=20000", false, false}};

static subject subject_with(const besom_kind_info *kind, const char *options, const char *hash) {
  subject s = {.kind = kind, .options = options, .hash = hash, .same_format = !options};
  snprintf(s.label, sizeof s.label, "%s%s%s%s", kind->name, options ? "," : "",
           options ? options : "", strcmp(hash, "xxh3") ? ",sip" : "");
  return s;
}

static bool is_layered(const besom_kind_info *kind) {
  subject s = subject_with(kind, "base=qf", "xxh3");
  return isa_of(&s) != NULL;
}

static void add_kind(subjects *all, const besom_kind_info *kind) {
  subject as_it_comes = subject_with(kind, NULL, "xxh3");
  bool layered = is_layered(kind);
  size_t first = all->n;
  as_it_comes.first = true;
  all->list[all->n++] = as_it_comes;
  if (kind->abilities & BESOM_CAN_NO_LIST_AT)
    return; /* aqf with another policy, and that is tried with all options */
  for (size_t i = 0; i < sizeof all_options / sizeof *all_options; i++) {
    subject s = subject_with(kind, all_options[i].text, "xxh3");
    if (layered && all_options[i].of_tables) continue;
    s.same_format = all_options[i].same_format;
    const char *isa = isa_of(&s);
    if (isa && (!s.same_format || is_new(all, first, isa))) all->list[all->n++] = s;
  }
  if (layered || !first)
    all->list[all->n++] = subject_with(kind, NULL, "sip"); /* the others hash by the same code */
  subject concurrent = subject_with(kind, NULL, "xxh3");
  concurrent.flags = BESOM_CONCURRENT;
  concurrent.same_format = true;
  strcat(concurrent.label, ",concurrent");
  if (isa_of(&concurrent)) all->list[all->n++] = concurrent;
}

static bool applies(const law *l, const subject *s) {
  if (s->kind->abilities & l->unless) return false;
  return can(s, l->needs) && (l->scope == EVERY_SUBJECT || (l->scope == EVERY_KIND && s->first));
}

typedef struct plan {
  struct CMUnitTest *tests;
  size_t n;
} plan;

static void add_test(plan *p, const law *l, subject *s) {
  char *name = heap_array(1, 128);
  snprintf(name, 128, s ? "%s/%s" : "%s", l->name, s ? s->label : "");
  p->tests = heap_resize(p->tests, (p->n + 1) * sizeof *p->tests);
  p->tests[p->n++] = (struct CMUnitTest){.name = name, .test_func = l->holds, .initial_state = s};
}

static void plan_all(plan *p, subjects *all) {
  for (size_t g = 0; g < sizeof all_laws / sizeof *all_laws; g++)
    for (const law *l = all_laws[g]; l->name; l++) {
      if (l->scope == THE_LIBRARY) add_test(p, l, NULL);
      for (size_t i = 0; i < all->n; i++)
        if (applies(l, &all->list[i])) add_test(p, l, &all->list[i]);
    }
}

/* Keeps one part of several; false if the text is no I/N. */
static bool keep_part(plan *p, const char *text) {
  unsigned part = 0, parts = 0;
  size_t kept = 0;
  if (sscanf(text, "%u/%u", &part, &parts) != 2 || part < 1 || part > parts) return false;
  for (size_t i = 0; i < p->n; i++)
    if (i % parts == part - 1)
      p->tests[kept++] = p->tests[i];
    else
      free((char *)p->tests[i].name);
  p->n = kept;
  return true;
}

static void free_plan(plan *p) {
  for (size_t i = 0; i < p->n; i++) free((char *)p->tests[i].name);
  free(p->tests);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--write-golden")) return !write_golden_files();
  static subjects all;
  plan p = {0};
  for (size_t i = 0; besom_kinds(i) && all.n + 16 < MOST_SUBJECTS; i++)
    add_kind(&all, besom_kinds(i));
  plan_all(&p, &all);
  int failures = 0;
  if (argc == 3 && (strcmp(argv[1], "--part") || !keep_part(&p, argv[2]))) return 2;
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    for (size_t i = 0; i < p.n; i++) puts(p.tests[i].name);
  } else {
    if (argc == 2) cmocka_set_test_filter(argv[1]);
    failures = _cmocka_run_group_tests("contract", p.tests, p.n, NULL, NULL);
  }
  free_plan(&p);
  return failures;
}
