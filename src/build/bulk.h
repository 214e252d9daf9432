/*
 * besom_build of kinds that can append: the keys of a source are hashed, partitioned into groups by
 * the first bits of their digests (bulk_collect.c), sorted group by group and appended
 * (bulk_sort.c). Sorting a group takes place in the cache. If memory does not suffice for all keys,
 * they come in parts; the second part and later ones are inserted, in ascending order.
 *
 * With config.threads, other threads hash and partition what the caller's thread reads, and sort
 * groups ahead of the one that it appends. Only the caller's thread calls the source, the progress
 * function, the allocator and operations of the filter.
 */
#ifndef BESOM_BULK_H
#define BESOM_BULK_H

#include "core/partition.h"
#include "core/system/workers.h"
#include "kind.h"

/*
 * What is kept of a digest. Short entries: all that a table needs is the place of the digest, which
 * is its quotient followed by its remainder. The group knows the first bits of the place, so the
 * rest fits in 4 bytes. Tables with longer places keep whole digests.
 */
struct entry_form {
  bool whole;
  unsigned shift;         /* group = place >> shift; whole: the upper word >> shift */
  uint64_t places;        /* slots << width */
  unsigned __int128 step; /* digests per place */
};

#define SHORT_ENTRY sizeof(uint32_t)

static inline size_t entry_bytes(const struct entry_form *form) {
  return form->whole ? sizeof(besom_digest) : SHORT_ENTRY;
}

/* What is built, and how. */
struct bulk {
  besom_filter *f;
  const besom_source *source;
  const struct key_parts *parts; /* of the source; NULL: it has none */
  const besom_progress *progress;
  uint64_t slots; /* of the table */
  unsigned width;
  uint64_t total; /* keys of the source; 0 if unknown */
  uint64_t most;  /* keys per part */
  uint64_t limit; /* bytes that may be allocated; 0: any */
  uint64_t bytes; /* allocated by now */
  uint64_t done;  /* keys of earlier parts */
  uint64_t count; /* and of this one */
  uint64_t told;  /* progress */
  struct entry_form form;
  size_t groups;
  unsigned threads;
  struct chunk_pool pool;
  struct partition *lists; /* of each thread */
  struct key_batch *batches;
};

/* Chunks that may be partly used: all others are full. */
static inline uint64_t open_chunks(const struct bulk *b) {
  return 2 * (uint64_t)b->threads * b->groups;
}

/*
 * Inserts the keys of in->yes into an empty filter whose kind has append. total: their number, 0
 * if unknown. Without memory to begin with, *begun is false and nothing was read.
 */
besom_status besom__bulk_build(besom_filter *f, const besom_input *in, uint64_t total,
                               const besom_config *config, bool *begun);

/* Whether the operation append can be used: a layered kind needs a base that has it. */
bool besom__can_append(const besom_filter *f);

/* Reads up to cap keys and hashes them: a key is valid only until the next is read. */
besom_status besom__read_digests(const besom_filter *f, const besom_source *source,
                                 besom_digest *out, size_t cap, size_t *n);

/* ------------------------------------------------------------------ parts of a bulk build */

/* For progress, a key that is collected and not in the filter yet is half done. */
besom_status besom__bulk_tick(struct bulk *b, uint64_t inserted);

/* The memory that threads need to take keys from the caller's thread. */
size_t besom__bulk_batch_bytes(unsigned threads);

/* Reads the source until it ends (*all) or the memory is full. */
besom_status besom__bulk_collect(struct bulk *b, bool *all);

/* The memory to sort groups of so many entries. */
uint64_t besom__bulk_sort_bytes(const struct bulk *b, uint64_t largest_group);

/* Puts everything collected into the filter. */
besom_status besom__bulk_add(struct bulk *b);

#endif
