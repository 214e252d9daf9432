/*
 * The ribbon filter: a retrieval (retrieval.h) of fingerprints. Queries are compiled once per
 * instruction set.
 */
#ifndef BESOM_RIBBON_RIBBON_H
#define BESOM_RIBBON_RIBBON_H

#include "ribbon/retrieval.h"

struct ribbon_ops {
  struct static_set_ops set;
  retrieval_query has;
};

/* Those for a retrieval that is built. */
const struct ribbon_ops *besom__ribbon_ops_portable(const struct retrieval *x);
#ifdef BESOM_X86_VARIANTS
const struct ribbon_ops *besom__ribbon_ops_avx2(const struct retrieval *x);
const struct ribbon_ops *besom__ribbon_ops_avx512(const struct retrieval *x);
#endif

struct ribbon {
  struct static_set set;
  struct retrieval retrieval;
};

#endif
