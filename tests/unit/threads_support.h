/*
 * What the tests of threads share: a run of several threads, keys that stay and temporary keys, and
 * what must be true of a filter at the end.
 */
#ifndef BESOM_TESTS_THREADS_SUPPORT_H
#define BESOM_TESTS_THREADS_SUPPORT_H

#include "besom_reverse.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/bits.h"
#include "support/counters.h"
#include "support/keys.h"
#include "support/memory_sink.h"

#if defined(BESOM_THREAD_SANITIZER) || defined(__SANITIZE_ADDRESS__) || defined(BESOM_EMULATED)
enum { SCALE = 1 };
#else
enum { SCALE = 8 };
#endif

enum { THREADS = 4, WIDTH = 8, SLOTS = 5 * 4096 + 1000, KEPT = 2500, PASSING = 300 };

static const uint8_t seed[16] = "threads";

/* cmocka's asserts work in one thread only: the others report to it what failed. */
static _Atomic(const char *) wrong;

#define expect(truth)                           \
  do {                                          \
    if (!(truth)) atomic_store(&wrong, #truth); \
  } while (0)

static void assert_nothing_wrong(const besom_filter *f) {
  const char *reason = NULL;
  if (atomic_load(&wrong)) fail_msg("%s", atomic_load(&wrong));
  if (besom_validate(f, &reason) != BESOM_OK) fail_msg("%s", reason);
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static besom_config config_with(const char *options) {
  return (besom_config){.kind = "aqf",
                        .options = options,
                        .seed = seed,
                        .slots = SLOTS,
                        .width = WIDTH,
                        .flags = BESOM_CONCURRENT};
}

static besom_filter *make(const besom_config *config) {
  besom_filter *f = NULL;
  atomic_store(&wrong, NULL);
  assert_int_equal(besom_create(config, &f), BESOM_OK);
  return f;
}

/* What the threads of a test share. */
struct thread_test {
  besom_filter *f;
  void (*work)(struct thread_test *test, unsigned thread);
  atomic_uint started, working;
  atomic_size_t begun[THREADS]; /* how many of its keys a thread began to insert */
  atomic_size_t kept[THREADS];  /* how many it has inserted and will not remove */
  unsigned round;
};

struct worker {
  struct thread_test *test;
  unsigned number;
};

static void *run_worker(void *ctx) {
  struct worker *thread = ctx;
  struct thread_test *test = thread->test;
  atomic_fetch_add(&test->started, 1);
  while (atomic_load(&test->started) < THREADS) continue;
  test->work(test, thread->number);
  return NULL;
}

static void run_threads(struct thread_test *test) {
  pthread_t threads[THREADS];
  struct worker workers[THREADS];
  atomic_store(&test->working, THREADS / 2);
  for (unsigned i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){test, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
  }
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static uint64_t kept_key(unsigned thread, size_t i) {
  return key_u64(MEMBERS, thread * UINT64_C(1000000) + i);
}

static uint64_t passing_key(unsigned thread, size_t i) {
  return key_u64(MORE_MEMBERS, thread * UINT64_C(1000000) + i);
}

/* ------------------------------------------------------------------ members and queries */

/* Inserts keys that stay, and temporary ones between them, so that slots shift up and down. */
static void write_keys(struct thread_test *test, unsigned thread) {
  besom_filter *f = test->f;
  for (size_t i = 0; i < KEPT; i++) {
    expect(besom_insert_u64(f, kept_key(thread, i)) == BESOM_OK);
    atomic_store_explicit(&test->kept[thread], i + 1, memory_order_release);
    if (i >= PASSING) expect(besom_remove_u64(f, passing_key(thread, i - PASSING)) == BESOM_OK);
    expect(besom_insert_u64(f, passing_key(thread, i)) == BESOM_OK);
  }
  for (size_t i = KEPT - PASSING; i < KEPT; i++)
    expect(besom_remove_u64(f, passing_key(thread, i)) == BESOM_OK);
  atomic_fetch_sub(&test->working, 1);
}

enum { BATCH = 100 };

/* Queries keys that are present: single, batched, by count, by match. */
static void check_keys(const besom_filter *f, unsigned thread, const size_t *numbers) {
  uint64_t keys[BATCH], bitmap[(BATCH + 63) / 64], n = 0;
  size_t total = 0;
  for (size_t i = 0; i < BATCH; i++) keys[i] = kept_key(thread, numbers[i]);
  for (size_t i = 0; i < BATCH; i++) expect(besom_contains_u64(f, keys[i]));
  expect(besom_contains_many_u64(f, keys, BATCH, bitmap) == BESOM_OK);
  for (size_t i = 0; i < BATCH; i++) expect(bitmap[i / 64] >> (i % 64) & 1);
  expect(besom_count_u64(f, keys[0], &n) == BESOM_OK && n >= 1);
  expect(besom_matches(f, besom_hash_u64(f, keys[0]), NULL, 0, &total) == BESOM_OK && total >= 1);
}

static void read_keys(struct thread_test *test, unsigned reader) {
  random_stream random = {reader};
  while (atomic_load(&test->working)) {
    unsigned thread = (unsigned)random_below(&random, THREADS / 2);
    size_t kept = atomic_load_explicit(&test->kept[thread], memory_order_acquire), numbers[BATCH];
    if (!kept) continue;
    for (size_t i = 0; i < BATCH; i++)
      numbers[i] = i < 10 && kept > i ? kept - 1 - i : random_below(&random, kept);
    check_keys(test->f, thread, numbers);
  }
}

/* A filter of one thread with exactly the keys that stay. */
static besom_filter *make_plain(const char *options) {
  besom_config config = config_with(options);
  config.flags = 0;
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (unsigned thread = 0; thread < THREADS / 2; thread++)
    for (size_t i = 0; i < KEPT; i++)
      assert_int_equal(besom_insert_u64(f, kept_key(thread, i)), BESOM_OK);
  return f;
}

static void assert_answers_like(const besom_filter *f, const besom_filter *plain) {
  assert_int_equal(stats_of(f).keys, stats_of(plain).keys);
  for (size_t i = 0; i < 100000; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    assert_int_equal(besom_contains_u64(f, key), besom_contains_u64(plain, key));
  }
}

/* Runs hold the same fingerprints, maybe in another order. */
static void assert_like_plain(const besom_filter *f, const char *options) {
  besom_filter *plain = make_plain(options);
  besom_statistics a = stats_of(f), b = stats_of(plain);
  assert_true(a.load_factor == b.load_factor && a.expected_fpr == b.expected_fpr);
  assert_int_equal(counter_of(f, "extended"), counter_of(plain, "extended"));
  assert_answers_like(f, plain);
  besom_free(plain);
}

#endif
