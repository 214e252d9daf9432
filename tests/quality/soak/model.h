/*
 * model.h - the part "model" of `make soak`: random operations on a filter and on a model of it.
 *
 * The model is a universe of some thousand keys, given by their digests, and arrays that say for
 * each key how many copies are in the filter, whether it was reported, and whether it is on the no
 * list. An episode is one filter: form, geometry, load, order of the keys and operations depend
 * only on its seed. The first disagreement ends the program with 1 and says what it was.
 */
#ifndef BESOM_SOAK_MODEL_H
#define BESOM_SOAK_MODEL_H

#include "besom_reverse.h"
#include "bucket_lists.h"
#include "fingerprint.h"
#include "laws/law.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"

typedef struct model_counts {
  uint64_t operations, queries, inserts, removes, adaptations, bound_adaptations;
  uint64_t resizes, rekeys, rebuilds, merges, bound_merges, saves, mapped, patches, refused, checks;
  uint64_t values, iterations, moves, episodes;
  uint64_t reported, learned; /* kinds that learn later: reported keys, and those answered no */
} model_counts;

/* What a kind promises of a reported key. */
typedef enum promise {
  NO_PROMISE,   /* adaptive-stacked learns later, over its members; exaf, taf, utaf as published */
  MOSTLY,       /* adaptive cuckoo kinds: the other fingerprint may match, too; see MOST_UNFIXED */
  AT_ONCE,      /* no; cached and scaling forget, a published aqf undoes other reports */
  PER_QUOTIENT, /* until a key with its quotient is inserted, or a rebuild that is counted */
  PER_FINGERPRINT, /* until a key with its quotient and remainder is inserted */
  PER_KEY /* exceptions of other kinds: until it is inserted, or another filter is merged in that
             answers yes */
} promise;

/* The order in which keys are taken for changes. */
typedef enum key_order { RANDOM, ASCENDING, DESCENDING, CLUSTERED, KEY_ORDERS } key_order;

/*
 * Of kinds that promise MOSTLY, the share of reported keys that are still answered yes directly
 * after the report, of a filter with at least LEAST_REPORTS of them. Measured with 20,000,000
 * operations of each kind: at most 1 in 20 (acf-cyclic with one selector bit), 1 in 110 of the
 * other forms. If reports did nothing, it would be all.
 */
enum { LEAST_REPORTS = 100, MOST_UNFIXED = 8 /* one in 8 */ };

/* Marks of a key. */
enum { FIXED = 1, NO_LISTED = 2, BUILT_NO = 4 /* on the no list that the filter was built with */ };

typedef struct model {
  const subject *form;
  besom_config config;
  uint8_t seed[16]; /* of the filter */
  besom_filter *f;
  unsigned can; /* abilities */
  promise keeps;
  bool has_keys;  /* the digests are those of keys; else they are made up */
  bool key_only;  /* the kind looks at the bytes of a key: queries by digest say less */
  bool is_static; /* made by besom_build only */
  bool bound, adapts, selectors;
  bool by_quotient; /* its buckets are quotients, which change with the size */

  size_t universe;
  uint64_t *keys;
  besom_digest *digests;
  uint32_t *copies;
  uint8_t *marks;
  uint64_t items;            /* copies of all keys */
  bucket_lists store;        /* of a bound filter: keys of both lists */
  const besom_filter *other; /* that is merged with this one, with a store of its own */
  bucket_lists other_store;
  bool has_values; /* value_bits is not 0; of a bound filter, records have the values */
  /* of an unbound one: per fingerprint the number of its copies, and a value */
  bucket_lists values;
  bucket_lists fixed;                    /* reported keys, by what `keeps` tells */
  uint64_t dropped;                      /* model_dropped when the first of them was fixed */
  bool can_empty_reserve, empty_reserve; /* if it is full, after the queries that were begun */
  uint64_t reports, unfixed; /* MOSTLY: reports, and those that did not change the answer */
  uint8_t *reported;         /* NO_PROMISE: whether a key was reported */
  size_t members_at;         /* the source that adaptive-stacked is bound to */
  besom_u64_key current;

  key_order order;
  size_t cursor;
  bool rising;   /* more inserts than removes */
  size_t full;   /* inserts that were refused */
  size_t layers; /* of a kind that grows by layers */
  uint64_t most_slots;
  random_stream random;
  failing_allocator memory;
  uint64_t reads, fail_at; /* calls of digest_of; the one that fails, from 1 */
  bool armed;              /* a call of this operation may fail, and `before` is the filter */
  memory_sink before;
  uint64_t episode, step;
  const char *repeat; /* the arguments that repeat this batch, or NULL */
  model_counts *counts;
} model;

/* Prints what is wrong, and how to see it again; ends the program with 1. */
_Noreturn void model_fail(const model *m, const char *what, size_t key);
#define model_demand(m, condition) ((condition) ? (void)0 : model_fail((m), #condition, SIZE_MAX))

/* model_setup.c: an episode's filter. false if the kind does not accept the configuration. */
bool model_open(model *m, const subject *form, uint64_t seed);
void model_close(model *m);

/* Binds the filter to the store, or to the source of its members, if the episode has one. */
void model_bind(model *m);
void model_bind_to(model *m, besom_filter *f);     /* to the store of the model, or of m->other */
void model_bind_groups(model *m, besom_filter *f); /* of a copy of the filter, if it needs that */
void model_set_reserve(model *m);

/* Reads digests of the keys, abilities and counters again: the filter or its seed is new. */
void model_renew(model *m, bool new_seed);

/* Builds the filter of a static kind from the model. */
besom_status model_build(model *m, const besom_filter *update, besom_filter **out);

/* model_ops.c: operations on single keys. */

/* How often the filter says that it has dropped adaptations: by rebuilds, or because it forgot. */
uint64_t model_dropped(const model *m);

size_t model_pick(model *m);
void model_query(model *m);
void model_insert(model *m, size_t i);
void model_remove(model *m, size_t i);
void model_adapt(model *m, size_t i);
void model_change_no_list(model *m, size_t i);
void model_answer(model *m, size_t i, bool yes); /* fails if the answer is wrong */
void model_fix(model *m, size_t i);              /* it was reported */
void model_unfix(model *m, besom_digest inserted);
void model_unfix_all(model *m);

/* Lets some operations fail: out of memory, or a store that cannot be read. */
void model_arm(model *m);
/* Fails if a failed call has changed the filter. Returns true if it failed due to model_arm. */
bool model_disarm(model *m, besom_status status);

/*
 * model_values.c: values. Keys with equal fingerprints share one, unless the filter is bound.
 * model_use_value compares and sets that of a member; the others keep the model up to date.
 */
void model_use_value(model *m, size_t i);
void model_check_values(model *m);
void model_value_inserted(model *m, size_t i, uint64_t n);
void model_value_removed(model *m, size_t i);
void model_values_zero(model *m); /* after a rebuild from keys */
uint32_t model_some_value(model *m);

/* Equal for keys with the same quotient and remainder; the same after a resize. */
uint64_t model_address(const model *m, besom_digest d);

/* model_entries.c: iterators. Visits all entries, with queries meanwhile, or only some. */
void model_iterate(model *m);

/* model_merge.c: with a filter of some other keys, both bound or both unbound. */
void model_merge(model *m);

/* All records, from the lowest bucket on, in the order of their ranks; the caller calls free(). */
typedef struct model_record {
  uint64_t bucket;
  uint32_t rank, number, value;
} model_record;
model_record *model_records(const bucket_lists *store, size_t *n);

/* model_whole.c: operations on the whole filter. */
void model_replace(model *m, besom_filter *by);
void model_before_new_table(model *m);
void model_build_again(model *m);
void model_resize(model *m);
void model_rekey(model *m);
void model_move(model *m); /* a bound aqf: its members, into a new one */
void model_save(model *m);
void model_rebuild(model *m);

/*
 * model_run.c: random operations, and a check at the end. Those on the whole filter are some
 * model_pause steps apart.
 */
void model_run(model *m, uint64_t steps);

static inline uint64_t model_pause(const model *m) {
  return m->universe < 500 ? 500 : m->universe;
}

/* model_check.c: every key, count and entry. */
void model_check(model *m);
/* At the end of an episode: whether reports have had an effect. */
void model_check_reports(model *m);

static inline uint64_t model_below(model *m, uint64_t bound) {
  return random_below(&m->random, bound);
}

/* One in n. */
static inline bool model_chance(model *m, uint64_t n) {
  return random_below(&m->random, n) == 0;
}

static inline besom_statistics model_stats(const model *m) {
  besom_statistics stats;
  model_demand(m, besom_stats(m->f, &stats) == BESOM_OK);
  return stats;
}

#endif
