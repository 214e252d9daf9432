/* The calls that only the full module has: lists of keys, building, diffs. */
#include <stdlib.h>

#include "calls.h"

_Static_assert(offsetof(besom_config, capacity) == 16, "src/heap.js has these offsets");
_Static_assert(offsetof(besom_config, fpr) == 32 && offsetof(besom_config, width) == 56, "");
_Static_assert(offsetof(besom_config, reserve) == 64, "");
_Static_assert(offsetof(besom_config, flags) == 88, "");
_Static_assert(offsetof(besom_config, copies) == 112, "");

/* ------------------------------------------------------------------ lists of keys */

/* Keys that were added by one call: their offsets and bytes follow. */
struct chunk {
  struct chunk *next;
  size_t n;
};

struct web_keys {
  struct chunk *first, **end;
  uint64_t n;
};

static const uint32_t *offsets_of(const struct chunk *c) {
  return (const uint32_t *)(c + 1);
}

static const uint8_t *bytes_of(const struct chunk *c) {
  return (const uint8_t *)(offsets_of(c) + c->n + 1);
}

WEB_EXPORT("besom_web_keys_new")
struct web_keys *besom_web_keys_new(void) {
  struct web_keys *list = calloc(1, sizeof *list);
  if (list) list->end = &list->first;
  return list;
}

WEB_EXPORT("besom_web_keys_add")
besom_status besom_web_keys_add(struct web_keys *list, const uint8_t *bytes, size_t len,
                                const uint32_t *offsets, size_t n) {
  if (!n) return BESOM_OK;
  for (size_t i = 0; i < n; i++)
    if (offsets[i] > offsets[i + 1] || offsets[i + 1] > len) return BESOM_INVALID;
  size_t used = offsets[n] - offsets[0];
  uint64_t size = sizeof(struct chunk) + sizeof *offsets * ((uint64_t)n + 1) + used;
  struct chunk *c = size <= PTRDIFF_MAX ? malloc((size_t)size) : NULL;
  if (!c) return BESOM_NO_MEMORY;
  *c = (struct chunk){.n = n};
  uint32_t *to = (uint32_t *)(c + 1);
  for (size_t i = 0; i <= n; i++) to[i] = offsets[i] - offsets[0];
  if (used) memcpy(to + n + 1, bytes + offsets[0], used);
  *list->end = c;
  list->end = &c->next;
  list->n += n;
  return BESOM_OK;
}

WEB_EXPORT("besom_web_keys_free")
void besom_web_keys_free(struct web_keys *list) {
  if (!list) return;
  for (struct chunk *c = list->first, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(list);
}

/* A source over a list. */
struct walk {
  const struct web_keys *list;
  const struct chunk *at;
  size_t i;
};

static besom_status walk_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct walk *w = ctx;
  (void)weight;
  while (w->at && w->i == w->at->n) {
    w->at = w->at->next;
    w->i = 0;
  }
  if (!w->at) return BESOM_END;
  const uint32_t *offset = offsets_of(w->at) + w->i++;
  *key = (besom_bytes){bytes_of(w->at) + offset[0], offset[1] - offset[0]};
  return BESOM_OK;
}

static besom_status walk_rewind(void *ctx) {
  struct walk *w = ctx;
  w->at = w->list->first;
  w->i = 0;
  return BESOM_OK;
}

static besom_source source_of(const struct web_keys *list, struct walk *w) {
  *w = (struct walk){.list = list, .at = list->first};
  return (besom_source){walk_next, walk_rewind, list->n, w};
}

/* ------------------------------------------------------------------ building */

WEB_EXPORT("besom_web_build")
besom_status besom_web_build(const besom_config *config, size_t config_size,
                             const struct web_keys *yes, const struct web_keys *no,
                             const besom_filter *like, besom_filter **out) {
  struct walk yes_walk, no_walk;
  besom_source yes_source = source_of(yes, &yes_walk), no_source;
  if (no) no_source = source_of(no, &no_walk);
  besom_input input = {.yes = &yes_source, .no = no ? &no_source : NULL, .like = like};
  return besom_build_sized(config, config_size, &input, sizeof input, out);
}

/* ------------------------------------------------------------------ diffs */

WEB_EXPORT("besom_web_diff")
besom_status besom_web_diff(const besom_filter *old, const besom_filter *fresh,
                            struct web_bytes *out) {
  besom_sink sink = besom_web_sink(out);
  return besom_web_written(besom_diff(old, fresh, &sink), out);
}
