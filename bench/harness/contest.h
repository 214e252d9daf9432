/*
 * Designs of filters that know or learn their workload, compared in the same total memory: plain,
 * learned, stacked, cached and adaptive filters over text keys. Static designs are built from the
 * members and a sample of queries for absent keys; the others are told of their false positives.
 */
#ifndef BENCH_HARNESS_CONTEST_H
#define BENCH_HARNESS_CONTEST_H

#include <stdbool.h>

#include "besom_guard.h"
#include "besom_plan.h"
#include "workloads/text_list.h"

typedef enum design {
  PLAIN_BLOOM,
  PLAIN_RIBBON,
  LEARNED,
  STACKED_BLOOM,
  STACKED_FUSE,
  CACHED,      /* a Bloom filter with a cache of false positives */
  ADAPT,       /* aqf without the keys: exceptions, within the memory; old ones are forgotten */
  ADAPT_STORE, /* aqf with the keys in a store, as published; rekeys when its reserve is full */
  DESIGNS
} design;

extern const char *const design_names[DESIGNS];

/* Whether the design needs a sample to be built. */
bool design_is_trained(design d);

/* Whether keys can be added and removed. */
bool design_is_dynamic(design d);

typedef struct contestant {
  design design;
  besom_filter *own;        /* unless ADAPT_STORE */
  besom_guard *guard;       /* ADAPT_STORE */
  bool migrating;           /* of the guard */
  uint64_t most_bytes;      /* the largest memory so far; the store is not counted */
  uint64_t false_positives; /* of the guard, so far */
} contestant;

/*
 * A filter of the members of at most `bits` bits per member, with the memory that adapting will
 * take. sample: of queries for absent keys; may be NULL for designs that are not trained.
 */
contestant contestant_create(design d, double bits, text_list *members, besom_workload *sample,
                             uint64_t seed);
void contestant_free(contestant *c);

/* Queries an absent key. Returns true for a false positive, to which the design adapts at once. */
bool contestant_query(contestant *c, besom_bytes key);

/* Only for dynamic designs. */
void contestant_insert(contestant *c, besom_bytes key);
void contestant_remove(contestant *c, besom_bytes key);

#endif
