/*
 * A small classifier of keys: a logistic model over their n-grams. Every run of 2 to 4 bytes of a key, its begin and
 * its end included, is hashed to one of a few thousand weights; the sum of these is the key's score, and the higher it
 * is the more the key looks like a member.
 *
 * A score is a sum of small whole numbers, so a model gives the same one on every machine. Training computes in
 * floating point, with no other operations than IEEE 754 has exactly, so the same keys under the same seed train the
 * same weights.
 */
#ifndef BESOM_LAYERED_MODEL_H
#define BESOM_LAYERED_MODEL_H

#include "filter.h"

#define MODEL_KEY_BYTES 254 /* what is behind these is not looked at */
#define MODEL_LEAST_LOG 4
#define MODEL_MOST_LOG 20

struct model {
  int8_t *weights; /* 2^log of them; NULL: there is no model */
  unsigned log;    /* MODEL_LEAST_LOG to MODEL_MOST_LOG */
  bool borrowed;   /* the weights are in a mapping */
};

static inline size_t model_bytes(const struct model *m) {
  return m->weights ? (size_t)1 << m->log : 0;
}

/* -128 * 765 to 127 * 765. */
int32_t besom__model_score(const struct model *m, const void *key, size_t len);

void besom__model_free(const besom_filter *f, struct model *m);

/* ------------------------------------------------------------------ samples of keys */

/*
 * Keys of a source, or as many as there is room for: those with the smallest numbers, which are drawn from their
 * digests, so that each key has the same chance and the order of the source has no part in it.
 */
struct key_sample {
  uint8_t *bytes; /* keys one behind the other */
  size_t used, room;
  uint64_t below; /* the numbers of those that are kept */
  uint64_t keys;  /* of the source, copies included */
};

struct sampled_key {
  uint64_t number; /* random, and a key's own */
  uint64_t weight;
  besom_bytes key; /* cut to MODEL_KEY_BYTES */
};

/* Reads the whole source. Errors: NO_MEMORY, INVALID (a NULL key), CANCELLED, what the source returned. */
besom_status besom__key_sample_read(const besom_filter *f, const besom_source *source,
                                    const besom_progress *progress, struct key_sample *out);
void besom__key_sample_free(const besom_filter *f, struct key_sample *s);

/* The key at *at, which moves on to the next one; false at the end. */
bool besom__key_sample_next(const struct key_sample *s, size_t *at, struct sampled_key *out);

/* Every fourth key is not trained with, to see what the model makes of keys that it does not know. */
static inline bool sample_held_out(const struct sampled_key *k) {
  return k->number % 4 == 0;
}

/* Trains 2^log weights with both samples. Errors: NO_MEMORY, CANCELLED. */
besom_status besom__model_train(const besom_filter *f, unsigned log, const struct key_sample *yes,
                                const struct key_sample *no, const besom_progress *progress,
                                struct model *out);

#endif
