/*
 * redisbloom.h - the data of RedisBloom: its types in RDB files, and the chunks of its SCANDUMP
 * commands. Both become values with frozen layers (frozen.h).
 */
#ifndef BESOM_REDIS_REDISBLOOM_H
#define BESOM_REDIS_REDISBLOOM_H

#include "operations.h"

/*
 * Registers the types MBbloom-- and MBbloomCF, so that the server reads RDB files, DUMP payloads
 * and the stream of a RedisBloom master. What this module saves under these names has a version
 * that RedisBloom refuses. Returns an error if another module has registered them.
 */
int redisbloom_register(RedisModuleCtx *ctx);

/* Whether the type is one of the two. */
bool redisbloom_is_type(const RedisModuleType *type);

/*
 * BF.LOADCHUNK or CF.LOADCHUNK with a chunk of RedisBloom. Chunks must be sent first to last.
 * Replicates AF.LOADCHUNK.
 */
int redisbloom_load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, enum frozen_family family);

/* Whether SCANDUMP can reply as RedisBloom: the value has frozen layers of this family only. */
bool redisbloom_can_dump(const struct af *af, enum frozen_family family);
/* Replies with the iterator and the chunk that follows `from`, or, at the end, with 0 and nil. */
int redisbloom_reply_chunk(RedisModuleCtx *ctx, const struct af *af, uint64_t from);

#endif
