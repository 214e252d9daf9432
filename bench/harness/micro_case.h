/* One kind of filter in besom-bench micro: its configuration and its measurements so far. */
#ifndef BENCH_HARNESS_MICRO_CASE_H
#define BENCH_HARNESS_MICRO_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "harness/driver.h"
#include "harness/latency.h"
#include "harness/timing.h"

typedef struct micro_plan {
  uint64_t slots, width;
  double load;
  uint64_t rounds;
  uint64_t seed;
  const char *isa;     /* NULL for the fastest available */
  const char *options; /* of every kind, instead of isa; NULL for none */
  bool concurrent;     /* BESOM_CONCURRENT */
} micro_plan;

/* Keys in a filter at the load factor of the plan. */
uint64_t micro_plan_items(const micro_plan *p);

/* The FPR of a quotient table at the load factor and width of the plan. */
double micro_plan_fpr(const micro_plan *p);

/* Keys that insert_last inserts and remove removes. */
uint64_t micro_plan_last_items(const micro_plan *p);

/* Queries per round. */
uint64_t micro_plan_queries(const micro_plan *p);

/*
 * insert: from empty to the plan's load. insert_last: the last 5 % of the slots of that. build: by
 * besom_build, from keys. build_sorted: from digests. count: of members. remove: the keys of
 * insert_last. merge: two filters with half of the keys each; the time is per key of both. A kind
 * has the operations that its abilities allow.
 */
typedef enum operation {
  INSERT,
  INSERT_LAST,
  BUILD,
  BUILD_SORTED,
  NEGATIVE,
  POSITIVE,
  COUNT,
  REMOVE,
  MERGE,
  OPERATIONS
} operation;

/* NULL: no such call. */
extern const char *const operation_names[CALL_STYLES][OPERATIONS];

typedef struct micro_case {
  besom_config config;
  uint8_t hash_seed[16];
  char options[32];
  unsigned abilities;                           /* of the kind */
  bool built_whole;                             /* the kind can only be built, not created empty */
  samples nanoseconds[CALL_STYLES][OPERATIONS]; /* one sample per round */
  samples p99[OPERATIONS];                      /* of single calls; one sample per round */
  uint64_t negatives, false_positives;          /* over all rounds */
  /* of an empty filter after micro_case_create, or unknown; of a full one after a round */
  besom_statistics stats;
} micro_case;

/*
 * Chooses the configuration of the kind: by slots and width if it has them. If not, by the capacity
 * and FPR of a quotient table of these slots and this width, so that results are comparable.
 */
void micro_case_create(micro_case *s, const char *kind, const micro_plan *p);
void micro_case_free(micro_case *s);

/*
 * Measures every operation once, in both call styles, with the keys of that seed. Fails if a member
 * is lost.
 */
void micro_case_measure(micro_case *s, const micro_plan *p, driver *d, uint64_t seed);

/*
 * Measures the 99th percentile, in nanoseconds, of single inserts, queries and removes, with a
 * filter of its own. Fails if a call fails or a member is lost.
 */
void micro_case_measure_p99(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                            const tick_clock *clock);

#endif
