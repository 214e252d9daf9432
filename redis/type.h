/*
 * type.h - the data type of the module's keys.
 */
#ifndef BESOM_REDIS_TYPE_H
#define BESOM_REDIS_TYPE_H

#include "value.h"

extern RedisModuleType *af_type;

int type_register(RedisModuleCtx *ctx);

/* The methods of the type. Other types with the same values have them, too. */
RedisModuleTypeMethods type_methods(void);
/* The rdb_load method, for the version that this module saves. */
void *type_load(RedisModuleIO *io);

/* The defragmentation method of the type; public for tests. */
int type_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);

#endif
