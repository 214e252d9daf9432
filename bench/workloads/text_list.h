/* Lists of text keys: the lines of a file, or synthetic URLs. */
#ifndef BENCH_WORKLOADS_TEXT_LIST_H
#define BENCH_WORKLOADS_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "besom.h"

typedef struct text_list {
  char *text;
  besom_bytes *lines;
  uint64_t *weights; /* of the source: queries per line; NULL: 1 each */
  size_t n;
  size_t at, end; /* of the source: the next line, and the end */
} text_list;

/* Reads a file. The last line need not end with a newline. Fails if the file cannot be read. */
text_list text_list_read(const char *path);

/*
 * A column of a line, from 1, without surrounding white space; 0: the whole line, trimmed. Empty if
 * the line has no such column. delimiter: the separator of columns; 0: white space.
 */
besom_bytes text_column(besom_bytes line, size_t number, char delimiter);

/*
 * n distinct synthetic URLs; suspicious and benign ones never coincide. Suspicious URLs often have
 * words, hyphens and domain endings that benign ones rarely have: a classifier that learns these
 * separates most of them.
 */
text_list text_list_urls(size_t n, bool suspicious, uint64_t seed);

/* Writes one of these URLs and a terminating 0 into `out`. Returns its length. */
enum { MAX_URL_BYTES = 96 };
size_t synthetic_url(char out[MAX_URL_BYTES], uint64_t number, bool suspicious, uint64_t seed);

void text_list_free(text_list *l);

/* A source of the first n lines. */
besom_source text_list_source(text_list *l, size_t n);

#endif
