/* AF.MERGE */
#include "command.h"

static int reply_incompatible(RedisModuleCtx *ctx) {
  return RedisModule_ReplyWithError(ctx, "ERR the filters differ in kind, hash, seed or geometry: "
                                         "create one with AF.RESERVE ... LIKE the other");
}

/* Makes a new filter that holds the items of n filters. */
static besom_status merge_filters(const besom_filter **filters, int n, besom_filter **merged) {
  if (n == 1) return filter_copy(filters[0], merged);
  besom_status status = besom_merge(filters[0], filters[1], merged);
  for (int i = 2; status == BESOM_OK && i < n; i++) {
    besom_filter *previous = *merged;
    status = besom_merge(previous, filters[i], merged);
    besom_free(previous);
  }
  return status;
}

/* A destination that exists keeps its max_capacity and its report counters. */
static void store_merged(RedisModuleCtx *ctx, RedisModuleString *key, struct af *dest,
                         besom_filter *merged, uint64_t max_capacity) {
  if (!dest) {
    store_value(ctx, key, af_wrap(merged, max_capacity));
    return;
  }
  besom_free(dest->filter);
  dest->filter = merged;
  af_refresh(dest);
}

static int merge_values(RedisModuleCtx *ctx, RedisModuleString *key, struct af *dest,
                        const besom_filter **filters, int n, uint64_t max_capacity) {
  besom_filter *merged;
  begin_change(ctx);
  besom_status status = merge_filters(filters, n, &merged);
  end_change();
  if (status == BESOM_INCOMPATIBLE) return reply_incompatible(ctx);
  if (status == BESOM_FULL)
    return RedisModule_ReplyWithError(ctx, "ERR the merged filter would be full, because the "
                                           "filters do not grow or have too many layers: add the "
                                           "items to a new filter");
  if (status == BESOM_RESERVE_FULL)
    return RedisModule_ReplyWithError(ctx, "ERR the reserve of the merged filter is too small for "
                                           "the reports and no lists of all filters: reserve "
                                           "filters with a larger ADAPTRESERVE");
  if (status != BESOM_OK) return reply_status(ctx, status);
  store_merged(ctx, key, dest, merged, max_capacity);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.merge", key);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* If the destination exists, its items are merged, too. */
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *dest, *source = NULL;
  enum lookup found = lookup_for_write(ctx, argv[1], &dest);
  if (found != FOUND && found != MISSING) return reply_lookup_error(ctx, found);
  if (found == MISSING) dest = NULL;
  const besom_filter **filters = RedisModule_Alloc((size_t)argc * sizeof *filters);
  int n = 0, i = 2;
  if (dest) filters[n++] = dest->filter;
  for (; i < argc && (source = require_for_read(ctx, argv[i])); i++) filters[n++] = source->filter;
  /* analysis: -Wanalyzer-null-dereference: the command has at least one source */
  if (i == argc) merge_values(ctx, argv[1], dest, filters, n, source->max_capacity);
  RedisModule_Free(filters);
  return REDISMODULE_OK;
}
