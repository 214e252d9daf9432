/*
 * A sample of queries while a filter is built from it: every digest once, with how often it was asked for. A table of
 * 24 bytes a place, three quarters full at most.
 */
#ifndef BESOM_LAYERED_SAMPLE_H
#define BESOM_LAYERED_SAMPLE_H

#include "layered/popularity.h"

struct sampled {
  besom_digest digest;
  uint64_t count; /* 0: an empty place */
};

struct sample {
  struct sampled *at;
  uint64_t n, room; /* a power of two */
  bool weighed;     /* some weight was not 1: the source told how often keys are asked for */
};

/*
 * All keys of the source under f's hash, in f's memory; weights of 0 count as no query. Errors: NO_MEMORY, INVALID (a
 * NULL key), CANCELLED, what the source returned; nothing is left behind then.
 */
besom_status besom__sample_collect(const besom_filter *f, const besom_source *source,
                                   const besom_progress *progress, struct sample *out);
void besom__sample_free(const besom_filter *f, struct sample *s);

/* Takes the count of every member away. */
void besom__sample_forget(struct sample *s, const struct digests *members);

/* How popular its keys are; *out is zero before. */
void besom__sample_popularity(const struct sample *s, struct popularity *out);

/* The n most popular keys; of equally popular ones those with the lowest digests. NO_MEMORY. */
besom_status besom__sample_top(const besom_filter *f, const struct sample *s,
                               const struct popularity *popularity, uint64_t n,
                               struct digests *out);

#endif
