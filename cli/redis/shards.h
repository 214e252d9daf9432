/*
 * One logical filter over k keys of a Redis server or cluster (docs/scale.md). The shard of a key
 * of the filter is h * k / 2^64, rounded down, with h the 64-bit XXH3 of its bytes with seed 0. The
 * shards of the filter NAME are the Redis keys NAME:0 to NAME:k-1.
 */
#ifndef CLI_SHARDS_H
#define CLI_SHARDS_H

#include <stdint.h>

#include "besom.h"
#include "redis/cluster.h"

enum { MAX_SHARDS = 1 << 16 };

uint64_t shard_hash(besom_bytes key);
uint32_t shard_of(uint64_t hash, uint32_t shards);

typedef struct sharded_filter {
  cluster *cluster;
  const char *name;
  uint32_t shards;
  char (*keys)[256]; /* the names of the shards */
} sharded_filter;

/* A wrong name is a wrong command line (usage_error). */
sharded_filter shards_init(const char *name, uint64_t shards);
void shards_free(sharded_filter *f);

/*
 * Checks that the shards exist. Returns false if no shard exists, or if their creation was
 * interrupted. The program ends if a shard is missing, or if there are more shards than expected.
 */
bool shards_exist(const sharded_filter *f);

/* Creates the shards for a filter of `capacity` keys in all. */
void shards_create(const sharded_filter *f, double fpr, uint64_t capacity);

/* The outcome for one key, as the server replied it. */
enum outcome { OUTCOME_NO, OUTCOME_YES, OUTCOME_ERROR };

enum { MAX_OPTIONS = 2 };
/*
 * Runs "command shard [options] keys..." for keys of any shards, and sets outcomes[i] for each key.
 * Returns the text of one of the errors, if there are any; it is valid until the next call.
 */
const char *shards_run(const sharded_filter *f, const char *command,
                       const char *const options[MAX_OPTIONS], const besom_bytes *keys, size_t n,
                       enum outcome *outcomes);

#endif
