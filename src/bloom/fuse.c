/*
 * fuse: the 3-wise binary fuse filter (Graf and Lemire 2022), built once from a set. The exclusive
 * or of a key's three cells is the key's fingerprint. It is the smallest kind here, and a query
 * takes three memory reads.
 *
 * The three cells of a key are in consecutive segments. If peeling (fuse_build.c) gets stuck, it
 * starts again with another hash of the same digests. Two equal hashes always get stuck, so after
 * the first failure duplicates are removed.
 */
#include "bloom/fuse.h"

#include <math.h>

#include "core/options.h"
#include "core/system/memory.h"

#define MAX_WIDTH 32
#define MAX_KEYS (UINT64_C(1) << 31) /* so that cell numbers have 32 bits */
#define READ_BEYOND 7                /* bytes after the cells: a read of a cell is 8 bytes */

static const struct fuse *const_fuse(const besom_filter *f) {
  return (const struct fuse *)f;
}

static struct fuse *fuse(besom_filter *f) {
  return (struct fuse *)f;
}

/* ------------------------------------------------------------------ sizes */

static uint64_t fuse_bytes_of(const struct fuse_cells *x) {
  return (fuse_cells_of(x) * x->width + 7) / 8 + READ_BEYOND;
}

/*
 * Sizes found by the authors of the filter: 1.125 cells per key for large sets, more for small
 * ones.
 */
static void set_segments(struct fuse_cells *x, uint64_t keys) {
  double n = keys < 2 ? 2 : (double)keys;
  double cells = n * fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n));
  uint64_t segment = UINT64_C(1) << (unsigned)(log(n) / log(3.33) + 2.25);
  x->segment = segment < MAX_SEGMENT ? segment : MAX_SEGMENT;
  double segments = ceil(cells / (double)x->segment);
  x->first = x->segment * (segments < 3 ? 1 : (uint64_t)segments - 2);
}

/*
 * From the false-positive rate, or from the bits per key at capacity. 0 if there is no such width.
 */
static uint32_t fuse_width_for(const besom_config *config) {
  struct fuse_cells full = {.width = 1};
  set_segments(&full, config->capacity);
  double width = config->bits_per_key != 0
                     ? floor((config->bits_per_key * (double)config->capacity -
                              8.0 * (sizeof(struct fuse) + READ_BEYOND)) /
                             (double)fuse_cells_of(&full))
                     : ceil(-log2(config->fpr != 0 ? config->fpr : DEFAULT_FPR));
  if (config->bits_per_key != 0 && width > MAX_WIDTH) return MAX_WIDTH;
  return width >= 1 && width <= MAX_WIDTH ? (uint32_t)width : 0;
}

static double fuse_bits_per_key(double keys, double *fpr) {
  struct fuse_cells full = {.width = 1};
  double width = ceil(-log2(*fpr) - 1e-9);
  if (width < 1 || width > MAX_WIDTH || !(keys >= 1 && keys <= MAX_KEYS)) return 0;
  set_segments(&full, (uint64_t)keys);
  *fpr = exp2(-width);
  return width * (double)fuse_cells_of(&full) / keys;
}

/* ------------------------------------------------------------------ queries */

const struct static_set_ops *besom__fuse_ops_portable(const struct fuse_cells *x);
#ifdef BESOM_X86_VARIANTS
const struct static_set_ops *besom__fuse_ops_avx2(const struct fuse_cells *x);
const struct static_set_ops *besom__fuse_ops_avx512(const struct fuse_cells *x);
#endif

/* To be called when width and seed are known. */
static void fuse_choose_ops(besom_filter *f, enum isa isa) {
  struct fuse *x = fuse(f);
#ifdef BESOM_X86_VARIANTS
  x->set.ops = isa == ISA_AVX512 ? besom__fuse_ops_avx512(&x->cells)
               : isa == ISA_AVX2 ? besom__fuse_ops_avx2(&x->cells)
                                 : besom__fuse_ops_portable(&x->cells);
#else
  (void)isa;
  x->set.ops = besom__fuse_ops_portable(&x->cells);
#endif
}

/* ------------------------------------------------------------------ building */

static besom_status make_bits(besom_filter *f) {
  struct fuse_cells *x = &fuse(f)->cells;
  if (fuse_bytes_of(x) > SIZE_MAX / 2) return BESOM_NO_MEMORY;
  x->bits = besom__allocate(&f->allocator, fuse_bytes_of(x));
  return x->bits ? BESOM_OK : BESOM_NO_MEMORY;
}

static void fuse_destroy(besom_filter *f) {
  struct fuse_cells *x = &fuse(f)->cells;
  if (!f->mapping) besom__release(&f->allocator, x->bits, fuse_bytes_of(x));
}

static besom_status fuse_build_of(besom_filter *f, struct digests *d) {
  struct fuse_cells *x = &fuse(f)->cells;
  set_segments(x, d->n);
  besom_status status = make_bits(f);
  if (status != BESOM_OK) return status;
  status = besom__fuse_fill(f, x, d);
  if (status == BESOM_END) {
    uint64_t n = d->n;
    besom__digests_unite(d);
    if (d->n < n) { /* so the size depends on the set, not on the number of duplicates */
      fuse_destroy(f);
      return fuse_build_of(f, d);
    }
  }
  for (x->seed = 0; status == BESOM_END && ++x->seed < MAX_SEED;) {
    for (uint64_t i = 0; i < d->n; i++) d->at[i].hi = fuse_hash(d->at[i].hi, 1);
    status = besom__fuse_fill(f, x, d);
  }
  if (status != BESOM_OK) fuse_destroy(f);
  return status == BESOM_END ? BESOM_FULL : status;
}

static besom_status fuse_read_config(besom_filter *f, const besom_config *config, enum isa *isa) {
  besom_status status = besom__option_isa(&f->kind->options, config->options, isa);
  if (status != BESOM_OK) return status;
  uint32_t width = fuse_width_for(config);
  fuse(f)->cells = (struct fuse_cells){.mask = bits_below(width), .width = width};
  return config->slots || config->value_bits || !width ? BESOM_INVALID : BESOM_OK;
}

static besom_status fuse_build_digests(besom_filter *f, const besom_config *config,
                                       struct digests *d) {
  enum isa isa;
  besom_status status = d->n > MAX_KEYS ? BESOM_FULL : fuse_read_config(f, config, &isa);
  if (status == BESOM_OK) status = fuse_build_of(f, d);
  if (status != BESOM_OK) return status;
  f->items = d->n;
  f->capacity = d->n ? d->n : 1;
  fuse_choose_ops(f, isa);
  return BESOM_OK;
}

static besom_status fuse_build(besom_filter *f, const besom_config *config, const besom_source *yes,
                               const besom_source *no, const besom_progress *progress) {
  enum isa isa;
  besom_status status = no ? BESOM_UNSUPPORTED : fuse_read_config(f, config, &isa);
  return status == BESOM_OK ? besom__static_build(f, config, yes, progress, MAX_KEYS) : status;
}

/* ------------------------------------------------------------------ whole filters */

static void fuse_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct fuse_cells *x = &const_fuse(f)->cells;
  s->isa = besom__isa_name(const_fuse(f)->set.ops->isa);
  s->slots = fuse_cells_of(x);
  s->width = x->width;
  s->bytes += fuse_bytes_of(x);
  s->load_factor = (double)f->items / (double)s->slots;
  s->fpr_at_capacity = ldexp(1, -(int)x->width);
  s->expected_fpr = f->items ? s->fpr_at_capacity : 0;
}

/* Any cell contents are possible; only the sizes and the unused bits can be wrong. */
static const char *fuse_validate(const besom_filter *f) {
  const struct fuse_cells *x = &const_fuse(f)->cells;
  uint64_t used = fuse_cells_of(x) * x->width, unused = 0;
  if (f->capacity != (f->items ? f->items : 1)) return "the capacity is not the number of keys";
  if (f->items > fuse_cells_of(x)) return "there are more keys than cells";
  for (uint64_t i = used / 8; i < fuse_bytes_of(x); i++)
    unused |= i == used / 8 ? x->bits[i] >> (used % 8) : x->bits[i];
  return unused ? "there are bits after the last cell" : NULL;
}

static void fuse_save(const besom_filter *f, struct sections_out *out) {
  const struct fuse_cells *x = &const_fuse(f)->cells;
  besom__write_u64(&out->parameters, x->segment);
  besom__write_u64(&out->parameters, x->first / x->segment);
  besom__write_u64(&out->parameters, x->seed);
  besom__write_u64(&out->parameters, x->width);
  add_section(out, TAG_BITS, x->bits, fuse_bytes_of(x));
}

static besom_status fuse_load(besom_filter *f, struct sections_in *in) {
  struct fuse_cells *x = &fuse(f)->cells;
  uint64_t segment = besom__read_u64(&in->parameters), segments = besom__read_u64(&in->parameters);
  uint64_t seed = besom__read_u64(&in->parameters), width = besom__read_u64(&in->parameters);
  const struct section *saved = take_section(in, TAG_BITS);
  if (!saved || seed >= MAX_SEED || width == 0 || width > MAX_WIDTH) return BESOM_CORRUPT;
  if (segment == 0 || segment > MAX_SEGMENT || (segment & (segment - 1))) return BESOM_CORRUPT;
  if (segments == 0 || segments > MAX_KEYS) return BESOM_CORRUPT;
  *x = (struct fuse_cells){.segment = segment,
                           .first = segments * segment,
                           .mask = bits_below((unsigned)width),
                           .width = (uint32_t)width,
                           .seed = (uint32_t)seed};
  if (saved->len != fuse_bytes_of(x)) return BESOM_CORRUPT;
  fuse_choose_ops(f, besom__isa_best());
  if (f->mapping) {
    x->bits = (uint8_t *)(uintptr_t)saved->data;
    return BESOM_OK;
  }
  besom_status status = make_bits(f);
  if (status == BESOM_OK) memcpy(x->bits, saved->data, (size_t)saved->len);
  return status;
}

static void fuse_prefetch(const besom_filter *f, besom_digest d) {
  const struct fuse_cells *x = &((const struct fuse *)f)->cells;
  if (f->items) fuse_cells_fetch(x, x->seed ? fuse_hash(d.hi, x->seed) : d.hi);
}

static bool fuse_inline_facts(const besom_filter *f, uint32_t layout, besom_inline_facts *out) {
  const struct fuse_cells *x = &const_fuse(f)->cells;
  bool of_bytes = x->width == 8 || x->width == 16;
  if (layout != BESOM_INLINE_FUSE || !of_bytes) return false;
  out->bits = x->bits;
  out->number[0] = x->first;
  out->number[1] = x->segment;
  out->number[2] = x->width / 8;
  out->number[3] = x->seed;
  return true;
}

const struct besom_kind besom__fuse = {
    .name = "fuse",
    .summary = "binary fuse filter: built once from a set; the smallest, and fast",
    .size = sizeof(struct fuse),
    .options = ISA_ONLY,
    .destroy = fuse_destroy,
    .bits_per_key = fuse_bits_per_key,
    .stats = fuse_stats,
    .query = {.calls = besom__static_query_calls,
              .contains = besom__static_contains,
              .contains_many = besom__static_contains_many,
              .prefetch = fuse_prefetch,
              .inline_facts = NOT_IN_MODULE(fuse_inline_facts)},
    .build = &(const struct build_ops){.build = fuse_build, .build_digests = fuse_build_digests},
    .file =
        &(const struct file_ops){.validate = fuse_validate, .save = fuse_save, .load = fuse_load},
};
