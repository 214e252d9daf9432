/* JSON on stdout, for programs. */
#ifndef PROGRAM_JSON_H
#define PROGRAM_JSON_H

#include "report.h"

/* A text in quotes, with escapes where JSON wants them; NULL is null. */
void json_print_text(const char *text);

/* A cell of a table: a number if it reads as one of JSON, null if it is empty, else a text. */
void json_print_cell(const char *cell);

/* A table as an array of objects, a line for each row, whose members are named like the columns. */
void json_print_rows(const report *table);

#endif
