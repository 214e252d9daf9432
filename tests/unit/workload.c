/*
 * Workloads: exact while keys fit in memory, then bounded in memory and error; and plans made from
 * them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stacked/workload.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

static besom_workload *make(uint64_t memory) {
  besom_workload *w = NULL;
  assert_int_equal(besom_workload_create(memory, NULL, &w), BESOM_OK);
  return w;
}

static besom_workload_statistics stats_of(const besom_workload *w) {
  besom_workload_statistics stats;
  assert_int_equal(besom_workload_stats(w, &stats), BESOM_OK);
  return stats;
}

static besom_status add_u64(besom_workload *w, uint64_t key, uint64_t times) {
  besom_u64_key k = besom_u64(key);
  return besom_workload_add(w, k.bytes, sizeof k.bytes, times);
}

/* The weight of a key in the source; 0 if it is not there. */
static uint64_t count_of(besom_workload *w, const void *wanted, size_t len) {
  besom_source source = besom_workload_source(w);
  besom_bytes key;
  uint64_t weight = 1, count = 0;
  while (source.next(source.ctx, &key, &weight) == BESOM_OK)
    if (key.len == len && !memcmp(key.data, wanted, len)) count += weight;
  return count;
}

static void counts_are_exact_while_there_is_room(void **state) {
  (void)state;
  besom_workload *w = make(0);
  byte_keys keys = byte_keys_new(MEMBERS, 3000);
  for (size_t i = 0; i < 3000; i++)
    for (size_t times = 0; times <= i % 3; times++)
      assert_int_equal(besom_workload_add(w, keys.keys[i].data, keys.keys[i].len, 1), BESOM_OK);
  assert_int_equal(add_u64(w, 77, 5), BESOM_OK);
  besom_workload_statistics stats = stats_of(w);
  assert_int_equal(stats.queries, 6005);
  assert_int_equal(stats.known, 6005);
  assert_int_equal(stats.keys, 3001);
  assert_int_equal(stats.error, 0);
  assert_true(fabs(stats.unseen - 1000.0 / 6005) < 1e-12);
  for (size_t i = 0; i < 3000; i += 97)
    assert_int_equal(count_of(w, keys.keys[i].data, keys.keys[i].len), i % 3 + 1);
  const uint8_t little_endian[8] = {77};
  assert_int_equal(count_of(w, little_endian, 8), 5);
  besom_source source = besom_workload_source(w);
  uint64_t n = 0, weight, queries = 0;
  besom_bytes key;
  assert_int_equal(source.size_hint, 3001);
  assert_int_equal(source.rewind(source.ctx), BESOM_OK);
  for (; source.next(source.ctx, &key, &weight) == BESOM_OK; n++) queries += weight;
  assert_true(n == 3001 && queries == 6005);
  byte_keys_free(&keys);
  besom_workload_free(w);
}

/*
 * A million keys in 64 KB: the frequent ones are known, and counts are within the error in the
 * statistics.
 */
static void memory_is_bounded_and_so_is_the_error(void **state) {
  (void)state;
  enum { MEMORY = 1 << 16, QUERIES = 400000, FREQUENT = 50 };
  besom_workload *w = make(MEMORY);
  random_stream random = {3};
  uint64_t asked[FREQUENT] = {0};
  for (size_t i = 0; i < QUERIES; i++) {
    uint64_t k = random_below(&random, 4 * FREQUENT);
    if (k < FREQUENT) asked[k]++;
    uint64_t key = k < FREQUENT ? key_u64(MEMBERS, k) : key_u64(NEGATIVES, i);
    assert_int_equal(add_u64(w, key, 1), BESOM_OK);
    if (i % 1000 == 0) assert_true(stats_of(w).bytes <= MEMORY + 4096);
  }
  besom_workload_statistics stats = stats_of(w);
  assert_int_equal(stats.queries, QUERIES);
  assert_true(stats.known < stats.queries && stats.error > 0);
  double room = MEMORY / 2.0 / 32 * 3 / 4; /* lower bound of the keys that fit in the table */
  assert_true((double)stats.error <= 2 * QUERIES / room);
  assert_true(stats.unseen > 0.7 && stats.unseen <= 1);
  for (size_t k = 0; k < FREQUENT; k++) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, k));
    uint64_t count = count_of(w, key.bytes, sizeof key.bytes);
    assert_true(count <= asked[k] && count + stats.error >= asked[k]);
    assert_true(count > 0);
  }
  besom_workload_free(w);
}

/* Long keys fill the arena before the table, and reduce the memory of the table. */
static void long_keys_are_bounded_too(void **state) {
  (void)state;
  enum { MEMORY = 1 << 16, LEN = MEMORY / 16 };
  besom_workload *w = make(MEMORY);
  uint8_t *key = heap_array(LEN + 1, 1);
  for (uint64_t i = 0; i < 20000; i++) assert_int_equal(add_u64(w, i, 1), BESOM_OK);
  for (uint64_t i = 0; i < 500; i++) {
    memcpy(key, &i, sizeof i);
    assert_int_equal(besom_workload_add(w, key, LEN, 3), BESOM_OK);
    assert_true(stats_of(w).bytes <= MEMORY + 4096);
    assert_int_equal(count_of(w, key, LEN), 3);
  }
  assert_int_equal(besom_workload_add(w, key, LEN + 1, 1), BESOM_FULL);
  assert_int_equal(besom_workload_add(w, NULL, 0, 1), BESOM_OK); /* the empty key is a key */
  assert_int_equal(count_of(w, "", 0), 1);
  free(key);
  besom_workload_free(w);
}

static void wrong_arguments_are_told(void **state) {
  (void)state;
  besom_workload *w = NULL;
  besom_workload_statistics stats;
  assert_int_equal(besom_workload_create(4095, NULL, &w), BESOM_INVALID);
  assert_int_equal(besom_workload_create(0, NULL, NULL), BESOM_INVALID);
  w = make(4096);
  assert_int_equal(besom_workload_add(NULL, "a", 1, 1), BESOM_INVALID);
  assert_int_equal(besom_workload_add(w, NULL, 1, 1), BESOM_INVALID);
  assert_int_equal(besom_workload_add(w, "a", 1, 0), BESOM_INVALID);
  assert_int_equal(besom_workload_add(w, "a", 1, UINT64_MAX), BESOM_INVALID);
  assert_int_equal(besom_workload_stats(w, NULL), BESOM_INVALID);
  assert_int_equal(besom_workload_stats(NULL, &stats), BESOM_INVALID);
  assert_null(besom_workload_source(NULL).next);
  assert_int_equal(stats_of(w).queries, 0);
  assert_true(stats_of(w).unseen == 1);
  besom_workload_free(w);
  besom_workload_free(NULL);
}

/* The n-th allocation fails: what was known is still known. */
static void failing_memory_changes_nothing(void **state) {
  (void)state;
  for (uint64_t fail_at = 1; fail_at < 20; fail_at++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = fail_at;
    besom_workload *w = NULL;
    besom_status status = besom_workload_create(1 << 14, &memory.api, &w);
    uint64_t added = 0;
    while (status == BESOM_OK && added < 1000) {
      status = add_u64(w, added, 1);
      added += status == BESOM_OK;
    }
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    if (w) {
      assert_int_equal(stats_of(w).queries, added);
      assert_int_equal(add_u64(w, added, 1), BESOM_OK);
    }
    besom_workload_free(w);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* ------------------------------------------------------------------ ranks */

/* The ranks of a large workload are kept with every query: they are those of its keys. */
static void assert_ranks(besom_workload *w) {
  struct rank_frequency *own = heap_array(1, sizeof *own), *kept = heap_array(1, sizeof *kept);
  besom_source source = besom_workload_source(w);
  besom_bytes key;
  uint64_t weight = 1;
  while (source.next(source.ctx, &key, &weight) == BESOM_OK) besom__rank_frequency_add(own, weight);
  besom__workload_rank_frequency(w, kept);
  assert_int_equal(kept->lost, stats_of(w).queries - stats_of(w).known);
  own->lost = kept->lost;
  assert_memory_equal(own, kept, sizeof *own);
  assert_true(stats_of(w).unseen == besom__rank_frequency_unseen(own));
  free(own);
  free(kept);
}

/* 60,000 keys, first one by one, then some of them often. */
static void ranks_follow_the_counts(void **state) {
  (void)state;
  besom_workload *w = make(0);
  random_stream random = {5};
  for (uint64_t i = 0; i < 60000; i++) assert_int_equal(add_u64(w, i, 1 + i % 5), BESOM_OK);
  assert_ranks(w);
  for (uint64_t i = 0; i < 60000; i++) {
    uint64_t key = random_below(&random, 60000), times = i % 100 ? 1 + i % 3 : 5000;
    assert_int_equal(add_u64(w, key, times), BESOM_OK);
  }
  assert_ranks(w);
  besom_workload_free(w);
}

/* What is dropped is dropped from the ranks; they are within the limit, too. */
static void ranks_are_within_the_memory(void **state) {
  (void)state;
  enum { MEMORY = 4 << 20 };
  besom_workload *w = make(MEMORY);
  uint64_t most = 0;
  for (uint64_t i = 0; i < 150000; i++) {
    assert_int_equal(add_u64(w, i, 1 + i % 2), BESOM_OK);
    besom_workload_statistics stats = stats_of(w);
    assert_true(stats.bytes <= MEMORY + 4096);
    most = stats.keys > most ? stats.keys : most;
  }
  assert_true(stats_of(w).error > 0 && most >= 49152); /* three quarters of 2^16 slots */
  assert_ranks(w);
  besom_workload_free(w);
}

/*
 * Long keys in a limit of a power of 2: the arena has half of it and the table the other half, but
 * for the ranks.
 */
static void ranks_do_not_halve_the_keys(void **state) {
  (void)state;
  enum { MEMORY = 4 << 20, LEN = 40 };
  besom_workload *w = make(MEMORY);
  uint8_t key[LEN] = {0};
  for (uint64_t i = 0; i < 45000; i++) {
    memcpy(key, &i, sizeof i);
    assert_int_equal(besom_workload_add(w, key, LEN, 1), BESOM_OK);
  }
  assert_int_equal(stats_of(w).error, 0);
  assert_int_equal(stats_of(w).keys, 45000);
  assert_true(stats_of(w).bytes <= MEMORY + 4096);
  assert_ranks(w);
  besom_workload_free(w);
}

/* No memory for a table, an arena or the ranks: the query is not counted, all others are. */
static void failing_memory_keeps_the_ranks(void **state) {
  (void)state;
  for (uint64_t fail_at = 36; fail_at < 46; fail_at++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = fail_at;
    besom_workload *w = NULL;
    assert_int_equal(besom_workload_create(0, &memory.api, &w), BESOM_OK);
    besom_status status = BESOM_OK;
    uint64_t added = 0;
    for (; status == BESOM_OK && added < 50000; added += status == BESOM_OK)
      status = add_u64(w, added, 1);
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    assert_int_equal(stats_of(w).keys, added);
    assert_ranks(w);
    assert_int_equal(add_u64(w, added, 1), BESOM_OK);
    assert_ranks(w);
    besom_workload_free(w);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* ------------------------------------------------------------------ plans */

static besom_workload *zipf(uint64_t keys) {
  besom_workload *w = make(0);
  for (uint64_t k = 1; k <= keys; k++)
    assert_int_equal(add_u64(w, key_u64(NEGATIVES, k), 1 + 10 * keys / k), BESOM_OK);
  return w;
}

static void a_plan_says_what_to_expect(void **state) {
  (void)state;
  besom_workload *w = zipf(50000);
  besom_config config = {.kind = "stacked", .bits_per_key = 10};
  besom_stack_plan alone, plan;
  assert_int_equal(besom_plan(&config, 100000, w, &(besom_plan_limits){.layers = 1}, &alone),
                   BESOM_OK);
  assert_int_equal(besom_plan(&config, 100000, w, NULL, &plan), BESOM_OK);
  assert_true(alone.layers == 1 && alone.frequent == 0 && alone.expected_fpr == alone.worst_fpr);
  assert_true(plan.layers >= 3 && plan.frequent > 1000 && plan.frequent <= 50000 &&
              plan.share > 0.5);
  assert_true(plan.bits_per_key <= 10.00001 && plan.bits_per_key > 9.9);
  assert_true(plan.expected_fpr < 0.7 * alone.expected_fpr && plan.worst_fpr > plan.expected_fpr);
  assert_true(plan.checks > 1 && plan.checks < 1.2 && plan.checks_member >= 2 &&
              plan.checks_member < 2.5);
  besom_workload_free(w);
}

static void impossible_plans_are_refused(void **state) {
  (void)state;
  besom_workload *w = zipf(100);
  besom_stack_plan plan = {.layers = 99};
  besom_config config = {.kind = "stacked", .bits_per_key = 10}, other = config;
  const besom_plan_limits bad[] = {{.layers = 2},          {.layers = 17},        {.worst_fpr = -1},
                                   {.worst_fpr = 2},       {.checks = 0.5},       {.checks = NAN},
                                   {.checks_member = 0.5}, {.epsilon = -1},       {.epsilon = 2},
                                   {.worst_fpr = NAN},     {.worst_fpr = 0x1p-30}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(besom_plan(&config, 1000, w, &bad[i], &plan), BESOM_INVALID);
  assert_int_equal(besom_plan(NULL, 1000, w, NULL, &plan), BESOM_INVALID);
  assert_int_equal(besom_plan(&config, 0, w, NULL, &plan), BESOM_INVALID);
  assert_int_equal(besom_plan(&config, UINT64_MAX, w, NULL, &plan), BESOM_INVALID);
  assert_int_equal(besom_plan(&config, 1000, NULL, NULL, &plan), BESOM_INVALID);
  assert_int_equal(besom_plan(&config, 1000, w, NULL, NULL), BESOM_INVALID);
  other.kind = "bloom";
  assert_int_equal(besom_plan(&other, 1000, w, NULL, &plan), BESOM_UNSUPPORTED);
  other.kind = "no such kind";
  assert_int_equal(besom_plan(&other, 1000, w, NULL, &plan), BESOM_UNKNOWN_KIND);
  other = config, other.options = "base=aqf";
  assert_int_equal(besom_plan(&other, 1000, w, NULL, &plan), BESOM_BAD_OPTION);
  other = config, other.fpr = 0.1;
  assert_int_equal(besom_plan(&other, 1000, w, NULL, &plan), BESOM_INVALID);
  assert_int_equal(plan.layers, 99);
  besom_workload_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_are_exact_while_there_is_room),
      cmocka_unit_test(memory_is_bounded_and_so_is_the_error),
      cmocka_unit_test(long_keys_are_bounded_too),
      cmocka_unit_test(wrong_arguments_are_told),
      cmocka_unit_test(failing_memory_changes_nothing),
      cmocka_unit_test(ranks_follow_the_counts),
      cmocka_unit_test(ranks_are_within_the_memory),
      cmocka_unit_test(ranks_do_not_halve_the_keys),
      cmocka_unit_test(failing_memory_keeps_the_ranks),
      cmocka_unit_test(a_plan_says_what_to_expect),
      cmocka_unit_test(impossible_plans_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
