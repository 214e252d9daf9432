/*
 * module.c - the module for Redis and Valkey: adaptive filters as values of keys, with the
 * commands AF.* (docs/redis.md), and BF.* and CF.* on request (docs/redisbloom.md).
 */
#include "command_table.h"
#include "compat.h"
#include "config.h"
#include "type.h"

#define VERSION (BESOM_VERSION_MAJOR * 10000 + BESOM_VERSION_MINOR * 100 + BESOM_VERSION_PATCH)

static void add_info(RedisModuleInfoCtx *ctx, int for_crash_report) {
  if (for_crash_report) return;
  struct totals totals = totals_get();
  RedisModule_InfoAddSection(ctx, "filters");
  RedisModule_InfoAddFieldULongLong(ctx, "filters", totals.filters);
  RedisModule_InfoAddFieldULongLong(ctx, "items", totals.items);
  RedisModule_InfoAddFieldULongLong(ctx, "bytes", totals.bytes);
  RedisModule_InfoAddFieldULongLong(ctx, "incomplete", totals.incomplete);
  RedisModule_InfoAddFieldULongLong(ctx, "reports", totals.reports);
  RedisModule_InfoAddFieldULongLong(ctx, "fixed", totals.fixed);
  RedisModule_InfoAddFieldULongLong(ctx, "refused", totals.refused);
  RedisModule_InfoAddFieldULongLong(ctx, "forgotten", totals.forgotten);
}

BESOM_API int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (RedisModule_Init(ctx, "besom", VERSION, REDISMODULE_APIVER_1) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  if (!RedisModule_SetCommandInfo || !RedisModule_RegisterNumericConfig) {
    RedisModule_Log(ctx, "warning",
                    "besom needs Redis 7.0 or later, or Valkey: upgrade the server");
    return REDISMODULE_ERR;
  }
  RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS);
  if (type_register(ctx) != REDISMODULE_OK || commands_register(ctx) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  if (RedisModule_RegisterInfoFunc(ctx, add_info) != REDISMODULE_OK) return REDISMODULE_ERR;
  if (compat_configure(ctx, argv, argc) != REDISMODULE_OK || config_register(ctx) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  return compat_register(ctx);
}
