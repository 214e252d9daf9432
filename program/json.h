/*
 * JSON on stdout. Members have the same name in the output of every verb: see docs/cli.md.
 */
#ifndef PROGRAM_JSON_H
#define PROGRAM_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "report.h"

/* Prints a string in quotes, with the escapes that JSON requires; NULL is printed as null. */
void json_print_text(const char *text);

/* Prints a table cell: a number if it is a valid JSON number, null if empty, else a string. */
void json_print_cell(const char *cell);

/* Prints a table as an array of objects, one line per row. The columns name the members. */
void json_print_rows(const report *table);

/*
 * A value that is written member by member, on one line:
 *
 *   json j = {0};
 *   json_open(&j, NULL, '{');
 *   json_count(&j, "keys", 3);
 *   json_open(&j, "layers", '[');
 *   json_text(&j, NULL, "bloom");
 *   json_close(&j);
 *   json_close(&j);
 *
 * prints {"keys":3,"layers":["bloom"]}. The name is NULL for the elements of an array, and for the
 * outermost value. Values nest up to JSON_DEPTH levels.
 */
enum { JSON_DEPTH = 8 };

typedef struct json {
  char closing[JSON_DEPTH];
  unsigned depth;
  bool more; /* the next member follows a comma */
} json;

/* bracket: '{' or '['. json_close of the outermost value ends the line. */
void json_open(json *j, const char *name, char bracket);
void json_close(json *j);

void json_text(json *j, const char *name, const char *text); /* NULL: null */
void json_count(json *j, const char *name, uint64_t count);
void json_real(json *j, const char *name, double number); /* null if it is not finite */
void json_flag(json *j, const char *name, bool flag);

/* Any bytes, such as a key. If they are not UTF-8, the member "NAME_hex" has them as hexadecimal
 * digits. */
void json_bytes(json *j, const char *name, const void *data, size_t len);

#endif
