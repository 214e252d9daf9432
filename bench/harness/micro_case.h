/*
 * One kind of filter under measurement by besom-bench micro: its configuration, and what was measured so far.
 */
#ifndef BENCH_HARNESS_MICRO_CASE_H
#define BENCH_HARNESS_MICRO_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "harness/driver.h"
#include "harness/timing.h"

typedef struct plan {
  uint64_t slots, width;
  double load;
  uint64_t rounds;
  uint64_t seed;
  const char *isa;     /* NULL for the best there is */
  const char *options; /* of every kind, instead of isa; NULL for none */
} plan;

/* Keys in a filter that is as full as the plan wants. */
uint64_t plan_items(const plan *p);

/*
 * insert: from empty to the plan's load. insert_last: the last 5 % of the slots of that. build: by besom_build, from
 * keys. build_sorted: from digests. count: of members. remove: those that insert_last put in. merge: two
 * filters with half of the keys each; the time is for each key of both. A kind has those that its abilities allow.
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

/* NULL: there is no such call. */
extern const char *const operation_names[CALL_STYLES][OPERATIONS];

typedef struct subject {
  besom_config config;
  uint8_t hash_seed[16];
  char options[32];
  unsigned abilities;                           /* of the kind */
  bool built_whole;                             /* there is no empty filter of the kind */
  samples nanoseconds[CALL_STYLES][OPERATIONS]; /* one sample a round */
  uint64_t negatives, false_positives;          /* of all rounds */
  besom_statistics stats; /* empty after subject_create, or unknown; full after a round */
} subject;

/*
 * Settles how this kind is configured: by slots and width if it has them. If not, by the capacity and rate
 * that a quotient table of those slots and that width has, so that the figures can be compared.
 */
void subject_create(subject *s, const char *kind, const plan *p);
void subject_free(subject *s);

/* Measures every operation once, in both styles, with the keys of that seed. Fails if a member is lost. */
void subject_measure(subject *s, const plan *p, driver *d, uint64_t seed);

#endif
