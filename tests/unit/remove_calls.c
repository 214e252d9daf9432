/*
 * The removes that a filter points at, which search and remove in one function, leave what the
 * operation of the kind leaves: two filters with the same changes have the same bytes. Full tables,
 * so that shifts leave their blocks; copies; keys that are absent; every instruction set; a
 * concurrent filter of several regions beside a plain one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "kind.h"
#include "support/keys.h"
#include "support/saved_filters.h"

enum { SLOTS = 1024, SHARED_SLOTS = 3 * 4096, CHANGES_PER_SLOT = 8 };

static besom_filter *remove_calls_filter(const char *kind, const char *isa, uint32_t width,
                                         uint64_t slots) {
  static const uint8_t seed[16] = "removes";
  char options[32];
  besom_filter *f = NULL;
  snprintf(options, sizeof options, "isa=%s", isa);
  besom_config config = {
      .kind = kind, .options = options, .slots = slots, .seed = seed, .width = width};
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_INVALID) {
    config.slots = config.width = 0;
    config.capacity = slots;
    config.fpr = ldexp(1, -(int)width);
    status = besom_create(&config, &f);
  }
  if (status != BESOM_OK) assert_int_equal(status, BESOM_BAD_OPTION); /* not on this machine */
  return f;
}

/* As bytes, as digest, and for the other filter by the operation of the kind. */
static void remove_calls_remove(besom_filter *f, besom_filter *other, uint64_t key,
                                bool as_digest) {
  besom_digest d = besom_hash_u64(f, key);
  besom_u64_key bytes = besom_u64(key);
  besom_status status =
      as_digest ? besom_remove_digest(f, d) : besom_remove(f, bytes.bytes, sizeof bytes.bytes);
  assert_int_equal(other->kind->change->remove(other, d), status);
}

/* Keys of a small universe come and go, and the table is nearly full. */
static void check_remove_calls(const char *kind, const char *isa, uint32_t width, bool shared) {
  int slots = shared ? SHARED_SLOTS : SLOTS;
  besom_filter *f = remove_calls_filter(kind, isa, width, (uint64_t)slots),
               *other = remove_calls_filter(kind, isa, width, (uint64_t)slots);
  const char *reason = NULL;
  random_stream random = {width};
  if (f && shared) assert_int_equal(besom_share(f), BESOM_OK);
  for (int i = 0; f && i < CHANGES_PER_SLOT * slots; i++) {
    uint64_t key = key_u64(MEMBERS, random_below(&random, (uint64_t)slots));
    bool inserts = i < slots ? i % 8 : i % 2;
    if (inserts)
      assert_int_equal(besom_insert_u64(f, key), besom_insert_u64(other, key));
    else
      remove_calls_remove(f, other, key, i % 4 == 0);
    if (i % (2 * slots)) continue;
    assert_int_equal(besom_validate(f, &reason), BESOM_OK);
    assert_same_bytes(f, other);
  }
  if (f) assert_same_bytes(f, other);
  besom_free(f);
  besom_free(other);
}

static void calls_remove_as_the_operation_does(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "qf", "cf", "vacuum", "pqf"}, *const isas[] = {
                                                                               "portable", "avx2",
                                                                               "avx512"};
  static const uint32_t widths[] = {5, 8, 10, 16};
  for (int k = 0; k < 5; k++)
    for (int i = 0; i < 3; i++)
      for (int w = 0; w < 4; w++) check_remove_calls(kinds[k], isas[i], widths[w], false);
}

static void concurrent_calls_remove_as_a_plain_filter_does(void **state) {
  (void)state;
  static const char *const isas[] = {"portable", "avx2", "avx512"};
  for (int i = 0; i < 3; i++) {
    check_remove_calls("aqf", isas[i], 5, true);
    check_remove_calls("aqf", isas[i], 8, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_remove_as_the_operation_does),
      cmocka_unit_test(concurrent_calls_remove_as_a_plain_filter_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
