/*
 * Rates for the first filter of a cascade: those that make the whole as small as possible, or as
 * good as a number of bits allows.
 */
#ifndef BESOM_LAYERED_CASCADE_PLAN_H
#define BESOM_LAYERED_CASCADE_PLAN_H

#include "kind.h"

/* Builds a cascade (cascade.c) with the options of this kind, `updated` or `cascade`. Errors: as
 * besom_build. */
besom_status besom__cascade_build_as(const struct besom_kind *kind, besom_filter *f,
                                     const besom_config *config, const besom_source *yes,
                                     const besom_source *no, const besom_progress *progress);

/* The options of `updated`: those of `cascade`, with another default. */
#define UPDATED_ROWS 2
extern const struct option_row besom__updated_rows[UPDATED_ROWS];
const char *besom__cascade_conflict(const void *values);

/* Builds a cascade (cascade.c), as a layer of another filter, from digests, which it changes. f is
 * zeroed, with a ready head. Errors: as besom_build. */
besom_status besom__cascade_of_digests(besom_filter *f, const besom_config *config,
                                       struct digests *yes, struct digests *no);

/*
 * For a chain of filters of a kind with inserts. struct_bytes: of the cascade itself. 0 if the bits
 * of the config are too few.
 */
double besom__cascade_first_rate(const besom_config *config, uint64_t yes, uint64_t no,
                                 size_t struct_bytes, const struct besom_kind *base);

/* For a filter and a retrieval of one bit after it. */
struct cascade_plan {
  double rate;   /* of the filter; 1: there is no filter; 0: the bits of the config are too few */
  bool holds_no; /* the filter holds the no list; only if the universe is closed */
  double bits;   /* of the whole: about */
};

struct cascade_plan besom__cascade_plan(const besom_config *config, uint64_t yes, uint64_t no,
                                        bool closed, size_t struct_bytes,
                                        const struct besom_kind *base);

#endif
