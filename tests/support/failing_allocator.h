/*
 * failing_allocator.h - an allocator that fails when told to, and that notes what a library does wrong with
 * it: leaks, releases of what it never gave, sizes that do not match.
 */
#ifndef BESOM_TESTS_FAILING_ALLOCATOR_H
#define BESOM_TESTS_FAILING_ALLOCATOR_H

#include "besom.h"

typedef struct failing_allocator {
  besom_allocator api; /* give &api to the library; its ctx is this struct, which must not move */
  uint64_t calls;      /* allocations asked for */
  uint64_t fail_at;    /* the call that gets NULL, from 1; 0 for none */
  bool fail_after;     /* all calls after that one get NULL, too */
  const char *mistake; /* the first one of the library, or NULL */
  size_t live_blocks, live_bytes, peak_bytes;
  struct allocated_block *blocks;
  size_t room;
} failing_allocator;

void failing_allocator_init(failing_allocator *a);

/* Frees the books, and what the library leaked. */
void failing_allocator_close(failing_allocator *a);

/* What is wrong once nothing should be allocated any more: a mistake, a leak, or NULL. */
const char *failing_allocator_verdict(const failing_allocator *a);

/*
 * An allocator of address space: pages that cost nothing until they are touched, never huge ones. For
 * tables of billions of slots in which a few are used.
 */
extern const besom_allocator sparse_allocator;

#endif
