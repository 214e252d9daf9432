/*
 * A concurrent filter gives the results of a plain one: every call, in each of its forms, with
 * filters that have values, tombstones or another hash; called by a thread that has a reader slot
 * and by one that has none. While a task runs, changes are BUSY and queries go on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/keys.h"
#include "support/saved_filters.h"

enum { SLOTS = 512, UNIVERSE = 700, STEPS = 4000, SOME = 70 };

/* ------------------------------------------------------------------ calls */

/* What a call returns: its status, and the number or answer that it gives. */
typedef struct result {
  besom_status status;
  uint64_t number;
} result;

typedef result (*call)(besom_filter *f, uint64_t key);

static result status_only(besom_status status) {
  return (result){status, 0};
}

#define BYTES(key) besom_u64(key).bytes, 8

static result do_insert(besom_filter *f, uint64_t key) {
  return status_only(besom_insert(f, BYTES(key)));
}

static result do_insert_u64(besom_filter *f, uint64_t key) {
  return status_only(besom_insert_u64(f, key));
}

static result do_insert_digest(besom_filter *f, uint64_t key) {
  return status_only(besom_insert_digest(f, besom_hash_u64(f, key)));
}

static result do_insert_many(besom_filter *f, uint64_t key) {
  uint64_t keys[3] = {key, key + 1, key};
  size_t done = 0;
  besom_status status = besom_insert_many_u64(f, keys, 3, &done);
  return (result){status, done};
}

static result do_insert_many_digest(besom_filter *f, uint64_t key) {
  besom_digest digests[2] = {besom_hash_u64(f, key), besom_hash_u64(f, key + 1)};
  size_t done = 0;
  besom_status status = besom_insert_many_digest(f, digests, 2, &done);
  return (result){status, done};
}

static result do_insert_count(besom_filter *f, uint64_t key) {
  return status_only(besom_insert_count(f, BYTES(key), 1 + key % 5));
}

static result do_remove(besom_filter *f, uint64_t key) {
  return status_only(besom_remove(f, BYTES(key)));
}

static result do_remove_digest(besom_filter *f, uint64_t key) {
  return status_only(besom_remove_digest(f, besom_hash_u64(f, key)));
}

/* One that is inserted, or one that is reported. */
static uint64_t either(uint64_t key) {
  return key % 2 ? key : UNIVERSE + key;
}

static result do_count(besom_filter *f, uint64_t key) {
  result r = {BESOM_OK, 0};
  r.status = besom_count(f, BYTES(either(key)), &r.number);
  return r;
}

static result do_set_value(besom_filter *f, uint64_t key) {
  return status_only(besom_set_value(f, BYTES(key), key % 8));
}

static result do_get_value(besom_filter *f, uint64_t key) {
  result r = {BESOM_OK, 0};
  r.status = besom_get_value(f, BYTES(either(key)), &r.number);
  return r;
}

static result do_adapt(besom_filter *f, uint64_t key) {
  return status_only(besom_adapt(f, BYTES(UNIVERSE + key)));
}

static result do_adapt_digest(besom_filter *f, uint64_t key) {
  return status_only(besom_adapt_digest(f, besom_hash_u64(f, UNIVERSE + key)));
}

static result do_no_add(besom_filter *f, uint64_t key) {
  return status_only(besom_no_add(f, BYTES(2 * UNIVERSE + key)));
}

static result do_no_remove(besom_filter *f, uint64_t key) {
  return status_only(besom_no_remove(f, BYTES(2 * UNIVERSE + key)));
}

static result do_contains(besom_filter *f, uint64_t key) {
  return (result){BESOM_OK, besom_contains(f, BYTES(key))};
}

static result do_contains_u64(besom_filter *f, uint64_t key) {
  return (result){BESOM_OK, besom_contains_u64(f, UNIVERSE + key)};
}

static result do_contains_digest(besom_filter *f, uint64_t key) {
  return (result){BESOM_OK, besom_contains_digest(f, besom_hash_u64(f, UNIVERSE + key))};
}

static result do_contains_many(besom_filter *f, uint64_t key) {
  uint64_t keys[SOME], bitmap[2] = {0};
  for (unsigned i = 0; i < SOME; i++) keys[i] = UNIVERSE + key + i;
  besom_status status = besom_contains_many_u64(f, keys, SOME, bitmap);
  return (result){status, bitmap[0] ^ bitmap[1] << 1};
}

static result do_matches(besom_filter *f, uint64_t key) {
  size_t total = 0;
  besom_status status = besom_matches(f, besom_hash_u64(f, either(key)), NULL, 0, &total);
  return (result){status, total};
}

static result do_insert_at(besom_filter *f, uint64_t key) {
  besom_match match = {0};
  besom_status status = besom_insert_at(f, besom_hash_u64(f, key), key % 8, &match);
  return (result){status, 64 * match.bucket + match.rank};
}

/* The first match, or one that is not there. */
static result do_remove_at(besom_filter *f, uint64_t key) {
  besom_match match = {.bucket = key % 9 ? 0 : UINT64_MAX};
  size_t total = 0;
  besom_status status = besom_matches(f, besom_hash_u64(f, key), &match, 1, &total);
  return (result){status == BESOM_OK ? besom_remove_at(f, &match) : status, total};
}

/* For a key that is not there, against a stored key that is. */
static result do_adapt_at(besom_filter *f, uint64_t key) {
  besom_match match = {.bucket = UINT64_MAX};
  size_t total = 0;
  besom_digest stored = besom_hash_u64(f, key);
  besom_status status = besom_matches(f, stored, &match, 1, &total);
  besom_digest offender = {stored.hi, stored.lo ^ 1};
  return (result){status == BESOM_OK ? besom_adapt_at(f, offender, &match, stored) : status, total};
}

/* A key that is too long to be hashed inline. */
typedef struct long_key {
  uint8_t bytes[40];
} long_key;

static long_key long_key_of(uint64_t key) {
  long_key k;
  for (unsigned i = 0; i < sizeof k.bytes; i += 8) memcpy(k.bytes + i, BYTES(key));
  return k;
}

static result do_contains_long(besom_filter *f, uint64_t key) {
  long_key k = long_key_of(key);
  return (result){BESOM_OK, besom_contains(f, k.bytes, sizeof k.bytes)};
}

static result do_insert_long(besom_filter *f, uint64_t key) {
  long_key k = long_key_of(key);
  return status_only(besom_insert(f, k.bytes, sizeof k.bytes));
}

/* Keys that were reported, so that some of them are exceptions. */
static result do_insert_reported(besom_filter *f, uint64_t key) {
  return do_insert(f, UNIVERSE + key % 100);
}

static result do_insert_at_reported(besom_filter *f, uint64_t key) {
  return do_insert_at(f, UNIVERSE + key % 100);
}

static result do_remove_reported(besom_filter *f, uint64_t key) {
  return do_remove(f, UNIVERSE + key % 100);
}

static const call queries[] = {do_matches,       do_count,        do_get_value,
                               do_contains,      do_contains_u64, do_contains_digest,
                               do_contains_many, do_contains_long};

static const call changes[] = {do_insert,
                               do_insert_u64,
                               do_insert_digest,
                               do_insert_many,
                               do_insert_many_digest,
                               do_insert_count,
                               do_remove,
                               do_remove_digest,
                               do_set_value,
                               do_adapt,
                               do_adapt_digest,
                               do_no_add,
                               do_no_remove,
                               do_insert_at,
                               do_remove_at,
                               do_adapt_at,
                               do_insert_long,
                               do_insert_reported,
                               do_insert_at_reported,
                               do_remove_reported};

enum { QUERIES = sizeof queries / sizeof *queries, CHANGES = sizeof changes / sizeof *changes };

/* ------------------------------------------------------------------ threads */

typedef struct order {
  call made;
  besom_filter *f;
  uint64_t key;
  result got;
} order;

static void *run_order(void *at) {
  order *o = at;
  o->got = o->made(o->f, o->key);
  return NULL;
}

/* By a new thread, whose first call on the filter it is; or by this one. */
static result run_by(bool by_thread, call made, besom_filter *f, uint64_t key) {
  order o = {.made = made, .f = f, .key = key};
  pthread_t thread;
  if (!by_thread) return made(f, key);
  assert_int_equal(pthread_create(&thread, NULL, run_order, &o), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  return o.got;
}

/* ------------------------------------------------------------------ tests */

static besom_filter *make(besom_config config, uint32_t flags) {
  static const uint8_t seed[16] = "plain or shared";
  besom_filter *f = NULL;
  config.kind = "aqf";
  config.slots = SLOTS;
  config.width = 5;
  config.seed = seed;
  config.flags = flags;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

/* The same calls on a plain and on a concurrent filter. */
static void compare(besom_config config, uint64_t seed) {
  besom_filter *plain = make(config, 0), *shared = make(config, BESOM_CONCURRENT);
  random_stream random = {seed};
  for (unsigned i = 0; i < STEPS; i++) {
    unsigned c = (unsigned)random_below(&random, QUERIES + CHANGES);
    call made = c < QUERIES ? queries[c] : changes[c - QUERIES];
    uint64_t key = random_below(&random, UNIVERSE);
    result expected = made(plain, key), got = run_by(i % 8 == 0, made, shared, key);
    if (expected.status != got.status || expected.number != got.number)
      fail_msg("step %u, call %u, key %u: %s, %u, but plain %s, %u", i, c, (unsigned)key,
               besom_strerror(got.status), (unsigned)got.number, besom_strerror(expected.status),
               (unsigned)expected.number);
  }
  assert_int_equal(besom_validate(shared, NULL), BESOM_OK);
  assert_same_bytes(plain, shared);
  besom_free(plain);
  besom_free(shared);
}

static void a_concurrent_filter_gives_the_same_results(void **state) {
  (void)state;
  compare((besom_config){.reserve = 0.1}, 1);
  compare((besom_config){.reserve = 0.1, .value_bits = 3}, 2);
  compare((besom_config){.reserve = 0.1, .value_bits = 3, .options = "tombstones=yes"}, 3);
  compare((besom_config){.hash = "sip"}, 4);
}

/* A thread has no reader slot of a filter before its first call. */
static void the_first_call_of_a_thread_is_like_any_other(void **state) {
  (void)state;
  for (unsigned c = 0; c < QUERIES + CHANGES; c++) {
    call made = c < QUERIES ? queries[c] : changes[c - QUERIES];
    besom_config config = {.value_bits = 3, .reserve = 0.1};
    besom_filter *plain = make(config, 0), *shared = make(config, BESOM_CONCURRENT);
    for (uint64_t key = 0; key < 300; key++) {
      assert_int_equal(besom_insert_u64(plain, key), BESOM_OK);
      assert_int_equal(besom_insert_u64(shared, key), BESOM_OK);
    }
    result expected = made(plain, 5), got = run_by(true, made, shared, 5);
    assert_int_equal(got.status, expected.status);
    assert_int_equal(got.number, expected.number);
    assert_same_bytes(plain, shared);
    besom_free(plain);
    besom_free(shared);
  }
}

typedef struct digest_query {
  const besom_filter *f;
  besom_digest digest;
  bool answer;
} digest_query;

static void *ask_by_digest(void *ctx) {
  digest_query *q = ctx;
  q->answer = besom_contains_digest(q->f, q->digest);
  return NULL;
}

/* do_contains_digest hashes the key first, which is a call on the filter, too. */
static void the_first_call_of_a_thread_may_be_a_query_by_digest(void **state) {
  (void)state;
  besom_filter *f = make((besom_config){0}, BESOM_CONCURRENT);
  assert_int_equal(besom_insert_u64(f, 5), BESOM_OK);
  for (uint64_t key = 5; key < 7; key++) {
    digest_query q = {.f = f, .digest = besom_hash_u64(f, key)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_by_digest, &q), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(q.answer, besom_contains_u64(f, key));
  }
  besom_free(f);
}

static void changes_are_busy_during_a_task(void **state) {
  (void)state;
  besom_filter *f = make((besom_config){.value_bits = 3}, BESOM_CONCURRENT);
  besom_task *task = NULL;
  for (uint64_t key = 0; key < 100; key++) assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
  assert_int_equal(besom_resize(f, 2 * SLOTS, &task), BESOM_OK);
  for (unsigned by_thread = 0; by_thread < 2; by_thread++) {
    for (unsigned c = 0; c < CHANGES; c++)
      assert_int_equal(run_by(by_thread, changes[c], f, 7).status, BESOM_BUSY);
    for (unsigned c = 0; c < QUERIES; c++)
      assert_int_equal(run_by(by_thread, queries[c], f, 7).status, BESOM_OK);
    for (uint64_t key = 0; key < 100; key++)
      assert_int_equal(run_by(by_thread, do_contains, f, key).number, 1);
  }
  besom_task_cancel(task);
  assert_int_equal(besom_insert_u64(f, 7), BESOM_OK);
  besom_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_concurrent_filter_gives_the_same_results),
      cmocka_unit_test(the_first_call_of_a_thread_is_like_any_other),
      cmocka_unit_test(the_first_call_of_a_thread_may_be_a_query_by_digest),
      cmocka_unit_test(changes_are_busy_during_a_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
