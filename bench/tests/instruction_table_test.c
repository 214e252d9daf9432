/* A budget is read as it was written, and compare finds what grew, what is new and what is gone. */
#include "harness/instruction_table.h"

#include <string.h>

#include "fail.h"

const char *const program_name = "bench_instruction_table";

static FILE *temporary_file(void) {
  FILE *file = tmpfile();
  if (!file) fail("no temporary file");
  return file;
}

/* Counts the lines that compare prints, too: differences that are no failures get one. */
static void expect(const instruction_table *budget, const instruction_table *now, size_t failures,
                   size_t lines) {
  FILE *text = temporary_file();
  size_t found = table_compare(budget, now, text);
  rewind(text);
  size_t printed = 0;
  for (int c; (c = fgetc(text)) != EOF;) printed += c == '\n';
  if (found != failures || printed != lines)
    fail("%zu failures and %zu lines, should be %zu and %zu", found, printed, failures, lines);
  fclose(text);
}

static void expect_one(const instruction_table *budget, const char *op, double instructions,
                       size_t failures, size_t lines) {
  instruction_table now = {0};
  table_add(&now, "qf", "negative", 100);
  table_add(&now, "qf", op, instructions);
  expect(budget, &now, failures, lines);
  table_free(&now);
}

static void test_compare(const instruction_table *budget) {
  expect(budget, budget, 0, 0);
  expect_one(budget, "positive", 210, 0, 0);
  expect_one(budget, "positive", 210.04, 0, 0); /* is printed as 210.0 */
  expect_one(budget, "positive", 210.1, 1, 1);
  expect_one(budget, "positive", 190, 0, 0);
  expect_one(budget, "positive", 150, 0, 1);
  expect_one(budget, "remove", 1, 2, 2); /* new, and positive is gone */
}

int main(void) {
  instruction_table t = {.slots = 4096, .build = "gcc 12, avx2"}, budget = {0};
  table_add(&t, "qf", "negative", 99.96);
  table_add(&t, "qf", "positive", 200);
  table_add(&t, "fuse", "negative", 50.5); /* of a kind that was not counted: no failure */

  FILE *file = temporary_file();
  table_write_budget(&t, file);
  rewind(file);
  table_read_budget(&budget, file, "budget");
  fclose(file);
  if (budget.slots != t.slots || strcmp(budget.build, t.build) != 0 || budget.count != 3)
    fail("the budget was not read as it was written");
  if (table_find(&budget, "qf", "negative")->instructions != 100) fail("numbers are not rounded");
  expect(&budget, &t, 0, 0);
  test_compare(&budget);
  table_free(&t);
  table_free(&budget);
  return 0;
}
