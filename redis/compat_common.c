/* What the commands BF.* and CF.* share. */
#include "chunks.h"
#include "compat.h"
#include "redisbloom.h"

/* ------------------------------------------------------------------ arguments */

const char *compat_parse(RedisModuleString *string, long long min, long long max,
                         const char *not_a_number, const char *out_of_range, long long *number) {
  if (RedisModule_StringToLongLong(string, number) != REDISMODULE_OK) return not_a_number;
  return *number < min || *number > max ? out_of_range : NULL;
}

/* ------------------------------------------------------------------ adding */

int compat_refuse_reserve(RedisModuleCtx *ctx, RedisModuleString *key, const char *error) {
  struct af *af;
  if (lookup_for_read(ctx, key, &af) == MISSING) mark_if_replayed(ctx, key, error);
  return RedisModule_ReplyWithError(ctx, error);
}

int compat_reserve(RedisModuleCtx *ctx, RedisModuleString *key,
                   const struct filter_config *config) {
  struct af *af;
  enum lookup found = lookup_for_read(ctx, key, &af);
  if (found == WRONG_TYPE) return reply_lookup_error(ctx, found);
  if (found != MISSING) return RedisModule_ReplyWithError(ctx, BLOOM_EXISTS);
  if (create_filter(ctx, key, config)) return RedisModule_ReplyWithSimpleString(ctx, "OK");
  mark_if_replayed(ctx, key, "the filter cannot be reserved");
  return REDISMODULE_OK;
}

static struct af *require_for_add(RedisModuleCtx *ctx, RedisModuleString *key,
                                  RedisModuleString **items, int n, const struct compat_add *add) {
  struct af *af;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == FOUND) return attach_filter_for(ctx, key, af, items, n, add->mode) ? af : NULL;
  if (found == MISSING && add->create) return create_filter(ctx, key, &add->config);
  if (found == MISSING)
    RedisModule_ReplyWithError(ctx, BLOOM_NOT_FOUND);
  else
    reply_lookup_error(ctx, found);
  return NULL;
}

/* Adds items until a reply says stop, and replicates them. Returns the number of replies. */
static long add_until_stop(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                           RedisModuleString **items, int n, const struct compat_add *add) {
  struct added_items added;
  bool go_on = true;
  besom_status status = BESOM_OK;
  int i = 0;
  added_begin(&added, (size_t)n);
  begin_change(ctx);
  for (; i < n && go_on; i++) {
    bool missing = false, changed = false;
    if (status != BESOM_NO_MEMORY) /* a refusal takes long, so one is enough */
      status = af_add(af, bytes_of(items[i]), add->mode, &missing, &changed);
    if (changed) added_append(&added, items[i]);
    go_on = add->reply(ctx, af, status, missing);
  }
  end_change();
  added_end(&added, ctx, key);
  /* RedisBloom replicates items that do not fit, too, but not those without memory */
  if (status == BESOM_NO_MEMORY) mark_if_replayed(ctx, key, "not enough memory for an item");
  return i;
}

int compat_add_items(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString **items, int n,
                     const struct compat_add *add) {
  struct af *af = require_for_add(ctx, key, items, n, add);
  if (!af) return REDISMODULE_OK;
  if (add->is_array) RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
  long replies = add_until_stop(ctx, key, af, items, n, add);
  if (add->is_array) RedisModule_ReplySetArrayLength(ctx, replies);
  return REDISMODULE_OK;
}

/* ------------------------------------------------------------------ queries */

int compat_exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == INCOMPLETE || found == MARKED) return reply_lookup_error(ctx, found);
  return RedisModule_ReplyWithBool(ctx, found == FOUND && af_has(af, bytes_of(argv[2])));
}

int compat_mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af;
  if (lookup_for_read(ctx, argv[1], &af) != WRONG_TYPE) return mexists_command(ctx, argv, argc);
  RedisModule_ReplyWithArray(ctx, argc - 2);
  for (int i = 2; i < argc; i++) RedisModule_ReplyWithBool(ctx, false);
  return REDISMODULE_OK;
}

/* ------------------------------------------------------------------ information */

struct af *compat_require(RedisModuleCtx *ctx, RedisModuleString *key) {
  struct af *af;
  enum lookup found = lookup_for_read(ctx, key, &af);
  if (found == FOUND) return af;
  if (found == MISSING)
    RedisModule_ReplyWithError(ctx, BLOOM_NOT_FOUND);
  else
    reply_lookup_error(ctx, found);
  return NULL;
}

static bool is_resp3(RedisModuleCtx *ctx) {
  return RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3;
}

static void reply_value(RedisModuleCtx *ctx, const struct compat_field *field) {
  if (field->is_nil)
    RedisModule_ReplyWithNull(ctx);
  else
    RedisModule_ReplyWithLongLong(ctx, (long long)field->value);
}

/* One field: in RESP3 a map, in RESP2 an array of the value alone. */
static int reply_one(RedisModuleCtx *ctx, const struct compat_field *field) {
  if (is_resp3(ctx)) {
    RedisModule_ReplyWithMap(ctx, 1);
    RedisModule_ReplyWithSimpleString(ctx, field->name);
  } else {
    RedisModule_ReplyWithArray(ctx, 1);
  }
  reply_value(ctx, field);
  return REDISMODULE_OK;
}

int compat_reply_info(RedisModuleCtx *ctx, const struct compat_field *fields, size_t n,
                      RedisModuleString *option) {
  if (!option) RedisModule_ReplyWithMap(ctx, (long)n);
  for (size_t i = 0; i < n; i++) {
    if (option && is_word(option, fields[i].option)) return reply_one(ctx, &fields[i]);
    if (option) continue;
    RedisModule_ReplyWithSimpleString(ctx, fields[i].name);
    reply_value(ctx, &fields[i]);
  }
  return option ? RedisModule_ReplyWithError(ctx, "Invalid information value") : REDISMODULE_OK;
}

/* ------------------------------------------------------------------ dumps */

int compat_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                    enum frozen_family family, const char *bad_iterator) {
  long long from;
  struct af *af = compat_require(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  if (RedisModule_StringToLongLong(argv[2], &from) != REDISMODULE_OK || from < 0)
    return RedisModule_ReplyWithError(ctx, bad_iterator);
  if (redisbloom_can_dump(af, family)) return redisbloom_reply_chunk(ctx, af, (uint64_t)from);
  return scandump_command(ctx, argv, argc);
}

/* A chunk of this module with the iterator of another one is as bad as one of RedisBloom. */
int compat_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                     enum frozen_family family) {
  struct chunk chunk = {0};
  besom_bytes data = bytes_of(argv[3]);
  long long iterator;
  besom_status status = chunk_parse(data.data, data.len, &chunk);
  bool fits = RedisModule_StringToLongLong(argv[2], &iterator) == REDISMODULE_OK &&
              (uint64_t)iterator == chunk.from + chunk.len;
  if (status == BESOM_CORRUPT || (status == BESOM_OK && !fits))
    return redisbloom_load_chunk(ctx, argv, family);
  return loadchunk_command(ctx, argv, argc);
}
