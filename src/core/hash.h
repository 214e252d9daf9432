/*
 * From a key to its digest: one keyed 128-bit hash per operation.
 *
 * "xxh3" is XXH3-128 with a secret derived from the seed. It is the fastest, and is sufficient
 * against an adversary that cannot see digests. "sip" is SipHash-1-3 with 128 bits of output,
 * designed for keys that an adversary chooses.
 */
#ifndef BESOM_CORE_HASH_H
#define BESOM_CORE_HASH_H

#include "besom.h"
#include "core/scale.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SEED_BYTES 16
#define SECRET_BYTES 192

enum hash_id { HASH_XXH3 = 1, HASH_SIP = 2 }; /* part of the file format */

struct hasher {
  enum hash_id id;
  uint8_t seed[SEED_BYTES];
  uint8_t secret[SECRET_BYTES]; /* for xxh3; derived from the seed */
  uint64_t secret_u64;          /* the part of the secret for keys of 8 bytes */
};

/* If name is NULL, the default; if seed is NULL, a random one. Errors: BAD_OPTION, IO. */
besom_status besom__hasher_init(struct hasher *h, const char *name, const uint8_t *seed);

/* The same from the values in a file. Errors: CORRUPT (id is not a hash). */
besom_status besom__hasher_restore(struct hasher *h, uint32_t id, const uint8_t *seed);

const char *besom__hash_name(enum hash_id id);

static inline bool hashers_equal(const struct hasher *a, const struct hasher *b) {
  return a->id == b->id && memcmp(a->seed, b->seed, SEED_BYTES) == 0;
}

besom_digest besom__siphash(const uint8_t *seed, const void *key, size_t len);

/* XXH3-128 under the secret. Not inlined: a copy of this code has 2 KB, and there would be 40. */
besom_digest besom__xxh3_bytes(const struct hasher *h, const void *key, size_t len);

#ifdef BESOM_SMALL_CODE
/* A function of its own: clang inlines what a flattened function (CALL) calls itself. */
ALWAYS_INLINE besom_digest xxh3_bytes(const struct hasher *h, const void *key, size_t len) {
  return besom__xxh3_bytes(h, key, len);
}
#else
#define xxh3_bytes xxh3_inline
#endif

/* The same. Short keys are hashed inline, without a call. */
ALWAYS_INLINE besom_digest xxh3_inline(const struct hasher *h, const void *key, size_t len) {
  XXH128_hash_t x = len <= 16   ? XXH3_len_0to16_128b(key, len, h->secret, 0)
                    : len <= 32 ? XXH3_len_17to128_128b(key, len, h->secret, SECRET_BYTES, 0)
                                : XXH3_128bits_withSecret(key, len, h->secret, SECRET_BYTES);
  return (besom_digest){x.high64, x.low64};
}

/*
 * What XXH3-128 does with keys of 8 bytes. It uses the exclusive or of the secret's words at 16 and
 * 24. Written out, because gcc takes up to two instructions more for the code of xxhash.h, whose
 * product is in a pair of registers.
 */
ALWAYS_INLINE besom_digest xxh3_u64(const struct hasher *h, uint64_t key) {
  uint64_t lo = key ^ h->secret_u64, hi = next_digit(&lo, UINT64_C(0x9e3779b185ebca87) + (8 << 2));
  hi += lo << 1;
  lo ^= hi >> 3;
  lo = (lo ^ lo >> 35) * UINT64_C(0x9fb21c651e98df25);
  hi = (hi ^ hi >> 37) * UINT64_C(0x165667919e3779f9);
  return (besom_digest){hi ^ hi >> 32, lo ^ lo >> 28};
}

ALWAYS_INLINE besom_digest hash_bytes(const struct hasher *h, const void *key, size_t len) {
  if (UNLIKELY(h->id == HASH_SIP)) return besom__siphash(h->seed, key, len);
  return xxh3_bytes(h, key, len);
}

ALWAYS_INLINE besom_digest hash_u64(const struct hasher *h, uint64_t key) {
  if (LIKELY(h->id == HASH_XXH3)) return xxh3_u64(h, key);
  uint8_t bytes[8];
  store64(bytes, key);
  return besom__siphash(h->seed, bytes, sizeof bytes);
}

#endif
