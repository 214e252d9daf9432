/* The chunks of RedisBloom's SCANDUMP commands. */
#include <string.h>

#include "chunks.h"
#include "command.h"
#include "redisbloom.h"
#include "stream.h"

#define MAX_CHUNK (16u << 20) /* of a reply, as in RedisBloom */
#define FIRST_ITERATOR 1      /* that of the header; then 1 + the offset after the chunk */

/* ------------------------------------------------------------------ loading */

/* The errors of RedisBloom; FIRST: of its header, the chunk of the first iterator. */
enum chunk_error { BAD_ITERATOR, BAD_FIRST, BAD_NEXT };

static const char *chunk_error(enum frozen_family family, enum chunk_error error) {
  static const char *const bloom[] = {"ERR Second argument must be numeric",
                                      "ERR received bad data",
                                      "ERR invalid offset - no link found"};
  static const char *const cuckoo[] = {"Invalid position", "Couldn't create filter!",
                                       "Couldn't load chunk!"};
  return family == FROZEN_BLOOM ? bloom[error] : cuckoo[error];
}

/* A value that waits for the data after this header, or NULL. */
static struct af *incoming_of_header(enum frozen_family family, besom_bytes data) {
  size_t header;
  uint64_t total;
  char prefix[EXTENDED_PREFIX];
  if (frozen_raw_len(family, data.data, data.len, &header, &total) != BESOM_OK ||
      header != data.len)
    return NULL;
  stream_write_prefix(prefix, 0, family, total);
  struct af *af = af_new();
  af->incoming_len = sizeof prefix + total;
  if (bytes_append(&af->incoming, prefix, sizeof prefix) &&
      bytes_append(&af->incoming, data.data, data.len))
    return af;
  af_free(af);
  return NULL;
}

static struct af *begin_raw(RedisModuleCtx *ctx, RedisModuleString *key, enum lookup found,
                            enum frozen_family family, besom_bytes data, const char **error) {
  struct af *af = NULL;
  if (found == FOUND || found == INCOMPLETE)
    *error = "ERR item exists";
  else if (!(af = incoming_of_header(family, data)))
    *error = chunk_error(family, BAD_FIRST);
  else
    store_value(ctx, key, af);
  return af;
}

/* Whether the chunk that ends at the iterator is the next one. */
static bool is_next(const struct af *af, enum frozen_family family, uint64_t iterator, size_t len) {
  size_t header;
  uint64_t total;
  const char *raw = af->incoming.data + EXTENDED_PREFIX;
  size_t received = af->incoming.len - EXTENDED_PREFIX;
  if (frozen_raw_len(family, raw, received, &header, &total) != BESOM_OK) return false;
  return len && iterator == FIRST_ITERATOR + (received - header) + len && len <= total - received;
}

/* Appends the chunk to the incoming bytes, or returns NULL and an error. */
static struct af *continue_raw(struct af *af, enum lookup found, enum frozen_family family,
                               uint64_t iterator, besom_bytes data, const char **error) {
  if (found == MISSING)
    *error = "ERR not found";
  else if (found != INCOMPLETE || !stream_is_extended(af) || af->incoming.len < EXTENDED_PREFIX ||
           !is_next(af, family, iterator, data.len))
    *error = chunk_error(family, BAD_NEXT);
  else if (!bytes_append(&af->incoming, data.data, data.len))
    *error = error_of_status(BESOM_NO_MEMORY);
  else
    return af;
  return NULL;
}

/* Replicates what was appended to the incoming bytes, as AF.LOADCHUNK. */
static bool replicate_chunk(RedisModuleCtx *ctx, RedisModuleString *key, const struct af *af,
                            size_t from) {
  struct bytes chunk = {0};
  size_t len = af->incoming.len - from;
  bool ok = chunk_make(af->incoming_len, from, af->incoming.data + from, len, &chunk) == BESOM_OK;
  if (ok)
    RedisModule_Replicate(ctx, "AF.LOADCHUNK", "slb", key, (long long)af->incoming.len, chunk.data,
                          chunk.len);
  bytes_free(&chunk);
  return ok;
}

int redisbloom_load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv,
                          enum frozen_family family) {
  struct af *af;
  const char *error = NULL;
  long long iterator;
  besom_bytes data = bytes_of(argv[3]);
  enum lookup found = lookup_for_write(ctx, argv[1], &af);
  size_t from = found == INCOMPLETE ? af->incoming.len : 0;
  if (found == WRONG_TYPE) return reply_lookup_error(ctx, found);
  if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK || iterator < 1)
    error = chunk_error(family, BAD_ITERATOR);
  else if (iterator == FIRST_ITERATOR)
    af = begin_raw(ctx, argv[1], found, family, data, &error);
  else
    af = continue_raw(af, found, family, (uint64_t)iterator, data, &error);
  if (iterator == FIRST_ITERATOR) from = 0;
  if (!error && !replicate_chunk(ctx, argv[1], af, from)) error = error_of_status(BESOM_NO_MEMORY);
  if (!error) {
    begin_change(ctx);
    besom_status status = af->incoming.len == af->incoming_len ? load_incoming(af) : BESOM_OK;
    end_change();
    if (status != BESOM_OK) return reply_stream_error(ctx, argv[1], status);
    notify(ctx, "af.loadchunk", argv[1]);
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
  }
  mark_if_replayed(ctx, argv[1], error);
  return RedisModule_ReplyWithError(ctx, error);
}

/* ------------------------------------------------------------------ dumping */

bool redisbloom_can_dump(const struct af *af, enum frozen_family family) {
  return af->frozen && !af->filter && af->frozen->family == family;
}

static int reply_data(RedisModuleCtx *ctx, uint64_t iterator, const char *data, size_t len) {
  RedisModule_ReplyWithArray(ctx, 2);
  RedisModule_ReplyWithLongLong(ctx, (long long)iterator);
  if (iterator) return RedisModule_ReplyWithStringBuffer(ctx, data, len);
  return RedisModule_ReplyWithNull(ctx);
}

int redisbloom_reply_chunk(RedisModuleCtx *ctx, const struct af *af, uint64_t from) {
  const struct frozen *f = af->frozen;
  if (from == 0) {
    char *header = RedisModule_Alloc(FROZEN_MAX_HEADER(f->layers));
    size_t len = frozen_write_header(f, header);
    reply_data(ctx, FIRST_ITERATOR, header, len);
    RedisModule_Free(header);
    return REDISMODULE_OK;
  }
  uint64_t offset = from - FIRST_ITERATOR;
  for (uint32_t i = 0; i < f->layers; offset -= f->layer[i++].bytes) {
    if (offset >= f->layer[i].bytes) continue;
    uint64_t len = f->layer[i].bytes - offset;
    if (len > MAX_CHUNK) len = MAX_CHUNK;
    return reply_data(ctx, from + len, (const char *)f->layer[i].data + offset, (size_t)len);
  }
  return reply_data(ctx, 0, NULL, 0);
}
