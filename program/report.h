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

/* Prints the table and frees it. */
void report_finish(report *r);

/* Says on stderr, in one line that the next call overwrites, what goes on. Only if stderr is a terminal. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
