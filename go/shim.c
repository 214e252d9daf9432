#include "shim.h"

#include <errno.h>
#include <stdlib.h>

#include "_cgo_export.h"

enum { BATCH = 256, PORTION = 64 << 10, PORTION_KEYS = 1024 };

static size_t unpack(const uint8_t *bytes, const size_t *ends, size_t from, size_t n,
                     besom_bytes *keys) {
  size_t k = 0;
  for (; k < BATCH && from + k < n; k++) {
    size_t start = from + k ? ends[from + k - 1] : 0;
    keys[k] = (besom_bytes){bytes + start, ends[from + k] - start};
  }
  return k;
}

besom_status go_contains_packed(uintptr_t f, const uint8_t *bytes, const size_t *ends, size_t n,
                                uint64_t *bitmap) {
  besom_bytes keys[BATCH];
  besom_status status = BESOM_OK;
  for (size_t i = 0, k; i < n && status == BESOM_OK; i += k) {
    k = unpack(bytes, ends, i, n, keys);
    status = besom_contains_many(go_filter(f), keys, k, bitmap + i / 64);
  }
  return status;
}

besom_status go_insert_packed(uintptr_t f, const uint8_t *bytes, const size_t *ends, size_t n,
                              size_t *done) {
  besom_bytes keys[BATCH];
  besom_status status = BESOM_OK;
  *done = 0;
  for (size_t i = 0, k; i < n && status == BESOM_OK; i += k) {
    size_t inserted = 0;
    k = unpack(bytes, ends, i, n, keys);
    status = besom_insert_many(go_filter(f), keys, k, &inserted);
    *done += inserted;
  }
  return status;
}

/* ------------------------------------------------------------------ streams */

struct go_source {
  besom_source source;
  uintptr_t handle;
  uint8_t *bytes;
  size_t room, n, next;
  size_t ends[PORTION_KEYS];
};

static besom_status portion(struct go_source *s) {
  size_t needed = 0;
  besom_status status =
      besomGoFill(s->handle, s->bytes, s->room, s->ends, PORTION_KEYS, &s->n, &needed);
  if (status != BESOM_OK || s->n || !needed) return status;
  uint8_t *larger = realloc(s->bytes, needed); /* for one long key */
  if (!larger) return BESOM_NO_MEMORY;
  s->bytes = larger;
  s->room = needed;
  return besomGoFill(s->handle, s->bytes, s->room, s->ends, PORTION_KEYS, &s->n, &needed);
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct go_source *s = ctx;
  (void)weight;
  if (s->next == s->n) {
    s->n = s->next = 0;
    besom_status status = portion(s);
    if (status != BESOM_OK) return status;
    if (!s->n) return BESOM_END;
  }
  size_t start = s->next ? s->ends[s->next - 1] : 0;
  *key = (besom_bytes){s->bytes + start, s->ends[s->next] - start};
  s->next++;
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  struct go_source *s = ctx;
  s->n = s->next = 0;
  return besomGoRewind(s->handle);
}

struct go_source *go_source_new(uintptr_t handle, uint64_t size_hint, bool rewinds) {
  struct go_source *s = calloc(1, sizeof *s);
  uint8_t *bytes = s ? malloc(PORTION) : NULL;
  if (!bytes) {
    free(s);
    return NULL;
  }
  s->source = (besom_source){
      .next = next_key, .rewind = rewinds ? rewind_keys : NULL, .size_hint = size_hint, .ctx = s};
  s->handle = handle;
  s->bytes = bytes;
  s->room = PORTION;
  return s;
}

void go_source_free(struct go_source *s) {
  if (s) free(s->bytes);
  free(s);
}

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  return besomGoTick((uintptr_t)ctx, done, total);
}

besom_status go_build(const besom_config *config, struct go_source *yes, struct go_source *no,
                      const besom_filter *like, uintptr_t progress, besom_filter **out) {
  besom_progress told = {tick, (void *)progress};
  besom_input input = {.yes = &yes->source,
                       .no = no ? &no->source : NULL,
                       .like = like,
                       .progress = progress ? &told : NULL};
  return besom_build(like ? NULL : config, &input, out);
}

besom_status go_rekey(besom_filter *f, struct go_source *yes) {
  return besom_rekey(f, &yes->source, NULL, NULL, NULL);
}

static besom_status write_bytes(void *ctx, const void *data, size_t len) {
  return besomGoWrite((uintptr_t)ctx, (uint8_t *)data, len);
}

besom_status go_save(const besom_filter *f, uintptr_t handle) {
  besom_sink sink = {write_bytes, (void *)handle};
  return besom_save(f, &sink);
}

besom_status go_diff(const besom_filter *old, const besom_filter *fresh, uintptr_t handle) {
  besom_sink sink = {write_bytes, (void *)handle};
  return besom_diff(old, fresh, &sink);
}

/* ------------------------------------------------------------------ files, and inline calls */

besom_status go_open(const char *path, unsigned flags, besom_filter **out, int *error) {
  besom_open_options options = {.flags = flags};
  errno = 0;
  besom_status status = besom_open(path, &options, out);
  *error = errno;
  return status;
}

besom_status go_save_file(const besom_filter *f, const char *path, int *error) {
  errno = 0;
  besom_status status = besom_save_file(f, path);
  *error = errno;
  return status;
}

besom_status go_load(const uint8_t *data, size_t len, besom_filter **out) {
  return besom_load(data, len, NULL, out);
}

besom_status go_patch(const besom_filter *old, const uint8_t *patch, size_t len,
                      besom_filter **out) {
  return besom_patch(old, patch, len, out);
}

besom_status go_stats(const besom_filter *f, besom_statistics *stats) {
  return besom_stats(f, stats);
}

besom_status go_create(const besom_config *config, besom_filter **out) {
  return besom_create(config, out);
}

void go_explain(const besom_config *config, char *text, size_t size) {
  text[0] = 0;
  besom_config_check(config, text, size);
}
