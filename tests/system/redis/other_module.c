/* A module that has a command of RedisBloom, for the test that the compatibility mode names it. */
#include <redismodule.h>

static int add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argv;
  (void)argc;
  return RedisModule_ReplyWithLongLong(ctx, 1);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argv;
  (void)argc;
  if (RedisModule_Init(ctx, "other", 1, REDISMODULE_APIVER_1) != REDISMODULE_OK)
    return REDISMODULE_ERR;
  return RedisModule_CreateCommand(ctx, "cf.add", add, "write", 1, 1, 1);
}
