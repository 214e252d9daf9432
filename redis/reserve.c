/* AF.RESERVE, and the creation of filters by AF.ADD, AF.MADD and AF.INSERT. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "config.h"
#include "config_text.h"
#include "type.h"

#define MAX_CAPACITY (1ull << 44)
#define SEED_HEX 32
#define DEFAULT_KIND "aqf"

void store_value(RedisModuleCtx *ctx, RedisModuleString *name, struct af *af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_ModuleTypeSetValue(key, af_type, af);
  RedisModule_CloseKey(key);
}

/* ------------------------------------------------------------------ creation */

static const besom_kind_info *find_kind(const char *name) {
  const besom_kind_info *info;
  for (size_t i = 0; (info = besom_kinds(i)); i++)
    if (strcmp(info->name, name) == 0) return info;
  return NULL;
}

static bool can_grow(const char *kind) {
  return find_kind(kind)->abilities & BESOM_CAN_RESIZE;
}

/* Makes the config complete, because replicas may have other defaults. */
static void fill_defaults(struct filter_config *c) {
  if (!c->kind) c->kind = DEFAULT_KIND;
  if (!c->hash) c->hash = config_default_hash();
  if (c->max_capacity == 0 && can_grow(c->kind) && !c->nonscaling)
    c->max_capacity = c->capacity * config_default_growth_factor();
  if (c->max_capacity > MAX_CAPACITY) c->max_capacity = MAX_CAPACITY;
  if (c->max_capacity <= c->capacity) c->max_capacity = 0;
  if (!c->has_seed) RedisModule_GetRandomBytes(c->seed, sizeof c->seed);
}

static void format_seed(const uint8_t *seed, char *text) {
  for (int i = 0; i < SEED_HEX / 2; i++) snprintf(text + 2 * i, 3, "%02x", seed[i]);
}

static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const struct filter_config *c) {
  char fpr[32], reserve[32], seed[SEED_HEX + 1];
  snprintf(fpr, sizeof fpr, "%.17g", c->fpr);
  snprintf(reserve, sizeof reserve, "%.17g", c->reserve);
  format_seed(c->seed, seed);
  RedisModule_Replicate(
      ctx, "AF.RESERVE", "sclccccccclclcc", key, fpr, (long long)c->capacity, "SEED", seed, "KIND",
      c->kind, "HASH", c->hash, "VALUEBITS", (long long)c->value_bits, "MAXCAPACITY",
      (long long)(c->max_capacity ? c->max_capacity : c->capacity), "ADAPTRESERVE", reserve);
}

/* The configuration is checked again, to name the argument that is wrong. */
static void reply_create_error(RedisModuleCtx *ctx, const besom_config *config,
                               besom_status status) {
  static const option_name names[] = {
      {"hash", "HASH"},
      {"fpr", "error_rate"},
      {"max_capacity", "MAXCAPACITY"},
      {"reserve", "ADAPTRESERVE"},
      {"value_bits", "VALUEBITS"},
  };
  char text[CONFIG_TEXT_SIZE], error[CONFIG_TEXT_SIZE + 8];
  if (status != BESOM_NO_MEMORY &&
      config_text(config, names, sizeof names / sizeof *names, text) != BESOM_OK) {
    snprintf(error, sizeof error, "ERR %s", text);
    RedisModule_ReplyWithError(ctx, error);
  } else if (status == BESOM_INVALID) {
    RedisModule_ReplyWithError(ctx, "ERR this kind of filter does not allow this combination of "
                                    "error rate, capacity, VALUEBITS and ADAPTRESERVE");
  } else {
    reply_status(ctx, status);
  }
}

struct af *create_value(RedisModuleCtx *ctx, RedisModuleString *key,
                        const struct filter_config *config) {
  struct filter_config c = *config;
  fill_defaults(&c);
  besom_config library_config = {.kind = c.kind,
                                 .hash = c.hash,
                                 .seed = c.seed,
                                 .capacity = c.capacity,
                                 .max_capacity = c.max_capacity,
                                 .fpr = c.fpr,
                                 .value_bits = c.value_bits,
                                 .reserve = c.reserve,
                                 .allocator = &redis_allocator};
  besom_filter *filter;
  enforce_memory_limits(is_client_command(ctx));
  besom_status status = besom_create(&library_config, &filter);
  enforce_memory_limits(false);
  if (status != BESOM_OK) {
    reply_create_error(ctx, &library_config, status);
    return NULL;
  }
  struct af *af = af_wrap(filter, c.max_capacity);
  store_value(ctx, key, af);
  replicate(ctx, key, &c);
  notify(ctx, "af.reserve", key);
  return af;
}

/* ------------------------------------------------------------------ AF.RESERVE */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static const char *parse_seed(RedisModuleString *string, struct filter_config *c) {
  size_t len;
  const char *text = RedisModule_StringPtrLen(string, &len);
  if (len != SEED_HEX) return "ERR SEED must be 32 hexadecimal digits";
  for (int i = 0; i < SEED_HEX / 2; i++) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return "ERR SEED must be 32 hexadecimal digits";
    c->seed[i] = (uint8_t)(high << 4 | low);
  }
  c->has_seed = true;
  return NULL;
}

const char *parse_error_rate(RedisModuleString *string, double *fpr) {
  bool ok = RedisModule_StringToDouble(string, fpr) == REDISMODULE_OK && *fpr > 0 && *fpr < 1;
  return ok ? NULL : "ERR the error rate must be greater than 0 and less than 1";
}

const char *parse_capacity(RedisModuleString *string, uint64_t *capacity) {
  long long number;
  if (RedisModule_StringToLongLong(string, &number) != REDISMODULE_OK || number < 1 ||
      (uint64_t)number > MAX_CAPACITY)
    return "ERR the capacity must be an integer from 1 to 2^44";
  *capacity = (uint64_t)number;
  return NULL;
}

static const char *parse_value_bits(RedisModuleString *string, struct filter_config *c) {
  long long bits;
  if (RedisModule_StringToLongLong(string, &bits) != REDISMODULE_OK || bits < 0 || bits > 32)
    return "ERR VALUEBITS must be an integer from 0 to 32";
  c->value_bits = (uint32_t)bits;
  return NULL;
}

static const char *parse_adapt_reserve(RedisModuleString *string, struct filter_config *c) {
  bool ok = RedisModule_StringToDouble(string, &c->reserve) == REDISMODULE_OK && c->reserve >= 0 &&
            c->reserve <= 0.5;
  return ok ? NULL : "ERR ADAPTRESERVE must be from 0 (meaning the default) to 0.5";
}

static const char *parse_kind(RedisModuleString *string, struct filter_config *c) {
  const besom_kind_info *kind = find_kind(RedisModule_StringPtrLen(string, NULL));
  if (!kind) return "ERR no such kind of filter: docs/kinds.md lists them";
  if (!(kind->abilities & BESOM_CAN_INSERT))
    return "ERR this kind of filter is built from a complete set: choose a KIND that can insert";
  c->kind = kind->name;
  return NULL;
}

static const char *parse_hash(RedisModuleString *string, struct filter_config *c) {
  c->hash = is_word(string, "sip") ? "sip" : "xxh3";
  return is_word(string, c->hash) ? NULL : "ERR HASH must be sip or xxh3";
}

/* Parses one option. *used is the number of its arguments. */
static const char *parse_option(RedisModuleString **argv, int left, struct filter_config *c,
                                RedisModuleString **like, int *used) {
  *used = 1;
  if (is_word(argv[0], "NONSCALING")) {
    c->nonscaling = true;
    return NULL;
  }
  *used = 2;
  if (left < 2) return "ERR syntax error";
  if (is_word(argv[0], "KIND")) return parse_kind(argv[1], c);
  if (is_word(argv[0], "HASH")) return parse_hash(argv[1], c);
  if (is_word(argv[0], "MAXCAPACITY")) return parse_capacity(argv[1], &c->max_capacity);
  if (is_word(argv[0], "VALUEBITS")) return parse_value_bits(argv[1], c);
  if (is_word(argv[0], "ADAPTRESERVE")) return parse_adapt_reserve(argv[1], c);
  if (is_word(argv[0], "SEED")) return parse_seed(argv[1], c);
  if (!is_word(argv[0], "LIKE")) return "ERR syntax error";
  *like = argv[1];
  return NULL;
}

static const char *parse_arguments(RedisModuleString **argv, int argc, struct filter_config *c,
                                   RedisModuleString **like) {
  const char *error = parse_error_rate(argv[2], &c->fpr);
  if (!error) error = parse_capacity(argv[3], &c->capacity);
  for (int i = 4, used; !error && i < argc; i += used)
    error = parse_option(argv + i, argc - i, c, like, &used);
  if (error) return error;
  bool others = c->kind || c->hash || c->max_capacity || c->value_bits || c->has_seed ||
                c->nonscaling || c->reserve;
  if (*like && others)
    return "ERR LIKE copies all parameters of the other filter: no further options are allowed";
  if (c->nonscaling && c->max_capacity)
    return "ERR NONSCALING and MAXCAPACITY exclude each other: give one of them";
  if (c->max_capacity > c->capacity && !can_grow(c->kind ? c->kind : DEFAULT_KIND))
    return "ERR this kind of filter cannot grow: leave out MAXCAPACITY";
  return NULL;
}

/* Makes an empty filter that can be merged with the other, with the other's present geometry. */
static int reserve_like(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString *like) {
  struct af *model = require_for_read(ctx, like);
  if (!model) return REDISMODULE_OK;
  besom_filter *filter;
  enforce_memory_limits(is_client_command(ctx));
  besom_status status = besom_create_like(model->filter, &filter);
  enforce_memory_limits(false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  store_value(ctx, key, af_wrap(filter, model->max_capacity));
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.reserve", key);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* Redis Cluster finds the key after LIKE by this function and not by the key specs. */
static int report_key_positions(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  RedisModule_KeyAtPos(ctx, 1);
  for (int i = 4; i + 1 < argc; i++)
    if (is_word(argv[i], "LIKE")) RedisModule_KeyAtPos(ctx, i + 1);
  return REDISMODULE_OK;
}

int reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (RedisModule_IsKeysPositionRequest(ctx)) return report_key_positions(ctx, argv, argc);
  struct filter_config c = {0};
  RedisModuleString *like = NULL;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == WRONG_TYPE) return reply_lookup_error(ctx, found);
  if (found != MISSING) return RedisModule_ReplyWithError(ctx, KEY_EXISTS);
  const char *error = parse_arguments(argv, argc, &c, &like);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  if (like) return reserve_like(ctx, argv[1], like);
  if (create_value(ctx, argv[1], &c)) RedisModule_ReplyWithSimpleString(ctx, "OK");
  return REDISMODULE_OK;
}
