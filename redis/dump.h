/*
 * dump.h - a value as a row of chunks, for AF.SCANDUMP, AF.LOADCHUNK and the AOF.
 *
 * All bytes of a value are its stream: max_capacity (8 bytes, the lowest first), then the filter as besom_save writes
 * it. A chunk: "BAF1", the length of the stream, the place of the chunk in it (8 bytes each), bytes of the stream, and
 * a checksum of all that is before (FNV-1a, 8 bytes). The filter has checksums of its own, so that chunks of different
 * moments do not become one filter.
 */
#ifndef BESOM_REDIS_DUMP_H
#define BESOM_REDIS_DUMP_H

#include "value.h"

/* The chunk that begins at `from`; *next is where the following one does, 0 if `from` is the end. */
besom_status dump_chunk(const struct af *af, uint64_t from, struct bytes *chunk, uint64_t *next);

/* Calls give with each chunk and the place behind it; it says whether to go on. */
typedef bool (*chunk_taker)(void *ctx, RedisModuleString *key, uint64_t next,
                            const struct bytes *chunk);
besom_status dump_each_chunk(const struct af *af, RedisModuleString *key, chunk_taker give,
                             void *ctx);

struct chunk {
  uint64_t total, from;
  const char *data;
  size_t len;
};

/* CORRUPT if it is none, or damaged. */
besom_status chunk_read(const char *data, size_t len, struct chunk *chunk);

/* Makes the filter of a stream that has come in; on failure the value is as it was. */
besom_status dump_finish(struct af *af);

#endif
