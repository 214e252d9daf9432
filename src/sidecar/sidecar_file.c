/*
 * The checkpoint of a sidecar: a saved filter, and then this trailer:
 *
 *     "besomsdc", u32 version, u32 flags (1: in use, 2: keep_removed, 4: stale),
 *     id of the log (16), u64 session, u64 position, u64 stamp, u64 kept,
 *     id of the database (16; zeros: none), u64 keys (all bits set: not known),
 *     u64 bytes of the filter, u64 checksum of the trailer so far
 *
 * Version 1 has no id of the database and no number of keys.
 *
 * Without a log, a file whose filter is not valid any more, because keys may have been committed
 * since, has only the trailer, and the flag "in use". So has the checkpoint of a filter of a static
 * kind that lacks keys, with a log, too; it has the flag "stale" as well.
 */
#define _GNU_SOURCE /* pthread_rwlock */
#include <string.h>
#include <sys/mman.h>

#include "core/system/durable_file.h"
#include "sidecar/sidecar.h"

enum {
  VERSION = 2,
  IN_USE = 1,
  KEEPS_REMOVED = 2,
  STALE = 4,
  TRAILER_BYTES_V1 = 8 + 4 + 4 + SIDECAR_ID_BYTES + 6 * 8,
  TRAILER_BYTES = TRAILER_BYTES_V1 + SIDECAR_ID_BYTES + 8,
};

static const char magic[8] = "besomsdc";

/* ------------------------------------------------------------------ saving */

struct saving {
  const besom_sidecar *s;
  const besom_filter *filter; /* NULL: in use */
  struct saved_numbers numbers;
  const besom_sink *sink;
  uint64_t bytes;
};

static besom_status sidecar_file_write_counted(void *ctx, const void *data, size_t len) {
  struct saving *out = ctx;
  out->bytes += len;
  return out->sink->write(out->sink->ctx, data, len);
}

static void sidecar_file_write_trailer(const struct saving *out, uint8_t trailer[TRAILER_BYTES]) {
  const besom_sidecar *s = out->s;
  struct byte_writer w = {trailer, trailer + TRAILER_BYTES, false};
  besom__write_bytes(&w, magic, sizeof magic);
  besom__write_u32(&w, VERSION);
  besom__write_u32(&w, (out->filter ? 0 : IN_USE) | (s->keep_removed ? KEEPS_REMOVED : 0) |
                           (!out->filter && s->stale ? STALE : 0));
  besom__write_bytes(&w, s->id, sizeof s->id);
  besom__write_u64(&w, s->position_session);
  besom__write_u64(&w, s->position);
  besom__write_u64(&w, out->numbers.stamp);
  besom__write_u64(&w, out->numbers.kept);
  besom__write_bytes(&w, s->database_id, sizeof s->database_id);
  besom__write_u64(&w, out->numbers.count);
  besom__write_u64(&w, out->bytes);
  besom__write_u64(&w, besom__checksum(trailer, TRAILER_BYTES - 8));
}

static besom_status sidecar_file_fill(void *ctx, const besom_sink *sink) {
  struct saving *out = ctx;
  uint8_t trailer[TRAILER_BYTES];
  out->sink = sink;
  besom_status status =
      out->filter ? besom_save(out->filter, &(besom_sink){sidecar_file_write_counted, out})
                  : BESOM_OK;
  if (status != BESOM_OK) return status;
  sidecar_file_write_trailer(out, trailer);
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

static void let_reports_in(besom_sidecar *s, bool saved, bool in_use) {
  sidecar_lock(s);
  s->stats.checkpoints += saved;
  s->stats.failed_checkpoints += !saved;
  if (saved) {
    s->stats.logged = 0;
    s->checkpoint = s->position;
    s->in_use = in_use;
    s->changed = false;
  }
  sidecar_unlock(s);
  atomic_store(&s->saving, false);
}

/* The log must not lose, in a power cut, a position that the checkpoint names. */
besom_status besom__sidecar_save(besom_sidecar *s, const besom_filter *f, struct saved_numbers n) {
  struct saving out = {.s = s, .filter = f, .numbers = n};
  besom_status status = besom__sidecar_check_lock(s);
  if (status != BESOM_OK) return status;
  keep_reports_out(s);
  if (s->has_log && s->log.sync) status = s->log.sync(s->log.ctx);
  if (status == BESOM_OK) status = besom__file_replace(s->path, sidecar_file_fill, &out);
  let_reports_in(s, status == BESOM_OK, !f);
  return status;
}

/* A full disk has no room for the mark, but a file can be removed. */
besom_status besom__sidecar_mark_in_use(besom_sidecar *s) {
  if (s->has_log || s->in_use) return BESOM_OK;
  struct saving out = {.s = s};
  besom_status status = besom__sidecar_check_lock(s);
  if (status != BESOM_OK) return status;
  status = besom__file_replace(s->path, sidecar_file_fill, &out);
  if (status == BESOM_DISK_FULL) status = besom__file_unlink(s->path);
  s->in_use = status == BESOM_OK;
  return status;
}

/* ------------------------------------------------------------------ loading */

struct trailer {
  uint8_t id[SIDECAR_ID_BYTES];
  uint8_t database_id[SIDECAR_ID_BYTES];
  uint64_t session, position, stamp, kept, count, bytes;
  bool in_use, keeps_removed, stale;
};

/* Reads the trailer of a version, which has this size. */
static bool read_trailer_of(const uint8_t *data, size_t len, uint32_t version, size_t size,
                            struct trailer *t) {
  if (len < size) return false;
  const uint8_t *at = data + len - size;
  struct byte_reader r = {at + sizeof magic, at + size, false};
  uint32_t found = besom__read_u32(&r);
  uint32_t flags = besom__read_u32(&r);
  t->in_use = flags & IN_USE;
  t->keeps_removed = flags & KEEPS_REMOVED;
  t->stale = flags & STALE;
  besom__read_bytes(&r, t->id, sizeof t->id);
  t->session = besom__read_u64(&r);
  t->position = besom__read_u64(&r);
  t->stamp = besom__read_u64(&r);
  t->kept = besom__read_u64(&r);
  if (version > 1) {
    besom__read_bytes(&r, t->database_id, sizeof t->database_id);
    t->count = besom__read_u64(&r);
  }
  t->bytes = besom__read_u64(&r);
  return memcmp(at, magic, sizeof magic) == 0 && found == version &&
         besom__read_u64(&r) == besom__checksum(at, size - 8) && t->bytes == len - size &&
         (t->bytes == 0) == t->in_use;
}

static bool read_trailer(const uint8_t *data, size_t len, struct trailer *t) {
  *t = (struct trailer){.count = UNKNOWN_COUNT};
  if (read_trailer_of(data, len, VERSION, TRAILER_BYTES, t)) return true;
  *t = (struct trailer){.count = UNKNOWN_COUNT};
  return read_trailer_of(data, len, 1, TRAILER_BYTES_V1, t);
}

/* A file without an id is of a database without one: if this one has an id, the file is older than
   that, or of another database. */
static bool is_of_this_database(const besom_sidecar *s, const struct trailer *t) {
  static const uint8_t none[SIDECAR_ID_BYTES];
  if (memcmp(t->id, s->id, sizeof t->id) != 0) return false;
  return memcmp(s->database_id, none, sizeof none) == 0 ||
         memcmp(t->database_id, s->database_id, sizeof none) == 0;
}

static bool has_kind(const besom_filter *f, const char *kind) {
  besom_statistics stats;
  return besom_stats(f, &stats) == BESOM_OK && strcmp(stats.kind, kind) == 0;
}

static besom_status sidecar_file_load_from(besom_sidecar *s, const uint8_t *data, size_t len,
                                           besom_filter **out, besom_sidecar_origin *origin) {
  struct trailer t;
  *origin = BESOM_SIDECAR_DAMAGED;
  if (!read_trailer(data, len, &t)) return BESOM_OK;
  *origin = t.stale ? BESOM_SIDECAR_STALE : t.in_use ? BESOM_SIDECAR_UNCLEAN : BESOM_SIDECAR_OTHER;
  if (t.in_use || !is_of_this_database(s, &t) || t.keeps_removed != s->keep_removed)
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
  s->key_count = t.count;
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
  status = sidecar_file_load_from(s, data, len, out, origin);
  munmap(data, len);
  return status;
}
