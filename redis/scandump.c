/* AF.SCANDUMP and AF.LOADCHUNK. */
#include "chunks.h"
#include "command.h"

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

/*
 * Returns the value that the chunk belongs to: a new one for the first chunk, else the incomplete
 * one whose next chunk this is. Otherwise replies with an error and returns NULL.
 */
static struct af *require_for_chunk(RedisModuleCtx *ctx, RedisModuleString *key,
                                    const struct chunk *chunk) {
  struct af *af;
  enum lookup found = lookup_for_write(ctx, key, &af);
  if (found == WRONG_TYPE) {
    reply_lookup_error(ctx, found);
  } else if (found == FOUND) {
    RedisModule_ReplyWithError(ctx, KEY_EXISTS);
  } else if (found == MISSING && chunk->from == 0) {
    af = af_new();
    af->incoming_len = chunk->total;
    store_value(ctx, key, af);
    return af;
  } else if (found == INCOMPLETE && chunk->total == af->incoming_len &&
             chunk->from == af->incoming.len) {
    return af;
  } else {
    RedisModule_ReplyWithError(
        ctx,
        "ERR not the next chunk of this filter: delete the key and load all chunks, first to last");
  }
  return NULL;
}

static void delete_key(RedisModuleCtx *ctx, RedisModuleString *name) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
  RedisModule_DeleteKey(key);
  RedisModule_CloseKey(key);
}

static int reply_load_error(RedisModuleCtx *ctx, besom_status status, const char *if_corrupt) {
  return status == BESOM_CORRUPT ? RedisModule_ReplyWithError(ctx, if_corrupt)
                                 : reply_status(ctx, status);
}

int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct chunk chunk;
  long long next;
  size_t len;
  const char *data = RedisModule_StringPtrLen(argv[3], &len);
  besom_status status = chunk_parse(data, len, &chunk);
  if (status != BESOM_OK)
    return reply_load_error(ctx, status,
                            "ERR the chunk is damaged, or not one of AF.SCANDUMP: send it again");
  if (RedisModule_StringToLongLong(argv[2], &next) != REDISMODULE_OK ||
      (uint64_t)next != chunk.from + chunk.len)
    return RedisModule_ReplyWithError(
        ctx, "ERR the iterator is not the one that AF.SCANDUMP replied with this chunk");
  struct af *af = require_for_chunk(ctx, argv[1], &chunk);
  if (!af) return REDISMODULE_OK;
  begin_change(ctx);
  status = bytes_write(&af->incoming, chunk.data, chunk.len);
  if (status == BESOM_OK && af->incoming.len == chunk.total) status = load_incoming(af);
  end_change();
  if (status != BESOM_OK) {
    delete_key(ctx, argv[1]); /* no further chunk can complete it */
    RedisModule_Replicate(ctx, "DEL", "s", argv[1]);
    return reply_load_error(ctx, status,
                            "ERR the chunks are not those of one filter, and the key was deleted: "
                            "load all chunks of one dump again");
  }
  replicate_items(ctx, "AF.LOADCHUNK", "af.loadchunk", argv[1], argv + 2, 2);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
