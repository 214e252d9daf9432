/*
 * What the program prints: tables, aligned for people or as CSV for programs, and signs of life.
 */
#ifndef PROGRAM_REPORT_H
#define PROGRAM_REPORT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct report report;

/* columns must outlive the report. */
report *report_create(const char *const *columns, size_t column_count, bool csv);

/* Adds a cell, row by row from left to right. In CSV cells are not quoted: no commas in them. */
void report_cell(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What was put in so far: its rows, and their texts; row 0 has the names of the columns. */
size_t report_rows(const report *r);
size_t report_columns(const report *r);
const char *report_text(const report *r, size_t row, size_t column);

/* Prints the table; frees it; or both. */
void report_print(const report *r);
void report_free(report *r);
void report_finish(report *r);

/* Says on stderr, in one line that the next call overwrites, what goes on. Only if stderr is a terminal. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
