/*
 * compat.h - the commands BF.* and CF.*, so that clients of RedisBloom work without a change
 * (docs/redisbloom.md). They are registered only if the administrator asks for them.
 *
 * The filters are those of the commands AF.*, and all commands work on all filters. The arguments,
 * replies and error texts are those of RedisBloom 8. Only AF.* commands are replicated and written
 * to the AOF, so replicas and restarts do not need the compatibility mode.
 */
#ifndef BESOM_REDIS_COMPAT_H
#define BESOM_REDIS_COMPAT_H

#include "command.h"

/*
 * Registers the parameter besom.compat, and reads the arguments of the module: "compat yes" sets
 * the default of the parameter. Unknown arguments are errors. Call it before the parameters are
 * loaded.
 */
int compat_configure(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/*
 * If besom.compat is yes, registers BF.* and CF.*. If a command of that name exists, the result is
 * an error, and the log names the command. Call it after the parameters are loaded.
 */
int compat_register(RedisModuleCtx *ctx);

/* ------------------------------------------------------------------ shared by BF.* and CF.* */

#define BLOOM_NOT_FOUND "ERR not found"
#define BLOOM_EXISTS "ERR item exists"
#define BLOOM_UNKNOWN_ARGUMENT "Unknown argument received"

/* Replies for one item; `missing`: it was answered no before. Returns false if the command must not
 * add further items. */
typedef bool (*compat_reply)(RedisModuleCtx *ctx, const struct af *af, besom_status status,
                             bool missing);

/* A command that adds items. */
struct compat_add {
  bool create; /* if the key is missing, create the filter by `config` */
  struct filter_config config;
  enum add_mode mode;
  compat_reply reply;
  bool is_array; /* the reply is an array, even of one item */
};
int compat_add_items(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString **items, int n,
                     const struct compat_add *add);

/* Parses an integer. Returns NULL or the error to reply: one of the two texts. */
const char *compat_parse(RedisModuleString *string, long long min, long long max,
                         const char *not_a_number, const char *out_of_range, long long *number);

/* Replies with an error in the arguments of a RESERVE command. */
int compat_refuse_reserve(RedisModuleCtx *ctx, RedisModuleString *key, const char *error);
/* Creates a filter if the key is free, and replies. */
int compat_reserve(RedisModuleCtx *ctx, RedisModuleString *key, const struct filter_config *config);

/* A field of BF.INFO and CF.INFO. */
struct compat_field {
  const char *name;
  const char *option; /* the argument that selects the field; NULL: none */
  uint64_t value;
  bool is_nil;
};
/* Replies with all fields, or with one if `option` is not NULL. */
int compat_reply_info(RedisModuleCtx *ctx, const struct compat_field *fields, size_t n,
                      RedisModuleString *option);
/* Returns the value for INFO or SCANDUMP, or replies with an error and returns NULL. */
struct af *compat_require(RedisModuleCtx *ctx, RedisModuleString *key);

/* For keys of another type the answer is no: only writes reply with WRONGTYPE. */
int compat_exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int compat_mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* A value with frozen layers only is dumped as RedisBloom does, which can load it again. */
int compat_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                    enum frozen_family family, const char *bad_iterator);
/* Chunks of this module and of RedisBloom. */
int compat_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                     enum frozen_family family);

/* ------------------------------------------------------------------ commands */

int bf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_load_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int bf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int cf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_addnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_insertnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_compact_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int cf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
