#include "type.h"

#include <string.h>

#include "chunks.h"
#include "config.h"
#include "file/container.h"
#include "stream.h"

/*
 * The version of the encoding in RDB files, in DUMP and in full synchronizations. A change of the
 * encoding, or of what the module understands as AF.LOADCHUNK and as replicated commands, needs a
 * new version, and rdb_load must still read all earlier ones (tests/system/redis/upgrade.py).
 *
 *     1  max_capacity, reports, fixed, refused, incoming_len; the filter, or the incoming bytes, in
 *        pieces; an empty piece. incoming_len INCOMPLETE_MARK: no bytes. FROZEN_MARK: the stream
 *        of a value with frozen layers (stream.h). Modules that do not know the marks read a filter
 *        whose chunks never end: every command is an error, and they save the same bytes again.
 */
#define FROZEN_MARK (UINT64_MAX - 1)
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

/* Without frozen layers the stream has no max_capacity. */
static void write_content(const struct af *af, const besom_sink *sink) {
  if (af->frozen) {
    stream_write(af, sink);
    return;
  }
  besom_filter *view = af_view(af);
  besom_save(view, sink);
  af_end_view(af, view);
}

/* An empty string marks the end. */
static void save_value(RedisModuleIO *io, const struct af *af) {
  struct piece_writer writer = {.io = io};
  const besom_sink sink = {save_part, &writer};
  write_content(af, &sink);
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
  RedisModule_SaveUnsigned(io, af->frozen ? FROZEN_MARK : af->incoming_len);
  if (af_has_value(af)) {
    save_value(io, af);
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

/*
 * While the server loads an RDB file with a checksum, only the checksums of the filter are checked,
 * which is ten times as fast. Then a file of a hostile writer may give wrong answers, but no access
 * outside of memory (besom_open). RESTORE and chunks of AOF files are always checked completely.
 */
static bool loads_file;

static bool has_rdb_checksum(RedisModuleCtx *ctx) {
  RedisModuleCallReply *reply = RedisModule_Call(ctx, "CONFIG", "cc", "GET", "rdbchecksum");
  RedisModuleCallReply *value = reply ? RedisModule_CallReplyArrayElement(reply, 1) : NULL;
  size_t len = 0;
  const char *text = value ? RedisModule_CallReplyStringPtr(value, &len) : NULL;
  bool yes = text && len == 3 && memcmp(text, "yes", 3) == 0;
  if (reply) RedisModule_FreeCallReply(reply);
  return yes;
}

/* An AOF file may have RESTORE commands, so its preamble is checked completely, too. */
static void note_loading(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t what, void *data) {
  (void)event;
  (void)data;
  bool begins = what == REDISMODULE_SUBEVENT_LOADING_RDB_START ||
                what == REDISMODULE_SUBEVENT_LOADING_REPL_START;
  loads_file = begins && has_rdb_checksum(ctx);
}

static besom_status load_plain(struct af *af) {
  besom_status status =
      besom__container_load((const uint8_t *)af->incoming.data, af->incoming.len, &redis_allocator,
                            false, loads_file ? BESOM_OPEN_CHECKSUMS : 0, NULL, &af->filter);
  bytes_free(&af->incoming);
  if (status == BESOM_OK) status = check_kind(af->filter);
  if (status == BESOM_OK) {
    af_refresh(af);
    af_pack(af);
  }
  return status;
}

/* Makes the filter, unless the value was saved before AF.LOADCHUNK had received all chunks. */
static besom_status finish_load(struct af *af, uint64_t incoming_len) {
  if (incoming_len == 0) return load_plain(af);
  if (incoming_len == FROZEN_MARK) return load_incoming(af);
  if (incoming_len == INCOMPLETE_MARK)
    af_mark(af);
  else if (af->incoming.len < incoming_len)
    af->incoming_len = incoming_len;
  else
    return BESOM_CORRUPT;
  return BESOM_OK;
}

void *type_load(RedisModuleIO *io) {
  struct af *af = af_new();
  af->max_capacity = RedisModule_LoadUnsigned(io);
  af->reports = RedisModule_LoadUnsigned(io);
  af->fixed = RedisModule_LoadUnsigned(io);
  af->refused = RedisModule_LoadUnsigned(io);
  uint64_t incoming_len = RedisModule_LoadUnsigned(io);
  bool ok =
      !RedisModule_IsIOError(io) && load_bytes(io, &af->incoming) && !RedisModule_IsIOError(io);
  besom_status status = ok ? finish_load(af, incoming_len) : BESOM_CORRUPT;
  if (status == BESOM_OK) return af;
  RedisModule_LogIOError(io, "warning", "besom: the filter cannot be loaded: %s",
                         besom_strerror(status));
  af_free(af);
  return NULL;
}

static void *rdb_load(RedisModuleIO *io, int version) {
  if (version <= RDB_VERSION) return type_load(io);
  RedisModule_LogIOError(io, "warning",
                         "besom: the filter was saved by a later version of the module (format "
                         "%d): upgrade the module",
                         version);
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

/* What MEMORY USAGE leaves out: the object, the pair of type and value, the bucket of the key. */
#define SERVER_BYTES 40

static size_t mem_usage(const void *value) {
  return SERVER_BYTES + af_bytes(value);
}

static besom_status digest_part(void *digest, const void *data, size_t len) {
  RedisModule_DigestAddStringBuffer(digest, data, len);
  return BESOM_OK;
}

/* Without the report counters: reports that change nothing are not replicated. */
static void digest(RedisModuleDigest *digest, void *value) {
  const struct af *af = value;
  RedisModule_DigestAddLongLong(digest, (long long)af->max_capacity);
  if (af_has_value(af)) {
    const besom_sink sink = {digest_part, digest};
    write_content(af, &sink);
  } else {
    RedisModule_DigestAddLongLong(digest, (long long)af->incoming_len);
    RedisModule_DigestAddStringBuffer(digest, af->incoming.data, af->incoming.len);
  }
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

static struct af *copy_incoming(const struct af *af) {
  if (af_is_marked(af)) return af_new_marked();
  struct af *fresh = af_new();
  fresh->incoming_len = af->incoming_len;
  if (bytes_append(&fresh->incoming, af->incoming.data, af->incoming.len)) return fresh;
  af_free(fresh);
  return NULL;
}

static struct af *copy_frozen(const struct af *af) {
  struct af *fresh = af_new();
  if (stream_write(af, &(besom_sink){bytes_write, &fresh->incoming}) == BESOM_OK &&
      load_incoming(fresh) == BESOM_OK)
    return fresh;
  af_free(fresh);
  return NULL;
}

static struct af *copy_packed(const struct af *af) {
  struct packed *packed = besom__packed_copy(af->packed, &redis_allocator);
  if (!packed) return NULL;
  struct af *fresh = af_new();
  fresh->packed = packed;
  fresh->abilities = af->abilities;
  fresh->max_capacity = af->max_capacity;
  af_add_items(fresh, (int64_t)af->items);
  return fresh;
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *value) {
  (void)from;
  (void)to;
  const struct af *af = value;
  besom_filter *filter;
  if (!af_has_value(af)) return copy_incoming(af);
  struct af *fresh = af->frozen ? copy_frozen(af) : af->packed ? copy_packed(af) : NULL;
  if (!af->frozen && !af->packed && filter_copy(af->filter, &filter) == BESOM_OK)
    fresh = af_wrap(filter, af->max_capacity);
  if (!fresh) return NULL;
  fresh->reports = af->reports;
  fresh->fixed = af->fixed;
  fresh->refused = af->refused;
  return fresh;
}

/* Returns where the block is now. The server moves it if that helps. */
static void *move_block(void *ctx, void *block) {
  void *moved = RedisModule_DefragAlloc(ctx, block);
  return moved ? moved : block;
}

/*
 * A value has few blocks, and the allocator does not move those of pages of their own (16 KB and
 * more). So the time of this call is bounded, and it needs no cursor.
 */
int type_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
  (void)key;
  *value = af_visit_blocks(*value, &(struct block_visitor){move_block, ctx});
  return 0;
}

RedisModuleTypeMethods type_methods(void) {
  return (RedisModuleTypeMethods){.version = REDISMODULE_TYPE_METHOD_VERSION,
                                  .rdb_load = rdb_load,
                                  .rdb_save = rdb_save,
                                  .aof_rewrite = aof_rewrite,
                                  .mem_usage = mem_usage,
                                  .digest = digest,
                                  .free = release,
                                  .free_effort = free_effort,
                                  .copy = copy,
                                  .defrag = type_defrag};
}

int type_register(RedisModuleCtx *ctx) {
  RedisModuleTypeMethods methods = type_methods();
  af_type = RedisModule_CreateDataType(ctx, "besom--af", RDB_VERSION, &methods);
  RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Loading, note_loading);
  return af_type ? REDISMODULE_OK : REDISMODULE_ERR;
}
