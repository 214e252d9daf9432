/* The parts of an input: sources that may be read in different threads, or an array of keys. */
#ifndef BESOM_BUILD_PARTS_H
#define BESOM_BUILD_PARTS_H

#include "core/system/wait.h"
#include "kind.h"

#define MAX_SLICES 64 /* of an array */

/* Threads write to neighbours, so each has cache lines of its own. */
struct key_slice {
  _Alignas(CACHE_LINE) const besom_bytes *keys;
  const uint64_t *numbers; /* instead of keys */
  size_t first, at, end;
  besom_u64_key key; /* the number given last */
};

struct key_parts {
  const besom_source *parts;
  size_t n;
  besom_source all; /* one part after the other; its hint is 0 if that of a part is */
  size_t now;       /* the part that `all` is in */
  uint64_t given;   /* keys of it */
  struct key_slice slices[MAX_SLICES];
  besom_source sources[MAX_SLICES];
};

/* Whether the input has parts or an array. */
static inline bool has_parts(const besom_input *in) {
  return in->parts || in->keys || in->keys_u64;
}

/* Keeps pointers into the input and into *out. INVALID: a part has no function. */
besom_status besom__parts_of(const besom_input *in, struct key_parts *out);

/* The next key of a part that has given so many: INVALID if its hint was smaller. */
ALWAYS_INLINE besom_status part_next(const besom_source *part, uint64_t given, besom_bytes *key,
                                     uint64_t *weight) {
  besom_status status = part->next(part->ctx, key, weight);
  bool too_many = status == BESOM_OK && part->size_hint && given >= part->size_hint;
  return UNLIKELY(too_many) ? BESOM_INVALID : status;
}

#endif
