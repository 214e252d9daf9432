/*
 * acf-cyclic with bucket_slots=4: the adaptive cuckoo filter of the AQF paper. 12-bit entries, one
 * selector of four bits per bucket; a report computes all entries of its bucket anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "papers/adaptive_cuckoo/acf.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/slot_store.h"

enum { KEYS = 20000, QUERIES = 60000 };

static besom_filter *filter_new(const char *options, uint64_t capacity, double fpr) {
  besom_config config = {.kind = "acf-cyclic",
                         .options = options,
                         .capacity = capacity,
                         .fpr = fpr,
                         .seed = (const uint8_t *)"0123456789abcdef"};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static void fill(slot_store *s, besom_filter *f) {
  assert_int_equal(slot_store_open(s, f), BESOM_OK);
  for (uint64_t i = 0; i < KEYS; i++) {
    besom_match match;
    besom_digest d = besom_hash_u64(f, key_u64(MEMBERS, i));
    assert_int_equal(slot_store_insert(s, d, &match), BESOM_OK);
  }
}

/* A rate of 2^-9 as in the paper: 12 bits per entry, and one bit of the selector per slot. */
static void entries_have_12_bits(void **state) {
  (void)state;
  besom_filter *f = filter_new("bucket_slots=4", 1000000, 1.0 / 512);
  besom_statistics s;
  assert_int_equal(besom_stats(f, &s), BESOM_OK);
  assert_int_equal(s.width, 12);
  assert_true(s.fpr_at_capacity < 1.0 / 512);
  assert_true((double)s.bytes < 13.05 / 8 * (double)s.slots);
  assert_true((double)s.bytes >= 13.0 / 8 * (double)s.slots);
  besom_free(f);
}

static void assert_no_member_is_lost(const besom_filter *f) {
  for (uint64_t i = 0; i < KEYS; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
}

/* The slots of a bucket are those whose entries change, all of them, by one read of each key. */
static void a_report_rewrites_its_bucket(void **state) {
  (void)state;
  slot_store store;
  besom_filter *f = filter_new("bucket_slots=4", KEYS, 1.0 / 512);
  fill(&store, f);
  struct acf *a = acf(f);
  unsigned reports = 0, changed = 0, used = 0;
  for (uint64_t i = 0; i < QUERIES; i++) {
    besom_digest d = besom_hash_u64(f, key_u64(NEGATIVES, i));
    besom_match match;
    uint64_t before[MAX_BUCKET_SLOTS];
    size_t total = 0;
    assert_int_equal(besom_matches(f, d, &match, 1, &total), BESOM_OK);
    if (total != 1) continue;
    uint64_t bucket = match.bucket / MAX_BUCKET_SLOTS, first = bucket * MAX_BUCKET_SLOTS;
    unsigned selector = bucket_selector(a, bucket), here = 0;
    for (unsigned j = 0; j < MAX_BUCKET_SLOTS; j++)
      here += (before[j] = slot_get(&a->table, first + j)) != 0;
    store.reads = 0;
    assert_int_equal(besom_adapt_u64(f, key_u64(NEGATIVES, i)), BESOM_OK);
    assert_int_equal(store.reads, 1 + here);
    assert_false(besom_contains_u64(f, key_u64(NEGATIVES, i)));
    assert_true((bucket_selector(a, bucket) - selector) % 16 >= 1);
    for (unsigned j = 0; j < MAX_BUCKET_SLOTS; j++)
      changed += slot_get(&a->table, first + j) != before[j];
    used += here;
    reports++;
  }
  assert_true(reports > 50 && used > 3 * reports);
  assert_true(changed + 5 >= used && changed <= used);
  assert_no_member_is_lost(f);
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  assert_false(store.wrong);
  slot_store_close(&store);
  besom_free(f);
}

/* If one of the keys cannot be read, nothing has changed. */
static void a_store_that_fails_changes_nothing(void **state) {
  (void)state;
  slot_store store;
  besom_filter *f = filter_new("bucket_slots=4", KEYS, 1.0 / 512);
  fill(&store, f);
  uint64_t key = key_u64(NEGATIVES, 0);
  for (uint64_t i = 1; !besom_contains_u64(f, key); i++) key = key_u64(NEGATIVES, i);
  for (uint64_t fail_at = 1; fail_at <= 3; fail_at++) {
    memory_sink before, after;
    memory_sink_init(&before), memory_sink_init(&after);
    assert_int_equal(besom_save(f, &before.api), BESOM_OK);
    store.calls = 0;
    store.fail_at = fail_at;
    assert_int_equal(besom_adapt_u64(f, key), BESOM_IO);
    assert_int_equal(besom_save(f, &after.api), BESOM_OK);
    assert_true(memory_sinks_equal(&before, &after));
    memory_sink_close(&before), memory_sink_close(&after);
  }
  slot_store_close(&store);
  besom_free(f);
}

/* The form, and the selectors, survive a file. */
static void a_file_keeps_the_selectors(void **state) {
  (void)state;
  slot_store store;
  memory_sink saved, again;
  besom_filter *f = filter_new("bucket_slots=4", KEYS, 1.0 / 512), *loaded = NULL;
  fill(&store, f);
  for (uint64_t i = 0; i < QUERIES; i++) (void)besom_adapt_u64(f, key_u64(NEGATIVES, i));
  memory_sink_init(&saved), memory_sink_init(&again);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &loaded), BESOM_OK);
  assert_int_equal(besom_save(loaded, &again.api), BESOM_OK);
  assert_true(memory_sinks_equal(&saved, &again));
  assert_no_member_is_lost(loaded);
  for (uint64_t i = 0; i < QUERIES; i++)
    assert_int_equal(besom_contains_u64(loaded, key_u64(NEGATIVES, i)),
                     besom_contains_u64(f, key_u64(NEGATIVES, i)));
  memory_sink_close(&saved), memory_sink_close(&again);
  slot_store_close(&store);
  besom_free(loaded);
  besom_free(f);
}

static void options_exclude_each_other(void **state) {
  (void)state;
  static const char *const wrong[] = {"bucket_slots=2", "bucket_slots=4,selector_bits=1",
                                      "bucket_slots=", "bucket_slots=44"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    besom_config config = {.kind = "acf-cyclic", .options = wrong[i], .capacity = 100};
    besom_filter *f = NULL;
    assert_int_equal(besom_create(&config, &f), BESOM_BAD_OPTION);
  }
  besom_filter *one = filter_new("bucket_slots=1,selector_bits=3", 100, 0.01);
  assert_null(acf(one)->selectors);
  besom_free(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_have_12_bits),
      cmocka_unit_test(a_report_rewrites_its_bucket),
      cmocka_unit_test(a_store_that_fails_changes_nothing),
      cmocka_unit_test(a_file_keeps_the_selectors),
      cmocka_unit_test(options_exclude_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
