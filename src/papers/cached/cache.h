/*
 * A cache of digests: the keys that were false positives last, or most often. It consists of
 * buckets of CACHE_WAYS slots. The lower half of a digest chooses its bucket; a bucket is in order
 * of age, the oldest first. When a bucket is full, a new digest evicts
 *   lru:  the oldest digest without a query since its last second chance (the second-chance
 *         approximation of LRU),
 *   topk: the digest with the fewest queries; the new one starts with one more than these
 *         (Space-Saving, Metwally et al. 2005).
 * A filter can be told to ignore uses: then the oldest digest is evicted (first in, first out).
 *
 * A query marks the digest that it finds as used, although the filter is const to it. It uses
 * relaxed atomic operations, so that queries can run concurrently. A lost update only makes a later
 * eviction less accurate. Use counts are not saved.
 */
#ifndef BESOM_LAYERED_CACHE_H
#define BESOM_LAYERED_CACHE_H

#include <stdatomic.h>

#include "besom.h"

#define CACHE_WAYS 8

enum cache_policy { CACHE_LRU, CACHE_TOPK }; /* part of the file format */

struct cache {
  besom_digest *digests; /* CACHE_WAYS per bucket, as in a file; {0, 0} is an empty slot */
  _Atomic uint32_t *uses;
  uint64_t buckets; /* at least 1 */
  uint64_t count;
  enum cache_policy policy;
  bool borrowed;     /* the digests are in a mapping */
  bool ignores_uses; /* not saved */
};

/* Bytes per bucket, including use counts. */
#define CACHE_BUCKET_BYTES (CACHE_WAYS * (sizeof(besom_digest) + sizeof(uint32_t)))

/* The caller has set buckets, policy and, if borrowed, digests. Errors: NO_MEMORY. */
besom_status besom__cache_make(struct cache *c, const besom_allocator *allocator);
void besom__cache_free(struct cache *c, const besom_allocator *allocator);

/* Whether the cache has the digest. If so, it counts as used. */
bool besom__cache_has(const struct cache *c, besom_digest d);

/* Adds a reported digest. If its bucket is full, evicts another one and returns true. */
bool besom__cache_add(struct cache *c, besom_digest d);

/* Removes the digest, if the cache has it. */
void besom__cache_remove(struct cache *c, besom_digest d);

/* The digest of a used slot, {0, 0} of an empty one. */
besom_digest besom__cache_at(const struct cache *c, uint64_t slot);

/* NULL, or what is wrong. For digests from a file. */
const char *besom__cache_check(const struct cache *c);

/*
 * From now on, the caches in this filter and in its layers evict the oldest digest, whatever their
 * policy is. So equal changes to equal filters have equal results, whatever was queried between
 * them. Replicas need this. The setting is not saved, and layers that are added later do not have
 * it. O(layers). The caller makes sure that no other thread uses the filter.
 */
void besom__cached_ignore_uses(besom_filter *f);

#endif
