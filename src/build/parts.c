#include "build/parts.h"

/* ------------------------------------------------------------------ one after the other */

static besom_status next_of_parts(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct key_parts *p = ctx;
  for (; p->now < p->n; p->now++, p->given = 0) {
    besom_status status = part_next(&p->parts[p->now], p->given, key, weight);
    p->given += status == BESOM_OK;
    if (status != BESOM_END) return status;
  }
  return BESOM_END;
}

static besom_status rewind_parts(void *ctx) {
  struct key_parts *p = ctx;
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < p->n && status == BESOM_OK; i++)
    status = p->parts[i].rewind(p->parts[i].ctx);
  p->now = 0;
  p->given = 0;
  return status;
}

/* ------------------------------------------------------------------ arrays */

static besom_status next_of_numbers(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct key_slice *s = ctx;
  (void)weight;
  if (s->at == s->end) return BESOM_END;
  s->key = besom_u64(s->numbers[s->at++]);
  *key = (besom_bytes){.data = s->key.bytes, .len = sizeof s->key.bytes};
  return BESOM_OK;
}

static besom_status next_of_keys(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct key_slice *s = ctx;
  (void)weight;
  if (s->at == s->end) return BESOM_END;
  *key = s->keys[s->at++];
  return BESOM_OK;
}

static besom_status rewind_slice(void *ctx) {
  struct key_slice *s = ctx;
  s->at = s->first;
  return BESOM_OK;
}

/* Slices of an array of n keys; one of an empty array. */
static void slice_array(const besom_input *in, struct key_parts *out) {
  size_t n = in->n_keys, slices = n < MAX_SLICES ? n : MAX_SLICES, at = 0;
  if (!slices) slices = 1;
  for (size_t i = 0; i < slices; i++) {
    struct key_slice *s = &out->slices[i];
    size_t size = n / slices + (i < n % slices);
    *s = (struct key_slice){
        .keys = in->keys, .numbers = in->keys_u64, .first = at, .at = at, .end = at + size};
    out->sources[i] = (besom_source){.next = in->keys_u64 ? next_of_numbers : next_of_keys,
                                     .rewind = rewind_slice,
                                     .size_hint = size,
                                     .ctx = s};
    at += size;
  }
  out->parts = out->sources;
  out->n = slices;
}

/* ------------------------------------------------------------------ the parts of an input */

besom_status besom__parts_of(const besom_input *in, struct key_parts *out) {
  out->parts = in->parts;
  out->n = in->n_parts;
  out->now = 0;
  out->given = 0;
  if (!in->parts) slice_array(in, out);
  bool all_rewind = true, all_known = true;
  uint64_t total = 0;
  for (size_t i = 0; i < out->n; i++) {
    const besom_source *part = &out->parts[i];
    if (!part->next) return BESOM_INVALID;
    all_rewind &= part->rewind != NULL;
    all_known &= part->size_hint && total + part->size_hint >= total;
    total += part->size_hint;
  }
  out->all = (besom_source){.next = next_of_parts,
                            .rewind = all_rewind ? rewind_parts : NULL,
                            .size_hint = all_known ? total : 0,
                            .ctx = out};
  return BESOM_OK;
}
