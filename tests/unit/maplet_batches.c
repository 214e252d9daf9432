/*
 * Batches of candidates: those of single calls, for every instruction set. The table is full and
 * its remainders are narrow: many runs leave their block, and have equal remainders in two of them.
 */
#include "besom_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/keys.h"

enum { SLOTS = 2048, ASKED = 4096, ROOM = 64 };

static void assert_status(besom_status expected, besom_status actual) {
  if (expected != actual)
    fail_msg("%s instead of %s", besom_strerror(actual), besom_strerror(expected));
}

static uint64_t value_of(uint64_t i, unsigned bits) {
  return key_u64(NEGATIVES, i) >> (64 - bits);
}

/* NULL if the machine lacks the instruction set. */
static besom_filter *full_maplet(const char *isa, unsigned width, unsigned bits, uint64_t *n) {
  static const uint8_t seed[16] = {1};
  char options[64];
  snprintf(options, sizeof options, "maplet=yes,isa=%s", isa);
  besom_config config = {.kind = "aqf",
                         .options = options,
                         .slots = SLOTS,
                         .width = width,
                         .value_bits = bits,
                         .seed = seed};
  besom_filter *f;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_BAD_OPTION) return NULL;
  assert_status(BESOM_OK, status);
  for (*n = 0; status == BESOM_OK; *n += status == BESOM_OK) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, *n));
    status = besom_insert_value(f, key.bytes, 8, value_of(*n, bits));
  }
  assert_status(BESOM_FULL, status);
  return f;
}

static void check_batch(const besom_filter *f, const uint64_t *keys) {
  static uint64_t out[ASKED * ROOM];
  size_t starts[ASKED + 1], done;
  assert_status(BESOM_OK,
                besom_get_values_many_u64(f, keys, ASKED, out, ASKED * ROOM, starts, &done));
  assert_int_equal(done, ASKED);
  for (size_t i = 0; i < ASKED; i++) {
    uint64_t one[ROOM];
    size_t n;
    assert_status(BESOM_OK, besom_get_values(f, besom_u64(keys[i]).bytes, 8, one, ROOM, &n));
    assert_int_equal(starts[i + 1] - starts[i], n);
    for (size_t k = 0; k < n; k++) assert_int_equal(out[starts[i] + k], one[k]);
  }
}

static bool has(const besom_filter *f, uint64_t key, uint64_t value) {
  uint64_t out[ROOM];
  size_t n;
  assert_status(BESOM_OK, besom_get_values(f, besom_u64(key).bytes, 8, out, ROOM, &n));
  for (size_t k = 0; k < n; k++)
    if (out[k] == value) return true;
  return false;
}

static void check_geometry(const char *isa, unsigned width, unsigned bits) {
  uint64_t keys[ASKED], n;
  besom_filter *f = full_maplet(isa, width, bits, &n);
  if (!f) return;
  assert_true(n > SLOTS / 2 && n < ASKED);
  for (size_t i = 0; i < ASKED; i++) keys[i] = key_u64(i < n ? MEMBERS : NEGATIVES, i);
  check_batch(f, keys);
  for (uint64_t i = 0; i < n; i++) assert_true(has(f, keys[i], value_of(i, bits)));
  besom_free(f);
}

static void batches_answer_as_single_calls(void **state) {
  static const char *const sets[] = {"portable", "avx2", "avx512"};
  static const unsigned widths[] = {2, 4, 8, 13}, bits[] = {1, 3, 5, 16, 21, 32};
  (void)state;
  for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
      for (size_t b = 0; b < sizeof bits / sizeof *bits; b++)
        check_geometry(sets[s], widths[w], bits[b]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_answer_as_single_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
