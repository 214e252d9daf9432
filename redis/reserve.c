/* AF.RESERVE. */
#include <string.h>

#include "command.h"

#define SEED_HEX 32

static const besom_kind_info *find_kind(RedisModuleString *name) {
  const besom_kind_info *info;
  for (size_t i = 0; (info = besom_kinds(i)); i++)
    if (is_word(name, info->name)) return info;
  return NULL;
}

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
  bool ok =
      RedisModule_StringToDouble(string, fpr) == REDISMODULE_OK && *fpr >= MIN_FPR && *fpr < 1;
  return ok ? NULL : "ERR the error rate must be at least 1e-19 and less than 1";
}

const char *parse_capacity(RedisModuleString *string, uint64_t *capacity) {
  long long number;
  if (RedisModule_StringToLongLong(string, &number) != REDISMODULE_OK || number < 1 ||
      (uint64_t)number > CAPACITY_LIMIT)
    return "ERR the capacity must be an integer from 1 to 2^44";
  *capacity = (uint64_t)number;
  return NULL;
}

const char *parse_expansion(RedisModuleString *string, struct filter_config *c) {
  long long factor;
  if (RedisModule_StringToLongLong(string, &factor) != REDISMODULE_OK || factor < 0 ||
      factor > MAX_EXPANSION)
    return "ERR EXPANSION must be an integer from 0 (meaning NONSCALING) to 32768";
  c->expansion = (uint32_t)factor;
  if (factor == 0) c->nonscaling = true;
  return NULL;
}

static const char *parse_max_capacity(RedisModuleString *string, struct filter_config *c) {
  return parse_capacity(string, &c->max_capacity)
             ? "ERR MAXCAPACITY must be an integer from the capacity to 2^44"
             : NULL;
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

/* KIND scaling is the default: a chain of aqf layers. */
static const char *parse_kind(RedisModuleString *string, struct filter_config *c) {
  if (is_word(string, "scaling")) {
    c->kind = "aqf";
    return NULL;
  }
  const besom_kind_info *kind = find_kind(string);
  if (!kind) return "ERR no such KIND of filter: docs/kinds.md lists them";
  if (!(kind->abilities & BESOM_CAN_INSERT))
    return "ERR this KIND of filter is built from a complete set: choose one that can insert";
  c->kind = kind->name;
  return NULL;
}

static const char *parse_hash(RedisModuleString *string, struct filter_config *c) {
  c->hash = is_word(string, "sip") ? "sip" : "xxh3";
  return is_word(string, c->hash) ? NULL : "ERR HASH must be sip or xxh3";
}

/* Options without a value. */
static bool parse_flag(RedisModuleString *word, struct filter_config *c) {
  if (is_word(word, "NONSCALING"))
    c->nonscaling = true;
  else if (is_word(word, "FORGET"))
    c->policy = FORGET_OLDEST;
  else if (is_word(word, "REFUSE"))
    c->policy = REFUSE_NEW;
  else if (is_word(word, "MAPLET"))
    c->maplet = true;
  else
    return false;
  return true;
}

/* Parses one option. *used is the number of its arguments. */
static const char *parse_option(RedisModuleString **argv, int left, struct filter_config *c,
                                RedisModuleString **like, int *used) {
  *used = 1;
  if (parse_flag(argv[0], c)) return NULL;
  *used = 2;
  if (left < 2) return "ERR syntax error";
  if (is_word(argv[0], "KIND")) return parse_kind(argv[1], c);
  if (is_word(argv[0], "HASH")) return parse_hash(argv[1], c);
  if (is_word(argv[0], "EXPANSION")) return parse_expansion(argv[1], c);
  if (is_word(argv[0], "MAXCAPACITY")) return parse_max_capacity(argv[1], c);
  if (is_word(argv[0], "VALUEBITS")) return parse_value_bits(argv[1], c);
  if (is_word(argv[0], "ADAPTRESERVE")) return parse_adapt_reserve(argv[1], c);
  if (is_word(argv[0], "SEED")) return parse_seed(argv[1], c);
  if (!is_word(argv[0], "LIKE")) return "ERR syntax error";
  *like = argv[1];
  return NULL;
}

const char *check_config(const struct filter_config *c) {
  const char *kind = c->kind ? c->kind : "aqf";
  if (c->nonscaling && c->max_capacity)
    return "ERR NONSCALING and MAXCAPACITY exclude each other: give one of them";
  if (c->nonscaling && c->expansion)
    return "ERR NONSCALING and EXPANSION exclude each other: give one of them";
  if (c->max_capacity && c->max_capacity < c->capacity)
    return "ERR MAXCAPACITY must not be less than the capacity";
  if ((c->max_capacity || c->expansion) && !kind_can_grow(kind))
    return "ERR this KIND of filter cannot grow: leave out MAXCAPACITY and EXPANSION";
  if (c->policy != DEFAULT_POLICY && !kind_has_policy(kind))
    return "ERR this KIND of filter always forgets old reports: leave out FORGET and REFUSE";
  if (c->value_bits && strcmp(kind, "aqf") != 0)
    return "ERR this KIND of filter has no values: leave out VALUEBITS, or use KIND aqf";
  if (c->maplet && !c->value_bits) return "ERR MAPLET needs VALUEBITS, 1 to 32";
  return NULL;
}

static const char *parse_arguments(RedisModuleString **argv, int argc, struct filter_config *c,
                                   RedisModuleString **like) {
  const char *error = parse_error_rate(argv[2], &c->fpr);
  if (!error) error = parse_capacity(argv[3], &c->capacity);
  for (int i = 4, used; !error && i < argc; i += used)
    error = parse_option(argv + i, argc - i, c, like, &used);
  if (error) return error;
  if (*like && argc != 6)
    return "ERR LIKE copies all parameters of the other filter: no further options are allowed";
  return check_config(c);
}

/* Makes an empty filter that can be merged with the other. */
static int reserve_like(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString *like) {
  struct af *model = require_for_read(ctx, like);
  if (!model) mark_if_replayed(ctx, key, "AF.RESERVE ... LIKE a filter that cannot be read");
  if (!model) return REDISMODULE_OK;
  if (model->frozen) return RedisModule_ReplyWithError(ctx, FROZEN_LAYERS);
  besom_filter *filter, *view = af_view(model);
  begin_change(ctx);
  besom_status status = besom_create_like(view, &filter);
  end_change();
  af_end_view(model, view);
  if (status != BESOM_OK) mark_if_replayed(ctx, key, besom_strerror(status));
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
  bool attach = found == FOUND && !af_has_filter(af) && !is_client_command(ctx);
  if (found != MISSING && !attach) return RedisModule_ReplyWithError(ctx, KEY_EXISTS);
  const char *error = parse_arguments(argv, argc, &c, &like);
  if (error) mark_if_replayed(ctx, argv[1], error);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  if (like) return reserve_like(ctx, argv[1], like);
  if (attach ? attach_filter(ctx, argv[1], af, &c) : create_filter(ctx, argv[1], &c) != NULL)
    RedisModule_ReplyWithSimpleString(ctx, "OK");
  else
    mark_if_replayed(ctx, argv[1], "AF.RESERVE failed");
  return REDISMODULE_OK;
}
