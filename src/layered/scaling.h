/* A chain of layers: the struct of the kind scaling (scaling.c), and how it is merged. */
#ifndef BESOM_LAYERED_SCALING_H
#define BESOM_LAYERED_SCALING_H

#include "layered/layer.h"

#define MAX_SCALING_LAYERS 40
#define MAX_MERGED_LAYERS 32                   /* of a merged chain, so that it can still grow */
#define MAX_SCALING_COPIES (UINT64_C(1) << 62) /* of all keys, so that no sum overflows */

struct scaling {
  besom_filter head;
  struct layer_kind base;
  besom_filter *layers[MAX_SCALING_LAYERS]; /* the last one is the newest */
  uint8_t levels[MAX_SCALING_LAYERS];       /* of the layers; they do not descend */
  uint64_t n_layers;                        /* at least 1 */
  uint64_t first_capacity;
  uint64_t first_slots; /* of level 0; 0 if fingerprints are no prefixes of the digest */
  double fpr;           /* target of the whole filter */
  double fpr_left;      /* of it, for levels to come */
  uint8_t growth;       /* the next layer has 2^growth times the capacity of the newest, 1 to 16 */
  double reserve;
  double repeated;
  uint64_t copies;
  uint64_t no_capacity;
  uint32_t value_bits;
};

extern const struct besom_kind besom__scaling;

static inline const struct scaling *const_scaling(const besom_filter *f) {
  return (const struct scaling *)f;
}

static inline struct scaling *scaling(besom_filter *f) {
  return (struct scaling *)f;
}

static inline besom_filter *newest(const struct scaling *s) {
  return s->layers[s->n_layers - 1];
}

/* The operations on the chain's exceptions, which the newest layer has; NULL if there are none. */
static inline const struct layer_exception_ops *exception_ops(const struct scaling *s) {
  return s->base.kind->exceptions;
}

/* The operation merge. into has one layer, empty, of level 0. */
besom_status besom__scaling_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);

#endif
