/*
 * A cache of digests: the keys that a filter was last, or most often, wrong about. Buckets of a few places each; a
 * digest is in the bucket of its lower half, the oldest first. When a bucket is full, the newcomer takes the
 * place of
 *   lru:  the oldest digest that was not asked for since it was last spared (the second-chance form of LRU),
 *   topk: the digest that was asked for least often; the newcomer counts as once more than that (Metwally et al. 2005).
 *
 * A question marks what it finds as used, even though the filter is const to it: with relaxed atomic operations, so
 * that questions may run side by side. An update that is lost costs a little foresight, nothing else. Uses are not
 * saved.
 */
#ifndef BESOM_LAYERED_CACHE_H
#define BESOM_LAYERED_CACHE_H

#include <stdatomic.h>

#include "besom.h"

#define CACHE_WAYS 8

enum cache_policy { CACHE_LRU, CACHE_TOPK }; /* numbers of the file format */

struct cache {
  besom_digest *digests; /* CACHE_WAYS a bucket; {0, 0} is a free place, behind the taken ones */
  _Atomic uint32_t *uses;
  uint64_t buckets; /* at least 1 */
  uint64_t count;
  enum cache_policy policy;
  bool borrowed; /* the digests are in a mapping */
};

/* Bytes of a bucket, all counted. */
#define CACHE_BUCKET_BYTES (CACHE_WAYS * (sizeof(besom_digest) + sizeof(uint32_t)))

/* buckets, policy and, if the digests are to be borrowed, digests are set. Errors: NO_MEMORY. */
besom_status besom__cache_make(struct cache *c, const besom_allocator *allocator);
void besom__cache_free(struct cache *c, const besom_allocator *allocator);

/* Is it there? Then it counts as used. */
bool besom__cache_has(const struct cache *c, besom_digest d);

/* It was reported: it is there from now on, and what had to go for it is not. */
void besom__cache_add(struct cache *c, besom_digest d);

/* Takes it out, if it is there. */
void besom__cache_remove(struct cache *c, besom_digest d);

/* NULL, or what is wrong with digests of unknown origin. */
const char *besom__cache_check(const struct cache *c);

#endif
