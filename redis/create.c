/* Creates filters, for AF.RESERVE and for commands that add to a missing key. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "config.h"
#include "config_text.h"

#define SEED_HEX 32
#define DEFAULT_KIND "aqf"

/*
 * Kinds of which a chain can do all that one filter can, except that Bloom filters do not merge.
 * Chains of cuckoo filters cannot remove.
 */
bool kind_can_grow(const char *kind) {
  static const char *const kinds[] = {"aqf", "qf", "bloom", "blocked-bloom"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i]) == 0) return true;
  return false;
}

bool kind_has_policy(const char *kind) {
  const besom_kind_info *info;
  for (size_t i = 0; (info = besom_kinds(i)); i++)
    if (strcmp(kind, info->name) == 0) return info->abilities & BESOM_STORES_EXCEPTIONS;
  return false;
}

struct filter_config default_config(void) {
  return (struct filter_config){.capacity = config_default_capacity(), .fpr = config_default_fpr()};
}

/* 2, 4, 8, ...: the layers of a chain must have a power of two times the slots of the first. */
static uint32_t rounded_expansion(uint32_t expansion) {
  uint32_t rounded = 2;
  while (rounded < expansion) rounded *= 2;
  return rounded;
}

/* 0.2.0 replicates the policy and the reserve of aqf only. Its filters of other kinds refuse. */
static void fill_report_defaults(RedisModuleCtx *ctx, struct filter_config *c) {
  if (!kind_has_policy(c->kind)) return;
  bool replayed = !is_client_command(ctx) && strcmp(c->kind, DEFAULT_KIND) != 0;
  if (c->reserve == 0 && !replayed) c->reserve = config_default_reserve();
  if (c->policy == DEFAULT_POLICY)
    c->policy = config_forgets_reports() && !replayed ? FORGET_OLDEST : REFUSE_NEW;
}

/* Makes the config complete, because replicas may have other defaults. */
static void fill_defaults(RedisModuleCtx *ctx, struct filter_config *c) {
  if (!c->kind) c->kind = DEFAULT_KIND;
  if (!c->hash) c->hash = config_default_hash();
  if (!kind_can_grow(c->kind)) c->nonscaling = true;
  if (!c->expansion) c->expansion = config_default_expansion();
  c->expansion = rounded_expansion(c->expansion);
  fill_report_defaults(ctx, c);
  if (!c->has_seed) RedisModule_GetRandomBytes(c->seed, sizeof c->seed);
}

/* ------------------------------------------------------------------ replication */

static void format_seed(const uint8_t *seed, char *text) {
  for (int i = 0; i < SEED_HEX / 2; i++) snprintf(text + 2 * i, 3, "%02x", seed[i]);
}

/* AF.RESERVE with all parameters: a replica makes the same filter. */
static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const struct filter_config *c) {
  RedisModuleString *words[21];
  size_t n = 0;
  char seed[SEED_HEX + 1];
  format_seed(c->seed, seed);
#define WORD(...) words[n++] = RedisModule_CreateStringPrintf(ctx, __VA_ARGS__)
  WORD("%.17g", c->fpr);
  WORD("%llu", (unsigned long long)c->capacity);
  WORD("KIND"), WORD("%s", c->kind);
  WORD("HASH"), WORD("%s", c->hash);
  WORD("SEED"), WORD("%s", seed);
  if (c->value_bits) WORD("VALUEBITS"), WORD("%u", c->value_bits);
  if (c->maplet) WORD("MAPLET");
  if (c->reserve != 0) WORD("ADAPTRESERVE"), WORD("%.17g", c->reserve);
  if (c->policy != DEFAULT_POLICY) WORD(c->policy == FORGET_OLDEST ? "FORGET" : "REFUSE");
  if (c->max_capacity) WORD("MAXCAPACITY"), WORD("%llu", (unsigned long long)c->max_capacity);
  if (c->nonscaling) WORD("NONSCALING");
  if (!c->nonscaling) WORD("EXPANSION"), WORD("%u", c->expansion);
#undef WORD
  RedisModule_Replicate(ctx, "AF.RESERVE", "sv", key, words, n);
  for (size_t i = 0; i < n; i++) RedisModule_FreeString(ctx, words[i]);
}

/* ------------------------------------------------------------------ creation */

/* The configuration is checked again, to name the argument that is wrong. */
static bool reply_bad_argument(RedisModuleCtx *ctx, const besom_config *config) {
  static const option_name names[] = {
      {"hash", "HASH"},
      {"fpr", "error_rate"},
      {"reserve", "ADAPTRESERVE"},
      {"value_bits", "VALUEBITS"},
  };
  char text[CONFIG_TEXT_SIZE], error[CONFIG_TEXT_SIZE + 8];
  if (config_text(config, names, sizeof names / sizeof *names, text) == BESOM_OK) return false;
  snprintf(error, sizeof error, "ERR %s", text);
  RedisModule_ReplyWithError(ctx, error);
  return true;
}

static void reply_create_error(RedisModuleCtx *ctx, const besom_config *config,
                               const besom_config *layer, besom_status status) {
  if (status == BESOM_NO_MEMORY) {
    reply_status(ctx, status);
  } else if (!reply_bad_argument(ctx, layer) && !reply_bad_argument(ctx, config)) {
    if (status == BESOM_INVALID)
      RedisModule_ReplyWithError(ctx, "ERR this kind of filter does not allow this combination of "
                                      "error rate, capacity, VALUEBITS and ADAPTRESERVE");
    else
      reply_status(ctx, status);
  }
}

/* Makes the filter of a complete config, or replies with an error and returns NULL. */
static besom_filter *make_filter(RedisModuleCtx *ctx, const struct filter_config *c) {
  bool forget = c->policy == FORGET_OLDEST;
  char chain[80], options[40];
  snprintf(options, sizeof options, "%s%s%s", c->maplet ? "maplet=yes" : "",
           c->maplet && forget ? "," : "", forget ? "forget=yes" : "");
  snprintf(chain, sizeof chain, "base=%s,expansion=%u%s%s", c->kind, c->expansion,
           *options ? "," : "", options);
  besom_config layer = {.kind = c->kind,
                        .options = options,
                        .hash = c->hash,
                        .seed = c->seed,
                        .capacity = c->capacity,
                        .fpr = c->fpr,
                        .value_bits = c->value_bits,
                        .reserve = c->reserve,
                        .allocator = &redis_allocator};
  besom_config created = layer;
  if (!c->nonscaling) created.kind = "scaling", created.options = chain;
  besom_filter *filter;
  begin_change(ctx);
  besom_status status = besom_create(&created, &filter);
  end_change();
  if (status == BESOM_OK) return filter;
  reply_create_error(ctx, &created, &layer, status);
  return NULL;
}

struct af *create_filter(RedisModuleCtx *ctx, RedisModuleString *key,
                         const struct filter_config *config) {
  struct filter_config c = *config;
  fill_defaults(ctx, &c);
  besom_filter *filter = make_filter(ctx, &c);
  if (!filter) return NULL;
  struct af *af = af_wrap(filter, c.nonscaling ? 0 : c.max_capacity);
  store_value(ctx, key, af);
  replicate(ctx, key, &c);
  notify(ctx, "af.reserve", key);
  return af;
}

/* ------------------------------------------------------------------ filters after frozen layers */

#define MIN_ATTACHED 64

/*
 * The rates of RedisBloom's layers halve, so the rate of the last one is what is left for all that
 * follow. The first layer is small, because most imported filters hardly grow.
 */
static struct filter_config config_after(const struct frozen *f) {
  struct filter_config c = default_config();
  uint64_t capacity = f->items / 4;
  c.capacity = capacity > MIN_ATTACHED ? capacity : MIN_ATTACHED;
  if (f->family == FROZEN_BLOOM) c.fpr = f->layer[f->layers - 1].error;
  if (c.fpr < MIN_FPR) c.fpr = MIN_FPR;
  c.expansion = f->family == FROZEN_BLOOM ? f->growth : f->expansion;
  if (c.expansion > MAX_EXPANSION) c.expansion = MAX_EXPANSION;
  return c;
}

bool attach_filter(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                   const struct filter_config *config) {
  if (af_has_filter(af)) return true;
  struct filter_config c = config ? *config : config_after(af->frozen);
  fill_defaults(ctx, &c);
  af->filter = make_filter(ctx, &c);
  if (!af->filter) return false;
  af_refresh(af);
  replicate(ctx, key, &c);
  return true;
}

bool attach_filter_for(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                       RedisModuleString **items, int n, enum add_mode mode) {
  for (int i = 0; i < n && !af_has_filter(af); i++)
    if (af_needs_filter(af, bytes_of(items[i]), mode)) return attach_filter(ctx, key, af, NULL);
  return true;
}
