/* Commands that add, query and remove items, and that read and set their values. */
#include "command.h"

/* ------------------------------------------------------------------ adding */

struct add_options {
  bool create; /* if the key is missing, create the filter by `config` */
  enum add_mode mode;
  struct filter_config config;
};

/*
 * Returns the value, created if options say so, or replies with an error and returns NULL. A
 * command from an AOF or a master never creates it: AF.RESERVE precedes these commands there.
 */
static struct af *require_for_add(RedisModuleCtx *ctx, RedisModuleString *key,
                                  RedisModuleString **items, int n,
                                  const struct add_options *options) {
  struct af *af;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == FOUND) return attach_filter_for(ctx, key, af, items, n, options->mode) ? af : NULL;
  bool create = options->create && is_client_command(ctx);
  if (found == MISSING && create) return create_filter(ctx, key, &options->config);
  if (found == MISSING) mark_if_replayed(ctx, key, "items of a filter that does not exist");
  reply_lookup_error(ctx, found);
  return NULL;
}

#define ITEM_REFUSED "an item does not fit"

static int add_items(RedisModuleCtx *ctx, RedisModuleString **argv, RedisModuleString **items,
                     int n, const struct add_options *options) {
  struct af *af = require_for_add(ctx, argv[1], items, n, options);
  if (!af) return REDISMODULE_OK;
  struct added_items added;
  bool failed = false;
  besom_status status = BESOM_OK;
  added_begin(&added, (size_t)n);
  RedisModule_ReplyWithArray(ctx, n);
  begin_change(ctx);
  for (int i = 0; i < n; i++) {
    bool missing = false, changed = false;
    if (status != BESOM_NO_MEMORY) /* a refusal takes long, so one is enough */
      status = af_add(af, bytes_of(items[i]), options->mode, &missing, &changed);
    if (changed) added_append(&added, items[i]);
    if (status == BESOM_OK)
      RedisModule_ReplyWithBool(ctx, missing);
    else
      reply_status(ctx, status);
    failed |= status != BESOM_OK;
  }
  end_change();
  added_end(&added, ctx, argv[1]);
  if (failed) mark_if_replayed(ctx, argv[1], ITEM_REFUSED);
  return REDISMODULE_OK;
}

static struct add_options default_options(void) {
  return (struct add_options){.create = true, .config = default_config()};
}

int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct add_options options = default_options();
  struct af *af = require_for_add(ctx, argv[1], argv + 2, 1, &options);
  if (!af) return REDISMODULE_OK;
  bool missing, changed;
  begin_change(ctx);
  besom_status status = af_add(af, bytes_of(argv[2]), ADD_COPY, &missing, &changed);
  end_change();
  if (status != BESOM_OK) {
    mark_if_replayed(ctx, argv[1], ITEM_REFUSED);
    return reply_status(ctx, status);
  }
  if (changed) {
    RedisModule_ReplicateVerbatim(ctx);
    notify(ctx, "af.add", argv[1]);
  }
  return RedisModule_ReplyWithBool(ctx, missing);
}

int madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct add_options options = default_options();
  return add_items(ctx, argv, argv + 2, argc - 2, &options);
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
      options->mode = ADD_MISSING;
    else if (is_word(argv[i], "NONSCALING"))
      options->config.nonscaling = true;
    else if (is_word(argv[i], "CAPACITY") && i + 1 < argc)
      error = parse_capacity(argv[++i], &options->config.capacity);
    else if (is_word(argv[i], "ERROR") && i + 1 < argc)
      error = parse_error_rate(argv[++i], &options->config.fpr);
    else if (is_word(argv[i], "EXPANSION") && i + 1 < argc)
      error = parse_expansion(argv[++i], &options->config);
    else
      return "ERR syntax error";
  }
  *items = i + 1;
  if (error) return error;
  if (i + 1 >= argc) return "ERR syntax error: ITEMS and at least one item are required";
  return check_config(&options->config);
}

int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct add_options options = default_options();
  int first;
  const char *error = parse_insert(argv, argc, &options, &first);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  return add_items(ctx, argv, argv + first, argc - first, &options);
}

/* ------------------------------------------------------------------ queries */

int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithBool(ctx, false);
  if (found != FOUND) return reply_lookup_error(ctx, found);
  return RedisModule_ReplyWithBool(ctx, af_has(af, bytes_of(argv[2])));
}

#define BATCH AF_MANY

static void reply_batch(RedisModuleCtx *ctx, const struct af *af, RedisModuleString **items,
                        size_t n) {
  besom_bytes keys[BATCH];
  uint64_t bitmap[BATCH / 64] = {0};
  for (size_t i = 0; i < n; i++) keys[i] = bytes_of(items[i]);
  if (af) af_has_many(af, keys, n, bitmap);
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
  besom_status status = af_count(af, bytes_of(argv[2]), &n);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)n);
}

/* ------------------------------------------------------------------ removal */

int del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  besom_status status = af_remove(af, bytes_of(argv[2]));
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status == BESOM_AMBIGUOUS)
    return RedisModule_ReplyWithError(ctx,
                                      "ERR the item has several values: AF.DELVAL key item value");
  if (status != BESOM_OK) return reply_status(ctx, status);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.del", argv[1]);
  return RedisModule_ReplyWithBool(ctx, true);
}
