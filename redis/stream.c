#include "stream.h"

#include <string.h>

#include "little_endian.h"

/* ------------------------------------------------------------------ writing */

void stream_write_prefix(char *to, uint64_t max_capacity, enum frozen_family family,
                         uint64_t raw_len) {
  put_le(to, EXTENDED_STREAM, 8);
  put_le(to + 8, max_capacity, 8);
  put_le(to + 16, (uint64_t)family, 8);
  put_le(to + 24, raw_len, 8);
}

static besom_status write_frozen(const struct af *af, const besom_sink *sink) {
  const struct frozen *f = af->frozen;
  char prefix[EXTENDED_PREFIX];
  char *header = RedisModule_Alloc(FROZEN_MAX_HEADER(f->layers));
  size_t len = frozen_write_header(f, header);
  stream_write_prefix(prefix, af->max_capacity, f->family, len + frozen_data_bytes(f));
  besom_status status = sink->write(sink->ctx, prefix, sizeof prefix);
  if (status == BESOM_OK) status = sink->write(sink->ctx, header, len);
  RedisModule_Free(header);
  for (uint32_t i = 0; status == BESOM_OK && i < f->layers; i++)
    status = sink->write(sink->ctx, f->layer[i].data, f->layer[i].bytes);
  return status;
}

static besom_status write_exceptions(const struct frozen *f, const besom_sink *sink) {
  char head[8 + FROZEN_EXCEPTIONS_HEAD];
  size_t len = (size_t)besom__exceptions_saved_bytes(&f->exceptions);
  put_le(head, FROZEN_EXCEPTIONS_HEAD + len, 8);
  frozen_write_exceptions_head(f, head + 8);
  besom_status status = sink->write(sink->ctx, head, sizeof head);
  if (status != BESOM_OK || !len) return status;
  return sink->write(sink->ctx, f->exceptions.tags, len);
}

besom_status stream_write(const struct af *af, const besom_sink *sink) {
  if (af_is_marked(af)) return sink->write(sink->ctx, "", 1);
  if (!af_has_value(af)) return sink->write(sink->ctx, af->incoming.data, af->incoming.len);
  besom_status status;
  if (af->frozen) {
    status = write_frozen(af, sink);
    if (status == BESOM_OK) status = write_exceptions(af->frozen, sink);
  } else {
    char prefix[STREAM_PREFIX];
    put_le(prefix, af->max_capacity, 8);
    status = sink->write(sink->ctx, prefix, sizeof prefix);
  }
  if (status != BESOM_OK || !af_has_filter(af)) return status;
  besom_filter *view = af_view(af);
  status = besom_save(view, sink);
  af_end_view(af, view);
  return status;
}

bool stream_is_extended(const struct af *af) {
  if (af_has_value(af)) return af->frozen;
  return af->incoming.len >= STREAM_PREFIX && get_le(af->incoming.data, 8) == EXTENDED_STREAM;
}

/* ------------------------------------------------------------------ reading */

static besom_status load_filter(const char *data, size_t len, besom_filter **filter) {
  besom_status status = besom_load(data, len, &redis_allocator, filter);
  if (status != BESOM_OK) return status;
  status = check_kind(*filter);
  if (status == BESOM_OK) return BESOM_OK;
  besom_free(*filter);
  *filter = NULL;
  return status;
}

/* What follows the raw form: exceptions, which need the filter for its seed, and the filter. */
static besom_status load_rest(struct frozen *f, const char *data, size_t len,
                              besom_filter **filter) {
  if (len == 0) return BESOM_OK;
  uint64_t exceptions = len < 8 ? UINT64_MAX : get_le(data, 8);
  if (exceptions > len - 8) return BESOM_CORRUPT;
  besom_status status = frozen_load_exceptions(f, data + 8, (size_t)exceptions);
  size_t left = len - 8 - (size_t)exceptions;
  if (status == BESOM_OK && left) status = load_filter(data + len - left, left, filter);
  if (status == BESOM_OK && f->exceptions.count && !*filter) status = BESOM_CORRUPT;
  return status;
}

static besom_status load_extended(const char *data, size_t len, struct frozen **f,
                                  besom_filter **filter) {
  if (len < EXTENDED_PREFIX) return BESOM_CORRUPT;
  uint64_t family = get_le(data + 16, 8), raw = get_le(data + 24, 8);
  if (raw > len - EXTENDED_PREFIX || (family != FROZEN_BLOOM && family != FROZEN_CUCKOO))
    return BESOM_CORRUPT;
  besom_status status = frozen_load((enum frozen_family)family, data + EXTENDED_PREFIX, (size_t)raw,
                                    &redis_allocator, f);
  if (status != BESOM_OK) return status;
  const char *rest = data + EXTENDED_PREFIX + raw;
  status = load_rest(*f, rest, (size_t)(data + len - rest), filter);
  if (status == BESOM_OK) return BESOM_OK;
  besom_free(*filter);
  *filter = NULL;
  frozen_free(*f);
  *f = NULL;
  return status;
}

besom_status load_incoming(struct af *af) {
  const char *data = af->incoming.data;
  size_t len = af->incoming.len;
  if (len < STREAM_PREFIX) return BESOM_CORRUPT;
  bool extended = get_le(data, 8) == EXTENDED_STREAM;
  besom_status status = extended
                            ? load_extended(data, len, &af->frozen, &af->filter)
                            : load_filter(data + STREAM_PREFIX, len - STREAM_PREFIX, &af->filter);
  if (status != BESOM_OK) return status;
  af->max_capacity = get_le(data + (extended ? 8 : 0), 8);
  if (extended) af_limit_fixed(af);
  bytes_free(&af->incoming);
  af->incoming_len = 0;
  af_refresh(af);
  af_pack(af);
  return BESOM_OK;
}
