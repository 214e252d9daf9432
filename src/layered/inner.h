/*
 * Filters within filters: which kind they are of, by the option base=KIND, and how they are made, saved and loaded.
 * Inner filters are asked by digests alone, so that the outer one's hash is the hash of all.
 */
#ifndef BESOM_LAYERED_INNER_H
#define BESOM_LAYERED_INNER_H

#include "core/options.h"
#include "filter.h"

#define INNER_OPTIONS_BYTES 64

/* The kind of the inner filters, and the options that are for them. */
struct inner_kind {
  const struct besom_kind *kind;
  char options[INNER_OPTIONS_BYTES];
  bool may_be_built; /* from digests, instead of created and inserted into */
};

/*
 * base=KIND, of a kind that one can insert into, or build if that will do; any other option is kept for the inner
 * filter. Errors: BAD_OPTION.
 */
besom_status besom__inner_option(struct inner_kind *inner, const struct option *option);

/* An empty filter for the inside of outer: config's numbers, inner's kind and options. Errors: as besom_create. */
besom_status besom__inner_create(const besom_filter *outer, const struct inner_kind *inner,
                                 const besom_config *config, besom_filter **out);

/* One of a kind that is built, from digests, which it may put into another order. Errors: as besom_build. */
besom_status besom__inner_build(const besom_filter *outer, const struct inner_kind *inner,
                                const besom_config *config, struct digests *digests,
                                besom_filter **out);

/*
 * Inner filters are loaded in the order in which they were saved; _built also takes those that cannot be inserted into.
 * Errors of load: CORRUPT, NEWER_VERSION, NO_MEMORY.
 */
void besom__inner_save(const besom_filter *inner, struct sections_out *out);
besom_status besom__inner_load(const besom_filter *outer, struct sections_in *in,
                               besom_filter **inner);
besom_status besom__inner_load_built(const besom_filter *outer, struct sections_in *in,
                                     besom_filter **inner);

/* An inner filter's own statistics, of which what adds up is added to the outer one's. */
besom_statistics besom__inner_stats(const besom_filter *inner, besom_statistics *outer);

/*
 * How layer number i of a filter sees a key. Layers that are asked one after the other must err independently, so each
 * goes by other bits of the digest (splitmix64 of both halves).
 */
static inline besom_digest layer_digest(besom_digest d, uint64_t i) {
  uint64_t x = mixed(d.hi + i * UINT64_C(0x9e3779b97f4a7c15));
  return (besom_digest){x, d.lo ^ x * UINT64_C(0xd6e8feb86659fd93)};
}

#endif
