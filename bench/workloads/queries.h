/*
 * A stream of queries for keys that are not members, as numbers of keys from 0: made, or recorded. So filters of all
 * kinds and sizes can be asked the very same, again and again. Which keys these are only the seed of an asker tells.
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
  uint64_t universe;  /* all numbers are below this */
  uint64_t different; /* numbers that occur; of Zipf's queries 0: nobody has counted */
} queries;

/* FireHose's generators (firehose.h). */
queries queries_of_active_set(uint64_t n);
queries queries_of_power_law(uint64_t n);

/* Key 0 is the most popular one. Gives other queries for each seed. */
queries queries_of_zipf(double s, uint64_t universe, uint64_t n, uint64_t seed);

/*
 * The blocks that a machine has read and written, in their order: one of trace_names, whose files bench/fetch_data.sh
 * fetches. They come from block devices, and stand for the traces of networks that papers have used.
 */
enum { TRACES = 3 };
extern const char *const trace_names[TRACES];
queries queries_of_trace(const char *name);

void queries_free(queries *q);

/* The key that a query is for: one of stream_absent of that seed. */
uint64_t queries_key(const queries *q, uint64_t i, uint64_t seed);

/* How often all of them must be asked, by different seeds, for at least so many queries. */
uint64_t queries_turns(const queries *q, uint64_t wanted);

/* Asks for all of them, and tells how many were false positives. */
uint64_t queries_ask(const queries *q, learner *l, uint64_t seed);

#endif
