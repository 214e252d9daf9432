/* AF.REPORT, AF.NOADD and AF.NODEL: items that must be answered no. */
#include "command.h"
#include "grow.h"

/* Applies the change to one item. *changed says whether the filter is different now. */
typedef besom_status (*item_change)(struct af *af, besom_bytes item, bool *changed);

static besom_status report(struct af *af, besom_bytes item, bool *changed) {
  besom_digest digest = besom_hash(af->filter, item.data, item.len);
  *changed = besom_contains_digest(af->filter, digest);
  besom_status status = *changed ? besom_adapt_digest(af->filter, digest) : BESOM_OK;
  if (status == BESOM_EVICTED) status = BESOM_OK; /* the item is fixed; an older one is not */
  af_count_report(af, status == BESOM_RESERVE_FULL     ? REFUSED
                      : *changed && status == BESOM_OK ? FIXED
                                                       : NO_CHANGE);
  return status;
}

static besom_status no_add(struct af *af, besom_bytes item, bool *changed) {
  *changed = true;
  return besom_no_add(af->filter, item.data, item.len);
}

static besom_status no_remove(struct af *af, besom_bytes item, bool *changed) {
  besom_status status = besom_no_remove(af->filter, item.data, item.len);
  *changed = status == BESOM_OK;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/*
 * Replicates the items that changed the filter, in their order. A replica has an equal filter, so
 * they change it in the same way.
 */
static int change_each(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, item_change change,
                       const char *name, const char *event, RedisModuleCmdFunc retry) {
  struct af *af = require_for_write(ctx, argv[1]);
  if (!af || !grow_if_needed(ctx, argv[1], af, 0, retry)) return REDISMODULE_OK;
  RedisModuleString **effective = RedisModule_Alloc((size_t)(argc - 2) * sizeof *effective);
  size_t n = 0;
  RedisModule_ReplyWithArray(ctx, argc - 2);
  enforce_memory_limits(is_client_command(ctx));
  for (int i = 2; i < argc; i++) {
    bool changed;
    besom_status status = change(af, bytes_of(argv[i]), &changed);
    if (status == BESOM_OK)
      RedisModule_ReplyWithBool(ctx, changed);
    else
      reply_status(ctx, status);
    if (status == BESOM_OK && changed) effective[n++] = argv[i];
  }
  enforce_memory_limits(false);
  if (n) {
    RedisModule_Replicate(ctx, name, "sv", argv[1], effective, n);
    notify(ctx, event, argv[1]);
  }
  RedisModule_Free(effective);
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
