/*
 * guard_subject.h - what the tests of guards share: a guard over a store that fails when told to, and the plain map
 * that it must agree with; for every kind that can stand in front of a store, in filters so small that most keys
 * collide with others.
 */
#ifndef BESOM_TESTS_GUARD_SUBJECT_H
#define BESOM_TESTS_GUARD_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { SLOTS = 80, UNIVERSE = 400, MOST_MEMBERS = 50, LONGEST_VALUE = 40 };

static const uint8_t seed[16] = "a guard's secret";

/* ------------------------------------------------------------------ a store that fails when told to */

enum operation { APPEND, GET, REPLACE, REMOVE, SCAN, OPERATIONS };

/* Around a store in memory, which outlives it. */
typedef struct faulty_store {
  besom_store head;
  besom_store *inner;
  bool fails[OPERATIONS];
  bool late;          /* a read fails after it has shown everything */
  unsigned countdown; /* this one of all calls from now on fails, once; 0: none */
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
    .append = faulty_append,
    .get = faulty_get,
    .replace = faulty_replace,
    .remove = faulty_remove,
    .scan = faulty_scan,
    .close = faulty_close,
};

/* ------------------------------------------------------------------ a guard, and what should be in it */

typedef struct subject {
  besom_guard_config config;
  faulty_store store;
  besom_guard *guard;
  byte_keys keys;
  uint64_t buckets[UNIVERSE];    /* of the keys */
  uint64_t values[UNIVERSE + 1]; /* the number that the key's value is made from; 0: not there */
  uint64_t members;
} subject;

static inline besom_config config_of(const char *kind, uint32_t width) {
  return (besom_config){.kind = kind, .slots = SLOTS, .width = width, .seed = seed, .reserve = 0.3};
}

/* Where the filter would put each key, were it empty. */
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
    assert_int_equal(besom_remove_at(scratch, match), BESOM_OK);
  }
  besom_free(scratch);
}

static inline void subject_open_only(subject *s, besom_config filter, besom_adapt_policy adapt) {
  memset(s, 0, sizeof *s);
  s->store.head.ops = &faulty_ops;
  assert_int_equal(besom_store_memory(filter.allocator, &s->store.inner), BESOM_OK);
  s->config = (besom_guard_config){.filter = filter, .adapt = adapt};
  assert_int_equal(besom_guard_open(&s->config, &s->store.head, &s->guard), BESOM_OK);
  s->keys = byte_keys_new(MEMBERS, UNIVERSE);
}

static inline void subject_open(subject *s, besom_config filter, besom_adapt_policy adapt) {
  subject_open_only(s, filter, adapt);
  learn_buckets(s);
}

static inline void subject_close(subject *s) {
  besom_guard_close(s->guard);
  assert_int_equal(s->store.closed, 1);
  besom_store_close(s->store.inner);
  byte_keys_free(&s->keys);
}

static inline besom_bytes make_value(uint8_t *out, uint64_t number) {
  size_t len = number % LONGEST_VALUE;
  for (size_t i = 0; i < len; i++) out[i] = (uint8_t)mix64(number + i);
  return (besom_bytes){out, len};
}

static inline besom_status put(subject *s, size_t k, uint64_t number) {
  uint8_t bytes[LONGEST_VALUE];
  besom_bytes value = make_value(bytes, number);
  besom_status status = besom_guard_put(s->guard, s->keys.keys[k].data, s->keys.keys[k].len,
                                        value.len ? value.data : NULL, value.len);
  if (status == BESOM_OK) {
    s->members += s->values[k] == 0;
    s->values[k] = number;
  }
  return status;
}

static inline besom_status get(subject *s, size_t k, besom_bytes *value) {
  return besom_guard_get(s->guard, s->keys.keys[k].data, s->keys.keys[k].len, value);
}

static inline besom_status take_out(subject *s, size_t k) {
  besom_status status = besom_guard_delete(s->guard, s->keys.keys[k].data, s->keys.keys[k].len);
  if (status == BESOM_OK) {
    s->members--;
    s->values[k] = 0;
  }
  return status;
}

/* Whether it succeeds is as the map says. */
static inline void assert_take_out(subject *s, size_t k) {
  besom_status expected = s->values[k] ? BESOM_OK : BESOM_NOT_FOUND;
  assert_int_equal(take_out(s, k), expected);
}

static inline bool filter_says_yes(const subject *s, size_t k) {
  const besom_filter *f = besom_guard_filter(s->guard);
  const besom_bytes key = s->keys.keys[k];
  bool yes = besom_contains(f, key.data, key.len);
  size_t total;
  assert_int_equal(besom_matches(f, besom_hash(f, key.data, key.len), NULL, 0, &total), BESOM_OK);
  assert_true(yes == (total > 0));
  return yes;
}

static inline void assert_value(besom_bytes value, uint64_t number) {
  uint8_t bytes[LONGEST_VALUE];
  besom_bytes expected = make_value(bytes, number);
  assert_non_null(value.data);
  assert_int_equal(value.len, expected.len);
  assert_true(!value.len || !memcmp(value.data, expected.data, value.len));
}

/* The guard's answer for one key is the map's. */
static inline void assert_right(subject *s, size_t k) {
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
  assert_int_equal(stats.items, s->members);
  besom_store_statistics stored;
  assert_int_equal(besom_store_stats(s->store.inner, &stored), BESOM_OK);
  assert_int_equal(stored.records, s->members);
}

static inline void assert_all_right(subject *s) {
  assert_structure(s);
  for (size_t k = 0; k < UNIVERSE; k++) assert_right(s, k);
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

/* Without what the filter reads for itself: to begin a block anew, to tell a new key from others, for a new round. */
static inline besom_store_statistics asked_reads(const subject *s) {
  besom_store_statistics stats = store_stats(s);
  stats.reads -= guard_stats(s).filter_reads;
  return stats;
}

static inline besom_statistics filter_stats(const subject *s) {
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  return stats;
}

/* Everything that a failed call must leave as it was. */
typedef struct snapshot {
  memory_sink filter;
  uint64_t items;
  besom_store_statistics store;
} snapshot;

static inline void snapshot_take(snapshot *snap, const subject *s) {
  memory_sink_init(&snap->filter);
  assert_int_equal(besom_save(besom_guard_filter(s->guard), &snap->filter.api), BESOM_OK);
  snap->items = filter_stats(s).items;
  snap->store = store_stats(s);
}

/* Reads do not matter. */
static inline void assert_about_as_before(snapshot *snap, const subject *s, bool same_bits) {
  snapshot now;
  snapshot_take(&now, s);
  assert_true(!same_bits || memory_sinks_equal(&now.filter, &snap->filter));
  assert_int_equal(now.items, snap->items);
  assert_int_equal(now.store.appends, snap->store.appends);
  assert_int_equal(now.store.updates, snap->store.updates);
  assert_int_equal(now.store.removes, snap->store.removes);
  memory_sink_close(&now.filter);
  memory_sink_close(&snap->filter);
}

static inline void assert_as_before(snapshot *snap, const subject *s) {
  assert_about_as_before(snap, s, true);
}

/* ------------------------------------------------------------------ for every kind */

/* Every one that leaves fingerprints where they are: guard_moving.c is about the others. */
static inline void for_each_subject(void (*law)(subject *s), besom_adapt_policy adapt) {
  unsigned needed =
      BESOM_CAN_INSERT | BESOM_CAN_MATCH | (adapt == BESOM_ADAPT_NEVER ? 0 : BESOM_CAN_ADAPT);
  unsigned kinds = 0;
  for (size_t i = 0; besom_kinds(i); i++) {
    if ((besom_kinds(i)->abilities & needed) != needed) continue;
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
  return s->config.filter.allocator->ctx;
}

static inline void put_some(subject *s, size_t n) {
  random_stream random = {n};
  while (s->members < n)
    assert_int_equal(put(s, random_below(&random, UNIVERSE), 1 + random_next(&random) % 1000000),
                     BESOM_OK);
}

#endif
