/*
 * What besom-bench instructions counts, and the two halves that do it. The parent process starts
 * the child under callgrind. The child runs every operation in a loop of its own, and callgrind
 * writes one file per loop. The parent reads the files.
 */
#ifndef BENCH_HARNESS_INSTRUCTION_LOOPS_H
#define BENCH_HARNESS_INSTRUCTION_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/instruction_table.h"

/* A loop has one of these forms. The empty loop of its form is subtracted from its count. */
typedef enum loop_form { EACH_CONTAINS, EACH_CHANGE, MANY_CONTAINS, MANY_INSERT } loop_form;
enum { LOOP_FORMS = MANY_INSERT + 1 };

typedef struct counted_operation {
  const char *name;
  loop_form form;
} counted_operation;

/* In the order of columns and rows. The name of the last is NULL. */
extern const counted_operation counted_operations[];

typedef struct instruction_plan {
  uint64_t slots, width;
  const char *isa;   /* NULL for the fastest that valgrind knows */
  const char *kinds; /* a comma-separated list */
  bool concurrent;   /* filters with BESOM_CONCURRENT */
  bool reports;      /* filters with exceptions for 1 % of the keys */
} instruction_plan;

/*
 * The child: runs all loops of the kinds. Fails without valgrind, and if a filter loses a member.
 * Returns the exit code.
 */
int instruction_child(const instruction_plan *plan);

/*
 * besom-bench instructions --child SLOTS WIDTH ISA KINDS FORM runs the child; ISA is "best" for
 * NULL, FORM is "plain", "concurrent" or "reports". --help does not list it.
 */
#define INSTRUCTION_CHILD "--child"
#define BEST_ISA "best"
#define CONCURRENT_FORM "concurrent"
#define REPORTS_FORM "reports"

/*
 * The parent: runs the child and adds the counts to an empty table. Fails if valgrind is missing.
 */
void instruction_parent(const instruction_plan *plan, instruction_table *t);

/* The name that the child gives the empty loops, in place of a kind. */
#define EMPTY_LOOP "empty"

/* 0 if this program was compiled without the headers of valgrind: then it cannot count. */
extern const int has_valgrind_headers;

#endif
