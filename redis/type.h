/*
 * type.h - the data type of the module's keys.
 */
#ifndef BESOM_REDIS_TYPE_H
#define BESOM_REDIS_TYPE_H

#include "value.h"

extern RedisModuleType *af_type;

int type_register(RedisModuleCtx *ctx);

/* The defragmentation method of the type; public for tests. */
int type_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);

#endif
