/*
 * Requests that were recorded somewhere, from a file, in their order. Some write a key (it is a member from then on),
 * the others ask for one: reads of a disk, say, against the sectors that were written before.
 */
#ifndef BENCH_WORKLOADS_REQUEST_TRACE_H
#define BENCH_WORKLOADS_REQUEST_TRACE_H

#include "workloads/text_list.h"

/* How requests stand in the lines of a file. Columns count from 1; white space around them does not belong to them. */
typedef struct trace_form {
  size_t key_column;  /* 0: the whole line is the key */
  size_t role_column; /* 0: all are queries */
  char delimiter;     /* between columns; 0: white space */
  const char *writes,
      *asks; /* what stands in the role column; asks NULL: whatever does not write */
} trace_form;

typedef struct request {
  besom_bytes key;
  bool writes;
  bool known; /* it was written by an earlier request, or is in the yes list */
} request;

typedef struct trace {
  text_list lines;
  request *requests;
  size_t n;
} trace;

/*
 * Lines without a key, and with neither of the two roles, are no requests. yes: keys that are members from the
 * beginning; it must live as long as the trace; NULL: none. Fails if there is no such file.
 */
trace trace_read(const char *path, const trace_form *form, const text_list *yes);
void trace_free(trace *t);

/*
 * The two halves of an experiment whose set does not change: all keys that the first n requests write, once each, in
 * the order in which they first were (without those of the yes list); and the queries from request n on. Both live as
 * long as the trace, and are freed by text_list_free.
 */
text_list trace_members(const trace *t, size_t n);
text_list trace_queries(const trace *t, size_t n);

#endif
