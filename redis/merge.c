/* AF.MERGE */
#include "command.h"

static void reply_merge_error(RedisModuleCtx *ctx, besom_status status) {
  if (status == BESOM_INCOMPATIBLE)
    RedisModule_ReplyWithError(ctx, "ERR the filters differ in kind, hash, seed or geometry: "
                                    "create one with AF.RESERVE ... LIKE the other");
  else if (status == BESOM_FULL)
    RedisModule_ReplyWithError(ctx, "ERR the merged filter would be full, because the filters do "
                                    "not grow, have too many layers, or MAXCAPACITY limits the "
                                    "destination: add the items to a new filter");
  else if (status == BESOM_RESERVE_FULL)
    RedisModule_ReplyWithError(ctx, "ERR the reserve of the merged filter is too small for the "
                                    "reports and no lists of all filters: reserve filters with a "
                                    "larger ADAPTRESERVE");
  else
    reply_status(ctx, status);
}

/* Whether the filters together have no more items than the destination may hold. */
static bool merged_items_fit(const besom_filter **filters, int n, uint64_t max_capacity) {
  uint64_t items = 0;
  for (int i = 0; i < n; i++) {
    besom_statistics stats = {0};
    besom_stats(filters[i], &stats);
    items += stats.keys;
  }
  return max_capacity == 0 || items <= max_capacity;
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
  if (dest)
    af_replace_filter(dest, merged);
  else
    store_value(ctx, key, af_wrap(merged, max_capacity));
}

/* The filters to merge, and the values that they are views of. */
struct merge_sources {
  const struct af **values;
  besom_filter **views;
  int n;
  bool frozen; /* one of them has frozen layers */
};

static void add_source(struct merge_sources *s, const struct af *af) {
  s->values[s->n] = af;
  s->views[s->n++] = af_view(af);
  s->frozen |= af->frozen != NULL;
}

static void end_sources(struct merge_sources *s) {
  for (int i = 0; i < s->n; i++) af_end_view(s->values[i], s->views[i]);
  RedisModule_Free(s->values);
  RedisModule_Free(s->views);
}

/* limit: the most items of the destination; 0: none. */
static besom_status merge_sources(RedisModuleCtx *ctx, const struct merge_sources *s,
                                  uint64_t limit, besom_filter **merged) {
  const besom_filter **filters = (const besom_filter **)s->views;
  if (!is_client_command(ctx)) limit = 0; /* another server has merged them already */
  begin_change(ctx);
  besom_status status =
      merged_items_fit(filters, s->n, limit) ? merge_filters(filters, s->n, merged) : BESOM_FULL;
  end_change();
  return status;
}

/* If the destination exists, its items are merged, too. */
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *dest, *source = NULL;
  enum lookup found = lookup_for_write(ctx, argv[1], &dest);
  if (found != FOUND && found != MISSING) return reply_lookup_error(ctx, found);
  if (found == MISSING) dest = NULL;
  struct merge_sources sources = {.values =
                                      RedisModule_Alloc((size_t)argc * sizeof *sources.values),
                                  .views = RedisModule_Alloc((size_t)argc * sizeof *sources.views)};
  int i = 2;
  if (dest) add_source(&sources, dest);
  for (; i < argc && (source = require_for_read(ctx, argv[i])); i++) add_source(&sources, source);
  besom_filter *merged = NULL;
  besom_status status = BESOM_OK;
  if (i == argc && sources.frozen) RedisModule_ReplyWithError(ctx, FROZEN_LAYERS);
  if (i == argc && !sources.frozen) {
    /* analysis: -Wanalyzer-null-dereference: the command has at least one source */
    uint64_t max_capacity = dest ? dest->max_capacity : source->max_capacity;
    status = merge_sources(ctx, &sources, max_capacity, &merged);
    if (status != BESOM_OK) reply_merge_error(ctx, status);
  }
  end_sources(&sources);
  if (!merged) {
    mark_if_replayed(ctx, argv[1], "AF.MERGE failed");
    return REDISMODULE_OK;
  }
  /* analysis: -Wanalyzer-null-dereference: the command has at least one source */
  store_merged(ctx, argv[1], dest, merged, source->max_capacity);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.merge", argv[1]);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
