/* Generates the queries of the demo, up to a thousand at a time. All keys are synthetic. */
#ifndef CLI_QUERY_GENERATOR_H
#define CLI_QUERY_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zipf.h"

/*
 * ADVERSARIAL: queries absent keys, observes which of them cost a read of the store, and repeats
 * these for as long as they do. ZIPF: one query in ten is for a member; the others are for absent
 * keys that follow a Zipf distribution. UNIFORM: the same, but absent keys are never repeated.
 */
typedef enum workload { ADVERSARIAL, ZIPF, UNIFORM, WORKLOADS } workload;

extern const char *const workload_names[WORKLOADS];

enum { MAX_QUERIES_AT_ONCE = 1000 };

typedef struct query_generator {
  workload workload;
  uint64_t members, generated;
  bool persistent; /* ADVERSARIAL: it also repeats keys that cost no read any more */
  zipf popularity;
  uint64_t *costly; /* ADVERSARIAL: keys whose last query cost a read */
  size_t costly_count;
  size_t repeat_of[MAX_QUERIES_AT_ONCE]; /* per query of the last call: the index in costly of the
                                            key that it repeats, or SIZE_MAX */
} query_generator;

/* The key of a member; members are numbered from 0. */
uint64_t member_key(uint64_t number);

query_generator generator_create(workload kind, uint64_t members);
void generator_free(query_generator *g);

/* Generates the next n <= MAX_QUERIES_AT_ONCE queries. is_member says which keys are members. */
void generator_next(query_generator *g, uint64_t *keys, bool *is_member, size_t n);

/* Tells the adversary which queries of the last call cost a read. */
void generator_observe(query_generator *g, const uint64_t *keys, const bool *was_read, size_t n);

#endif
