/* The public calls on filters: check the arguments, hash the key, hand over to the kind. */
#include "filter.h"

#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"

/* ------------------------------------------------------------------ life */

besom_status besom__filter_new(const struct besom_kind *kind, const struct hasher *hasher,
                               const besom_allocator *allocator, besom_filter **out) {
  if (!allocator) allocator = &besom__default_allocator;
  if (!allocator->allocate || !allocator->release) return BESOM_INVALID;
  besom_filter *f = besom__allocate(allocator, kind->size);
  if (!f) return BESOM_NO_MEMORY;
  f->kind = kind;
  f->hasher = *hasher;
  f->allocator = *allocator;
  *out = f;
  return BESOM_OK;
}

void besom__filter_drop(besom_filter *f) {
  besom_allocator allocator = f->allocator;
  if (f->mapping_size) munmap(f->mapping, f->mapping_size);
  besom__release(&allocator, f, f->kind->size);
}

void besom_free(besom_filter *f) {
  if (!f) return;
  besom_task_cancel(f->task);
  f->kind->destroy(f);
  besom__filter_drop(f);
}

static bool config_in_range(const besom_config *c) {
  if (c->rate != 0 && !(c->rate > 0 && c->rate < 1)) return false;
  if (c->bits != 0 && !(c->bits > 0 && c->bits <= 1024)) return false;
  if (c->rate != 0 && c->bits != 0) return false;
  if (c->capacity > MAX_CAPACITY || c->max_capacity > MAX_CAPACITY || c->slots > MAX_CAPACITY) return false;
  if (c->max_capacity && c->max_capacity < c->capacity) return false;
  if (c->value_bits > 32 || !(c->adapt_room >= 0 && c->adapt_room <= 0.5)) return false;
  if (c->width > 64 || (c->width && !c->slots)) return false;
  if (c->slots && (c->capacity || c->max_capacity || c->bits != 0)) return false;
  if (c->flags & ~(BESOM_CONCURRENT | BESOM_DISTINCT)) return false;
  return c->capacity || c->slots;
}

besom_status besom__filter_create(const struct besom_kind *kind, const besom_config *config,
                                  const struct hasher *hasher, besom_filter **out) {
  besom_filter *f;
  besom_status status = besom__filter_new(kind, hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  status = kind->create(f, config);
  if (status == BESOM_OK)
    *out = f;
  else
    besom__filter_drop(f);
  return status;
}

bool besom__is_built_whole(const besom_config *config, const besom_source *no) {
  const struct besom_kind *kind = config->kind ? besom__kind_named(config->kind) : NULL;
  return kind && kind->build && (no || !kind->create);
}

besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind, struct hasher *hasher) {
  if (!config->kind) return BESOM_INVALID;
  *kind = besom__kind_named(config->kind);
  if (!*kind) return BESOM_UNKNOWN_KIND;
  if (!config_in_range(config)) return BESOM_INVALID;
  if (config->flags & BESOM_CONCURRENT) *kind = (*kind)->concurrent;
  if (!*kind) return BESOM_UNSUPPORTED;
  return besom__hasher_init(hasher, config->hash, config->seed);
}

besom_status besom_create(const besom_config *config, besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  if (!config || !out) return BESOM_INVALID;
  if (besom__is_built_whole(config, NULL)) return BESOM_UNSUPPORTED;
  besom_status status = besom__config_read(config, &kind, &hasher);
  if (status != BESOM_OK) return status;
  return besom__filter_create(kind, config, &hasher, out);
}

besom_status besom_create_like(const besom_filter *f, besom_filter **out) {
  if (!f || !out) return BESOM_INVALID;
  if (!f->kind->create_like) return BESOM_UNSUPPORTED;
  besom_filter *g;
  besom_status status = besom__filter_new(f->kind, &f->hasher, &f->allocator, &g);
  if (status != BESOM_OK) return status;
  g->capacity = f->capacity;
  status = f->kind->create_like(g, f);
  if (status == BESOM_OK)
    *out = g;
  else
    besom__filter_drop(g);
  return status;
}

/* ------------------------------------------------------------------ one key */

besom_digest besom_hash(const besom_filter *f, const void *key, size_t len) {
  if (!f || (!key && len)) return (besom_digest){0, 0};
  return hash_bytes(&f->hasher, key, len);
}

besom_digest besom_hash_u64(const besom_filter *f, uint64_t key) {
  return f ? hash_u64(&f->hasher, key) : (besom_digest){0, 0};
}

bool besom_contains(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(!f || (!key && len))) return true;
  return f->kind->contains(f, hash_bytes(&f->hasher, key, len));
}

bool besom_contains_u64(const besom_filter *f, uint64_t key) {
  if (UNLIKELY(!f)) return true;
  return f->kind->contains(f, hash_u64(&f->hasher, key));
}

bool besom_contains_digest(const besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return true;
  return f->kind->contains(f, digest);
}

/* Checks what every changing call checks, and leaves the caller with one of these on failure. */
#define CHECK_CHANGE(f, operation)                                 \
  do {                                                             \
    if (UNLIKELY(!(f))) return BESOM_INVALID;                      \
    if (UNLIKELY(!(f)->kind->operation)) return BESOM_UNSUPPORTED; \
    besom_status allowed = besom__may_change(f);                   \
    if (UNLIKELY(allowed != BESOM_OK)) return allowed;             \
  } while (0)

/* The three forms of a changing call: a key of bytes, an integer, a digest. */
#define CHANGE_BY_KEY(operation)                                                  \
  besom_status besom_##operation(besom_filter *f, const void *key, size_t len) {  \
    CHECK_CHANGE(f, operation);                                                   \
    if (UNLIKELY(!key && len)) return BESOM_INVALID;                              \
    return f->kind->operation(f, hash_bytes(&f->hasher, key, len));               \
  }                                                                               \
  besom_status besom_##operation##_u64(besom_filter *f, uint64_t key) {           \
    CHECK_CHANGE(f, operation);                                                   \
    return f->kind->operation(f, hash_u64(&f->hasher, key));                      \
  }                                                                               \
  besom_status besom_##operation##_digest(besom_filter *f, besom_digest digest) { \
    CHECK_CHANGE(f, operation);                                                   \
    return f->kind->operation(f, digest);                                         \
  }

CHANGE_BY_KEY(insert)
CHANGE_BY_KEY(remove)
CHANGE_BY_KEY(adapt)
CHANGE_BY_KEY(no_add)
CHANGE_BY_KEY(no_remove)

besom_status besom_count_digest(const besom_filter *f, besom_digest digest, uint64_t *n) {
  if (!f || !n) return BESOM_INVALID;
  if (!f->kind->count) return BESOM_UNSUPPORTED;
  return f->kind->count(f, digest, n);
}

besom_status besom_count(const besom_filter *f, const void *key, size_t len, uint64_t *n) {
  if (!key && len) return BESOM_INVALID;
  return besom_count_digest(f, besom_hash(f, key, len), n);
}

besom_status besom_count_u64(const besom_filter *f, uint64_t key, uint64_t *n) {
  return besom_count_digest(f, besom_hash_u64(f, key), n);
}

besom_status besom_insert_count_digest(besom_filter *f, besom_digest digest, uint64_t n) {
  CHECK_CHANGE(f, insert_count);
  return n ? f->kind->insert_count(f, digest, n) : BESOM_INVALID;
}

besom_status besom_insert_count(besom_filter *f, const void *key, size_t len, uint64_t n) {
  if (!key && len) return BESOM_INVALID;
  return besom_insert_count_digest(f, besom_hash(f, key, len), n);
}

besom_status besom_insert_count_u64(besom_filter *f, uint64_t key, uint64_t n) {
  return besom_insert_count_digest(f, besom_hash_u64(f, key), n);
}

besom_status besom_get_value_digest(const besom_filter *f, besom_digest digest, uint64_t *value) {
  if (!f || !value) return BESOM_INVALID;
  if (!f->kind->get_value) return BESOM_UNSUPPORTED;
  return f->kind->get_value(f, digest, value);
}

besom_status besom_get_value(const besom_filter *f, const void *key, size_t len, uint64_t *value) {
  if (!key && len) return BESOM_INVALID;
  return besom_get_value_digest(f, besom_hash(f, key, len), value);
}

besom_status besom_get_value_u64(const besom_filter *f, uint64_t key, uint64_t *value) {
  return besom_get_value_digest(f, besom_hash_u64(f, key), value);
}

besom_status besom_set_value_digest(besom_filter *f, besom_digest digest, uint64_t value) {
  CHECK_CHANGE(f, set_value);
  return f->kind->set_value(f, digest, value);
}

besom_status besom_set_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  if (!key && len) return BESOM_INVALID;
  return besom_set_value_digest(f, besom_hash(f, key, len), value);
}

besom_status besom_set_value_u64(besom_filter *f, uint64_t key, uint64_t value) {
  return besom_set_value_digest(f, besom_hash_u64(f, key), value);
}

/* ------------------------------------------------------------------ in front of a store */

besom_status besom_bind(besom_filter *f, const besom_reverse *reverse) {
  CHECK_CHANGE(f, bind);
  if (reverse && !reverse->digest_of) return BESOM_INVALID;
  besom_status status = f->kind->bind(f, reverse);
  if (status == BESOM_OK) f->bound = reverse;
  return status;
}

besom_status besom_matches(const besom_filter *f, besom_digest digest, besom_match *out, size_t cap, size_t *total) {
  if (!f || !total || (!out && cap)) return BESOM_INVALID;
  if (!f->kind->matches) return BESOM_UNSUPPORTED;
  return f->kind->matches(f, digest, out, cap, total);
}

besom_status besom_insert_at(besom_filter *f, besom_digest digest, uint64_t value, besom_match *match) {
  CHECK_CHANGE(f, insert_at);
  return match ? f->kind->insert_at(f, digest, value, match) : BESOM_INVALID;
}

besom_status besom_remove_at(besom_filter *f, besom_match match) {
  CHECK_CHANGE(f, remove_at);
  return f->kind->remove_at(f, match);
}

besom_status besom_adapt_at(besom_filter *f, besom_digest offender, besom_match match, besom_digest stored) {
  CHECK_CHANGE(f, adapt_at);
  return f->kind->adapt_at(f, offender, match, stored);
}

besom_status besom_no_matches(const besom_filter *f, besom_digest digest, besom_match *out, size_t cap, size_t *total) {
  if (!f || !total || (!out && cap)) return BESOM_INVALID;
  if (!f->kind->no_matches) return BESOM_UNSUPPORTED;
  return f->kind->no_matches(f, digest, out, cap, total);
}

besom_status besom_no_add_at(besom_filter *f, besom_digest digest, besom_match *match) {
  CHECK_CHANGE(f, no_add_at);
  return match ? f->kind->no_add_at(f, digest, match) : BESOM_INVALID;
}

besom_status besom_no_remove_at(besom_filter *f, besom_match match) {
  CHECK_CHANGE(f, no_remove_at);
  return f->kind->no_remove_at(f, match);
}

/* ------------------------------------------------------------------ many keys */

/* Keys are hashed into a buffer this long, then go to the kind, which prefetches ahead within it. */
#define BATCH 512

/* An array of keys in one of two forms; the other is NULL. */
struct keys {
  const besom_bytes *bytes;
  const uint64_t *integers;
};

static bool keys_valid(struct keys keys, size_t n) {
  if (!keys.bytes) return keys.integers || !n;
  for (size_t i = 0; i < n; i++)
    if (!keys.bytes[i].data && keys.bytes[i].len) return false;
  return true;
}

static void hash_keys(const besom_filter *f, struct keys keys, size_t from, size_t n, besom_digest *out) {
  if (keys.bytes)
    for (size_t i = 0; i < n; i++) out[i] = hash_bytes(&f->hasher, keys.bytes[from + i].data, keys.bytes[from + i].len);
  else
    for (size_t i = 0; i < n; i++) out[i] = hash_u64(&f->hasher, keys.integers[from + i]);
}

static besom_status all_yes(size_t n, uint64_t *bitmap) {
  for (size_t i = 0; bitmap && i < n; i += 64)
    bitmap[i / 64] = n - i < 64 ? bits_below((unsigned)(n - i)) : ~UINT64_C(0);
  return BESOM_INVALID;
}

static besom_status contains_keys(const besom_filter *f, struct keys keys, size_t n, uint64_t *bitmap) {
  if (!f || !bitmap || !keys_valid(keys, n)) return all_yes(n, bitmap);
  besom_digest batch[BATCH];
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    hash_keys(f, keys, i, some, batch);
    f->kind->contains_many(f, batch, some, bitmap + i / 64);
  }
  return BESOM_OK;
}

besom_status besom_contains_many(const besom_filter *f, const besom_bytes *keys, size_t n, uint64_t *bitmap) {
  return contains_keys(f, (struct keys){.bytes = keys}, n, bitmap);
}

besom_status besom_contains_many_u64(const besom_filter *f, const uint64_t *keys, size_t n, uint64_t *bitmap) {
  return contains_keys(f, (struct keys){.integers = keys}, n, bitmap);
}

besom_status besom_contains_many_digest(const besom_filter *f, const besom_digest *digests, size_t n,
                                        uint64_t *bitmap) {
  if (!f || !bitmap || (!digests && n)) return all_yes(n, bitmap);
  f->kind->contains_many(f, digests, n, bitmap);
  return BESOM_OK;
}

static besom_status insert_keys(besom_filter *f, struct keys keys, size_t n, size_t *done) {
  size_t ignored, inserted;
  if (!done) done = &ignored;
  *done = 0;
  CHECK_CHANGE(f, insert_many);
  if (!keys_valid(keys, n)) return BESOM_INVALID;
  besom_digest batch[BATCH];
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    hash_keys(f, keys, i, some, batch);
    status = f->kind->insert_many(f, batch, some, &inserted);
    *done += inserted;
  }
  return status;
}

besom_status besom_insert_many(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct keys){.bytes = keys}, n, done);
}

besom_status besom_insert_many_u64(besom_filter *f, const uint64_t *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct keys){.integers = keys}, n, done);
}

besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests, size_t n, size_t *done) {
  size_t ignored;
  if (!done) done = &ignored;
  *done = 0;
  CHECK_CHANGE(f, insert_many);
  if (!digests && n) return BESOM_INVALID;
  return f->kind->insert_many(f, digests, n, done);
}

/* ------------------------------------------------------------------ whole filters */

/* Two filters at once: always in the same order, lest two threads wait for each other. */
static void hold_both(const besom_filter *a, const besom_filter *b) {
  besom__hold(a < b ? a : b);
  if (a != b) besom__hold(a < b ? b : a);
}

static void let_both_go(const besom_filter *a, const besom_filter *b) {
  besom__let_go(a);
  if (a != b) besom__let_go(b);
}

besom_status besom_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (!a || !b || !out) return BESOM_INVALID;
  if (strcmp(a->kind->info.name, b->kind->info.name) || !hashers_equal(&a->hasher, &b->hasher)) return BESOM_UNLIKE;
  if (!a->kind->merge) return BESOM_UNSUPPORTED;
  besom_filter *into;
  besom_status status = besom_create_like(a, &into);
  if (status != BESOM_OK) return status;
  hold_both(a, b);
  status = a->kind->merge(a, b, into);
  let_both_go(a, b);
  if (status == BESOM_OK)
    *out = into;
  else
    besom_free(into);
  return status;
}

besom_status besom_iter_open(const besom_filter *f, besom_iter **out) {
  if (!f || !out) return BESOM_INVALID;
  if (!f->kind->iter_start) return BESOM_UNSUPPORTED;
  besom_iter *iter = besom__allocate(&f->allocator, sizeof *iter);
  if (!iter) return BESOM_NO_MEMORY;
  iter->filter = f;
  f->kind->iter_start(iter);
  *out = iter;
  return BESOM_OK;
}

besom_status besom_iter_next(besom_iter *iter, besom_entry *entry) {
  if (!iter || !entry) return BESOM_INVALID;
  return iter->filter->kind->iter_next(iter, entry);
}

void besom_iter_close(besom_iter *iter) {
  if (iter) besom__release(&iter->filter->allocator, iter, sizeof *iter);
}

besom_status besom_stats(const besom_filter *f, besom_statistics *stats) {
  if (!f || !stats) return BESOM_INVALID;
  besom__hold(f);
  *stats = (besom_statistics){
      .kind = f->kind->info.name,
      .hash = besom__hash_name(f->hasher.id),
      .isa = "portable",
      .items = f->items,
      .capacity = f->capacity,
      .bytes = f->kind->size,
  };
  f->kind->stats(f, stats);
  besom__let_go(f);
  stats->bits_per_item = stats->items ? 8.0 * (double)stats->bytes / (double)stats->items : 0;
  return BESOM_OK;
}

besom_status besom_validate(const besom_filter *f, const char **reason) {
  if (!f) return BESOM_INVALID;
  besom__hold(f);
  const char *wrong = f->kind->validate(f);
  besom__let_go(f);
  if (reason) *reason = wrong;
  return wrong ? BESOM_CORRUPT : BESOM_OK;
}
