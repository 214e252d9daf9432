/* A sample of the keys of a source, in bounded memory. */
#include "core/system/memory.h"
#include "papers/learned/key_classifier.h"

#define FIRST_BYTES (1 << 14)
#define MAX_BYTES (1 << 22)
#define TICK_EVERY 4096

/* Each key is preceded by its number, its weight and, in 2 bytes, its length. */
#define HEAD_BYTES 18

void besom__key_sample_free(const besom_filter *f, struct key_sample *s) {
  besom__release(&f->allocator, s->bytes, s->allocated);
  *s = (struct key_sample){0};
}

bool besom__key_sample_next(const struct key_sample *s, size_t *at, struct sampled_key *out) {
  if (*at == s->used) return false;
  const uint8_t *head = s->bytes + *at;
  out->number = load64(head);
  out->weight = load64(head + 8);
  out->key = (besom_bytes){head + HEAD_BYTES, (size_t)(head[16] | head[17] << 8)};
  *at += HEAD_BYTES + out->key.len;
  return true;
}

static void put_key(struct key_sample *s, const struct sampled_key *k) {
  uint8_t *head = s->bytes + s->used;
  store64(head, k->number);
  store64(head + 8, k->weight);
  head[16] = (uint8_t)k->key.len;
  head[17] = (uint8_t)(k->key.len >> 8);
  memmove(head + HEAD_BYTES, k->key.data, k->key.len);
  s->used += HEAD_BYTES + k->key.len;
}

static besom_status key_sample_enlarge(const besom_filter *f, struct key_sample *s) {
  size_t allocated = s->allocated ? 2 * s->allocated : FIRST_BYTES;
  uint8_t *bytes = besom__allocate(&f->allocator, allocated);
  if (!bytes) return BESOM_NO_MEMORY;
  if (s->used) memcpy(bytes, s->bytes, s->used);
  besom__release(&f->allocator, s->bytes, s->allocated);
  s->bytes = bytes;
  s->allocated = allocated;
  return BESOM_OK;
}

/* Drops the half of the keys with the larger numbers. */
static void halve(struct key_sample *s) {
  struct key_sample all = *s;
  struct sampled_key k;
  s->below /= 2;
  s->used = 0;
  for (size_t at = 0; besom__key_sample_next(&all, &at, &k);)
    if (k.number < s->below) put_key(s, &k);
}

static besom_status add_key(const besom_filter *f, struct key_sample *s,
                            const struct sampled_key *k) {
  while (k->number < s->below && s->allocated - s->used < HEAD_BYTES + k->key.len) {
    if (s->allocated == MAX_BYTES) {
      halve(s);
      continue;
    }
    besom_status status = key_sample_enlarge(f, s);
    if (status != BESOM_OK) return status;
  }
  if (k->number < s->below) put_key(s, k);
  return BESOM_OK;
}

besom_status besom__key_sample_read(const besom_filter *f, const besom_source *source,
                                    const besom_progress *progress, struct key_sample *out) {
  besom_status status = BESOM_OK;
  *out = (struct key_sample){.below = UINT64_MAX};
  while (status == BESOM_OK) {
    struct sampled_key k = {.weight = 1};
    status = source->next(source->ctx, &k.key, &k.weight);
    if (status == BESOM_END) return BESOM_OK;
    if (status == BESOM_OK && !k.key.data && k.key.len) status = BESOM_INVALID;
    if (status == BESOM_OK && out->keys % TICK_EVERY == 0)
      status =
          besom__tick(progress, out->keys, source->size_hint > out->keys ? source->size_hint : 0);
    if (status != BESOM_OK) break;
    k.number = hash_bytes(&f->hasher, k.key.data, k.key.len).lo;
    if (k.key.len > CLASSIFIER_KEY_BYTES) k.key.len = CLASSIFIER_KEY_BYTES;
    status = add_key(f, out, &k);
    out->keys++;
  }
  besom__key_sample_free(f, out);
  return status;
}
