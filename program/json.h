/* JSON on stdout. */
#ifndef PROGRAM_JSON_H
#define PROGRAM_JSON_H

#include "report.h"

/* Prints a string in quotes, with the escapes that JSON requires; NULL is printed as null. */
void json_print_text(const char *text);

/* Prints a table cell: a number if it is a valid JSON number, null if empty, else a string. */
void json_print_cell(const char *cell);

/* Prints a table as an array of objects, one line per row. The columns name the members. */
void json_print_rows(const report *table);

#endif
