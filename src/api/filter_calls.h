/* What the public calls on filters share: entering as a writer, and arrays of keys. */
#ifndef BESOM_FILTER_CALLS_H
#define BESOM_FILTER_CALLS_H

#include "kind.h"

/* -------------------------------------------------------------- writers */

/*
 * Enters f as a writer, or leaves the calling function with a status: INVALID, UNSUPPORTED if the
 * kind has no such operation, READ_ONLY, BUSY.
 */
#define ENTER_TO_CHANGE(r, f, table, operation, valid)                                   \
  do {                                                                                   \
    if (UNLIKELY(!(f))) return BESOM_INVALID;                                            \
    if (UNLIKELY(!KIND_HAS((f)->kind, table, operation))) return BESOM_UNSUPPORTED;      \
    besom_status allowed = LIKELY(valid) ? besom__writer_enter(f, &(r)) : BESOM_INVALID; \
    if (UNLIKELY(allowed != BESOM_OK)) return allowed;                                   \
  } while (0)

/* The same, for what needs a fingerprint of its own for every key: UNSUPPORTED by a set. */
#define ENTER_TO_CHANGE_OWN(r, f, table, operation, valid)      \
  do {                                                          \
    if (UNLIKELY((f) && (f)->is_set)) return BESOM_UNSUPPORTED; \
    ENTER_TO_CHANGE(r, f, table, operation, valid);             \
  } while (0)

/* Exceptions are in memory, so that mapped filters take them, too. Errors: INVALID, BUSY. */
static inline besom_status enter_to_report(besom_filter *f, bool valid, struct reader *r) {
  if (!f || !valid) return BESOM_INVALID;
  *r = (struct reader){f, NULL, false};
  bool in_head = !f->kind->keeps_reports || f->kind->map;
  return f->mapping && in_head ? BESOM_OK : besom__writer_enter(f, r);
}

/* An adaptation that finds no room lacks reserve, whatever its kind calls it. */
static inline besom_status adapted(besom_status status) {
  return status == BESOM_FULL ? BESOM_RESERVE_FULL : status;
}

static inline besom_status leave(struct reader r, besom_status status) {
  besom__reader_leave(r);
  return status;
}

/* -------------------------------------------------------------- arrays of keys */

/* Keys hashed at once: enough for the kinds to prefetch ahead within. A multiple of 64. */
#define HASH_BATCH 512

/* An array of keys in one of two forms; the other is NULL. */
struct key_array {
  const besom_bytes *bytes;
  const uint64_t *integers;
};

/* Whether the calls on one key are faster than hashing and prefetching all of the keys first. */
ALWAYS_INLINE bool are_few_keys(const besom_filter *f, size_t n) {
  unsigned few = f->kind->query.few_keys;
  return n - 1 < (few ? few : FEW_KEYS); /* 0 keys are none */
}

static inline bool key_array_valid(struct key_array keys, size_t n) {
  if (!keys.bytes) return keys.integers || !n;
  for (size_t i = 0; i < n; i++)
    if (!keys.bytes[i].data && keys.bytes[i].len) return false;
  return true;
}

static inline void hash_key_array(const struct hasher *h, struct key_array keys, size_t from,
                                  size_t n, besom_digest *out) {
  if (keys.bytes)
    for (size_t i = 0; i < n; i++)
      out[i] = hash_bytes(h, keys.bytes[from + i].data, keys.bytes[from + i].len);
  else
    for (size_t i = 0; i < n; i++) out[i] = hash_u64(h, keys.integers[from + i]);
}

#endif
