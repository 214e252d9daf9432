/* A chain of layers: the struct of the kind scaling (scaling.c), and how it is merged. */
#ifndef BESOM_LAYERED_SCALING_H
#define BESOM_LAYERED_SCALING_H

#include "layers/layer.h"

#define SCALING_NAME "scaling"
#define SCALING_SUMMARY "a growing chain of filters of another kind, for sets of unknown size"

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

static inline const struct scaling *const_scaling(const besom_filter *f) {
  return (const struct scaling *)f;
}

static inline struct scaling *scaling(besom_filter *f) {
  return (struct scaling *)f;
}

static inline besom_filter *newest(const struct scaling *s) {
  return s->layers[s->n_layers - 1];
}

/* Operations of kind.h, for the form with maplet=yes, too (scaling_maplet.c). */
extern const struct besom_kind besom__scaling_maplet;
besom_status besom__scaling_create_like(besom_filter *f, const besom_filter *model);
void besom__scaling_destroy(besom_filter *f);
void besom__scaling_visit(besom_filter *f, const struct block_visitor *v);
bool besom__scaling_contains(const besom_filter *f, besom_digest d);
void besom__scaling_prefetch(const besom_filter *f, besom_digest d);
void besom__scaling_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap);
void besom__scaling_stats(const besom_filter *f, struct stats_out *out);
const besom_filter *besom__scaling_layer(const besom_filter *f, size_t i);
const char *besom__scaling_validate(const besom_filter *f);
void besom__scaling_save(const besom_filter *f, struct sections_out *out);
besom_status besom__scaling_load(besom_filter *f, struct sections_in *in);

/*
 * Inserts n copies of a key, with a value if the layers are maplets: into the newest layer, an
 * older one or a new one. FULL, NO_MEMORY.
 */
besom_status besom__scaling_insert(besom_filter *f, besom_digest d, uint64_t n, uint64_t value);

/* The operation merge. into has one layer, empty, of level 0. */
besom_status besom__scaling_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);

#endif
