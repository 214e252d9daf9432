/*
 * Memory of a filter, from the caller's allocator or the default one. No other file calls malloc.
 */
#ifndef BESOM_CORE_MEMORY_H
#define BESOM_CORE_MEMORY_H

#include <string.h>

#include "besom.h"

/* Zeroed memory, committed on first use. Large blocks use huge pages if the system has them. */
extern const besom_allocator besom__default_allocator;

/*
 * Sizes are 64-bit numbers on every machine, because they are products of numbers in files and
 * configurations. What the address space cannot hold is NULL, as any other lack of memory. A size
 * above half of it would be none for a difference of pointers.
 */
static inline void *besom__allocate(const besom_allocator *a, uint64_t size) {
  return size <= PTRDIFF_MAX ? a->allocate(a->ctx, (size_t)size) : NULL;
}

static inline void besom__release(const besom_allocator *a, void *memory, uint64_t size) {
  if (memory) a->release(a->ctx, memory, (size_t)size);
}

/*
 * Moves an array into a larger block, and frees the old one; sizes in bytes, the first `used` are
 * kept. NULL: there is no memory, and the array stays as it is.
 */
static inline void *besom__enlarge(const besom_allocator *a, void *array, uint64_t used,
                                   uint64_t size, uint64_t larger) {
  void *memory = besom__allocate(a, larger);
  if (!memory) return NULL;
  /* analysis: -Wanalyzer-null-argument: bytes that are used were allocated */
  if (used) memcpy(memory, array, (size_t)used);
  besom__release(a, array, size);
  return memory;
}

/* Makes room for so many more bytes, in a block of at least twice the size. False: no memory. */
static inline bool besom__array_grow(const besom_allocator *a, void **array, size_t used,
                                     size_t *size, size_t more) {
  if (*size - used >= more) return true;
  size_t now = 2 * *size > used + more ? 2 * *size : used + more;
  void *larger = besom__enlarge(a, *array, used, *size, now);
  if (!larger) return false;
  *array = larger;
  *size = now;
  return true;
}

#endif
