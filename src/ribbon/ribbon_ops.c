/* Queries of the ribbon filter, compiled once per instruction set (BESOM_ISA). */
#include "ribbon/ribbon.h"

#define FLATTEN __attribute__((flatten)) /* else gcc calls parts of the hash */

#define BATCH 64
#define CACHED_BYTES (UINT64_C(1) << 18) /* of a filter that needs no prefetching */

#define NAME_OF(isa) besom__ribbon_ops_##isa
#define NAME(isa) NAME_OF(isa)

#if defined(__AVX512F__)
#define ISA ISA_AVX512
#elif defined(__AVX2__)
#define ISA ISA_AVX2
#else
#define ISA ISA_PORTABLE
#endif

ALWAYS_INLINE const struct retrieval *retrieval_of(const besom_filter *f) {
  return &((const struct ribbon *)f)->retrieval;
}

static bool contains_digest(const besom_filter *f, besom_digest d) {
  return retrieval_has_fingerprint(retrieval_of(f), d);
}

FLATTEN static bool contains_u64(const besom_filter *f, uint64_t key) {
  return contains_digest(f, xxh3_u64(&f->hasher, key));
}

FLATTEN static bool contains(const besom_filter *f, const void *key, size_t len) {
  return contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

/* The words of a key in the first layer, which has 19 of 20 keys. */
ALWAYS_INLINE void fetch(const struct retrieval *x, besom_digest d) {
  const struct retrieval_layer *l = &x->layer[0];
  uint64_t block = retrieval_start(l, retrieval_digest_of(l, d)) / RIBBON_WIDTH;
  const uint8_t *words = x->bytes + words_of_block(x, l, block);
  for (uint32_t at = 0; at < 16 * x->columns; at += 64) __builtin_prefetch(words + at);
}

static void contains_many(const struct retrieval *retrieval, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct retrieval x = *retrieval;
  bool cached = besom__retrieval_bytes(&x) <= CACHED_BYTES;
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    uint64_t word = 0;
    for (size_t j = 0; !cached && j < some; j++) fetch(&x, d[i + j]);
    for (size_t j = 0; j < some; j++)
      word |= (uint64_t)retrieval_has_fingerprint(&x, d[i + j]) << j;
    bitmap[i / BATCH] = word;
  }
}

const struct ribbon_ops NAME(BESOM_ISA) = {
    ISA, {contains, contains_u64, contains_digest}, contains_many};
