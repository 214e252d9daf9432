#include "json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void json_print_text(const char *text) {
  if (!text) {
    printf("null");
    return;
  }
  putchar('"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      printf("\\%c", *c);
    else if ((unsigned char)*c < ' ')
      printf("\\u%04x", (unsigned)*c);
    else
      putchar(*c);
  }
  putchar('"');
}

/* JSON allows no leading zeros or plus signs and requires digits on both sides of a point: "007"
 * and ".5" are strings. */
static bool is_number(const char *text) {
  static const char *const digits = "0123456789";
  if (*text == '-') text++;
  size_t integer = strspn(text, digits);
  if (!integer || (*text == '0' && integer > 1)) return false;
  text += integer;
  if (*text == '.') {
    size_t fraction = strspn(++text, digits);
    if (!fraction) return false;
    text += fraction;
  }
  if (*text == 'e') {
    text++;
    if (*text == '+' || *text == '-') text++;
    size_t exponent = strspn(text, digits);
    if (!exponent) return false;
    text += exponent;
  }
  return !*text;
}

void json_print_cell(const char *cell) {
  if (!*cell)
    printf("null");
  else if (is_number(cell))
    printf("%s", cell);
  else
    json_print_text(cell);
}

void json_print_rows(const report *table) {
  printf("[");
  for (size_t row = 1; row < report_rows(table); row++) {
    printf(row == 1 ? "\n  {" : ",\n  {");
    for (size_t i = 0; i < report_columns(table); i++) {
      if (i) printf(", ");
      json_print_text(report_text(table, 0, i));
      printf(": ");
      json_print_cell(report_text(table, row, i));
    }
    printf("}");
  }
  printf("\n]");
}
