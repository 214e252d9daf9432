/*
 * bloom: the plain Bloom filter (Bloom 1970), with any number of bits and hash functions. The
 * common baseline: no removal, no counting, no adaptation, and one cache miss per hash function.
 */
#include "bloom/bloom.h"

#include <math.h>

#include "core/options.h"
#include "core/system/memory.h"

#define LN2 0.693147180559945309417

static const struct bloom *as_const_bloom(const besom_filter *f) {
  return (const struct bloom *)f;
}

static struct bloom *as_bloom(besom_filter *f) {
  return (struct bloom *)f;
}

static uint64_t bloom_size_of(const struct bloom_bits *b) {
  return b->n_bits / 8;
}

/* ------------------------------------------------------------------ sizes */

/* The false-positive rate. */
static double fpr_of(double keys, double bits, double hashes) {
  return pow(-expm1(-hashes * keys / bits), hashes);
}

/* The bits per key with which this many hashes have the false-positive rate fpr at capacity. */
static double bits_for_fpr(double fpr, double hashes) {
  return -hashes / log1p(-pow(fpr, 1 / hashes));
}

static uint32_t whole_hashes(double hashes) {
  return hashes < 1 ? 1 : hashes > MAX_HASHES ? MAX_HASHES : (uint32_t)hashes;
}

/* The number of words is odd: rounded up, or down. */
static double odd_up(double words) {
  return 2 * ceil((words - 1) / 2) + 1;
}

static double odd_down(double words) {
  return 2 * floor((words - 1) / 2) + 1;
}

/* The better of the two integers around the optimal number of hashes; the size rounded up. */
static void plan_for_fpr(double fpr, double keys, double *words, uint32_t *hashes) {
  double best = -log2(fpr);
  uint32_t few = whole_hashes(floor(best)), many = whole_hashes(ceil(best));
  *hashes = bits_for_fpr(fpr, few) < bits_for_fpr(fpr, many) ? few : many;
  *words = odd_up(keys * bits_for_fpr(fpr, *hashes) / WORD_BITS);
}

/*
 * Does not depend on keys: computed for a large set, where rounding to whole words is negligible.
 */
static double bloom_bits_per_key(double keys, double *fpr) {
  double words;
  uint32_t hashes;
  plan_for_fpr(*fpr, 0x1p40, &words, &hashes);
  (void)keys;
  return words * WORD_BITS / 0x1p40;
}

/* The same for a budget of bits per key, which includes the head; the size rounded down. */
static void plan_for_bits(double budget, double keys, double *words, uint32_t *hashes) {
  *words = odd_down((budget * keys - 8 * (double)sizeof(struct bloom)) / WORD_BITS);
  double bits = *words * WORD_BITS, best = bits / keys * LN2;
  uint32_t few = whole_hashes(floor(best)), many = whole_hashes(ceil(best));
  *hashes = fpr_of(keys, bits, few) < fpr_of(keys, bits, many) ? few : many;
}

/* ------------------------------------------------------------------ create and destroy */

const struct bloom_ops *besom__bloom_ops_portable(uint32_t hashes);
#ifdef BESOM_X86_VARIANTS
const struct bloom_ops *besom__bloom_ops_avx2(uint32_t hashes);
const struct bloom_ops *besom__bloom_ops_avx512(uint32_t hashes);
#endif

static const struct bloom_ops *bloom_ops_of(enum isa isa, uint32_t hashes) {
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return besom__bloom_ops_avx512(hashes);
  if (isa == ISA_AVX2) return besom__bloom_ops_avx2(hashes);
#endif
  (void)isa;
  return besom__bloom_ops_portable(hashes);
}

/* Sets the geometry of a filter whose words exist already. */
static void set_words(besom_filter *f, struct bloom_bits geometry, enum isa isa, uint8_t *words) {
  as_bloom(f)->bits = geometry;
  as_bloom(f)->bits.words = words;
  as_bloom(f)->ops = bloom_ops_of(isa, geometry.hashes);
}

static besom_status make_words(besom_filter *f, struct bloom_bits geometry, enum isa isa) {
  uint8_t *words = besom__allocate(&f->allocator, bloom_size_of(&geometry));
  if (!words) return BESOM_NO_MEMORY;
  set_words(f, geometry, isa, words);
  return BESOM_OK;
}

static besom_status bloom_create(besom_filter *f, const besom_config *config) {
  enum isa isa;
  besom_status status = besom__option_isa(&f->kind->options, config->options, &isa);
  if (status != BESOM_OK) return status;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double words;
  struct bloom_bits geometry = {0};
  if (config->bits_per_key != 0)
    plan_for_bits(config->bits_per_key, (double)most, &words, &geometry.hashes);
  else
    plan_for_fpr(config->fpr != 0 ? config->fpr : DEFAULT_FPR, (double)most, &words,
                 &geometry.hashes);
  if (!(words >= 1 && words < ldexp(1, 53))) return BESOM_INVALID;
  f->capacity = most;
  geometry.n_bits = (uint64_t)words * WORD_BITS;
  return make_words(f, geometry, isa);
}

static besom_status bloom_create_like(besom_filter *f, const besom_filter *model) {
  return make_words(f, as_const_bloom(model)->bits, as_const_bloom(model)->ops->isa);
}

static void bloom_destroy(besom_filter *f) {
  const struct bloom_bits *b = &as_bloom(f)->bits;
  if (!f->mapping) besom__release(&f->allocator, b->words, bloom_size_of(b));
}

/* ------------------------------------------------------------------ keys */

static const struct query_calls *bloom_query_calls(const besom_filter *f) {
  return as_const_bloom(f)->ops && f->hasher.id == HASH_XXH3 ? &as_const_bloom(f)->ops->queries
                                                             : NULL;
}

static const struct insert_calls *bloom_insert_calls(const besom_filter *f) {
  return as_const_bloom(f)->ops && f->hasher.id == HASH_XXH3 ? &as_const_bloom(f)->ops->inserts
                                                             : NULL;
}

static bool bloom_contains(const besom_filter *f, besom_digest d) {
  return as_const_bloom(f)->ops->queries.contains_digest(f, d);
}

static void bloom_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                uint64_t *bitmap) {
  const struct bloom *b = as_const_bloom(f);
  b->ops->contains_many(&b->bits, d, n, bitmap);
}

static void bloom_prefetch(const besom_filter *f, besom_digest d) {
  const struct bloom *b = as_const_bloom(f);
  b->ops->prefetch(&b->bits, d);
}

static besom_status bloom_insert(besom_filter *f, besom_digest d) {
  return as_bloom(f)->ops->inserts.insert_digest(f, d);
}

/* Inserts as many keys at once as certainly fit; when the filter is full, one by one. */
static besom_status bloom_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                      size_t *done) {
  const struct bloom *b = as_bloom(f);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && f->items < f->capacity;) {
    uint64_t room = f->capacity - f->items;
    size_t some = n - *done < room ? n - *done : (size_t)room;
    b->ops->insert_many(f, d + *done, some);
    *done += some;
  }
  while (*done < n && (status = bloom_insert(f, d[*done])) == BESOM_OK) ++*done;
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* Keys that are in both filters are counted twice: the bits do not tell them. */
static besom_status bloom_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct bloom_bits *x = &as_const_bloom(a)->bits, *y = &as_const_bloom(b)->bits;
  if (x->n_bits != y->n_bits || x->hashes != y->hashes || a->capacity != b->capacity)
    return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  uint8_t *out = as_bloom(into)->bits.words;
  for (uint64_t i = 0; i < bloom_size_of(x); i += 8)
    store64(out + i, load64(x->words + i) | load64(y->words + i));
  return BESOM_OK;
}

static uint64_t bits_set(const struct bloom_bits *b) {
  uint64_t set = 0;
  for (uint64_t i = 0; i < bloom_size_of(b); i += 8) set += popcount(load64(b->words + i));
  return set;
}

static void bloom_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct bloom_bits *b = &as_const_bloom(f)->bits;
  s->isa = besom__isa_name(as_const_bloom(f)->ops->isa);
  s->slots = b->n_bits;
  s->width = b->hashes;
  s->bytes += bloom_size_of(b);
  s->load_factor = (double)bits_set(b) / (double)s->slots;
  s->expected_fpr = pow(s->load_factor, b->hashes);
  s->fpr_at_capacity = fpr_of((double)f->capacity, (double)s->slots, b->hashes);
}

static const char *bloom_validate(const besom_filter *f) {
  const struct bloom_bits *b = &as_const_bloom(f)->bits;
  uint64_t set = bits_set(b);
  if (f->items > f->capacity) return "there are more keys than the capacity";
  if (set / b->hashes > f->items || (set == 0) != (f->items == 0))
    return "the number of keys contradicts the bits";
  return NULL;
}

/* ------------------------------------------------------------------ files */

static void bloom_save(const besom_filter *f, struct sections_out *out) {
  const struct bloom_bits *b = &as_const_bloom(f)->bits;
  besom__write_u64(&out->parameters, b->n_bits);
  besom__write_u64(&out->parameters, b->hashes);
  add_section(out, TAG_BITS, b->words, bloom_size_of(b));
}

static besom_status bloom_load(besom_filter *f, struct sections_in *in) {
  uint64_t n_bits = besom__read_u64(&in->parameters), hashes = besom__read_u64(&in->parameters);
  const struct section *saved = take_section(in, TAG_BITS);
  if (!saved || hashes == 0 || hashes > MAX_HASHES) return BESOM_CORRUPT;
  if (n_bits % (2 * WORD_BITS) != WORD_BITS || saved->len != n_bits / 8) return BESOM_CORRUPT;
  if (f->capacity == 0 || f->capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  struct bloom_bits geometry = {.n_bits = n_bits, .hashes = (uint32_t)hashes};
  if (f->mapping) {
    set_words(f, geometry, besom__isa_best(), (uint8_t *)(uintptr_t)saved->data);
    return BESOM_OK;
  }
  besom_status status = make_words(f, geometry, besom__isa_best());
  if (status == BESOM_OK) memcpy(as_bloom(f)->bits.words, saved->data, (size_t)saved->len);
  return status;
}

const struct besom_kind besom__bloom = {
    .name = "bloom",
    .summary = "Bloom filter: inserts and merges only",
    .also = BESOM_CAN_REKEY,
    .size = sizeof(struct bloom),
    .options = ISA_ONLY,
    .create = bloom_create,
    .create_like = bloom_create_like,
    .destroy = bloom_destroy,
    .bits_per_key = bloom_bits_per_key,
    .stats = bloom_stats,
    .query = {.calls = bloom_query_calls,
              .contains = bloom_contains,
              .contains_many = bloom_contains_many,
              .prefetch = bloom_prefetch},
    .change = &(const struct change_ops){.calls = bloom_insert_calls,
                                         .insert = bloom_insert,
                                         .insert_many = bloom_insert_many},
    .whole = &(const struct whole_ops){.merge = bloom_merge},
    .file = &(
        const struct file_ops){.validate = bloom_validate, .save = bloom_save, .load = bloom_load},
};
