#include "operations.h"

#include <string.h>

#include "counters.h"
#include "layered/cache.h"
#include "type.h"

/* ------------------------------------------------------------------ looking up */

static enum lookup lookup(RedisModuleCtx *ctx, RedisModuleString *name, int mode, struct af **af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, mode);
  enum lookup result = FOUND;
  if (!key || RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
    result = MISSING;
  else if (RedisModule_ModuleTypeGetType(key) != af_type)
    result = WRONG_TYPE;
  else if (!(*af = RedisModule_ModuleTypeGetValue(key))->filter)
    result = INCOMPLETE;
  RedisModule_CloseKey(key);
  return result;
}

enum lookup lookup_for_read(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return lookup(ctx, key, REDISMODULE_READ, af);
}

enum lookup lookup_for_write(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return lookup(ctx, key, REDISMODULE_READ | REDISMODULE_WRITE, af);
}

void store_value(RedisModuleCtx *ctx, RedisModuleString *name, struct af *af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_ModuleTypeSetValue(key, af_type, af);
  RedisModule_CloseKey(key);
}

/* ------------------------------------------------------------------ changing */

void begin_change(RedisModuleCtx *ctx) {
  limit_memory_of(ctx);
}

void end_change(void) {
  limit_memory_of(NULL);
}

bool is_out_of_memory(RedisModuleCtx *ctx) {
  return RedisModule_GetUsedMemoryRatio() > 1 && is_client_command(ctx);
}

static besom_digest digest_of(const struct af *af, besom_bytes item) {
  return besom_hash(af->filter, item.data, item.len);
}

besom_status af_add(struct af *af, besom_bytes item, enum add_mode mode, bool *missing,
                    bool *changed) {
  besom_digest digest = digest_of(af, item);
  *missing = !besom_contains_digest(af->filter, digest);
  *changed = *missing || (mode == ADD_COPY && af_is_multiset(af));
  if (!*changed) return BESOM_OK;
  bool at_limit = af->max_capacity && af->items >= af->max_capacity;
  besom_status status = at_limit ? BESOM_FULL : besom_insert_digest(af->filter, digest);
  *changed = status == BESOM_OK;
  if (*changed) af_add_items(af, 1);
  return status;
}

besom_status af_remove(struct af *af, besom_bytes item) {
  besom_status status = besom_remove_digest(af->filter, digest_of(af, item));
  if (status != BESOM_OK) return status;
  af_add_items(af, -1);
  af->deleted++;
  return status;
}

/* An older report was forgotten, but this call succeeded. */
static besom_status without_eviction(besom_status status) {
  if (status == BESOM_EVICTED) count_forgotten();
  return status == BESOM_EVICTED ? BESOM_OK : status;
}

/* A cache must not forget by what was queried: queries are neither replicated nor saved. */
besom_status af_report(struct af *af, besom_bytes item, bool *changed) {
  besom_digest digest = digest_of(af, item);
  bool yes = besom_contains_digest(af->filter, digest);
  if (yes && af->abilities & BESOM_FORGETS) besom__cached_ignore_uses(af->filter);
  besom_status status = yes ? without_eviction(besom_adapt_digest(af->filter, digest)) : BESOM_OK;
  *changed = yes && status == BESOM_OK;
  af_count_report(af, *changed ? FIXED : status == BESOM_RESERVE_FULL ? REFUSED : NO_CHANGE);
  return status;
}

besom_status af_no_add(struct af *af, besom_bytes item, bool *changed) {
  besom_status status = without_eviction(besom_no_add(af->filter, item.data, item.len));
  *changed = status == BESOM_OK;
  if (status == BESOM_RESERVE_FULL) af_count_refusal(af);
  return status;
}

besom_status af_no_remove(struct af *af, besom_bytes item, bool *changed) {
  besom_status status = besom_no_remove(af->filter, item.data, item.len);
  *changed = status == BESOM_OK;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

void replicate_items(RedisModuleCtx *ctx, const char *command, const char *event,
                     RedisModuleString *key, RedisModuleString **items, size_t n) {
  if (n == 0) return;
  RedisModule_Replicate(ctx, command, "sv", key, items, n);
  notify(ctx, event, key);
}

void notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *key) {
  RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, event, key);
}

/* ------------------------------------------------------------------ querying */

besom_bytes bytes_of(RedisModuleString *item) {
  besom_bytes bytes;
  bytes.data = RedisModule_StringPtrLen(item, &bytes.len);
  return bytes;
}

bool af_has(const struct af *af, besom_bytes item) {
  return besom_contains(af->filter, item.data, item.len);
}

besom_status af_count(const struct af *af, besom_bytes item, uint64_t *n) {
  return besom_count(af->filter, item.data, item.len, n);
}

struct shape af_shape(const struct af *af) {
  besom_statistics stats = {0};
  besom_stats(af->filter, &stats);
  struct shape shape = {.kind = stats.kind,
                        .capacity = stats.capacity,
                        .layers = 1,
                        .forgets_reports = af->abilities & BESOM_FORGETS};
  if (!(af->abilities & BESOM_CAN_SCALE)) return shape;
  const besom_filter *layer;
  shape.expansion = (uint32_t)counter_of(af->filter, "expansion");
  shape.capacity = 0;
  for (shape.layers = 0; (layer = besom_layer(af->filter, shape.layers)); shape.layers++) {
    besom_stats(layer, &stats);
    shape.capacity += stats.capacity;
  }
  shape.kind = stats.kind;
  return shape;
}
