/*
 * The operation append, for several threads. The ascending digests come in parts: all digests
 * between two bounds. Different parts are prepared at the same time, and joined in order. The table
 * becomes what append would make of it.
 */
#ifndef BESOM_KIND_PARTS_H
#define BESOM_KIND_PARTS_H

#include "besom.h"

#define APPEND_PART_BYTES 512

struct append_part {
  size_t number, n;        /* from 0; of its digests */
  besom_digest first, end; /* no digest is below first; those of later parts are not below end */
  bool is_last;            /* end means nothing */
  /* n digests from `from` on */
  void (*read)(const struct append_part *part, size_t from, size_t n, besom_digest *out);
  const void *owner;                   /* what read reads */
  uint32_t *spare;                     /* room for a number per digest, for the kind */
  uint64_t own[APPEND_PART_BYTES / 8]; /* what the kind knows of the part */
};

struct part_ops {
  /* Changes only what no digest of another part can change. In any thread. */
  void (*prepare)(besom_filter *f, struct append_part *part);
  /*
   * Does what is left, except near the end of the part. In any thread, one at a time, when this
   * part is prepared and the one before is joined (NULL: it is the first one). Later parts may be
   * prepared meanwhile. BUSY: the parts cannot be joined; start again without them.
   */
  besom_status (*join)(besom_filter *f, const struct append_part *before, struct append_part *part);
  /* Does all that is left, when the last part is joined. FULL. */
  besom_status (*finish)(besom_filter *f, struct append_part *last);
  /* If join may be BUSY: makes the filter empty again. Nothing is prepared or joined meanwhile. */
  void (*abandon)(besom_filter *f);
};

#endif
