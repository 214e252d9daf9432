/* AF.SETVAL, AF.GETVAL, AF.GETVALS, AF.DELVAL, AF.REPORTVAL: items with values. */
#include <besom_map.h>

#include "command.h"

#define NO_VALUES \
  "ERR the filter has no values: reserve a filter with VALUEBITS, and add the items to it"
#define NO_MAPLET "ERR the filter has one value per item: reserve a filter with MAPLET"
#define VALUE_ERROR "ERR the value must be an integer that fits into the VALUEBITS of the filter"
#define SEVERAL_VALUES "ERR the item has several values: AF.GETVALS key item"

/* Why a value of this filter cannot be read or written; NULL if it can. */
static const char *value_obstacle(const struct af *af) {
  if (af->frozen) return FROZEN_LAYERS;
  return af->packed ? NO_VALUES : NULL;
}

static bool is_maplet(const struct af *af) {
  return af->abilities & BESOM_IS_MAPLET;
}

/* The item and the value of a command; or replies with an error. */
static bool value_arguments(RedisModuleCtx *ctx, const struct af *af, RedisModuleString **argv,
                            besom_bytes *item, uint64_t *value) {
  long long number;
  const char *error = value_obstacle(af);
  if (!error && (RedisModule_StringToLongLong(argv[3], &number) != REDISMODULE_OK || number < 0))
    error = VALUE_ERROR;
  if (error) {
    RedisModule_ReplyWithError(ctx, error);
    return false;
  }
  *item = bytes_of(argv[2]);
  *value = (uint64_t)number;
  return true;
}

/* ------------------------------------------------------------------ reading */

int getval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_read(ctx, argv[1]);
  uint64_t value;
  if (!af) return REDISMODULE_OK;
  if (value_obstacle(af)) return RedisModule_ReplyWithError(ctx, value_obstacle(af));
  besom_bytes item = bytes_of(argv[2]);
  besom_status status = besom_get_value(af->filter, item.data, item.len, &value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithNull(ctx);
  if (status == BESOM_INVALID) return RedisModule_ReplyWithError(ctx, NO_VALUES);
  if (status == BESOM_AMBIGUOUS) return RedisModule_ReplyWithError(ctx, SEVERAL_VALUES);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

/* Of a filter with one value per item: that one. */
static besom_status values_of(const struct af *af, besom_bytes item, uint64_t *out, size_t room,
                              size_t *n) {
  if (is_maplet(af)) return besom_get_values(af->filter, item.data, item.len, out, room, n);
  besom_status status = besom_get_value(af->filter, item.data, item.len, out);
  *n = status == BESOM_OK;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

int getvals_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_read(ctx, argv[1]);
  uint64_t some[32], *values = some;
  size_t n;
  if (!af) return REDISMODULE_OK;
  if (value_obstacle(af)) return RedisModule_ReplyWithError(ctx, value_obstacle(af));
  besom_bytes item = bytes_of(argv[2]);
  besom_status status = values_of(af, item, some, 32, &n);
  if (status == BESOM_INVALID) return RedisModule_ReplyWithError(ctx, NO_VALUES);
  if (status != BESOM_OK) return reply_status(ctx, status);
  if (n > 32) {
    size_t room = n;
    values = RedisModule_Alloc(room * sizeof *values);
    (void)values_of(af, item, values, room, &n);
  }
  RedisModule_ReplyWithArray(ctx, (long)n);
  for (size_t i = 0; i < n; i++) RedisModule_ReplyWithLongLong(ctx, (long long)values[i]);
  if (values != some) RedisModule_Free(values);
  return REDISMODULE_OK;
}

/* ------------------------------------------------------------------ writing */

static int reply_value_error(RedisModuleCtx *ctx, const struct af *af, besom_bytes item,
                             besom_status status) {
  uint64_t value;
  if (status == BESOM_INVALID && besom_get_value(af->filter, item.data, item.len, &value) == status)
    return RedisModule_ReplyWithError(ctx, NO_VALUES);
  if (status == BESOM_INVALID) return RedisModule_ReplyWithError(ctx, VALUE_ERROR);
  if (status == BESOM_UNSUPPORTED && af->abilities & BESOM_CAN_VALUE)
    return RedisModule_ReplyWithError(ctx, NO_MAPLET);
  if (status == BESOM_AMBIGUOUS)
    return RedisModule_ReplyWithError(ctx,
                                      "ERR several items or copies have the fingerprint of the "
                                      "item: its value cannot be set. MAPLET keeps values "
                                      "apart");
  return reply_status(ctx, status);
}

/* Of a maplet: one value more, which may take a new layer. */
static besom_status add_value(RedisModuleCtx *ctx, struct af *af, besom_bytes item,
                              uint64_t value) {
  if (af->max_capacity && af->items >= af->max_capacity) return BESOM_FULL;
  begin_change(ctx);
  besom_status status = besom_insert_value(af->filter, item.data, item.len, value);
  end_change();
  if (status == BESOM_OK) af_add_items(af, 1);
  return status;
}

static int reply_changed(RedisModuleCtx *ctx, RedisModuleString *key, const char *event) {
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, event, key);
  return RedisModule_ReplyWithBool(ctx, true);
}

int setval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  besom_bytes item;
  uint64_t value;
  if (!af || !value_arguments(ctx, af, argv, &item, &value)) return REDISMODULE_OK;
  besom_status status = is_maplet(af) ? add_value(ctx, af, item, value)
                                      : besom_set_value(af->filter, item.data, item.len, value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_value_error(ctx, af, item, status);
  return reply_changed(ctx, argv[1], "af.setval");
}

int delval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  besom_bytes item;
  uint64_t value;
  if (!af || !value_arguments(ctx, af, argv, &item, &value)) return REDISMODULE_OK;
  besom_status status = besom_remove_value(af->filter, item.data, item.len, value);
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_value_error(ctx, af, item, status);
  af_add_items(af, -1);
  af->deleted++;
  return reply_changed(ctx, argv[1], "af.delval");
}

/* Whether the item has this candidate. */
static bool has_value(const struct af *af, besom_bytes item, uint64_t value) {
  uint64_t some[32];
  size_t n;
  if (values_of(af, item, some, 32, &n) != BESOM_OK) return false;
  for (size_t i = 0; i < n && i < 32; i++)
    if (some[i] == value) return true;
  return n > 32; /* not known */
}

int reportval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_write(ctx, argv[1]);
  besom_bytes item;
  uint64_t value;
  if (!af || !value_arguments(ctx, af, argv, &item, &value)) return REDISMODULE_OK;
  bool was = is_maplet(af) && has_value(af, item, value);
  besom_status status = besom_adapt_value(af->filter, item.data, item.len, value);
  if (status == BESOM_EVICTED) status = BESOM_OK;
  if (status != BESOM_OK) return reply_value_error(ctx, af, item, status);
  if (!was) return RedisModule_ReplyWithBool(ctx, false);
  return reply_changed(ctx, argv[1], "af.reportval");
}
