/* Commands on whole filters. */
#include "command.h"
#include "dump.h"
#include "growth.h"

int card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum find found = find_value(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithLongLong(ctx, 0);
  if (found != FOUND) return reply_find(ctx, found);
  return RedisModule_ReplyWithLongLong(ctx, (long long)af->items);
}

/* ------------------------------------------------------------------ AF.INFO */

/* A field is a word, a number or a fraction. */
struct field {
  const char *name;
  const char *word;
  uint64_t number;
  double fraction;
  bool is_fraction;
};

static int reply_field(RedisModuleCtx *ctx, const struct field *field) {
  if (field->word) return RedisModule_ReplyWithCString(ctx, field->word);
  if (field->is_fraction) return RedisModule_ReplyWithDouble(ctx, field->fraction);
  return RedisModule_ReplyWithLongLong(ctx, (long long)field->number);
}

static int reply_fields(RedisModuleCtx *ctx, const struct field *fields, size_t n,
                        RedisModuleString *only) {
  if (!only) RedisModule_ReplyWithMap(ctx, (long)n);
  for (size_t i = 0; i < n; i++) {
    if (only && is_word(only, fields[i].name)) return reply_field(ctx, &fields[i]);
    if (only) continue;
    RedisModule_ReplyWithCString(ctx, fields[i].name);
    reply_field(ctx, &fields[i]);
  }
  return only ? RedisModule_ReplyWithError(ctx, "ERR no such field") : REDISMODULE_OK;
}

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af = value_to_read(ctx, argv[1]);
  besom_statistics stats;
  if (!af) return REDISMODULE_OK;
  if (argc > 3) return RedisModule_WrongArity(ctx);
  besom_status status = besom_stats(af->filter, &stats);
  if (status != BESOM_OK) return reply_status(ctx, status);
  const struct field fields[] = {
      {"kind", .word = stats.kind},
      {"hash", .word = stats.hash},
      {"capacity", .number = stats.capacity},
      {"maxcapacity",
       .number = af->max_capacity > stats.capacity ? af->max_capacity : stats.capacity},
      {"items", .number = af->items},
      {"size", .number = af_bytes(af)},
      {"slots", .number = stats.slots},
      {"width", .number = stats.width},
      {"error", .fraction = stats.fpr_at_capacity, .is_fraction = true},
      {"error-now", .fraction = stats.expected_fpr, .is_fraction = true},
      {"reports", .number = af->reports},
      {"fixed", .number = af->fixed},
      {"refused", .number = af->refused},
      {"marks", .number = stats.marks},
      {"reserve-used", .fraction = stats.reserve_used, .is_fraction = true},
      {"growing", .number = af->task != NULL},
  };
  return reply_fields(ctx, fields, sizeof fields / sizeof *fields, argc == 3 ? argv[2] : NULL);
}

/* ------------------------------------------------------------------ AF.MERGE */

static int reply_unlike(RedisModuleCtx *ctx) {
  return RedisModule_ReplyWithError(ctx, "ERR the filters differ in kind, hash, seed or geometry: "
                                         "make one with AF.RESERVE ... LIKE the other");
}

/* What n filters hold, in a fresh one. */
static besom_status merge_filters(const besom_filter **filters, int n, besom_filter **merged) {
  if (n == 1) return filter_copy(filters[0], merged);
  besom_status status = besom_merge(filters[0], filters[1], merged);
  for (int i = 2; status == BESOM_OK && i < n; i++) {
    besom_filter *before = *merged;
    status = besom_merge(before, filters[i], merged);
    besom_free(before);
  }
  return status;
}

/* Puts the merged filter into the value, so that its settings and numbers of reports stay. */
static void take_over(RedisModuleCtx *ctx, RedisModuleString *key, struct af *dest,
                      besom_filter *merged, uint64_t max_capacity) {
  if (!dest) {
    store_value(ctx, key, af_of(merged, max_capacity));
    return;
  }
  besom_free(dest->filter);
  dest->filter = merged;
  af_refresh(dest);
}

static int merge_values(RedisModuleCtx *ctx, RedisModuleString *key, struct af *dest,
                        const besom_filter **filters, int n, uint64_t max_capacity) {
  besom_filter *merged;
  limit_memory(decides(ctx));
  besom_status status = merge_filters(filters, n, &merged);
  limit_memory(false);
  if (status == BESOM_INCOMPATIBLE) return reply_unlike(ctx);
  if (status != BESOM_OK) return reply_status(ctx, status);
  take_over(ctx, key, dest, merged, max_capacity);
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.merge", key);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* The destination counts, if it is there. */
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *dest, *source = NULL;
  enum find found = find_value_to_change(ctx, argv[1], &dest);
  if (found != FOUND && found != MISSING) return reply_find(ctx, found);
  if (found == MISSING) dest = NULL;
  if (dest && !growth_make_room(ctx, argv[1], dest, 0, merge_command)) return REDISMODULE_OK;
  const besom_filter **filters = RedisModule_Alloc((size_t)argc * sizeof *filters);
  int n = 0, i = 2;
  if (dest) filters[n++] = dest->filter;
  for (; i < argc && (source = value_to_read(ctx, argv[i])); i++) filters[n++] = source->filter;
  if (i == argc) merge_values(ctx, argv[1], dest, filters, n, source->max_capacity);
  RedisModule_Free(filters);
  return REDISMODULE_OK;
}

/* ------------------------------------------------------------------ AF.SCANDUMP, AF.LOADCHUNK */

int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = value_to_read(ctx, argv[1]);
  long long from;
  uint64_t next;
  if (!af) return REDISMODULE_OK;
  if (RedisModule_StringToLongLong(argv[2], &from) != REDISMODULE_OK || from < 0)
    return RedisModule_ReplyWithError(ctx,
                                      "ERR the iterator must be 0 or what AF.SCANDUMP replied");
  struct bytes chunk = {0};
  besom_status status = dump_chunk(af, (uint64_t)from, &chunk, &next);
  if (status != BESOM_OK) {
    reply_status(ctx, status);
  } else {
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, (long long)next);
    RedisModule_ReplyWithStringBuffer(ctx, chunk.data, chunk.len);
  }
  bytes_free(&chunk);
  return REDISMODULE_OK;
}

/* The value that a chunk belongs to: the one that is coming in, or with the first chunk a new one. */
static struct af *value_of_chunk(RedisModuleCtx *ctx, RedisModuleString *key,
                                 const struct chunk *chunk) {
  struct af *af;
  enum find found = find_value_to_change(ctx, key, &af);
  if (found == OTHER_TYPE) {
    reply_find(ctx, found);
  } else if (found == FOUND) {
    RedisModule_ReplyWithError(ctx, "ERR the key exists already");
  } else if (found == MISSING && chunk->from == 0) {
    af = af_new();
    af->incoming_len = chunk->total;
    store_value(ctx, key, af);
    return af;
  } else if (found == INCOMPLETE && chunk->total == af->incoming_len &&
             chunk->from == af->incoming.len) {
    return af;
  } else {
    RedisModule_ReplyWithError(ctx,
                               "ERR not the next chunk of this filter: begin anew with the first");
  }
  return NULL;
}

static void delete_key(RedisModuleCtx *ctx, RedisModuleString *name) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_DeleteKey(key);
  RedisModule_CloseKey(key);
}

int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct chunk chunk;
  long long next;
  size_t len;
  const char *data = RedisModule_StringPtrLen(argv[3], &len);
  besom_status status = chunk_read(data, len, &chunk);
  if (status != BESOM_OK) return reply_status(ctx, status);
  if (RedisModule_StringToLongLong(argv[2], &next) != REDISMODULE_OK ||
      (uint64_t)next != chunk.from + chunk.len)
    return RedisModule_ReplyWithError(
        ctx, "ERR the iterator is not the one that AF.SCANDUMP replied with this chunk");
  struct af *af = value_of_chunk(ctx, argv[1], &chunk);
  if (!af) return REDISMODULE_OK;
  limit_memory(decides(ctx));
  status = bytes_write(&af->incoming, chunk.data, chunk.len);
  if (status == BESOM_OK && af->incoming.len == chunk.total) status = dump_finish(af);
  limit_memory(false);
  if (status != BESOM_OK) {
    delete_key(ctx, argv[1]); /* what has come in is no filter and will not become one */
    RedisModule_Replicate(ctx, "DEL", "s", argv[1]);
    return reply_status(ctx, status);
  }
  RedisModule_ReplicateVerbatim(ctx);
  notify(ctx, "af.loadchunk", argv[1]);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
