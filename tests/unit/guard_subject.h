/*
 * guard_subject.h - shared by the tests of guards: a guard over a store that fails on demand, and
 * the map that it must agree with, for every kind that works with a store. Filters are so small
 * that most keys collide.
 */
#ifndef BESOM_TESTS_GUARD_SUBJECT_H
#define BESOM_TESTS_GUARD_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "guard_setup.h"
#include "support/counters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { SLOTS = 80, UNIVERSE = 400, MAX_MEMBERS = 50, MAX_VALUE = 40 };

static const uint8_t seed[16] = "a guard's secret";

/* ------------------------------------------------------------------ the failing store */

enum operation { APPEND, GET, REPLACE, REMOVE, SCAN, OPERATIONS };

/* Wraps a store in memory, which outlives it. */
typedef struct faulty_store {
  besom_store head;
  besom_store *inner;
  bool fails[OPERATIONS];
  bool late;          /* a failing read first shows all records */
  unsigned countdown; /* the call that fails, counted from now; 0: none */
  unsigned closed;
} faulty_store;

static inline faulty_store *faulty(besom_store *store) {
  return (faulty_store *)store;
}

static inline bool fails_now(besom_store *store, enum operation operation) {
  faulty_store *f = faulty(store);
  return (f->countdown && --f->countdown == 0) || f->fails[operation];
}

static inline besom_status faulty_append(besom_store *store, besom_place at,
                                         const besom_record *record) {
  besom_store *inner = faulty(store)->inner;
  return fails_now(store, APPEND) ? BESOM_IO : inner->ops->append(inner, at, record);
}

static inline besom_status faulty_get(besom_store *store, besom_place at, besom_store_visit visit,
                                      void *ctx) {
  besom_store *inner = faulty(store)->inner;
  bool fails = fails_now(store, GET);
  if (fails && !faulty(store)->late) return BESOM_IO;
  besom_status status = inner->ops->get(inner, at, visit, ctx);
  return fails ? BESOM_IO : status;
}

static inline besom_status faulty_replace(besom_store *store, besom_place at,
                                          const besom_record *record) {
  besom_store *inner = faulty(store)->inner;
  return fails_now(store, REPLACE) ? BESOM_IO : inner->ops->replace(inner, at, record);
}

static inline besom_status faulty_remove(besom_store *store, besom_place at) {
  besom_store *inner = faulty(store)->inner;
  return fails_now(store, REMOVE) ? BESOM_IO : inner->ops->remove(inner, at);
}

static inline besom_status faulty_scan(besom_store *store, besom_place from,
                                       besom_store_visit visit, void *ctx) {
  besom_store *inner = faulty(store)->inner;
  return fails_now(store, SCAN) ? BESOM_IO : inner->ops->scan(inner, from, visit, ctx);
}

static inline void faulty_close(besom_store *store) {
  faulty(store)->closed++;
}

static const besom_store_ops faulty_ops = {
    .size = sizeof(besom_store_ops),
    .append = faulty_append,
    .get = faulty_get,
    .replace = faulty_replace,
    .remove = faulty_remove,
    .scan = faulty_scan,
    .close = faulty_close,
};

/* ------------------------------------------------------------------ the guard under test */

typedef struct subject {
  guard_setup setup;
  faulty_store store;
  besom_guard *guard;
  byte_keys keys;
  uint64_t buckets[UNIVERSE];    /* of each key */
  uint64_t values[UNIVERSE + 1]; /* number from which the value is made; 0: absent */
  uint64_t members;
} subject;

static inline besom_config config_of(const char *kind, uint32_t width) {
  return (besom_config){.kind = kind, .slots = SLOTS, .width = width, .seed = seed, .reserve = 0.3};
}

/* Computes the bucket of each key in an empty filter. */
static inline void learn_buckets(subject *s) {
  const besom_filter *f = besom_guard_filter(s->guard);
  besom_filter *scratch = NULL;
  assert_int_equal(besom_create_like(f, &scratch), BESOM_OK);
  for (size_t k = 0; k < UNIVERSE; k++) {
    besom_digest digest = besom_hash(f, s->keys.keys[k].data, s->keys.keys[k].len);
    besom_match match;
    assert_int_equal(besom_insert_at(scratch, digest, 0, &match), BESOM_OK);
    assert_int_equal(match.rank, 0);
    s->buckets[k] = match.bucket;
    assert_int_equal(besom_remove_at(scratch, &match), BESOM_OK);
  }
  besom_free(scratch);
}

static inline void subject_open_only(subject *s, besom_config filter, besom_adapt_policy adapt) {
  memset(s, 0, sizeof *s);
  s->store.head.ops = &faulty_ops;
  assert_int_equal(besom_store_memory(filter.allocator, &s->store.inner), BESOM_OK);
  s->setup = (guard_setup){.filter = filter, .guard = {.adapt = adapt}};
  assert_int_equal(open_guard(&s->setup, &s->store.head, &s->guard), BESOM_OK);
  s->keys = byte_keys_new(MEMBERS, UNIVERSE);
}

static inline void subject_open(subject *s, besom_config filter, besom_adapt_policy adapt) {
  subject_open_only(s, filter, adapt);
  learn_buckets(s);
}

static inline void subject_close(subject *s) {
  assert_int_equal(besom_guard_close(s->guard), BESOM_OK);
  assert_int_equal(s->store.closed, 1);
  besom_store_close(s->store.inner);
  byte_keys_free(&s->keys);
}

static inline besom_bytes make_value(uint8_t *out, uint64_t number) {
  size_t len = number % MAX_VALUE;
  for (size_t i = 0; i < len; i++) out[i] = (uint8_t)mix64(number + i);
  return (besom_bytes){out, len};
}

static inline besom_status put(subject *s, size_t k, uint64_t number) {
  uint8_t bytes[MAX_VALUE];
  besom_bytes value = make_value(bytes, number);
  besom_status status = besom_guard_put(s->guard, s->keys.keys[k].data, s->keys.keys[k].len,
                                        value.len ? value.data : NULL, value.len, 0);
  if (status == BESOM_OK) {
    s->members += s->values[k] == 0;
    s->values[k] = number;
  }
  return status;
}

static inline besom_status get(subject *s, size_t k, besom_bytes *value) {
  return besom_guard_get(s->guard, s->keys.keys[k].data, s->keys.keys[k].len, value);
}

static inline besom_status delete_key(subject *s, size_t k) {
  besom_status status = besom_guard_delete(s->guard, s->keys.keys[k].data, s->keys.keys[k].len);
  if (status == BESOM_OK) {
    s->members--;
    s->values[k] = 0;
  }
  return status;
}

/* Deletes a key; the result must be as the map says. */
static inline void assert_delete(subject *s, size_t k) {
  besom_status expected = s->values[k] ? BESOM_OK : BESOM_NOT_FOUND;
  assert_int_equal(delete_key(s, k), expected);
}

static inline bool filter_contains(const subject *s, size_t k) {
  const besom_filter *f = besom_guard_filter(s->guard);
  const besom_bytes key = s->keys.keys[k];
  bool yes = besom_contains(f, key.data, key.len);
  size_t total;
  assert_int_equal(besom_matches(f, besom_hash(f, key.data, key.len), NULL, 0, &total), BESOM_OK);
  assert_true(yes == (total > 0));
  return yes;
}

static inline void assert_value(besom_bytes value, uint64_t number) {
  uint8_t bytes[MAX_VALUE];
  besom_bytes expected = make_value(bytes, number);
  assert_non_null(value.data);
  assert_int_equal(value.len, expected.len);
  assert_true(!value.len || !memcmp(value.data, expected.data, value.len));
}

/* The guard's answer for a key must be the map's. */
static inline void assert_answer(subject *s, size_t k) {
  besom_bytes value = {"", 77};
  besom_status status = get(s, k, &value);
  assert_int_equal(status, s->values[k] ? BESOM_OK : BESOM_NOT_FOUND);
  if (status == BESOM_OK)
    assert_value(value, s->values[k]);
  else
    assert_true(!value.data && !value.len);
  besom_guard_release(s->guard, &value);
  assert_null(value.data);
}

static inline void assert_structure(const subject *s) {
  const char *reason = NULL;
  besom_statistics stats;
  assert_int_equal(besom_validate(besom_guard_filter(s->guard), &reason), BESOM_OK);
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  assert_int_equal(stats.keys, s->members);
  besom_store_statistics stored;
  assert_int_equal(besom_store_stats(s->store.inner, &stored), BESOM_OK);
  assert_int_equal(stored.records, s->members);
}

static inline void assert_consistent(subject *s) {
  assert_structure(s);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
  assert_structure(s);
}

static inline besom_guard_statistics guard_stats(const subject *s) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(s->guard, &stats), BESOM_OK);
  return stats;
}

static inline besom_store_statistics store_stats(const subject *s) {
  besom_store_statistics stats;
  assert_int_equal(besom_store_stats(s->store.inner, &stats), BESOM_OK);
  return stats;
}

/* Without the filter's own reads: to rebuild a block, to extend fingerprints against a new key, for
   a new round. */
static inline besom_store_statistics query_reads(const subject *s) {
  besom_store_statistics stats = store_stats(s);
  stats.reads -= guard_stats(s).filter_reads;
  return stats;
}

static inline besom_statistics filter_stats(const subject *s) {
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  return stats;
}

static inline uint64_t filter_counter(const subject *s, const char *name) {
  return counter_of(besom_guard_filter(s->guard), name);
}

/* The state that a failed call must not change. */
typedef struct state_copy {
  memory_sink filter;
  uint64_t keys;
  besom_store_statistics store;
} state_copy;

static inline void state_copy_take(state_copy *copy, const subject *s) {
  memory_sink_init(&copy->filter);
  assert_int_equal(besom_save(besom_guard_filter(s->guard), &copy->filter.api), BESOM_OK);
  copy->keys = filter_stats(s).keys;
  copy->store = store_stats(s);
}

/* Reads are not compared. */
static inline void assert_unchanged_except_bits(state_copy *copy, const subject *s,
                                                bool same_bits) {
  state_copy now;
  state_copy_take(&now, s);
  assert_true(!same_bits || memory_sinks_equal(&now.filter, &copy->filter));
  assert_int_equal(now.keys, copy->keys);
  assert_int_equal(now.store.appends, copy->store.appends);
  assert_int_equal(now.store.updates, copy->store.updates);
  assert_int_equal(now.store.removes, copy->store.removes);
  memory_sink_close(&now.filter);
  memory_sink_close(&copy->filter);
}

static inline void assert_unchanged(state_copy *copy, const subject *s) {
  assert_unchanged_except_bits(copy, s, true);
}

/* ------------------------------------------------------------------ for every kind */

/* Every kind that does not relocate fingerprints. guard_relocation.c tests the others. */
static inline void for_each_subject(void (*law)(subject *s), besom_adapt_policy adapt) {
  const unsigned needed = BESOM_CAN_INSERT | BESOM_CAN_MATCH;
  unsigned kinds = 0;
  for (size_t i = 0; besom_kinds(i); i++) {
    if ((besom_kinds(i)->abilities & needed) != needed) continue;
    if (adapt != BESOM_ADAPT_NEVER && !adapts_in_guards(besom_kinds(i))) continue;
    kinds++;
    for (uint32_t width = 2; width <= 4; width++) {
      failing_allocator memory;
      failing_allocator_init(&memory);
      besom_config config = config_of(besom_kinds(i)->name, width);
      config.allocator = &memory.api;
      subject *s = heap_array(1, sizeof *s);
      subject_open(s, config, adapt);
      law(s);
      subject_close(s);
      assert_null(failing_allocator_verdict(&memory));
      failing_allocator_close(&memory);
      free(s);
    }
  }
  assert_true(kinds > 0);
}

/* The allocator of for_each_subject. */
static inline failing_allocator *memory_of(const subject *s) {
  return s->setup.filter.allocator->ctx;
}

static inline void put_some(subject *s, size_t n) {
  random_stream random = {n};
  while (s->members < n)
    assert_int_equal(put(s, random_below(&random, UNIVERSE), 1 + random_next(&random) % 1000000),
                     BESOM_OK);
}

#endif
