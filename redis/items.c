/* Commands on single items. */
#include "command.h"
#include "growth.h"
#include "settings.h"

static besom_digest digest_of(const struct af *af, RedisModuleString *item) {
  size_t len;
  const char *text = RedisModule_StringPtrLen(item, &len);
  return besom_hash(af->filter, text, len);
}

/* ------------------------------------------------------------------ adding */

struct adding {
  bool create;       /* the key if it is not there */
  bool only_missing; /* items that are answered yes are left out */
  struct wanted wanted;
};

/* *added: it was answered no before. A set (af_keeps_copies) leaves out what is there already. */
static besom_status add_item(struct af *af, RedisModuleString *item, bool only_missing,
                             bool *added) {
  besom_digest digest = digest_of(af, item);
  *added = !besom_contains_digest(af->filter, digest);
  if (!*added && (only_missing || !af_keeps_copies(af))) return BESOM_OK;
  besom_status status = besom_insert_digest(af->filter, digest);
  if (status == BESOM_OK) af_count(af, 1);
  return status;
}

/* The value to add to, made if need be; NULL: an error is replied. */
static struct af *value_to_add_to(RedisModuleCtx *ctx, RedisModuleString *key,
                                  const struct adding *how) {
  struct af *af;
  enum find found = find_value_to_change(ctx, key, &af);
  if (found == FOUND) return af;
  if (found == MISSING && growth_has_waited()) {
    RedisModule_ReplyWithError(ctx, "TRYAGAIN the filter has gone while it grew");
    return NULL;
  }
  if (found != MISSING || !how->create) {
    reply_find(ctx, found);
    return NULL;
  }
  besom_status status = create_value(ctx, key, &how->wanted, &af);
  if (status == BESOM_OK) return af;
  reply_status(ctx, status);
  return NULL;
}

/* What went in is told to replicas, and nothing else: the failed ones go to the end of the row, and are not told. */
static void tell_added(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString **items,
                       size_t n) {
  if (n == 0) return;
  RedisModule_Replicate(ctx, "AF.MADD", "sv", key, items, n);
  notify(ctx, "af.add", key);
}

static int add_items(RedisModuleCtx *ctx, RedisModuleString **argv, RedisModuleString **items,
                     int n, const struct adding *how, RedisModuleCmdFunc again) {
  struct af *af = value_to_add_to(ctx, argv[1], how);
  if (!af || !growth_make_room(ctx, argv[1], af, (uint64_t)n, again)) return REDISMODULE_OK;
  RedisModuleString **told = RedisModule_Alloc((size_t)n * sizeof *told);
  size_t n_told = 0;
  RedisModule_ReplyWithArray(ctx, n);
  for (int i = 0; i < n; i++) {
    bool added;
    uint64_t before = af->items;
    besom_status status = add_item(af, items[i], how->only_missing, &added);
    if (af->items != before) told[n_told++] = items[i];
    if (status == BESOM_OK)
      RedisModule_ReplyWithBool(ctx, added);
    else
      reply_status(ctx, status);
  }
  tell_added(ctx, argv[1], told, n_told);
  RedisModule_Free(told);
  return REDISMODULE_OK;
}

static struct wanted by_default(void) {
  return (struct wanted){.capacity = settings_capacity(), .fpr = settings_rate()};
}

int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct adding how = {.create = true, .wanted = by_default()};
  struct af *af = value_to_add_to(ctx, argv[1], &how);
  if (!af || !growth_make_room(ctx, argv[1], af, 1, add_command)) return REDISMODULE_OK;
  bool added;
  uint64_t before = af->items;
  besom_status status = add_item(af, argv[2], false, &added);
  if (status != BESOM_OK) return reply_status(ctx, status);
  if (af->items != before) {
    RedisModule_ReplicateVerbatim(ctx);
    notify(ctx, "af.add", argv[1]);
  }
  return RedisModule_ReplyWithBool(ctx, added);
}

int madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct adding how = {.create = true, .wanted = by_default()};
  return add_items(ctx, argv, argv + 2, argc - 2, &how, madd_command);
}

/* The options of AF.INSERT; *items is where the items begin. */
static const char *read_insert(RedisModuleString **argv, int argc, struct adding *how, int *items) {
  const char *error = NULL;
  int i = 2;
  for (; !error && i < argc && !is_word(argv[i], "ITEMS"); i++) {
    if (is_word(argv[i], "NOCREATE"))
      how->create = false;
    else if (is_word(argv[i], "NX"))
      how->only_missing = true;
    else if (is_word(argv[i], "CAPACITY") && i + 1 < argc)
      error = read_capacity(argv[++i], &how->wanted.capacity);
    else if (is_word(argv[i], "ERROR") && i + 1 < argc)
      error = read_rate(argv[++i], &how->wanted.fpr);
    else
      return "ERR syntax error";
  }
  *items = i + 1;
  return error ? error : i + 1 < argc ? NULL : "ERR syntax error: ITEMS and an item are missing";
}

int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct adding how = {.create = true, .wanted = by_default()};
  int first;
  const char *error = read_insert(argv, argc, &how, &first);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  return add_items(ctx, argv, argv + first, argc - first, &how, insert_command);
}

/* ------------------------------------------------------------------ questions */

int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum find found = find_value(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithBool(ctx, false);
  if (found != FOUND) return reply_find(ctx, found);
  return RedisModule_ReplyWithBool(ctx, besom_contains_digest(af->filter, digest_of(af, argv[2])));
}

#define BATCH 256

static void reply_batch(RedisModuleCtx *ctx, const struct af *af, RedisModuleString **items,
                        size_t n) {
  besom_bytes keys[BATCH];
  uint64_t bitmap[BATCH / 64] = {0};
  for (size_t i = 0; i < n; i++) keys[i].data = RedisModule_StringPtrLen(items[i], &keys[i].len);
  if (af) besom_contains_many(af->filter, keys, n, bitmap);
  for (size_t i = 0; i < n; i++) RedisModule_ReplyWithBool(ctx, bitmap[i / 64] >> i % 64 & 1);
}

int mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af = NULL;
  enum find found = find_value(ctx, argv[1], &af);
  if (found != FOUND && found != MISSING) return reply_find(ctx, found);
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
  enum find found = find_value(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithLongLong(ctx, 0);
  if (found != FOUND) return reply_find(ctx, found);
  besom_status status = besom_count_digest(af->filter, digest_of(af, argv[2]), &n);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)n);
}

int getval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = value_to_read(ctx, argv[1]);
  uint64_t value;
  if (!af) return REDISMODULE_OK;
  besom_status status = besom_get_value_digest(af->filter, digest_of(af, argv[2]), &value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithNull(ctx);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

/* ------------------------------------------------------------------ changes of what is there */

int del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = value_to_change(ctx, argv[1]);
  if (!af || !growth_make_room(ctx, argv[1], af, 0, del_command)) return REDISMODULE_OK;
  besom_status status = besom_remove_digest(af->filter, digest_of(af, argv[2]));
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  af_count(af, -1);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.del", argv[1]);
  return RedisModule_ReplyWithBool(ctx, true);
}

int setval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = value_to_change(ctx, argv[1]);
  long long value;
  if (!af || !growth_make_room(ctx, argv[1], af, 0, setval_command)) return REDISMODULE_OK;
  if (RedisModule_StringToLongLong(argv[3], &value) != REDISMODULE_OK || value < 0)
    return RedisModule_ReplyWithError(ctx, "ERR the value must be a number, not below 0");
  besom_status status = besom_set_value_digest(af->filter, digest_of(af, argv[2]), (uint64_t)value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.setval", argv[1]);
  return RedisModule_ReplyWithBool(ctx, true);
}

/* ------------------------------------------------------------------ what is to be answered no */

/* Does it to one item; OK and *changed, OK without, or what went wrong. */
typedef besom_status (*change)(struct af *af, besom_digest digest, bool *changed);

static besom_status report(struct af *af, besom_digest digest, bool *changed) {
  *changed = besom_contains_digest(af->filter, digest);
  besom_status status = *changed ? besom_adapt_digest(af->filter, digest) : BESOM_OK;
  af_reported(af, status == BESOM_FULL             ? REFUSED
                  : *changed && status == BESOM_OK ? FIXED
                                                   : REPORTED);
  return status;
}

static besom_status no_add(struct af *af, besom_digest digest, bool *changed) {
  *changed = true;
  return besom_no_add_digest(af->filter, digest);
}

static besom_status no_remove(struct af *af, besom_digest digest, bool *changed) {
  besom_status status = besom_no_remove_digest(af->filter, digest);
  *changed = status == BESOM_OK;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* Replicas are told of the items that changed something, in their order: with the same filter they do the same. */
static int change_each(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, change change,
                       const char *name, const char *event, RedisModuleCmdFunc again) {
  struct af *af = value_to_change(ctx, argv[1]);
  if (!af || !growth_make_room(ctx, argv[1], af, 0, again)) return REDISMODULE_OK;
  RedisModuleString **told = RedisModule_Alloc((size_t)(argc - 2) * sizeof *told);
  size_t n_told = 0;
  RedisModule_ReplyWithArray(ctx, argc - 2);
  limit_memory(decides(ctx));
  for (int i = 2; i < argc; i++) {
    bool changed;
    besom_status status = change(af, digest_of(af, argv[i]), &changed);
    if (status != BESOM_OK)
      reply_status(ctx, status);
    else
      RedisModule_ReplyWithBool(ctx, changed);
    if (status == BESOM_OK && changed) told[n_told++] = argv[i];
  }
  limit_memory(false);
  if (n_told) {
    RedisModule_Replicate(ctx, name, "sv", argv[1], told, n_told);
    notify(ctx, event, argv[1]);
  }
  RedisModule_Free(told);
  return REDISMODULE_OK;
}

int report_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, report, "AF.REPORT", "af.report", report_command);
}

int noadd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, no_add, "AF.NOADD", "af.noadd", noadd_command);
}

int nodel_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, no_remove, "AF.NODEL", "af.nodel", nodel_command);
}
