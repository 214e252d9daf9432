/* AF.SCANDUMP and AF.LOADCHUNK. */
#include "chunks.h"
#include "command.h"
#include "stream.h"

int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af = require_for_read(ctx, argv[1]);
  long long from;
  uint64_t next;
  if (!af) return REDISMODULE_OK;
  if (RedisModule_StringToLongLong(argv[2], &from) != REDISMODULE_OK || from < 0)
    return RedisModule_ReplyWithError(ctx,
                                      "ERR the iterator must be 0 or one that AF.SCANDUMP replied");
  struct bytes chunk = {0};
  besom_status status = chunk_at(af, (uint64_t)from, &chunk, &next);
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

/* Stores a value without a filter, for the first chunk of a stream. */
static struct af *store_incoming(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t total) {
  struct af *af = af_new();
  if (total == INCOMPLETE_MARK)
    af_mark(af);
  else
    af->incoming_len = total;
  store_value(ctx, key, af);
  return af;
}

/*
 * Returns the value that the chunk belongs to: a new one for the first chunk, else the incomplete
 * one whose next chunk this is. Otherwise *error says what is wrong. The first chunk also replaces
 * a value that is marked incomplete.
 */
static struct af *require_for_chunk(RedisModuleCtx *ctx, RedisModuleString *key,
                                    const struct chunk *chunk, const char **error) {
  struct af *af;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == WRONG_TYPE)
    *error = REDISMODULE_ERRORMSG_WRONGTYPE;
  else if (found == FOUND)
    *error = KEY_EXISTS;
  else if (found != INCOMPLETE && chunk->from == 0)
    return store_incoming(ctx, key, chunk->total);
  else if (found == INCOMPLETE && chunk->total == af->incoming_len &&
           chunk->from == af->incoming.len)
    return af;
  else
    *error =
        "ERR not the next chunk of this filter: delete the key and load all chunks, first to last";
  return NULL;
}

static void delete_key(RedisModuleCtx *ctx, RedisModuleString *name) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_DeleteKey(key);
  RedisModule_CloseKey(key);
}

static const char *parse_chunk(RedisModuleString **argv, struct chunk *chunk) {
  long long next;
  besom_bytes data = bytes_of(argv[3]);
  besom_status status = chunk_parse(data.data, data.len, chunk);
  if (status == BESOM_CORRUPT)
    return "ERR the chunk is damaged, or not one of AF.SCANDUMP: send it again";
  if (status != BESOM_OK) return error_of_status(status);
  if (RedisModule_StringToLongLong(argv[2], &next) != REDISMODULE_OK ||
      (uint64_t)next != chunk->from + chunk->len)
    return "ERR the iterator is not the one that AF.SCANDUMP replied with this chunk";
  return NULL;
}

/* Appends the chunk, and makes the filter if it is the last one. */
static besom_status receive_chunk(struct af *af, const struct chunk *chunk) {
  if (af_is_marked(af)) return BESOM_OK;
  besom_status status = bytes_write(&af->incoming, chunk->data, chunk->len);
  return status == BESOM_OK && af->incoming.len == chunk->total ? load_incoming(af) : status;
}

int reply_stream_error(RedisModuleCtx *ctx, RedisModuleString *key, besom_status status) {
  const char *error = status == BESOM_CORRUPT
                          ? "ERR the chunks are not those of one filter, and the key was deleted: "
                            "load all chunks of one dump again"
                          : error_of_status(status);
  if (is_client_command(ctx)) {
    delete_key(ctx, key);
    RedisModule_Replicate(ctx, "DEL", "s", key);
  }
  mark_if_replayed(ctx, key, error ? error : besom_strerror(status));
  return error ? RedisModule_ReplyWithError(ctx, error) : reply_status(ctx, status);
}

int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct chunk chunk;
  struct af *af = NULL;
  const char *error = parse_chunk(argv, &chunk);
  if (!error) af = require_for_chunk(ctx, argv[1], &chunk, &error);
  if (!af) {
    mark_if_replayed(ctx, argv[1], error);
    return RedisModule_ReplyWithError(ctx, error);
  }
  begin_change(ctx);
  besom_status status = receive_chunk(af, &chunk);
  end_change();
  if (status != BESOM_OK) return reply_stream_error(ctx, argv[1], status);
  replicate_items(ctx, "AF.LOADCHUNK", "af.loadchunk", argv[1], argv + 2, 2);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
