/*
 * maplets.h - the part "maplets" of `make soak`: random operations on a maplet (besom_map.h) and on
 * a model of it.
 *
 * The model has the number of copies of each pair of some thousand keys and up to eight values. It
 * knows which keys share a fingerprint. So it knows for every key which values must be candidates
 * and which may be: of an aqf without a store these are the same values. An episode is one maplet;
 * everything depends only on its seed. The first disagreement ends the program.
 */
#ifndef BESOM_SOAK_MAPLETS_H
#define BESOM_SOAK_MAPLETS_H

#include "besom_map.h"
#include "besom_reverse.h"
#include "bucket_lists.h"
#include "fingerprint.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { MOST_VALUES = 8, MOST_COPIES = 60000 };

typedef enum maplet_form { PLAIN, AS_SET, WITH_STORE, CHAIN, MAPLET_FORMS } maplet_form;

extern const char *const maplet_form_names[MAPLET_FORMS];

typedef struct maplet_counts {
  uint64_t operations, queries, inserts, removes, replaces, adaptations;
  uint64_t resizes, rekeys, builds, merges, saves, mapped, patches, iterations, refused, checks;
  uint64_t shared, layers, episodes; /* shared: keys that were asked, with the pairs of others */
} maplet_counts;

/* Sets of values are masks: bit v is values[v]. */
typedef struct maplet_key {
  uint64_t key;
  besom_digest digest;
  uint32_t group;  /* of the keys with this fingerprint */
  uint8_t denied;  /* reported, and not inserted since */
  uint8_t perhaps; /* the same, but the maplet may have forgotten it */
  uint8_t has;     /* at least one copy */
  uint16_t copies[MOST_VALUES];
} maplet_key;

typedef struct maplet_group {
  uint32_t first, n; /* in order[] */
  uint8_t has;
  uint32_t copies[MOST_VALUES]; /* stored ones: of a set at most one */
} maplet_group;

typedef struct maplet_model {
  maplet_form form;
  besom_config config;
  uint8_t seed[16];
  besom_filter *f;
  uint64_t slots;
  unsigned width;

  size_t n_keys, n_groups;
  maplet_key *keys;
  uint32_t *order; /* the keys by fingerprint */
  maplet_group *groups;
  unsigned n_values;
  uint64_t values[MOST_VALUES];
  uint64_t pairs;     /* stored copies */
  bool counted;       /* pairs is exact: not of a set that was merged */
  bucket_lists store; /* WITH_STORE: numbers are those of keys, values those of values[] */

  bool rising;
  bool full_reserve; /* WITH_STORE: it is moved to a new filter */
  uint64_t most_slots;
  random_stream random;
  failing_allocator *memory;
  uint64_t reads, fail_at; /* calls of digest_of; the one that fails, from 1 */
  bool armed;              /* a call of this operation may fail, and `before` is the maplet */
  memory_sink before;
  maplet_counts *counts;
} maplet_model;

/* Prints what is wrong with a key, or SIZE_MAX, and aborts. */
_Noreturn void maplet_fail(const maplet_model *m, const char *what, size_t key);
#define maplet_demand(m, condition) ((condition) ? (void)0 : maplet_fail((m), #condition, SIZE_MAX))

/* maplets_setup.c: the maplet of an episode, without pairs, and its model. */
void maplet_open(maplet_model *m, maplet_form form, uint64_t seed);
void maplet_close(maplet_model *m);

/* Digests and groups again: the seed or the geometry is new. The copies stay. */
void maplet_regroup(maplet_model *m);
void maplet_bind(maplet_model *m);

/* Another maplet without pairs that can be merged with this one, and a model of it. */
void maplet_open_like(const maplet_model *m, maplet_model *other);
void maplet_close_like(maplet_model *other);

/* Lets some operations fail: out of memory, or a store that cannot be read. */
void maplet_arm(maplet_model *m);
/* Fails if a failed call has changed the maplet. Returns true if it failed due to maplet_arm. */
bool maplet_disarm(maplet_model *m, besom_status status);

/* maplets_pairs.c: operations on single pairs. i is the number of a key, v that of a value. */
void maplet_query(maplet_model *m);
void maplet_insert(maplet_model *m, size_t i, unsigned v);
void maplet_insert_many(maplet_model *m);
void maplet_remove(maplet_model *m, size_t i, unsigned v);
void maplet_remove_key(maplet_model *m, size_t i);
void maplet_replace_pair(maplet_model *m, size_t i, unsigned v, unsigned by);
void maplet_set_value(maplet_model *m, size_t i, unsigned by);
void maplet_adapt(maplet_model *m, size_t i, unsigned v);
void maplet_adapt_key(maplet_model *m, size_t i);

/* Asks a maplet that should answer as that of the model does; returns the candidates. */
uint8_t maplet_ask(const maplet_model *m, const besom_filter *f, size_t i);
/* Candidates that must be there, and those that may be. */
uint8_t maplet_must(const maplet_model *m, size_t i);
uint8_t maplet_may(const maplet_model *m, size_t i);

/* A pair comes, or goes, in the model. */
void maplet_count_in(maplet_model *m, size_t i, unsigned v);
void maplet_count_out(maplet_model *m, size_t i, unsigned v);

/* maplets_whole.c: operations on the whole maplet. */
void maplet_check(maplet_model *m);
void maplet_change_whole(maplet_model *m);
void maplet_move(maplet_model *m); /* WITH_STORE: into an empty one with another seed */

static inline uint64_t maplet_below(maplet_model *m, uint64_t bound) {
  return random_below(&m->random, bound);
}

/* One in n. */
static inline bool maplet_chance(maplet_model *m, uint64_t n) {
  return random_below(&m->random, n) == 0;
}

static inline unsigned maplet_some_value(maplet_model *m) {
  return (unsigned)random_below(&m->random, m->n_values);
}

static inline size_t maplet_some_key(maplet_model *m) {
  return (size_t)random_below(&m->random, m->n_keys);
}

#endif
