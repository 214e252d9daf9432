/*
 * Real data in the place of what the papers had (CAIDA's packets, Shalla's list of addresses): blocks that a server
 * read and wrote, domains to be blocked, names of packages. A key is 64 bits of a line's hash. One half of the
 * different keys, chosen by lot, are members; the queries are for the other half.
 */
#ifndef BENCH_WORKLOADS_REAL_DATASET_H
#define BENCH_WORKLOADS_REAL_DATASET_H

#include <stddef.h>
#include <stdint.h>

typedef struct real_stream {
  const char *name;
  uint64_t *members, *queries;
  uint64_t member_count, query_count;
} real_stream;

enum { REAL_STREAMS = 3 };

/*
 * trace: the queries come as in the trace. domains, names: lists say nothing about how often a key is asked for, so
 * `drawn` queries are drawn, all keys alike. Fails if bench/fetch_data.sh has not fetched the data.
 */
real_stream real_stream_open(size_t which, uint64_t drawn);
void real_stream_free(real_stream *s);

#endif
