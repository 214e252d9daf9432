/* get_many and put_many: the same answers as single calls, in the caller's order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guard/get/lookup.h"
#include "guard_setup.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

enum { MANY = 700, MAX_LEN = 40 }; /* more than two chunks */

/* Keys of different lengths, some of them equal, and their values. */
typedef struct batch {
  uint8_t bytes[MANY][MAX_LEN];
  besom_bytes keys[MANY], values[MANY];
  uint64_t numbers[MANY];
} batch;

/* key i is number step * i % universe, so that numbers repeat; the value is the key's index. */
static batch *batch_new(uint64_t step, uint64_t universe) {
  batch *b = heap_array(1, sizeof *b);
  for (size_t i = 0; i < MANY; i++) {
    b->numbers[i] = step * i % universe;
    size_t len = 8 + b->numbers[i] % (MAX_LEN - 8);
    memset(b->bytes[i], (int)b->numbers[i], len);
    memcpy(b->bytes[i], &b->numbers[i], 8);
    b->keys[i] = (besom_bytes){b->bytes[i], len};
    b->values[i] = (besom_bytes){&b->numbers[i], i % 9};
  }
  return b;
}

static besom_guard *guard_new(const char *kind, besom_layout layout, uint64_t capacity) {
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = kind, .capacity = capacity, .fpr = 0.05};
  besom_guard_config config = {.filter = &filter, .layout = layout};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  return g;
}

/* get_many agrees with get. Returns the number of keys found. */
static size_t assert_same_answers(besom_guard *g, const batch *b, size_t n) {
  besom_bytes values[MANY], one;
  uint64_t found[(MANY + 63) / 64];
  size_t hits = 0;
  assert_int_equal(besom_guard_get_many(g, b->keys, n, values, found), BESOM_OK);
  for (size_t i = 0; i < n; i++) {
    besom_status status = besom_guard_get(g, b->keys[i].data, b->keys[i].len, &one);
    bool bit = found[i / 64] >> (i % 64) & 1;
    hits += bit;
    assert_int_equal(status, bit ? BESOM_OK : BESOM_NOT_FOUND);
    assert_int_equal(values[i].data != NULL, bit);
    assert_int_equal(values[i].len, one.len);
    if (one.len) assert_memory_equal(values[i].data, one.data, one.len);
    besom_guard_release(g, &one);
  }
  for (size_t i = 0; i < n; i++) besom_guard_release(g, &values[i]);
  return hits;
}

/* ------------------------------------------------------------------ laws */

static const char *const kinds[] = {"aqf", "taf", "broom", "acf-cyclic"};

static void answers_of_many(const char *kind, besom_layout layout) {
  besom_guard *g = guard_new(kind, layout, 400);
  batch *members = batch_new(7, 300), *queries = batch_new(11, 600);
  assert_int_equal(besom_guard_put_many(g, members->keys, members->values, MANY, 0), BESOM_OK);
  assert_int_equal(assert_same_answers(g, members, MANY), MANY);
  for (unsigned round = 0; round < 3; round++)
    assert_in_range(assert_same_answers(g, queries, MANY), MANY / 3, MANY * 2 / 3);
  for (size_t n = 0; n < 4; n++) assert_same_answers(g, queries, 62 + n);
  assert_same_answers(g, queries, 256);
  assert_same_answers(g, queries, 257);
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_int_equal(stats.queries,
                   stats.filter_negatives + stats.true_positives + stats.false_positives);
  assert_int_equal(stats.puts, 300);
  assert_int_equal(stats.replaced, MANY - 300);
  besom_guard_close(g);
  free(members);
  free(queries);
}

static void many_answers_are_those_of_single_calls(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    answers_of_many(kinds[i], BESOM_LAYOUT_MERGED);
    answers_of_many(kinds[i], BESOM_LAYOUT_SPLIT);
  }
}

/* The last value of a key stays, also if equal keys are in one chunk. */
static void the_last_of_equal_keys_stays(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    besom_guard *g = guard_new("aqf", layout, 400);
    batch *b = batch_new(1, 20);
    assert_int_equal(besom_guard_put_many(g, b->keys, b->values, MANY, 0), BESOM_OK);
    for (size_t i = MANY - 20; i < MANY; i++) {
      besom_bytes value;
      assert_int_equal(besom_guard_get(g, b->keys[i].data, b->keys[i].len, &value), BESOM_OK);
      assert_int_equal(value.len, b->values[i].len);
      besom_guard_release(g, &value);
    }
    besom_guard_close(g);
    free(b);
  }
}

static void a_migration_does_not_change_answers(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    besom_guard *g = guard_new("aqf", layout, 1000);
    batch *members = batch_new(7, 300), *queries = batch_new(11, 600);
    assert_int_equal(besom_guard_put_many(g, members->keys, members->values, MANY, 0), BESOM_OK);
    size_t hits = assert_same_answers(g, queries, MANY);
    for (unsigned round = 0; round < 3; round++) {
      bool finished = false;
      assert_int_equal(besom_guard_rekey(g), BESOM_OK);
      while (!finished) {
        assert_int_equal(assert_same_answers(g, queries, MANY), hits);
        assert_int_equal(besom_guard_step(g, 40, &finished), BESOM_OK);
      }
    }
    assert_int_equal(besom_guard_rekey(g), BESOM_OK);
    assert_int_equal(besom_guard_put_many(g, queries->keys, queries->values, MANY, 0), BESOM_OK);
    assert_int_equal(assert_same_answers(g, queries, MANY), MANY);
    besom_guard_close(g);
    free(members);
    free(queries);
  }
}

static besom_guard_statistics stats_of(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats;
}

/* A call may end several windows of negative queries. A window may also end between the moments
   when a reader counts a query and a false positive: no rate is above 1 then. */
static void windows_go_on_after_many_queries_at_once(void **state) {
  (void)state;
  besom_guard *g = guard_new("aqf", BESOM_LAYOUT_MERGED, 400);
  batch *b = batch_new(1, MANY);
  g->rates.window_false = 3;
  besom__count_absent(g, WINDOW - 1);
  assert_true(stats_of(g).current_fpr == 3.0 / (WINDOW - 1) && stats_of(g).window_fpr == 0);
  besom__count_absent(g, 1);
  assert_true(stats_of(g).current_fpr == 0 && stats_of(g).window_fpr == 3.0 / WINDOW);
  g->rates.window_false = 3;
  assert_true(stats_of(g).current_fpr == 0);
  besom__count_absent(g, 1);
  assert_true(stats_of(g).current_fpr == 1 && stats_of(g).window_fpr == 3.0 / WINDOW);
  besom__count_absent(g, 3 * WINDOW + 4);
  assert_true(stats_of(g).current_fpr == 0 && stats_of(g).window_fpr == 3.0 / WINDOW);
  for (unsigned i = 0; i < WINDOW / 256; i++) assert_int_equal(assert_same_answers(g, b, 256), 0);
  assert_int_equal(stats_of(g).filter_negatives, 5 * WINDOW + 5 + WINDOW);
  assert_true(stats_of(g).window_fpr == 0);
  besom_guard_close(g);
  free(b);
}

/* Keys of up to 64 KiB, values larger than a page, and empty ones. */
static void long_keys_and_values_are_kept(void **state) {
  (void)state;
  enum { N = 40, VALUE = 100000 };
  uint8_t *bytes = heap_array(BESOM_GUARD_MAX_KEY, 1), *value = heap_array(VALUE, 1);
  besom_bytes keys[N], values[N], got[N];
  for (size_t i = 0; i < VALUE; i++) value[i] = (uint8_t)(i * i >> 3);
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    besom_guard *g = guard_new("aqf", layout, 100);
    for (size_t i = 0; i < N; i++) {
      keys[i] = (besom_bytes){bytes, i * i * 43 < BESOM_GUARD_MAX_KEY ? i * i * 43 : 65536};
      values[i] = (besom_bytes){value + i, i % 2 ? i * 2000 : 0};
    }
    assert_int_equal(besom_guard_put_many(g, keys, values, N, 0), BESOM_OK);
    assert_int_equal(besom_guard_get_many(g, keys, N, got, NULL), BESOM_OK);
    for (size_t i = 0; i < N - 1; i++) {
      if (keys[i].len == keys[i + 1].len) continue; /* the last of equal keys stays */
      assert_non_null(got[i].data);
      assert_int_equal(got[i].len, values[i].len);
      assert_memory_equal(got[i].data, values[i].len ? values[i].data : got[i].data, got[i].len);
    }
    for (size_t i = 0; i < N; i++) besom_guard_release(g, &got[i]);
    besom_guard_close(g);
  }
  free(bytes);
  free(value);
}

/* A key of the no list in the middle: the put fails. */
static void a_failed_put_many_is_all_or_none(void **state) {
  (void)state;
  besom_guard *g = guard_new("aqf", BESOM_LAYOUT_MERGED, 1000);
  batch *b = batch_new(1, MANY);
  assert_int_equal(besom_guard_no_put(g, b->keys[MANY / 2].data, b->keys[MANY / 2].len), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, MANY, 0), BESOM_IS_MEMBER);
  assert_int_equal(assert_same_answers(g, b, MANY), 0);

  /* In an open batch a part stays, and the caller aborts it. */
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, MANY, 0), BESOM_IS_MEMBER);
  assert_in_range(assert_same_answers(g, b, MANY), 1, MANY - 1);
  assert_int_equal(besom_guard_abort(g), BESOM_OK);
  assert_int_equal(assert_same_answers(g, b, MANY), 0);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, MANY / 2, 0), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, 0, 0), BESOM_OK);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_int_equal(assert_same_answers(g, b, MANY), MANY / 2);
  besom_guard_close(g);
  free(b);
}

static void invalid_arguments_change_nothing(void **state) {
  (void)state;
  besom_guard *g = guard_new("aqf", BESOM_LAYOUT_MERGED, 1000);
  batch *b = batch_new(1, MANY);
  besom_bytes values[4] = {{b, 1}};
  assert_int_equal(besom_guard_get_many(NULL, b->keys, 4, values, NULL), BESOM_INVALID);
  assert_null(values[0].data);
  assert_int_equal(besom_guard_get_many(g, NULL, 4, values, NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_get_many(g, NULL, 0, NULL, NULL), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, b->keys, NULL, 4, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, 4, 8), BESOM_INVALID);
  besom_bytes good = b->keys[3];
  b->keys[3] = (besom_bytes){NULL, 5};
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, 4, 0), BESOM_INVALID);
  b->keys[3] = (besom_bytes){b, BESOM_GUARD_MAX_KEY + 1};
  assert_int_equal(besom_guard_put_many(g, b->keys, b->values, 4, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_get_many(g, b->keys, 4, NULL, NULL), BESOM_INVALID);
  b->keys[3] = good;
  assert_int_equal(assert_same_answers(g, b, 4), 0);
  besom_guard_close(g);
  free(b);
}

/* Each allocation fails in turn: get_many has no values then, put_many has put nothing. */
static void a_failed_allocation_leaves_nothing(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 1000, .allocator = &memory.api};
  besom_guard_config config = {.filter = &filter};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  batch *b = batch_new(1, MANY);
  besom_bytes values[MANY];
  besom_status status;
  unsigned n = 0;
  do {
    memory.fail_at = memory.calls + ++n;
    status = besom_guard_put_many(g, b->keys, b->values, MANY, 0);
    memory.fail_at = 0;
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    assert_int_equal(assert_same_answers(g, b, MANY), status == BESOM_OK ? MANY : 0);
  } while (status != BESOM_OK);
  assert_true(n > 1);
  for (n = 1; n < MANY; n += 31) {
    memory.fail_at = memory.calls + n;
    assert_int_equal(besom_guard_get_many(g, b->keys, MANY, values, NULL), BESOM_NO_MEMORY);
    memory.fail_at = 0;
    for (size_t i = 0; i < MANY; i++) assert_null(values[i].data);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(b);
}

/* ------------------------------------------------------------------ a store that fails */

static const besom_store_ops *inner_ops;
static unsigned failed_moves, failing_reads;
static bool moved;

static besom_status note_replace(besom_store *store, besom_place at, const besom_record *record) {
  moved = true;
  return inner_ops->replace(store, at, record);
}

static besom_status note_remove(besom_store *store, besom_place at) {
  moved = true;
  return inner_ops->remove(store, at);
}

/* The reads by which the filter would follow fail, too: of a bucket, then of all. */
static besom_status fail_to_commit(besom_store *store, bool durable) {
  (void)store, (void)durable;
  failed_moves += moved;
  failing_reads = moved ? 2 : 0;
  moved = false;
  return BESOM_IO;
}

static besom_status get_or_fail(besom_store *store, besom_place at, besom_store_visit visit,
                                void *ctx) {
  if (!failing_reads) return inner_ops->get(store, at, visit, ctx);
  failing_reads--;
  return BESOM_IO;
}

static besom_status scan_or_fail(besom_store *store, besom_place from, besom_store_visit visit,
                                 void *ctx) {
  if (!failing_reads) return inner_ops->scan(store, from, visit, ctx);
  failing_reads--;
  return BESOM_IO;
}

/* An adaptation moves records. If that fails, and the filter cannot follow yet, the keys after it
   must not be looked up in a filter that does not agree with the store. */
static void a_failed_adaptation_does_not_hide_keys(void **state) {
  (void)state;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "acf-swapping", .capacity = 400, .fpr = 0.2};
  besom_guard_config config = {.filter = &filter};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  besom_store_ops ops = *(inner_ops = store->ops);
  ops.get = get_or_fail;
  ops.scan = scan_or_fail;
  ops.replace = note_replace;
  ops.remove = note_remove;
  store->ops = &ops;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  batch *members = batch_new(7, 300), *queries = batch_new(11, 600);
  assert_int_equal(besom_guard_put_many(g, members->keys, members->values, MANY, 0), BESOM_OK);
  ops.commit = fail_to_commit;
  moved = false;
  uint64_t found[(MANY + 63) / 64];
  assert_int_equal(besom_guard_get_many(g, queries->keys, MANY, NULL, found), BESOM_OK);
  assert_true(failed_moves > 10);
  for (size_t i = 0; i < MANY; i++)
    assert_int_equal(found[i / 64] >> (i % 64) & 1, queries->numbers[i] < 300);
  ops.commit = inner_ops->commit;
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  free(members);
  free(queries);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_answers_are_those_of_single_calls),
      cmocka_unit_test(the_last_of_equal_keys_stays),
      cmocka_unit_test(a_migration_does_not_change_answers),
      cmocka_unit_test(windows_go_on_after_many_queries_at_once),
      cmocka_unit_test(long_keys_and_values_are_kept),
      cmocka_unit_test(a_failed_put_many_is_all_or_none),
      cmocka_unit_test(invalid_arguments_change_nothing),
      cmocka_unit_test(a_failed_allocation_leaves_nothing),
      cmocka_unit_test(a_failed_adaptation_does_not_hide_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
