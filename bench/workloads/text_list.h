/* Lists of keys that are texts: from files, one a line, or made up like addresses of web pages. */
#ifndef BENCH_WORKLOADS_TEXT_LIST_H
#define BENCH_WORKLOADS_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "besom.h"

typedef struct text_list {
  char *text;
  besom_bytes *lines;
  uint64_t *weights; /* of the source: how often each is asked; NULL: 1 */
  size_t n;
  size_t at, end; /* of the source: the next one, and where it ends */
} text_list;

/* The last line need not end with a newline. Fails if the file cannot be read. */
text_list text_list_read(const char *path);

/*
 * A column of a line, from 1 on, without the white space around it; 0: the line itself, without that. Empty if there is
 * no such column. delimiter: what stands between columns; 0: white space.
 */
besom_bytes text_column(besom_bytes line, size_t number, char delimiter);

/*
 * n addresses, all different, those of one kind never among those of the other. Suspicious ones have words, hyphens and
 * endings that others have, too, but seldom: a classifier that learns these tells most of them apart.
 */
text_list text_list_urls(size_t n, bool suspicious, uint64_t seed);

/* One of these addresses, written into `out`, with a 0 behind it; gives its length. */
enum { MOST_URL = 96 };
size_t made_up_url(char out[MOST_URL], uint64_t number, bool suspicious, uint64_t seed);

void text_list_free(text_list *l);

/* The first n lines. */
besom_source text_list_source(text_list *l, size_t n);

#endif
