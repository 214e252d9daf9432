/*
 * module.c - besom for Redis and Valkey: filters as keys, by the commands AF.* (docs/redis.md).
 */
#include "settings.h"
#include "table.h"
#include "type.h"

#define VERSION (BESOM_VERSION_MAJOR * 10000 + BESOM_VERSION_MINOR * 100 + BESOM_VERSION_PATCH)

static void describe(RedisModuleInfoCtx *ctx, int for_crash_report) {
  if (for_crash_report) return;
  struct totals totals = totals_now();
  RedisModule_InfoAddSection(ctx, "filters");
  RedisModule_InfoAddFieldULongLong(ctx, "filters", totals.filters);
  RedisModule_InfoAddFieldULongLong(ctx, "items", totals.items);
  RedisModule_InfoAddFieldULongLong(ctx, "bytes", totals.bytes);
  RedisModule_InfoAddFieldULongLong(ctx, "reports", totals.reports);
  RedisModule_InfoAddFieldULongLong(ctx, "fixed", totals.fixed);
  RedisModule_InfoAddFieldULongLong(ctx, "refused", totals.refused);
}

BESOM_API int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argv;
  (void)argc;
  if (RedisModule_Init(ctx, "besom", VERSION, REDISMODULE_APIVER_1) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  if (!RedisModule_SetCommandInfo || !RedisModule_RegisterNumericConfig) {
    RedisModule_Log(ctx, "warning", "besom needs Redis 7 or Valkey");
    return REDISMODULE_ERR;
  }
  RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS);
  if (type_register(ctx) != REDISMODULE_OK || table_register(ctx) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  if (RedisModule_RegisterInfoFunc(ctx, describe) != REDISMODULE_OK) return REDISMODULE_ERR;
  return settings_register(ctx);
}
