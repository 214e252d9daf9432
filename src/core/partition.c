#include "core/partition.h"

#include <string.h>

#include "core/system/memory.h"

/* ------------------------------------------------------------------ the pool */

bool besom__pool_grow(struct chunk_pool *p, uint64_t chunks) {
  if (p->n == MAX_SLABS || chunks >= SIZE_MAX / CHUNK_BYTES) return false;
  size_t bytes = (size_t)pool_bytes(chunks), first = pool_chunks(p);
  uint8_t *memory = besom__allocate(p->allocator, bytes);
  if (!memory) return false;
  size_t before = (size_t)(-(uintptr_t)memory % CHUNK_BYTES);
  p->slabs[p->n] = (struct slab){.memory = memory,
                                 .bytes = bytes,
                                 .first = first,
                                 .end = first + (size_t)chunks,
                                 .chunks = memory + before};
  p->n++;
  return true;
}

/*
 * A chunk of a new slab is taken only after one thread that knows the slab has taken one: acq_rel
 * tells the others.
 */
struct chunk *besom__pool_take(struct chunk_pool *p) {
  size_t i = atomic_fetch_add_explicit(&p->taken, 1, memory_order_acq_rel);
  const struct slab *s = p->slabs;
  while (i >= s->end) s++;
  return (struct chunk *)(s->chunks + (i - s->first) * CHUNK_BYTES);
}

void besom__pool_free(struct chunk_pool *p) {
  while (p->n--) besom__release(p->allocator, p->slabs[p->n].memory, p->slabs[p->n].bytes);
  p->n = 0;
}

/* ------------------------------------------------------------------ lists */

struct chunk_walk besom__partition_walk(const struct partition *p, size_t group) {
  const uint8_t *end = p->ends[group];
  if (!end) return (struct chunk_walk){.next = NULL};
  size_t used = (uintptr_t)end % CHUNK_BYTES;
  if (!used) used = CHUNK_BYTES;
  return (struct chunk_walk){
      .next = (const struct chunk *)(end - used), .end = end, .skipped = skipped_bytes(group)};
}

uint64_t besom__partition_count(const struct partition *p, size_t group, size_t entry_bytes) {
  struct chunk_walk w = besom__partition_walk(p, group);
  return w.next ? w.next->before + (size_t)(w.end - (const uint8_t *)(w.next + 1)) / entry_bytes
                : 0;
}

static void prefetch_chunk(const struct chunk *c) {
  for (size_t at = 0; c && at < CHUNK_BYTES; at += 64) __builtin_prefetch((const uint8_t *)c + at);
}

void *besom__partition_copy(const struct partition *p, size_t group, void *to) {
  struct chunk_walk w = besom__partition_walk(p, group);
  uint8_t *at = to;
  const void *entries;
  size_t bytes;
  while ((entries = partition_next(&w, &bytes))) {
    prefetch_chunk(w.next);
    memcpy(at, entries, bytes);
    at += bytes;
  }
  return at;
}
