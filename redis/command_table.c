#include "command_table.h"

#include "command.h"

#define SINCE "0.2.0"

/* ------------------------------------------------------------------ arguments */

RedisModuleCommandArg key_only[] = {KEY, {0}};
RedisModuleCommandArg key_item[] = {KEY, ITEM, {0}};
RedisModuleCommandArg key_items[] = {KEY, ITEMS(NULL), {0}};
static RedisModuleCommandArg reserve_args[] = {
    KEY,
    {.name = "error_rate", .type = REDISMODULE_ARG_TYPE_DOUBLE, .key_spec_index = -1},
    NUMBER("capacity"),
    OPTION("kind", STRING, "KIND"),
    OPTION("hash", STRING, "HASH"),
    OPTION("max_capacity", INTEGER, "MAXCAPACITY"),
    OPTION("value_bits", INTEGER, "VALUEBITS"),
    OPTION("maplet", PURE_TOKEN, "MAPLET"),
    OPTION("nonscaling", PURE_TOKEN, "NONSCALING"),
    OPTION("expansion", INTEGER, "EXPANSION"),
    OPTION("forget", PURE_TOKEN, "FORGET"),
    OPTION("refuse", PURE_TOKEN, "REFUSE"),
    OPTION("reserve", DOUBLE, "ADAPTRESERVE"),
    OPTION("seed", STRING, "SEED"),
    {.name = "like",
     .type = REDISMODULE_ARG_TYPE_KEY,
     .key_spec_index = 1,
     .token = "LIKE",
     .flags = REDISMODULE_CMD_ARG_OPTIONAL},
    {0}};
static RedisModuleCommandArg insert_args[] = {KEY,
                                              OPTION("capacity", INTEGER, "CAPACITY"),
                                              OPTION("error_rate", DOUBLE, "ERROR"),
                                              OPTION("expansion", INTEGER, "EXPANSION"),
                                              OPTION("nonscaling", PURE_TOKEN, "NONSCALING"),
                                              OPTION("nocreate", PURE_TOKEN, "NOCREATE"),
                                              OPTION("nx", PURE_TOKEN, "NX"),
                                              ITEMS("ITEMS"),
                                              {0}};
RedisModuleCommandArg info_args[] = {KEY, OPTION("field", STRING, NULL), {0}};
static RedisModuleCommandArg setval_args[] = {KEY, ITEM, NUMBER("value"), {0}};
static RedisModuleCommandArg merge_args[] = {
    {.name = "destination", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0},
    {.name = "source",
     .type = REDISMODULE_ARG_TYPE_KEY,
     .key_spec_index = 1,
     .flags = REDISMODULE_CMD_ARG_MULTIPLE},
    {0}};
RedisModuleCommandArg scandump_args[] = {KEY, NUMBER("iterator"), {0}};
RedisModuleCommandArg loadchunk_args[] = {
    KEY,
    NUMBER("iterator"),
    {.name = "data", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1},
    {0}};

/* ------------------------------------------------------------------ keys */

#define FIRST_KEY(FLAGS)                                                                \
  {                                                                                     \
    .flags = (FLAGS), .begin_search_type = REDISMODULE_KSPEC_BS_INDEX, .bs.index = {1}, \
    .find_keys_type = REDISMODULE_KSPEC_FK_RANGE, .fk.range = {                         \
      0,                                                                                \
      1,                                                                                \
      0                                                                                 \
    }                                                                                   \
  }

RedisModuleCommandKeySpec reads[] = {FIRST_KEY(REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS),
                                     {0}};
RedisModuleCommandKeySpec updates[] = {
    FIRST_KEY(REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE), {0}};
RedisModuleCommandKeySpec inserts[] = {
    FIRST_KEY(REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT), {0}};
RedisModuleCommandKeySpec removes[] = {
    FIRST_KEY(REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_DELETE), {0}};
static RedisModuleCommandKeySpec reserves[] = {
    FIRST_KEY(REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT),
    {.flags = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
     .begin_search_type = REDISMODULE_KSPEC_BS_KEYWORD,
     .bs.keyword = {"LIKE", 4},
     .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
     .fk.range = {0, 1, 0}},
    {0}};
static RedisModuleCommandKeySpec merges[] = {
    FIRST_KEY(REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_INSERT),
    {.flags = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
     .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
     .bs.index = {2},
     .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
     .fk.range = {-1, 1, 0}},
    {0}};

/* ------------------------------------------------------------------ commands */

/* Only trusted clients may report, so these commands have an ACL category of their own. */
static const struct command commands[] = {
    {"af.reserve", reserve_command, SLOW_ADD " getkeys-api", -4, reserves, reserve_args,
     "Creates an empty filter", "O(1)", "besom write slow"},
    {"af.add", add_command, ADD, 3, inserts, key_item,
     "Adds an item to a filter. Creates the filter if the key does not exist", "O(1)",
     "besom write fast"},
    {"af.madd", madd_command, ADD, -3, inserts, key_items,
     "Adds items to a filter. Creates the filter if the key does not exist", "O(N) for N items",
     "besom write fast"},
    {"af.insert", insert_command, ADD, -4, inserts, insert_args,
     "Adds items to a filter, with options for its creation", "O(N) for N items",
     "besom write fast"},
    {"af.exists", exists_command, READ, 3, reads, key_item,
     "Returns whether an item may be in a filter", "O(1)", "besom read fast"},
    {"af.mexists", mexists_command, READ, -3, reads, key_items,
     "Returns for each item whether it may be in a filter", "O(N) for N items", "besom read fast"},
    {"af.del", del_command, REMOVE, 3, removes, key_item,
     "Removes one copy of an item from a filter", "O(1)", "besom write fast"},
    {"af.count", count_command, READ, 3, reads, key_item,
     "Returns how often an item was added to a filter", "O(1)", "besom read fast"},
    {"af.card", card_command, READ, 2, reads, key_only, "Returns the number of items in a filter",
     "O(1)", "besom read fast"},
    {"af.info", info_command, "readonly", -2, reads, info_args,
     "Returns information about a filter", "O(1)", "besom read slow"},
    {"af.report", report_command, ADD, -3, updates, key_items,
     "Reports false positives. The filter answers no to these items from then on",
     "O(N) for N items", "besom besomreport write fast"},
    {"af.noadd", noadd_command, ADD, -3, updates, key_items,
     "Adds items to the no list of a filter", "O(N) for N items", "besom besomreport write fast"},
    {"af.nodel", nodel_command, REMOVE, -3, updates, key_items,
     "Removes items from the no list of a filter", "O(N) for N items",
     "besom besomreport write fast"},
    {"af.getval", getval_command, READ, 3, reads, key_item, "Returns the value stored with an item",
     "O(1)", "besom read fast"},
    {"af.setval", setval_command, ADD, 4, updates, setval_args,
     "Sets the value stored with an item, or adds it to the values of a MAPLET", "O(1)",
     "besom write fast"},
    {"af.getvals", getvals_command, READ, 3, reads, key_item,
     "Returns all values that an item may have", "O(N) for N values", "besom read fast"},
    {"af.delval", delval_command, REMOVE, 4, updates, setval_args,
     "Removes a value of an item of a MAPLET", "O(1)", "besom write fast"},
    {"af.reportval", reportval_command, ADD, 4, updates, setval_args,
     "Reports a value that an item does not have. It is not returned from then on", "O(1)",
     "besom besomreport write fast"},
    {"af.merge", merge_command, SLOW_ADD, -3, merges, merge_args,
     "Merges filters into a destination filter", "O(N) for filters of N items", "besom write slow"},
    {"af.scandump", scandump_command, "readonly", 3, reads, scandump_args,
     "Returns a chunk of a serialized filter", "O(N) for a filter of N bytes",
     "besom read slow dangerous"},
    {"af.loadchunk", loadchunk_command, SLOW_ADD, 4, inserts, loadchunk_args,
     "Restores a filter from the chunks of AF.SCANDUMP",
     "O(N) for a chunk of N bytes, O(M) for the last chunk of a filter of M bytes",
     "besom write slow"},
};

/*
 * ACL categories of modules exist in Redis 7.4 and Valkey 8, but not in Redis 7.0 nor in the header
 * that the module is compiled with. So their functions are looked up at run time.
 */
static int (*add_category)(RedisModuleCtx *ctx, const char *name);
static int (*set_categories)(RedisModuleCommand *command, const char *names);

static void find_categories(RedisModuleCtx *ctx) {
  bool there = RedisModule_GetApi("RedisModule_AddACLCategory", (void **)(void *)&add_category) ==
                   REDISMODULE_OK &&
               RedisModule_GetApi("RedisModule_SetCommandACLCategories",
                                  (void **)(void *)&set_categories) == REDISMODULE_OK;
  if (!there || add_category(ctx, "besom") != REDISMODULE_OK ||
      add_category(ctx, "besomreport") != REDISMODULE_OK)
    set_categories = NULL;
}

static int register_command(RedisModuleCtx *ctx, const struct command *c) {
  if (RedisModule_CreateCommand(ctx, c->name, c->run, c->flags, 1, c->keys == merges ? -1 : 1, 1) !=
      REDISMODULE_OK)
    return REDISMODULE_ERR;
  RedisModuleCommand *command = RedisModule_GetCommand(ctx, c->name);
  RedisModuleCommandInfo info = {.version = REDISMODULE_COMMAND_INFO_VERSION,
                                 .summary = c->summary,
                                 .complexity = c->complexity,
                                 .since = SINCE,
                                 .arity = c->arity,
                                 .key_specs = c->keys,
                                 .args = c->args};
  if (RedisModule_SetCommandInfo(command, &info) != REDISMODULE_OK) return REDISMODULE_ERR;
  return set_categories ? set_categories(command, c->categories) : REDISMODULE_OK;
}

int commands_add(RedisModuleCtx *ctx, const struct command *table, size_t n, const char **failed) {
  for (size_t i = 0; i < n; i++) {
    *failed = table[i].name;
    if (register_command(ctx, &table[i]) != REDISMODULE_OK) return REDISMODULE_ERR;
  }
  return REDISMODULE_OK;
}

void category_add(RedisModuleCtx *ctx, const char *name) {
  if (set_categories) add_category(ctx, name);
}

int commands_register(RedisModuleCtx *ctx) {
  const char *failed;
  find_categories(ctx);
  return commands_add(ctx, commands, sizeof commands / sizeof *commands, &failed);
}
