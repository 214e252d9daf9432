/* besom_build of distinct keys whose number is not known (build_distinct.c). */
#ifndef BESOM_BUILD_DISTINCT_H
#define BESOM_BUILD_DISTINCT_H

#include "kind.h"

#define DISTINCT_GROUP_BITS 10
#define DISTINCT_ENTRY_BITS 64

/*
 * Makes a filter of the distinct keys of a source, in one pass over it; its capacity is the number
 * of keys read. The kind can be created empty. bits: DISTINCT_ENTRY_BITS; a test gives fewer, 1 to
 * 63, so that more places are ambiguous. Two keys whose digests have 10 + bits first bits in common
 * count as one.
 */
besom_status besom__build_distinct(const besom_config *config, const besom_source *source,
                                   const besom_progress *progress, unsigned bits,
                                   besom_filter **out);

/*
 * Whether digests that begin with these bits, a group and the first `bits` bits of rest, can have
 * different places: quotient and remainder as one number below places.
 */
bool besom__place_is_ambiguous(uint64_t group, uint64_t rest, unsigned bits, uint64_t places);

#endif
