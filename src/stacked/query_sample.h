/*
 * A sample of queries from which a filter is built: each digest once, with its query count. A hash
 * table of 24 bytes per slot, at most three quarters full. The slots are in the order of the
 * digests, but for collisions, so that a walk over sorted digests is a walk over the table.
 */
#ifndef BESOM_LAYERED_QUERY_SAMPLE_H
#define BESOM_LAYERED_QUERY_SAMPLE_H

#include "stacked/rank_frequency.h"

struct query_count {
  besom_digest digest;
  uint64_t count; /* 0: an empty slot */
};

struct query_sample {
  struct query_count *at;
  uint64_t n, slots;
  bool weighted; /* some weight was not 1: the source knows how often keys are queried */
};

/*
 * Reads all keys of the source, with f's hash and allocator. Weights of 0 count as no query. On
 * failure nothing is left allocated. Errors: NO_MEMORY, INVALID (a NULL key), CANCELLED, what the
 * source returned.
 */
besom_status besom__query_sample_collect(const besom_filter *f, const besom_source *source,
                                         const besom_progress *progress, struct query_sample *out);
void besom__query_sample_free(const besom_filter *f, struct query_sample *s);

/* Removes all members. */
void besom__query_sample_remove_members(struct query_sample *s, const struct digests *members);

/* Adds all keys to *out, which must be zero. */
void besom__query_sample_rank_frequency(const struct query_sample *s, struct rank_frequency *out);

/*
 * The n most frequent keys; among equally frequent ones, those with the lowest digests. Errors:
 * NO_MEMORY.
 */
besom_status besom__query_sample_top(const besom_filter *f, const struct query_sample *s,
                                     const struct rank_frequency *frequencies, uint64_t n,
                                     struct digests *out);

#endif
