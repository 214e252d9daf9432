/*
 * From a key to its digest, and from a digest to its address in a table.
 *
 * The digest is one keyed 128-bit hash per operation. "xxh3" is XXH3-128 with a secret derived from
 * the seed. It is the fastest, and is sufficient against an adversary that cannot see digests.
 * "sip" is SipHash-1-3 with 128 bits of output, designed for keys that an adversary chooses.
 *
 * The address is quotient and remainder. The digest D is read as the fraction D / 2^128 and scaled
 * to the slots of the table. The integer part of D * slots / 2^128 is the quotient. The first bits
 * of the fractional part are the remainder; the bits after them are used by longer fingerprints.
 * So any number of slots works, sorting by digest is sorting by quotient, and doubling the slots
 * moves the first bit of the remainder into the quotient.
 *
 * All 128 bits are scaled. With the upper 64 bits alone, one key in 2^64 / slots would change its
 * quotient when the table grows, and be lost.
 */
#ifndef BESOM_CORE_HASH_H
#define BESOM_CORE_HASH_H

#include "besom.h"
#include "core/bits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ------------------------------------------------------------------ products of 128 bits */

/*
 * x / 2^64 is a number from 0 to 1, and the upper half of the product x * n scales it to n. For the
 * product in C, gcc uses pairs of registers, and then saves some on the stack. Files that are
 * compiled for BMI2 name the instruction instead.
 */

/* x * n >> 64 */
ALWAYS_INLINE uint64_t scaled(uint64_t x, uint64_t n) {
#ifdef __BMI2__
  uint64_t upper;
  __asm__("mulx %2, %0, %0" : "=r"(upper) : "d"(x), "rm"(n));
  return upper;
#else
  return (uint64_t)((unsigned __int128)x * n >> 64);
#endif
}

/* The same, and *x becomes the lower half of the product: what is left after the first digit of *x
   in base n. */
ALWAYS_INLINE uint64_t next_digit(uint64_t *x, uint64_t n) {
#ifdef __BMI2__
  uint64_t upper;
  __asm__("mulx %3, %0, %1" : "=r"(*x), "=r"(upper) : "d"(*x), "rm"(n));
  return upper;
#else
  unsigned __int128 product = (unsigned __int128)*x * n;
  *x = (uint64_t)product;
  return (uint64_t)(product >> 64);
#endif
}

/* x / 2^by. By a register, if there are instructions for it: then no copy of x is needed. */
ALWAYS_INLINE uint64_t shifted(uint64_t x, unsigned by) {
#ifdef __BMI2__
  __asm__("" : "+r"(by));
#endif
  return x >> by;
}

/*
 * The word at this address / 2^(by % 64). One instruction also reads it, but gcc uses two.
 * Sanitizers do not see what assembly reads.
 */
ALWAYS_INLINE uint64_t shifted_word(const uint8_t *at, uint64_t by) {
#if defined(__BMI2__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  typedef uint64_t any_word __attribute__((may_alias, aligned(1)));
  uint64_t word;
  __asm__("shrx %2, %1, %0" : "=r"(word) : "m"(*(const any_word *)at), "r"(by));
  return word;
#else
  return load64(at) >> by % 64;
#endif
}

/* ------------------------------------------------------------------ digests */

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
 * The factors of xxh3_u64. With BMI2 they are read by the multiplications: each constant of 64 bits
 * would take an instruction of its own.
 */
#define XXH3_FACTOR_0 (UINT64_C(0x9e3779b185ebca87) + (8 << 2))
#define XXH3_FACTOR_1 UINT64_C(0x9fb21c651e98df25)
#define XXH3_FACTOR_2 UINT64_C(0x165667919e3779f9)
#ifdef __x86_64__
extern const uint64_t besom__xxh3_factors[3] __attribute__((visibility("hidden")));
#endif
#ifdef __BMI2__
#define XXH3_FACTOR(i) besom__xxh3_factors[i]
#else
#define XXH3_FACTOR(i) XXH3_FACTOR_##i
#endif

/*
 * What XXH3-128 does with keys of 8 bytes. It uses the exclusive or of the secret's words at 16 and
 * 24. Written out, because gcc takes up to two instructions more for the code of xxhash.h, whose
 * product is in a pair of registers.
 */
ALWAYS_INLINE besom_digest xxh3_u64(const struct hasher *h, uint64_t key) {
  uint64_t lo = key ^ h->secret_u64, hi = next_digit(&lo, XXH3_FACTOR(0));
  hi += lo << 1;
  lo ^= hi >> 3;
  lo = (lo ^ lo >> 35) * XXH3_FACTOR(1);
  hi = (hi ^ hi >> 37) * XXH3_FACTOR(2);
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

/* ------------------------------------------------------------------ addresses */

struct address {
  uint64_t quotient;
  besom_digest rest; /* the fractional part */
};

ALWAYS_INLINE struct address address_of(besom_digest d, uint64_t slots) {
  unsigned __int128 low = (unsigned __int128)d.lo * slots;
  unsigned __int128 high = (unsigned __int128)d.hi * slots + (uint64_t)(low >> 64);
  return (struct address){(uint64_t)(high >> 64), {(uint64_t)high, (uint64_t)low}};
}

/* The first width bits (1 to 64) of the fractional part. */
ALWAYS_INLINE uint64_t remainder_of(struct address a, unsigned width) {
  return a.rest.hi >> (64 - width);
}

/* The 64 bits of the fractional part that follow the remainder. */
ALWAYS_INLINE uint64_t bits_after_remainder(struct address a, unsigned width) {
  return a.rest.hi << 1 << (width - 1) | a.rest.lo >> (64 - width);
}

/* The length of the common prefix of two fractions, in bits. */
static inline unsigned common_bits(besom_digest a, besom_digest b) {
  if (a.hi != b.hi) return leading_zeros(a.hi ^ b.hi);
  return 64 + leading_zeros(a.lo ^ b.lo);
}

/* The quotient, or one less: good enough to prefetch by, with half the multiplications. */
ALWAYS_INLINE uint64_t approximate_quotient(besom_digest d, uint64_t slots) {
  return (uint64_t)((unsigned __int128)d.hi * slots >> 64);
}

#endif
