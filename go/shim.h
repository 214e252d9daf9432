/*
 * What cgo calls. It would check pointers to filters in every call, and allocate for that: the calls
 * that must be fast get numbers. Keys are uint8_t pointers: that type has no pointers inside, so it
 * is not checked. Callbacks lead to the exported functions of callbacks.go.
 */
#ifndef BESOM_GO_SHIM_H
#define BESOM_GO_SHIM_H

#include "besom.h"

static inline besom_filter *go_filter(uintptr_t f) {
  return (besom_filter *)f;
}

static inline bool go_contains(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_contains(go_filter(f), key, len);
}

static inline bool go_contains_u64(uintptr_t f, uint64_t key) {
  return besom_contains_u64(go_filter(f), key);
}

static inline bool go_domain_contains(uintptr_t f, const uint8_t *name, size_t len) {
  return besom_domain_contains(go_filter(f), name, len, NULL);
}

static inline besom_status go_contains_many_u64(uintptr_t f, const uint64_t *keys, size_t n,
                                                uint64_t *bitmap) {
  return besom_contains_many_u64(go_filter(f), keys, n, bitmap);
}

static inline besom_status go_insert(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_insert(go_filter(f), key, len);
}

static inline besom_status go_insert_u64(uintptr_t f, uint64_t key) {
  return besom_insert_u64(go_filter(f), key);
}

static inline besom_status go_insert_many_u64(uintptr_t f, const uint64_t *keys, size_t n,
                                              size_t *done) {
  return besom_insert_many_u64(go_filter(f), keys, n, done);
}

static inline besom_status go_remove(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_remove(go_filter(f), key, len);
}

static inline besom_status go_remove_u64(uintptr_t f, uint64_t key) {
  return besom_remove_u64(go_filter(f), key);
}

static inline besom_status go_adapt(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_adapt(go_filter(f), key, len);
}

static inline besom_status go_adapt_u64(uintptr_t f, uint64_t key) {
  return besom_adapt_u64(go_filter(f), key);
}

static inline besom_status go_no_add(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_no_add(go_filter(f), key, len);
}

static inline besom_status go_no_remove(uintptr_t f, const uint8_t *key, size_t len) {
  return besom_no_remove(go_filter(f), key, len);
}

static inline besom_status go_insert_value(uintptr_t f, const uint8_t *key, size_t len,
                                           uint64_t value) {
  return besom_insert_value(go_filter(f), key, len, value);
}

static inline besom_status go_remove_value(uintptr_t f, const uint8_t *key, size_t len,
                                           uint64_t value) {
  return besom_remove_value(go_filter(f), key, len, value);
}

static inline besom_status go_adapt_value(uintptr_t f, const uint8_t *key, size_t len,
                                          uint64_t value) {
  return besom_adapt_value(go_filter(f), key, len, value);
}

static inline besom_status go_get_values(uintptr_t f, const uint8_t *key, size_t len, uint64_t *out,
                                         size_t room, size_t *n) {
  return besom_get_values(go_filter(f), key, len, out, room, n);
}

/* Keys one after the other: key i ends at ends[i]. */
besom_status go_contains_packed(uintptr_t f, const uint8_t *bytes, const size_t *ends, size_t n,
                                uint64_t *bitmap);
besom_status go_insert_packed(uintptr_t f, const uint8_t *bytes, const size_t *ends, size_t n,
                              size_t *done);

/* A stream of keys that Go fills in portions. */
struct go_source;
struct go_source *go_source_new(uintptr_t handle, uint64_t size_hint, bool rewinds);
void go_source_free(struct go_source *s);
besom_status go_build(const besom_config *config, struct go_source *yes, struct go_source *no,
                      const besom_filter *like, uintptr_t progress, besom_filter **out);
besom_status go_rekey(besom_filter *f, struct go_source *yes);

besom_status go_open(const char *path, unsigned flags, besom_filter **out, int *error);
besom_status go_save_file(const besom_filter *f, const char *path, int *error);
besom_status go_save(const besom_filter *f, uintptr_t handle);
besom_status go_load(const uint8_t *data, size_t len, besom_filter **out);
besom_status go_diff(const besom_filter *old, const besom_filter *fresh, uintptr_t handle);
besom_status go_patch(const besom_filter *old, const uint8_t *patch, size_t len,
                      besom_filter **out);
besom_status go_stats(const besom_filter *f, besom_statistics *stats);
besom_status go_create(const besom_config *config, besom_filter **out);
void go_explain(const besom_config *config, char *text, size_t size);

#endif
