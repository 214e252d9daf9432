#include "redis_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"

/* ------------------------------------------------------------------ commands */

enum { MOST_WORDS = 4 };

/* Runs "command key [word ...]". An error of the server ends the program. */
static reply run_command(cluster *c, const char *command, const char *key, const besom_bytes *more,
                         size_t n) {
  besom_bytes words[MOST_WORDS] = {{command, strlen(command)}, {key, strlen(key)}};
  for (size_t i = 0; i < n; i++) words[2 + i] = more[i];
  request r = {.words = words, .n = 2 + n};
  cluster_run(c, &r, 1);
  if (reply_is_error(&r.reply, "ERR unknown command"))
    fail("the server does not know %s: load the module besom-redis.so, for BF.* and CF.* with "
         "compat yes",
         command);
  if (r.reply.type == REPLY_ERROR) fail("%s: %s", key, r.reply.text);
  return r.reply;
}

/* A chunk of a SCANDUMP command, and the iterator after it. */
typedef struct dump_chunk {
  long long iterator;
  char *data;
  size_t len;
} dump_chunk;

/* Reads the chunk at the iterator. Its iterator is 0 at the end of the dump. */
static dump_chunk read_chunk(cluster *c, const char *command, const char *key, long long iterator) {
  char number[24];
  besom_bytes word = {number, (size_t)snprintf(number, sizeof number, "%lld", iterator)};
  reply r = run_command(c, command, key, &word, 1);
  if (r.type != REPLY_ARRAY || r.n != 2 || r.elements[0].type != REPLY_NUMBER)
    fail("%s: not a reply of %s", key, command);
  dump_chunk chunk = {.iterator = r.elements[0].number};
  if (r.elements[1].type == REPLY_STRING) {
    chunk.len = r.elements[1].n;
    chunk.data = allocate(chunk.len + 1, 1);
    memcpy(chunk.data, r.elements[1].text, chunk.len);
  }
  reply_clear(&r);
  return chunk;
}

static void send_chunk(cluster *c, const char *command, const char *key, const dump_chunk *chunk) {
  char number[24];
  besom_bytes words[] = {{number, (size_t)snprintf(number, sizeof number, "%lld", chunk->iterator)},
                         {chunk->data, chunk->len}};
  reply r = run_command(c, command, key, words, 2);
  reply_clear(&r);
}

/* ------------------------------------------------------------------ chunks of AF.SCANDUMP */

/* redis/chunks.h has the format: magic, length and offset of the stream, bytes, checksum. */
enum { MAGIC_LEN = 4, HEAD = 20, CHECK = 8, PREFIX = 8, CHUNK_BYTES = 1 << 20 };
#define MAGIC "BAF1"

static void put_u64(char *to, uint64_t number) {
  for (int i = 0; i < 8; i++) to[i] = (char)(number >> 8 * i);
}

static uint64_t fnv1a(const char *data, size_t len) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) sum = (sum ^ (unsigned char)data[i]) * 0x100000001b3u;
  return sum;
}

/* Appends what is in the chunk to the stream. */
static void append_chunk(file_bytes *stream, const dump_chunk *chunk, const char *key) {
  if (chunk->len <= HEAD + CHECK || memcmp(chunk->data, MAGIC, MAGIC_LEN - 1) != 0)
    fail("%s: not a chunk of AF.SCANDUMP", key);
  if (chunk->data[MAGIC_LEN - 1] != MAGIC[MAGIC_LEN - 1])
    fail("%s: the filter has layers of RedisBloom, or is of a later version: it cannot be saved as "
         "a file",
         key);
  size_t len = chunk->len - HEAD - CHECK;
  stream->data = reallocate(stream->data, stream->len + len, 1);
  memcpy(stream->data + stream->len, chunk->data + HEAD, len);
  stream->len += len;
}

static file_bytes read_stream(cluster *c, const char *key) {
  file_bytes stream = {0};
  for (long long iterator = 0;;) {
    dump_chunk chunk = read_chunk(c, "AF.SCANDUMP", key, iterator);
    iterator = chunk.iterator;
    if (iterator) append_chunk(&stream, &chunk, key);
    free(chunk.data);
    if (!iterator) return stream;
  }
}

/* Ends the program if the bytes are no filter. */
static void check_filter(const uint8_t *data, size_t len, const char *name, const char *remedy) {
  besom_filter *f;
  besom_status status = besom_load(data, len, NULL, &f);
  if (status != BESOM_OK) fail("%s: %s%s", name, besom_strerror(status), remedy);
  besom_free(f);
}

size_t redis_save_file(cluster *c, const char *key, const char *path) {
  file_bytes stream = read_stream(c, key);
  if (stream.len < PREFIX) fail("%s: not a filter", key);
  file_bytes saved = {stream.data + PREFIX, stream.len - PREFIX};
  check_filter(saved.data, saved.len, key,
               ": the filter has changed meanwhile, run the command again");
  file_write(path, &saved);
  free(stream.data);
  return saved.len;
}

/* The bytes `from` to `to` of the stream: max_capacity, which is 0, and the file. */
static dump_chunk make_chunk(const file_bytes *file, size_t from, size_t to) {
  dump_chunk chunk = {.iterator = (long long)to, .len = HEAD + (to - from) + CHECK};
  chunk.data = allocate(chunk.len, 1);
  memcpy(chunk.data, MAGIC, MAGIC_LEN);
  put_u64(chunk.data + MAGIC_LEN, PREFIX + file->len);
  put_u64(chunk.data + MAGIC_LEN + 8, from);
  for (size_t i = from; i < to; i++)
    chunk.data[HEAD + i - from] = i < PREFIX ? 0 : (char)file->data[i - PREFIX];
  put_u64(chunk.data + chunk.len - CHECK, fnv1a(chunk.data, chunk.len - CHECK));
  return chunk;
}

size_t redis_load_file(cluster *c, const char *path, const char *key) {
  file_bytes file = file_read(path);
  check_filter(file.data, file.len, path, "");
  size_t total = PREFIX + file.len;
  for (size_t from = 0, to; from < total; from = to) {
    to = total - from < CHUNK_BYTES ? total : from + CHUNK_BYTES;
    dump_chunk chunk = make_chunk(&file, from, to);
    send_chunk(c, "AF.LOADCHUNK", key, &chunk);
    free(chunk.data);
  }
  free(file.data);
  return file.len;
}

/* ------------------------------------------------------------------ filters of RedisBloom */

enum { MOST_TRIES = 5 };

typedef struct dump {
  dump_chunk *chunks; /* the first one is the header, with the number of items */
  size_t n;
} dump;

static void free_dump(dump *d) {
  for (size_t i = 0; i < d->n; i++) free(d->chunks[i].data);
  free(d->chunks);
}

static dump read_dump(cluster *c, const char *command, const char *key) {
  dump d = {0};
  for (long long iterator = 0;;) {
    dump_chunk chunk = read_chunk(c, command, key, iterator);
    iterator = chunk.iterator;
    if (!iterator) {
      free(chunk.data);
      return d;
    }
    d.chunks = reallocate(d.chunks, d.n + 1, sizeof *d.chunks);
    d.chunks[d.n++] = chunk;
  }
}

/* Whether the filter has not changed: its header counts additions and removals. */
static bool is_unchanged(cluster *c, const char *command, const char *key, const dump *d) {
  dump_chunk now = read_chunk(c, command, key, 0);
  bool same = d->n ? now.len == d->chunks[0].len && now.data &&
                         !memcmp(now.data, d->chunks[0].data, now.len)
                   : now.iterator == 0;
  free(now.data);
  return same;
}

/* BF or CF, by the type of the key. */
static const char *family_of(cluster *c, const char *key) {
  reply r = run_command(c, "TYPE", key, NULL, 0);
  const char *family = NULL;
  if (r.type == REPLY_STRING && strcmp(r.text, "MBbloom--") == 0) family = "BF";
  if (r.type == REPLY_STRING && strcmp(r.text, "MBbloomCF") == 0) family = "CF";
  if (!family)
    fail("%s: not a filter of RedisBloom, but of type %s", key,
         r.type == REPLY_STRING ? r.text : "none");
  reply_clear(&r);
  return family;
}

size_t redis_import_filter(cluster *from, cluster *to, const char *key) {
  char scandump[16], loadchunk[16];
  const char *family = family_of(from, key);
  snprintf(scandump, sizeof scandump, "%s.SCANDUMP", family);
  snprintf(loadchunk, sizeof loadchunk, "%s.LOADCHUNK", family);
  dump d = read_dump(from, scandump, key);
  for (int tries = 1; !is_unchanged(from, scandump, key, &d); tries++) {
    if (tries == MOST_TRIES)
      fail("%s: the filter changes while it is read: stop the clients that change it", key);
    free_dump(&d);
    d = read_dump(from, scandump, key);
  }
  if (!d.n) fail("%s: the filter is empty, and RedisBloom does not dump it", key);
  size_t bytes = 0;
  for (size_t i = 0; i < d.n; i++) {
    send_chunk(to, loadchunk, key, &d.chunks[i]);
    bytes += d.chunks[i].len;
  }
  free_dump(&d);
  return bytes;
}
