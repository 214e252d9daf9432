/*
 * Partitions the entries of many keys into groups, in one pass and without knowing how many there
 * are. A group is a list of chunks; all chunks come from one pool. Each thread has lists of its
 * own, so that threads share nothing but the pool.
 *
 * A thread that adds k entries to g groups takes at most k / entries per chunk + 2 * g chunks.
 */
#ifndef BESOM_CORE_PARTITION_H
#define BESOM_CORE_PARTITION_H

#include <stdatomic.h>

#include "besom.h"
#include "core/bits.h"

#define CHUNK_BYTES ((size_t)1024) /* aligned to their size */
#define MAX_SLABS 48

/* The head of a chunk; entries follow. */
struct chunk {
  struct chunk *older; /* of the same group, and full; NULL for the first */
  uint64_t before;     /* entries in all older chunks, less those that the first one skips */
};

/* How many entries of that size a chunk holds. */
#define CHUNK_ENTRIES(entry_bytes) ((CHUNK_BYTES - sizeof(struct chunk)) / (entry_bytes))

/*
 * The bytes that the first chunk of a group leaves unused. Groups grow alike; if they all began at
 * the same offset, the ends of all groups would be in a few sets of the first-level cache.
 */
ALWAYS_INLINE size_t skipped_bytes(size_t group) {
  return group % 15 * 64;
}

/* ------------------------------------------------------------------ the pool */

struct slab {
  void *memory;
  size_t bytes, first, end; /* the numbers of its chunks: first to end - 1 */
  uint8_t *chunks;
};

/* One thread grows the pool, all may take chunks meanwhile. */
struct chunk_pool {
  const besom_allocator *allocator;
  struct slab slabs[MAX_SLABS];
  unsigned n;
  _Atomic size_t taken;
};

static inline size_t pool_chunks(const struct chunk_pool *p) {
  return p->n ? p->slabs[p->n - 1].end : 0;
}

/* The memory that besom__pool_grow allocates for so many chunks: one more for the alignment. */
static inline uint64_t pool_bytes(uint64_t chunks) {
  return (chunks + 1) * CHUNK_BYTES;
}

/* Adds chunks; false if there is no memory. */
bool besom__pool_grow(struct chunk_pool *p, uint64_t chunks);

/* The caller makes sure that one is left. */
struct chunk *besom__pool_take(struct chunk_pool *p);

void besom__pool_free(struct chunk_pool *p);

/* ------------------------------------------------------------------ lists of one thread */

/*
 * ends[g] is where the next entry of group g goes. It is a multiple of CHUNK_BYTES if the last
 * chunk is full, and NULL if there is none.
 */
struct partition {
  struct chunk_pool *pool;
  uint8_t **ends;
};

/* The place of a further entry. Entries of a partition have one size, which divides a chunk. */
ALWAYS_INLINE void *partition_add(struct partition *p, size_t group, size_t entry_bytes) {
  uint8_t *at = p->ends[group];
  if (UNLIKELY((uintptr_t)at % CHUNK_BYTES == 0)) {
    struct chunk *fresh = besom__pool_take(p->pool);
    size_t skipped = at ? 0 : skipped_bytes(group);
    fresh->older = at ? (struct chunk *)(at - CHUNK_BYTES) : NULL;
    fresh->before = at ? fresh->older->before + CHUNK_ENTRIES(entry_bytes)
                       : (uint64_t)0 - skipped / entry_bytes;
    at = (uint8_t *)(fresh + 1) + skipped;
  }
  p->ends[group] = at + entry_bytes;
  return at;
}

/* A walk over the entries of a group, chunk by chunk, in any order. */
struct chunk_walk {
  const struct chunk *next;
  const uint8_t *end; /* of the entries of next */
  size_t skipped;
};

struct chunk_walk besom__partition_walk(const struct partition *p, size_t group);

/* The entries of the next chunk, and their bytes; NULL at the end. */
static inline const void *partition_next(struct chunk_walk *w, size_t *bytes) {
  const struct chunk *c = w->next;
  if (!c) return NULL;
  const uint8_t *entries = (const uint8_t *)(c + 1) + (c->older ? 0 : w->skipped);
  *bytes = (size_t)(w->end - entries);
  w->next = c->older;
  w->end = (const uint8_t *)c->older + CHUNK_BYTES;
  return entries;
}

/* The number of entries of a group. */
uint64_t besom__partition_count(const struct partition *p, size_t group, size_t entry_bytes);

/* Copies the entries of a group, in any order; returns the end of what it wrote. */
void *besom__partition_copy(const struct partition *p, size_t group, void *to);

#endif
