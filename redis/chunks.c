#include "chunks.h"

#include <string.h>

#include "config.h"

#define MAGIC "BAF1"
#define MAGIC_LEN 4
#define HEAD_LEN (MAGIC_LEN + 16)
#define CHECK_LEN 8
#define PREFIX_LEN 8 /* max_capacity, before the filter */

/* AF.SCANDUMP makes a pass over the filter per chunk, so large filters have larger chunks. */
#define MAX_CHUNKS 64
/* A reply of Redis cannot be arbitrarily long. */
#define MAX_CHUNK_BYTES (256ull << 20)

static void put64(char *to, uint64_t number) {
  for (int i = 0; i < 8; i++) to[i] = (char)(number >> 8 * i);
}

static uint64_t get64(const char *from) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number |= (uint64_t)(unsigned char)from[i] << 8 * i;
  return number;
}

static uint64_t checksum(const char *data, size_t len) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) sum = (sum ^ (unsigned char)data[i]) * 0x100000001b3u;
  return sum;
}

/* ------------------------------------------------------------------ writing */

static besom_status write_stream(const struct af *af, const besom_sink *sink) {
  if (!af->filter) return sink->write(sink->ctx, af->incoming.data, af->incoming.len);
  char prefix[PREFIX_LEN];
  put64(prefix, af->max_capacity);
  besom_status status = sink->write(sink->ctx, prefix, sizeof prefix);
  return status == BESOM_OK ? besom_save(af->filter, sink) : status;
}

static besom_status count_bytes(void *total, const void *data, size_t len) {
  (void)data;
  *(uint64_t *)total += len;
  return BESOM_OK;
}

static besom_status stream_len(const struct af *af, uint64_t *total) {
  *total = 0;
  besom_status status = write_stream(af, &(besom_sink){count_bytes, total});
  if (!af->filter) *total = af->incoming_len;
  return status;
}

static uint64_t chunk_len(uint64_t total) {
  uint64_t len = config_chunk_bytes();
  if (len < total / MAX_CHUNKS) len = total / MAX_CHUNKS;
  return len < MAX_CHUNK_BYTES ? len : MAX_CHUNK_BYTES;
}

static bool chunk_begin(struct bytes *chunk, uint64_t total, uint64_t from) {
  char head[HEAD_LEN] = MAGIC;
  put64(head + MAGIC_LEN, total);
  put64(head + MAGIC_LEN + 8, from);
  chunk->len = 0;
  return bytes_append(chunk, head, sizeof head);
}

static bool chunk_end(struct bytes *chunk) {
  char sum[CHECK_LEN];
  put64(sum, checksum(chunk->data, chunk->len));
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
  if (!chunk_begin(chunk, total, from)) return BESOM_NO_MEMORY;
  status = write_stream(af, &(besom_sink){copy_window, &window});
  if (status != BESOM_OK && status != BESOM_CANCELLED) return status;
  *next = window.to;
  return chunk_end(chunk) ? BESOM_OK : BESOM_NO_MEMORY;
}

/* Cuts a stream into chunks in one pass. */
struct splitter {
  uint64_t total, at, max_bytes;
  struct bytes chunk;
  RedisModuleString *key;
  chunk_callback call;
  void *ctx;
};

static besom_status emit(struct splitter *s) {
  if (!chunk_end(&s->chunk)) return BESOM_NO_MEMORY;
  if (!s->call(s->ctx, s->key, s->at, &s->chunk)) return BESOM_CANCELLED;
  return chunk_begin(&s->chunk, s->total, s->at) ? BESOM_OK : BESOM_NO_MEMORY;
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
  struct splitter s = {.key = key, .call = call, .ctx = ctx};
  besom_status status = stream_len(af, &s.total);
  if (status != BESOM_OK) return status;
  s.max_bytes = chunk_len(s.total);
  if (!chunk_begin(&s.chunk, s.total, 0)) return BESOM_NO_MEMORY;
  status = write_stream(af, &(besom_sink){split, &s});
  if (status == BESOM_OK && s.chunk.len > HEAD_LEN) status = emit(&s);
  bytes_free(&s.chunk);
  return status;
}

/* ------------------------------------------------------------------ reading */

besom_status chunk_parse(const char *data, size_t len, struct chunk *chunk) {
  if (len <= HEAD_LEN + CHECK_LEN || memcmp(data, MAGIC, MAGIC_LEN - 1) != 0) return BESOM_CORRUPT;
  if (data[MAGIC_LEN - 1] != MAGIC[MAGIC_LEN - 1]) return BESOM_NEWER_VERSION;
  if (get64(data + len - CHECK_LEN) != checksum(data, len - CHECK_LEN)) return BESOM_CORRUPT;
  *chunk = (struct chunk){.total = get64(data + MAGIC_LEN),
                          .from = get64(data + MAGIC_LEN + 8),
                          .data = data + HEAD_LEN,
                          .len = len - HEAD_LEN - CHECK_LEN};
  bool fits = chunk->from <= chunk->total && chunk->len <= chunk->total - chunk->from;
  return fits ? BESOM_OK : BESOM_CORRUPT;
}

besom_status load_incoming(struct af *af) {
  const struct bytes *in = &af->incoming;
  if (in->len < PREFIX_LEN) return BESOM_CORRUPT;
  besom_status status =
      besom_load(in->data + PREFIX_LEN, in->len - PREFIX_LEN, &redis_allocator, &af->filter);
  if (status == BESOM_OK) status = check_kind(af->filter);
  if (status != BESOM_OK) return status;
  af->max_capacity = get64(in->data);
  bytes_free(&af->incoming);
  af->incoming_len = 0;
  af_refresh(af);
  return BESOM_OK;
}
