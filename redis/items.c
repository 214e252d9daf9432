/* Commands that add, query and remove items, and that read and set their values. */
#include "command.h"
#include "config.h"
#include "grow.h"

/* ------------------------------------------------------------------ adding */

struct add_options {
  bool create;       /* if the key is missing, create the filter by `config` */
  bool only_missing; /* skip items that are answered yes */
  struct filter_config config;
};

/* *added: the item was answered no before. Sets (af_is_multiset) skip items answered yes. */
static besom_status add_item(struct af *af, RedisModuleString *item, bool only_missing,
                             bool *added) {
  besom_digest digest = digest_of(af, item);
  *added = !besom_contains_digest(af->filter, digest);
  if (!*added && (only_missing || !af_is_multiset(af))) return BESOM_OK;
  besom_status status = besom_insert_digest(af->filter, digest);
  if (status == BESOM_OK) af_add_items(af, 1);
  return status;
}

/* Returns the value, created if options say so, or replies with an error and returns NULL. */
static struct af *require_for_add(RedisModuleCtx *ctx, RedisModuleString *key,
                                  const struct add_options *options) {
  struct af *af;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == FOUND) return af;
  if (found == MISSING && is_retry()) {
    RedisModule_ReplyWithError(ctx, "TRYAGAIN the key was moved or deleted while the command "
                                    "waited for the filter to grow");
    return NULL;
  }
  if (found != MISSING || !options->create) {
    reply_lookup_error(ctx, found);
    return NULL;
  }
  return create_value(ctx, key, &options->config);
}

/* Replicates only the items that were added. */
static void replicate_added(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString **items,
                            size_t n) {
  if (n == 0) return;
  RedisModule_Replicate(ctx, "AF.MADD", "sv", key, items, n);
  notify(ctx, "af.add", key);
}

/* A filter below its MAXCAPACITY is full only if it could not grow. */
static int reply_add_error(RedisModuleCtx *ctx, const struct af *af, besom_status status) {
  if (status == BESOM_FULL && af->capacity < af->max_capacity)
    return RedisModule_ReplyWithError(ctx, "ERR the filter is full, and there is not enough memory "
                                           "to grow: raise maxmemory or besom.max-filter-bytes");
  return reply_status(ctx, status);
}

static int add_items(RedisModuleCtx *ctx, RedisModuleString **argv, RedisModuleString **items,
                     int n, const struct add_options *options, RedisModuleCmdFunc retry) {
  struct af *af = require_for_add(ctx, argv[1], options);
  if (!af || !grow_if_needed(ctx, argv[1], af, (uint64_t)n, retry)) return REDISMODULE_OK;
  RedisModuleString **added_items = RedisModule_Alloc((size_t)n * sizeof *added_items);
  size_t n_added = 0;
  RedisModule_ReplyWithArray(ctx, n);
  for (int i = 0; i < n; i++) {
    bool added;
    uint64_t before = af->items;
    besom_status status = add_item(af, items[i], options->only_missing, &added);
    if (af->items != before) added_items[n_added++] = items[i];
    if (status == BESOM_OK)
      RedisModule_ReplyWithBool(ctx, added);
    else
      reply_add_error(ctx, af, status);
  }
  replicate_added(ctx, argv[1], added_items, n_added);
  RedisModule_Free(added_items);
  return REDISMODULE_OK;
}

static struct add_options default_options(void) {
  return (struct add_options){
      .create = true,
      .config = {.capacity = config_default_capacity(), .fpr = config_default_fpr()}};
}

int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct add_options options = default_options();
  struct af *af = require_for_add(ctx, argv[1], &options);
  if (!af || !grow_if_needed(ctx, argv[1], af, 1, add_command)) return REDISMODULE_OK;
  bool added;
  uint64_t before = af->items;
  besom_status status = add_item(af, argv[2], false, &added);
  if (status != BESOM_OK) return reply_add_error(ctx, af, status);
  if (af->items != before) {
    RedisModule_ReplicateVerbatim(ctx);
    notify(ctx, "af.add", argv[1]);
  }
  return RedisModule_ReplyWithBool(ctx, added);
}

int madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct add_options options = default_options();
  return add_items(ctx, argv, argv + 2, argc - 2, &options, madd_command);
}

/* Parses the options of AF.INSERT. *items is the index of the first item. */
static const char *parse_insert(RedisModuleString **argv, int argc, struct add_options *options,
                                int *items) {
  const char *error = NULL;
  int i = 2;
  for (; !error && i < argc && !is_word(argv[i], "ITEMS"); i++) {
    if (is_word(argv[i], "NOCREATE"))
      options->create = false;
    else if (is_word(argv[i], "NX"))
      options->only_missing = true;
    else if (is_word(argv[i], "CAPACITY") && i + 1 < argc)
      error = parse_capacity(argv[++i], &options->config.capacity);
    else if (is_word(argv[i], "ERROR") && i + 1 < argc)
      error = parse_error_rate(argv[++i], &options->config.fpr);
    else
      return "ERR syntax error";
  }
  *items = i + 1;
  return error          ? error
         : i + 1 < argc ? NULL
                        : "ERR syntax error: ITEMS and at least one item are required";
}

int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct add_options options = default_options();
  int first;
  const char *error = parse_insert(argv, argc, &options, &first);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  return add_items(ctx, argv, argv + first, argc - first, &options, insert_command);
}

/* ------------------------------------------------------------------ queries */

int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithBool(ctx, false);
  if (found != FOUND) return reply_lookup_error(ctx, found);
  return RedisModule_ReplyWithBool(ctx, besom_contains_digest(af->filter, digest_of(af, argv[2])));
}

#define BATCH 256

static void reply_batch(RedisModuleCtx *ctx, const struct af *af, RedisModuleString **items,
                        size_t n) {
  besom_bytes keys[BATCH];
  uint64_t bitmap[BATCH / 64] = {0};
  for (size_t i = 0; i < n; i++) keys[i] = bytes_of(items[i]);
  if (af) besom_contains_many(af->filter, keys, n, bitmap);
  for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, bitmap[i / 64] >> i % 64 & 1);
}

int mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af = NULL;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found != FOUND && found != MISSING) return reply_lookup_error(ctx, found);
  RedisModule_ReplyWithArray(ctx, argc - 2);
  for (int i = 2; i < argc; i += BATCH)
    reply_batch(ctx, found == FOUND ? af : NULL, argv + i,
                (size_t)(argc - i < BATCH ? argc - i : BATCH));
  return REDISMODULE_OK;
}

int count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  uint64_t n = 0;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithLongLong(ctx, 0);
  if (found != FOUND) return reply_lookup_error(ctx, found);
  besom_bytes item = bytes_of(argv[2]);
  besom_status status = besom_count(af->filter, item.data, item.len, &n);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)n);
}

int getval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_read(ctx, argv[1]);
  uint64_t value;
  if (!af) return REDISMODULE_OK;
  besom_bytes item = bytes_of(argv[2]);
  besom_status status = besom_get_value(af->filter, item.data, item.len, &value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithNull(ctx);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

/* ------------------------------------------------------------------ removal and values */

int del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  if (!af || !grow_if_needed(ctx, argv[1], af, 0, del_command)) return REDISMODULE_OK;
  besom_status status = besom_remove_digest(af->filter, digest_of(af, argv[2]));
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  af_add_items(af, -1);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.del", argv[1]);
  return RedisModule_ReplyWithBool(ctx, true);
}

#define VALUE_ERROR "ERR the value must be an integer that fits into the VALUEBITS of the filter"

static int reply_setval_error(RedisModuleCtx *ctx, besom_status status) {
  if (status == BESOM_INVALID) return RedisModule_ReplyWithError(ctx, VALUE_ERROR);
  if (status == BESOM_AMBIGUOUS)
    return RedisModule_ReplyWithError(ctx, "ERR several fingerprints match the item: its value "
                                           "cannot be set. A lower error rate makes this rarer");
  return reply_status(ctx, status);
}

int setval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  long long value;
  if (!af || !grow_if_needed(ctx, argv[1], af, 0, setval_command)) return REDISMODULE_OK;
  if (RedisModule_StringToLongLong(argv[3], &value) != REDISMODULE_OK || value < 0)
    return RedisModule_ReplyWithError(ctx, VALUE_ERROR);
  besom_bytes item = bytes_of(argv[2]);
  besom_status status = besom_set_value(af->filter, item.data, item.len, (uint64_t)value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_setval_error(ctx, status);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.setval", argv[1]);
  return RedisModule_ReplyWithBool(ctx, true);
}
