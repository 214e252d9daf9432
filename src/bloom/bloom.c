/*
 * bloom: the plain Bloom filter (Bloom 1970), with any number of bits and hash functions. The
 * common baseline: no removal, no counting, no adaptation, and one cache miss per hash function.
 */
#include <math.h>

#include "core/memory.h"
#include "core/options.h"
#include "filter.h"

#define LN2 0.693147180559945309417
#define MAX_HASHES 64
#define LINE_BITS 512

struct bloom {
  besom_filter head;
  uint8_t *bits;
  uint64_t n_bits; /* a multiple of LINE_BITS */
  uint32_t hashes;
};

static const struct bloom *const_bloom(const besom_filter *f) {
  return (const struct bloom *)f;
}

static struct bloom *bloom(besom_filter *f) {
  return (struct bloom *)f;
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

/*
 * The better of the two integers around the optimal number of hashes; the size in lines, rounded
 * up.
 */
static void plan_for_fpr(double fpr, double keys, double *lines, uint32_t *hashes) {
  double best = -log2(fpr);
  uint32_t few = whole_hashes(floor(best)), many = whole_hashes(ceil(best));
  *hashes = bits_for_fpr(fpr, few) < bits_for_fpr(fpr, many) ? few : many;
  *lines = ceil(keys * bits_for_fpr(fpr, *hashes) / LINE_BITS);
}

/*
 * Does not depend on keys: computed for a large set, where rounding to whole lines is negligible.
 */
static double bits_per_key(double keys, double *fpr) {
  double lines;
  uint32_t hashes;
  plan_for_fpr(*fpr, 0x1p40, &lines, &hashes);
  (void)keys;
  return lines * LINE_BITS / 0x1p40;
}

/* The same for a budget of bits per key, which includes the head; the size rounded down. */
static void plan_for_bits(double budget, double keys, double *lines, uint32_t *hashes) {
  *lines = floor((budget * keys - 8 * (double)sizeof(struct bloom)) / LINE_BITS);
  double bits = *lines * LINE_BITS, best = bits / keys * LN2;
  uint32_t few = whole_hashes(floor(best)), many = whole_hashes(ceil(best));
  *hashes = fpr_of(keys, bits, few) < fpr_of(keys, bits, many) ? few : many;
}

/* ------------------------------------------------------------------ create and destroy */

static besom_status make_bits(besom_filter *f, uint64_t n_bits, uint32_t hashes) {
  if (n_bits / 8 > SIZE_MAX / 2) return BESOM_INVALID;
  bloom(f)->bits = besom__allocate(&f->allocator, (size_t)(n_bits / 8));
  bloom(f)->n_bits = n_bits;
  bloom(f)->hashes = hashes;
  return bloom(f)->bits ? BESOM_OK : BESOM_NO_MEMORY;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  const char *text = config->options;
  struct option option;
  if (besom__option_next(&text, &option) != BESOM_END) return BESOM_BAD_OPTION;
  if (config->slots || config->value_bits || config->reserve != 0) return BESOM_INVALID;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double lines;
  uint32_t hashes;
  if (config->bits_per_key != 0)
    plan_for_bits(config->bits_per_key, (double)most, &lines, &hashes);
  else
    plan_for_fpr(config->fpr != 0 ? config->fpr : DEFAULT_FPR, (double)most, &lines, &hashes);
  if (!(lines >= 1 && lines < ldexp(1, 50))) return BESOM_INVALID;
  f->capacity = most;
  return make_bits(f, (uint64_t)lines * LINE_BITS, hashes);
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  return make_bits(f, const_bloom(model)->n_bits, const_bloom(model)->hashes);
}

static void destroy(besom_filter *f) {
  if (!f->mapping) besom__release(&f->allocator, bloom(f)->bits, (size_t)(bloom(f)->n_bits / 8));
}

/* ------------------------------------------------------------------ keys */

/*
 * The positions of a key's bits: x(0) = hi, x(i+1) = x(i) * odd + lo, each scaled to the number of
 * bits. Scaling uses the upper bits of x; the product makes them depend on all 128 bits of the
 * digest. With plain double hashing, hi + i * lo, they do not: two keys that agree in some upper
 * bits agree in every position, and small filters exceed the target false-positive rate.
 */
struct positions {
  uint64_t next, step;
};

static struct positions positions_of(besom_digest d) {
  return (struct positions){d.hi, d.lo};
}

static uint64_t next_position(struct positions *p, uint64_t n_bits) {
  uint64_t position = (uint64_t)((unsigned __int128)p->next * n_bits >> 64);
  p->next = p->next * UINT64_C(0xd1342543de82ef95) + p->step;
  return position;
}

static bool contains(const besom_filter *f, besom_digest d) {
  const struct bloom *b = const_bloom(f);
  struct positions p = positions_of(d);
  for (uint32_t i = 0; i < b->hashes; i++) {
    uint64_t position = next_position(&p, b->n_bits);
    if (!(b->bits[position / 8] >> (position % 8) & 1)) return false;
  }
  return true;
}

#define PREFETCH_AHEAD 16

/* A negative query reads two positions on average, so queries prefetch no more. */
static void prefetch(const struct bloom *b, besom_digest d, uint32_t positions) {
  struct positions p = positions_of(d);
  for (uint32_t i = 0; i < positions && i < b->hashes; i++)
    __builtin_prefetch(b->bits + next_position(&p, b->n_bits) / 8);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct bloom *b = const_bloom(f);
  for (size_t i = 0; i < n && i < PREFETCH_AHEAD; i++) prefetch(b, d[i], 2);
  for (size_t i = 0; i < n; i++) {
    if (i + PREFETCH_AHEAD < n) prefetch(b, d[i + PREFETCH_AHEAD], 2);
    if (i % 64 == 0) bitmap[i / 64] = 0;
    bitmap[i / 64] |= (uint64_t)contains(f, d[i]) << (i % 64);
  }
}

/* A key whose bits are all set already changes nothing. It is not counted, and is never FULL. */
static besom_status insert(besom_filter *f, besom_digest d) {
  struct bloom *b = bloom(f);
  if (UNLIKELY(f->items >= f->capacity)) return contains(f, d) ? BESOM_OK : BESOM_FULL;
  struct positions p = positions_of(d);
  uint8_t all_set = 1;
  for (uint32_t i = 0; i < b->hashes; i++) {
    uint64_t position = next_position(&p, b->n_bits);
    uint8_t *byte = b->bits + position / 8;
    all_set &= *byte >> (position % 8);
    *byte |= (uint8_t)(1 << (position % 8));
  }
  f->items += !all_set;
  return BESOM_OK;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  const struct bloom *b = const_bloom(f);
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && i < PREFETCH_AHEAD; i++) prefetch(b, d[i], MAX_HASHES);
  for (*done = 0; *done < n; ++*done) {
    if (*done + PREFETCH_AHEAD < n) prefetch(b, d[*done + PREFETCH_AHEAD], MAX_HASHES);
    status = insert(f, d[*done]);
    if (status != BESOM_OK) break;
  }
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* Keys that are in both filters are counted twice: the bits do not tell them. */
static besom_status merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct bloom *x = const_bloom(a), *y = const_bloom(b);
  if (x->n_bits != y->n_bits || x->hashes != y->hashes || a->capacity != b->capacity)
    return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  for (uint64_t i = 0; i < x->n_bits / 8; i += 8)
    store64(bloom(into)->bits + i, load64(x->bits + i) | load64(y->bits + i));
  return BESOM_OK;
}

static uint64_t bits_set(const struct bloom *b) {
  uint64_t set = 0;
  for (uint64_t i = 0; i < b->n_bits / 8; i += 8) set += popcount(load64(b->bits + i));
  return set;
}

static void stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct bloom *b = const_bloom(f);
  s->slots = b->n_bits;
  s->width = b->hashes;
  s->bytes += b->n_bits / 8;
  s->load_factor = (double)bits_set(b) / (double)b->n_bits;
  s->expected_fpr = pow(s->load_factor, b->hashes);
  s->fpr_at_capacity = fpr_of((double)f->capacity, (double)b->n_bits, b->hashes);
}

static const char *validate(const besom_filter *f) {
  const struct bloom *b = const_bloom(f);
  uint64_t set = bits_set(b);
  if (f->items > f->capacity) return "there are more keys than the capacity";
  if (set / b->hashes > f->items || (set == 0) != (f->items == 0))
    return "the number of keys contradicts the bits";
  return NULL;
}

/* ------------------------------------------------------------------ files */

static void save(const besom_filter *f, struct sections_out *out) {
  const struct bloom *b = const_bloom(f);
  besom__write_u64(&out->parameters, b->n_bits);
  besom__write_u64(&out->parameters, b->hashes);
  add_section(out, TAG_BITS, b->bits, b->n_bits / 8);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  uint64_t n_bits = besom__read_u64(&in->parameters), hashes = besom__read_u64(&in->parameters);
  const struct section *bits = take_section(in, TAG_BITS);
  if (!bits || hashes == 0 || hashes > MAX_HASHES) return BESOM_CORRUPT;
  if (n_bits == 0 || n_bits % LINE_BITS || bits->len != n_bits / 8) return BESOM_CORRUPT;
  if (f->capacity == 0 || f->capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  if (f->mapping) {
    *bloom(f) = (struct bloom){*f, (uint8_t *)(uintptr_t)bits->data, n_bits, (uint32_t)hashes};
    return BESOM_OK;
  }
  besom_status status = make_bits(f, n_bits, (uint32_t)hashes);
  if (status == BESOM_OK) memcpy(bloom(f)->bits, bits->data, (size_t)bits->len);
  return status;
}

const struct besom_kind besom__bloom = {
    .info = {"bloom", "Bloom filter: inserts and merges only; not adaptive",
             BESOM_CAN_INSERT | BESOM_CAN_MERGE | BESOM_CAN_REKEY},
    .size = sizeof(struct bloom),
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .bits_per_key = bits_per_key,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .merge = merge,
    .stats = stats,
    .validate = validate,
    .save = save,
    .load = load,
};
