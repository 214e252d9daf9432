/*
 * command_table.h - registers the commands, with the data for COMMAND INFO, COMMAND DOCS and ACL.
 */
#ifndef BESOM_REDIS_COMMAND_TABLE_H
#define BESOM_REDIS_COMMAND_TABLE_H

#include <redismodule.h>

int commands_register(RedisModuleCtx *ctx);

#endif
