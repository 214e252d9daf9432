/* The filter of one shard: built from its digests, or as a change of the one that is published. */
#ifndef CLI_SHARD_BUILD_H
#define CLI_SHARD_BUILD_H

#include "publish/key_digests.h"

enum { SET_SEED_BYTES = 16 };

typedef struct shard_form {
  const char *kind; /* updated: a ribbon, and updates of it */
  double fpr;
  const uint8_t *seed;
} shard_form;

/* Fails if shards cannot be of this kind; names the option --kind. */
void shard_form_check(const shard_form *form);

/* A filter that hashes keys as shards do. */
besom_filter *shard_hasher(const shard_form *form);

/* A new filter. */
besom_filter *shard_build(const shard_form *form, const digest_list *keys);

/*
 * The same keys as a change of the old filter, so that the patch is small. gone: keys that were in
 * the set since it was built anew, and are not any more. Returns NULL if it is better built anew.
 * lag: 0 to 1, so that not all shards of a set are built anew in one version.
 */
besom_filter *shard_change(const shard_form *form, const besom_filter *old, const digest_list *keys,
                           const digest_list *gone, double lag);

#endif
