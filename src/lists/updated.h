/*
 * updated: a static list and its updates (updated.c). besom_build with input.update makes one.
 */
#ifndef BESOM_LAYERED_UPDATED_H
#define BESOM_LAYERED_UPDATED_H

#include "kind.h"

/* What an update is made of; see besom_input. no and was may be NULL. With digests, yes is NULL. */
struct update_input {
  const besom_source *yes, *no, *was;
  const besom_digest_source *digests, *was_digests;
  uint64_t merge_updates;
  bool closed; /* only keys of the lists are ever asked */
  const besom_progress *progress;
};

/*
 * Makes a filter from `old`, with copies of its layers, and one update more. Errors: UNSUPPORTED (a
 * kind that cannot be updated), FULL (too many updates, or more layers than a file has room for),
 * IS_MEMBER, INVALID (merge_updates), NO_MEMORY, CANCELLED, what a source returned.
 */
besom_status besom__update(const besom_filter *old, const struct update_input *in,
                           besom_filter **out);

#endif
