#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "support/failing_allocator.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "support/heap.h"

typedef struct allocated_block {
  void *memory;
  size_t size;
} allocated_block;

static bool must_fail(const failing_allocator *a) {
  if (!a->fail_at) return false;
  return a->calls == a->fail_at || (a->fail_after && a->calls > a->fail_at);
}

/* The list of blocks is separate from the memory, so that asan guards both ends of each block. */
static void *allocate(void *ctx, size_t size) {
  failing_allocator *a = ctx;
  a->calls++;
  if (size == 0 && !a->mistake) a->mistake = "allocated 0 bytes";
  if (must_fail(a)) return NULL;
  void *memory = calloc(1, size);
  if (!memory) return NULL;
  if (a->live_blocks == a->room) {
    a->room = a->room ? 2 * a->room : 16;
    a->blocks = heap_resize(a->blocks, a->room * sizeof *a->blocks);
  }
  a->blocks[a->live_blocks++] = (allocated_block){memory, size};
  a->live_bytes += size;
  if (a->live_bytes > a->peak_bytes) a->peak_bytes = a->live_bytes;
  return memory;
}

static void release(void *ctx, void *memory, size_t size) {
  failing_allocator *a = ctx;
  if (!memory) return;
  for (size_t i = 0; i < a->live_blocks; i++) {
    if (a->blocks[i].memory != memory) continue;
    if (a->blocks[i].size != size && !a->mistake)
      a->mistake = "released with a size other than the allocated one";
    a->live_bytes -= a->blocks[i].size;
    a->blocks[i] = a->blocks[--a->live_blocks];
    free(memory);
    return;
  }
  if (!a->mistake) a->mistake = "released memory that is not allocated";
}

void failing_allocator_init(failing_allocator *a) {
  *a = (failing_allocator){.api = {.allocate = allocate, .release = release, .ctx = a}};
}

void failing_allocator_close(failing_allocator *a) {
  for (size_t i = 0; i < a->live_blocks; i++) free(a->blocks[i].memory);
  free(a->blocks);
}

const char *failing_allocator_verdict(const failing_allocator *a) {
  if (a->mistake) return a->mistake;
  return a->live_blocks ? "leaked memory" : NULL;
}

static void *map_pages(void *ctx, size_t size) {
  (void)ctx;
  void *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, size, MADV_NOHUGEPAGE);
  return memory;
}

static void unmap_pages(void *ctx, void *memory, size_t size) {
  (void)ctx;
  if (memory) munmap(memory, size);
}

const besom_allocator sparse_allocator = {.allocate = map_pages, .release = unmap_pages};
