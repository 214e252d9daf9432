#include "type.h"

#include "chunks.h"
#include "config.h"

/*
 * The version of the encoding in RDB files, in DUMP and in full synchronizations. A change of the
 * encoding, or of what the module understands as AF.LOADCHUNK and as replicated commands, needs a
 * new version, and rdb_load must still read all earlier ones (tests/redis/upgrade.py).
 *
 *     1  max_capacity, reports, fixed, refused, incoming_len; the filter, or the incoming bytes, in
 *        pieces; an empty piece
 */
#define RDB_VERSION 1

RedisModuleType *af_type;

/* ------------------------------------------------------------------ RDB */

/* Writes a filter as several strings, so that no string in the file is as long as the filter. */
struct piece_writer {
  RedisModuleIO *io;
  struct bytes piece;
};

static void save_pieces(RedisModuleIO *io, const char *data, size_t len) {
  size_t max = config_chunk_bytes();
  for (size_t n; len; data += n, len -= n) {
    n = len < max ? len : max;
    RedisModule_SaveStringBuffer(io, data, n);
  }
}

static void flush_piece(struct piece_writer *writer) {
  save_pieces(writer->io, writer->piece.data, writer->piece.len);
  writer->piece.len = 0;
}

/* Collects small writes into one piece; writes large ones directly. */
static besom_status save_part(void *ctx, const void *data, size_t len) {
  struct piece_writer *writer = ctx;
  if (len < config_chunk_bytes() && bytes_append(&writer->piece, data, len)) {
    if (writer->piece.len >= config_chunk_bytes()) flush_piece(writer);
    return BESOM_OK;
  }
  flush_piece(writer);
  save_pieces(writer->io, data, len);
  return BESOM_OK;
}

/* An empty string marks the end of the filter. */
static void save_filter(RedisModuleIO *io, const besom_filter *filter) {
  struct piece_writer writer = {.io = io};
  besom_save(filter, &(besom_sink){save_part, &writer});
  flush_piece(&writer);
  bytes_free(&writer.piece);
  RedisModule_SaveStringBuffer(io, "", 0);
}

static void rdb_save(RedisModuleIO *io, void *value) {
  const struct af *af = value;
  RedisModule_SaveUnsigned(io, af->max_capacity);
  RedisModule_SaveUnsigned(io, af->reports);
  RedisModule_SaveUnsigned(io, af->fixed);
  RedisModule_SaveUnsigned(io, af->refused);
  RedisModule_SaveUnsigned(io, af->filter ? 0 : af->incoming_len);
  if (af->filter) {
    save_filter(io, af->filter);
  } else {
    save_pieces(io, af->incoming.data, af->incoming.len);
    RedisModule_SaveStringBuffer(io, "", 0);
  }
}

static bool load_bytes(RedisModuleIO *io, struct bytes *b) {
  for (;;) {
    size_t len;
    char *piece = RedisModule_LoadStringBuffer(io, &len);
    if (!piece) return false;
    bool ok = len == 0 || bytes_append(b, piece, len);
    RedisModule_Free(piece);
    if (!ok || len == 0) return ok;
  }
}

/* Makes the filter, unless the value was saved before AF.LOADCHUNK had received all chunks. */
static bool finish_load(RedisModuleIO *io, struct af *af) {
  if (af->incoming_len) return af->incoming.len < af->incoming_len;
  besom_status status =
      besom_load(af->incoming.data, af->incoming.len, &redis_allocator, &af->filter);
  bytes_free(&af->incoming);
  if (status == BESOM_OK) status = check_kind(af->filter);
  if (status != BESOM_OK) {
    RedisModule_LogIOError(io, "warning", "besom: the filter cannot be loaded: %s",
                           besom_strerror(status));
    return false;
  }
  af_refresh(af);
  return true;
}

static void *rdb_load(RedisModuleIO *io, int version) {
  if (version > RDB_VERSION) {
    RedisModule_LogIOError(io, "warning",
                           "besom: the filter was saved by a later version of the module (format "
                           "%d): upgrade the module",
                           version);
    return NULL;
  }
  struct af *af = af_new();
  af->max_capacity = RedisModule_LoadUnsigned(io);
  af->reports = RedisModule_LoadUnsigned(io);
  af->fixed = RedisModule_LoadUnsigned(io);
  af->refused = RedisModule_LoadUnsigned(io);
  af->incoming_len = RedisModule_LoadUnsigned(io);
  bool ok =
      !RedisModule_IsIOError(io) && load_bytes(io, &af->incoming) && !RedisModule_IsIOError(io);
  if (ok && finish_load(io, af)) return af;
  af_free(af);
  return NULL;
}

/* ------------------------------------------------------------------ AOF */

static bool emit_chunk(void *ctx, RedisModuleString *key, uint64_t next,
                       const struct bytes *chunk) {
  RedisModule_EmitAOF(ctx, "AF.LOADCHUNK", "slb", key, (long long)next, chunk->data, chunk->len);
  return true;
}

static void aof_rewrite(RedisModuleIO *io, RedisModuleString *key, void *value) {
  each_chunk(value, key, emit_chunk, io);
}

/* ------------------------------------------------------------------ memory, digest, copy */

static size_t mem_usage(const void *value) {
  return af_bytes(value);
}

static besom_status digest_part(void *digest, const void *data, size_t len) {
  RedisModule_DigestAddStringBuffer(digest, data, len);
  return BESOM_OK;
}

/* Without the report counters: reports that change nothing are not replicated. */
static void digest(RedisModuleDigest *digest, void *value) {
  const struct af *af = value;
  RedisModule_DigestAddLongLong(digest, (long long)af->max_capacity);
  if (af->filter)
    besom_save(af->filter, &(besom_sink){digest_part, digest});
  else
    RedisModule_DigestAddStringBuffer(digest, af->incoming.data, af->incoming.len);
  RedisModule_DigestEndSequence(digest);
}

static void release(void *value) {
  af_free(value);
}

/* Redis frees values with an effort above 64, here 4 MB, in a background thread. */
static size_t free_effort(RedisModuleString *key, const void *value) {
  (void)key;
  return 1 + af_bytes(value) / 65536;
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *value) {
  (void)from;
  (void)to;
  const struct af *af = value;
  besom_filter *filter;
  if (!af->filter || filter_copy(af->filter, &filter) != BESOM_OK) return NULL;
  struct af *fresh = af_wrap(filter, af->max_capacity);
  fresh->reports = af->reports;
  fresh->fixed = af->fixed;
  fresh->refused = af->refused;
  return fresh;
}

/*
 * Moves only the struct and the incoming bytes. The table of a filter is large, so the allocator
 * gives it pages of its own, which need no defragmentation.
 */
int type_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
  (void)key;
  struct af *moved = RedisModule_DefragAlloc(ctx, *value);
  if (!moved) return 0;
  *value = moved;
  char *incoming = moved->incoming.data ? RedisModule_DefragAlloc(ctx, moved->incoming.data) : NULL;
  if (incoming) moved->incoming.data = incoming;
  return 0;
}

int type_register(RedisModuleCtx *ctx) {
  RedisModuleTypeMethods methods = {.version = REDISMODULE_TYPE_METHOD_VERSION,
                                    .rdb_load = rdb_load,
                                    .rdb_save = rdb_save,
                                    .aof_rewrite = aof_rewrite,
                                    .mem_usage = mem_usage,
                                    .digest = digest,
                                    .free = release,
                                    .free_effort = free_effort,
                                    .copy = copy,
                                    .defrag = type_defrag};
  af_type = RedisModule_CreateDataType(ctx, "besom--af", RDB_VERSION, &methods);
  return af_type ? REDISMODULE_OK : REDISMODULE_ERR;
}
