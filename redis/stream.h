/*
 * stream.h - a value as a sequence of bytes, for chunks (chunks.h), RDB files, DUMP and COPY.
 *
 * The stream of a filter is
 *
 *     u64 max_capacity; the filter as besom_save writes it
 *
 * That of a value with layers of RedisBloom (frozen.h) is
 *
 *     u64 EXTENDED_STREAM, u64 max_capacity, u64 family, u64 length of the raw form; the raw form;
 *     u64 length of the exceptions; the exceptions; the filter, or nothing
 *
 * It may also end after the raw form. Numbers are little-endian.
 */
#ifndef BESOM_REDIS_STREAM_H
#define BESOM_REDIS_STREAM_H

#include "value.h"

#define EXTENDED_STREAM UINT64_MAX /* no max_capacity is as large */
#define STREAM_PREFIX 8
#define EXTENDED_PREFIX 32

besom_status stream_write(const struct af *af, const besom_sink *sink);

/* Whether the stream, or its beginning in af->incoming, is an extended one. */
bool stream_is_extended(const struct af *af);

/* Writes the prefix of an extended stream. */
void stream_write_prefix(char *to, uint64_t max_capacity, enum frozen_family family,
                         uint64_t raw_len);

/* Makes the value from the complete stream in af->incoming. On failure the value is unchanged. */
besom_status load_incoming(struct af *af);

#endif
