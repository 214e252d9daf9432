/* BF.*: a filter as RedisBloom's Bloom filter. An item that is answered yes is not added again. */
#include "compat.h"
#include "config.h"

/* ------------------------------------------------------------------ arguments */

struct bf_options {
  struct filter_config config;
  bool expands; /* by an EXPANSION other than 0 */
  bool create;
};

/* A rate in the range of RedisBloom must also be one that the replicated AF.RESERVE takes. */
static const char *parse_rate(RedisModuleString *string, const char *not_a_number, double *fpr) {
  if (RedisModule_StringToDouble(string, fpr) != REDISMODULE_OK) return not_a_number;
  if (!(*fpr > 0 && *fpr < 1)) return "ERR error rate must be in the range (0.000000, 1.000000)";
  return parse_error_rate(string, fpr);
}

static const char *parse_size(RedisModuleString *string, const char *not_a_number,
                              struct filter_config *config) {
  long long number;
  const char *error =
      compat_parse(string, 1, CAPACITY_LIMIT, not_a_number,
                   "ERR capacity must be in the range [1, 17592186044416]", &number);
  if (!error) config->capacity = (uint64_t)number;
  return error;
}

/* EXPANSION 0 means NONSCALING. */
static const char *parse_growth(RedisModuleString *string, const char *not_a_number,
                                struct bf_options *o) {
  long long factor;
  const char *error = compat_parse(string, 0, MAX_EXPANSION, not_a_number,
                                   "ERR expansion must be in the range [0, 32768]", &factor);
  if (error) return error;
  o->expands = factor > 0;
  if (!o->expands) o->config.nonscaling = true;
  o->config.expansion = (uint32_t)factor;
  return NULL;
}

static struct bf_options default_options(void) {
  struct bf_options o = {.config = default_config(), .create = true};
  o.config.capacity = config_default_bf_capacity();
  return o;
}

/* ------------------------------------------------------------------ BF.RESERVE */

static const char *parse_reserve(RedisModuleString **argv, int argc, struct bf_options *o) {
  const char *error = parse_rate(argv[2], "ERR bad error rate", &o->config.fpr);
  if (!error) error = parse_size(argv[3], "ERR bad capacity", &o->config);
  for (int i = 4; !error && i < argc; i++) {
    if (is_word(argv[i], "NONSCALING"))
      o->config.nonscaling = true;
    else if (!is_word(argv[i], "EXPANSION"))
      error = BLOOM_UNKNOWN_ARGUMENT;
    else if (i + 1 == argc)
      error = "ERR no expansion";
    else
      error = parse_growth(argv[++i], "ERR bad expansion", o);
  }
  if (!error && o->expands && o->config.nonscaling) error = "Nonscaling filters cannot expand";
  return error;
}

int bf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (argc > 7) return RedisModule_WrongArity(ctx);
  struct bf_options o = default_options();
  const char *error = parse_reserve(argv, argc, &o);
  if (error) return compat_refuse_reserve(ctx, argv[1], error);
  return compat_reserve(ctx, argv[1], &o.config);
}

/* ------------------------------------------------------------------ adding */

/* The first item that does not fit ends the command. */
static bool reply_item(RedisModuleCtx *ctx, const struct af *af, besom_status status,
                       bool missing) {
  if (status == BESOM_OK)
    RedisModule_ReplyWithBool(ctx, missing);
  else if (status == BESOM_FULL && !af_shape(af).expansion)
    RedisModule_ReplyWithError(ctx, "ERR non scaling filter is full");
  else
    reply_status(ctx, status);
  return status == BESOM_OK;
}

static int add(RedisModuleCtx *ctx, RedisModuleString *key, RedisModuleString **items, int n,
               const struct bf_options *o, bool is_array) {
  struct compat_add how = {.create = o->create,
                           .config = o->config,
                           .mode = ADD_MISSING,
                           .reply = reply_item,
                           .is_array = is_array};
  return compat_add_items(ctx, key, items, n, &how);
}

int bf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct bf_options o = default_options();
  return add(ctx, argv[1], argv + 2, 1, &o, false);
}

int bf_madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct bf_options o = default_options();
  return add(ctx, argv[1], argv + 2, argc - 2, &o, true);
}

/*
 * Parses one option of BF.INSERT. *i is its index, then that of its last argument. With NONSCALING
 * an EXPANSION has no effect, as in RedisBloom.
 */
static const char *parse_insert_option(RedisModuleString **argv, int argc, struct bf_options *o,
                                       int *i) {
  RedisModuleString *name = argv[*i];
  if (is_word(name, "NOCREATE")) {
    o->create = false;
    return NULL;
  }
  if (is_word(name, "NONSCALING")) {
    o->config.nonscaling = true;
    return NULL;
  }
  if (++*i == argc) return BLOOM_UNKNOWN_ARGUMENT;
  if (is_word(name, "CAPACITY")) return parse_size(argv[*i], "Bad capacity", &o->config);
  if (is_word(name, "ERROR")) return parse_rate(argv[*i], "Bad error rate", &o->config.fpr);
  if (is_word(name, "EXPANSION")) return parse_growth(argv[*i], "Bad expansion", o);
  return BLOOM_UNKNOWN_ARGUMENT;
}

int bf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct bf_options o = default_options();
  const char *error = NULL;
  int i = 2;
  for (; !error && i < argc && !is_word(argv[i], "ITEMS"); i++)
    error = parse_insert_option(argv, argc, &o, &i);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  if (i + 1 >= argc) return RedisModule_WrongArity(ctx);
  return add(ctx, argv[1], argv + i + 1, argc - i - 1, &o, true);
}

/* ------------------------------------------------------------------ information */

int bf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (argc > 3) return RedisModule_WrongArity(ctx);
  struct af *af = compat_require(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  struct shape shape = af_shape(af);
  const struct compat_field fields[] = {
      {"Capacity", "CAPACITY", .value = shape.nominal_capacity},
      {"Size", "SIZE", .value = af_bytes(af)},
      {"Number of filters", "FILTERS", .value = shape.layers},
      {"Number of items inserted", "ITEMS", .value = af->items},
      {"Expansion rate", "EXPANSION", .value = shape.expansion, .is_nil = !shape.expansion},
  };
  return compat_reply_info(ctx, fields, sizeof fields / sizeof *fields, argc == 3 ? argv[2] : NULL);
}

int bf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return compat_scandump(ctx, argv, argc, FROZEN_BLOOM, "Second argument must be numeric");
}

int bf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return compat_loadchunk(ctx, argv, argc, FROZEN_BLOOM);
}

/* ------------------------------------------------------------------ BF.DEBUG */

static void reply_layer(RedisModuleCtx *ctx, uint64_t bytes, uint64_t bits, unsigned hashes,
                        unsigned width, uint64_t capacity, uint64_t items, double rate) {
  RedisModuleString *text = RedisModule_CreateStringPrintf(
      ctx, "bytes:%llu bits:%llu hashes:%u hashwidth:%u capacity:%llu size:%llu ratio:%g",
      (unsigned long long)bytes, (unsigned long long)bits, hashes, width,
      (unsigned long long)capacity, (unsigned long long)items, rate);
  RedisModule_ReplyWithString(ctx, text);
  RedisModule_FreeString(ctx, text);
}

static long reply_frozen_layers(RedisModuleCtx *ctx, const struct frozen *f) {
  for (uint32_t i = 0; i < f->layers; i++) {
    const struct frozen_layer *l = &f->layer[i];
    reply_layer(ctx, l->bytes, l->bytes * 8, l->hashes, f->options & 4 ? 64 : 32, l->capacity,
                l->items, l->error);
  }
  return (long)f->layers;
}

/* The fingerprints of a layer are its bits; a digest of 128 bits is its one hash. */
static long reply_layers(RedisModuleCtx *ctx, const besom_filter *filter, bool grows) {
  const besom_filter *layer = filter;
  long n = 0;
  for (; layer && (layer = grows ? besom_layer(filter, (uint64_t)n) : layer); n++) {
    besom_statistics stats = {0};
    besom_stats(layer, &stats);
    reply_layer(ctx, stats.bytes, stats.slots * stats.width, 1, 128, stats.capacity, stats.keys,
                stats.fpr_at_capacity);
    if (!grows) return 1;
  }
  return n;
}

int bf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = compat_require(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
  RedisModuleString *size =
      RedisModule_CreateStringPrintf(ctx, "size:%llu", (unsigned long long)af->items);
  RedisModule_ReplyWithString(ctx, size);
  RedisModule_FreeString(ctx, size);
  long n = 1;
  if (af->frozen) n += reply_frozen_layers(ctx, af->frozen);
  besom_filter *view = af_view(af);
  n += reply_layers(ctx, view, af->abilities & BESOM_CAN_SCALE);
  af_end_view(af, view);
  RedisModule_ReplySetArrayLength(ctx, n);
  return REDISMODULE_OK;
}

/* ------------------------------------------------------------------ BF.LOAD */

/* Only AOF files of valkey-bloom have it. */
int bf_load_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  mark_if_replayed(ctx, argv[1], "BF.LOAD of valkey-bloom cannot be read");
  return RedisModule_ReplyWithError(ctx, "ERR filters of valkey-bloom cannot be loaded: add the "
                                         "items again (docs/redisbloom.md)");
}
