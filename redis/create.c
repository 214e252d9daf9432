/* AF.RESERVE, and filters that are made by adding to a key that is not there. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "growth.h"
#include "settings.h"
#include "type.h"

#define MOST_CAPACITY (1ull << 44)
#define SEED_HEX 32

void store_value(RedisModuleCtx *ctx, RedisModuleString *name, struct af *af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_ModuleTypeSetValue(key, af_type, af);
  RedisModule_CloseKey(key);
}

/* ------------------------------------------------------------------ making */

static const besom_kind_info *kind_named(const char *name) {
  const besom_kind_info *info;
  for (size_t i = 0; (info = besom_kinds(i)); i++)
    if (strcmp(info->name, name) == 0) return info;
  return NULL;
}

/* Fills in what nobody said, so that a replica can be told all of it. */
static besom_status settle(struct wanted *w) {
  if (!w->kind) w->kind = "aqf";
  if (!w->hash) w->hash = settings_hash();
  const besom_kind_info *kind = kind_named(w->kind);
  if (!kind) return BESOM_UNKNOWN_KIND;
  if (!(kind->abilities & BESOM_CAN_INSERT)) return BESOM_UNSUPPORTED;
  bool grows = kind->abilities & BESOM_CAN_GROW;
  if (w->max_capacity > w->capacity && !grows) return BESOM_UNSUPPORTED;
  if (w->max_capacity == 0 && grows && !w->nonscaling)
    w->max_capacity = w->capacity * settings_growth();
  if (w->max_capacity > MOST_CAPACITY) w->max_capacity = MOST_CAPACITY;
  if (w->max_capacity <= w->capacity) w->max_capacity = 0;
  if (!w->has_seed) RedisModule_GetRandomBytes(w->seed, sizeof w->seed);
  return BESOM_OK;
}

static void seed_text(const uint8_t *seed, char *text) {
  for (int i = 0; i < SEED_HEX / 2; i++) snprintf(text + 2 * i, 3, "%02x", seed[i]);
}

/* The settings of a replica may be others: it is told everything. */
static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const struct wanted *w) {
  char rate[32], room[32], seed[SEED_HEX + 1];
  snprintf(rate, sizeof rate, "%.17g", w->fpr);
  snprintf(room, sizeof room, "%.17g", w->reserve);
  seed_text(w->seed, seed);
  RedisModule_Replicate(
      ctx, "AF.RESERVE", "sclccccccclclcc", key, rate, (long long)w->capacity, "SEED", seed, "KIND",
      w->kind, "HASH", w->hash, "VALUEBITS", (long long)w->value_bits, "MAXCAPACITY",
      (long long)(w->max_capacity ? w->max_capacity : w->capacity), "ADAPTROOM", room);
}

besom_status create_value(RedisModuleCtx *ctx, RedisModuleString *key, const struct wanted *wanted,
                          struct af **out) {
  struct wanted w = *wanted;
  besom_status status = settle(&w);
  if (status != BESOM_OK) return status;
  besom_config config = {.kind = w.kind,
                         .hash = w.hash,
                         .seed = w.seed,
                         .capacity = w.capacity,
                         .max_capacity = w.max_capacity,
                         .fpr = w.fpr,
                         .value_bits = w.value_bits,
                         .reserve = w.reserve,
                         .allocator = &redis_memory};
  besom_filter *filter;
  limit_memory(decides(ctx));
  status = besom_create(&config, &filter);
  limit_memory(false);
  if (status != BESOM_OK) return status;
  *out = af_of(filter, w.max_capacity);
  store_value(ctx, key, *out);
  replicate(ctx, key, &w);
  notify(ctx, "af.reserve", key);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ AF.RESERVE */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static const char *read_seed(RedisModuleString *string, struct wanted *w) {
  size_t len;
  const char *text = RedisModule_StringPtrLen(string, &len);
  if (len != SEED_HEX) return "ERR SEED must be 32 hexadecimal digits";
  for (int i = 0; i < SEED_HEX / 2; i++) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return "ERR SEED must be 32 hexadecimal digits";
    w->seed[i] = (uint8_t)(high << 4 | low);
  }
  w->has_seed = true;
  return NULL;
}

const char *read_rate(RedisModuleString *string, double *rate) {
  bool ok = RedisModule_StringToDouble(string, rate) == REDISMODULE_OK && *rate > 0 && *rate < 1;
  return ok ? NULL : "ERR the error rate must be above 0 and below 1";
}

const char *read_capacity(RedisModuleString *string, uint64_t *capacity) {
  long long number;
  if (RedisModule_StringToLongLong(string, &number) != REDISMODULE_OK || number < 1 ||
      (uint64_t)number > MOST_CAPACITY)
    return "ERR the capacity must be from 1 to 2^44";
  *capacity = (uint64_t)number;
  return NULL;
}

static const char *read_value_bits(RedisModuleString *string, struct wanted *w) {
  long long bits;
  if (RedisModule_StringToLongLong(string, &bits) != REDISMODULE_OK || bits < 0 || bits > 32)
    return "ERR VALUEBITS must be from 0 to 32";
  w->value_bits = (uint32_t)bits;
  return NULL;
}

static const char *read_adapt_room(RedisModuleString *string, struct wanted *w) {
  bool ok = RedisModule_StringToDouble(string, &w->reserve) == REDISMODULE_OK && w->reserve >= 0 &&
            w->reserve <= 0.5;
  return ok ? NULL : "ERR ADAPTROOM must be from 0 (default) to 0.5";
}

static const char *read_kind(RedisModuleString *string, struct wanted *w) {
  const besom_kind_info *kind = kind_named(RedisModule_StringPtrLen(string, NULL));
  w->kind = kind ? kind->name : NULL;
  return kind ? NULL : "ERR no such kind of filter";
}

static const char *read_hash(RedisModuleString *string, struct wanted *w) {
  w->hash = is_word(string, "sip") ? "sip" : "xxh3";
  return is_word(string, w->hash) ? NULL : "ERR HASH must be sip or xxh3";
}

/* One option; *used is how many arguments it took. */
static const char *read_option(RedisModuleString **argv, int left, struct wanted *w,
                               RedisModuleString **like, int *used) {
  *used = 1;
  if (is_word(argv[0], "NONSCALING")) {
    w->nonscaling = true;
    return NULL;
  }
  *used = 2;
  if (left < 2) return "ERR syntax error";
  if (is_word(argv[0], "KIND")) return read_kind(argv[1], w);
  if (is_word(argv[0], "HASH")) return read_hash(argv[1], w);
  if (is_word(argv[0], "MAXCAPACITY")) return read_capacity(argv[1], &w->max_capacity);
  if (is_word(argv[0], "VALUEBITS")) return read_value_bits(argv[1], w);
  if (is_word(argv[0], "ADAPTROOM")) return read_adapt_room(argv[1], w);
  if (is_word(argv[0], "SEED")) return read_seed(argv[1], w);
  if (!is_word(argv[0], "LIKE")) return "ERR syntax error";
  *like = argv[1];
  return NULL;
}

static const char *read_arguments(RedisModuleString **argv, int argc, struct wanted *w,
                                  RedisModuleString **like) {
  const char *error = read_rate(argv[2], &w->fpr);
  if (!error) error = read_capacity(argv[3], &w->capacity);
  for (int i = 4, used; !error && i < argc; i += used)
    error = read_option(argv + i, argc - i, w, like, &used);
  if (error) return error;
  bool others = w->kind || w->hash || w->max_capacity || w->value_bits || w->has_seed ||
                w->nonscaling || w->reserve;
  if (*like && others) return "ERR LIKE takes everything from the other filter: no further options";
  if (w->nonscaling && w->max_capacity) return "ERR NONSCALING and MAXCAPACITY exclude each other";
  return NULL;
}

/* An empty filter that can be merged with the other; its geometry is what the other has by now. */
static int reserve_like(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString *like) {
  struct af *model = value_to_read(ctx, like);
  if (!model) return REDISMODULE_OK;
  besom_filter *filter;
  limit_memory(decides(ctx));
  besom_status status = besom_create_like(model->filter, &filter);
  limit_memory(false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  store_value(ctx, key, af_of(filter, model->max_capacity));
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.reserve", key);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* A cluster asks the command itself, and not its key specs, for the key behind LIKE. */
static int tell_keys(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  RedisModule_KeyAtPos(ctx, 1);
  for (int i = 4; i + 1 < argc; i++)
    if (is_word(argv[i], "LIKE")) RedisModule_KeyAtPos(ctx, i + 1);
  return REDISMODULE_OK;
}

int reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (RedisModule_IsKeysPositionRequest(ctx)) return tell_keys(ctx, argv, argc);
  struct wanted w = {0};
  RedisModuleString *like = NULL;
  struct af *af;
  enum find there = find_value(ctx, argv[1], &af);
  if (there == OTHER_TYPE) return reply_find(ctx, there);
  if (there != MISSING) return RedisModule_ReplyWithError(ctx, "ERR the key exists already");
  const char *error = read_arguments(argv, argc, &w, &like);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  if (like) return reserve_like(ctx, argv[1], like);
  besom_status status = create_value(ctx, argv[1], &w, &af);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
