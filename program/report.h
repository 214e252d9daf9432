/* Tables, printed with aligned columns or as CSV, and progress messages. */
#ifndef PROGRAM_REPORT_H
#define PROGRAM_REPORT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct report report;

/* The array of columns must stay valid until the report is freed. */
report *report_create(const char *const *columns, size_t column_count, bool csv);

/* Adds a cell: row by row, from left to right. A cell holds up to 127 bytes; longer text is cut.
 * Cells of a CSV report are not quoted, so they must not contain commas. */
void report_cell(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The rows so far and their cells; row 0 holds the column names. */
size_t report_rows(const report *r);
size_t report_columns(const report *r);
const char *report_text(const report *r, size_t row, size_t column);

/* report_finish prints the table and frees it. */
void report_print(const report *r);
void report_free(report *r);
void report_finish(report *r);

/* Prints a line on stderr that the next call overwrites. Does nothing if stderr is no terminal. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
