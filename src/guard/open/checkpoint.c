/*
 * The checkpoint: the filters, saved beside the store when a guard is closed. The file has one
 * saved filter, or two during a migration, and then this trailer:
 *
 *     "besomckp", store id, open id, u32 epoch, u32 filters, u64 commit number,
 *     u64 bytes of each filter (2), u64 checksum of the trailer so far
 *
 * A checkpoint is valid only for the state of the store that it was saved from. The commit number
 * does not identify that state: after a power cut a store can be at an earlier commit, and other
 * changes can bring it to the same number again. Therefore each open that changes anything first
 * unlinks the file and then writes a random open id into the store.
 */
#include <limits.h>
#include <stdio.h>

#include "core/system/durable_file.h"
#include "guard/get/reverse_map.h"
#include "guard/open/checkpoint.h"
#include "guard/open/open.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum { TRAILER_BYTES = 8 + 2 * ID_BYTES + 4 + 4 + 8 + 2 * 8 + 8 };

static const char magic[8] = "besomckp";

static bool path_of(const besom_guard *g, char *out, size_t size) {
  const besom_store_ops *ops = g->store->ops;
  const char *directory =
      g->transactional && HAS_OP(ops, directory) ? ops->directory(g->store) : NULL;
  if (!directory) return false;
  int len = snprintf(out, size, "%s/besom-guard.checkpoint", directory);
  return len > 0 && (size_t)len < size;
}

static bool checkpoint_write_trailer(besom_guard *g, const uint64_t lengths[2], uint8_t *out) {
  struct byte_writer w = {out, out + TRAILER_BYTES, false};
  uint64_t number;
  if (g->store->ops->commit_number(g->store, &number) != BESOM_OK) return false;
  besom__write_bytes(&w, magic, sizeof magic);
  besom__write_bytes(&w, g->ids.store, ID_BYTES);
  besom__write_bytes(&w, g->ids.open, ID_BYTES);
  besom__write_u32(&w, g->current.number);
  besom__write_u32(&w, g->next.filter ? 2 : 1);
  besom__write_u64(&w, number);
  besom__write_u64(&w, lengths[0]);
  besom__write_u64(&w, lengths[1]);
  besom__write_u64(&w, besom__checksum(out, TRAILER_BYTES - 8));
  return true;
}

/* ------------------------------------------------------------------ saving */

struct counting {
  const besom_sink *sink;
  uint64_t bytes;
};

static besom_status checkpoint_write_counted(void *ctx, const void *data, size_t len) {
  struct counting *c = ctx;
  c->bytes += len;
  return c->sink->write(c->sink->ctx, data, len);
}

static besom_status save_all(void *ctx, const besom_sink *sink) {
  besom_guard *g = ctx;
  struct counting now = {sink, 0}, next = {sink, 0};
  uint8_t trailer[TRAILER_BYTES];
  besom_status status =
      besom_save(g->current.filter, &(besom_sink){checkpoint_write_counted, &now});
  if (status == BESOM_OK && g->next.filter)
    status = besom_save(g->next.filter, &(besom_sink){checkpoint_write_counted, &next});
  if (status != BESOM_OK) return status;
  if (!checkpoint_write_trailer(g, (uint64_t[2]){now.bytes, next.bytes}, trailer)) return BESOM_IO;
  return sink->write(sink->ctx, trailer, sizeof trailer);
}

besom_status besom__checkpoint_save(besom_guard *g) {
  char path[PATH_MAX];
  return path_of(g, path, sizeof path) ? besom__file_replace(path, save_all, g) : BESOM_OK;
}

besom_status besom__checkpoint_drop(besom_guard *g) {
  char path[PATH_MAX];
  return path_of(g, path, sizeof path) ? besom__file_unlink(path) : BESOM_OK;
}

/* ------------------------------------------------------------------ loading */

static bool is_like(const besom_filter *f, const besom_filter *model) {
  uint64_t slots, model_slots;
  uint32_t width, model_width;
  besom__guard_geometry(f, &slots, &width);
  besom__guard_geometry(model, &model_slots, &model_width);
  return f->kind == model->kind && hashers_equal(&f->hasher, &model->hasher) &&
         f->capacity == model->capacity && slots == model_slots && width == model_width;
}

/* Loads and binds a filter. NULL if it differs in kind, hash or geometry from the model. */
static besom_filter *load_one(besom_guard *g, const uint8_t *data, uint64_t len,
                              const besom_filter *model) {
  besom_filter *f;
  if (besom_load(data, (size_t)len, &g->allocator, &f) != BESOM_OK) return NULL;
  if (is_like(f, model) && besom__guard_bind(g, f) == BESOM_OK) return f;
  besom_free(f);
  return NULL;
}

static bool load_both(besom_guard *g, const uint8_t *data, const uint64_t lengths[2]) {
  besom_filter *next = NULL, *now = load_one(g, data, lengths[0], g->current.filter);
  if (now && g->next.filter) next = load_one(g, data + lengths[0], lengths[1], g->next.filter);
  if (!now || !next != !g->next.filter) {
    besom_free(now);
    return false;
  }
  besom_free(g->current.filter);
  besom_free(g->next.filter);
  g->current.filter = now;
  g->next.filter = next;
  return true;
}

/* The trailer must equal, byte for byte, the one that would be written now. */
static bool checkpoint_load_from(besom_guard *g, const uint8_t *data, size_t len) {
  uint8_t expected[TRAILER_BYTES];
  if (len < TRAILER_BYTES) return false;
  const uint8_t *trailer = data + len - TRAILER_BYTES;
  uint64_t lengths[2] = {load64(trailer + TRAILER_BYTES - 24),
                         load64(trailer + TRAILER_BYTES - 16)};
  if (!checkpoint_write_trailer(g, lengths, expected) ||
      memcmp(trailer, expected, TRAILER_BYTES) != 0)
    return false;
  if (lengths[0] > len - TRAILER_BYTES || lengths[1] != len - TRAILER_BYTES - lengths[0])
    return false;
  return load_both(g, data, lengths);
}

/* A guard that has never changed anything leaves a checkpoint without an open id. */
static bool is_of_a_written_store(const uint8_t *data, size_t len) {
  static const uint8_t none[ID_BYTES];
  if (len < TRAILER_BYTES) return false;
  const uint8_t *trailer = data + (len - TRAILER_BYTES);
  return memcmp(trailer, magic, sizeof magic) == 0 &&
         load64(trailer + TRAILER_BYTES - 8) == besom__checksum(trailer, TRAILER_BYTES - 8) &&
         memcmp(trailer + sizeof magic + ID_BYTES, none, ID_BYTES) != 0;
}

bool besom__checkpoint_exists(const besom_guard *g) {
  char path[PATH_MAX];
  void *data;
  size_t len;
  if (!path_of(g, path, sizeof path) || besom__file_map(path, &data, &len) != BESOM_OK)
    return false;
  bool written = is_of_a_written_store(data, len);
  besom__file_unmap(data, len);
  return written;
}

bool besom__checkpoint_load(besom_guard *g) {
  char path[PATH_MAX];
  void *data;
  size_t len;
  if (!path_of(g, path, sizeof path) || besom__file_map(path, &data, &len) != BESOM_OK)
    return false;
  bool loaded = checkpoint_load_from(g, data, len);
  besom__file_unmap(data, len);
  return loaded;
}
