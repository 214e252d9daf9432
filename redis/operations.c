#include "operations.h"

#include <string.h>

#include "counters.h"
#include "papers/cached/cache.h"
#include "redisbloom.h"
#include "type.h"

/* ------------------------------------------------------------------ looking up */

static bool has_our_type(RedisModuleKey *key) {
  const RedisModuleType *type = RedisModule_ModuleTypeGetType(key);
  return type == af_type || redisbloom_is_type(type);
}

static enum lookup lookup(RedisModuleCtx *ctx, RedisModuleString *name, int mode, struct af **af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, mode);
  enum lookup result = FOUND;
  if (!key || RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
    result = MISSING;
  else if (!has_our_type(key))
    result = WRONG_TYPE;
  else if (!af_has_value(*af = RedisModule_ModuleTypeGetValue(key)))
    result = af_is_marked(*af) ? MARKED : INCOMPLETE;
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

void mark_if_replayed(RedisModuleCtx *ctx, RedisModuleString *key, const char *why) {
  struct af *af;
  if (is_client_command(ctx)) return;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == WRONG_TYPE || found == MARKED) return;
  store_value(ctx, key, af_new_marked());
  RedisModule_Log(ctx, "warning",
                  "besom: the filter '%s' is marked incomplete, because a command of the %s was "
                  "refused: %s. Restore the key from a dump, or delete it and add all items again",
                  RedisModule_StringPtrLen(key, NULL),
                  RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_LOADING ? "AOF file"
                                                                                   : "master",
                  why);
}

/* ------------------------------------------------------------------ changing */

void begin_change(RedisModuleCtx *ctx) {
  limit_memory_of(ctx);
}

void end_change(void) {
  limit_memory_of(NULL);
}

bool is_out_of_memory(RedisModuleCtx *ctx) {
  return RedisModule_GetUsedMemoryRatio() > 1 && is_client_command(ctx) && !server_evicts(ctx);
}

static besom_digest digest_of(const struct af *af, besom_bytes item) {
  if (af->packed) return besom__packed_hash(af->packed, item.data, item.len);
  return besom_hash(af->filter, item.data, item.len);
}

/* Whether the frozen layers answer yes. */
static bool frozen_layers_have(const struct af *af, besom_bytes item) {
  if (!af->frozen || !frozen_has(af->frozen, item)) return false;
  return !af->frozen->exceptions.count || !frozen_denies(af->frozen, digest_of(af, item));
}

bool af_needs_filter(const struct af *af, besom_bytes item, enum add_mode mode) {
  return !af_has_filter(af) && (mode == ADD_COPY || !frozen_layers_have(af, item));
}

static bool filter_has(const struct af *af, besom_digest digest) {
  return af->packed ? besom__packed_contains(af->packed, digest)
                    : besom_contains_digest(af->filter, digest);
}

/* A packed filter that has no room is unpacked, because it may grow, or count a copy. */
static besom_status insert(struct af *af, besom_digest digest) {
  if (!af->packed) return besom_insert_digest(af->filter, digest);
  besom_status status = besom__packed_insert(&af->packed, digest, &redis_allocator);
  if (status != BESOM_FULL || besom__packed_is_full(af->packed)) return status;
  status = af_unpack(af);
  return status == BESOM_OK ? besom_insert_digest(af->filter, digest) : status;
}

besom_status af_add(struct af *af, besom_bytes item, enum add_mode mode, bool *missing,
                    bool *changed) {
  *missing = *changed = false;
  if (!af_has_filter(af)) return BESOM_OK; /* the frozen layers have it */
  besom_digest digest = digest_of(af, item);
  *missing = !filter_has(af, digest) && !frozen_layers_have(af, item);
  *changed = *missing || (mode == ADD_COPY && af_is_multiset(af));
  if (!*changed) return BESOM_OK;
  bool at_limit = af->max_capacity && af->items >= af->max_capacity;
  besom_status status = at_limit ? BESOM_FULL : insert(af, digest);
  *changed = status == BESOM_OK;
  if (*changed) af_add_items(af, 1);
  return status;
}

/* The newest layers come first, as in RedisBloom. A frozen Bloom filter cannot remove. */
static besom_status remove_frozen(struct af *af, besom_bytes item) {
  if (!frozen_layers_have(af, item)) return BESOM_NOT_FOUND;
  if (af->frozen->family != FROZEN_CUCKOO) return BESOM_UNSUPPORTED;
  return frozen_remove(af->frozen, item) ? BESOM_OK : BESOM_NOT_FOUND;
}

static besom_status remove_from_filter(struct af *af, besom_bytes item) {
  if (!af_has_filter(af)) return BESOM_NOT_FOUND;
  besom_digest digest = digest_of(af, item);
  if (!af->packed) return besom_remove_digest(af->filter, digest);
  return besom__packed_remove(af->packed, digest) ? BESOM_OK : BESOM_NOT_FOUND;
}

besom_status af_remove(struct af *af, besom_bytes item) {
  besom_status status = remove_from_filter(af, item);
  if (status == BESOM_NOT_FOUND && af->frozen) status = remove_frozen(af, item);
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

static besom_status deny_frozen(struct af *af, besom_digest digest, bool listed) {
  bool forgets = af->abilities & BESOM_FORGETS;
  return without_eviction(frozen_deny(af->frozen, digest, listed, forgets));
}

/* A report of a larger packed filter unpacks it, because unpacking it for each would take long. */
#define PACKED_REPORT_SLOTS 1200

static besom_status report_packed(struct af *af, besom_digest digest) {
  besom_filter *view;
  besom_status status = besom__unpack(af->packed, &redis_allocator, &view);
  if (status != BESOM_OK) return status;
  status = without_eviction(besom_adapt_digest(view, digest));
  besom__packed_take_exceptions(af->packed, view, &redis_allocator);
  besom_free(view);
  return status;
}

static besom_status report_small(struct af *af, besom_digest digest, bool *changed) {
  bool yes = besom__packed_contains(af->packed, digest);
  besom_status status = yes ? report_packed(af, digest) : BESOM_OK;
  *changed = yes && status == BESOM_OK;
  af_count_report(af, *changed ? FIXED : status == BESOM_RESERVE_FULL ? REFUSED : NO_CHANGE);
  return status;
}

/* A cache must not forget by what was queried: queries are neither replicated nor saved. */
besom_status af_report(struct af *af, besom_bytes item, bool *changed) {
  besom_digest digest = digest_of(af, item);
  if (af->packed && besom__packed_slots(af->packed) <= PACKED_REPORT_SLOTS)
    return report_small(af, digest, changed);
  if (af->packed && besom__packed_contains(af->packed, digest)) {
    besom_status status = af_unpack(af);
    if (status != BESOM_OK) return status;
  }
  bool yes = !af->packed && besom_contains_digest(af->filter, digest),
       frozen = frozen_layers_have(af, item);
#ifndef BESOM_WITHOUT_PAPERS
  if (yes && af->abilities & BESOM_FORGETS) besom__cached_ignore_uses(af->filter);
#endif
  besom_status status = yes ? without_eviction(besom_adapt_digest(af->filter, digest)) : BESOM_OK;
  if (status == BESOM_OK && frozen) status = deny_frozen(af, digest, false);
  *changed = (yes || frozen) && status == BESOM_OK;
  af_count_report(af, *changed ? FIXED : status == BESOM_RESERVE_FULL ? REFUSED : NO_CHANGE);
  return status;
}

besom_status af_no_add(struct af *af, besom_bytes item, bool *changed) {
  besom_status status = af_unpack(af);
  if (status == BESOM_OK) status = without_eviction(besom_no_add(af->filter, item.data, item.len));
  if (status == BESOM_OK && af->frozen) status = deny_frozen(af, digest_of(af, item), true);
  *changed = status == BESOM_OK;
  if (status == BESOM_RESERVE_FULL) af_count_refusal(af);
  return status;
}

besom_status af_no_remove(struct af *af, besom_bytes item, bool *changed) {
  bool may_be_listed = !af->packed || besom__packed_has_exceptions(af->packed);
  besom_status status = may_be_listed ? af_unpack(af) : BESOM_NOT_FOUND;
  if (status == BESOM_OK) status = besom_no_remove(af->filter, item.data, item.len);
  bool frozen = af->frozen && frozen_undeny(af->frozen, digest_of(af, item));
  *changed = status == BESOM_OK || frozen;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

void replicate_items(RedisModuleCtx *ctx, const char *command, const char *event,
                     RedisModuleString *key, RedisModuleString **items, size_t n) {
  if (n == 0) return;
  if (n == 1) /* without another allocation of the server */
    RedisModule_Replicate(ctx, command, "ss", key, items[0]);
  else
    RedisModule_Replicate(ctx, command, "sv", key, items, n);
  notify(ctx, event, key);
}

void added_begin(struct added_items *added, size_t n) {
  bool fits = n <= sizeof added->few / sizeof *added->few;
  added->items = fits ? added->few : RedisModule_Alloc(n * sizeof *added->items);
  added->n = 0;
}

void added_append(struct added_items *added, RedisModuleString *item) {
  added->items[added->n++] = item;
}

void added_end(struct added_items *added, RedisModuleCtx *ctx, RedisModuleString *key) {
  replicate_items(ctx, "AF.MADD", "af.add", key, added->items, added->n);
  if (added->items != added->few) RedisModule_Free(added->items);
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
  if (af->packed) return besom__packed_contains(af->packed, digest_of(af, item));
  if (af->filter && besom_contains(af->filter, item.data, item.len)) return true;
  return frozen_layers_have(af, item);
}

/* Hashes do not wait for each other, nor for queries that were predicted wrongly. */
static void packed_has_many(const struct packed *p, const besom_bytes *items, size_t n,
                            uint64_t *bitmap) {
  besom_digest digests[AF_MANY];
  for (size_t i = 0; i < n; i++) digests[i] = besom__packed_hash(p, items[i].data, items[i].len);
  for (size_t i = 0; i < n; i++)
    bitmap[i / 64] |= (uint64_t)besom__packed_contains(p, digests[i]) << i % 64;
}

void af_has_many(const struct af *af, const besom_bytes *items, size_t n, uint64_t *bitmap) {
  if (af->packed) {
    packed_has_many(af->packed, items, n, bitmap);
  } else if (!af->frozen) {
    besom_contains_many(af->filter, items, n, bitmap);
  } else {
    for (size_t i = 0; i < n; i++) bitmap[i / 64] |= (uint64_t)af_has(af, items[i]) << i % 64;
  }
}

besom_status af_count(const struct af *af, besom_bytes item, uint64_t *n) {
  *n = 0;
  if (af->packed) {
    *n = besom__packed_count(af->packed, digest_of(af, item));
    return BESOM_OK;
  }
  besom_status status = af->filter ? besom_count(af->filter, item.data, item.len, n) : BESOM_OK;
  if (status == BESOM_OK && frozen_layers_have(af, item)) *n += frozen_count(af->frozen, item);
  return status;
}

/* Layers have a multiple of the slots of the first one, so that their capacity is rounded down. */
static uint64_t unrounded(uint64_t capacity, uint64_t first, uint64_t factor) {
  uint64_t nominal = first * factor;
  return nominal - capacity < factor ? nominal : capacity;
}

static struct shape shape_of_filter(const besom_filter *filter, unsigned abilities) {
  besom_statistics stats = {0};
  if (filter) besom_stats(filter, &stats);
  struct shape shape = {.kind = stats.kind,
                        .capacity = stats.capacity,
                        .nominal_capacity = stats.capacity,
                        .layers = filter ? 1 : 0,
                        .forgets_reports = abilities & BESOM_FORGETS};
  if (!(abilities & BESOM_CAN_SCALE)) return shape;
  const besom_filter *layer;
  uint64_t first = 0, factor = 1;
  shape.expansion = (uint32_t)counter_of(filter, "expansion");
  shape.capacity = shape.nominal_capacity = 0;
  for (shape.layers = 0; (layer = besom_layer(filter, shape.layers)); shape.layers++) {
    besom_stats(layer, &stats);
    if (!first) first = stats.capacity;
    shape.capacity += stats.capacity;
    shape.nominal_capacity += unrounded(stats.capacity, first, factor);
    factor *= shape.expansion;
  }
  shape.kind = stats.kind;
  return shape;
}

static struct shape filter_shape(const struct af *af) {
  besom_filter *view = af_view(af);
  struct shape shape = shape_of_filter(view, af->abilities);
  af_end_view(af, view);
  return shape;
}

static uint32_t frozen_expansion(const struct frozen *f) {
  if (frozen_is_fixed(f)) return 0;
  return f->family == FROZEN_BLOOM ? f->growth : f->expansion;
}

struct shape af_shape(const struct af *af) {
  struct shape shape = filter_shape(af);
  if (!af->frozen) return shape;
  shape.kind = af->frozen->family == FROZEN_BLOOM ? "frozen-bloom" : "frozen-cuckoo";
  shape.capacity += frozen_capacity(af->frozen);
  shape.nominal_capacity += frozen_capacity(af->frozen);
  shape.layers += af->frozen->layers;
  shape.expansion = frozen_expansion(af->frozen);
  return shape;
}
