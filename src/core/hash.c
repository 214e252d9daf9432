#define _DEFAULT_SOURCE /* getentropy */
#include "core/hash.h"

#include <unistd.h>

static const char *const names[] = {[HASH_XXH3] = "xxh3", [HASH_SIP] = "sip"};

const char *besom__hash_name(enum hash_id id) {
  return names[id];
}

static void set_seed(struct hasher *h, enum hash_id id, const uint8_t *seed) {
  h->id = id;
  memcpy(h->seed, seed, SEED_BYTES);
  for (uint64_t i = 0; i < SECRET_BYTES / 16; i++) {
    uint8_t counter[8];
    store64(counter, i);
    besom_digest piece = besom__siphash(seed, counter, sizeof counter);
    store64(h->secret + 16 * i, piece.lo);
    store64(h->secret + 16 * i + 8, piece.hi);
  }
  h->secret_u64 = load64(h->secret + 16) ^ load64(h->secret + 24);
}

#ifdef __x86_64__
const uint64_t besom__xxh3_factors[3] = {XXH3_FACTOR_0, XXH3_FACTOR_1, XXH3_FACTOR_2};
#endif

besom_status besom__hasher_init(struct hasher *h, const char *name, const uint8_t *seed) {
  uint8_t random[SEED_BYTES];
  enum hash_id id = HASH_XXH3;
  while (name && strcmp(name, names[id]) != 0)
    if (++id > HASH_SIP) return BESOM_BAD_OPTION;
  if (!seed && getentropy(random, sizeof random) != 0) return BESOM_IO;
  set_seed(h, id, seed ? seed : random);
  return BESOM_OK;
}

besom_status besom__hasher_restore(struct hasher *h, uint32_t id, const uint8_t *seed) {
  if (id != HASH_XXH3 && id != HASH_SIP) return BESOM_CORRUPT;
  set_seed(h, (enum hash_id)id, seed);
  return BESOM_OK;
}

besom_digest besom__xxh3_bytes(const struct hasher *h, const void *key, size_t len) {
  return xxh3_inline(h, key, len);
}

/* SipHash-1-3 with the 128-bit finalization of its authors. */
struct sip {
  uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static void sip_round(struct sip *s) {
  s->v0 += s->v1;
  s->v2 += s->v3;
  s->v1 = rotate(s->v1, 13) ^ s->v0;
  s->v3 = rotate(s->v3, 16) ^ s->v2;
  s->v0 = rotate(s->v0, 32) + s->v3;
  s->v2 += s->v1;
  s->v3 = rotate(s->v3, 21) ^ s->v0;
  s->v1 = rotate(s->v1, 17) ^ s->v2;
  s->v2 = rotate(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t word) {
  s->v3 ^= word;
  sip_round(s);
  s->v0 ^= word;
}

static uint64_t sip_output(struct sip *s) {
  for (int i = 0; i < 3; i++) sip_round(s);
  return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The last len % 8 bytes. A copy of so many bytes would be a call. */
static uint64_t sip_rest(const uint8_t *key, size_t len) {
  size_t left = len % 8;
  const uint8_t *at = key + len - left;
  if (left && len >= 8) return load64(key + len - 8) >> (64 - 8 * left);
  uint64_t rest = 0;
  for (size_t i = 0; i < left; i++) rest |= (uint64_t)at[i] << 8 * i;
  return rest;
}

besom_digest besom__siphash(const uint8_t *seed, const void *key, size_t len) {
  uint64_t k0 = load64(seed), k1 = load64(seed + 8);
  struct sip s = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                  k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
  const uint8_t *at = key;
  for (size_t i = 0; i < len / 8; i++) sip_word(&s, load64(at + 8 * i));
  sip_word(&s, sip_rest(key, len) | (uint64_t)len << 56);
  besom_digest d;
  s.v2 ^= 0xee;
  d.lo = sip_output(&s);
  s.v1 ^= 0xdd;
  d.hi = sip_output(&s);
  return d;
}
