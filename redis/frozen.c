/* Queries and removals of filters that RedisBloom made. */
#include "frozen.h"

#include <string.h>

#include "little_endian.h"

/* ------------------------------------------------------------------ hashes */

/* MurmurHash64A of Austin Appleby. */
static uint64_t murmur64(const uint8_t *data, size_t len, uint64_t seed) {
  const uint64_t m = 0xc6a4a7935bd1e995u;
  uint64_t hash = seed ^ (uint64_t)(int)len * m;
  for (; len >= 8; data += 8, len -= 8) {
    uint64_t word = get_le(data, 8) * m;
    hash = (hash ^ (word ^ word >> 47) * m) * m;
  }
  if (len) hash = (hash ^ get_le(data, len)) * m;
  hash = (hash ^ hash >> 47) * m;
  return hash ^ hash >> 47;
}

/* MurmurHash2 of 32 bits, for filters of early versions. */
static uint32_t murmur32(const uint8_t *data, size_t len, uint32_t seed) {
  const uint32_t m = 0x5bd1e995;
  uint32_t hash = seed ^ (uint32_t)len;
  for (; len >= 4; data += 4, len -= 4) {
    uint32_t word = (uint32_t)get_le(data, 4) * m;
    hash = hash * m ^ (word ^ word >> 24) * m;
  }
  if (len) hash = (hash ^ (uint32_t)get_le(data, len)) * m;
  hash = (hash ^ hash >> 13) * m;
  return hash ^ hash >> 15;
}

/* ------------------------------------------------------------------ Bloom */

#define HASH_OF_64_BITS 4 /* the option of RedisBloom */

struct bloom_hash {
  uint64_t first, step;
};

static struct bloom_hash bloom_hash_of(const struct frozen *f, besom_bytes item) {
  struct bloom_hash hash;
  if (f->options & HASH_OF_64_BITS) {
    hash.first = murmur64(item.data, item.len, 0xc6a4a7935bd1e995u);
    hash.step = murmur64(item.data, item.len, hash.first);
  } else {
    hash.first = murmur32(item.data, item.len, 0x9747b28c);
    hash.step = murmur32(item.data, item.len, (uint32_t)hash.first);
  }
  return hash;
}

static bool bloom_layer_has(const struct frozen_layer *layer, struct bloom_hash hash) {
  uint64_t bits = layer->log2_bits ? UINT64_C(1) << layer->log2_bits : layer->bits;
  for (uint64_t i = 0; i < layer->hashes; i++) {
    uint64_t bit = (hash.first + i * hash.step) % bits;
    if (!(layer->data[bit / 8] >> bit % 8 & 1)) return false;
  }
  return true;
}

static bool bloom_has(const struct frozen *f, besom_bytes item) {
  struct bloom_hash hash = bloom_hash_of(f, item);
  for (uint32_t i = f->layers; i-- > 0;)
    if (bloom_layer_has(&f->layer[i], hash)) return true;
  return false;
}

/* ------------------------------------------------------------------ cuckoo */

/* The fingerprint of an item, never 0, and the numbers of its buckets before the modulus. */
struct cuckoo_item {
  uint8_t fingerprint;
  uint64_t bucket[2];
};

static struct cuckoo_item cuckoo_item_at(uint8_t fingerprint, uint64_t bucket) {
  return (struct cuckoo_item){fingerprint,
                              {bucket, bucket ^ (uint64_t)fingerprint * UINT64_C(0x5bd1e995)}};
}

static struct cuckoo_item cuckoo_item_of(besom_bytes item) {
  uint64_t hash = murmur64(item.data, item.len, 0);
  return cuckoo_item_at((uint8_t)(hash % 255 + 1), hash);
}

/* RedisBloom computes the slot in 32 bits. */
static uint8_t *cuckoo_bucket(const struct frozen *f, const struct frozen_layer *layer,
                              uint64_t bucket) {
  return layer->data + (uint32_t)(bucket % layer->buckets * f->bucket_size);
}

/* The first slot of the two buckets that has this fingerprint, or NULL. */
static uint8_t *cuckoo_find(const struct frozen *f, const struct frozen_layer *layer,
                            const struct cuckoo_item *item, uint8_t fingerprint) {
  for (int i = 0; i < 2; i++) {
    uint8_t *bucket = cuckoo_bucket(f, layer, item->bucket[i]);
    uint8_t *slot = memchr(bucket, fingerprint, f->bucket_size);
    if (slot) return slot;
  }
  return NULL;
}

/* If the two buckets are the same, RedisBloom counts it twice. */
static uint64_t cuckoo_count(const struct frozen *f, besom_bytes bytes) {
  struct cuckoo_item item = cuckoo_item_of(bytes);
  uint64_t n = 0;
  for (uint32_t l = 0; l < f->layers; l++)
    for (int i = 0; i < 2; i++) {
      const uint8_t *bucket = cuckoo_bucket(f, &f->layer[l], item.bucket[i]);
      for (unsigned s = 0; s < f->bucket_size; s++) n += bucket[s] == item.fingerprint;
    }
  return n;
}

static bool cuckoo_has(const struct frozen *f, besom_bytes bytes) {
  struct cuckoo_item item = cuckoo_item_of(bytes);
  for (uint32_t l = 0; l < f->layers; l++)
    if (cuckoo_find(f, &f->layer[l], &item, item.fingerprint)) return true;
  return false;
}

/* Moves a fingerprint to an older layer. An older layer has no more buckets than this one, so the
 * number of the bucket says where. */
static bool cuckoo_move_slot(struct frozen *f, uint32_t from, uint64_t bucket, uint8_t *slot) {
  struct cuckoo_item item = cuckoo_item_at(*slot, bucket);
  for (uint32_t l = 0; l < from; l++) {
    uint8_t *empty = cuckoo_find(f, &f->layer[l], &item, 0);
    if (!empty) continue;
    *empty = *slot;
    *slot = 0;
    return true;
  }
  return false;
}

/* Returns whether the layer is empty now. */
static bool cuckoo_empty_layer(struct frozen *f, uint32_t l) {
  struct frozen_layer *layer = &f->layer[l];
  bool empty = true;
  for (uint64_t b = 0; b < layer->buckets; b++)
    for (unsigned s = 0; s < f->bucket_size; s++) {
      uint8_t *slot = layer->data + b * f->bucket_size + s;
      if (*slot && !cuckoo_move_slot(f, l, b, slot)) empty = false;
    }
  return empty;
}

/* Moves fingerprints to older layers, until a layer does not become empty. */
static void cuckoo_compact(struct frozen *f) {
  for (uint32_t l = f->layers; --l > 0;) {
    bool empty = cuckoo_empty_layer(f, l);
    if (empty && l + 1 == f->layers) {
      struct frozen_layer *last = &f->layer[--f->layers];
      f->allocator->release(f->allocator->ctx, last->data, last->bytes);
    }
    if (!empty) break;
  }
  f->deletes = 0;
}

bool frozen_remove(struct frozen *f, besom_bytes bytes) {
  if (f->family != FROZEN_CUCKOO) return false;
  struct cuckoo_item item = cuckoo_item_of(bytes);
  for (uint32_t l = f->layers; l-- > 0;) {
    uint8_t *slot = cuckoo_find(f, &f->layer[l], &item, item.fingerprint);
    if (!slot) continue;
    *slot = 0;
    if (f->items) f->items--;
    f->deletes++;
    if (f->layers > 1 && (double)f->deletes > (double)f->items * 0.10) cuckoo_compact(f);
    return true;
  }
  return false;
}

/* ------------------------------------------------------------------ both */

bool frozen_has(const struct frozen *f, besom_bytes item) {
  return f->family == FROZEN_BLOOM ? bloom_has(f, item) : cuckoo_has(f, item);
}

uint64_t frozen_count(const struct frozen *f, besom_bytes item) {
  return f->family == FROZEN_BLOOM ? bloom_has(f, item) : cuckoo_count(f, item);
}

bool frozen_is_fixed(const struct frozen *f) {
  return f->family == FROZEN_BLOOM ? f->options & FROZEN_NONSCALING : f->expansion == 0;
}

uint64_t frozen_capacity(const struct frozen *f) {
  uint64_t sum = 0;
  for (uint32_t l = 0; l < f->layers; l++)
    sum += f->family == FROZEN_BLOOM ? f->layer[l].capacity : f->layer[l].bytes;
  return sum;
}

/* ------------------------------------------------------------------ exceptions */

#define MIN_EXCEPTIONS 64
#define ITEMS_PER_EXCEPTION 32

bool frozen_denies(const struct frozen *f, besom_digest digest) {
  return f->exceptions.count && besom__exceptions_has(&f->exceptions, digest);
}

besom_status frozen_deny(struct frozen *f, besom_digest digest, bool listed, bool forget) {
  struct exception_set *set = &f->exceptions;
  if (!set->slots) besom__exceptions_start(set, 1);
  uint64_t most = f->items / ITEMS_PER_EXCEPTION;
  struct exception_limit limit = {.most = most > MIN_EXCEPTIONS ? most : MIN_EXCEPTIONS,
                                  .forget = forget,
                                  .no_memory_fails = true};
  struct exception e = {.number = besom__exception_number(set, digest),
                        .length = NUMBER_BITS,
                        .listed = listed,
                        .fresh = true};
  return besom__exceptions_add(set, f->allocator, &e, &limit);
}

bool frozen_undeny(struct frozen *f, besom_digest digest) {
  return f->exceptions.count && besom__exceptions_remove(&f->exceptions, digest, true);
}
