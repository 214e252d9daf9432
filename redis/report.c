/* AF.REPORT, AF.NOADD and AF.NODEL: items that must be answered no. */
#include "command.h"

#define CHECK_MEMORY_EVERY 64 /* items */

/* Applies the change to one item. *changed says whether the filter is different now. */
typedef besom_status (*item_change)(struct af *af, besom_bytes item, bool *changed);

/*
 * Replicates the items that changed the filter, in their order. A replica has an equal filter, so
 * they change it in the same way. For that reason the memory limits do not hold for the allocations
 * themselves: a filter without memory would forget an older report, and its replicas would not.
 */
static int change_each(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, item_change change,
                       const char *name, const char *event) {
  struct af *af = require_for_write(ctx, argv[1]);
  if (!af || !attach_filter(ctx, argv[1], af, NULL)) return REDISMODULE_OK;
  RedisModuleString **effective = RedisModule_Alloc((size_t)(argc - 2) * sizeof *effective);
  size_t n = 0;
  bool out_of_memory = false;
  RedisModule_ReplyWithArray(ctx, argc - 2);
  for (int i = 2; i < argc; i++) {
    bool changed = false;
    /* the server has checked before the first item */
    if (i % CHECK_MEMORY_EVERY == 0 && change != af_no_remove)
      out_of_memory = is_out_of_memory(ctx);
    besom_status status = out_of_memory ? BESOM_NO_MEMORY : change(af, bytes_of(argv[i]), &changed);
    if (status == BESOM_OK)
      RedisModule_ReplyWithBool(ctx, changed);
    else
      reply_status(ctx, status);
    if (changed) effective[n++] = argv[i];
  }
  replicate_items(ctx, name, event, argv[1], effective, n);
  RedisModule_Free(effective);
  return REDISMODULE_OK;
}

int report_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, af_report, "AF.REPORT", "af.report");
}

int noadd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, af_no_add, "AF.NOADD", "af.noadd");
}

int nodel_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return change_each(ctx, argv, argc, af_no_remove, "AF.NODEL", "af.nodel");
}
