/*
 * Recorded requests, read from a file in order. Some requests write a key, which is a member from
 * then on. The others query a key: for example, reads of a disk against the sectors written before.
 */
#ifndef BENCH_WORKLOADS_REQUEST_TRACE_H
#define BENCH_WORKLOADS_REQUEST_TRACE_H

#include "workloads/text_list.h"

/* How a line encodes a request. Columns count from 1; white space around a column is ignored. */
typedef struct trace_format {
  size_t key_column;  /* 0: the whole line is the key */
  size_t role_column; /* 0: all requests are queries */
  char delimiter;     /* between columns; 0: white space */
  const char *writes,
      *queries; /* values of the role column; queries NULL: every value other than writes */
} trace_format;

typedef struct request {
  besom_bytes key;
  bool writes;
  bool known; /* written by an earlier request, or in the yes list */
} request;

typedef struct trace {
  text_list lines;
  request *requests;
  size_t n;
} trace;

/*
 * Reads a trace. Skips lines without a key and lines whose role is neither of the two. yes: initial
 * members, or NULL; it must outlive the trace. Fails if the file cannot be read.
 */
trace trace_read(const char *path, const trace_format *format, const text_list *yes);
void trace_free(trace *t);

/*
 * The two halves of an experiment with a fixed set. Members: the keys that the first n requests
 * write, without duplicates and without the yes list, in order of first write. Queries: the queries
 * from request n on. Both must not outlive the trace; free them by text_list_free.
 */
text_list trace_members(const trace *t, size_t n);
text_list trace_queries(const trace *t, size_t n);

#endif
