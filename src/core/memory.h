/* Memory of a filter: the caller's allocator or the default one. The only place that calls malloc. */
#ifndef BESOM_CORE_MEMORY_H
#define BESOM_CORE_MEMORY_H

#include "besom.h"

/* Zeroed memory from pages on demand; large blocks on huge pages where the system has them. */
extern const besom_allocator besom__default_allocator;

static inline void *besom__allocate(const besom_allocator *a, size_t size) {
  return a->allocate(a->ctx, size);
}

static inline void besom__release(const besom_allocator *a, void *memory, size_t size) {
  if (memory) a->release(a->ctx, memory, size);
}

#endif
