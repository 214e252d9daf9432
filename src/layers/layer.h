/*
 * The layers of a layered filter: how they are created, saved and loaded. Layers are queried by
 * digest, so the hash of the outer filter is used for all.
 */
#ifndef BESOM_LAYERED_LAYER_H
#define BESOM_LAYERED_LAYER_H

#include "kind_options.h"

/*
 * Creates an empty layer of outer, with the numbers of config and the kind and options of base.
 * Errors: as besom_create.
 */
besom_status besom__layer_create(const besom_filter *outer, const struct layer_kind *base,
                                 const besom_config *config, besom_filter **out);

/* Builds a layer from digests, which may be reordered. Errors: as besom_build. */
besom_status besom__layer_build(const besom_filter *outer, const struct layer_kind *base,
                                const besom_config *config, struct digests *digests,
                                besom_filter **out);

/*
 * Layers are loaded in the order in which they were saved. load_built also accepts kinds that
 * cannot insert. Errors of load: CORRUPT, NEWER_VERSION, NO_MEMORY.
 */
void besom__layer_save(const besom_filter *layer, struct sections_out *out);
besom_status besom__layer_load(const besom_filter *outer, struct sections_in *in,
                               besom_filter **layer);
besom_status besom__layer_load_built(const besom_filter *outer, struct sections_in *in,
                                     besom_filter **layer);

/* The same, of the kinds that the caller allows. Loads layers of layers, too. */
besom_status besom__layer_load_if(const besom_filter *outer, struct sections_in *in,
                                  bool (*allowed)(const struct besom_kind *kind),
                                  besom_filter **layer);

/* A copy of a layer, in memory of its own. Errors: NO_MEMORY. */
besom_status besom__layer_clone(const besom_filter *outer, const besom_filter *layer,
                                besom_filter **copy);
besom_status besom__layer_clone_if(const besom_filter *outer, const besom_filter *layer,
                                   bool (*allowed)(const struct besom_kind *kind),
                                   besom_filter **copy);

/* Prefetches what a query of the layer reads. */
static inline void layer_prefetch(const besom_filter *layer, besom_digest d) {
  if (layer->kind->query.prefetch) layer->kind->query.prefetch(layer, d);
}

/* Adds a counter to the one of the same name, if there is one; of longest_chain the maximum. */
void besom__add_to_counter(struct stats_out *outer, besom_counter c);

/* Returns the statistics of a layer, and adds the additive ones to those of the outer filter. */
besom_statistics besom__layer_stats(const besom_filter *layer, struct stats_out *outer);

/*
 * The digest by which layer number i sees a key. Layers that are queried one after the other must
 * err independently, so each one uses other bits of the digest (splitmix64 of both halves).
 */
static inline besom_digest layer_digest(besom_digest d, uint64_t i) {
  uint64_t x = mixed(d.hi + i * UINT64_C(0x9e3779b97f4a7c15));
  return (besom_digest){x, d.lo ^ x * UINT64_C(0xd6e8feb86659fd93)};
}

#endif
