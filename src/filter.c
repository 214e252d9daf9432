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
  if (f->front)
    besom__front_free(f);
  else
    f->kind->destroy(f);
  besom__filter_drop(f);
}

static bool config_in_range(const besom_config *c) {
  if (c->fpr != 0 && !(c->fpr > 0 && c->fpr < 1)) return false;
  if (c->bits != 0 && !(c->bits > 0 && c->bits <= 1024)) return false;
  if (c->fpr != 0 && c->bits != 0) return false;
  if (c->no_capacity > MAX_CAPACITY) return false;
  if (c->capacity > MAX_CAPACITY || c->max_capacity > MAX_CAPACITY || c->slots > MAX_CAPACITY)
    return false;
  if (c->max_capacity && c->max_capacity < c->capacity) return false;
  if (c->value_bits > 32 || !(c->reserve >= 0 && c->reserve <= 0.5)) return false;
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

besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind,
                                struct hasher *hasher) {
  if (!config->kind) return BESOM_INVALID;
  *kind = besom__kind_named(config->kind);
  if (!*kind) return BESOM_UNKNOWN_KIND;
  if (!config_in_range(config)) return BESOM_INVALID;
  if (config->flags & BESOM_CONCURRENT && !(*kind)->concurrent) return BESOM_UNSUPPORTED;
  return besom__hasher_init(hasher, config->hash, config->seed);
}

besom_status besom__create_plain(const besom_config *config, besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  if (besom__is_built_whole(config, NULL)) return BESOM_UNSUPPORTED;
  besom_status status = besom__config_read(config, &kind, &hasher);
  return status == BESOM_OK ? besom__filter_create(kind, config, &hasher, out) : status;
}

besom_status besom_create(const besom_config *config, besom_filter **out) {
  if (!config || !out) return BESOM_INVALID;
  besom_filter *f;
  besom_status status = besom__create_plain(config, &f);
  return status == BESOM_OK ? besom__hand_over(f, config->flags & BESOM_CONCURRENT, out) : status;
}

besom_status besom__hand_over(besom_filter *f, bool shared, besom_filter **out) {
  besom_status status = shared ? besom_share(f) : BESOM_OK;
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  return status;
}

besom_status besom__plain_like(const besom_filter *f, besom_filter **out) {
  const struct besom_kind *kind = besom__kind_named(f->kind->info.name);
  if (!kind->create_like) return BESOM_UNSUPPORTED;
  besom_filter *g;
  besom_status status = besom__filter_new(kind, &f->hasher, &f->allocator, &g);
  if (status != BESOM_OK) return status;
  g->capacity = f->capacity;
  status = kind->create_like(g, f);
  if (status == BESOM_OK)
    *out = g;
  else
    besom__filter_drop(g);
  return status;
}

besom_status besom_create_like(const besom_filter *f, besom_filter **out) {
  if (!f || !out) return BESOM_INVALID;
  struct visit v = besom__enter(f);
  besom_filter *g;
  besom_status status = besom__plain_like(v.filter, &g);
  besom__leave(v);
  return status == BESOM_OK ? besom__hand_over(g, f->front, out) : status;
}

/* ------------------------------------------------------------------ one key */

static besom_status left(struct visit v, besom_status status) {
  besom__leave(v);
  return status;
}

besom_digest besom_hash(const besom_filter *f, const void *key, size_t len) {
  if (!f || (!key && len)) return (besom_digest){0, 0};
  struct visit v = besom__enter(f);
  besom_digest d = hash_bytes(&v.filter->hasher, key, len);
  besom__leave(v);
  return d;
}

besom_digest besom_hash_u64(const besom_filter *f, uint64_t key) {
  if (!f) return (besom_digest){0, 0};
  struct visit v = besom__enter(f);
  besom_digest d = hash_u64(&v.filter->hasher, key);
  besom__leave(v);
  return d;
}

bool besom_contains(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(!f || (!key && len))) return true;
  struct visit v = besom__enter(f);
  besom_digest d = hash_bytes(&v.filter->hasher, key, len);
  bool by_key = v.filter->kind->contains_key;
  bool answer = UNLIKELY(by_key) ? v.filter->kind->contains_key(v.filter, key, len, d)
                                 : v.filter->kind->contains(v.filter, d);
  besom__leave(v);
  return answer;
}

/* For kinds that look at the key: its 8 little-endian bytes. */
static bool contains_u64_bytes(const besom_filter *f, uint64_t key) {
  uint8_t bytes[8];
  store64(bytes, key);
  return f->kind->contains_key(f, bytes, sizeof bytes, hash_u64(&f->hasher, key));
}

bool besom_contains_u64(const besom_filter *f, uint64_t key) {
  if (UNLIKELY(!f)) return true;
  struct visit v = besom__enter(f);
  bool by_key = v.filter->kind->contains_key;
  bool answer = UNLIKELY(by_key)
                    ? contains_u64_bytes(v.filter, key)
                    : v.filter->kind->contains(v.filter, hash_u64(&v.filter->hasher, key));
  besom__leave(v);
  return answer;
}

bool besom_contains_digest(const besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return true;
  struct visit v = besom__enter(f);
  bool answer = v.filter->kind->contains(v.filter, digest);
  besom__leave(v);
  return answer;
}

/* Checks what every changing call checks, enters, or leaves the caller with a status. */
#define ENTER_TO_CHANGE(v, f, operation, valid)                                             \
  do {                                                                                      \
    if (UNLIKELY(!(f))) return BESOM_INVALID;                                               \
    if (UNLIKELY(!(f)->kind->operation)) return BESOM_UNSUPPORTED;                          \
    besom_status allowed = LIKELY(valid) ? besom__enter_to_change(f, &(v)) : BESOM_INVALID; \
    if (UNLIKELY(allowed != BESOM_OK)) return allowed;                                      \
  } while (0)

/* The three forms of a changing call: a key of bytes, an integer, a digest. */
#define CHANGE_BY_KEY(operation)                                                                  \
  besom_status besom_##operation(besom_filter *f, const void *key, size_t len) {                  \
    struct visit v;                                                                               \
    ENTER_TO_CHANGE(v, f, operation, key || !len);                                                \
    return left(v, v.filter->kind->operation(v.filter, hash_bytes(&v.filter->hasher, key, len))); \
  }                                                                                               \
  besom_status besom_##operation##_u64(besom_filter *f, uint64_t key) {                           \
    struct visit v;                                                                               \
    ENTER_TO_CHANGE(v, f, operation, true);                                                       \
    return left(v, v.filter->kind->operation(v.filter, hash_u64(&v.filter->hasher, key)));        \
  }                                                                                               \
  besom_status besom_##operation##_digest(besom_filter *f, besom_digest digest) {                 \
    struct visit v;                                                                               \
    ENTER_TO_CHANGE(v, f, operation, true);                                                       \
    return left(v, v.filter->kind->operation(v.filter, digest));                                  \
  }

CHANGE_BY_KEY(insert)
CHANGE_BY_KEY(remove)
CHANGE_BY_KEY(adapt)
CHANGE_BY_KEY(no_add)
CHANGE_BY_KEY(no_remove)

/* The three forms of a question about one key that has a result beside the status. */
#define ASK_BY_KEY(operation, result)                                                              \
  besom_status besom_##operation(const besom_filter *f, const void *key, size_t len,               \
                                 uint64_t *result) {                                               \
    if (!f || !(result) || (!key && len)) return BESOM_INVALID;                                    \
    if (!f->kind->operation) return BESOM_UNSUPPORTED;                                             \
    struct visit v = besom__enter(f);                                                              \
    return left(                                                                                   \
        v, v.filter->kind->operation(v.filter, hash_bytes(&v.filter->hasher, key, len), result));  \
  }                                                                                                \
  besom_status besom_##operation##_u64(const besom_filter *f, uint64_t key, uint64_t *result) {    \
    if (!f || !(result)) return BESOM_INVALID;                                                     \
    if (!f->kind->operation) return BESOM_UNSUPPORTED;                                             \
    struct visit v = besom__enter(f);                                                              \
    return left(v, v.filter->kind->operation(v.filter, hash_u64(&v.filter->hasher, key), result)); \
  }                                                                                                \
  besom_status besom_##operation##_digest(const besom_filter *f, besom_digest digest,              \
                                          uint64_t *result) {                                      \
    if (!f || !(result)) return BESOM_INVALID;                                                     \
    if (!f->kind->operation) return BESOM_UNSUPPORTED;                                             \
    struct visit v = besom__enter(f);                                                              \
    return left(v, v.filter->kind->operation(v.filter, digest, result));                           \
  }

ASK_BY_KEY(count, n)
ASK_BY_KEY(get_value, value)

/* The three forms of a change that takes a number beside the key. */
#define CHANGE_BY_KEY_AND_NUMBER(operation, number, valid)                                         \
  besom_status besom_##operation(besom_filter *f, const void *key, size_t len, uint64_t number) {  \
    struct visit v;                                                                                \
    ENTER_TO_CHANGE(v, f, operation, (key || !len) && (valid));                                    \
    return left(                                                                                   \
        v, v.filter->kind->operation(v.filter, hash_bytes(&v.filter->hasher, key, len), number));  \
  }                                                                                                \
  besom_status besom_##operation##_u64(besom_filter *f, uint64_t key, uint64_t number) {           \
    struct visit v;                                                                                \
    ENTER_TO_CHANGE(v, f, operation, valid);                                                       \
    return left(v, v.filter->kind->operation(v.filter, hash_u64(&v.filter->hasher, key), number)); \
  }                                                                                                \
  besom_status besom_##operation##_digest(besom_filter *f, besom_digest digest, uint64_t number) { \
    struct visit v;                                                                                \
    ENTER_TO_CHANGE(v, f, operation, valid);                                                       \
    return left(v, v.filter->kind->operation(v.filter, digest, number));                           \
  }

CHANGE_BY_KEY_AND_NUMBER(insert_count, n, n > 0)
CHANGE_BY_KEY_AND_NUMBER(set_value, value, true)

/* ------------------------------------------------------------------ in front of a store */

besom_status besom_bind(besom_filter *f, const besom_reverse *reverse) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, bind, !reverse || reverse->digest_of);
  besom_status status = v.filter->kind->bind(v.filter, reverse);
  if (status == BESOM_OK) v.filter->bound = reverse;
  return left(v, status);
}

besom_status besom_bind_source(besom_filter *f, const besom_source *members) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, bind_source, !members || (members->next && members->rewind));
  return left(v, v.filter->kind->bind_source(v.filter, members));
}

besom_status besom_matches(const besom_filter *f, besom_digest digest, besom_match *out, size_t cap,
                           size_t *total) {
  if (!f || !total || (!out && cap)) return BESOM_INVALID;
  if (!f->kind->matches) return BESOM_UNSUPPORTED;
  struct visit v = besom__enter(f);
  return left(v, v.filter->kind->matches(v.filter, digest, out, cap, total));
}

besom_status besom_insert_at(besom_filter *f, besom_digest digest, uint64_t value,
                             besom_match *match) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, insert_at, match);
  return left(v, v.filter->kind->insert_at(v.filter, digest, value, match));
}

besom_status besom_remove_at(besom_filter *f, besom_match match) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, remove_at, true);
  return left(v, v.filter->kind->remove_at(v.filter, match));
}

besom_status besom_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                            besom_digest stored) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, adapt_at, true);
  return left(v, v.filter->kind->adapt_at(v.filter, offender, match, stored));
}

besom_status besom__with_key(besom_filter *f, besom_digest d,
                             besom_status (*work)(void *ctx, besom_filter *view), void *ctx) {
  struct visit v;
  besom_status status = besom__enter_to_change(f, &v);
  if (status != BESOM_OK) return status;
  bool shared = v.filter->kind->with_key;
  return left(v, shared ? v.filter->kind->with_key(v.filter, d, work, ctx) : work(ctx, v.filter));
}

besom_status besom_no_matches(const besom_filter *f, besom_digest digest, besom_match *out,
                              size_t cap, size_t *total) {
  if (!f || !total || (!out && cap)) return BESOM_INVALID;
  if (!f->kind->no_matches) return BESOM_UNSUPPORTED;
  struct visit v = besom__enter(f);
  return left(v, v.filter->kind->no_matches(v.filter, digest, out, cap, total));
}

besom_status besom_no_add_at(besom_filter *f, besom_digest digest, besom_match *match) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, no_add_at, match);
  return left(v, v.filter->kind->no_add_at(v.filter, digest, match));
}

besom_status besom_no_remove_at(besom_filter *f, besom_match match) {
  struct visit v;
  ENTER_TO_CHANGE(v, f, no_remove_at, true);
  return left(v, v.filter->kind->no_remove_at(v.filter, match));
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

static void hash_keys(const besom_filter *f, struct keys keys, size_t from, size_t n,
                      besom_digest *out) {
  if (keys.bytes)
    for (size_t i = 0; i < n; i++)
      out[i] = hash_bytes(&f->hasher, keys.bytes[from + i].data, keys.bytes[from + i].len);
  else
    for (size_t i = 0; i < n; i++) out[i] = hash_u64(&f->hasher, keys.integers[from + i]);
}

static besom_status all_yes(size_t n, uint64_t *bitmap) {
  for (size_t i = 0; bitmap && i < n; i += 64)
    bitmap[i / 64] = n - i < 64 ? bits_below((unsigned)(n - i)) : ~UINT64_C(0);
  return BESOM_INVALID;
}

/* One by one, for kinds that look at the keys. */
static besom_status contains_each(const besom_filter *f, struct keys keys, size_t n,
                                  uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) {
    bool yes = keys.bytes ? besom_contains(f, keys.bytes[i].data, keys.bytes[i].len)
                          : contains_u64_bytes(f, keys.integers[i]);
    if (i % 64 == 0) bitmap[i / 64] = 0;
    bitmap[i / 64] |= (uint64_t)yes << (i % 64);
  }
  return BESOM_OK;
}

static besom_status contains_keys(const besom_filter *f, struct keys keys, size_t n,
                                  uint64_t *bitmap) {
  if (!f || !bitmap || !keys_valid(keys, n)) return all_yes(n, bitmap);
  if (UNLIKELY(f->kind->contains_key != NULL)) return contains_each(f, keys, n, bitmap);
  besom_digest batch[BATCH];
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    struct visit v = besom__enter(f);
    hash_keys(v.filter, keys, i, some, batch);
    v.filter->kind->contains_many(v.filter, batch, some, bitmap + i / 64);
    besom__leave(v);
  }
  return BESOM_OK;
}

besom_status besom_contains_many(const besom_filter *f, const besom_bytes *keys, size_t n,
                                 uint64_t *bitmap) {
  return contains_keys(f, (struct keys){.bytes = keys}, n, bitmap);
}

besom_status besom_contains_many_u64(const besom_filter *f, const uint64_t *keys, size_t n,
                                     uint64_t *bitmap) {
  return contains_keys(f, (struct keys){.integers = keys}, n, bitmap);
}

besom_status besom_contains_many_digest(const besom_filter *f, const besom_digest *digests,
                                        size_t n, uint64_t *bitmap) {
  if (!f || !bitmap || (!digests && n)) return all_yes(n, bitmap);
  struct visit v = besom__enter(f);
  v.filter->kind->contains_many(v.filter, digests, n, bitmap);
  return left(v, BESOM_OK);
}

/* Hashes and inserts some keys, no more than a batch. */
static besom_status insert_some(besom_filter *f, struct keys keys, size_t from, size_t n,
                                size_t *done) {
  besom_digest batch[BATCH];
  struct visit v;
  *done = 0;
  ENTER_TO_CHANGE(v, f, insert_many, true);
  hash_keys(v.filter, keys, from, n, batch);
  return left(v, v.filter->kind->insert_many(v.filter, batch, n, done));
}

static besom_status insert_keys(besom_filter *f, struct keys keys, size_t n, size_t *done) {
  size_t ignored, inserted;
  if (!done) done = &ignored;
  *done = 0;
  if (!keys_valid(keys, n)) return BESOM_INVALID;
  besom_status status = insert_some(f, keys, 0, n < BATCH ? n : BATCH, done);
  for (size_t i = BATCH; i < n && status == BESOM_OK; i += BATCH) {
    status = insert_some(f, keys, i, n - i < BATCH ? n - i : BATCH, &inserted);
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

besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests, size_t n,
                                      size_t *done) {
  size_t ignored;
  if (!done) done = &ignored;
  *done = 0;
  struct visit v;
  ENTER_TO_CHANGE(v, f, insert_many, digests || !n);
  return left(v, v.filter->kind->insert_many(v.filter, digests, n, done));
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

/* Of two filters without fronts: a new plain one. */
static besom_status merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (strcmp(a->kind->info.name, b->kind->info.name) || !hashers_equal(&a->hasher, &b->hasher))
    return BESOM_INCOMPATIBLE;
  besom_filter *into;
  besom_status status = besom__plain_like(a, &into);
  if (status != BESOM_OK) return status;
  hold_both(a, b);
  status = into->kind->merge ? into->kind->merge(a, b, into) : BESOM_UNSUPPORTED;
  let_both_go(a, b);
  if (status == BESOM_OK)
    *out = into;
  else
    besom_free(into);
  return status;
}

besom_status besom_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (!a || !b || !out) return BESOM_INVALID;
  struct visit x = besom__enter(a), y = besom__enter(b);
  besom_filter *both = NULL;
  besom_status status = merge(x.filter, y.filter, &both);
  besom__leave(x);
  besom__leave(y);
  return status == BESOM_OK ? besom__hand_over(both, a->front, out) : status;
}

besom_status besom_iter_open(const besom_filter *f, besom_iter **out) {
  if (!f || !out) return BESOM_INVALID;
  if (!f->kind->iter_start) return BESOM_UNSUPPORTED;
  besom_iter *iter = besom__allocate(&f->allocator, sizeof *iter);
  if (!iter) return BESOM_NO_MEMORY;
  struct visit v = besom__enter(f);
  iter->filter = v.filter;
  iter->allocator = f->allocator;
  v.filter->kind->iter_start(iter);
  *out = iter;
  return left(v, BESOM_OK);
}

besom_status besom_iter_next(besom_iter *iter, besom_entry *entry) {
  if (!iter || !entry) return BESOM_INVALID;
  return iter->filter->kind->iter_next(iter, entry);
}

void besom_iter_close(besom_iter *iter) {
  if (!iter) return;
  besom_allocator allocator = iter->allocator;
  besom__release(&allocator, iter, sizeof *iter);
}

/* Of a filter without a front. */
static void take_stats(const besom_filter *f, besom_statistics *stats) {
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
}

besom_status besom_stats(const besom_filter *f, besom_statistics *stats) {
  if (!f || !stats) return BESOM_INVALID;
  struct visit v = besom__enter(f);
  take_stats(v.filter, stats);
  besom__leave(v);
  stats->bytes += besom__front_bytes(f);
  stats->bits_per_key = stats->items ? 8.0 * (double)stats->bytes / (double)stats->items : 0;
  return BESOM_OK;
}

besom_status besom_stats_layer(const besom_filter *f, size_t i, besom_statistics *stats) {
  if (!f || !stats) return BESOM_INVALID;
  if (!f->kind->layer) return BESOM_UNSUPPORTED;
  const besom_filter *layer = f->kind->layer(f, i);
  return layer ? besom_stats(layer, stats) : BESOM_END;
}

besom_status besom_validate(const besom_filter *f, const char **reason) {
  if (!f) return BESOM_INVALID;
  struct visit v = besom__enter(f);
  besom__hold(v.filter);
  const char *wrong = v.filter->kind->validate(v.filter);
  besom__let_go(v.filter);
  besom__leave(v);
  if (reason) *reason = wrong;
  return wrong ? BESOM_CORRUPT : BESOM_OK;
}
