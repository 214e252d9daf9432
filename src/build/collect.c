/* The keys of a source as an array of digests. */
#include "core/sort.h"
#include "core/system/memory.h"
#include "kind.h"

#define FIRST_ROOM 1024
#define TICK_EVERY 4096

/* ------------------------------------------------------------------ distinct digests */

void besom__digests_unite(struct digests *d) {
  besom__sort_digests(d->at, d->n, 0);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < d->n; i++)
    if (kept == 0 || digest_less(d->at[kept - 1], d->at[i])) d->at[kept++] = d->at[i];
  d->n = kept;
}

bool besom__digests_have_common(const struct digests *x, const struct digests *y) {
  for (uint64_t i = 0, j = 0; i < x->n && j < y->n;)
    if (digest_less(x->at[i], y->at[j]))
      i++;
    else if (digest_less(y->at[j], x->at[i]))
      j++;
    else
      return true;
  return false;
}

/* ------------------------------------------------------------------ collecting */

void besom__digests_free(const besom_filter *f, struct digests *d) {
  besom__release(&f->allocator, d->at, d->room * sizeof *d->at);
  *d = (struct digests){0};
}

static besom_status digests_make_room(const besom_filter *f, struct digests *d, uint64_t room) {
  if (room > SIZE_MAX / 2 / sizeof *d->at) return BESOM_NO_MEMORY;
  besom_digest *at = besom__enlarge(&f->allocator, d->at, d->n * sizeof *at, d->room * sizeof *at,
                                    room * sizeof *at);
  if (!at) return BESOM_NO_MEMORY;
  *d = (struct digests){at, d->n, room};
  return BESOM_OK;
}

/* If there are too many, removes repeats; FULL if that does not free half of the memory. */
static besom_status digests_enlarge(const besom_filter *f, struct digests *d, uint64_t most) {
  if (d->n >= 2 * most) {
    besom__digests_unite(d);
    return d->n > most ? BESOM_FULL : BESOM_OK;
  }
  uint64_t room = d->room ? 2 * d->room : FIRST_ROOM;
  return digests_make_room(f, d, room < 2 * most ? room : 2 * most);
}

static besom_status digests_read_all(const besom_filter *f, const besom_source *source,
                                     uint64_t most, const besom_progress *progress,
                                     const struct digest_maker *maker, struct digests *d) {
  besom_status status = BESOM_OK;
  for (uint64_t done = 0;; done++) {
    besom_bytes key;
    uint64_t weight = 1;
    status = source->next(source->ctx, &key, &weight);
    if (status != BESOM_OK) break;
    if (!key.data && key.len) return BESOM_INVALID;
    if (d->n == d->room) status = digests_enlarge(f, d, most);
    if (status == BESOM_OK && done % TICK_EVERY == 0)
      status = besom__tick(progress, done, source->size_hint);
    if (status == BESOM_OK) status = maker->make(maker->ctx, key, &d->at[d->n]);
    if (status != BESOM_OK) return status;
    d->n++;
  }
  if (status != BESOM_END) return status;
  if (d->n > most) besom__digests_unite(d);
  return d->n > most ? BESOM_FULL : BESOM_OK;
}

static besom_status sorted_read_all(const besom_filter *f, const besom_digest_source *source,
                                    uint64_t most, const besom_progress *progress,
                                    struct digests *d) {
  besom_digest batch[BUILD_BATCH];
  besom_status status = BESOM_OK;
  for (size_t n = 0; status == BESOM_OK;) {
    status = source->next(source->ctx, batch, BUILD_BATCH, &n);
    if (status != BESOM_OK) break;
    for (size_t i = 0; i < n && status == BESOM_OK; i++) {
      if (d->n && digest_less(batch[i], d->at[d->n - 1])) return BESOM_INVALID;
      if (d->n == d->room) status = digests_enlarge(f, d, most);
      if (status == BESOM_OK) d->at[d->n++] = batch[i];
    }
    if (status == BESOM_OK) status = besom__tick(progress, d->n, source->size_hint);
  }
  if (status != BESOM_END) return status;
  if (d->n > most) besom__digests_unite(d);
  return d->n > most ? BESOM_FULL : BESOM_OK;
}

besom_status besom__collect_sorted(const besom_filter *f, const besom_digest_source *source,
                                   uint64_t most, const besom_progress *progress,
                                   struct digests *out) {
  *out = (struct digests){0};
  uint64_t room = source->size_hint < most ? source->size_hint : most;
  besom_status status = room ? digests_make_room(f, out, room) : BESOM_OK;
  if (status == BESOM_OK) status = sorted_read_all(f, source, most, progress, out);
  if (status != BESOM_OK) besom__digests_free(f, out);
  return status;
}

besom_status besom__collect_digests(const besom_filter *f, const besom_source *source,
                                    uint64_t most, const besom_progress *progress,
                                    const struct digest_maker *maker, struct digests *out) {
  *out = (struct digests){0};
  /* The source's hint is trusted up to the capacity. */
  uint64_t room = source->size_hint < most ? source->size_hint : most;
  besom_status status = room ? digests_make_room(f, out, room) : BESOM_OK;
  if (status == BESOM_OK) status = digests_read_all(f, source, most, progress, maker, out);
  if (status != BESOM_OK) besom__digests_free(f, out);
  return status;
}

static besom_status hash_of_key(void *ctx, besom_bytes key, besom_digest *out) {
  const struct hasher *hasher = ctx;
  *out = hash_bytes(hasher, key.data, key.len);
  return BESOM_OK;
}

besom_status besom__collect(const besom_filter *f, const besom_source *source, uint64_t most,
                            const besom_progress *progress, struct digests *out) {
  struct digest_maker maker = {hash_of_key, (void *)(uintptr_t)&f->hasher};
  return besom__collect_digests(f, source, most, progress, &maker, out);
}
