/*
 * table.h - the commands with all that the server is told about them: COMMAND INFO, COMMAND DOCS, ACL.
 */
#ifndef BESOM_REDIS_TABLE_H
#define BESOM_REDIS_TABLE_H

#include <redismodule.h>

int table_register(RedisModuleCtx *ctx);

#endif
