/*
 * Instructions per operation: a table with one row per kind and operation, its CSV form, and the
 * comparison with a budget. A budget is a CSV file that begins with a comment: the slots and the
 * build that its numbers are for.
 */
#ifndef BENCH_HARNESS_INSTRUCTION_TABLE_H
#define BENCH_HARNESS_INSTRUCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct instruction_row {
  char kind[32], op[32];
  double instructions; /* per operation */
} instruction_row;

/* {0} is empty. */
typedef struct instruction_table {
  instruction_row *rows;
  size_t count;
  uint64_t slots;
  char build[64]; /* compiler and instruction set: "gcc 12, avx2" */
} instruction_table;

/* Names that are too long are cut. */
void table_add(instruction_table *t, const char *kind, const char *op, double instructions);
void table_free(instruction_table *t);

/* NULL if there is no such row. op may be NULL: any operation of the kind. */
const instruction_row *table_find(const instruction_table *t, const char *kind, const char *op);

/* Writes the columns kind,op,instructions; instructions have one decimal. */
void table_write_csv(const instruction_table *t, FILE *to);
void table_write_budget(const instruction_table *t, FILE *to);

/* Adds what table_write_budget wrote to an empty table. Fails if the file has another form. */
void table_read_budget(instruction_table *t, FILE *from, const char *path);

/*
 * Returns how many operations of the kinds in `now` need more instructions than the budget allows
 * (5 % of growth), are not in the budget, or are only there. Prints a line for each of these, and
 * for each operation that needs 5 % less.
 */
size_t table_compare(const instruction_table *budget, const instruction_table *now, FILE *to);

#endif
