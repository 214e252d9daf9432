/* Filters from streams of keys or of sorted digests. */
#include "filter.h"

#define BUILD_BATCH 256

/* The number of keys of a source: its hint, or a first pass over it. */
static besom_status size_of(const besom_source *source, uint64_t *size) {
  *size = source->size_hint;
  if (*size) return BESOM_OK;
  if (!source->rewind) return BESOM_INVALID;
  besom_bytes key;
  uint64_t weight;
  besom_status status;
  while (weight = 1, (status = source->next(source->ctx, &key, &weight)) == BESOM_OK) ++*size;
  return status == BESOM_END ? source->rewind(source->ctx) : status;
}

static besom_status size_of_digests(const besom_digest_source *source, uint64_t *size) {
  *size = source->size_hint;
  if (*size) return BESOM_OK;
  if (!source->rewind) return BESOM_INVALID;
  besom_digest batch[BUILD_BATCH];
  size_t n;
  besom_status status;
  while ((status = source->next(source->ctx, batch, BUILD_BATCH, &n)) == BESOM_OK) *size += n;
  return status == BESOM_END ? source->rewind(source->ctx) : status;
}

/* Reads up to n keys and hashes them, since a key is only there until the next is read. */
static besom_status read_digests(const besom_filter *f, const besom_source *source, besom_digest *out, size_t cap,
                                 size_t *n) {
  for (*n = 0; *n < cap; ++*n) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = source->next(source->ctx, &key, &weight);
    if (status != BESOM_OK) return status;
    if (!key.data && key.len) return BESOM_INVALID;
    out[*n] = besom_hash(f, key.data, key.len);
  }
  return BESOM_OK;
}

static besom_status insert_all(besom_filter *f, const besom_source *source, uint64_t total,
                               const besom_progress *progress) {
  besom_digest batch[BUILD_BATCH];
  size_t n, inserted;
  uint64_t done = 0;
  for (;;) {
    besom_status read = read_digests(f, source, batch, BUILD_BATCH, &n);
    if (read != BESOM_OK && read != BESOM_END) return read;
    besom_status status = f->kind->insert_many(f, batch, n, &inserted);
    if (status != BESOM_OK) return status;
    done += n;
    status = besom__tick(progress, done, total);
    if (status != BESOM_OK) return status;
    if (read == BESOM_END) return BESOM_OK;
  }
}

/* Hands the filter over if status is OK, else frees it. */
static besom_status finish(besom_status status, besom_filter *f, besom_filter **out) {
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  return status;
}

besom_status besom_build(const besom_config *config, const besom_source *yes, const besom_source *no,
                         const besom_progress *progress, besom_filter **out) {
  if (!config || !yes || !yes->next || !out) return BESOM_INVALID;
  if (no) return BESOM_UNSUPPORTED;
  besom_config sized = *config;
  uint64_t total = yes->size_hint;
  besom_status status = BESOM_OK;
  if (!sized.capacity && !sized.slots) {
    status = size_of(yes, &total);
    sized.capacity = total ? total : 1;
  }
  besom_filter *f;
  if (status == BESOM_OK) status = besom_create(&sized, &f);
  if (status != BESOM_OK) return status;
  return finish(insert_all(f, yes, total, progress), f, out);
}

besom_status besom_build_sorted(const besom_config *config, const besom_digest_source *digests,
                                const besom_progress *progress, besom_filter **out) {
  if (!config || !digests || !digests->next || !out) return BESOM_INVALID;
  besom_config sized = *config;
  besom_status status = BESOM_OK;
  if (!sized.capacity && !sized.slots) {
    status = size_of_digests(digests, &sized.capacity);
    if (!sized.capacity) sized.capacity = 1;
  }
  besom_filter *f;
  if (status == BESOM_OK) status = besom_create(&sized, &f);
  if (status != BESOM_OK) return status;
  status = f->kind->append ? f->kind->append(f, digests, progress) : BESOM_UNSUPPORTED;
  return finish(status, f, out);
}

/* ------------------------------------------------------------------ rekey */

/* Exchanges all but the addresses: each keeps its own place in memory. */
static void swap_filters(besom_filter *a, besom_filter *b) {
  unsigned char *x = (unsigned char *)a, *y = (unsigned char *)b;
  for (size_t i = 0; i < a->kind->size; i++) {
    unsigned char byte = x[i];
    x[i] = y[i];
    y[i] = byte;
  }
}

/* The keys of `no` that the filter wrongly answers yes to are adapted for. */
static besom_status adapt_all(besom_filter *f, const besom_source *no) {
  for (;;) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = no->next(no->ctx, &key, &weight);
    if (status == BESOM_OK) status = besom_adapt(f, key.data, key.len);
    if (status != BESOM_OK) return status == BESOM_END ? BESOM_OK : status;
  }
}

besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no, const uint8_t *seed) {
  if (!f || !yes || !yes->next || (no && !no->next)) return BESOM_INVALID;
  if (!f->kind->create_like || !f->kind->insert_many || (no && !f->kind->adapt)) return BESOM_UNSUPPORTED;
  if (f->mapping) return BESOM_READ_ONLY;
  struct hasher hasher;
  besom_filter *fresh;
  besom_status status = besom__hasher_init(&hasher, besom__hash_name(f->hasher.id), seed);
  if (status == BESOM_OK) status = besom_create_like(f, &fresh);
  if (status != BESOM_OK) return status;
  fresh->hasher = hasher;
  status = insert_all(fresh, yes, yes->size_hint, NULL);
  if (status == BESOM_OK && no) status = adapt_all(fresh, no);
  if (status == BESOM_OK) swap_filters(f, fresh);
  besom_free(fresh);
  return status;
}
