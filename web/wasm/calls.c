/* The calls that both modules have. */
#include "calls.h"

#include <stdlib.h>

#include "besom_map.h"

#include "file/container.h"

#define FILE_ALIGNMENT 64 /* of sections, in files and in memory */
#define BATCH 256

/* src/heap.js has these sizes and offsets, too. */
_Static_assert(sizeof(void *) == 4 && sizeof(size_t) == 4, "wasm32");
_Static_assert(sizeof(besom_bytes) == 8 && sizeof(struct web_bytes) == 8, "");
_Static_assert(sizeof(besom_fault) == 16 && offsetof(besom_fault, offset) == 8, "");
_Static_assert(offsetof(besom_statistics, keys) == 16, "");
_Static_assert(offsetof(besom_statistics, width) == 40, "");
_Static_assert(offsetof(besom_statistics, bytes) == 48, "");
_Static_assert(offsetof(besom_statistics, reserve_used) == 96, "");
_Static_assert(sizeof(besom_counter) == 16 && offsetof(besom_counter, value) == 8, "");

/* ------------------------------------------------------------------ files */

WEB_EXPORT("besom_web_file_memory")
void *besom_web_file_memory(size_t len) {
  if (len > PTRDIFF_MAX) return NULL;
  return aligned_alloc(FILE_ALIGNMENT, (len + FILE_ALIGNMENT) / FILE_ALIGNMENT * FILE_ALIGNMENT);
}

WEB_EXPORT("besom_web_load")
besom_status besom_web_load(uint8_t *data, size_t len, bool in_place, besom_fault *fault,
                            besom_filter **out) {
  *fault = (besom_fault){NULL, 0};
  return besom__container_load(data, len, NULL, in_place, 0, fault, out);
}

static besom_status append(void *ctx, const void *data, size_t len) {
  struct web_bytes *b = ctx;
  if (len > PTRDIFF_MAX - b->len) return BESOM_NO_MEMORY;
  uint8_t *at = malloc(b->len + len + 1); /* realloc would be 3 KB of code */
  if (!at) return BESOM_NO_MEMORY;
  if (b->len) memcpy(at, b->data, b->len);
  if (len) memcpy(at + b->len, data, len);
  free(b->data);
  *b = (struct web_bytes){at, b->len + len};
  return BESOM_OK;
}

besom_sink besom_web_sink(struct web_bytes *out) {
  *out = (struct web_bytes){0};
  return (besom_sink){append, out};
}

besom_status besom_web_written(besom_status status, struct web_bytes *out) {
  if (status == BESOM_OK) return status;
  free(out->data);
  *out = (struct web_bytes){0};
  return status;
}

WEB_EXPORT("besom_web_save")
besom_status besom_web_save(const besom_filter *f, struct web_bytes *out) {
  besom_sink sink = besom_web_sink(out);
  return besom_web_written(besom_save(f, &sink), out);
}

/* ------------------------------------------------------------------ queries */

/* Bit i of a bitmap becomes byte i of out. */
static void spread(const uint64_t *bitmap, size_t n, uint8_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = bitmap[i / 64] >> (i % 64) & 1;
}

WEB_EXPORT("besom_web_contains_packed")
besom_status besom_web_contains_packed(const besom_filter *f, const uint8_t *bytes, size_t len,
                                       const uint32_t *offsets, size_t n, uint8_t *answers) {
  besom_bytes keys[BATCH];
  uint64_t bitmap[BATCH / 64];
  for (size_t i = 0; i < n; i += BATCH) {
    size_t batch = n - i < BATCH ? n - i : BATCH;
    for (size_t k = 0; k < batch; k++) {
      uint32_t from = offsets[i + k], to = offsets[i + k + 1];
      if (from > to || to > len) return BESOM_INVALID;
      keys[k] = (besom_bytes){bytes + from, to - from};
    }
    besom_status status = besom_contains_many(f, keys, batch, bitmap);
    if (status != BESOM_OK) return status;
    spread(bitmap, batch, answers + i);
  }
  return BESOM_OK;
}

/* Where the entry begins that answers a name of a list of domains; -1 if it is answered no. */
WEB_EXPORT("besom_web_domain_entry")
int32_t besom_web_domain_entry(const besom_filter *f, const besom_fixes *fixes, const uint8_t *name,
                               size_t len) {
  besom_bytes entry;
  if (!besom_fixes_domain_contains(fixes, f, name, len, &entry)) return -1;
  return (int32_t)((const uint8_t *)entry.data - name);
}

/* ------------------------------------------------------------------ fixes */

WEB_EXPORT("besom_web_apply_fixes")
void besom_web_apply_fixes(const besom_fixes *fixes, const besom_filter *f, const uint8_t *bytes,
                           const uint32_t *offsets, size_t n, uint8_t *answers) {
  for (size_t i = 0; i < n; i++)
    if (answers[i])
      answers[i] = besom_fixes_contains(fixes, f, bytes + offsets[i], offsets[i + 1] - offsets[i]);
}

WEB_EXPORT("besom_web_fixes_version")
const char *besom_web_fixes_version(const besom_fixes *fixes) {
  besom_fixes_information info;
  besom_fixes_info(fixes, &info);
  return info.version;
}

/* ------------------------------------------------------------------ maplets */

WEB_EXPORT("besom_web_candidates")
besom_status besom_web_candidates(const besom_filter *f, const uint8_t *key, size_t len,
                                  struct web_bytes *out) {
  size_t room, n;
  *out = (struct web_bytes){0};
  besom_status status = besom_get_values(f, key, len, NULL, 0, &room);
  if (status != BESOM_OK || !room) return status;
  uint64_t *values = malloc(room * sizeof *values);
  if (!values) return BESOM_NO_MEMORY;
  (void)besom_get_values(f, key, len, values, room, &n);
  *out = (struct web_bytes){(uint8_t *)values, n * sizeof(uint32_t)};
  for (size_t i = 0; i < n; i++) { /* each is read before a shorter one is written there */
    uint32_t value = (uint32_t)values[i];
    memcpy(out->data + i * sizeof value, &value, sizeof value);
  }
  return BESOM_OK;
}

WEB_EXPORT("besom_web_note")
besom_status besom_web_note(const besom_filter *f, struct web_bytes *out) {
  size_t len;
  const void *note = besom_note(f, &len);
  besom_sink sink = besom_web_sink(out);
  return besom_web_written(len ? sink.write(sink.ctx, note, len) : BESOM_OK, out);
}
