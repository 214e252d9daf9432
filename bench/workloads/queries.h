/*
 * A sequence of queries for absent keys, generated or recorded, stored as key numbers from 0.
 * Filters of all kinds and sizes can be queried with the same sequence, any number of times. A seed
 * maps the numbers to keys.
 */
#ifndef BENCH_WORKLOADS_QUERIES_H
#define BENCH_WORKLOADS_QUERIES_H

#include <stdint.h>

#include "harness/tested_filter.h"
#include "workloads/key_stream.h"

typedef struct queries {
  const char *name;
  uint32_t *numbers;
  uint64_t n;
  uint64_t universe; /* all numbers are below this */
  uint64_t distinct; /* distinct numbers; 0 for Zipf: not counted */
} queries;

/* From the FireHose generators (firehose_streams.h). */
queries queries_of_active_set(uint64_t n);
queries queries_of_power_law(uint64_t n);

/* Key 0 is the most popular one. Each seed gives another sequence. */
queries queries_of_zipf(double s, uint64_t universe, uint64_t n, uint64_t seed);

/*
 * The blocks that a machine read and wrote, in order: one of trace_names. bench/fetch_data.sh
 * fetches the files. They are traces of block devices and replace the network traces of the papers.
 */
enum { TRACES = 3 };
extern const char *const trace_names[TRACES];
queries queries_of_trace(const char *name);

/*
 * The requests of a trace for its most requested keys, as many of them as there can be with this
 * many requests per key on average. The network traces of the papers have 17 to 27.
 */
queries queries_of_repeated(const queries *whole, double requests_per_key);

void queries_free(queries *q);

/* The key of query i: one of the stream_absent of that seed. */
uint64_t queries_key(const queries *q, uint64_t i, uint64_t seed);

/*
 * How many times the sequence must be run, each time with another seed, to get at least `wanted`
 * queries.
 */
uint64_t queries_passes(const queries *q, uint64_t wanted);

/* Runs all queries. Returns the number of false positives. */
uint64_t queries_run(const queries *q, tested_filter *tested, uint64_t seed);

#endif
