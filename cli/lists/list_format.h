/* The formats in which lists of names are published: hosts files, filter lists of ad blockers, CSV.
 * These functions work in place, within the bytes that they are given. */
#ifndef CLI_LIST_FORMAT_H
#define CLI_LIST_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "besom.h"

/* A part of a text that can be changed. */
typedef struct text_part {
  char *at;
  size_t len;
} text_part;

/* ------------------------------------------------------------------ names */

/* What a line of a list is. */
typedef enum line_kind {
  LINE_EMPTY,     /* or a comment */
  LINE_NAMES,     /* it has names */
  LINE_EXCEPTION, /* adblock: @@ */
  LINE_OTHER      /* something that is not a plain name */
} line_kind;

/*
 * Hosts files: an address, then names, then perhaps a comment after #. hosts_line leaves the names
 * in *line; hosts_name takes the next one, in lower case. It skips the names that hosts files have
 * for the machine itself, such as localhost; false if there are no more.
 */
line_kind hosts_line(text_part *line);
bool hosts_name(text_part *line, besom_bytes *name);

/*
 * Filter lists of ad blockers: ||name^ blocks a domain and all below it. Every other rule is
 * LINE_EXCEPTION or LINE_OTHER: rules with options (except $important and $all, which do not
 * restrict it), patterns, cosmetic rules. The name is in lower case.
 */
line_kind adblock_line(text_part line, besom_bytes *name);

/* ------------------------------------------------------------------ CSV (RFC 4180) */

/*
 * The length of the first record of a text without its line break; *next is where the next one
 * begins. Line breaks may be within quotes; *lines is the number of line breaks.
 */
typedef enum csv_status { CSV_RECORD, CSV_INCOMPLETE, CSV_OPEN_QUOTE } csv_status;
csv_status csv_record(text_part text, bool at_end, size_t *len, size_t *next, size_t *lines);

/* Takes the next field of a record, without its quotes; false if there is none, or if text follows
 * a closing quote (*bad). Begin with *more set to true. */
bool csv_field(text_part *record, bool *more, besom_bytes *field, bool *bad);

#endif
