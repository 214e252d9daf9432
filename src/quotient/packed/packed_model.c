#include "quotient/packed/packed_model.h"

#include <pthread.h>
#include <string.h>

#include "core/system/memory.h"
#include "quotient/packed/packed_table.h"
#include "quotient/quotient_filter.h"

/*
 * All models are in one list: servers have few different configurations. Filters may be freed in
 * another thread. Their memory is the default allocator's, because no filter owns it.
 */
#define BUCKETS 256
static struct packed_model *models[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct packed_model **models_bucket(const uint8_t *bytes, size_t len) {
  return &models[besom__checksum(bytes, len) % BUCKETS];
}

static uint64_t model_bytes(uint32_t len) {
  return sizeof(struct packed_model) + len;
}

/* ------------------------------------------------------------------ saved bytes */

struct saved_bytes {
  uint8_t *data;
  size_t len, room;
};

static besom_status save_bytes(void *ctx, const void *data, size_t len) {
  struct saved_bytes *b = ctx;
  if (len > b->room - b->len) return BESOM_NO_MEMORY;
  memcpy(b->data + b->len, data, len);
  b->len += len;
  return BESOM_OK;
}

static besom_status count_bytes(void *ctx, const void *data, size_t len) {
  (void)data;
  *(size_t *)ctx += len;
  return BESOM_OK;
}

/* Layers have the hash of their filter. */
static void set_seed_of_all(besom_filter *f, const uint8_t *seed) {
  (void)besom__hasher_restore(&f->hasher, f->hasher.id, seed);
  const besom_filter *layer = besom_layer(f, 0);
  if (layer) ((besom_filter *)(uintptr_t)layer)->hasher = f->hasher;
}

/* The saved bytes of an empty filter like f, with a seed of zeros. */
static besom_status save_empty(const besom_filter *f, struct saved_bytes *out) {
  static const uint8_t zeros[SEED_BYTES];
  besom_filter *empty;
  besom_status status = besom_create_like(f, &empty);
  if (status != BESOM_OK) return status;
  set_seed_of_all(empty, zeros);
  status = besom_save(empty, &(besom_sink){count_bytes, &out->room});
  if (status == BESOM_OK) out->data = besom__allocate(&besom__default_allocator, out->room);
  if (status == BESOM_OK && !out->data) status = BESOM_NO_MEMORY;
  if (status == BESOM_OK) status = besom_save(empty, &(besom_sink){save_bytes, out});
  besom_free(empty);
  return status;
}

/* ------------------------------------------------------------------ the list */

static struct packed_model *find(struct packed_model *m, const struct packed_model *like,
                                 const uint8_t *bytes) {
  while (m && (m->len != like->len || m->total != like->total || memcmp(m->bytes, bytes, m->len)))
    m = m->next;
  return m;
}

static struct packed_model *find_or_add(const struct packed_model *like, const uint8_t *bytes) {
  struct packed_model **bucket = models_bucket(bytes, like->len);
  struct packed_model *m = find(*bucket, like, bytes);
  if (m) {
    m->references++;
    return m;
  }
  m = besom__allocate(&besom__default_allocator, model_bytes(like->len));
  if (!m) return NULL;
  *m = *like;
  memcpy(m->bytes, bytes, like->len);
  m->next = *bucket;
  return *bucket = m;
}

struct packed_model *besom__packed_model_of(const besom_filter *f, const besom_filter *layer) {
  const struct qtable *t = &const_quotient_filter(layer)->table;
  struct saved_bytes saved = {0};
  struct packed_model *m = NULL;
  if (save_empty(f, &saved) == BESOM_OK) {
    size_t len = saved.len;
    while (len && !saved.data[len - 1]) len--;
    struct packed_model like = {.references = 1,
                                .slots = (uint32_t)t->slots,
                                .capacity = (uint32_t)layer->capacity,
                                .tail = (uint32_t)(t->room - t->slots),
                                .width = t->width,
                                .fields_per_window = (uint8_t)(PACKED_WINDOW_BITS / t->width),
                                .ops = besom__packed_ops(besom__isa_best()),
                                .grows = f != layer,
                                .len = (uint32_t)len,
                                .total = (uint32_t)saved.len};
    for (unsigned i = 0; i < like.fields_per_window; i++)
      like.fields |= UINT64_C(1) << i * t->width;
    pthread_mutex_lock(&lock);
    m = find_or_add(&like, saved.data);
    pthread_mutex_unlock(&lock);
  }
  besom__release(&besom__default_allocator, saved.data, saved.room);
  return m;
}

struct packed_model *besom__packed_model_ref(struct packed_model *m) {
  pthread_mutex_lock(&lock);
  m->references++;
  pthread_mutex_unlock(&lock);
  return m;
}

void besom__packed_model_unref(struct packed_model *m) {
  pthread_mutex_lock(&lock);
  if (--m->references == 0) {
    struct packed_model **at = models_bucket(m->bytes, m->len);
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    besom__release(&besom__default_allocator, m, model_bytes(m->len));
  }
  pthread_mutex_unlock(&lock);
}

besom_status besom__packed_model_make(const struct packed_model *m, const uint8_t *seed,
                                      const besom_allocator *allocator, besom_filter **out) {
  uint8_t *bytes = besom__allocate(&besom__default_allocator, m->total); /* zeroed */
  if (!bytes) return BESOM_NO_MEMORY;
  memcpy(bytes, m->bytes, m->len);
  besom_status status = besom_load(bytes, m->total, allocator, out);
  if (status == BESOM_OK) set_seed_of_all(*out, seed);
  besom__release(&besom__default_allocator, bytes, m->total);
  return status;
}
