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
#include "contract/law.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"

typedef struct model_counts {
  uint64_t operations, queries, inserts, removes, adaptations, bound_adaptations;
  uint64_t growths, rekeys, rebuilds, merges, saves, mapped, patches, refused, checks, episodes;
} model_counts;

/* What a kind promises of a reported key that it answers no to from then on. */
typedef enum promise {
  NO_PROMISE,     /* adaptive cuckoo kinds, adaptive-stacked */
  AT_ONCE,        /* cached: until other reports displace it */
  PER_QUOTIENT,   /* until a key with its quotient is inserted, or a rebuild that is counted */
  PER_FINGERPRINT /* until a key with its quotient and remainder is inserted */
} promise;

/* The order in which keys are taken for changes. */
typedef enum key_order { RANDOM, ASCENDING, DESCENDING, CLUSTERED, KEY_ORDERS } key_order;

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

  size_t universe;
  uint64_t *keys;
  besom_digest *digests;
  uint32_t *copies;
  uint8_t *marks;
  uint64_t items;     /* copies of all keys */
  bucket_lists store; /* of a bound filter: keys of both lists */
  bucket_lists fixed; /* reported keys, by what `keeps` tells */
  uint64_t dropped;   /* model_dropped when the first of them was fixed */
  size_t members_at;  /* the source that adaptive-stacked is bound to */
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
void model_unfix(model *m, besom_digest inserted);
void model_unfix_all(model *m);

/* Lets some operations fail: out of memory, or a store that cannot be read. */
void model_arm(model *m);
/* Fails if a failed call has changed the filter. Returns true if it failed due to model_arm. */
bool model_disarm(model *m, besom_status status);

/* model_whole.c: operations on the whole filter. */
void model_resize(model *m);
void model_rekey(model *m);
void model_merge(model *m);
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

static inline uint64_t model_below(model *m, uint64_t bound) {
  return random_below(&m->random, bound);
}

/* One in n. */
static inline bool model_chance(model *m, uint64_t n) {
  return random_below(&m->random, n) == 0;
}

/* Quotient and remainder as docs/architecture.md defines them, not by the library's code. */
typedef struct fingerprint {
  uint64_t quotient, remainder;
} fingerprint;

static inline fingerprint fingerprint_of(besom_digest d, uint64_t slots, unsigned width) {
  unsigned __int128 low = (unsigned __int128)d.lo * slots;
  unsigned __int128 high = (unsigned __int128)d.hi * slots + (uint64_t)(low >> 64);
  return (fingerprint){(uint64_t)(high >> 64), (uint64_t)high >> (64 - width)};
}

static inline besom_statistics model_stats(const model *m) {
  besom_statistics stats;
  model_demand(m, besom_stats(m->f, &stats) == BESOM_OK);
  return stats;
}

#endif
