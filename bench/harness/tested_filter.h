/*
 * A filter that is asked for keys which are not members, and learns of its false positives if it can: in one of the
 * ways in which a user of the library would have it. Claims compare the ways on the same keys.
 */
#ifndef BENCH_HARNESS_TESTED_FILTER_H
#define BENCH_HARNESS_TESTED_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "harness/driver.h"

/* qf: never. aqf_marks: by besom_adapt, without a store. aqf_store: by a guard, which lengthens fingerprints. */
typedef enum learning { NEVER, MARKS, STORE, LEARNINGS } learning;

extern const char *const learning_names[LEARNINGS];

typedef struct learner {
  const besom_filter *filter;
  besom_filter *own;   /* the same, but for STORE */
  besom_guard *guard;  /* of STORE */
  bool adapts;         /* MARKS: else false positives are not reported to it */
  uint64_t adapt_full; /* false positives that it had no room for */
} learner;

/* A table of that geometry with the first n members of key_seed in it, hashed by the seed of filter_seed. */
typedef struct setting {
  uint64_t slots, members;
  double reserve; /* 0 for the default */
  uint64_t key_seed, filter_seed;
} setting;

learner learner_create(learning way, const setting *s, driver *d);

/* A filter of any kind that can learn in that way, with the first n members of key_seed. */
learner learner_create_as(learning way, const besom_config *config, uint64_t key_seed,
                          uint64_t members, driver *d);
/* A filter of that config with the first n keys of a stream in it. d: not for STORE, may be NULL then. */
learner learner_create_of(learning way, const besom_config *config, const key_stream *members,
                          uint64_t n, driver *d);

/* A filter of any kind that can stand in front of a store, with the first n members of key_seed. */
learner learner_create_guard(const besom_config *config, uint64_t key_seed, uint64_t members);
void learner_free(learner *l);

/* Asks for a key that is no member: true for a false positive, which is learnt from at once. */
bool learner_ask(learner *l, uint64_t key);

/* A key becomes a member, that was none; a member leaves. */
void learner_insert(learner *l, uint64_t key);
void learner_remove(learner *l, uint64_t key);

besom_statistics learner_stats(const learner *l);

/* Asks for the keys and learns; returns the seconds of CPU time, and how many were false positives. */
double learner_ask_all(learner *l, const uint64_t *keys, uint64_t n, uint64_t *hits);

/* Bits a key that learning has taken of the room for it; 0 for kinds whose room for that is fixed. */
double learner_extra_bits(const learner *l, double reserve);

#endif
