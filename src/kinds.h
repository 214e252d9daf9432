/*
 * The kinds by name. Code that means a certain kind names its constant: a typo does not compile.
 *
 * A build with BESOM_WITHOUT_PAPERS (CMake: -DBESOM_PAPERS=OFF) has no published systems, the kinds
 * of src/papers/. A module that only reads (web/wasm) has kinds without some operations: compare
 * with is_kind, and take what a new filter is made of from besom__in_this_build.
 */
#ifndef BESOM_KINDS_H
#define BESOM_KINDS_H

#include "kind.h"

extern const struct besom_kind besom__aqf, besom__yesno, besom__qf, besom__cf, besom__vacuum,
    besom__pqf, besom__bloom, besom__blocked_bloom, besom__fuse, besom__ribbon, besom__scaling,
    besom__cascade, besom__grouped, besom__updated, besom__stacked;

/* The published systems. */
extern const struct besom_kind besom__yesno_dynamic, besom__exaf, besom__broom, besom__taf,
    besom__utaf, besom__acf_cyclic, besom__acf_swapping, besom__acf_cuckooing, besom__cached,
    besom__learned, besom__adaptive_stacked;

/* The kind of that name; NULL if this build has none. */
const struct besom_kind *besom__kind_named(const char *name);

/* Whether besom has a kind of that name that this build was made without. */
bool besom__kind_is_left_out(const char *name);

/* Whether two are one kind. */
static inline bool is_kind(const struct besom_kind *a, const struct besom_kind *b) {
  return a->name == b->name;
}

static inline besom_kind_info besom__kind_info(const struct besom_kind *kind) {
  return (besom_kind_info){kind->name, kind->summary, kind_abilities(kind), kind->max_copies};
}

/* The kind as this build has it, for making a filter. */
static inline const struct besom_kind *besom__in_this_build(const struct besom_kind *kind) {
  return besom__kind_named(kind->name);
}

#endif
