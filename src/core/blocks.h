/* Visiting the blocks of memory of a filter, to measure them or to move them. */
#ifndef BESOM_CORE_BLOCKS_H
#define BESOM_CORE_BLOCKS_H

#include "besom.h"

/* visit may move the block: it returns where it is now. */
struct block_visitor {
  void *(*visit)(void *ctx, void *block);
  void *ctx;
};

/*
 * Visits all memory of a plain filter. Returns where the filter is now; NULL, with nothing visited,
 * if its kind cannot, or if a task runs.
 */
besom_filter *besom__visit_blocks(besom_filter *f, const struct block_visitor *v);

#endif
