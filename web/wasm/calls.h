/*
 * Calls of the WebAssembly modules beside the public API: what JavaScript cannot do with it, or
 * not fast. All pointers are offsets in the memory of the module. docs/web.md has the list.
 */
#ifndef BESOM_WEB_CALLS_H
#define BESOM_WEB_CALLS_H

#include "besom_fixes.h"

#define WEB_EXPORT(name) __attribute__((export_name(name)))

/* Memory that a call has filled; the caller frees it (free). */
struct web_bytes {
  uint8_t *data;
  size_t len;
};

/*
 * Loads a saved filter. data came from besom_web_file_memory. in_place: on success the filter owns
 * data, uses its bits where they are and is read-only; else it is a copy, and data stays the
 * caller's. On CORRUPT, *fault says why. Errors: as besom_load.
 */
besom_status besom_web_load(uint8_t *data, size_t len, bool in_place, besom_fault *fault,
                            besom_filter **out);
void *besom_web_file_memory(size_t len);

/* besom_save into new memory. Errors: NO_MEMORY. */
besom_status besom_web_save(const besom_filter *f, struct web_bytes *out);

/* A sink that fills *out, and the end of a call that used it: frees what a failed one wrote. */
besom_sink besom_web_sink(struct web_bytes *out);
besom_status besom_web_written(besom_status status, struct web_bytes *out);

/*
 * n keys, packed: key i is the bytes from offsets[i] to offsets[i + 1]. answers[i] becomes 1 or 0.
 * Errors: INVALID (offsets do not ascend, or end after len).
 */
besom_status besom_web_contains_packed(const besom_filter *f, const uint8_t *bytes, size_t len,
                                       const uint32_t *offsets, size_t n, uint8_t *answers);

/* Those of the n keys that were answered yes, and that are fixed, become no. */
void besom_web_apply_fixes(const besom_fixes *fixes, const besom_filter *f, const uint8_t *bytes,
                           const uint32_t *offsets, size_t n, uint8_t *answers);

/* The version that a file of fixes is for: valid until it is closed. */
const char *besom_web_fixes_version(const besom_fixes *fixes);

/*
 * The candidates of a key of a maplet, 4 bytes each, and its note, in new memory. Errors:
 * UNSUPPORTED (no maplet), NO_MEMORY.
 */
besom_status besom_web_candidates(const besom_filter *f, const uint8_t *key, size_t len,
                                  struct web_bytes *out);
besom_status besom_web_note(const besom_filter *f, struct web_bytes *out);

/* ------------------------------------------------------------------ the full module only */

/* A growing list of keys, for builds. add copies packed keys; if it fails, none is added. */
struct web_keys;
struct web_keys *besom_web_keys_new(void);
besom_status besom_web_keys_add(struct web_keys *list, const uint8_t *bytes, size_t len,
                                const uint32_t *offsets, size_t n);
void besom_web_keys_free(struct web_keys *list);

/* besom_build from lists; no and like may be NULL, config too if there is a like. */
besom_status besom_web_build(const besom_config *config, size_t config_size,
                             const struct web_keys *yes, const struct web_keys *no,
                             const besom_filter *like, besom_filter **out);

/* besom_diff into new memory. Errors: NO_MEMORY, those of besom_diff. */
besom_status besom_web_diff(const besom_filter *old, const besom_filter *fresh,
                            struct web_bytes *out);

#endif
