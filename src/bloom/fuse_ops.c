/* Queries of the fuse filter, compiled once per instruction set (BESOM_ISA). */
#include "bloom/fuse.h"

#define BATCH 64
#define CACHED_CELLS (UINT64_C(1) << 18) /* cells of a filter that needs no prefetching */

#define NAME_OF(isa) besom__fuse_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct static_set_ops *NAME(BESOM_ISA)(const struct fuse_cells *x);

ALWAYS_INLINE const struct fuse_cells *fuse_filter_cells(const besom_filter *f) {
  return &((const struct fuse *)f)->cells;
}

ALWAYS_INLINE bool fuse_cells_has(const struct fuse_cells *x, uint64_t hash) {
  struct fuse_key key = fuse_key_of(x, hash);
  uint64_t rest = fuse_fingerprint(hash) ^ fuse_cell(x, key.cell[0]);
  __asm__("" : "+r"(rest)); /* else gcc works on all cells at once, and runs out of registers */
  rest ^= fuse_cell(x, key.cell[1]);
  rest ^= fuse_cell(x, key.cell[2]);
  return (rest & x->mask) == 0;
}

/* Cells of one or two bytes need no shifts. */
ALWAYS_INLINE bool fuse_cells_has_8(const struct fuse_cells *x, uint64_t hash) {
  struct fuse_key key = fuse_key_of(x, hash);
  const uint8_t *bits = x->bits;
  return (uint8_t)(bits[key.cell[0]] ^ bits[key.cell[1]] ^ bits[key.cell[2]] ^
                   fuse_fingerprint(hash)) == 0;
}

ALWAYS_INLINE bool fuse_cells_has_16(const struct fuse_cells *x, uint64_t hash) {
  struct fuse_key key = fuse_key_of(x, hash);
  const uint8_t *bits = x->bits;
  return (uint16_t)(load64(bits + 2 * key.cell[0]) ^ load64(bits + 2 * key.cell[1]) ^
                    load64(bits + 2 * key.cell[2]) ^ fuse_fingerprint(hash)) == 0;
}

/* ------------------------------------------------------------------ one key */

/* The first attempt to build rarely fails. Its hash is half of the digest. */

static bool fuse_cells_contains_digest_8(const besom_filter *f, besom_digest d) {
  return fuse_cells_has_8(fuse_filter_cells(f), d.hi);
}

FLATTEN static bool fuse_cells_contains_u64_8(const besom_filter *f, uint64_t key) {
  return fuse_cells_has_8(fuse_filter_cells(f), xxh3_u64(&f->hasher, key).hi);
}

static bool fuse_cells_contains_digest_16(const besom_filter *f, besom_digest d) {
  return fuse_cells_has_16(fuse_filter_cells(f), d.hi);
}

FLATTEN static bool fuse_cells_contains_u64_16(const besom_filter *f, uint64_t key) {
  return fuse_cells_has_16(fuse_filter_cells(f), xxh3_u64(&f->hasher, key).hi);
}

static bool fuse_cells_contains_digest_any(const besom_filter *f, besom_digest d) {
  return fuse_cells_has(fuse_filter_cells(f), d.hi);
}

FLATTEN static bool fuse_cells_contains_u64_any(const besom_filter *f, uint64_t key) {
  return fuse_cells_has(fuse_filter_cells(f), xxh3_u64(&f->hasher, key).hi);
}

static bool contains_digest_later(const besom_filter *f, besom_digest d) {
  return fuse_cells_has(fuse_filter_cells(f), fuse_hash(d.hi, fuse_filter_cells(f)->seed));
}

FLATTEN static bool contains_u64_later(const besom_filter *f, uint64_t key) {
  return contains_digest_later(f, xxh3_u64(&f->hasher, key));
}

static bool fuse_cells_contains_bytes(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

/* ------------------------------------------------------------------ batches */

/* The hashes of up to BATCH keys. Prefetches their cells. */
ALWAYS_INLINE void fuse_cells_hash_batch(const struct fuse_cells *x, const besom_digest *d,
                                         size_t n, uint64_t *hashes) {
  for (size_t i = 0; i < n; i++) hashes[i] = d[i].hi;
  for (size_t i = 0; x->seed && i < n; i++) hashes[i] = fuse_hash(hashes[i], x->seed);
  if (fuse_cells_of(x) <= CACHED_CELLS) return;
  for (size_t i = 0; i < n; i++) fuse_cells_fetch(x, hashes[i]);
}

ALWAYS_INLINE void fuse_cells_contains_batches(const besom_filter *f, const besom_digest *d,
                                               size_t n, uint64_t *bitmap, bool bytes) {
  const struct fuse_cells x = *fuse_filter_cells(f);
  uint64_t hashes[BATCH];
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    uint64_t word = 0;
    fuse_cells_hash_batch(&x, d + i, some, hashes);
    for (size_t j = 0; j < some; j++)
      word |= (uint64_t)(bytes ? fuse_cells_has_8(&x, hashes[j]) : fuse_cells_has(&x, hashes[j]))
              << j;
    bitmap[i / BATCH] = word;
  }
}

static void fuse_cells_contains_many_8(const besom_filter *f, const besom_digest *d, size_t n,
                                       uint64_t *bitmap) {
  fuse_cells_contains_batches(f, d, n, bitmap, true);
}

static void fuse_cells_contains_many_any(const besom_filter *f, const besom_digest *d, size_t n,
                                         uint64_t *bitmap) {
  fuse_cells_contains_batches(f, d, n, bitmap, false);
}

/* ------------------------------------------------------------------ by width and seed */

#if defined(__AVX512F__)
#define ISA ISA_AVX512
#elif defined(__AVX2__)
#define ISA ISA_AVX2
#else
#define ISA ISA_PORTABLE
#endif

static const struct static_set_ops width_8 = {ISA,
                                              {fuse_cells_contains_bytes,
                                               NOT_IN_MODULE(fuse_cells_contains_u64_8),
                                               fuse_cells_contains_digest_8},
                                              NOT_IN_MODULE(fuse_cells_contains_many_8)};

static const struct static_set_ops width_16 = {ISA,
                                               {fuse_cells_contains_bytes,
                                                NOT_IN_MODULE(fuse_cells_contains_u64_16),
                                                fuse_cells_contains_digest_16},
                                               NOT_IN_MODULE(fuse_cells_contains_many_any)};

static const struct static_set_ops any_width = {ISA,
                                                {fuse_cells_contains_bytes,
                                                 NOT_IN_MODULE(fuse_cells_contains_u64_any),
                                                 fuse_cells_contains_digest_any},
                                                NOT_IN_MODULE(fuse_cells_contains_many_any)};

static const struct static_set_ops later_attempt = {
    ISA,
    {fuse_cells_contains_bytes, NOT_IN_MODULE(contains_u64_later), contains_digest_later},
    NOT_IN_MODULE(fuse_cells_contains_many_any)};

const struct static_set_ops *NAME(BESOM_ISA)(const struct fuse_cells *x) {
  if (x->seed != 0) return &later_attempt;
  return x->width == 8 ? &width_8 : x->width == 16 ? &width_16 : &any_width;
}
