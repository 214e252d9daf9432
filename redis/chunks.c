#include "chunks.h"

#include <string.h>

#include "config.h"
#include "little_endian.h"
#include "stream.h"

#define MAGIC "BAF1"
#define EXTENDED_VERSION '2' /* of chunks of extended streams (stream.h) */
#define MAGIC_LEN 4
#define HEAD_LEN (MAGIC_LEN + 16)
#define CHECK_LEN 8

/* AF.SCANDUMP makes a pass over the filter per chunk, so large filters have larger chunks. */
#define MAX_CHUNKS 64
#define MAX_STREAM (UINT64_C(1) << 60) /* bytes */
/* A reply of Redis cannot be arbitrarily long. */
#define MAX_CHUNK_BYTES (256ull << 20)

static uint64_t checksum(const char *data, size_t len) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) sum = (sum ^ (unsigned char)data[i]) * 0x100000001b3u;
  return sum;
}

/* ------------------------------------------------------------------ writing */

static besom_status count_bytes(void *total, const void *data, size_t len) {
  (void)data;
  *(uint64_t *)total += len;
  return BESOM_OK;
}

static besom_status stream_len(const struct af *af, uint64_t *total) {
  *total = 0;
  besom_status status = stream_write(af, &(besom_sink){count_bytes, total});
  if (!af_has_value(af)) *total = af->incoming_len;
  return status;
}

static uint64_t chunk_len(uint64_t total) {
  uint64_t len = config_chunk_bytes();
  if (len < total / MAX_CHUNKS) len = total / MAX_CHUNKS;
  return len < MAX_CHUNK_BYTES ? len : MAX_CHUNK_BYTES;
}

static bool chunk_begin(struct bytes *chunk, bool extended, uint64_t total, uint64_t from) {
  char head[HEAD_LEN] = MAGIC;
  if (extended) head[MAGIC_LEN - 1] = EXTENDED_VERSION;
  put_le(head + MAGIC_LEN, total, 8);
  put_le(head + MAGIC_LEN + 8, from, 8);
  chunk->len = 0;
  return bytes_append(chunk, head, sizeof head);
}

static bool chunk_end(struct bytes *chunk) {
  char sum[CHECK_LEN];
  put_le(sum, checksum(chunk->data, chunk->len), 8);
  return bytes_append(chunk, sum, sizeof sum);
}

/* Copies the bytes `from` to `to` of a stream that is written in pieces. */
struct window {
  uint64_t at, from, to;
  struct bytes *out;
};

static besom_status copy_window(void *ctx, const void *data, size_t len) {
  struct window *w = ctx;
  uint64_t begin = w->at > w->from ? w->at : w->from;
  uint64_t end = w->at + len < w->to ? w->at + len : w->to;
  const char *first = (const char *)data + (begin - w->at);
  if (begin < end && !bytes_append(w->out, first, (size_t)(end - begin))) return BESOM_NO_MEMORY;
  w->at += len;
  return w->at >= w->to ? BESOM_CANCELLED : BESOM_OK;
}

besom_status chunk_at(const struct af *af, uint64_t from, struct bytes *chunk, uint64_t *next) {
  uint64_t total;
  besom_status status = stream_len(af, &total);
  if (status != BESOM_OK) return status;
  *next = 0;
  if (from >= total) return BESOM_OK;
  uint64_t len = chunk_len(total);
  struct window window = {
      .from = from, .to = len < total - from ? from + len : total, .out = chunk};
  if (!chunk_begin(chunk, stream_is_extended(af), total, from)) return BESOM_NO_MEMORY;
  status = stream_write(af, &(besom_sink){copy_window, &window});
  if (status != BESOM_OK && status != BESOM_CANCELLED) return status;
  *next = window.to;
  return chunk_end(chunk) ? BESOM_OK : BESOM_NO_MEMORY;
}

besom_status chunk_make(uint64_t total, uint64_t from, const void *data, size_t len,
                        struct bytes *chunk) {
  bool ok = chunk_begin(chunk, true, total, from) && bytes_append(chunk, data, len);
  return ok && chunk_end(chunk) ? BESOM_OK : BESOM_NO_MEMORY;
}

/* Cuts a stream into chunks in one pass. */
struct splitter {
  uint64_t total, at, max_bytes;
  bool extended;
  struct bytes chunk;
  RedisModuleString *key;
  chunk_callback call;
  void *ctx;
};

static besom_status emit(struct splitter *s) {
  if (!chunk_end(&s->chunk)) return BESOM_NO_MEMORY;
  if (!s->call(s->ctx, s->key, s->at, &s->chunk)) return BESOM_CANCELLED;
  return chunk_begin(&s->chunk, s->extended, s->total, s->at) ? BESOM_OK : BESOM_NO_MEMORY;
}

static besom_status split(void *ctx, const void *data, size_t len) {
  struct splitter *s = ctx;
  for (const char *from = data; len;) {
    size_t left = (size_t)(s->max_bytes - (s->chunk.len - HEAD_LEN)), n = len < left ? len : left;
    if (!bytes_append(&s->chunk, from, n)) return BESOM_NO_MEMORY;
    s->at += n;
    from += n;
    len -= n;
    besom_status status = n == left ? emit(s) : BESOM_OK;
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

besom_status each_chunk(const struct af *af, RedisModuleString *key, chunk_callback call,
                        void *ctx) {
  struct splitter s = {.extended = stream_is_extended(af), .key = key, .call = call, .ctx = ctx};
  besom_status status = stream_len(af, &s.total);
  if (status != BESOM_OK) return status;
  s.max_bytes = chunk_len(s.total);
  if (!chunk_begin(&s.chunk, s.extended, s.total, 0)) return BESOM_NO_MEMORY;
  status = stream_write(af, &(besom_sink){split, &s});
  if (status == BESOM_OK && s.chunk.len > HEAD_LEN) status = emit(&s);
  bytes_free(&s.chunk);
  return status;
}

/* ------------------------------------------------------------------ reading */

besom_status chunk_parse(const char *data, size_t len, struct chunk *chunk) {
  if (len <= HEAD_LEN + CHECK_LEN || memcmp(data, MAGIC, MAGIC_LEN - 1) != 0) return BESOM_CORRUPT;
  char version = data[MAGIC_LEN - 1];
  if (version != MAGIC[MAGIC_LEN - 1] && version != EXTENDED_VERSION) return BESOM_NEWER_VERSION;
  if (get_le(data + len - CHECK_LEN, 8) != checksum(data, len - CHECK_LEN)) return BESOM_CORRUPT;
  *chunk = (struct chunk){.total = get_le(data + MAGIC_LEN, 8),
                          .from = get_le(data + MAGIC_LEN + 8, 8),
                          .data = data + HEAD_LEN,
                          .len = len - HEAD_LEN - CHECK_LEN};
  /* greater lengths are marks in RDB files */
  bool sound = chunk->total <= MAX_STREAM || chunk->total == INCOMPLETE_MARK;
  bool fits = sound && chunk->from <= chunk->total && chunk->len <= chunk->total - chunk->from;
  return fits ? BESOM_OK : BESOM_CORRUPT;
}
