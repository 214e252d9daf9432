/* The store in memory against a model: an array of records per bucket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/records.h"

enum { BUCKETS = 300, LONGEST_LIST = 12 };

/* A record of the model is a number: key and value are made from it. */
typedef struct model {
  uint64_t buckets[BUCKETS]; /* ascending */
  uint32_t lengths[BUCKETS];
  uint64_t records[BUCKETS][LONGEST_LIST];
  uint64_t total;
} model;

/* Buckets close together, far apart, and at both ends. */
static void model_init(model *m) {
  memset(m, 0, sizeof *m);
  for (uint64_t i = 0; i < BUCKETS; i++)
    m->buckets[i] = i < 100   ? i
                    : i < 200 ? (i << 20) + (mix64(i) & 0xfff)
                              : (i << 55) | mix64(i) >> 9;
  m->buckets[BUCKETS - 1] = UINT64_MAX;
}

static besom_place position(uint64_t bucket, uint32_t rank) {
  return (besom_place){.bucket = bucket, .rank = rank};
}

static besom_store *new_store(const besom_allocator *allocator) {
  besom_store *store = NULL;
  assert_int_equal(besom_store_memory(allocator, &store), BESOM_OK);
  assert_non_null(store);
  return store;
}

static besom_store_statistics stats_of(const besom_store *store) {
  besom_store_statistics stats;
  assert_int_equal(besom_store_stats(store, &stats), BESOM_OK);
  return stats;
}

static besom_status append(besom_store *store, uint64_t bucket, uint32_t rank, uint64_t number) {
  made_record record;
  make_record(&record, number);
  return store->ops->append(store, position(bucket, rank), &record.api);
}

static besom_status replace(besom_store *store, uint64_t bucket, uint32_t rank, uint64_t number) {
  made_record record;
  make_record(&record, number);
  return store->ops->replace(store, position(bucket, rank), &record.api);
}

static besom_status delete_key(besom_store *store, uint64_t bucket, uint32_t rank) {
  return store->ops->remove(store, position(bucket, rank));
}

/* ------------------------------------------------------------------ comparing store and model */

typedef struct walk {
  const model *m;
  size_t bucket; /* where the walk is in the model */
  uint32_t rank;
  uint64_t shown, stop_after; /* records; 0 for no stop */
  besom_status stop_with;
} walk;

static besom_status check_shown(void *ctx, besom_place at, const besom_record *record) {
  walk *w = ctx;
  while (w->bucket < BUCKETS && w->rank == w->m->lengths[w->bucket]) w->bucket++, w->rank = 0;
  assert_true(w->bucket < BUCKETS);
  assert_int_equal(at.bucket, w->m->buckets[w->bucket]);
  assert_int_equal(at.rank, w->rank);
  assert_true(is_made_record(record, w->m->records[w->bucket][w->rank]));
  w->rank++;
  return ++w->shown == w->stop_after ? w->stop_with : BESOM_OK;
}

static void assert_bucket_is(besom_store *store, const model *m, size_t b) {
  walk w = {.m = m, .bucket = b};
  assert_int_equal(store->ops->get(store, position(m->buckets[b], 0), check_shown, &w), BESOM_OK);
  assert_int_equal(w.shown, m->lengths[b]);
}

static void assert_scan_is(besom_store *store, const model *m, size_t from) {
  uint64_t expected = 0;
  for (size_t b = from; b < BUCKETS; b++) expected += m->lengths[b];
  walk w = {.m = m, .bucket = from};
  assert_int_equal(store->ops->scan(store, position(m->buckets[from], 0), check_shown, &w),
                   BESOM_OK);
  assert_int_equal(w.shown, expected);
}

static void assert_store_is(besom_store *store, const model *m) {
  uint64_t used = 0;
  for (size_t b = 0; b < BUCKETS; b++) {
    assert_bucket_is(store, m, b);
    used += m->lengths[b] != 0;
  }
  assert_scan_is(store, m, 0);
  assert_int_equal(stats_of(store).records, m->total);
  assert_int_equal(stats_of(store).buckets, used);
}

/* ------------------------------------------------------------------ random changes of both */

/* Changes the store and, if that succeeds, the model. Returns the status. */
static besom_status change(besom_store *store, model *m, random_stream *random,
                           unsigned append_percent) {
  size_t b = random_below(random, BUCKETS);
  uint64_t number = random_next(random) >> 8;
  uint32_t length = m->lengths[b], rank = (uint32_t)random_below(random, length + 1);
  bool there = rank < length;
  unsigned dice = (unsigned)random_below(random, 100);
  besom_status status;
  if (dice < append_percent && length < LONGEST_LIST) {
    status = append(store, m->buckets[b], length, number);
    if (status == BESOM_OK) m->records[b][m->lengths[b]++] = number, m->total++;
  } else if (dice % 2) {
    status = replace(store, m->buckets[b], rank, number);
    if (status == BESOM_OK) m->records[b][rank] = number;
  } else {
    status = delete_key(store, m->buckets[b], rank);
    if (status != BESOM_OK) return there ? status : BESOM_OK;
    memmove(&m->records[b][rank], &m->records[b][rank + 1],
            (length - rank - 1) * sizeof m->records[b][0]);
    m->lengths[b]--, m->total--;
  }
  if (status == BESOM_NOT_FOUND) assert_false(there);
  if (status == BESOM_OK) assert_bucket_is(store, m, b);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static void random_changes_agree_with_the_model(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  model *m = heap_array(1, sizeof *m);
  model_init(m);
  besom_store *store = new_store(&memory.api);
  random_stream random = {1};
  for (unsigned phase = 0; phase < 12; phase++) { /* it fills and empties several times */
    for (unsigned i = 0; i < 4000; i++)
      assert_int_equal(change(store, m, &random, phase % 3 == 2 ? 10 : 60), BESOM_OK);
    assert_store_is(store, m);
    for (size_t from = 0; from < BUCKETS; from += 37) assert_scan_is(store, m, from);
  }
  besom_store_close(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(m);
}

static void a_failed_allocation_changes_nothing(void **state) {
  (void)state;
  model *m = heap_array(1, sizeof *m);
  unsigned failures = 0;
  for (unsigned wait = 1; wait < 60; wait++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    model_init(m);
    besom_store *store = new_store(&memory.api);
    random_stream random = {wait};
    memory.fail_at = memory.calls + wait;
    for (unsigned i = 0; i < 1500; i++) {
      besom_status status = change(store, m, &random, 70);
      if (status == BESOM_OK) continue;
      assert_int_equal(status, BESOM_NO_MEMORY);
      memory.fail_at = memory.calls + 2 * wait;
      failures++;
    }
    memory.fail_at = 0;
    assert_store_is(store, m);
    memory.fail_at = memory.calls + 1;
    walk w = {.m = m};
    /* An empty scan needs no memory. */
    besom_status expected = m->total ? BESOM_NO_MEMORY : BESOM_OK;
    assert_int_equal(store->ops->scan(store, position(0, 0), check_shown, &w), expected);
    assert_int_equal(w.shown, 0);
    besom_store_close(store);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  assert_true(failures > 100);
  free(m);
}

/* A change of a table: the value of a key is a number. */
static besom_status put_in_table(besom_store *store, uint64_t number) {
  made_record record;
  make_record(&record, number);
  record.api.key = (besom_bytes){"key", 3};
  return store->ops->table_put(store, BESOM_TABLE_MANIFEST, &record.api);
}

/*
 * The log of a transaction has no memory, or a record does not: that change is not made, the others
 * are, and abort takes back all of them.
 */
static void a_failed_allocation_in_a_transaction_changes_nothing(void **state) {
  (void)state;
  model *m = heap_array(1, sizeof *m), *before = heap_array(1, sizeof *before);
  unsigned failures = 0;
  for (unsigned wait = 1; wait < 60; wait++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    model_init(m);
    besom_store *store = new_store(&memory.api);
    random_stream random = {wait};
    for (unsigned transaction = 0; transaction < 4; transaction++) {
      *before = *m;
      assert_int_equal(store->ops->begin(store), BESOM_OK);
      memory.fail_at = memory.calls + wait;
      for (unsigned i = 0; i < 300; i++) {
        besom_status status = i % 8 ? change(store, m, &random, 70) : put_in_table(store, i);
        if (status == BESOM_OK) continue;
        assert_int_equal(status, BESOM_NO_MEMORY);
        memory.fail_at = memory.calls + wait;
        failures++;
      }
      memory.fail_at = 0;
      assert_store_is(store, m);
      if (transaction % 2) {
        assert_int_equal(store->ops->commit(store, false), BESOM_OK);
      } else {
        store->ops->abort(store);
        *m = *before;
      }
      assert_store_is(store, m);
    }
    besom_store_close(store);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  assert_true(failures > 100);
  free(before);
  free(m);
}

static void a_failed_create_leaks_nothing(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  memory.fail_at = 1;
  besom_store *store = NULL;
  assert_int_equal(besom_store_memory(&memory.api, &store), BESOM_NO_MEMORY);
  assert_null(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ single laws */

static void an_append_needs_the_length_of_the_list(void **state) {
  (void)state;
  besom_store *store = new_store(NULL);
  assert_int_equal(append(store, 7, 1, 1), BESOM_INVALID);
  assert_int_equal(append(store, 7, 0, 1), BESOM_OK);
  assert_int_equal(append(store, 7, 0, 2), BESOM_INVALID);
  assert_int_equal(append(store, 7, 2, 2), BESOM_INVALID);
  assert_int_equal(append(store, 7, UINT32_MAX, 2), BESOM_INVALID);
  assert_int_equal(append(store, 7, 1, 2), BESOM_OK);
  assert_int_equal(stats_of(store).records, 2);
  besom_store_close(store);
}

static void a_missing_record_is_NOT_FOUND(void **state) {
  (void)state;
  besom_store *store = new_store(NULL);
  assert_int_equal(delete_key(store, 0, 0), BESOM_NOT_FOUND);
  assert_int_equal(replace(store, 0, 0, 5), BESOM_NOT_FOUND);
  assert_int_equal(append(store, 0, 0, 1), BESOM_OK);
  assert_int_equal(delete_key(store, 0, 1), BESOM_NOT_FOUND);
  assert_int_equal(delete_key(store, 1, 0), BESOM_NOT_FOUND);
  assert_int_equal(replace(store, 0, UINT32_MAX, 5), BESOM_NOT_FOUND);
  assert_int_equal(delete_key(store, 0, 0), BESOM_OK);
  assert_int_equal(delete_key(store, 0, 0), BESOM_NOT_FOUND);
  assert_int_equal(stats_of(store).records, 0);
  besom_store_close(store);
}

static void calls_are_counted_exactly(void **state) {
  (void)state;
  model *m = heap_array(1, sizeof *m);
  model_init(m);
  besom_store *store = new_store(NULL);
  walk w = {.m = m};
  assert_int_equal(store->ops->scan(store, position(0, 0), check_shown, &w), BESOM_OK);
  for (uint32_t rank = 0; rank < 5; rank++)
    assert_int_equal(append(store, 3, rank, rank), BESOM_OK);
  assert_int_equal(append(store, 3, 9, 9), BESOM_INVALID);
  for (uint32_t rank = 0; rank < 3; rank++) assert_int_equal(replace(store, 3, rank, 9), BESOM_OK);
  assert_int_equal(replace(store, 3, 5, 9), BESOM_NOT_FOUND);
  for (unsigned i = 0; i < 5; i++) assert_int_equal(delete_key(store, 3, 0), BESOM_OK);
  assert_int_equal(delete_key(store, 3, 0), BESOM_NOT_FOUND);
  for (unsigned i = 0; i < 4; i++) assert_bucket_is(store, m, 3);
  besom_store_statistics stats = stats_of(store);
  assert_int_equal(stats.appends, 5);
  assert_int_equal(stats.updates, 3);
  assert_int_equal(stats.removes, 5);
  assert_int_equal(stats.reads, 4);
  assert_int_equal(stats.scans, 1);
  assert_int_equal(stats.records, 0);
  assert_int_equal(stats.buckets, 0);
  besom_store_close(store);
  free(m);
}

static void bytes_match_the_allocator(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_store *store = new_store(&memory.api);
  for (uint64_t i = 0; i < 3000; i++) {
    assert_int_equal(append(store, i / 2, i % 2, i), BESOM_OK);
    assert_int_equal(stats_of(store).bytes, memory.live_bytes);
  }
  for (uint64_t i = 0; i < 1500; i++) assert_int_equal(delete_key(store, i, 1), BESOM_OK);
  assert_int_equal(stats_of(store).bytes, memory.live_bytes);
  besom_store_close(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* As many records are removed as are added, of the same sizes: memory does not grow after the first
   round. */
static void freed_memory_is_reused(void **state) {
  (void)state;
  besom_store *store = new_store(NULL);
  uint64_t after_first = 0;
  for (unsigned round = 0; round < 20; round++) {
    for (uint64_t i = 0; i < 2000; i++)
      assert_int_equal(append(store, round * 5000 + i, 0, i), BESOM_OK);
    for (uint64_t i = 0; i < 2000; i++)
      assert_int_equal(delete_key(store, round * 5000 + i, 0), BESOM_OK);
    if (round == 0) after_first = stats_of(store).bytes;
  }
  assert_int_equal(stats_of(store).bytes, after_first);
  besom_store_close(store);
}

static void a_visitor_can_end_a_walk(void **state) {
  (void)state;
  model *m = heap_array(1, sizeof *m);
  model_init(m);
  besom_store *store = new_store(NULL);
  for (size_t b = 0; b < BUCKETS; b++)
    for (uint32_t rank = 0; rank < 3; rank++) {
      m->records[b][rank] = mix64(3 * b + rank);
      m->lengths[b]++;
      assert_int_equal(append(store, m->buckets[b], rank, m->records[b][rank]), BESOM_OK);
    }
  const besom_status said[] = {BESOM_END, BESOM_IO, BESOM_CANCELLED};
  const besom_status returned[] = {BESOM_OK, BESOM_IO, BESOM_CANCELLED};
  for (unsigned i = 0; i < 3; i++) {
    walk w = {.m = m, .bucket = 5, .stop_after = 2, .stop_with = said[i]};
    assert_int_equal(store->ops->get(store, position(m->buckets[5], 0), check_shown, &w),
                     returned[i]);
    assert_int_equal(w.shown, 2);
    w = (walk){.m = m, .stop_after = 100, .stop_with = said[i]};
    assert_int_equal(store->ops->scan(store, position(0, 0), check_shown, &w), returned[i]);
    assert_int_equal(w.shown, 100);
  }
  besom_store_close(store);
  free(m);
}

static void bad_arguments_are_invalid(void **state) {
  (void)state;
  besom_store *store = NULL;
  besom_store_statistics stats;
  assert_int_equal(besom_store_memory(NULL, NULL), BESOM_INVALID);
  assert_int_equal(besom_store_memory(&(besom_allocator){NULL, NULL, NULL}, &store), BESOM_INVALID);
  assert_int_equal(besom_store_stats(NULL, &stats), BESOM_INVALID);
  besom_store_close(NULL);

  store = new_store(NULL);
  assert_int_equal(besom_store_stats(store, NULL), BESOM_INVALID);
  const besom_place at = position(1, 0);
  const besom_record no_key = {{NULL, 1}, {"", 0}}, no_value = {{"k", 1}, {NULL, 1}};
  const besom_record long_key = {{"k", (size_t)1 << 32}, {"", 0}},
                     long_value = {{"k", 1}, {"v", (size_t)1 << 32}};
  const besom_record *const bad[] = {&no_key, &no_value, &long_key, &long_value};
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(store->ops->append(store, at, bad[i]), BESOM_INVALID);
  assert_int_equal(append(store, 1, 0, 1), BESOM_OK);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(store->ops->replace(store, at, bad[i]), BESOM_INVALID);
  assert_int_equal(store->ops->get(store, at, NULL, NULL), BESOM_INVALID);
  assert_int_equal(store->ops->scan(store, at, NULL, NULL), BESOM_INVALID);
  assert_int_equal(stats_of(store).records, 1);
  besom_store_close(store);
}

/* ------------------------------------------------------------------ many */

static besom_status is_in_order(void *ctx, besom_place at, const besom_record *record) {
  uint64_t *next = ctx, key;
  assert_int_equal(record->key.len, sizeof key);
  memcpy(&key, record->key.data, sizeof key);
  if (at.bucket != *next || at.rank != 0 || key != at.bucket) return BESOM_CORRUPT;
  *next += 3;
  return BESOM_OK;
}

/* Regular buckets, the worst case of the hash table, in mixed order, with 8-byte keys. Also a bound
   on memory. */
static void a_million_regular_buckets(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  besom_store *store = new_store(NULL);
  for (uint64_t i = 0; i < N; i++) {
    uint64_t bucket = i * 12345677 % N * 3;
    besom_record record = {{&bucket, sizeof bucket}, {NULL, 0}};
    assert_int_equal(store->ops->append(store, position(bucket, 0), &record), BESOM_OK);
  }
  uint64_t next = 0;
  assert_int_equal(store->ops->scan(store, position(0, 0), is_in_order, &next), BESOM_OK);
  assert_int_equal(next, 3 * (uint64_t)N);
  assert_true(stats_of(store).bytes < N * UINT64_C(72));
  besom_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_changes_agree_with_the_model),
      cmocka_unit_test(a_failed_allocation_changes_nothing),
      cmocka_unit_test(a_failed_allocation_in_a_transaction_changes_nothing),
      cmocka_unit_test(a_failed_create_leaks_nothing),
      cmocka_unit_test(an_append_needs_the_length_of_the_list),
      cmocka_unit_test(a_missing_record_is_NOT_FOUND),
      cmocka_unit_test(calls_are_counted_exactly),
      cmocka_unit_test(bytes_match_the_allocator),
      cmocka_unit_test(freed_memory_is_reused),
      cmocka_unit_test(a_visitor_can_end_a_walk),
      cmocka_unit_test(bad_arguments_are_invalid),
      cmocka_unit_test(a_million_regular_buckets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
