/*
 * Prints a table with cells that are hard to encode in JSON, each beside its text in hexadecimal.
 * tests/json.sh compares the two.
 */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"

const char *const program_name = "json_cells";

static const char *const cells[] = {
    "",         "0",
    "-0",       "12",
    "-1.5",     "0.25",
    "1e9",      "2.5e-07",
    "1E5",      "007",
    ".5",       "5.",
    "1e",       "1e+",
    "+1",       "-",
    "nan",      "inf",
    "0x10",     "1 2",
    "true",     "null",
    "a\"b",     "back\\slash",
    "tab\tbed", "\n\r",
    "\x01\x1f", "a/b",
    "50 %",     "{}",
    "[",        ",",
    "1,5",      "\xc3\xa9t\xc3\xa9",
};

int main(void) {
  static const char *const columns[] = {"cell", "a \"quoted\" column"};
  report *r = report_create(columns, 2, false);
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    char hex[64] = "x";
    for (size_t k = 0; k < strlen(cells[i]); k++)
      snprintf(hex + 1 + 2 * k, 3, "%02x", (unsigned char)cells[i][k]);
    report_cell(r, "%s", cells[i]);
    report_cell(r, "%s", hex);
  }
  json_print_rows(r);
  report_free(r);
  return 0;
}
