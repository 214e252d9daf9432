#define _DEFAULT_SOURCE 1 /* isatty, fileno */

#include "report.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

typedef struct cell {
  char text[128];
} cell;

struct report {
  const char *const *columns;
  size_t column_count;
  bool csv;
  cell *cells; /* row by row */
  size_t cell_count, cell_room;
};

report *report_create(const char *const *columns, size_t column_count, bool csv) {
  report *r = allocate(1, sizeof *r);
  *r = (report){.columns = columns, .column_count = column_count, .csv = csv};
  return r;
}

void report_cell(report *r, const char *format, ...) {
  if (r->cell_count == r->cell_room) {
    r->cell_room = r->cell_room ? 2 * r->cell_room : 64;
    r->cells = reallocate(r->cells, r->cell_room, sizeof *r->cells);
  }
  cell *c = &r->cells[r->cell_count++];
  va_list values;
  va_start(values, format);
  vsnprintf(c->text, sizeof c->text, format, values);
  va_end(values);
}

size_t report_rows(const report *r) {
  return 1 + r->cell_count / r->column_count;
}

size_t report_columns(const report *r) {
  return r->column_count;
}

const char *report_text(const report *r, size_t row, size_t column) {
  return row ? r->cells[(row - 1) * r->column_count + column].text : r->columns[column];
}

static int column_width(const report *r, size_t column) {
  size_t width = strlen(r->columns[column]);
  for (size_t i = column; i < r->cell_count; i += r->column_count) {
    size_t len = strlen(r->cells[i].text);
    if (len > width) width = len;
  }
  return (int)width;
}

/* Text is aligned to the left; numbers to the right, so that their digits line up. */
static bool is_text_column(const report *r, size_t column) {
  return column < r->cell_count && isalpha((unsigned char)r->cells[column].text[0]);
}

static void print_cell(const report *r, size_t column, const char *text) {
  bool last = column + 1 == r->column_count;
  if (r->csv) {
    printf("%s%s", text, last ? "\n" : ",");
    return;
  }
  if (!is_text_column(r, column))
    printf("%*s", column_width(r, column), text);
  else
    printf("%-*s", last ? 0 : column_width(r, column), text);
  printf("%s", last ? "\n" : "  ");
}

void report_print(const report *r) {
  for (size_t i = 0; i < r->column_count; i++) print_cell(r, i, r->columns[i]);
  for (size_t i = 0; i < r->cell_count; i++) print_cell(r, i % r->column_count, r->cells[i].text);
}

void report_free(report *r) {
  free(r->cells);
  free(r);
}

void report_finish(report *r) {
  report_print(r);
  report_free(r);
}

/* ------------------------------------------------------------------ progress */

static const char *const erase_line = "\r\033[K";

void progress(const char *format, ...) {
  if (!isatty(fileno(stderr))) return;
  fputs(erase_line, stderr);
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\r', stderr); /* an error message overwrites the line */
  fflush(stderr);
}

void progress_end(void) {
  if (isatty(fileno(stderr))) fputs(erase_line, stderr);
}
