/*
 * failing_allocator.h - an allocator that fails at a chosen call and detects errors of its user:
 * leaks, releases of memory that it did not allocate, sizes that do not match.
 */
#ifndef BESOM_TESTS_FAILING_ALLOCATOR_H
#define BESOM_TESTS_FAILING_ALLOCATOR_H

#include "besom.h"

typedef struct failing_allocator {
  besom_allocator api; /* pass &api to the library; its ctx is this struct, which must not move */
  uint64_t calls;      /* number of allocations */
  uint64_t fail_at;    /* the call that returns NULL, from 1; 0 for none */
  bool fail_after;     /* all later calls return NULL, too */
  const char *mistake; /* the first error of the library, or NULL */
  size_t live_blocks, live_bytes, peak_bytes;
  struct allocated_block *blocks;
  size_t room;
} failing_allocator;

void failing_allocator_init(failing_allocator *a);

/* Frees the list of blocks, and what the library leaked. */
void failing_allocator_close(failing_allocator *a);

/* Call it when all memory should be released: the first error, a leak, or NULL. */
const char *failing_allocator_verdict(const failing_allocator *a);

/*
 * An allocator of address space: pages take memory only when they are touched, and are never huge
 * pages. For tables of billions of slots of which few are used.
 */
extern const besom_allocator sparse_allocator;

#endif
