/*
 * blocked-bloom: a Bloom filter in which all bits of a key are in one cache line (Putze, Sanders,
 * Singler 2007). They are spread over the words of the line, so that vector instructions set and
 * test them together. It is the fastest kind on large sets. It needs more bits per key than a plain
 * Bloom filter; the lower the false-positive rate, the more.
 */
#include "bloom/blocked.h"

#include <math.h>

#include "bloom/blocked_geometry.h"
#include "core/hash.h"
#include "core/options.h"
#include "core/system/memory.h"
#include "kind.h"

static const struct blocked_bloom *as_const_blocked(const besom_filter *f) {
  return (const struct blocked_bloom *)f;
}

static struct blocked_bloom *as_blocked(besom_filter *f) {
  return (struct blocked_bloom *)f;
}

static uint64_t blocked_size_of(const struct blocked *b) {
  return b->n_lines * LINE_BYTES;
}

static uint64_t memory_of(const struct blocked *b) {
  return blocked_size_of(b) + LINE_BYTES - 1;
}

/* The bits that a key sets and a query tests. */
static uint32_t hashes_of(const struct blocked *b) {
  return 4 * b->shape;
}

/* ------------------------------------------------------------------ create and destroy */

const struct blocked_ops *besom__blocked_ops_portable(unsigned shape);
#ifdef BESOM_X86_VARIANTS
const struct blocked_ops *besom__blocked_ops_avx2(unsigned shape);
const struct blocked_ops *besom__blocked_ops_avx512(unsigned shape);
#endif

const struct blocked_ops *besom__blocked_ops(enum isa isa, unsigned shape) {
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return besom__blocked_ops_avx512(shape);
  if (isa == ISA_AVX2) return besom__blocked_ops_avx2(shape);
#endif
  (void)isa;
  return besom__blocked_ops_portable(shape);
}

/* Sets the geometry of a filter whose lines exist already. */
static void set_lines(besom_filter *f, struct blocked geometry, enum isa isa, uint8_t *lines) {
  as_blocked(f)->blocked = geometry;
  as_blocked(f)->blocked.lines = lines;
  as_blocked(f)->isa = isa;
  as_blocked(f)->ops = besom__blocked_ops(isa, geometry.shape);
}

static besom_status make_lines(besom_filter *f, struct blocked geometry, enum isa isa) {
  uint8_t *memory = besom__allocate(&f->allocator, memory_of(&geometry));
  if (!memory) return BESOM_NO_MEMORY;
  as_blocked(f)->memory = memory;
  set_lines(f, geometry, isa, memory + (-(uintptr_t)memory & (LINE_BYTES - 1)));
  return BESOM_OK;
}

/* The geometry for a target false-positive rate, or for a budget of bits per key. */
static besom_status blocked_plan(const besom_config *config, double keys,
                                 struct blocked_geometry *shape) {
  double rate = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key == 0) {
    if (rate < MIN_PLANNED_FPR) return BESOM_INVALID;
    *shape = besom__blocked_geometry_for_fpr(keys, rate);
  } else {
    double budget =
        config->bits_per_key * keys - 8 * (double)(sizeof(struct blocked_bloom) + LINE_BYTES - 1);
    double lines = floor(budget / LINE_BITS);
    if (lines < 1) return BESOM_INVALID;
    *shape = besom__blocked_geometry_for_lines(keys, lines);
  }
  return shape->lines < ldexp(1, 50) ? BESOM_OK : BESOM_INVALID;
}

static besom_status blocked_create(besom_filter *f, const besom_config *config) {
  enum isa isa;
  struct blocked_geometry shape;
  besom_status status = besom__option_isa(&f->kind->options, config->options, &isa);
  if (status != BESOM_OK) return status;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  f->capacity = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  status = blocked_plan(config, (double)f->capacity, &shape);
  if (status != BESOM_OK) return status;
  struct blocked geometry = {.n_lines = (uint64_t)shape.lines,
                             .shape = 2 * shape.full_layers + shape.half_layer};
  return make_lines(f, geometry, isa);
}

static besom_status blocked_create_like(besom_filter *f, const besom_filter *model) {
  return make_lines(f, as_const_blocked(model)->blocked, as_const_blocked(model)->isa);
}

static void blocked_destroy(besom_filter *f) {
  if (!f->mapping)
    besom__release(&f->allocator, as_blocked(f)->memory, memory_of(&as_blocked(f)->blocked));
}

/*
 * Does not depend on keys: computed for a large set, where rounding to whole lines is negligible.
 */
static double blocked_bits_per_key(double keys, double *fpr) {
  (void)keys;
  return besom__blocked_geometry_for_fpr(0x1p30, *fpr).lines * LINE_BITS / 0x1p30;
}

/* ------------------------------------------------------------------ keys */

static const struct query_calls *blocked_query_calls(const besom_filter *f) {
  return as_const_blocked(f)->ops && f->hasher.id == HASH_XXH3 ? &as_const_blocked(f)->ops->queries
                                                               : NULL;
}

static const struct insert_calls *blocked_insert_calls(const besom_filter *f) {
  return as_const_blocked(f)->ops && f->hasher.id == HASH_XXH3 ? &as_const_blocked(f)->ops->inserts
                                                               : NULL;
}

static bool blocked_inline_facts(const besom_filter *f, uint32_t layout, besom_inline_facts *out) {
  const struct blocked *b = blocked_of(f);
  if (layout != BESOM_INLINE_BLOCKED_BLOOM || b->shape != 2) return false;
  out->bits = b->lines;
  out->number[0] = b->n_lines;
  return true;
}

static bool blocked_contains(const besom_filter *f, besom_digest d) {
  return as_const_blocked(f)->ops->queries.contains_digest(f, d);
}

static void blocked_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  const struct blocked_bloom *b = as_const_blocked(f);
  b->ops->contains_many(&b->blocked, d, n, bitmap);
}

static void blocked_prefetch(const besom_filter *f, besom_digest d) {
  const struct blocked *b = &as_const_blocked(f)->blocked;
  __builtin_prefetch(b->lines + LINE_BYTES * (size_t)scaled(d.hi, b->n_lines));
}

static besom_status blocked_insert(besom_filter *f, besom_digest d) {
  return as_blocked(f)->ops->inserts.insert_digest(f, d);
}

/* Inserts as many keys at once as certainly fit; when the filter is full, one by one. */
static besom_status blocked_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done) {
  struct blocked_bloom *b = as_blocked(f);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && f->items < f->capacity;) {
    uint64_t room = f->capacity - f->items;
    size_t some = n - *done < room ? n - *done : (size_t)room;
    f->items += b->ops->insert_many(&b->blocked, d + *done, some);
    *done += some;
  }
  while (*done < n && (status = blocked_insert(f, d[*done])) == BESOM_OK) ++*done;
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* Keys that are in both filters are counted twice: the bits do not tell them. */
static besom_status blocked_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  const struct blocked *x = &as_const_blocked(a)->blocked, *y = &as_const_blocked(b)->blocked;
  if (x->n_lines != y->n_lines || hashes_of(x) != hashes_of(y) || a->capacity != b->capacity)
    return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  uint8_t *out = as_blocked(into)->blocked.lines;
  for (uint64_t i = 0; i < blocked_size_of(x); i += 8)
    store64(out + i, load64(x->lines + i) | load64(y->lines + i));
  return BESOM_OK;
}

/* Adds the set bits of a line to *set. Returns the false-positive rate of a query for this line. */
static double fpr_of_line(const struct blocked *b, const uint8_t *line, uint64_t *set) {
  double fpr = 1;
  for (unsigned pair = 0; pair < 4; pair++) {
    unsigned first = popcount(load64(line + 16 * pair)),
             second = popcount(load64(line + 16 * pair + 8));
    for (unsigned i = 0; i < b->shape / 2; i++) fpr *= first * second / (64.0 * 64);
    if (b->shape % 2) fpr *= (first + second) / 128.0;
    *set += first + second;
  }
  return fpr;
}

static void blocked_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct blocked *b = &as_const_blocked(f)->blocked;
  struct blocked_geometry shape = {(double)b->n_lines, b->shape / 2, b->shape % 2};
  uint64_t set = 0;
  double rates = 0;
  for (uint64_t i = 0; i < b->n_lines; i++)
    rates += fpr_of_line(b, b->lines + LINE_BYTES * i, &set);
  s->isa = besom__isa_name(as_const_blocked(f)->isa);
  s->slots = b->n_lines * LINE_BITS;
  s->width = hashes_of(b);
  s->bytes += memory_of(b);
  s->load_factor = (double)set / (double)s->slots;
  s->expected_fpr = rates / (double)b->n_lines;
  s->fpr_at_capacity = besom__blocked_fpr(&shape, (double)f->capacity);
}

static const char *blocked_validate(const besom_filter *f) {
  const struct blocked *b = &as_const_blocked(f)->blocked;
  uint64_t set = 0;
  for (uint64_t i = 0; i < blocked_size_of(b); i += 8) set += popcount(load64(b->lines + i));
  if (f->items > f->capacity) return "there are more keys than the capacity";
  if (set / hashes_of(b) > f->items || (set == 0) != (f->items == 0))
    return "the number of keys contradicts the bits";
  return NULL;
}

/* ------------------------------------------------------------------ files */

static void blocked_save(const besom_filter *f, struct sections_out *out) {
  const struct blocked *b = &as_const_blocked(f)->blocked;
  besom__write_u64(&out->parameters, b->n_lines);
  besom__write_u64(&out->parameters, hashes_of(b));
  add_section(out, TAG_BITS, b->lines, blocked_size_of(b));
}

static besom_status blocked_load(besom_filter *f, struct sections_in *in) {
  uint64_t n_lines = besom__read_u64(&in->parameters), bits = besom__read_u64(&in->parameters);
  const struct section *saved = take_section(in, TAG_BITS);
  if (!saved || bits == 0 || bits % 4 || bits > 4 * MAX_SHAPE) return BESOM_CORRUPT;
  if (n_lines % 2 == 0 || n_lines != saved->len / LINE_BYTES || saved->len % LINE_BYTES)
    return BESOM_CORRUPT;
  if (f->capacity == 0 || f->capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  struct blocked geometry = {.n_lines = n_lines, .shape = (unsigned)bits / 4};
  if (f->mapping) {
    set_lines(f, geometry, besom__isa_best(), (uint8_t *)(uintptr_t)saved->data);
    return BESOM_OK;
  }
  besom_status status = make_lines(f, geometry, besom__isa_best());
  if (status == BESOM_OK) memcpy(as_blocked(f)->blocked.lines, saved->data, (size_t)saved->len);
  return status;
}

const struct besom_kind besom__blocked_bloom = {
    .name = "blocked-bloom",
    .summary = "Bloom filter of one cache line per key: the fastest; inserts and merges only",
    .also = BESOM_CAN_REKEY,
    .size = sizeof(struct blocked_bloom),
    .options = ISA_ONLY,
    .create = blocked_create,
    .create_like = blocked_create_like,
    .destroy = blocked_destroy,
    .bits_per_key = blocked_bits_per_key,
    .stats = blocked_stats,
    .query = {.few_keys = 10,
              .calls = blocked_query_calls,
              .contains = blocked_contains,
              .contains_many = blocked_contains_many,
              .prefetch = blocked_prefetch,
              .inline_facts = NOT_IN_MODULE(blocked_inline_facts)},
    .change = &(const struct change_ops){.calls = blocked_insert_calls,
                                         .insert = blocked_insert,
                                         .insert_many = blocked_insert_many},
    .whole = &(const struct whole_ops){.merge = blocked_merge},
    .file = &(const struct file_ops){.validate = blocked_validate,
                                     .save = blocked_save,
                                     .load = blocked_load},
};
