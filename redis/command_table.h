/*
 * command_table.h - registers the commands, with the data for COMMAND INFO, COMMAND DOCS and ACL.
 */
#ifndef BESOM_REDIS_COMMAND_TABLE_H
#define BESOM_REDIS_COMMAND_TABLE_H

#include <redismodule.h>
#include <stddef.h>

struct command {
  const char *name;
  RedisModuleCmdFunc run;
  const char *flags;
  int arity;
  RedisModuleCommandKeySpec *keys;
  RedisModuleCommandArg *args;
  const char *summary, *complexity;
  const char *categories; /* ACL categories, separated by spaces */
};

/* Flags of commands. */
#define READ "readonly fast"
#define ADD "write deny-oom fast"
#define SLOW_ADD "write deny-oom"
#define REMOVE "write fast"

/* Descriptions of arguments. */
#define KEY \
  { .name = "key", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0 }
#define ITEM \
  { .name = "item", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1 }
#define NUMBER(NAME) \
  { .name = NAME, .type = REDISMODULE_ARG_TYPE_INTEGER, .key_spec_index = -1 }
#define OPTION(NAME, TYPE, TOKEN)                                                            \
  {                                                                                          \
    .name = NAME, .type = REDISMODULE_ARG_TYPE_##TYPE, .key_spec_index = -1, .token = TOKEN, \
    .flags = REDISMODULE_CMD_ARG_OPTIONAL                                                    \
  }
#define ITEMS(TOKEN)                                                                           \
  {                                                                                            \
    .name = "item", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1, .token = TOKEN, \
    .flags = REDISMODULE_CMD_ARG_MULTIPLE                                                      \
  }

/* Arguments that commands of several families have. */
extern RedisModuleCommandArg key_only[], key_item[], key_items[], info_args[], scandump_args[],
    loadchunk_args[];

/* Key specs of commands whose only key is their first argument. */
extern RedisModuleCommandKeySpec reads[], updates[], inserts[], removes[];

/* Registers the commands AF.*. */
int commands_register(RedisModuleCtx *ctx);

/*
 * Registers further commands. If the result is an error, *failed is the name of the command that
 * could not be registered: usually because a command of that name exists.
 */
int commands_add(RedisModuleCtx *ctx, const struct command *table, size_t n, const char **failed);

/* Creates an ACL category, if the server has categories for modules and does not have this one. */
void category_add(RedisModuleCtx *ctx, const char *name);

#endif
