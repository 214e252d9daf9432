/* Numbers to bytes and back, the ends of buffers, and the checksum. */
#include "core/byte_io.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"
#include "support/keys.h"

static void numbers_are_written_with_their_lowest_byte_first(void **state) {
  (void)state;
  uint8_t bytes[24];
  static const uint8_t wanted[24] = {4,   3,   2,   1,   8, 7, 6, 5, 4, 3, 2,    1,
                                     'a', 'b', 'c', 'd', 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
  struct byte_writer w = {bytes, bytes + sizeof bytes, false};
  besom__write_u32(&w, 0x01020304);
  besom__write_u64(&w, UINT64_C(0x0102030405060708));
  besom__write_bytes(&w, "abcd", 4);
  besom__write_double(&w, 1.0);
  assert_false(w.failed);
  assert_ptr_equal(w.at, w.end);
  assert_memory_equal(bytes, wanted, sizeof wanted);
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static void what_is_written_is_read(void **state) {
  (void)state;
  static const double doubles[] = {0.0,         -0.0,     1.0 / 3,   DBL_MAX,
                                   DBL_MIN / 2, INFINITY, -INFINITY, NAN};
  uint8_t bytes[4 + 8 + 8 + 5], text[5];
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t number = i < 64 ? ~UINT64_C(0) << i : mix64(i);
    struct byte_writer w = {bytes, bytes + sizeof bytes, false};
    besom__write_u32(&w, (uint32_t)number);
    besom__write_u64(&w, number);
    besom__write_double(&w, doubles[i % 8]);
    besom__write_bytes(&w, "hello", 5);
    struct byte_reader r = {bytes, w.at, false};
    assert_int_equal(besom__read_u32(&r), (uint32_t)number);
    assert_int_equal(besom__read_u64(&r), number);
    assert_int_equal(bits_of(besom__read_double(&r)), bits_of(doubles[i % 8]));
    besom__read_bytes(&r, text, 5);
    assert_memory_equal(text, "hello", 5);
    assert_false(w.failed);
    assert_false(r.failed);
    assert_ptr_equal(r.at, r.end);
  }
}

/* Fields that read or write 4, 8, 8 and 5 bytes. */
enum { FIELDS = 4 };
static const size_t field_sizes[FIELDS] = {4, 8, 8, 5};

/* Is the field zero? Fresh memory is not. */
static bool reads_zero(struct byte_reader *r, unsigned field) {
  uint8_t text[5] = {1, 1, 1, 1, 1};
  switch (field) {
  case 0:
    return besom__read_u32(r) == 0;
  case 1:
    return besom__read_u64(r) == 0;
  case 2:
    return bits_of(besom__read_double(r)) == 0;
  default:
    besom__read_bytes(r, text, sizeof text);
    return memcmp(text, "\0\0\0\0", sizeof text) == 0;
  }
}

static void write_ones(struct byte_writer *w, unsigned field) {
  static const uint8_t ones[5] = {0xff, 0xff, 0xff, 0xff, 0xff};
  double all;
  memset(&all, 0xff, sizeof all);
  switch (field) {
  case 0:
    besom__write_u32(w, UINT32_MAX);
    return;
  case 1:
    besom__write_u64(w, UINT64_MAX);
    return;
  case 2:
    besom__write_double(w, all);
    return;
  default:
    besom__write_bytes(w, ones, sizeof ones);
  }
}

/* From a block of just the size, so that asan sees a read beyond it. */
static void reading_past_the_end_gives_zeros_and_fails(void **state) {
  (void)state;
  for (unsigned field = 0; field < FIELDS; field++)
    for (size_t size = 0; size <= 8; size++) {
      uint8_t *bytes = heap_array(size, 1);
      memset(bytes, 0xff, size);
      struct byte_reader r = {bytes, bytes + size, false};
      bool fits = size >= field_sizes[field];
      assert_int_equal(reads_zero(&r, field), !fits);
      assert_int_equal(r.failed, !fits);
      assert_ptr_equal(r.at, bytes + (fits ? field_sizes[field] : 0));
      free(bytes);
    }
}

static void after_a_failure_everything_reads_as_zero(void **state) {
  (void)state;
  uint8_t bytes[7];
  memset(bytes, 0xff, sizeof bytes);
  struct byte_reader r = {bytes, bytes + sizeof bytes, false};
  assert_int_equal(besom__read_u64(&r), 0);
  assert_int_equal(besom__read_u32(&r), 0); /* there would be bytes enough */
  assert_true(reads_zero(&r, 3));
  assert_true(r.failed);
}

static void nothing_is_written_past_the_end(void **state) {
  (void)state;
  for (unsigned field = 0; field < FIELDS; field++)
    for (size_t size = 0; size <= 8; size++) {
      uint8_t bytes[16] = {0};
      struct byte_writer w = {bytes, bytes + size, false};
      bool fits = size >= field_sizes[field];
      write_ones(&w, field);
      assert_int_equal(w.failed, !fits);
      assert_ptr_equal(w.at, bytes + (fits ? field_sizes[field] : 0));
      for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i],
                         fits && i < field_sizes[field] ? 0xff : 0); /* all of it or nothing */
    }
}

/* Else what follows a gap would be read as what was dropped. */
static void after_a_failure_nothing_more_is_written(void **state) {
  (void)state;
  uint8_t bytes[7] = {0};
  struct byte_writer w = {bytes, bytes + sizeof bytes, false};
  write_ones(&w, 1);
  write_ones(&w, 0);
  write_ones(&w, 3);
  assert_true(w.failed);
  for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0);
}

/* ------------------------------------------------------------------ checksum */

static void the_checksum_is_xxh3(void **state) {
  (void)state;
  assert_int_equal(besom__checksum("", 0), UINT64_C(0x2d06800538d394c2));
}

/* XXH3 has a way of its own for each range of lengths: each is here. */
static void the_checksum_notices_any_flipped_bit(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 3, 4, 8, 9, 16, 17, 56, 64, 128, 129, 240, 241, 512, 1025};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    uint8_t *bytes = heap_array(sizes[s], 1);
    for (size_t i = 0; i < sizes[s]; i++) bytes[i] = (uint8_t)mix64(i);
    uint64_t checksum = besom__checksum(bytes, sizes[s]);
    for (size_t bit = 0; bit < 8 * sizes[s]; bit++) {
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      assert_true(besom__checksum(bytes, sizes[s]) != checksum);
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(besom__checksum(bytes, sizes[s]), checksum);
    free(bytes);
  }
}

static void the_checksum_notices_a_changed_length(void **state) {
  (void)state;
  enum { N = 600 };
  static const uint8_t zeros[N];
  uint64_t sums[N];
  for (size_t len = 0; len < N; len++) {
    sums[len] = besom__checksum(zeros, len);
    for (size_t other = 0; other < len; other++) assert_true(sums[len] != sums[other]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_written_with_their_lowest_byte_first),
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(reading_past_the_end_gives_zeros_and_fails),
      cmocka_unit_test(after_a_failure_everything_reads_as_zero),
      cmocka_unit_test(nothing_is_written_past_the_end),
      cmocka_unit_test(after_a_failure_nothing_more_is_written),
      cmocka_unit_test(the_checksum_is_xxh3),
      cmocka_unit_test(the_checksum_notices_any_flipped_bit),
      cmocka_unit_test(the_checksum_notices_a_changed_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
