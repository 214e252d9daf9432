#include "compat.h"

#include "command_table.h"
#include "redisbloom.h"

/* ------------------------------------------------------------------ the commands */

static RedisModuleCommandArg bf_reserve_args[] = {
    KEY,
    {.name = "error_rate", .type = REDISMODULE_ARG_TYPE_DOUBLE, .key_spec_index = -1},
    NUMBER("capacity"),
    OPTION("expansion", INTEGER, "EXPANSION"),
    OPTION("nonscaling", PURE_TOKEN, "NONSCALING"),
    {0}};
static RedisModuleCommandArg bf_insert_args[] = {KEY,
                                                 OPTION("capacity", INTEGER, "CAPACITY"),
                                                 OPTION("error", DOUBLE, "ERROR"),
                                                 OPTION("expansion", INTEGER, "EXPANSION"),
                                                 OPTION("nocreate", PURE_TOKEN, "NOCREATE"),
                                                 OPTION("nonscaling", PURE_TOKEN, "NONSCALING"),
                                                 ITEMS("ITEMS"),
                                                 {0}};
static RedisModuleCommandArg cf_reserve_args[] = {KEY,
                                                  NUMBER("capacity"),
                                                  OPTION("bucketsize", INTEGER, "BUCKETSIZE"),
                                                  OPTION("maxiterations", INTEGER, "MAXITERATIONS"),
                                                  OPTION("expansion", INTEGER, "EXPANSION"),
                                                  {0}};
static RedisModuleCommandArg cf_insert_args[] = {KEY,
                                                 OPTION("capacity", INTEGER, "CAPACITY"),
                                                 OPTION("nocreate", PURE_TOKEN, "NOCREATE"),
                                                 ITEMS("ITEMS"),
                                                 {0}};

static RedisModuleCommandArg load_args[] = {
    KEY, {.name = "dump", .type = REDISMODULE_ARG_TYPE_STRING, .key_spec_index = -1}, {0}};

#define EACH "O(N) for N items"
#define WHOLE "O(N) for a filter of N bytes"

static const struct command bf_commands[] = {
    {"bf.reserve", bf_reserve_command, SLOW_ADD, -4, inserts, bf_reserve_args,
     "Creates an empty filter", "O(1)", "besom bloom write slow"},
    {"bf.add", bf_add_command, ADD, 3, inserts, key_item,
     "Adds an item to a filter. Creates the filter if the key does not exist", "O(1)",
     "besom bloom write fast"},
    {"bf.madd", bf_madd_command, ADD, -3, inserts, key_items,
     "Adds items to a filter. Creates the filter if the key does not exist", EACH,
     "besom bloom write fast"},
    {"bf.insert", bf_insert_command, ADD, -4, inserts, bf_insert_args,
     "Adds items to a filter, with options for its creation", EACH, "besom bloom write fast"},
    {"bf.exists", compat_exists_command, READ, 3, reads, key_item,
     "Returns whether an item may be in a filter", "O(1)", "besom bloom read fast"},
    {"bf.mexists", compat_mexists_command, READ, -3, reads, key_items,
     "Returns for each item whether it may be in a filter", EACH, "besom bloom read fast"},
    {"bf.card", card_command, READ, 2, reads, key_only, "Returns the number of items in a filter",
     "O(1)", "besom bloom read fast"},
    {"bf.info", bf_info_command, "readonly", -2, reads, info_args,
     "Returns information about a filter", "O(1)", "besom bloom read slow"},
    {"bf.scandump", bf_scandump_command, "readonly", 3, reads, scandump_args,
     "Returns a chunk of a serialized filter", WHOLE, "besom bloom read slow dangerous"},
    {"bf.debug", bf_debug_command, "readonly", 2, reads, key_only,
     "Returns information about the layers of a filter", "O(N) for N layers",
     "besom bloom read slow"},
    {"bf.load", bf_load_command, SLOW_ADD, 3, inserts, load_args,
     "Refuses a filter that valkey-bloom has saved", "O(1)", "besom bloom write slow"},
    {"bf.loadchunk", bf_loadchunk_command, SLOW_ADD, 4, inserts, loadchunk_args,
     "Restores a filter from the chunks of BF.SCANDUMP", WHOLE, "besom bloom write slow"},
};

static const struct command cf_commands[] = {
    {"cf.reserve", cf_reserve_command, SLOW_ADD, -3, inserts, cf_reserve_args,
     "Creates an empty filter", "O(1)", "besom cuckoo write slow"},
    {"cf.add", cf_add_command, ADD, 3, inserts, key_item,
     "Adds an item to a filter. Creates the filter if the key does not exist", "O(1)",
     "besom cuckoo write fast"},
    {"cf.addnx", cf_addnx_command, ADD, 3, inserts, key_item,
     "Adds an item to a filter if the filter does not hold it", "O(1)", "besom cuckoo write fast"},
    {"cf.insert", cf_insert_command, ADD, -4, inserts, cf_insert_args,
     "Adds items to a filter, with options for its creation", EACH, "besom cuckoo write fast"},
    {"cf.insertnx", cf_insertnx_command, ADD, -4, inserts, cf_insert_args,
     "Adds the items that the filter does not hold, with options for its creation", EACH,
     "besom cuckoo write fast"},
    {"cf.exists", compat_exists_command, READ, 3, reads, key_item,
     "Returns whether an item may be in a filter", "O(1)", "besom cuckoo read fast"},
    {"cf.mexists", compat_mexists_command, READ, -3, reads, key_items,
     "Returns for each item whether it may be in a filter", EACH, "besom cuckoo read fast"},
    {"cf.del", cf_del_command, REMOVE, 3, removes, key_item,
     "Removes one copy of an item from a filter", "O(1)", "besom cuckoo write fast"},
    {"cf.count", cf_count_command, READ, 3, reads, key_item,
     "Returns how often an item was added to a filter", "O(1)", "besom cuckoo read fast"},
    {"cf.info", cf_info_command, "readonly", 2, reads, key_only,
     "Returns information about a filter", "O(1)", "besom cuckoo read slow"},
    {"cf.scandump", cf_scandump_command, "readonly", 3, reads, scandump_args,
     "Returns a chunk of a serialized filter", WHOLE, "besom cuckoo read slow dangerous"},
    {"cf.debug", cf_debug_command, "readonly", 2, reads, key_only,
     "Returns information about a filter", "O(1)", "besom cuckoo read slow"},
    {"cf.compact", cf_compact_command, "write", 2, updates, key_only,
     "Has no effect: filters are always compact", "O(1)", "besom cuckoo write slow"},
    {"cf.loadchunk", cf_loadchunk_command, SLOW_ADD, 4, inserts, loadchunk_args,
     "Restores a filter from the chunks of CF.SCANDUMP", WHOLE, "besom cuckoo write slow"},
};

/* ------------------------------------------------------------------ loading */

static int enabled;

static int get_enabled(const char *name, void *data) {
  (void)name;
  (void)data;
  return enabled;
}

static int set_enabled(const char *name, int value, void *data, RedisModuleString **error) {
  (void)name;
  (void)data;
  (void)error;
  enabled = value;
  return REDISMODULE_OK;
}

int compat_configure(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  int by_argument = 0;
  for (int i = 0; i < argc; i += 2) {
    bool yes = i + 1 < argc && is_word(argv[i + 1], "yes"),
         no = i + 1 < argc && is_word(argv[i + 1], "no");
    if (!is_word(argv[i], "compat") || (!yes && !no)) {
      RedisModule_Log(ctx, "warning",
                      "besom: unknown module argument '%s': the only one is 'compat yes' or "
                      "'compat no'",
                      RedisModule_StringPtrLen(argv[i], NULL));
      return REDISMODULE_ERR;
    }
    by_argument = yes;
  }
  return RedisModule_RegisterBoolConfig(ctx, "compat", by_argument, REDISMODULE_CONFIG_IMMUTABLE,
                                        get_enabled, set_enabled, NULL, NULL);
}

int compat_register(RedisModuleCtx *ctx) {
  const char *failed;
  if (!enabled) return REDISMODULE_OK;
  if (redisbloom_register(ctx) != REDISMODULE_OK) {
    RedisModule_Log(ctx, "warning",
                    "besom: compat yes: the types MBbloom-- and MBbloomCF exist already, because "
                    "RedisBloom is loaded: load besom without compat, or do not load RedisBloom");
    return REDISMODULE_ERR;
  }
  category_add(ctx, "bloom");
  category_add(ctx, "cuckoo");
  if (commands_add(ctx, bf_commands, sizeof bf_commands / sizeof *bf_commands, &failed) ==
          REDISMODULE_OK &&
      commands_add(ctx, cf_commands, sizeof cf_commands / sizeof *cf_commands, &failed) ==
          REDISMODULE_OK)
    return REDISMODULE_OK;
  RedisModule_Log(ctx, "warning",
                  "besom: compat yes: the command %s exists already, from RedisBloom or another "
                  "module: load besom without compat, or do not load the other module",
                  failed);
  return REDISMODULE_ERR;
}
