/*
 * A chain of layers that alternately hold members and non-members. The first layer holds all
 * members. Each further layer holds the keys of its side that are false positives of the layer
 * before. The first layer that answers no decides: a layer of members (number 0, 2, ...) means no,
 * a layer of non-members means yes. cascade, stacked and adaptive-stacked are such chains.
 */
#ifndef BESOM_LAYERED_LAYER_CHAIN_H
#define BESOM_LAYERED_LAYER_CHAIN_H

#include "layers/layer.h"

struct layer_chain {
  besom_filter **layers; /* an array of max, in the struct of the kind */
  unsigned n, max;
  /* The first layer sees the digest unchanged: saves work when it decides alone. */
  bool plain_first;
  /* Added to the numbers of the other layers: with another one they err differently. */
  uint64_t salt;
};

/*
 * The digest by which a layer sees a key. Layers must err independently, so each sees other bits.
 */
besom_digest besom__layer_chain_digest(const struct layer_chain *chain, unsigned layer,
                                       besom_digest d);

static inline bool layer_chain_has(const struct layer_chain *chain, unsigned layer,
                                   besom_digest d) {
  const besom_filter *f = chain->layers[layer];
  return f->kind->query.contains(f, besom__layer_chain_digest(chain, layer, d));
}

/* The first layer alone: it answers most keys. */
static inline void layer_chain_prefetch(const struct layer_chain *chain, besom_digest d) {
  if (chain->n) layer_prefetch(chain->layers[0], besom__layer_chain_digest(chain, 0, d));
}

/*
 * Adds a layer with the given config that holds all keys of the list. Errors: as besom_create;
 * FULL. On failure the earlier layers remain; the caller calls besom__layer_chain_free.
 */
besom_status besom__layer_chain_add(struct layer_chain *chain, const besom_filter *outer,
                                    const struct layer_kind *base, const besom_config *config,
                                    const struct digests *held);
void besom__layer_chain_free(struct layer_chain *chain);

/* Keeps only the keys of the list that are false positives of the newest layer. */
void besom__layer_chain_keep_false_positives(const struct layer_chain *chain, struct digests *list);

/* The answer for a key to which all layers before `from` answer yes. */
bool besom__layer_chain_answer(const struct layer_chain *chain, unsigned from, besom_digest d);
void besom__layer_chain_answer_many(const struct layer_chain *chain, const besom_digest *d,
                                    size_t n, uint64_t *bitmap);

/* Sums the layers. The false-positive rates are those for keys that were not used for building. */
void besom__layer_chain_stats(const struct layer_chain *chain, struct stats_out *out);
const char *besom__layer_chain_validate(const struct layer_chain *chain);

/*
 * Save and load the sections of the layers only. load expects n layers of one kind that has the
 * operation bits_per_key. Errors of load: as besom__layer_load.
 */
void besom__layer_chain_save(const struct layer_chain *chain, struct sections_out *out);
besom_status besom__layer_chain_load(struct layer_chain *chain, const besom_filter *outer,
                                     struct sections_in *in, uint64_t n);

#endif
