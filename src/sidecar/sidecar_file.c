/*
 * The checkpoint of a sidecar: a saved filter, and then this trailer:
 *
 *     "besomsdc", u32 version, u32 flags (1: in use, 2: keep_removed), id of the log (16),
 *     u64 session, u64 position, u64 stamp, u64 kept, u64 bytes of the filter,
 *     u64 checksum of the trailer so far
 *
 * Without a log, a file whose filter is not valid any more, because keys may have been committed
 * since, has only the trailer, and the flag "in use".
 */
#define _GNU_SOURCE /* pthread_rwlock */
#include <string.h>
#include <sys/mman.h>

#include "core/durable_file.h"
#include "sidecar/sidecar.h"

enum {
  VERSION = 1,
  IN_USE = 1,
  KEEPS_REMOVED = 2,
  TRAILER_BYTES = 8 + 4 + 4 + SIDECAR_ID_BYTES + 6 * 8,
};

static const char magic[8] = "besomsdc";

/* ------------------------------------------------------------------ saving */

struct saving {
  const besom_sidecar *s;
  const besom_filter *filter; /* NULL: in use */
  uint64_t kept, stamp;
  const besom_sink *sink;
  uint64_t bytes;
};

static besom_status write_counted(void *ctx, const void *data, size_t len) {
  struct saving *out = ctx;
  out->bytes += len;
  return out->sink->write(out->sink->ctx, data, len);
}

static void write_trailer(const struct saving *out, uint8_t trailer[TRAILER_BYTES]) {
  const besom_sidecar *s = out->s;
  struct byte_writer w = {trailer, trailer + TRAILER_BYTES, false};
  besom__write_bytes(&w, magic, sizeof magic);
  besom__write_u32(&w, VERSION);
  besom__write_u32(&w, (out->filter ? 0 : IN_USE) | (s->keep_removed ? KEEPS_REMOVED : 0));
  besom__write_bytes(&w, s->id, sizeof s->id);
  besom__write_u64(&w, s->position_session);
  besom__write_u64(&w, s->position);
  besom__write_u64(&w, out->stamp);
  besom__write_u64(&w, out->kept);
  besom__write_u64(&w, out->bytes);
  besom__write_u64(&w, besom__checksum(trailer, TRAILER_BYTES - 8));
}

static besom_status fill(void *ctx, const besom_sink *sink) {
  struct saving *out = ctx;
  uint8_t trailer[TRAILER_BYTES];
  out->sink = sink;
  besom_status status =
      out->filter ? besom_save(out->filter, &(besom_sink){write_counted, out}) : BESOM_OK;
  if (status != BESOM_OK) return status;
  write_trailer(out, trailer);
  return sink->write(sink->ctx, trailer, sizeof trailer);
}

/*
 * Reports are the only changes that other threads make. They look at `saving` after they got the
 * lock, so that taking it once waits for those that came before.
 */
static void keep_reports_out(besom_sidecar *s) {
  atomic_store(&s->saving, true);
  sidecar_lock(s);
  sidecar_unlock(s);
}

static void let_reports_in(besom_sidecar *s, bool saved) {
  sidecar_lock(s);
  s->stats.checkpoints += saved;
  s->stats.failed_checkpoints += !saved;
  if (saved) {
    s->stats.logged = 0;
    s->checkpoint = s->position;
    s->in_use = s->changed = false;
  }
  sidecar_unlock(s);
  atomic_store(&s->saving, false);
}

/* The log must not lose, in a power cut, a position that the checkpoint names. */
besom_status besom__sidecar_save(besom_sidecar *s, const besom_filter *f, uint64_t kept,
                                 uint64_t stamp) {
  struct saving out = {.s = s, .filter = f, .kept = kept, .stamp = stamp};
  keep_reports_out(s);
  besom_status status = s->has_log && s->log.sync ? s->log.sync(s->log.ctx) : BESOM_OK;
  if (status == BESOM_OK) status = besom__file_replace(s->path, fill, &out);
  let_reports_in(s, status == BESOM_OK);
  return status;
}

/* A full disk has no room for the mark, but a file can be removed. */
besom_status besom__sidecar_mark_in_use(besom_sidecar *s) {
  if (s->has_log || s->in_use) return BESOM_OK;
  struct saving out = {.s = s};
  besom_status status = besom__file_replace(s->path, fill, &out);
  if (status == BESOM_DISK_FULL) status = besom__file_unlink(s->path);
  s->in_use = status == BESOM_OK;
  return status;
}

/* ------------------------------------------------------------------ loading */

struct trailer {
  uint8_t id[SIDECAR_ID_BYTES];
  uint64_t session, position, stamp, kept, bytes;
  bool in_use, keeps_removed;
};

static bool read_trailer(const uint8_t *data, size_t len, struct trailer *t) {
  if (len < TRAILER_BYTES) return false;
  const uint8_t *at = data + len - TRAILER_BYTES;
  struct byte_reader r = {at + sizeof magic, at + TRAILER_BYTES, false};
  uint32_t version = besom__read_u32(&r);
  uint32_t flags = besom__read_u32(&r);
  t->in_use = flags & IN_USE;
  t->keeps_removed = flags & KEEPS_REMOVED;
  besom__read_bytes(&r, t->id, sizeof t->id);
  t->session = besom__read_u64(&r);
  t->position = besom__read_u64(&r);
  t->stamp = besom__read_u64(&r);
  t->kept = besom__read_u64(&r);
  t->bytes = besom__read_u64(&r);
  return memcmp(at, magic, sizeof magic) == 0 && version == VERSION &&
         besom__read_u64(&r) == besom__checksum(at, TRAILER_BYTES - 8) &&
         t->bytes == len - TRAILER_BYTES && (t->bytes == 0) == t->in_use;
}

static bool has_kind(const besom_filter *f, const char *kind) {
  besom_statistics stats;
  return besom_stats(f, &stats) == BESOM_OK && strcmp(stats.kind, kind) == 0;
}

static besom_status load_from(besom_sidecar *s, const uint8_t *data, size_t len, besom_filter **out,
                              besom_sidecar_origin *origin) {
  struct trailer t;
  *origin = BESOM_SIDECAR_DAMAGED;
  if (!read_trailer(data, len, &t)) return BESOM_OK;
  *origin = t.in_use ? BESOM_SIDECAR_UNCLEAN : BESOM_SIDECAR_OTHER;
  if (t.in_use || memcmp(t.id, s->id, sizeof t.id) != 0 || t.keeps_removed != s->keep_removed)
    return BESOM_OK;
  *origin = BESOM_SIDECAR_DAMAGED;
  besom_status status = besom_load(data, (size_t)t.bytes, &s->allocator, out);
  if (status != BESOM_OK) return status == BESOM_NO_MEMORY ? status : BESOM_OK;
  *origin = has_kind(*out, s->kind) ? BESOM_SIDECAR_LOADED : BESOM_SIDECAR_OTHER;
  if (*origin != BESOM_SIDECAR_LOADED) {
    besom_free(*out);
    *out = NULL;
    return BESOM_OK;
  }
  s->position = s->checkpoint = t.position;
  s->position_session = t.session;
  s->stamp = t.stamp;
  s->stats.kept = t.kept;
  return BESOM_OK;
}

besom_status besom__sidecar_load(besom_sidecar *s, besom_filter **out,
                                 besom_sidecar_origin *origin) {
  void *data;
  size_t len;
  *out = NULL;
  besom_status status = besom__file_map(s->path, &data, &len);
  *origin = status == BESOM_CORRUPT ? BESOM_SIDECAR_DAMAGED : BESOM_SIDECAR_NEW;
  if (status != BESOM_OK) return BESOM_OK;
  status = load_from(s, data, len, out, origin);
  munmap(data, len);
  return status;
}
