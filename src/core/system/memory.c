#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise, sysconf */
#include "core/system/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/system/huge_pages.h"

/* Blocks of this size or more are mapped: new pages are zero already, and can be huge pages. */
#define MAP_FROM HUGE_PAGE

/* Maps at a huge-page boundary: maps one huge page more than needed, then unmaps both ends. */
static void *map_aligned(size_t size) {
  size_t spare = HUGE_PAGE;
  if (size > SIZE_MAX - 2 * spare) return NULL;
  uint8_t *start = mmap(NULL, size + spare, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return NULL;
  uint8_t *aligned = (uint8_t *)(((uintptr_t)start + spare - 1) & ~(uintptr_t)(spare - 1));
  size_t before = (size_t)(aligned - start);
  if (before) munmap(start, before);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *end = aligned + (size + page - 1) / page * page;
  uint8_t *mapped_end = start + (size + spare + page - 1) / page * page;
  if (mapped_end > end) munmap(end, (size_t)(mapped_end - end));
#ifdef MADV_HUGEPAGE
  madvise(aligned, size, MADV_HUGEPAGE); /* a hint: if it fails, the filter is only slower */
#endif
  return aligned;
}

static void *memory_allocate(void *ctx, size_t size) {
  (void)ctx;
  return size >= MAP_FROM ? map_aligned(size) : calloc(1, size);
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx;
  if (size >= MAP_FROM)
    munmap(memory, size);
  else
    free(memory);
}

const besom_allocator besom__default_allocator = {memory_allocate, release, NULL};
