/*
 * A small classifier of keys: logistic regression over byte n-grams. Every run of 2 to 4 bytes of a
 * key, its start and end included, is hashed to one of a few thousand weights. The sum of these
 * weights is the score of the key. The higher the score, the more the key looks like a member.
 *
 * A score is a sum of small integers, so a classifier gives the same score on every machine.
 * Training uses floating point, but only operations that IEEE 754 defines exactly. So the same keys
 * under the same seed train the same weights.
 */
#ifndef BESOM_LAYERED_KEY_CLASSIFIER_H
#define BESOM_LAYERED_KEY_CLASSIFIER_H

#include "kind.h"

#define CLASSIFIER_KEY_BYTES 254 /* further bytes of a key are ignored */
#define CLASSIFIER_MIN_LOG 4
#define CLASSIFIER_MAX_LOG 20

struct key_classifier {
  int8_t *weights; /* 2^log of them; NULL: no classifier */
  unsigned log;    /* CLASSIFIER_MIN_LOG to CLASSIFIER_MAX_LOG */
  bool borrowed;   /* the weights are in a mapping */
};

static inline size_t key_classifier_bytes(const struct key_classifier *m) {
  return m->weights ? (size_t)1 << m->log : 0;
}

/* The score: -128 * 765 to 127 * 765. */
int32_t besom__key_classifier_score(const struct key_classifier *m, const void *key, size_t len);

void besom__key_classifier_free(const besom_filter *f, struct key_classifier *m);

/* ------------------------------------------------------------------ samples of keys */

/*
 * Keys of a source, or as many as fit: those with the smallest numbers. Numbers are derived from
 * digests, so each key has the same chance, independent of the order of the source.
 */
struct key_sample {
  uint8_t *bytes; /* the keys, one after the other */
  size_t used, allocated;
  uint64_t below; /* the numbers of the kept keys are below this */
  uint64_t keys;  /* of the source, including copies */
};

struct sampled_key {
  uint64_t number; /* random, but fixed per key */
  uint64_t weight;
  besom_bytes key; /* truncated to CLASSIFIER_KEY_BYTES */
};

/*
 * Reads the whole source. Errors: NO_MEMORY, INVALID (a NULL key), CANCELLED, what the source
 * returned.
 */
besom_status besom__key_sample_read(const besom_filter *f, const besom_source *source,
                                    const besom_progress *progress, struct key_sample *out);
void besom__key_sample_free(const besom_filter *f, struct key_sample *s);

/* Reads the key at *at and advances *at. False at the end. */
bool besom__key_sample_next(const struct key_sample *s, size_t *at, struct sampled_key *out);

/* Every fourth key is held out of training, for evaluation. */
static inline bool key_sample_held_out(const struct sampled_key *k) {
  return k->number % 4 == 0;
}

/* Trains 2^log weights with both samples. Errors: NO_MEMORY, CANCELLED. */
besom_status besom__key_classifier_train(const besom_filter *f, unsigned log,
                                         const struct key_sample *yes, const struct key_sample *no,
                                         const besom_progress *progress,
                                         struct key_classifier *out);

#endif
