/* Sizes of a retrieval, and its files. */
#include "ribbon/retrieval.h"

#include <math.h>

#include "core/system/memory.h"

#define MAX_BLOCKS (2 * MAX_RETRIEVAL_KEYS / RIBBON_WIDTH)

/* ------------------------------------------------------------------ widths */

struct retrieval_width besom__retrieval_width_of_rate(double fpr) {
  double columns = ceil(-log2(fpr) - 1e-9);
  if (columns < 1) columns = 1;
  double least = exp2(-columns); /* 2 * least with one column less */
  return (struct retrieval_width){(uint32_t)columns, fmin(1, fmax(0, (fpr - least) / least))};
}

double besom__retrieval_rate_of_width(struct retrieval_width width) {
  return (1 + width.narrow) * exp2(-(double)width.columns);
}

double besom__retrieval_bits_per_slot(struct retrieval_width width) {
  return width.columns - width.narrow + BITS_PER_THRESHOLD;
}

uint64_t besom__retrieval_slots(const struct retrieval *x) {
  uint64_t slots = 0;
  for (uint32_t i = 0; i < x->layers; i++) slots += RIBBON_WIDTH * (uint64_t)x->layer[i].blocks;
  return slots;
}

double besom__retrieval_rate(const struct retrieval *x) {
  uint64_t narrow = 0;
  for (uint32_t i = 0; i < x->layers; i++) narrow += RIBBON_WIDTH * (uint64_t)x->layer[i].narrow;
  struct retrieval_width width = {x->columns, (double)narrow / (double)besom__retrieval_slots(x)};
  return besom__retrieval_rate_of_width(width);
}

/* ------------------------------------------------------------------ memory and files */

/* The words of a block are read together with those of the next one, even after the last block. */
static uint64_t threshold_bytes(const struct retrieval *x) {
  uint64_t used = (x->buckets + 3) / 4;
  uint64_t least = 8 * ((uint64_t)x->columns + COLUMNS_AT_ONCE - 1);
  return used > least ? used : least;
}

uint64_t besom__retrieval_bytes(const struct retrieval *x) {
  return x->word_bytes + threshold_bytes(x);
}

void besom__retrieval_free(struct retrieval *x, const besom_allocator *allocator) {
  if (x->layers) besom__release(allocator, x->bytes, besom__retrieval_bytes(x));
}

void besom__retrieval_save(const struct retrieval *x, struct sections_out *out) {
  besom__write_u64(&out->parameters, x->columns);
  besom__write_u64(&out->parameters, x->layers);
  for (uint32_t i = 0; i < x->layers; i++) {
    besom__write_u64(&out->parameters, x->layer[i].blocks);
    besom__write_u64(&out->parameters, x->layer[i].narrow);
    besom__write_u64(&out->parameters, x->layer[i].rehashes);
  }
  add_section(out, TAG_BITS, x->bytes, besom__retrieval_bytes(x));
}

/* Reads the next layer and places it after those before. */
static bool read_layer(struct retrieval *x, struct sections_in *in) {
  struct retrieval_layer *l = &x->layer[x->layers];
  uint64_t blocks = besom__read_u64(&in->parameters), narrow = besom__read_u64(&in->parameters);
  uint64_t rehashes = besom__read_u64(&in->parameters);
  if (blocks == 0 || blocks > MAX_BLOCKS || narrow > blocks) return false;
  if (rehashes > MAX_REHASHES || (x->layers && !rehashes)) return false;
  *l = (struct retrieval_layer){.words = (uint32_t)(x->word_bytes / 8),
                                .blocks = (uint32_t)blocks,
                                .narrow = (uint32_t)narrow,
                                .thresholds = x->buckets,
                                .rehashes = (uint32_t)rehashes};
  x->word_bytes += retrieval_layer_bytes(x, l);
  x->buckets += (uint32_t)retrieval_layer_buckets(l);
  x->layers++;
  return true;
}

besom_status besom__retrieval_load(struct retrieval *x, const besom_allocator *allocator,
                                   struct sections_in *in, bool mapped) {
  uint64_t columns = besom__read_u64(&in->parameters), layers = besom__read_u64(&in->parameters);
  if (columns == 0 || columns > MAX_COLUMNS || layers == 0 || layers > MAX_LAYERS)
    return BESOM_CORRUPT;
  *x = (struct retrieval){.columns = (uint16_t)columns};
  while (x->layers < layers)
    if (!read_layer(x, in)) return BESOM_CORRUPT;
  const struct section *saved = take_section(in, TAG_BITS);
  if (!saved || saved->len != besom__retrieval_bytes(x)) return BESOM_CORRUPT;
  if (mapped) {
    x->bytes = (uint8_t *)(uintptr_t)saved->data;
    return BESOM_OK;
  }
  x->bytes = besom__allocate(allocator, saved->len);
  if (!x->bytes) return BESOM_NO_MEMORY;
  memcpy(x->bytes, saved->data, (size_t)saved->len);
  return BESOM_OK;
}

/* Any words and thresholds are possible; only what is not used must be 0. */
const char *besom__retrieval_validate(const struct retrieval *x) {
  uint64_t used = x->buckets;
  uint8_t unused = used % 4 ? (uint8_t)(x->bytes[x->word_bytes + used / 4] >> (used % 4 * 2)) : 0;
  for (uint64_t i = (used + 3) / 4; i < threshold_bytes(x); i++)
    unused |= x->bytes[x->word_bytes + i];
  return unused ? "there are bits after the last threshold" : NULL;
}
