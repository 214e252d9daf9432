/* Addresses against exact arithmetic: schoolbook multiplication, digit by digit, in 256 bits. */
#include "core/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/keys.h"

enum { SIZES = 200, DIGESTS = 100 };

/* Numbers of slots: powers of two up to 2^44 and their neighbours, primes, then any. */
static uint64_t slots_at(unsigned i) {
  static const uint64_t primes[] = {7, 997, 1000003, 4294967311, 1000000000039};
  if (i < 45) return UINT64_C(1) << i;
  if (i < 90) return (UINT64_C(1) << (i - 45)) + 1;
  if (i < 133) return (UINT64_C(1) << (i - 88)) - 1;
  if (i < 138) return primes[i - 133];
  return 1 + (mix64(i) >> (20 + i % 40));
}

static besom_digest minus_one(besom_digest d) {
  return (besom_digest){d.hi - (d.lo == 0), d.lo - 1};
}

/* The least digest of a quotient: quotient * 2^128 / slots, rounded up. */
static besom_digest first_digest_of(uint64_t quotient, uint64_t slots) {
  unsigned __int128 high = (unsigned __int128)quotient << 64, low = high % slots << 64;
  besom_digest d = {(uint64_t)(high / slots), (uint64_t)(low / slots)};
  if (low % slots) d = (besom_digest){d.hi + (d.lo == UINT64_MAX), d.lo + 1};
  return d;
}

/* The ends of the range, the borders between quotients, and what chance brings. */
static besom_digest digest_at(unsigned i, uint64_t slots) {
  random_stream random = {mix64(slots) + i};
  uint64_t some = random_next(&random), other = random_next(&random);
  switch (i % 8) {
  case 0:
    return i ? (besom_digest){some, 0} : (besom_digest){0, 0};
  case 1:
    return i > 1 ? (besom_digest){some, UINT64_MAX} : (besom_digest){UINT64_MAX, UINT64_MAX};
  case 2:
    return first_digest_of(some % slots, slots);
  case 3:
    return slots > 1 ? minus_one(first_digest_of(1 + some % (slots - 1), slots))
                     : (besom_digest){0, some};
  case 4:
    return (besom_digest){first_digest_of(some % slots, slots).hi, other};
  case 5:
    return (besom_digest){some >> other % 64, other};
  default:
    return (besom_digest){some, other};
  }
}

/* ------------------------------------------------------------------ exact arithmetic */

struct big {
  uint32_t digits[8]; /* the lowest first */
};

static struct big big_of(uint64_t hi, uint64_t lo) {
  return (struct big){{(uint32_t)lo, (uint32_t)(lo >> 32), (uint32_t)hi, (uint32_t)(hi >> 32)}};
}

static struct big big_product(struct big a, struct big b) {
  struct big c = {{0}};
  for (unsigned i = 0; i < 8; i++) {
    uint64_t carry = 0;
    for (unsigned j = 0; i + j < 8; j++) {
      carry += (uint64_t)a.digits[i] * b.digits[j] + c.digits[i + j];
      c.digits[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
  }
  return c;
}

static uint64_t big_word(const struct big *a, unsigned word) {
  return a->digits[2 * word] | (uint64_t)a->digits[2 * word + 1] << 32;
}

/* ------------------------------------------------------------------ laws */

static void an_address_is_the_exact_product(void **state) {
  (void)state;
  for (unsigned s = 0; s < SIZES; s++)
    for (unsigned i = 0; i < DIGESTS; i++) {
      besom_digest d = digest_at(i, slots_at(s));
      struct address a = address_of(d, slots_at(s));
      struct big product = big_product(big_of(d.hi, d.lo), big_of(0, slots_at(s)));
      assert_int_equal(big_word(&product, 3), 0);
      assert_int_equal(a.quotient, big_word(&product, 2));
      assert_int_equal(a.rest.hi, big_word(&product, 1));
      assert_int_equal(a.rest.lo, big_word(&product, 0));
      assert_true(a.quotient < slots_at(s));
    }
}

/* To the unit: the digest before the first one of a quotient has the quotient before. */
static void quotients_begin_where_their_fraction_does(void **state) {
  (void)state;
  for (unsigned s = 0; s < SIZES; s++)
    for (uint64_t i = 0; i < DIGESTS; i++) {
      uint64_t slots = slots_at(s), quotient = i == 0 ? slots - 1 : mix64(i) % slots;
      if (quotient == 0) continue;
      besom_digest first = first_digest_of(quotient, slots);
      assert_int_equal(address_of(first, slots).quotient, quotient);
      assert_int_equal(address_of(minus_one(first), slots).quotient, quotient - 1);
    }
}

static bool digest_less(besom_digest a, besom_digest b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static bool address_below(struct address a, struct address b) {
  return a.quotient < b.quotient || (a.quotient == b.quotient && digest_less(a.rest, b.rest));
}

static void addresses_are_in_the_order_of_their_digests(void **state) {
  (void)state;
  for (unsigned s = 0; s < SIZES; s++) {
    uint64_t slots = slots_at(s);
    for (unsigned i = 0; i < DIGESTS; i++)
      for (unsigned j = 0; j < 10; j++) {
        besom_digest a = digest_at(i, slots), b = j ? digest_at(i + j, slots) : minus_one(a);
        assert_int_equal(address_below(address_of(a, slots), address_of(b, slots)),
                         digest_less(a, b));
      }
  }
}

static void a_remainder_is_the_first_bits_of_the_rest(void **state) {
  (void)state;
  for (unsigned i = 0; i < DIGESTS; i++) {
    struct address a = address_of(digest_at(i, 1000003), 1000003);
    uint64_t remainder = 0;
    for (unsigned width = 1; width <= 64; width++) {
      remainder = 2 * remainder + (a.rest.hi >> (64 - width) & 1);
      assert_int_equal(remainder_of(a, width), remainder);
    }
  }
}

static void growing_moves_one_bit_from_remainder_to_quotient(void **state) {
  (void)state;
  for (unsigned s = 0; s < SIZES; s++)
    for (unsigned i = 0; i < DIGESTS; i++) {
      besom_digest d = digest_at(i, i % 2 ? slots_at(s) : 2 * slots_at(s));
      struct address small = address_of(d, slots_at(s)), large = address_of(d, 2 * slots_at(s));
      assert_int_equal(large.quotient, 2 * small.quotient + remainder_of(small, 1));
      assert_int_equal(large.rest.hi, small.rest.hi << 1 | small.rest.lo >> 63);
      assert_int_equal(large.rest.lo, small.rest.lo << 1);
      for (unsigned width = 2; width <= 64; width++)
        assert_int_equal(remainder_of(large, width - 1),
                         remainder_of(small, width) & bits_below(width - 1));
    }
}

static void the_near_quotient_is_at_most_one_too_small(void **state) {
  (void)state;
  unsigned missed = 0;
  for (unsigned s = 0; s < SIZES; s++)
    for (unsigned i = 0; i < DIGESTS; i++) {
      besom_digest d = digest_at(i, slots_at(s));
      uint64_t quotient = address_of(d, slots_at(s)).quotient,
               near = approximate_quotient(d, slots_at(s));
      assert_in_range(quotient - near, 0, 1);
      missed += near != quotient;
    }
  assert_true(missed > 0); /* else the digests above are too tame to tell anything */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_address_is_the_exact_product),
      cmocka_unit_test(quotients_begin_where_their_fraction_does),
      cmocka_unit_test(addresses_are_in_the_order_of_their_digests),
      cmocka_unit_test(a_remainder_is_the_first_bits_of_the_rest),
      cmocka_unit_test(growing_moves_one_bit_from_remainder_to_quotient),
      cmocka_unit_test(the_near_quotient_is_at_most_one_too_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
