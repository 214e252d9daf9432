#include "harness/instruction_table.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* Growth that a budget allows. Exactly 5 % is allowed: hence the allowance for rounding. */
static const double tolerance = 0.05 + 1e-9;
static const char header[] = "kind,op,instructions";

void table_add(instruction_table *t, const char *kind, const char *op, double instructions) {
  if ((t->count & (t->count - 1)) == 0) { /* full: the room is a power of two */
    t->rows = realloc(t->rows, (t->count ? 2 * t->count : 1) * sizeof *t->rows);
    if (!t->rows) fail("no memory for %zu rows", 2 * t->count);
  }
  instruction_row *row = &t->rows[t->count++];
  row->instructions = instructions;
  snprintf(row->kind, sizeof row->kind, "%s", kind);
  snprintf(row->op, sizeof row->op, "%s", op);
}

void table_free(instruction_table *t) {
  free(t->rows);
  *t = (instruction_table){0};
}

const instruction_row *table_find(const instruction_table *t, const char *kind, const char *op) {
  for (const instruction_row *row = t->rows; row < t->rows + t->count; row++)
    if (strcmp(row->kind, kind) == 0 && (!op || strcmp(row->op, op) == 0)) return row;
  return NULL;
}

void table_write_csv(const instruction_table *t, FILE *to) {
  fprintf(to, "%s\n", header);
  for (const instruction_row *row = t->rows; row < t->rows + t->count; row++)
    fprintf(to, "%s,%s,%.1f\n", row->kind, row->op, row->instructions);
}

void table_write_budget(const instruction_table *t, FILE *to) {
  fprintf(to, "# %llu slots, %s\n", (unsigned long long)t->slots, t->build);
  table_write_csv(t, to);
}

void table_read_budget(instruction_table *t, FILE *from, const char *path) {
  char line[128], kind[32], op[32], rest;
  unsigned long long slots;
  double instructions;
  if (!fgets(line, sizeof line, from) ||
      sscanf(line, "# %llu slots, %63[^\n]", &slots, t->build) != 2)
    fail("%s: line 1 is not '# N slots, COMPILER, ISA'", path);
  t->slots = slots;
  if (!fgets(line, sizeof line, from) || strncmp(line, header, strlen(header)) != 0)
    fail("%s: line 2 is not '%s'", path, header);
  for (int number = 3; fgets(line, sizeof line, from); number++) {
    if (sscanf(line, "%31[^,],%31[^,],%lf %c", kind, op, &instructions, &rest) != 3)
      fail("%s: line %d is not '%s'", path, number, header);
    table_add(t, kind, op, instructions);
  }
}

/* Numbers are compared as they are printed, so that a budget equals the table that it is from. */
static double rounded(double instructions) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", instructions);
  return atof(text);
}

static size_t compare_row(const instruction_table *budget, const instruction_row *row, FILE *to) {
  const instruction_row *allowed = table_find(budget, row->kind, row->op);
  if (!allowed) {
    fprintf(to, "%s %s: budget none, now %.1f\n", row->kind, row->op, row->instructions);
    return 1;
  }
  double now = rounded(row->instructions), change = now / allowed->instructions - 1;
  if (change <= tolerance && change >= -tolerance) return 0;
  fprintf(to, "%s %s: budget %.1f, now %.1f (%+.1f %%)\n", row->kind, row->op,
          allowed->instructions, now, 100 * change);
  return change > 0;
}

size_t table_compare(const instruction_table *budget, const instruction_table *now, FILE *to) {
  size_t failures = 0;
  for (size_t i = 0; i < now->count; i++) failures += compare_row(budget, &now->rows[i], to);
  for (const instruction_row *row = budget->rows; row < budget->rows + budget->count; row++)
    if (table_find(now, row->kind, NULL) && !table_find(now, row->kind, row->op)) {
      fprintf(to, "%s %s: budget %.1f, now none\n", row->kind, row->op, row->instructions);
      failures++;
    }
  return failures;
}
