/*
 * The ribbon filter: a retrieval (retrieval.h) of fingerprints. Queries are compiled once per
 * instruction set.
 */
#ifndef BESOM_RIBBON_RIBBON_H
#define BESOM_RIBBON_RIBBON_H

#include "core/cpu.h"
#include "ribbon/retrieval.h"

struct ribbon_ops {
  enum isa isa;
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  /* Of a filter that has keys. */
  void (*contains_many)(const struct retrieval *x, const besom_digest *d, size_t n,
                        uint64_t *bitmap);
  retrieval_query has;
};

/* Those for a retrieval that is built. */
const struct ribbon_ops *besom__ribbon_ops_portable(const struct retrieval *x);
#ifdef BESOM_X86_VARIANTS
const struct ribbon_ops *besom__ribbon_ops_avx2(const struct retrieval *x);
const struct ribbon_ops *besom__ribbon_ops_avx512(const struct retrieval *x);
#endif

struct ribbon {
  besom_filter head;
  struct retrieval retrieval;
  const struct ribbon_ops *ops;
};

#endif
