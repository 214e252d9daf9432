/* cf with layout=windows: how full tables get, copies, what a full filter leaves, damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "cuckoo/windows.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "windows_load.h"

static const uint8_t seed[16] = "windows";

static besom_config config_of_windows(uint64_t capacity) {
  return (besom_config){
      .kind = "cf", .options = "layout=windows", .capacity = capacity, .seed = seed};
}

static besom_filter *filter_new(uint64_t capacity) {
  besom_config config = config_of_windows(capacity);
  besom_filter *f;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static besom_status insert_copies(besom_filter *f, uint64_t key, uint64_t n) {
  besom_u64_key k = besom_u64(key);
  return besom_insert_count(f, k.bytes, sizeof k.bytes, n);
}

/* ------------------------------------------------------------------ sizes */

static void tables_are_full_at_95_percent(void **state) {
  (void)state;
  assert_int_equal(tables_full_early((UINT64_C(1) << 16) * 95 / 100, 40), 0);
  static const uint64_t small[] = {4, 5, 10, 30, 100, 500, 2400, 3000};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++)
    assert_int_equal(tables_full_early(small[i], 20), 0);
}

static void it_takes_the_bits_that_it_should(void **state) {
  (void)state;
  for (unsigned k = 8; k <= 16; k += 4) {
    besom_config config = config_of_windows(62000);
    config.fpr = 1.0 / (1u << k);
    besom_filter *f;
    besom_statistics stats;
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    besom_stats(f, &stats);
    assert_true(8.0 * (double)stats.bytes / (double)stats.capacity <= 1.06 * (k + 2) + 0.2);
    assert_true(stats.fpr_at_capacity <= config.fpr);
    besom_free(f);
  }
}

/* ------------------------------------------------------------------ copies, full filters */

static void a_key_has_four_copies(void **state) {
  (void)state;
  for (uint64_t capacity = 4; capacity < 3000; capacity *= 3)
    for (uint64_t key = 0; key < 50; key++) {
      besom_filter *f = filter_new(capacity);
      uint64_t n;
      for (unsigned i = 0; i < 4; i++) assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
      assert_int_equal(besom_insert_u64(f, key), BESOM_FULL);
      assert_int_equal(besom_count_u64(f, key, &n), BESOM_OK);
      assert_int_equal(n, 4);
      for (unsigned i = 0; i < 4; i++) assert_int_equal(besom_remove_u64(f, key), BESOM_OK);
      assert_int_equal(besom_remove_u64(f, key), BESOM_NOT_FOUND);
      assert_false(besom_contains_u64(f, key));
      besom_free(f);
    }
}

/* Copies of most keys fill parts of the table: FULL below the capacity, and nothing changes. */
static void a_full_filter_is_unchanged(void **state) {
  (void)state;
  besom_filter *f = filter_new(2000);
  unsigned full = 0;
  uint64_t i = 0;
  for (; full < 200 && i < 2000; i++) {
    memory_sink before, after;
    memory_sink_init(&before);
    memory_sink_init(&after);
    assert_int_equal(besom_save(f, &before.api), BESOM_OK);
    besom_status status = insert_copies(f, mix64(i), 3);
    if (status == BESOM_FULL) {
      full++;
      assert_int_equal(besom_save(f, &after.api), BESOM_OK);
      assert_true(memory_sinks_equal(&before, &after));
    } else {
      assert_int_equal(status, BESOM_OK);
      assert_true(besom_contains_u64(f, mix64(i)));
    }
    memory_sink_close(&before);
    memory_sink_close(&after);
  }
  assert_int_equal(full, 200);
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  besom_free(f);
}

/* ------------------------------------------------------------------ files, layouts */

static void layouts_do_not_merge(void **state) {
  (void)state;
  besom_filter *windows = filter_new(1000), *buckets, *merged = NULL;
  besom_config config = config_of_windows(1000);
  config.options = "layout=buckets";
  assert_int_equal(besom_create(&config, &buckets), BESOM_OK);
  assert_int_equal(besom_merge(windows, buckets, &merged), BESOM_INCOMPATIBLE);
  assert_int_equal(besom_merge(buckets, windows, &merged), BESOM_INCOMPATIBLE);
  besom_free(buckets);
  besom_free(windows);
  config = config_of_windows(1000);
  config.kind = "vacuum";
  assert_int_equal(besom_create(&config, &buckets), BESOM_BAD_OPTION);
  config = config_of_windows(1000);
  config.options = "layout=rows";
  assert_int_equal(besom_create(&config, &buckets), BESOM_BAD_OPTION);
}

/* 362 slots of windows and 362 buckets, of 10 bits: the numbers agree, and mean something else. */
static void layouts_with_equal_numbers_do_not_merge(void **state) {
  (void)state;
  besom_config config = {
      .kind = "cf", .options = "layout=windows", .capacity = 300, .fpr = 1 / 256.0, .seed = seed};
  besom_filter *windows, *buckets, *merged = NULL;
  assert_int_equal(besom_create(&config, &windows), BESOM_OK);
  config.options = NULL;
  config.capacity = 1369;
  config.fpr = 1 / 128.0;
  assert_int_equal(besom_create(&config, &buckets), BESOM_OK);
  assert_int_equal(partial_key(windows)->table.buckets, partial_key(buckets)->table.buckets);
  assert_int_equal(partial_key(windows)->table.width, partial_key(buckets)->table.width);
  assert_int_equal(besom_merge(windows, buckets, &merged), BESOM_INCOMPATIBLE);
  assert_int_equal(besom_merge(buckets, windows, &merged), BESOM_INCOMPATIBLE);
  besom_free(buckets);
  besom_free(windows);
}

/* The layers of a chain have the layout; the kind that its option names is cf. */
static void a_chain_of_windows_grows_and_counts(void **state) {
  (void)state;
  besom_config config = {
      .kind = "scaling", .options = "base=cf,layout=windows", .capacity = 500, .fpr = 1e-6};
  besom_filter *f;
  uint64_t n = 0;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < 5000; i++) assert_int_equal(besom_insert_u64(f, i), BESOM_OK);
  for (uint64_t i = 0; i < 5000; i++) assert_true(besom_contains_u64(f, i));
  assert_int_equal(besom_insert_count(f, "copies", 6, 5), BESOM_FULL);
  assert_int_equal(besom_insert_count(f, "copies", 6, 4), BESOM_OK);
  assert_int_equal(besom_count(f, "copies", 6, &n), BESOM_OK);
  assert_int_equal(n, 4);
  besom_free(f);
}

/* Any bits of a table: no operation leaves it. (The address sanitizer runs this, too.) */
static void damaged_tables_do_no_harm(void **state) {
  (void)state;
  static const uint64_t capacities[] = {4, 20, 400};
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++)
    for (uint64_t round = 0; round < 40; round++) {
      besom_filter *f = filter_new(capacities[c]), *other = filter_new(capacities[c]), *merged;
      struct partial_key *p = partial_key(f);
      size_t bytes = cuckoo_table_size(&p->table) - SLACK_BYTES;
      for (size_t i = 0; i < bytes; i++)
        p->table.bits[i] = round % 2 ? (uint8_t)mix64(1000 * round + i) : 0xff;
      for (uint64_t i = 0; i < 30; i++) {
        besom_insert_u64(f, mix64(i));
        insert_copies(f, mix64(i), 2);
        besom_contains_u64(f, mix64(i));
        besom_remove_u64(f, mix64(i));
      }
      besom_iter iter = {.filter = f};
      besom_entry entry;
      while (besom_iter_next(&iter, &entry) == BESOM_OK)
        ;
      if (besom_merge(other, f, &merged) == BESOM_OK) besom_free(merged);
      assert_true(round % 2 || besom_validate(f, NULL) != BESOM_OK);
      besom_free(other);
      besom_free(f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_full_at_95_percent),
      cmocka_unit_test(it_takes_the_bits_that_it_should),
      cmocka_unit_test(a_key_has_four_copies),
      cmocka_unit_test(a_full_filter_is_unchanged),
      cmocka_unit_test(layouts_do_not_merge),
      cmocka_unit_test(layouts_with_equal_numbers_do_not_merge),
      cmocka_unit_test(a_chain_of_windows_grows_and_counts),
      cmocka_unit_test(damaged_tables_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
