/*
 * Words of bits against naive loops. The compiler flags select the instructions of bits.h, so CMake
 * makes one program of this file per instruction set: bits, bits_avx2, bits_avx512.
 */
#include "core/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/cpu.h"
#include "support/heap.h"
#include "support/keys.h"

#if defined(__AVX512BW__)
#define NEEDED ISA_AVX512
#elif defined(__AVX2__)
#define NEEDED ISA_AVX2
#else
#define NEEDED ISA_PORTABLE
#endif

enum { WORDS = 1000 };

/* One bit; ones from either end; eight equal bytes, 0 included; then words of few and many bits. */
static uint64_t word_at(unsigned i) {
  if (i < 64) return UINT64_C(1) << i;
  if (i < 128) return ~UINT64_C(0) << (i - 64);
  if (i < 192) return ~UINT64_C(0) >> (i - 128);
  if (i < 448) return (i - 192) * BYTE_ONES;
  random_stream random = {i};
  uint64_t word = random_next(&random);
  for (unsigned fewer = i % 4; fewer; fewer--) word &= random_next(&random);
  for (unsigned more = i / 4 % 4; more; more--) word |= random_next(&random);
  return word;
}

static bool has_bit(uint64_t x, unsigned i) {
  return x >> i & 1;
}

static unsigned naive_count(uint64_t x) {
  unsigned n = 0;
  for (unsigned i = 0; i < 64; i++) n += has_bit(x, i);
  return n;
}

/* The lowest n set bits of x, one at a time. */
static uint64_t naive_first(uint64_t x, unsigned n) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 64 && n; i++)
    if (has_bit(x, i)) result |= UINT64_C(1) << i, n--;
  return result;
}

/* ------------------------------------------------------------------ words */

static void words_are_stored_with_their_lowest_byte_first(void **state) {
  (void)state;
  for (unsigned offset = 0; offset < 9; offset++) { /* at any address */
    uint8_t bytes[20] = {0};
    store64(bytes + offset, UINT64_C(0x0807060504030201));
    for (unsigned i = 0; i < sizeof bytes; i++)
      assert_int_equal(bytes[i], i >= offset && i < offset + 8 ? i - offset + 1 : 0);
    assert_int_equal(load64(bytes + offset), UINT64_C(0x0807060504030201));
  }
}

/* relaxed.h: the portable form, which few machines run, and the one that this build uses. */
static void relaxed_accesses_agree_at_any_address(void **state) {
  (void)state;
  for (unsigned offset = 0; offset < 9; offset++) {
    uint8_t bytes[20] = {0}, same[20] = {0};
    store64_bytewise(bytes + offset, UINT64_C(0x0807060504030201));
    store64_relaxed(same + offset, UINT64_C(0x0807060504030201));
    assert_memory_equal(bytes, same, sizeof bytes);
    assert_int_equal(load64(bytes + offset), UINT64_C(0x0807060504030201));
    assert_int_equal(load64_bytewise(bytes + offset), load64_relaxed(bytes + offset));
  }
}

static void counts_are_those_of_a_loop(void **state) {
  (void)state;
  for (unsigned w = 0; w < WORDS; w++) {
    uint64_t x = word_at(w);
    unsigned trailing = 0, leading = 0;
    while (trailing < 64 && !has_bit(x, trailing)) trailing++;
    while (leading < 64 && !has_bit(x, 63 - leading)) leading++;
    assert_int_equal(popcount(x), naive_count(x));
    assert_int_equal(trailing_zeros(x), trailing);
    assert_int_equal(leading_zeros(x), leading);
  }
  assert_int_equal(trailing_zeros(0), 64);
  assert_int_equal(leading_zeros(0), 64);
}

static void masks_have_the_bits_of_their_range(void **state) {
  (void)state;
  for (unsigned lo = 0; lo < 64; lo++)
    for (unsigned hi = lo; hi < 64; hi++) {
      uint64_t below = bits_below(lo), from = bits_from(lo), between = bits_between(lo, hi);
      for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(has_bit(below, i), i < lo);
        assert_int_equal(has_bit(from, i), i >= lo);
        assert_int_equal(has_bit(between, i), i >= lo && i <= hi);
      }
    }
  for (unsigned n = 0; n < 256; n++) assert_int_equal(bits_from_any(n), n < 64 ? bits_from(n) : 0);
}

static void selecting_finds_the_kth_bit_alone(void **state) {
  (void)state;
  for (unsigned w = 0; w < WORDS; w++)
    for (unsigned k = 0; k < 64; k++) {
      uint64_t x = word_at(w);
      assert_int_equal(select_bit(x, k), naive_first(x, k + 1) & ~naive_first(x, k));
    }
}

static void the_first_bits_are_those_of_a_loop(void **state) {
  (void)state;
  for (unsigned w = 0; w < WORDS; w++)
    for (unsigned n = 0; n <= 64; n++) {
      uint64_t x = word_at(w);
      assert_int_equal(first_bits(x, n), naive_first(x, n));
    }
}

/* ------------------------------------------------------------------ bytes */

static uint64_t naive_equal(const uint8_t *at, unsigned n, uint8_t byte) {
  uint64_t result = 0;
  for (unsigned i = 0; i < n; i++) result |= (uint64_t)(at[i] == byte) << i;
  return result;
}

static void assert_equal_bytes(const uint8_t *at, uint8_t byte) {
  assert_int_equal(equal_bytes_64(at, byte), naive_equal(at, 64, byte));
  assert_int_equal(equal_bytes_32(at, byte), naive_equal(at, 32, byte));
  assert_int_equal(equal_bytes_16(at, byte), naive_equal(at, 16, byte));
}

/* Bytes that differ in one bit from the one searched: carries between bytes would show. */
static void equal_bytes_are_found_among_all_others(void **state) {
  (void)state;
  static const uint8_t differences[] = {0, 0, 0, 1, 0x80, 0x81, 0x7f, 0xff};
  uint8_t *bytes = heap_array(64, 1); /* exactly this size, so that asan sees a read past it */
  random_stream random = {1};
  for (unsigned byte = 0; byte < 256; byte++)
    for (unsigned round = 0; round < 50; round++) {
      for (unsigned i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(byte ^ differences[random_below(&random, 8)]);
      assert_equal_bytes(bytes, (uint8_t)byte);
      for (unsigned i = 0; i < 64; i++) bytes[i] = (uint8_t)random_next(&random);
      assert_equal_bytes(bytes, (uint8_t)byte);
    }
  free(bytes);
}

static void equal_bytes_are_found_at_any_address(void **state) {
  (void)state;
  uint8_t bytes[128];
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(mix64(i) % 3);
  for (unsigned offset = 0; offset < 64; offset++)
    for (uint8_t byte = 0; byte < 4; byte++) assert_equal_bytes(bytes + offset, byte);
}

/* Every range, in an array of exactly the bytes that may be accessed. */
static void bytes_move_up_and_no_others_change(void **state) {
  (void)state;
  uint8_t *bytes = heap_array(1 + 64, 1), wanted[1 + 64];
  for (unsigned lo = 0; lo < 64; lo++)
    for (unsigned hi = lo; hi < 64; hi++) {
      for (unsigned i = 0; i < sizeof wanted; i++) wanted[i] = bytes[i] = (uint8_t)(i + 100);
      for (unsigned i = hi; i > lo; i--) wanted[1 + i] = wanted[i];
      move_bytes_up(bytes + 1, lo, hi);
      assert_memory_equal(bytes, wanted, sizeof wanted);
    }
  free(bytes);
}

static void bytes_move_down_and_no_others_change(void **state) {
  (void)state;
  uint8_t *bytes = heap_array(64, 1), wanted[64];
  for (unsigned lo = 0; lo < 64; lo++)
    for (unsigned hi = lo; hi < 64; hi++) {
      for (unsigned i = 0; i < sizeof wanted; i++) wanted[i] = bytes[i] = (uint8_t)(i + 100);
      for (unsigned i = lo; i < hi; i++) wanted[i] = bytes[i + 1];
      move_bytes_down(bytes, lo, hi);
      assert_memory_equal(bytes, wanted, sizeof wanted);
    }
  free(bytes);
}

/* Not inlined: main must run on machines without these instructions. */
__attribute__((noinline)) static int run_laws(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_stored_with_their_lowest_byte_first),
      cmocka_unit_test(relaxed_accesses_agree_at_any_address),
      cmocka_unit_test(counts_are_those_of_a_loop),
      cmocka_unit_test(masks_have_the_bits_of_their_range),
      cmocka_unit_test(selecting_finds_the_kth_bit_alone),
      cmocka_unit_test(the_first_bits_are_those_of_a_loop),
      cmocka_unit_test(equal_bytes_are_found_among_all_others),
      cmocka_unit_test(equal_bytes_are_found_at_any_address),
      cmocka_unit_test(bytes_move_up_and_no_others_change),
      cmocka_unit_test(bytes_move_down_and_no_others_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  if (besom__isa_best() >= NEEDED) return run_laws();
  printf("skipped: this machine has no %s\n", besom__isa_name(NEEDED));
  return 0;
}
