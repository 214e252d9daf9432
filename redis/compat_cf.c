/* CF.*: a filter as RedisBloom's cuckoo filter. Copies of an item are counted. */
#include "compat.h"

#define CF_BUCKET_SIZE 2 /* defaults */
#define CF_MAX_ITERATIONS 20
#define MAX_BUCKET_SIZE 255
#define MAX_ITERATIONS 65535

/* ------------------------------------------------------------------ CF.RESERVE */

struct cf_options {
  long long capacity, bucket_size, max_iterations;
  long long expansion; /* -1: default */
};

/* BUCKETSIZE and MAXITERATIONS are checked; a filter of this module has no use for them. */
static const char *parse_reserve_option(RedisModuleString **argv, struct cf_options *o) {
  if (is_word(argv[0], "MAXITERATIONS"))
    return compat_parse(argv[1], 1, MAX_ITERATIONS, "Couldn't parse MAXITERATIONS",
                        "MAXITERATIONS: value must be in the range [1, 65535]", &o->max_iterations);
  if (is_word(argv[0], "BUCKETSIZE"))
    return compat_parse(argv[1], 1, MAX_BUCKET_SIZE, "Couldn't parse BUCKETSIZE",
                        "BUCKETSIZE: value must be in the range [1, 255]", &o->bucket_size);
  if (is_word(argv[0], "EXPANSION"))
    return compat_parse(argv[1], 0, MAX_EXPANSION, "Couldn't parse EXPANSION",
                        "EXPANSION: value must be in the range [0, 32768]", &o->expansion);
  return BLOOM_UNKNOWN_ARGUMENT;
}

static const char *parse_reserve(RedisModuleString **argv, int argc, struct cf_options *o) {
  if (RedisModule_StringToLongLong(argv[2], &o->capacity) != REDISMODULE_OK) return "Bad capacity";
  const char *error = NULL;
  for (int i = 3; !error && i < argc; i += 2) error = parse_reserve_option(argv + i, o);
  if (!error && (o->capacity < 2 * o->bucket_size || o->capacity > (long long)CAPACITY_LIMIT))
    error = "Capacity must be in the range [2 * BUCKETSIZE, 17592186044416]";
  return error;
}

int cf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  if (argc % 2 == 0) return RedisModule_WrongArity(ctx);
  struct filter_config config = default_config();
  struct cf_options o = {.bucket_size = CF_BUCKET_SIZE, .expansion = -1};
  const char *error = parse_reserve(argv, argc, &o);
  if (error) return compat_refuse_reserve(ctx, argv[1], error);
  config.capacity = (uint64_t)o.capacity;
  if (o.expansion > 0) config.expansion = (uint32_t)o.expansion;
  config.nonscaling = o.expansion == 0;
  return compat_reserve(ctx, argv[1], &config);
}

/* ------------------------------------------------------------------ adding */

/* CF.ADD and CF.ADDNX. */
static bool reply_one(RedisModuleCtx *ctx, besom_status status, bool added) {
  if (status == BESOM_OK)
    RedisModule_ReplyWithBool(ctx, added);
  else if (status == BESOM_FULL)
    RedisModule_ReplyWithError(ctx, "Filter is full");
  else
    reply_status(ctx, status);
  return true;
}

/* CF.ADD adds a copy if the filter has the item. */
static bool reply_add(RedisModuleCtx *ctx, const struct af *af, besom_status status, bool missing) {
  (void)af;
  (void)missing;
  return reply_one(ctx, status, true);
}

static bool reply_addnx(RedisModuleCtx *ctx, const struct af *af, besom_status status,
                        bool missing) {
  (void)af;
  return reply_one(ctx, status, missing);
}

/* An item that does not fit: -1, in RESP3 false. */
static bool reply_insert(RedisModuleCtx *ctx, const struct af *af, besom_status status,
                         bool missing) {
  (void)af;
  (void)missing;
  bool resp3 = RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3;
  if (status == BESOM_OK || resp3)
    RedisModule_ReplyWithBool(ctx, status == BESOM_OK);
  else
    RedisModule_ReplyWithLongLong(ctx, -1);
  return true;
}

/* There are three outcomes, so the replies are integers in RESP3, too. */
static bool reply_insertnx(RedisModuleCtx *ctx, const struct af *af, besom_status status,
                           bool missing) {
  (void)af;
  RedisModule_ReplyWithLongLong(ctx, status != BESOM_OK ? -1 : missing);
  return true;
}

static struct compat_add default_add(enum add_mode mode, compat_reply reply) {
  return (struct compat_add){
      .create = true, .config = default_config(), .mode = mode, .reply = reply};
}

int cf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct compat_add add = default_add(ADD_COPY, reply_add);
  return compat_add_items(ctx, argv[1], argv + 2, 1, &add);
}

int cf_addnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct compat_add add = default_add(ADD_MISSING, reply_addnx);
  return compat_add_items(ctx, argv[1], argv + 2, 1, &add);
}

/* Parses the options before ITEMS. *items is the index of the first item. */
static const char *parse_insert(RedisModuleString **argv, int argc, struct compat_add *add,
                                int *items) {
  const char *error = NULL;
  long long capacity = (long long)add->config.capacity;
  int i = 2;
  for (; !error && i < argc && !is_word(argv[i], "ITEMS"); i++) {
    if (is_word(argv[i], "NOCREATE"))
      add->create = false;
    else if (is_word(argv[i], "CAPACITY") && i + 1 < argc)
      error = compat_parse(argv[++i], 2 * CF_BUCKET_SIZE, CAPACITY_LIMIT, "Bad capacity",
                           "Capacity must be in the range [cf-bucket-size * 2, 17592186044416]",
                           &capacity);
    else
      error = BLOOM_UNKNOWN_ARGUMENT;
  }
  add->config.capacity = (uint64_t)capacity;
  *items = i + 1;
  return error;
}

static int insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum add_mode mode,
                  compat_reply reply) {
  struct compat_add add = default_add(mode, reply);
  int first;
  const char *error = parse_insert(argv, argc, &add, &first);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  if (first >= argc) return RedisModule_WrongArity(ctx);
  add.is_array = true;
  return compat_add_items(ctx, argv[1], argv + first, argc - first, &add);
}

int cf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return insert(ctx, argv, argc, ADD_COPY, reply_insert);
}

int cf_insertnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return insert(ctx, argv, argc, ADD_MISSING, reply_insertnx);
}

/* ------------------------------------------------------------------ removal and counting */

int cf_del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_write(ctx, argv[1], &af);
  if (found == INCOMPLETE || found == MARKED) return reply_lookup_error(ctx, found);
  if (found != FOUND) return RedisModule_ReplyWithError(ctx, "Not found");
  besom_status status = af_remove(af, bytes_of(argv[2]));
  if (status == BESOM_NOT_FOUND) return RedisModule_ReplyWithBool(ctx, false);
  if (status != BESOM_OK) return reply_status(ctx, status);
  replicate_items(ctx, "AF.DEL", "af.del", argv[1], argv + 2, 1);
  return RedisModule_ReplyWithBool(ctx, true);
}

int cf_count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af;
  if (lookup_for_read(ctx, argv[1], &af) == WRONG_TYPE)
    return RedisModule_ReplyWithLongLong(ctx, 0);
  return count_command(ctx, argv, argc);
}

/* ------------------------------------------------------------------ information */

/* What RedisBloom says about a cuckoo filter. */
struct cf_numbers {
  uint64_t buckets, deletes;
  unsigned bucket_size, max_iterations;
};

/* The slots of a filter of this module are reported as buckets of one slot. */
static struct cf_numbers cf_numbers_of(const struct af *af) {
  const struct frozen *f = af->frozen;
  if (f && f->family == FROZEN_CUCKOO)
    return (struct cf_numbers){f->buckets, f->deletes, f->bucket_size, f->max_iterations};
  return (struct cf_numbers){af_stats(af).slots, af->deleted, 1, CF_MAX_ITERATIONS};
}

int cf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = compat_require(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  struct shape shape = af_shape(af);
  struct cf_numbers cf = cf_numbers_of(af);
  const struct compat_field fields[] = {
      {"Size", .value = af_bytes(af)},
      {"Number of buckets", .value = cf.buckets},
      {"Number of filters", .value = shape.layers},
      {"Number of items inserted", .value = af->items},
      {"Number of items deleted", .value = cf.deletes},
      {"Bucket size", .value = cf.bucket_size},
      {"Expansion rate", .value = shape.expansion},
      {"Max iterations", .value = cf.max_iterations},
  };
  return compat_reply_info(ctx, fields, sizeof fields / sizeof *fields, NULL);
}

int cf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = compat_require(ctx, argv[1]);
  if (!af) return REDISMODULE_OK;
  struct shape shape = af_shape(af);
  struct cf_numbers cf = cf_numbers_of(af);
  RedisModuleString *text = RedisModule_CreateStringPrintf(
      ctx,
      "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu max_iterations:%u expansion:%u",
      cf.bucket_size, (unsigned long long)cf.buckets, (unsigned long long)af->items,
      (unsigned long long)cf.deletes, (unsigned long long)shape.layers, cf.max_iterations,
      shape.expansion);
  RedisModule_ReplyWithString(ctx, text);
  RedisModule_FreeString(ctx, text);
  return REDISMODULE_OK;
}

/* A filter of this module has no layers to compact; a frozen one is compacted by CF.DEL. */
int cf_compact_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == INCOMPLETE || found == MARKED) return reply_lookup_error(ctx, found);
  if (found != FOUND) return RedisModule_ReplyWithError(ctx, "Cuckoo filter was not found");
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* RedisBloom does not dump an empty filter. */
int cf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af;
  if (lookup_for_read(ctx, argv[1], &af) == FOUND && af->items == 0) {
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, 0);
    return RedisModule_ReplyWithNull(ctx);
  }
  return compat_scandump(ctx, argv, argc, FROZEN_CUCKOO, "Invalid position");
}

int cf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  return compat_loadchunk(ctx, argv, argc, FROZEN_CUCKOO);
}
