#include "papers/cached/cache.h"

#include <string.h>

#include "core/relaxed.h"
#include "core/system/memory.h"

static bool is_empty(besom_digest d) {
  return d.hi == 0 && d.lo == 0;
}

static bool equal(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

/*
 * A digest as it is stored: in the byte order of files, so that the slots can be saved and mapped
 * as they are. {0, 0} means an empty slot; a key with this digest is treated as {0, 1}.
 */
static besom_digest stored(besom_digest d) {
  if (is_empty(d)) d.lo = 1;
  return (besom_digest){file_order64(d.hi), file_order64(d.lo)};
}

static uint64_t cache_bucket_of(const struct cache *c, besom_digest d) {
  return (uint64_t)((unsigned __int128)file_order64(d.lo) * c->buckets >> 64);
}

static unsigned cache_used_slots(const besom_digest *bucket) {
  unsigned n = 0;
  while (n < CACHE_WAYS && !is_empty(bucket[n])) n++;
  return n;
}

static unsigned cache_slot_of(const besom_digest *bucket, besom_digest d) {
  unsigned i = 0;
  while (i < CACHE_WAYS && !equal(bucket[i], d)) i++;
  return i;
}

static uint32_t get_uses(const _Atomic uint32_t *uses) {
  return atomic_load_explicit(uses, memory_order_relaxed);
}

static void set_uses(_Atomic uint32_t *uses, uint32_t n) {
  atomic_store_explicit(uses, n, memory_order_relaxed);
}

/* ------------------------------------------------------------------ create and free */

besom_status besom__cache_make(struct cache *c, const besom_allocator *allocator) {
  size_t slots = (size_t)c->buckets * CACHE_WAYS;
  if (c->buckets > SIZE_MAX / 2 / CACHE_BUCKET_BYTES) return BESOM_NO_MEMORY;
  c->uses = besom__allocate(allocator, slots * sizeof *c->uses);
  if (!c->uses) return BESOM_NO_MEMORY;
  if (!c->borrowed) c->digests = besom__allocate(allocator, slots * sizeof *c->digests);
  if (c->digests) return BESOM_OK;
  besom__cache_free(c, allocator);
  return BESOM_NO_MEMORY;
}

void besom__cache_free(struct cache *c, const besom_allocator *allocator) {
  size_t slots = (size_t)c->buckets * CACHE_WAYS;
  besom__release(allocator, (void *)c->uses, slots * sizeof *c->uses);
  if (!c->borrowed) besom__release(allocator, c->digests, slots * sizeof *c->digests);
  c->uses = NULL;
  c->digests = NULL;
}

/* ------------------------------------------------------------------ digests */

bool besom__cache_has(const struct cache *c, besom_digest d) {
  d = stored(d);
  uint64_t first = cache_bucket_of(c, d) * CACHE_WAYS;
  unsigned i = cache_slot_of(c->digests + first, d);
  if (i == CACHE_WAYS) return false;
  _Atomic uint32_t *uses = &c->uses[first + i];
  uint32_t count = get_uses(uses);
  /* LRU only tests for zero. With a single write the line stays in all readers' caches. */
  if (count == 0 || (c->policy == CACHE_TOPK && count < UINT32_MAX)) set_uses(uses, count + 1);
  return true;
}

/* Removes a digest and closes the gap, so that the bucket stays in order of age. */
static void remove_slot(struct cache *c, uint64_t first, unsigned i) {
  for (; i + 1 < CACHE_WAYS; i++) {
    c->digests[first + i] = c->digests[first + i + 1];
    set_uses(&c->uses[first + i], get_uses(&c->uses[first + i + 1]));
  }
  c->digests[first + CACHE_WAYS - 1] = (besom_digest){0, 0};
  set_uses(&c->uses[first + CACHE_WAYS - 1], 0);
  c->count--;
}

static void cache_append(struct cache *c, uint64_t first, besom_digest d, uint32_t uses) {
  unsigned i = cache_used_slots(c->digests + first);
  c->digests[first + i] = d;
  set_uses(&c->uses[first + i], uses);
  c->count++;
}

/* Second chance: a digest that was used goes to the end of the queue once, as the youngest. */
static void evict_unused(struct cache *c, uint64_t first) {
  while (get_uses(&c->uses[first])) {
    besom_digest spared = c->digests[first];
    remove_slot(c, first, 0);
    cache_append(c, first, spared, 0);
  }
  remove_slot(c, first, 0);
}

/* Returns the uses of the evicted digest. */
static uint32_t evict_least_used(struct cache *c, uint64_t first) {
  unsigned least = 0;
  for (unsigned i = 1; i < CACHE_WAYS; i++)
    if (get_uses(&c->uses[first + i]) < get_uses(&c->uses[first + least])) least = i;
  uint32_t uses = get_uses(&c->uses[first + least]);
  remove_slot(c, first, least);
  return uses;
}

bool besom__cache_add(struct cache *c, besom_digest d) {
  if (besom__cache_has(c, d)) return false;
  d = stored(d);
  uint64_t first = cache_bucket_of(c, d) * CACHE_WAYS;
  uint32_t uses = 0;
  bool full = cache_used_slots(c->digests + first) == CACHE_WAYS;
  if (full && c->ignores_uses)
    remove_slot(c, first, 0);
  else if (full && c->policy == CACHE_TOPK)
    uses = evict_least_used(c, first);
  else if (full)
    evict_unused(c, first);
  if (c->policy == CACHE_TOPK && uses < UINT32_MAX) uses++;
  cache_append(c, first, d, uses);
  return full;
}

void besom__cache_remove(struct cache *c, besom_digest d) {
  d = stored(d);
  uint64_t first = cache_bucket_of(c, d) * CACHE_WAYS;
  unsigned i = cache_slot_of(c->digests + first, d);
  if (i < CACHE_WAYS) remove_slot(c, first, i);
}

besom_digest besom__cache_at(const struct cache *c, uint64_t slot) {
  besom_digest d = c->digests[slot];
  return (besom_digest){file_order64(d.hi), file_order64(d.lo)};
}

/* ------------------------------------------------------------------ checks */

static bool bucket_is_sound(const struct cache *c, uint64_t bucket) {
  const besom_digest *digests = c->digests + bucket * CACHE_WAYS;
  unsigned n = cache_used_slots(digests);
  for (unsigned i = 0; i < CACHE_WAYS; i++) {
    if (i >= n && !is_empty(digests[i])) return false;
    if (i < n &&
        (cache_bucket_of(c, digests[i]) != bucket || cache_slot_of(digests, digests[i]) != i))
      return false;
  }
  return true;
}

const char *besom__cache_check(const struct cache *c) {
  uint64_t count = 0;
  for (uint64_t b = 0; b < c->buckets; b++) {
    if (!bucket_is_sound(c, b)) return "a digest is in the wrong slot of the cache";
    count += cache_used_slots(c->digests + b * CACHE_WAYS);
  }
  return count == c->count ? NULL : "the number of digests in the cache is wrong";
}
