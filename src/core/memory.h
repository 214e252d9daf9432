/*
 * Memory of a filter, from the caller's allocator or the default one. No other file calls malloc.
 */
#ifndef BESOM_CORE_MEMORY_H
#define BESOM_CORE_MEMORY_H

#include "besom.h"

/* Zeroed memory, committed on first use. Large blocks use huge pages if the system has them. */
extern const besom_allocator besom__default_allocator;

static inline void *besom__allocate(const besom_allocator *a, size_t size) {
  return a->allocate(a->ctx, size);
}

static inline void besom__release(const besom_allocator *a, void *memory, size_t size) {
  if (memory) a->release(a->ctx, memory, size);
}

#endif
