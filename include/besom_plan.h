/*
 * besom_plan.h - workloads, and filters planned for them.
 *
 * A workload counts which absent keys are queried how often, in bounded memory. A `stacked` filter
 * that is built with it has several times fewer false positives over such queries in the same
 * memory.
 *
 *     besom_workload *w;
 *     besom_workload_create(0, NULL, &w);
 *     while (...) besom_workload_add(w, key, len, 1);        // past queries
 *     besom_source no = besom_workload_source(w);
 *     besom_config config = {.kind = "stacked", .bits_per_key = 10};
 *     besom_build(&config, &(besom_input){.yes = &yes, .no = &no}, &f);
 *
 * Threads: a workload needs every call to itself, except besom_workload_stats and besom_plan, which
 * may run beside each other. Two workloads are independent.
 */
#ifndef BESOM_PLAN_H
#define BESOM_PLAN_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- workloads */

/*
 * Counts are exact while all keys fit in memory. When they do not, every count is lowered by the
 * median count and keys with count 0 are dropped (Misra and Gries): with room for m keys, a count
 * is too low by at most 2 / m of all queries. Dropped queries count as queries for unknown keys.
 * Members among the queries do no harm.
 */
typedef struct besom_workload besom_workload;

/*
 * memory: bytes it may use, 0 for 64 MB; twice that for a moment while it grows or drops keys.
 * allocator may be NULL. Errors: INVALID (less than 4096 bytes), NO_MEMORY, IO (no random bytes for
 * the seed of its hash).
 */
BESOM_API besom_status besom_workload_create(uint64_t memory, const besom_allocator *allocator,
                                             besom_workload **out);

/* NULL is allowed. */
BESOM_API void besom_workload_free(besom_workload *w);

/*
 * Counts `times` queries for a key. Errors: INVALID (times is 0, or 2^62 in all), FULL (the key is
 * longer than a sixteenth of the memory), NO_MEMORY.
 */
BESOM_API besom_status besom_workload_add(besom_workload *w, const void *key, size_t len,
                                          uint64_t times);

/*
 * The keys with their counts as weights, in no particular order. Read it to its end, or rewind it,
 * before you make another one or add a key.
 */
BESOM_API besom_source besom_workload_source(besom_workload *w);

typedef struct besom_workload_statistics {
  uint64_t queries; /* all */
  uint64_t keys;    /* remembered */
  uint64_t known;   /* queries counted for them */
  uint64_t error;   /* a count is too low by at most this */
  uint64_t bytes;   /* memory in use */
  double unseen;    /* estimated share of future queries for other keys (leave-one-out) */
} besom_workload_statistics;

BESOM_API besom_status besom_workload_stats_sized(const besom_workload *w,
                                                  besom_workload_statistics *stats, size_t size);
static inline besom_status besom_workload_stats(const besom_workload *w,
                                                besom_workload_statistics *stats) {
  return besom_workload_stats_sized(w, stats, sizeof *stats);
}

/* -------------------------------------------------------------- plans */

#define BESOM_PLAN_LAYERS 15

/* Constraints of a plan. Zero means none, or the planner's choice. */
typedef struct besom_plan_limits {
  double worst_fpr;     /* false-positive rate for keys outside of the workload */
  double checks;        /* mean number of layers probed per negative query: 1 or more */
  double checks_member; /* and per positive query */
  double epsilon;       /* how far the objective may be from its optimum; default 1 % of it */
  uint32_t layers;      /* maximum, an odd number up to BESOM_PLAN_LAYERS */
  uint64_t frequent;    /* how many of the most frequent keys to store, exactly */
  bool equal_rates;     /* one false-positive rate for all layers: simpler, 1 to 2 % worse */
} besom_plan_limits;

/* A planned stacked filter. */
typedef struct besom_stack_plan {
  uint64_t frequent;               /* keys of the workload to store: the most frequent ones */
  double share;                    /* share of the negative queries that are for them */
  uint32_t layers;                 /* odd layers hold members, even layers those keys */
  double rates[BESOM_PLAN_LAYERS]; /* false-positive rate of each layer */
  double bits_per_key;             /* per member, including metadata */
  double expected_fpr;             /* over queries like the workload */
  double worst_fpr;                /* over any other queries */
  double checks_member, checks;    /* mean layers probed: positive query; negative query */
} besom_stack_plan;

/*
 * The best stacked filter for set_size keys. Reads of config: kind ("stacked"), options, and fpr
 * (over the workload) or bits_per_key. The objective is the expected false-positive rate, or the
 * bits per key if fpr is given. limits may be NULL: the options' limits, and 2.5 layers per
 * positive query, as besom_build uses. Cost: one pass over the workload and some milliseconds.
 * Errors: INVALID (also: no stack satisfies all limits), UNKNOWN_KIND, UNSUPPORTED (the kind is not
 * planned), BAD_OPTION, NO_MEMORY.
 */
BESOM_API besom_status besom_plan_sized(const besom_config *config, size_t config_size,
                                        uint64_t set_size, const besom_workload *workload,
                                        const besom_plan_limits *limits, size_t limits_size,
                                        besom_stack_plan *plan, size_t plan_size);
static inline besom_status besom_plan(const besom_config *config, uint64_t set_size,
                                      const besom_workload *workload,
                                      const besom_plan_limits *limits, besom_stack_plan *plan) {
  return besom_plan_sized(config, sizeof *config, set_size, workload, limits, sizeof *limits, plan,
                          sizeof *plan);
}

#ifdef __cplusplus
}
#endif

#endif
