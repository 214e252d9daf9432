/*
 * What tests of threads share: a stage with some actors on it, keys that stay and keys that come and go, and what must
 * be true of a filter at the end.
 */
#ifndef BESOM_TESTS_THREADS_STAGE_H
#define BESOM_TESTS_THREADS_STAGE_H

#include "besom.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/bits.h"
#include "support/keys.h"
#include "support/memory_sink.h"

#if defined(BESOM_THREAD_SANITIZER) || defined(__SANITIZE_ADDRESS__)
enum { SCALE = 1 };
#else
enum { SCALE = 8 };
#endif

enum { THREADS = 4, WIDTH = 8, SLOTS = 5 * 4096 + 1000, KEPT = 2500, PASSING = 300 };

static const uint8_t seed[16] = "threads";

/* cmocka's asserts are for one thread: the others tell the first one what was wrong. */
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
struct stage {
  besom_filter *f;
  void (*act)(struct stage *stage, unsigned actor);
  atomic_uint started, working;
  atomic_size_t begun[THREADS],
      kept[THREADS]; /* how many of its keys each is about to insert, and has, for good */
  unsigned round;
};

struct actor {
  struct stage *stage;
  unsigned number;
};

static void *run_actor(void *ctx) {
  struct actor *actor = ctx;
  struct stage *stage = actor->stage;
  atomic_fetch_add(&stage->started, 1);
  while (atomic_load(&stage->started) < THREADS) continue;
  stage->act(stage, actor->number);
  return NULL;
}

static void perform(struct stage *stage) {
  pthread_t threads[THREADS];
  struct actor actors[THREADS];
  atomic_store(&stage->working, THREADS / 2);
  for (unsigned i = 0; i < THREADS; i++) {
    actors[i] = (struct actor){stage, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_actor, &actors[i]), 0);
  }
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static uint64_t kept_key(unsigned actor, size_t i) {
  return key_u64(MEMBERS, actor * UINT64_C(1000000) + i);
}

static uint64_t passing_key(unsigned actor, size_t i) {
  return key_u64(MORE_MEMBERS, actor * UINT64_C(1000000) + i);
}

/* ------------------------------------------------------------------ members and queries */

/* Between the keys that stay, others come and go, so that everything is shifted to and fro. */
static void write_keys(struct stage *stage, unsigned actor) {
  besom_filter *f = stage->f;
  for (size_t i = 0; i < KEPT; i++) {
    expect(besom_insert_u64(f, kept_key(actor, i)) == BESOM_OK);
    atomic_store_explicit(&stage->kept[actor], i + 1, memory_order_release);
    if (i >= PASSING) expect(besom_remove_u64(f, passing_key(actor, i - PASSING)) == BESOM_OK);
    expect(besom_insert_u64(f, passing_key(actor, i)) == BESOM_OK);
  }
  for (size_t i = KEPT - PASSING; i < KEPT; i++)
    expect(besom_remove_u64(f, passing_key(actor, i)) == BESOM_OK);
  atomic_fetch_sub(&stage->working, 1);
}

enum { BATCH = 100 };

/* Asks for what is there by now: by one, by many, by count, by match. */
static void check_keys(const besom_filter *f, unsigned actor, const size_t *numbers) {
  uint64_t keys[BATCH], bitmap[(BATCH + 63) / 64], n = 0;
  size_t total = 0;
  for (size_t i = 0; i < BATCH; i++) keys[i] = kept_key(actor, numbers[i]);
  for (size_t i = 0; i < BATCH; i++) expect(besom_contains_u64(f, keys[i]));
  expect(besom_contains_many_u64(f, keys, BATCH, bitmap) == BESOM_OK);
  for (size_t i = 0; i < BATCH; i++) expect(bitmap[i / 64] >> (i % 64) & 1);
  expect(besom_count_u64(f, keys[0], &n) == BESOM_OK && n >= 1);
  expect(besom_matches(f, besom_hash_u64(f, keys[0]), NULL, 0, &total) == BESOM_OK && total >= 1);
}

static void read_keys(struct stage *stage, unsigned reader) {
  random_stream random = {reader};
  while (atomic_load(&stage->working)) {
    unsigned actor = (unsigned)random_below(&random, THREADS / 2);
    size_t kept = atomic_load_explicit(&stage->kept[actor], memory_order_acquire), numbers[BATCH];
    if (!kept) continue;
    for (size_t i = 0; i < BATCH; i++)
      numbers[i] = i < 10 && kept > i ? kept - 1 - i : random_below(&random, kept);
    check_keys(stage->f, actor, numbers);
  }
}

/* A filter of one thread that got the keys that stay, and no others. */
static besom_filter *make_plain(const char *options) {
  besom_config config = config_with(options);
  config.flags = 0;
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (unsigned actor = 0; actor < THREADS / 2; actor++)
    for (size_t i = 0; i < KEPT; i++)
      assert_int_equal(besom_insert_u64(f, kept_key(actor, i)), BESOM_OK);
  return f;
}

static void assert_answers_like(const besom_filter *f, const besom_filter *plain) {
  assert_int_equal(stats_of(f).items, stats_of(plain).items);
  for (size_t i = 0; i < 100000; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    assert_int_equal(besom_contains_u64(f, key), besom_contains_u64(plain, key));
  }
}

/* Runs hold the same, in another order maybe. */
static void assert_like_plain(const besom_filter *f, const char *options) {
  besom_filter *plain = make_plain(options);
  besom_statistics a = stats_of(f), b = stats_of(plain);
  assert_true(a.load == b.load && a.expected_fpr == b.expected_fpr && a.extended == b.extended);
  assert_answers_like(f, plain);
  besom_free(plain);
}

#endif
