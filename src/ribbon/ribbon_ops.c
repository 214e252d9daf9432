/* Queries of the ribbon filter, compiled once per instruction set (BESOM_ISA). */
#include "ribbon/ribbon.h"

#define BATCH 64
#define CACHED_BYTES (UINT64_C(1) << 18) /* of a filter that needs no prefetching */

#define NAME_OF(isa) besom__ribbon_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct ribbon_ops *NAME(BESOM_ISA)(const struct retrieval *x);

ALWAYS_INLINE const struct retrieval *retrieval_of(const besom_filter *f) {
  return &((const struct ribbon *)f)->retrieval;
}

/* ------------------------------------------------------------------ one key */

/* For bumped keys, apart from the others: it needs more registers. */
static __attribute__((noinline)) bool has_in_any_layer(const struct retrieval *x, besom_digest d) {
  return retrieval_has_fingerprint(x, d);
}

/* most: at least the columns of x, and not a variable. */
ALWAYS_INLINE bool ribbon_has(const struct retrieval *x, besom_digest d, uint32_t most) {
  struct retrieval_layer first = first_layer(x);
  uint64_t start = retrieval_start(&first, d);
  if (UNLIKELY(is_bumped(x, &first, start))) return has_in_any_layer(x, d);
  return retrieval_equal(x, &first, most, start, d.lo, retrieval_fingerprint(d));
}

static bool ribbon_contains_digest_8(const besom_filter *f, besom_digest d) {
  return ribbon_has(retrieval_of(f), d, 8);
}

FLATTEN static bool ribbon_contains_u64_8(const besom_filter *f, uint64_t key) {
  return ribbon_has(retrieval_of(f), xxh3_u64(&f->hasher, key), 8);
}

static bool ribbon_contains_digest_16(const besom_filter *f, besom_digest d) {
  return ribbon_has(retrieval_of(f), d, 16);
}

FLATTEN static bool ribbon_contains_u64_16(const besom_filter *f, uint64_t key) {
  return ribbon_has(retrieval_of(f), xxh3_u64(&f->hasher, key), 16);
}

static bool ribbon_contains_digest_any(const besom_filter *f, besom_digest d) {
  return has_in_any_layer(retrieval_of(f), d);
}

FLATTEN static bool ribbon_contains_u64_any(const besom_filter *f, uint64_t key) {
  return has_in_any_layer(retrieval_of(f), xxh3_u64(&f->hasher, key));
}

static bool ribbon_contains_bytes(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

static bool ribbon_has_8(const struct retrieval *x, besom_digest d) {
  return ribbon_has(x, d, 8);
}

static bool ribbon_has_16(const struct retrieval *x, besom_digest d) {
  return ribbon_has(x, d, 16);
}

/* ------------------------------------------------------------------ batches */

ALWAYS_INLINE void ribbon_contains_batches(const besom_filter *f, const besom_digest *d, size_t n,
                                           uint64_t *bitmap, uint32_t most) {
  const struct retrieval x = *retrieval_of(f);
  bool cached = besom__retrieval_bytes(&x) <= CACHED_BYTES;
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    uint64_t word = 0;
    for (size_t j = 0; !cached && j < some; j++) retrieval_fetch(&x, d[i + j]);
    for (size_t j = 0; j < some; j++)
      word |= (uint64_t)(most ? ribbon_has(&x, d[i + j], most) : has_in_any_layer(&x, d[i + j]))
              << j;
    bitmap[i / BATCH] = word;
  }
}

static void ribbon_contains_many_8(const besom_filter *f, const besom_digest *d, size_t n,
                                   uint64_t *bitmap) {
  ribbon_contains_batches(f, d, n, bitmap, 8);
}

static void contains_many_16(const besom_filter *f, const besom_digest *d, size_t n,
                             uint64_t *bitmap) {
  ribbon_contains_batches(f, d, n, bitmap, 16);
}

static void ribbon_contains_many_any(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap) {
  ribbon_contains_batches(f, d, n, bitmap, 0);
}

/* ------------------------------------------------------------------ by width */

#if defined(__AVX512F__)
#define ISA ISA_AVX512
#elif defined(__AVX2__)
#define ISA ISA_AVX2
#else
#define ISA ISA_PORTABLE
#endif

static const struct ribbon_ops columns_8 = {
    {ISA,
     {ribbon_contains_bytes, NOT_IN_MODULE(ribbon_contains_u64_8), ribbon_contains_digest_8},
     NOT_IN_MODULE(ribbon_contains_many_8)},
    ribbon_has_8};

static const struct ribbon_ops columns_16 = {
    {ISA,
     {ribbon_contains_bytes, NOT_IN_MODULE(ribbon_contains_u64_16), ribbon_contains_digest_16},
     NOT_IN_MODULE(contains_many_16)},
    ribbon_has_16};

static const struct ribbon_ops any_columns = {
    {ISA,
     {ribbon_contains_bytes, NOT_IN_MODULE(ribbon_contains_u64_any), ribbon_contains_digest_any},
     NOT_IN_MODULE(ribbon_contains_many_any)},
    has_in_any_layer};

const struct ribbon_ops *NAME(BESOM_ISA)(const struct retrieval *x) {
  if (x->layer->rehashes || x->columns > 16) return &any_columns;
  return x->columns <= 8 ? &columns_8 : &columns_16;
}
