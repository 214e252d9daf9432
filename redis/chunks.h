/*
 * chunks.h - a value as a sequence of chunks, for AF.SCANDUMP, AF.LOADCHUNK and the AOF.
 *
 * A chunk holds a part of the stream of a value (stream.h):
 *
 *     offset    size
 *     0         4     "BAF1"; "BAF2" if the stream is an extended one
 *     4         8     length of the stream
 *     12        8     offset of this chunk in the stream
 *     20        n     bytes of the stream
 *     20 + n    8     checksum of all bytes before it (FNV-1a)
 *
 * Numbers are little-endian. The saved filter has checksums of its own, so chunks that were taken
 * at different times do not load as one filter.
 */
#ifndef BESOM_REDIS_CHUNKS_H
#define BESOM_REDIS_CHUNKS_H

#include "value.h"

/*
 * Appends the chunk at offset `from` to an empty buffer. *next is the offset of the following
 * chunk, or 0 if `from` is the end of the stream. Cost: one pass over the filter.
 */
besom_status chunk_at(const struct af *af, uint64_t from, struct bytes *chunk, uint64_t *next);

/* Appends a chunk of an extended stream to an empty buffer. Errors: NO_MEMORY. */
besom_status chunk_make(uint64_t total, uint64_t from, const void *data, size_t len,
                        struct bytes *chunk);

/* Gets a chunk and the offset after it. Returns false to stop. */
typedef bool (*chunk_callback)(void *ctx, RedisModuleString *key, uint64_t next,
                               const struct bytes *chunk);
/* Calls the function with each chunk in order. Cost: one pass over the filter. */
besom_status each_chunk(const struct af *af, RedisModuleString *key, chunk_callback call,
                        void *ctx);

struct chunk {
  uint64_t total, from; /* length of the stream, offset of the chunk in it */
  const char *data;
  size_t len;
};

/*
 * Errors: CORRUPT (damaged, or not a chunk), NEWER_VERSION. A total of INCOMPLETE_MARK says that
 * the value is marked incomplete; the one byte of such a chunk means nothing.
 */
besom_status chunk_parse(const char *data, size_t len, struct chunk *chunk);

#endif
