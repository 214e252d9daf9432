/* The raw form of frozen filters (frozen.h), and their exceptions as bytes. */
#include <string.h>

#include "frozen.h"
#include "little_endian.h"

#define BLOOM_HEAD 20
#define BLOOM_LAYER 53
#define BLOOM_OPTIONS 15 /* those that RedisBloom knows */
#define MAX_HASHES 1100  /* those of the lowest rate that a double can hold */
#define CUCKOO_HEAD 38
#define MAX_CUCKOO_LAYERS UINT16_MAX
#define MAX_DATA (UINT64_C(1) << 48)

/* ------------------------------------------------------------------ reading */

static struct frozen_layer bloom_layer_at(const char *at) {
  return (struct frozen_layer){.bytes = get_le(at, 8),
                               .bits = get_le(at + 8, 8),
                               .items = get_le(at + 16, 8),
                               .error = get_le_double(at + 24),
                               .bits_per_item = get_le_double(at + 32),
                               .hashes = (uint32_t)get_le(at + 40, 4),
                               .capacity = get_le(at + 44, 8),
                               .log2_bits = (uint8_t)get_le(at + 52, 1)};
}

static bool bloom_layer_is_sound(const struct frozen_layer *l) {
  if (!(l->error > 0 && l->error < 1) || !l->bytes || l->bytes > MAX_DATA) return false;
  if (!l->bits || l->bits > l->bytes * 8 || l->bytes * 8 - l->bits >= 64) return false;
  if (l->log2_bits && (l->log2_bits > 63 || UINT64_C(1) << l->log2_bits > l->bits)) return false;
  return l->hashes >= 1 && l->hashes <= MAX_HASHES && l->capacity <= MAX_DATA * 8;
}

static besom_status bloom_raw_len(const char *data, size_t len, size_t *header, uint64_t *total) {
  if (len < BLOOM_HEAD) return BESOM_CORRUPT;
  uint64_t items = get_le(data, 8), layers = get_le(data + 8, 4), sum = 0;
  if (!layers || layers > (len - BLOOM_HEAD) / BLOOM_LAYER || get_le(data + 12, 4) > BLOOM_OPTIONS)
    return BESOM_CORRUPT;
  *header = BLOOM_HEAD + BLOOM_LAYER * (size_t)layers;
  *total = *header;
  for (uint64_t i = 0; i < layers; i++) {
    struct frozen_layer layer = bloom_layer_at(data + BLOOM_HEAD + BLOOM_LAYER * i);
    if (!bloom_layer_is_sound(&layer) || *total > MAX_DATA || layer.items > items - sum)
      return BESOM_CORRUPT;
    *total += layer.bytes;
    sum += layer.items;
  }
  return sum == items ? BESOM_OK : BESOM_CORRUPT;
}

/* Layer i has expansion^i times the buckets of the first. */
static besom_status cuckoo_raw_len(const char *data, size_t len, size_t *header, uint64_t *total) {
  if (len < CUCKOO_HEAD) return BESOM_CORRUPT;
  uint64_t items = get_le(data, 8), buckets = get_le(data + 8, 8), layers = get_le(data + 24, 8),
           bucket_size = get_le(data + 32, 2), expansion = get_le(data + 36, 2);
  if (!buckets || !layers || layers > MAX_CUCKOO_LAYERS || !bucket_size || bucket_size > UINT8_MAX)
    return BESOM_CORRUPT;
  *header = *total = CUCKOO_HEAD;
  for (uint64_t i = 0; i < layers; i++, buckets *= expansion) {
    if (!buckets || buckets > MAX_DATA / bucket_size || *total > MAX_DATA) return BESOM_CORRUPT;
    *total += buckets * bucket_size;
    if (expansion && buckets > UINT64_MAX / expansion) return BESOM_CORRUPT;
  }
  return items <= MAX_DATA ? BESOM_OK : BESOM_CORRUPT;
}

besom_status frozen_raw_len(enum frozen_family family, const char *data, size_t len, size_t *header,
                            uint64_t *total) {
  if (family == FROZEN_BLOOM) return bloom_raw_len(data, len, header, total);
  return family == FROZEN_CUCKOO ? cuckoo_raw_len(data, len, header, total) : BESOM_CORRUPT;
}

static void bloom_read_header(struct frozen *f, const char *data) {
  f->items = get_le(data, 8);
  f->options = (uint32_t)get_le(data + 12, 4);
  f->growth = (uint32_t)get_le(data + 16, 4);
  for (uint32_t i = 0; i < f->layers; i++)
    f->layer[i] = bloom_layer_at(data + BLOOM_HEAD + BLOOM_LAYER * (size_t)i);
}

static void cuckoo_read_header(struct frozen *f, const char *data) {
  f->items = get_le(data, 8);
  f->buckets = get_le(data + 8, 8);
  f->deletes = get_le(data + 16, 8);
  f->bucket_size = (uint16_t)get_le(data + 32, 2);
  f->max_iterations = (uint16_t)get_le(data + 34, 2);
  f->expansion = (uint16_t)get_le(data + 36, 2);
  uint64_t buckets = f->buckets;
  for (uint32_t i = 0; i < f->layers; i++, buckets *= f->expansion) {
    f->layer[i].buckets = buckets;
    f->layer[i].bytes = buckets * f->bucket_size;
  }
}

static size_t struct_bytes(const struct frozen *f) {
  return sizeof *f + f->allocated * sizeof *f->layer;
}

static struct frozen *frozen_new(enum frozen_family family, uint32_t layers,
                                 const besom_allocator *allocator) {
  size_t size = sizeof(struct frozen) + layers * sizeof(struct frozen_layer);
  struct frozen *f = allocator->allocate(allocator->ctx, size); /* zeroed */
  if (!f) return NULL;
  f->family = family;
  f->layers = f->allocated = layers;
  f->allocator = allocator;
  return f;
}

static bool copy_layers(struct frozen *f, const char *data) {
  for (uint32_t i = 0; i < f->layers; i++) {
    struct frozen_layer *layer = &f->layer[i];
    layer->data = f->allocator->allocate(f->allocator->ctx, layer->bytes);
    if (!layer->data) return false;
    memcpy(layer->data, data, layer->bytes);
    data += layer->bytes;
  }
  return true;
}

besom_status frozen_load(enum frozen_family family, const char *data, size_t len,
                         const besom_allocator *allocator, struct frozen **out) {
  size_t header;
  uint64_t total;
  besom_status status = frozen_raw_len(family, data, len, &header, &total);
  if (status != BESOM_OK) return status;
  if (total != len) return BESOM_CORRUPT;
  uint64_t layers = family == FROZEN_BLOOM ? get_le(data + 8, 4) : get_le(data + 24, 8);
  struct frozen *f = frozen_new(family, (uint32_t)layers, allocator);
  if (!f) return BESOM_NO_MEMORY;
  if (family == FROZEN_BLOOM)
    bloom_read_header(f, data);
  else
    cuckoo_read_header(f, data);
  if (!copy_layers(f, data + header)) {
    frozen_free(f);
    return BESOM_NO_MEMORY;
  }
  *out = f;
  return BESOM_OK;
}

void frozen_free(struct frozen *f) {
  if (!f) return;
  for (uint32_t i = 0; i < f->layers; i++)
    if (f->layer[i].data)
      f->allocator->release(f->allocator->ctx, f->layer[i].data, f->layer[i].bytes);
  besom__exceptions_free(&f->exceptions, f->allocator);
  f->allocator->release(f->allocator->ctx, f, struct_bytes(f));
}

struct frozen *frozen_visit_blocks(struct frozen *f, const struct block_visitor *v) {
  f = v->visit(v->ctx, f);
  for (uint32_t i = 0; i < f->layers; i++) f->layer[i].data = v->visit(v->ctx, f->layer[i].data);
  besom__exceptions_visit(&f->exceptions, v);
  return f;
}

uint64_t frozen_data_bytes(const struct frozen *f) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < f->layers; i++) sum += f->layer[i].bytes;
  return sum;
}

/* ------------------------------------------------------------------ writing */

static size_t bloom_write_header(const struct frozen *f, char *to) {
  put_le(to, f->items, 8);
  put_le(to + 8, f->layers, 4);
  put_le(to + 12, f->options, 4);
  put_le(to + 16, f->growth, 4);
  char *at = to + BLOOM_HEAD;
  for (uint32_t i = 0; i < f->layers; i++, at += BLOOM_LAYER) {
    const struct frozen_layer *layer = &f->layer[i];
    put_le(at, layer->bytes, 8);
    put_le(at + 8, layer->bits, 8);
    put_le(at + 16, layer->items, 8);
    put_le_double(at + 24, layer->error);
    put_le_double(at + 32, layer->bits_per_item);
    put_le(at + 40, layer->hashes, 4);
    put_le(at + 44, layer->capacity, 8);
    put_le(at + 52, layer->log2_bits, 1);
  }
  return (size_t)(at - to);
}

size_t frozen_write_header(const struct frozen *f, char *to) {
  if (f->family == FROZEN_BLOOM) return bloom_write_header(f, to);
  put_le(to, f->items, 8);
  put_le(to + 8, f->buckets, 8);
  put_le(to + 16, f->deletes, 8);
  put_le(to + 24, f->layers, 8);
  put_le(to + 32, f->bucket_size, 2);
  put_le(to + 34, f->max_iterations, 2);
  put_le(to + 36, f->expansion, 2);
  return CUCKOO_HEAD;
}

/* ------------------------------------------------------------------ exceptions */

void frozen_write_exceptions_head(const struct frozen *f, char *to) {
  const struct exception_set *set = &f->exceptions;
  put_le(to, set->cells, 8);
  put_le(to + 8, set->count, 8);
  put_le(to + 16, set->listed, 8);
  put_le(to + 24, set->hand, 8);
  put_le(to + 32, set->forgotten, 8);
  put_le(to + 40, set->length, 4);
  put_le(to + 44, set->mixed, 4);
}

besom_status frozen_load_exceptions(struct frozen *f, const char *data, size_t len) {
  if (len < FROZEN_EXCEPTIONS_HEAD) return BESOM_CORRUPT;
  struct exception_set *set = &f->exceptions;
  uint64_t length = get_le(data + 40, 4), mixed = get_le(data + 44, 4);
  if (length > NUMBER_BITS || mixed > 1) return BESOM_CORRUPT;
  besom__exceptions_start(set, 1);
  set->cells = get_le(data, 8);
  set->count = get_le(data + 8, 8);
  set->listed = get_le(data + 16, 8);
  set->hand = get_le(data + 24, 8);
  set->forgotten = get_le(data + 32, 8);
  set->length = (uint8_t)length;
  set->mixed = mixed;
  return besom__exceptions_load(set, f->allocator, data + FROZEN_EXCEPTIONS_HEAD,
                                len - FROZEN_EXCEPTIONS_HEAD);
}
