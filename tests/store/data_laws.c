/* One process, one thread: contents, order, and atomic transactions. */
#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "laws.h"
#include "model.h"
#include "support/heap.h"
#include "support/records.h"

static bool persistent(const subject *s) {
  return s->persistent;
}

static void assert_counts_are(const besom_store *store, const model *m) {
  besom_store_statistics stats;
  uint64_t records, buckets;
  model_count(m, &records, &buckets);
  assert_int_equal(besom_store_stats(store, &stats), BESOM_OK);
  assert_int_equal(stats.records, records);
  assert_int_equal(stats.buckets, buckets);
}

static uint64_t commit_number(besom_store *store) {
  uint64_t number;
  assert_int_equal(store->ops->commit_number(store, &number), BESOM_OK);
  return number;
}

static void single_changes_agree_with_the_model(subject *s) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m);
  besom_store *store = subject_open(s);
  random_stream random = {1};
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned i = 0; i < 300; i++)
      assert_int_equal(model_change(m, &keys, store, &random), BESOM_OK);
    assert_store_is(store, m, &keys);
    assert_ranges_are(store, m, &keys, &random);
    assert_counts_are(store, m);
  }
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
}

/* One transaction of random changes, checked before and after its end. */
static void run_transaction(besom_store *store, model *m, const key_universe *keys,
                            random_stream *random, bool keep) {
  model *before = heap_array(1, sizeof *before);
  *before = *m;
  uint64_t number = commit_number(store);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  assert_int_equal(store->ops->begin(store), BESOM_BUSY);
  for (unsigned i = 0; i < 60; i++)
    assert_int_equal(model_change(m, keys, store, random), BESOM_OK);
  assert_store_is(store, m, keys);
  assert_ranges_are(store, m, keys, random);
  assert_counts_are(store, m);
  if (keep) {
    assert_int_equal(store->ops->commit(store, random_below(random, 4) == 0), BESOM_OK);
    assert_int_not_equal(commit_number(store), number);
  } else {
    store->ops->abort(store);
    *m = *before;
    assert_int_equal(commit_number(store), number);
  }
  assert_store_is(store, m, keys);
  assert_counts_are(store, m);
  free(before);
}

static void transactions_are_committed_or_aborted(subject *s) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m);
  besom_store *store = subject_open(s);
  random_stream random = {2};
  assert_int_equal(store->ops->commit(store, false), BESOM_INVALID);
  store->ops->abort(store);
  for (unsigned round = 0; round < 12; round++) {
    run_transaction(store, m, &keys, &random, random_below(&random, 2));
    for (unsigned i = 0; i < 10; i++)
      assert_int_equal(model_change(m, &keys, store, &random), BESOM_OK);
  }
  uint64_t number = commit_number(store);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  assert_int_equal(store->ops->commit(store, true), BESOM_OK);
  assert_int_equal(commit_number(store), number);
  assert_int_equal(store->ops->sync(store), BESOM_OK);
  assert_store_is(store, m, &keys);
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
}

/* A transaction with savepoints, of which some are returned to, also twice. */
static void change_with_savepoints(besom_store *store, model *m, const key_universe *keys,
                                   random_stream *random) {
  model *before = heap_array(1, sizeof *before);
  for (unsigned part = 0; part < 6; part++) {
    assert_int_equal(store->ops->set_savepoint(store), BESOM_OK);
    *before = *m;
    for (unsigned undo = 2 * (unsigned)random_below(random, 2); undo--;) {
      for (unsigned i = 0; i < 20; i++)
        assert_int_equal(model_change(m, keys, store, random), BESOM_OK);
      store->ops->undo_to_savepoint(store);
      *m = *before;
    }
    assert_store_is(store, m, keys);
    for (unsigned i = 0; i < 20; i++)
      assert_int_equal(model_change(m, keys, store, random), BESOM_OK);
    assert_counts_are(store, m);
  }
  free(before);
}

static void changes_since_a_savepoint_can_be_undone(subject *s) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m), *before = heap_array(1, sizeof *before);
  besom_store *store = subject_open(s);
  random_stream random = {5};
  assert_int_equal(store->ops->set_savepoint(store), BESOM_INVALID);
  store->ops->undo_to_savepoint(store);
  for (unsigned round = 0; round < 4; round++) {
    *before = *m;
    assert_int_equal(store->ops->begin(store), BESOM_OK);
    for (unsigned i = 0; i < 20; i++)
      assert_int_equal(model_change(m, &keys, store, &random), BESOM_OK);
    store->ops->undo_to_savepoint(store); /* there is none yet */
    change_with_savepoints(store, m, &keys, &random);
    if (round % 2) {
      store->ops->abort(store);
      *m = *before;
    } else {
      assert_int_equal(store->ops->commit(store, false), BESOM_OK);
    }
    assert_store_is(store, m, &keys);
    assert_counts_are(store, m);
  }
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
  free(before);
}

static void committed_transactions_survive_reopening(subject *s) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m), *passing = heap_array(1, sizeof *passing);
  random_stream random = {3};
  for (unsigned round = 0; round < 4; round++) {
    besom_store *store = subject_open(s);
    assert_store_is(store, m, &keys);
    assert_int_equal(store->ops->begin(store), BESOM_OK);
    for (unsigned i = 0; i < 100; i++)
      assert_int_equal(model_change(m, &keys, store, &random), BESOM_OK);
    assert_int_equal(store->ops->commit(store, round % 2), BESOM_OK);
    uint64_t number = commit_number(store);
    *passing = *m;
    assert_int_equal(store->ops->begin(store), BESOM_OK);
    for (unsigned i = 0; i < 20; i++)
      assert_int_equal(model_change(passing, &keys, store, &random), BESOM_OK);
    besom_store_close(store); /* close aborts */
    store = subject_open(s);
    assert_int_equal(commit_number(store), number);
    assert_store_is(store, m, &keys);
    besom_store_close(store);
  }
  key_universe_free(&keys);
  free(passing);
  free(m);
}

static besom_status ignore_listed(void *ctx, besom_place at, const besom_record *record) {
  (void)ctx, (void)at, (void)record;
  return BESOM_OK;
}

static besom_status ignore_entry(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

/* Four lists, three entries, and one of the manifest, which is not counted. */
static void read_some(besom_store *store, besom_place at, besom_bytes key) {
  at.rank = 0;
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(store->ops->get(store, at, ignore_listed, NULL), BESOM_OK);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(store->ops->table_get(store, BESOM_TABLE_KEYS, key, ignore_entry, NULL),
                     BESOM_OK);
  assert_int_equal(store->ops->table_get(store, BESOM_TABLE_MANIFEST, key, ignore_entry, NULL),
                   BESOM_OK);
}

/* The bucket counts until its last record is gone. */
static void fill_and_empty(besom_store *store, besom_place at, const besom_record *record) {
  for (at.rank = 0; at.rank < 2; at.rank++)
    assert_int_equal(store->ops->append(store, at, record), BESOM_OK);
  at.rank = 0;
  for (unsigned left = 2; left-- > 0;) {
    besom_store_statistics stats;
    assert_int_equal(store->ops->remove(store, at), BESOM_OK);
    assert_int_equal(besom_store_stats(store, &stats), BESOM_OK);
    assert_int_equal(stats.buckets, 1 + left);
  }
}

static void calls_are_counted_exactly(subject *s) {
  besom_store *store = subject_open(s);
  made_record record;
  make_record(&record, 77);
  besom_place at = {.epoch = 1, .bucket = 9};
  besom_bytes key = {"key", 3};
  const besom_record entry = {key, key};
  model *m = heap_array(1, sizeof *m);
  key_universe keys;
  key_universe_make(&keys);
  for (at.rank = 0; at.rank < 5; at.rank++)
    assert_int_equal(store->ops->append(store, at, &record.api), BESOM_OK);
  assert_int_equal(store->ops->replace(store, at, &record.api), BESOM_NOT_FOUND);
  assert_int_equal(store->ops->remove(store, at), BESOM_NOT_FOUND);
  at.rank = 2;
  assert_int_equal(store->ops->replace(store, at, &record.api), BESOM_OK);
  assert_int_equal(store->ops->remove(store, at), BESOM_OK);
  assert_int_equal(store->ops->remove(store, at), BESOM_OK);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_MANIFEST, &entry), BESOM_OK);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &entry), BESOM_OK);
  read_some(store, at, key);
  fill_and_empty(store, (besom_place){.epoch = 1, .bucket = 10}, &record.api);
  assert_int_equal(store->ops->table_remove(store, BESOM_TABLE_KEYS, key), BESOM_OK);
  assert_int_equal(store->ops->table_remove(store, BESOM_TABLE_KEYS, key), BESOM_NOT_FOUND);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  assert_int_equal(store->ops->commit(store, true), BESOM_OK);
  /* Two scans: of an epoch without records, and of NOTES. */
  assert_false(store_is(store, m, &keys));
  besom_store_statistics stats;
  assert_int_equal(besom_store_stats(store, &stats), BESOM_OK);
  assert_int_equal(stats.appends, 7);
  assert_int_equal(stats.updates, 1);
  assert_int_equal(stats.removes, 4);
  assert_int_equal(stats.reads, 4);
  assert_int_equal(stats.scans, 2);
  assert_int_equal(stats.table_puts, 3);
  assert_int_equal(stats.table_removes, 1);
  assert_int_equal(stats.table_reads, 3);
  assert_int_equal(stats.commits, 1);
  assert_int_equal(stats.syncs, 1);
  assert_int_equal(stats.records, 3);
  assert_int_equal(stats.buckets, 1);
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
}

/* ------------------------------------------------------------------ walks that end early */

typedef struct stop {
  uint64_t shown, after;
  besom_status with;
} stop;

static besom_status stop_list(void *ctx, besom_place at, const besom_record *record) {
  (void)at, (void)record;
  stop *w = ctx;
  return ++w->shown == w->after ? w->with : BESOM_OK;
}

static besom_status stop_table(void *ctx, const besom_record *record) {
  return stop_list(ctx, (besom_place){0}, record);
}

static void fill_for_walks(besom_store *store) {
  made_record record;
  make_record(&record, 77);
  char long_key[700];
  memset(long_key, 'x', sizeof long_key);
  for (unsigned i = 0; i < 30; i++) {
    besom_place at = {.bucket = i / 3, .rank = i % 3};
    assert_int_equal(store->ops->append(store, at, &record.api), BESOM_OK);
    long_key[sizeof long_key - 1] = (char)i; /* these keys are one group in some stores */
    besom_record entry = {{long_key, i % 2 ? sizeof long_key : i + 1}, {"v", 1}};
    assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &entry), BESOM_OK);
  }
}

static void assert_walks_end(besom_store *store, besom_status said, besom_status returned) {
  const besom_bytes none = {NULL, 0};
  for (uint64_t after = 1; after <= 30; after++) {
    stop w = {.after = after, .with = said};
    assert_int_equal(store->ops->scan(store, (besom_place){0}, stop_list, &w), returned);
    assert_int_equal(w.shown, after);
    w = (stop){.after = after, .with = said};
    assert_int_equal(store->ops->table_scan(store, BESOM_TABLE_KEYS, none, none, stop_table, &w),
                     returned);
    assert_int_equal(w.shown, after);
  }
  stop w = {.after = 2, .with = said};
  assert_int_equal(store->ops->get(store, (besom_place){.bucket = 4}, stop_list, &w), returned);
  assert_int_equal(w.shown, 2);
  w = (stop){.after = 1, .with = said};
  assert_int_equal(
      store->ops->table_get(store, BESOM_TABLE_KEYS, (besom_bytes){"x", 1}, stop_table, &w),
      returned);
}

static void a_visitor_can_end_a_walk(subject *s) {
  besom_store *store = subject_open(s);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  fill_for_walks(store);
  assert_walks_end(store, BESOM_END, BESOM_OK);
  assert_int_equal(store->ops->commit(store, false), BESOM_OK);
  assert_walks_end(store, BESOM_END, BESOM_OK);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  assert_walks_end(store, BESOM_CANCELLED, BESOM_CANCELLED);
  store->ops->abort(store);
  assert_walks_end(store, BESOM_IO, BESOM_IO);
  besom_store_close(store);
}

/* ------------------------------------------------------------------ positions */

/* Numbers around the limits of each encoded length. */
static const uint64_t sizes[] = {0,
                                 1,
                                 2,
                                 246,
                                 247,
                                 248,
                                 255,
                                 256,
                                 65535,
                                 65536,
                                 1 << 24,
                                 0xffffffff,
                                 0x100000000,
                                 (uint64_t)1 << 40,
                                 UINT64_MAX - 1};
enum { SIZES = sizeof sizes / sizeof *sizes, EPOCH_SIZES = 12, LONG_LIST = 300 };

/* Buckets in the order of sizes. Bucket sizes[1] has so many records that ranks need two bytes. */
typedef struct position_walk {
  uint32_t epoch;
  size_t size;
  uint32_t rank;
} position_walk;

static uint32_t list_length(size_t size) {
  return size == 1 ? LONG_LIST : 1;
}

static besom_status expect_position(void *ctx, besom_place at, const besom_record *record) {
  position_walk *w = ctx;
  (void)record;
  assert_int_equal(at.epoch, w->epoch);
  assert_int_equal(at.bucket, sizes[w->size]);
  assert_int_equal(at.rank, w->rank);
  if (++w->rank == list_length(w->size)) {
    w->size++;
    w->rank = 0;
  }
  return BESOM_OK;
}

static void positions_of_all_sizes_keep_their_order(subject *s) {
  besom_store *store = subject_open(s);
  made_record record;
  make_record(&record, 5);
  assert_int_equal(store->ops->begin(store), BESOM_OK);
  for (size_t e = EPOCH_SIZES; e--;)
    for (size_t i = 0; i < SIZES; i++) {
      size_t size = i * 7 % SIZES;
      for (uint32_t rank = 0; rank < list_length(size); rank++) {
        besom_place at = {.epoch = (uint32_t)sizes[e], .bucket = sizes[size], .rank = rank};
        assert_int_equal(store->ops->append(store, at, &record.api), BESOM_OK);
      }
    }
  assert_int_equal(store->ops->commit(store, false), BESOM_OK);
  for (size_t e = 0; e < EPOCH_SIZES; e++)
    for (size_t from = 0; from < SIZES; from++) {
      position_walk all = {(uint32_t)sizes[e], from, 0}, one = all;
      besom_place at = {.epoch = (uint32_t)sizes[e], .bucket = sizes[from]};
      assert_int_equal(store->ops->scan(store, at, expect_position, &all), BESOM_OK);
      assert_int_equal(all.size, SIZES);
      assert_int_equal(store->ops->get(store, at, expect_position, &one), BESOM_OK);
      assert_int_equal(one.size, from + 1);
    }
  besom_store_close(store);
}

static void bad_arguments_are_invalid(subject *s) {
  besom_store *store = subject_open(s);
  const besom_place at = {.bucket = 1};
  const besom_bytes key = {"k", 1}, null = {NULL, 1}, none = {NULL, 0};
  const besom_bytes too_long = {"k", (1 << 16) + 1}, huge = {"k", (size_t)1 << 32};
  const besom_record good = {key, key},
                     bad[] = {{null, key}, {key, null}, {huge, key}, {key, huge}};
  const besom_table table = BESOM_TABLE_KEYS, no_table = (besom_table)2;
  assert_int_equal(store->ops->append(store, at, &good), BESOM_OK);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(store->ops->append(store, (besom_place){.bucket = 1, .rank = 1}, &bad[i]),
                     BESOM_INVALID);
    assert_int_equal(store->ops->replace(store, at, &bad[i]), BESOM_INVALID);
    assert_int_equal(store->ops->table_put(store, table, &bad[i]), BESOM_INVALID);
  }
  const besom_record long_entry = {too_long, key};
  assert_int_equal(store->ops->table_put(store, table, &long_entry), BESOM_INVALID);
  assert_int_equal(store->ops->table_put(store, no_table, &good), BESOM_INVALID);
  stop w = {0};
  assert_int_equal(store->ops->table_get(store, table, too_long, stop_table, &w), BESOM_INVALID);
  assert_int_equal(store->ops->table_get(store, no_table, key, stop_table, &w), BESOM_INVALID);
  assert_int_equal(store->ops->table_get(store, table, key, NULL, NULL), BESOM_INVALID);
  assert_int_equal(store->ops->table_remove(store, table, too_long), BESOM_INVALID);
  assert_int_equal(store->ops->table_remove(store, no_table, key), BESOM_INVALID);
  assert_int_equal(store->ops->table_scan(store, table, none, none, NULL, NULL), BESOM_INVALID);
  assert_int_equal(store->ops->table_scan(store, table, too_long, none, stop_table, &w),
                   BESOM_INVALID);
  assert_int_equal(store->ops->get(store, at, NULL, NULL), BESOM_INVALID);
  assert_int_equal(store->ops->scan(store, at, NULL, NULL), BESOM_INVALID);
  assert_int_equal(store->ops->commit_number(store, NULL), BESOM_INVALID);
  assert_int_equal(w.shown, 0);
  besom_store_close(store);
}

const law data_laws[] = {
    {"single_changes_agree_with_the_model", single_changes_agree_with_the_model, NULL},
    {"transactions_are_committed_or_aborted", transactions_are_committed_or_aborted, NULL},
    {"changes_since_a_savepoint_can_be_undone", changes_since_a_savepoint_can_be_undone, NULL},
    {"committed_transactions_survive_reopening", committed_transactions_survive_reopening,
     persistent},
    {"calls_are_counted_exactly", calls_are_counted_exactly, NULL},
    {"a_visitor_can_end_a_walk", a_visitor_can_end_a_walk, NULL},
    {"positions_of_all_sizes_keep_their_order", positions_of_all_sizes_keep_their_order, NULL},
    {"bad_arguments_are_invalid", bad_arguments_are_invalid, NULL},
    {NULL, NULL, NULL},
};
