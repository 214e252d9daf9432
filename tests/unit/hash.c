/*
 * The hashes compared with references: XXH3-128 with libxxhash, and SipHash-1-3 with a plain
 * implementation of its paper, which is checked by the published vectors of SipHash-2-4.
 */
#include "core/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/keys.h"

enum { LONGEST = 300 };

static const char *const hash_names[] = {"xxh3", "sip"};

/* 00 01 02 .. 0f, the key of the published vectors. */
static const uint8_t seed[SEED_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static struct hasher hasher_of(const char *name, const uint8_t *with_seed) {
  struct hasher h;
  assert_int_equal(besom__hasher_init(&h, name, with_seed), BESOM_OK);
  return h;
}

static bool digests_equal(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

static void assert_digest(besom_digest got, besom_digest wanted) {
  assert_int_equal(got.hi, wanted.hi);
  assert_int_equal(got.lo, wanted.lo);
}

static void fill_random(uint8_t *bytes, size_t n, uint64_t start) {
  random_stream random = {start};
  for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_next(&random);
}

/* ------------------------------------------------------------------ SipHash, from the paper */

static uint64_t rotated(uint64_t x, unsigned by) {
  return x << by | x >> (64 - by);
}

static void rounds_of_sip(uint64_t v[4], unsigned n) {
  while (n--) {
    v[0] += v[1], v[1] = rotated(v[1], 13), v[1] ^= v[0], v[0] = rotated(v[0], 32);
    v[2] += v[3], v[3] = rotated(v[3], 16), v[3] ^= v[2];
    v[0] += v[3], v[3] = rotated(v[3], 21), v[3] ^= v[0];
    v[2] += v[1], v[1] = rotated(v[1], 17), v[1] ^= v[2], v[2] = rotated(v[2], 32);
  }
}

static uint64_t word_at(const uint8_t *bytes) {
  uint64_t x = 0;
  for (unsigned i = 0; i < 8; i++) x |= (uint64_t)bytes[i] << 8 * i;
  return x;
}

/* SipHash-c-d of the message padded with zeros and its length; 64 bits of output are lo. */
static besom_digest reference_sip(unsigned c, unsigned d, bool wide, const uint8_t *key,
                                  const uint8_t *message, size_t len) {
  uint64_t k0 = word_at(key), k1 = word_at(key + 8);
  uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                   k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
  uint8_t padded[LONGEST + 8] = {0};
  if (len) memcpy(padded, message, len);
  size_t words = len / 8 + 1;
  padded[8 * words - 1] = (uint8_t)(len % 256);
  if (wide) v[1] ^= 0xee;
  for (size_t i = 0; i < words; i++) {
    uint64_t m = word_at(padded + 8 * i);
    v[3] ^= m;
    rounds_of_sip(v, c);
    v[0] ^= m;
  }
  besom_digest out = {0, 0};
  v[2] ^= wide ? 0xee : 0xff;
  rounds_of_sip(v, d);
  out.lo = v[0] ^ v[1] ^ v[2] ^ v[3];
  if (!wide) return out;
  v[1] ^= 0xdd;
  rounds_of_sip(v, d);
  out.hi = v[0] ^ v[1] ^ v[2] ^ v[3];
  return out;
}

static void the_reference_gives_the_published_vectors(void **state) {
  (void)state;
  uint8_t message[15];
  for (uint8_t i = 0; i < sizeof message; i++) message[i] = i;
  assert_digest(reference_sip(2, 4, false, seed, message, 15),
                (besom_digest){0, UINT64_C(0xa129ca6149be45e5)});
  assert_digest(reference_sip(2, 4, true, seed, message, 0),
                (besom_digest){UINT64_C(0x930255c71472f66d), UINT64_C(0xe6a825ba047f81a3)});
}

static void sip_is_siphash_1_3_with_128_bits(void **state) {
  (void)state;
  uint8_t message[LONGEST], key[SEED_BYTES];
  struct hasher h;
  for (size_t len = 0; len <= LONGEST; len++) {
    fill_random(message, len, len);
    fill_random(key, sizeof key, ~len);
    besom_digest wanted = reference_sip(1, 3, true, key, message, len);
    assert_digest(besom__siphash(key, message, len), wanted);
    h = hasher_of("sip", key);
    assert_digest(hash_bytes(&h, message, len), wanted);
  }
}

/* ------------------------------------------------------------------ XXH3 */

/* The secret is SipHash of 0, 1, 2 .. under the seed. */
static void xxh3_is_that_of_libxxhash_under_the_secret(void **state) {
  (void)state;
  uint8_t message[LONGEST], key[SEED_BYTES], secret[SECRET_BYTES];
  for (size_t len = 0; len <= LONGEST; len++) {
    fill_random(message, len, len);
    fill_random(key, sizeof key, ~len);
    for (uint8_t i = 0; i < SECRET_BYTES / 16; i++) {
      besom_digest piece = reference_sip(1, 3, true, key, (uint8_t[8]){i}, 8);
      store64(secret + 16 * i, piece.lo);
      store64(secret + 16 * i + 8, piece.hi);
    }
    XXH128_hash_t wanted = XXH3_128bits_withSecret(message, len, secret, sizeof secret);
    struct hasher h = hasher_of("xxh3", key);
    assert_digest(hash_bytes(&h, message, len), (besom_digest){wanted.high64, wanted.low64});
  }
}

/* The public calls hash as the header does, whatever the library was compiled with. */
static void a_filter_hashes_by_its_hash_and_seed(void **state) {
  (void)state;
  uint8_t message[LONGEST];
  fill_random(message, sizeof message, 1);
  for (unsigned i = 0; i < 2; i++) {
    struct hasher h = hasher_of(hash_names[i], seed);
    besom_config config = {
        .kind = besom_kinds(0)->name, .capacity = 10, .hash = hash_names[i], .seed = seed};
    besom_filter *f = NULL;
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    for (size_t len = 0; len <= LONGEST; len++)
      assert_digest(besom_hash(f, message, len), hash_bytes(&h, message, len));
    for (uint64_t key = 0; key < 100; key++)
      assert_digest(besom_hash_u64(f, mix64(key)), hash_u64(&h, mix64(key)));
    besom_free(f);
  }
}

/* ------------------------------------------------------------------ both */

static void an_integer_is_its_8_little_endian_bytes(void **state) {
  (void)state;
  for (unsigned name = 0; name < 2; name++) {
    struct hasher h = hasher_of(hash_names[name], seed);
    for (uint64_t i = 0; i < 1000; i++) {
      uint64_t key = i < 64 ? UINT64_C(1) << i : mix64(i);
      uint8_t bytes[8];
      for (unsigned b = 0; b < 8; b++) bytes[b] = (uint8_t)(key >> 8 * b);
      assert_digest(hash_u64(&h, key), hash_bytes(&h, bytes, 8));
    }
  }
}

static void the_empty_key_needs_no_address(void **state) {
  (void)state;
  for (unsigned name = 0; name < 2; name++) {
    struct hasher h = hasher_of(hash_names[name], seed);
    assert_digest(hash_bytes(&h, NULL, 0), hash_bytes(&h, "x", 0));
  }
}

static void hashes_go_by_their_names_and_numbers(void **state) {
  (void)state;
  struct hasher h = hasher_of(NULL, seed), restored;
  assert_int_equal(h.id, HASH_XXH3);
  for (uint32_t id = HASH_XXH3; id <= HASH_SIP; id++) {
    h = hasher_of(hash_names[id - HASH_XXH3], seed);
    assert_int_equal(h.id, id);
    assert_string_equal(besom__hash_name(h.id), hash_names[id - HASH_XXH3]);
    assert_int_equal(besom__hasher_restore(&restored, id, seed), BESOM_OK);
    assert_true(hashers_equal(&h, &restored));
    assert_digest(hash_u64(&h, 1), hash_u64(&restored, 1));
  }
  static const char *const no_names[] = {"", "xxh", "xxh33", "XXH3", "sip ", "siphash"};
  for (unsigned i = 0; i < 6; i++)
    assert_int_equal(besom__hasher_init(&h, no_names[i], seed), BESOM_BAD_OPTION);
  static const uint32_t no_ids[] = {0, 3, 256, UINT32_MAX};
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(besom__hasher_restore(&h, no_ids[i], seed), BESOM_CORRUPT);
}

/* Every bit of the seed counts, in all of the secret. */
static void different_seeds_give_different_secrets(void **state) {
  (void)state;
  struct hasher h = hasher_of("xxh3", seed), sip = hasher_of("sip", seed);
  assert_false(hashers_equal(&h, &sip));
  for (unsigned bit = 0; bit < 8 * SEED_BYTES; bit++) {
    uint8_t flipped[SEED_BYTES];
    memcpy(flipped, seed, SEED_BYTES);
    flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
    struct hasher other = hasher_of("xxh3", flipped);
    assert_false(hashers_equal(&h, &other));
    for (unsigned at = 0; at < SECRET_BYTES; at += 8)
      assert_true(load64(h.secret + at) != load64(other.secret + at));
    assert_false(digests_equal(hash_u64(&h, 7), hash_u64(&other, 7)));
    assert_false(digests_equal(besom__siphash(seed, "7", 1), besom__siphash(flipped, "7", 1)));
  }
}

static void random_seeds_differ(void **state) {
  (void)state;
  enum { N = 50 };
  struct hasher h[N];
  for (unsigned i = 0; i < N; i++) {
    h[i] = hasher_of(NULL, NULL);
    for (unsigned j = 0; j < i; j++)
      for (unsigned at = 0; at < SEED_BYTES; at += 8)
        assert_true(load64(h[i].seed + at) != load64(h[j].seed + at));
  }
}

/* For every pair of a bit of the key and a bit of the digest: half the keys, within six sigma. */
static void a_flipped_bit_of_the_key_flips_half_the_digest(void **state) {
  (void)state;
  enum { KEYS = 1024, SIX_SIGMA = 96 };
  for (unsigned name = 0; name < 2; name++) {
    struct hasher h = hasher_of(hash_names[name], seed);
    for (unsigned in = 0; in < 64; in++) {
      unsigned flips[128] = {0};
      for (uint64_t key = 0; key < KEYS; key++) {
        besom_digest a = hash_u64(&h, key), b = hash_u64(&h, key ^ UINT64_C(1) << in);
        for (unsigned out = 0; out < 64; out++) {
          flips[out] += (a.lo ^ b.lo) >> out & 1;
          flips[64 + out] += (a.hi ^ b.hi) >> out & 1;
        }
      }
      for (unsigned out = 0; out < 128; out++)
        assert_in_range(flips[out], KEYS / 2 - SIX_SIGMA, KEYS / 2 + SIX_SIGMA);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_gives_the_published_vectors),
      cmocka_unit_test(sip_is_siphash_1_3_with_128_bits),
      cmocka_unit_test(xxh3_is_that_of_libxxhash_under_the_secret),
      cmocka_unit_test(a_filter_hashes_by_its_hash_and_seed),
      cmocka_unit_test(an_integer_is_its_8_little_endian_bytes),
      cmocka_unit_test(the_empty_key_needs_no_address),
      cmocka_unit_test(hashes_go_by_their_names_and_numbers),
      cmocka_unit_test(different_seeds_give_different_secrets),
      cmocka_unit_test(random_seeds_differ),
      cmocka_unit_test(a_flipped_bit_of_the_key_flips_half_the_digest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
