/*
 * cached: a filter of any kind with a small cache of its false positives (the cache-augmented
 * filter of Bender et al., "Adapt or Cache?", 2021). Keys in the cache are answered no. The
 * baseline for adaptive filters: a system with a cache has this much adaptivity anyway. It forgets:
 * an evicted key is a false positive again, so an adversary with more false positives than the
 * cache holds always finds one.
 *
 * The cache holds whole digests, so a cached key hides a member only if all 128 bits are equal.
 */
#include <math.h>

#include "kinds.h"
#include "layers/layer.h"
#include "papers/cached/cache.h"

#define DEFAULT_RESERVE 0.05
#define TAG_CACHE SECTION_TAG('C', 'A', 'C', 'H')

struct cached {
  besom_filter head;
  besom_filter *base;
  struct cache cache;
};

static const struct cached *const_cached(const besom_filter *f) {
  return (const struct cached *)f;
}

static struct cached *cached(besom_filter *f) {
  return (struct cached *)f;
}

/* The numbers of the outer filter are those of the base. */
static void follow_base(besom_filter *f) {
  f->items = cached(f)->base->items;
  f->capacity = cached(f)->base->capacity;
}

/* ------------------------------------------------------------------ create and destroy */

struct cached_values {
  besom_bytes base;
  uint64_t cache, cache_bits;
};

static const struct option_row cached_rows[] = {
    OPTION_ROW(cached_values, base, BESOM_OPTION_KIND, .standard = "qf",
               .meaning = "the kind of the filter"),
    OPTION_WORDS(cached_values, cache, "lru, topk", /* in the order of enum cache_policy */
                 "evict the least recently, or the least frequently, queried digest"),
    OPTION_NUMBER(cached_values, cache_bits, NUMBER, 1, UINT64_MAX, "`reserve` of the base",
                  "size of the cache in bits"),
};

/* The bits per key for the base, after the cache has its part of the budget. */
static double base_bits(const besom_config *config, const struct cached_values *o, double share) {
  double keys = (double)config->capacity,
         rest = config->bits_per_key - 8.0 * sizeof(struct cached) / keys;
  double bucket = 8.0 * CACHE_BUCKET_BYTES / keys; /* a cache has at least one */
  if (o->cache_bits != OPTION_UNSET) return rest - fmax((double)o->cache_bits / keys, bucket);
  return fmin(rest / (1 + share), rest - bucket);
}

static besom_status make_cache(struct cached *c, double bytes) {
  double buckets = floor(bytes / (double)CACHE_BUCKET_BYTES);
  c->cache.buckets = buckets < 1 ? 1 : buckets < 0x1p48 ? (uint64_t)buckets : UINT64_C(1) << 48;
  return besom__cache_make(&c->cache, &c->head.allocator);
}

static besom_status cached_create(besom_filter *f, const besom_config *config) {
  struct cached *c = cached(f);
  struct cached_values o;
  struct layer_kind of_base;
  besom_config base = *config;
  double share = config->reserve != 0 ? config->reserve : DEFAULT_RESERVE;
  besom_status status = besom__layered_options_read(f->kind, config->options, &o, &of_base);
  if (status != BESOM_OK) return status;
  if (config->value_bits) return BESOM_INVALID;
  base.reserve = 0;
  if (config->bits_per_key != 0 && !((base.bits_per_key = base_bits(config, &o, share)) > 0))
    return BESOM_INVALID;
  status = besom__layer_create(f, &of_base, &base, &c->base);
  if (status != BESOM_OK) return status;
  besom_statistics stats;
  besom_stats(c->base, &stats);
  c->cache.policy = (enum cache_policy)o.cache;
  status = make_cache(c, o.cache_bits == OPTION_UNSET ? share * (double)stats.bytes
                                                      : (double)o.cache_bits / 8);
  if (status == BESOM_OK)
    follow_base(f);
  else
    besom_free(c->base);
  return status;
}

static besom_status cached_create_like(besom_filter *f, const besom_filter *model) {
  const struct cached *m = const_cached(model);
  struct cached *c = cached(f);
  c->cache.buckets = m->cache.buckets;
  c->cache.policy = m->cache.policy;
  besom_status status = besom_create_like(m->base, &c->base);
  if (status != BESOM_OK) return status;
  status = besom__cache_make(&c->cache, &f->allocator);
  if (status != BESOM_OK) besom_free(c->base);
  return status;
}

static void cached_destroy(besom_filter *f) {
  besom__cache_free(&cached(f)->cache, &f->allocator);
  besom_free(cached(f)->base);
}

/* ------------------------------------------------------------------ queries */

static bool cached_contains(const besom_filter *f, besom_digest d) {
  const struct cached *c = const_cached(f);
  return c->base->kind->query.contains(c->base, d) &&
         !(c->cache.count && besom__cache_has(&c->cache, d));
}

static void cached_prefetch(const besom_filter *f, besom_digest d) {
  layer_prefetch(const_cached(f)->base, d);
}

/* Queries the base, and looks up each yes in the cache. */
static void cached_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                 uint64_t *bitmap) {
  const struct cached *c = const_cached(f);
  c->base->kind->query.contains_many(c->base, d, n, bitmap);
  if (!c->cache.count) return;
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      if (besom__cache_has(&c->cache, d[i + j])) bitmap[i / 64] &= ~(UINT64_C(1) << j);
    }
}

static besom_status cached_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct cached *c = const_cached(f);
  *n = 0;
  if (!c->base->kind->query.count) return BESOM_UNSUPPORTED;
  if (c->cache.count && besom__cache_has(&c->cache, d)) return BESOM_OK;
  return c->base->kind->query.count(c->base, d, n);
}

/* ------------------------------------------------------------------ changes */

static besom_status cached_insert(besom_filter *f, besom_digest d) {
  struct cached *c = cached(f);
  besom_status status = c->base->kind->change->insert(c->base, d);
  if (status == BESOM_OK) besom__cache_remove(&c->cache, d);
  follow_base(f);
  return status;
}

static besom_status cached_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                       size_t *done) {
  struct cached *c = cached(f);
  besom_status status = c->base->kind->change->insert_many(c->base, d, n, done);
  for (size_t i = 0; c->cache.count && i < *done; i++) besom__cache_remove(&c->cache, d[i]);
  follow_base(f);
  return status;
}

static besom_status cached_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct cached *c = cached(f);
  if (!KIND_HAS(c->base->kind, change, insert_count)) return BESOM_UNSUPPORTED;
  besom_status status = c->base->kind->change->insert_count(c->base, d, n);
  if (status == BESOM_OK) besom__cache_remove(&c->cache, d);
  follow_base(f);
  return status;
}

static besom_status cached_remove(besom_filter *f, besom_digest d) {
  struct cached *c = cached(f);
  if (!KIND_HAS(c->base->kind, change, remove)) return BESOM_UNSUPPORTED;
  if (besom__cache_has(&c->cache, d)) return BESOM_NOT_FOUND;
  besom_status status = c->base->kind->change->remove(c->base, d);
  follow_base(f);
  return status;
}

/* If the cache has the key already, this counts as one more use. */
static besom_status cached_adapt(besom_filter *f, besom_digest d) {
  struct cached *c = cached(f);
  if (!c->base->kind->query.contains(c->base, d)) return BESOM_OK;
  return besom__cache_add(&c->cache, d) ? BESOM_EVICTED : BESOM_OK;
}

void besom__cached_ignore_uses(besom_filter *f) {
  const besom_filter *part;
  if (is_kind(f->kind, &besom__cached)) cached(f)->cache.ignores_uses = true;
  for (size_t i = 0; (part = besom_layer(f, i)); i++)
    besom__cached_ignore_uses((besom_filter *)(uintptr_t)part);
}

/* ------------------------------------------------------------------ whole filters */

/* An entry of one filter's cache is kept if the other filter does not hold the key. */
static void merge_cache(struct cache *into, const struct cache *from, const besom_filter *other) {
  for (uint64_t i = 0; i < from->buckets * CACHE_WAYS; i++) {
    besom_digest d = besom__cache_at(from, i);
    if ((d.hi || d.lo) && !cached_contains(other, d)) besom__cache_add(into, d);
  }
}

static besom_status cached_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct cached *x = const_cached(a), *y = const_cached(b);
  if (x->base->kind != y->base->kind) return BESOM_INCOMPATIBLE;
  if (!KIND_HAS(x->base->kind, whole, merge)) return BESOM_UNSUPPORTED;
  besom_status status = x->base->kind->whole->merge(x->base, y->base, cached(into)->base);
  if (status != BESOM_OK) return status;
  merge_cache(&cached(into)->cache, &x->cache, b);
  merge_cache(&cached(into)->cache, &y->cache, a);
  follow_base(into);
  return BESOM_OK;
}

static besom_status cached_resize_start(besom_filter *fresh, const besom_filter *f,
                                        uint64_t slots) {
  const besom_filter *base = const_cached(f)->base;
  if (!KIND_HAS(base->kind, whole, resize_start)) return BESOM_UNSUPPORTED;
  besom_filter *larger;
  besom_status status = besom__filter_new(base->kind, &base->hasher, &base->allocator, &larger);
  if (status != BESOM_OK) return status;
  larger->items = base->items;
  larger->is_set = base->is_set;
  status = base->kind->whole->resize_start(larger, base, slots);
  if (status == BESOM_OK)
    cached(fresh)->base = larger;
  else
    besom__filter_drop(larger);
  return status;
}

/* The cache is moved unchanged: it holds whole digests, which do not depend on the table. */
static besom_status cached_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                       bool *finished) {
  struct cached *c = cached(fresh), *old = cached(f);
  besom_status status = c->base->kind->whole->resize_step(c->base, old->base, max, finished);
  if (status != BESOM_OK || !*finished) return status;
  c->cache = old->cache;
  old->cache = (struct cache){.buckets = 0};
  follow_base(fresh);
  return BESOM_OK;
}

static besom_status cached_append(besom_filter *f, const besom_digest_source *digests,
                                  const besom_progress *progress) {
  struct cached *c = cached(f);
  if (!KIND_HAS(c->base->kind, whole, append)) return BESOM_UNSUPPORTED;
  besom_status status = c->base->kind->whole->append(c->base, digests, progress);
  follow_base(f);
  return status;
}

static void cached_stats(const besom_filter *f, struct stats_out *out) {
  const struct cached *c = const_cached(f);
  out->common.bytes += c->base->kind->size + c->cache.buckets * CACHE_BUCKET_BYTES;
  c->base->kind->stats(c->base, out);
  besom__add_to_counter(out, (besom_counter){"exceptions", c->cache.count});
  out->common.reserve_used = (double)c->cache.count / (double)(c->cache.buckets * CACHE_WAYS);
}

/* What the base can do, as far as cached passes it on; adapting, and rekeying by inserts. */
static unsigned cached_abilities(const besom_filter *f) {
  const besom_filter *base = const_cached(f)->base;
  unsigned own = BESOM_CAN_ADAPT | BESOM_FORGETS | BESOM_CAN_REKEY, all = kind_abilities(f->kind);
  return own | (all & besom__own_abilities(base));
}

static const besom_filter *cached_layer(const besom_filter *f, size_t i) {
  return i == 0 ? const_cached(f)->base : NULL;
}

static const char *cached_validate(const besom_filter *f) {
  const struct cached *c = const_cached(f);
  if (f->items != c->base->items || f->capacity != c->base->capacity)
    return "the numbers of keys differ from those of the base";
  const char *wrong = c->base->kind->file->validate(c->base);
  return wrong ? wrong : besom__cache_check(&c->cache);
}

/* ------------------------------------------------------------------ files */

static void cached_save(const besom_filter *f, struct sections_out *out) {
  const struct cached *c = const_cached(f);
  besom__write_u64(&out->parameters, c->cache.buckets);
  besom__write_u64(&out->parameters, c->cache.count);
  besom__write_u64(&out->parameters, c->cache.policy);
  add_section(out, TAG_CACHE, c->cache.digests,
              c->cache.buckets * CACHE_WAYS * sizeof *c->cache.digests);
  besom__layer_save(c->base, out);
}

static besom_status load_cache(besom_filter *f, struct sections_in *in) {
  struct cache *c = &cached(f)->cache;
  uint64_t buckets = besom__read_u64(&in->parameters), count = besom__read_u64(&in->parameters);
  uint64_t policy = besom__read_u64(&in->parameters);
  const struct section *saved = take_section(in, TAG_CACHE);
  size_t bucket = CACHE_WAYS * sizeof *c->digests;
  if (!saved || buckets == 0 || saved->len % bucket || buckets != saved->len / bucket)
    return BESOM_CORRUPT;
  if (policy > CACHE_TOPK || count > buckets * CACHE_WAYS) return BESOM_CORRUPT;
  *c = (struct cache){.buckets = buckets,
                      .count = count,
                      .policy = (enum cache_policy)policy,
                      .borrowed = f->mapping != NULL};
  if (c->borrowed) c->digests = (besom_digest *)(uintptr_t)saved->data;
  besom_status status = besom__cache_make(c, &f->allocator);
  if (status == BESOM_OK && !c->borrowed) memcpy(c->digests, saved->data, (size_t)saved->len);
  return status;
}

static besom_status cached_load(besom_filter *f, struct sections_in *in) {
  besom_status status = load_cache(f, in);
  if (status != BESOM_OK) return status;
  status = besom__layer_load(f, in, &cached(f)->base);
  if (status == BESOM_OK && is_kind(cached(f)->base->kind, &besom__cached)) status = BESOM_CORRUPT;
  if (status != BESOM_OK) cached_destroy(f);
  return status;
}

const struct besom_kind besom__cached = {
    .name = "cached",
    .summary = "a filter of another kind with a cache of false positives: adapts, but forgets",
    .also = BESOM_CAN_REKEY | BESOM_FORGETS,
    .size = sizeof(struct cached),
    .options = {OPTION_ROWS(cached_rows), .passes_on = true, .passes_reports = true},
    .takes_repeats = true,
    .create = cached_create,
    .create_like = cached_create_like,
    .destroy = cached_destroy,
    .keeps_reports = true,
    .stats = cached_stats,
    .abilities = cached_abilities,
    .layer = cached_layer,
    .query = {.contains = cached_contains,
              .contains_many = cached_contains_many,
              .prefetch = cached_prefetch,
              .count = cached_count},
    .change = &(const struct change_ops){.insert = cached_insert,
                                         .insert_many = cached_insert_many,
                                         .insert_count = cached_insert_count,
                                         .remove = cached_remove},
    .adapt = &(const struct adapt_ops){.adapt = cached_adapt},
    .whole = &(const struct whole_ops){.merge = cached_merge,
                                       .resize_start = cached_resize_start,
                                       .resize_step = cached_resize_step,
                                       .append = cached_append},
    .file = &(const struct file_ops){.validate = cached_validate,
                                     .save = cached_save,
                                     .load = cached_load},
};
