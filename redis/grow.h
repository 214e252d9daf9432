/*
 * grow.h - filters grow while the server keeps serving.
 *
 * A small filter grows within the command that needs the space. A large filter grows in steps of a
 * millisecond, run by a timer, and the server does other work between the steps. During growth the
 * filter answers queries; clients whose commands change it are blocked, and their commands run when
 * the growth has ended. If a client cannot be blocked (MULTI, scripts), the filter grows at once.
 *
 * Only the server that executes a client's command decides to grow. Replicas and AOF files receive
 * AF.GROW instead, so that all copies have equal bytes.
 */
#ifndef BESOM_REDIS_GROW_H
#define BESOM_REDIS_GROW_H

#include "value.h"

/*
 * Prepares a filter for a command that changes it and may add up to `items` items. Returns true if
 * the command can go on. Returns false if the client was blocked: the command must return without a
 * reply, and `retry` is called with its arguments later. If the filter should grow but cannot, the
 * result is true, and inserts beyond the capacity are FULL.
 */
bool grow_if_needed(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t items,
                    RedisModuleCmdFunc retry);

/* Is this command a retry after its client was blocked? Its key may have been moved or deleted. */
bool is_retry(void);

#endif
