/*
 * besom_build with several threads makes the filter that one thread makes, for any keys in any
 * order, and fails as one thread does. The thread sanitizer runs this, too.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/saved_filters.h"

/* From 2 * 65536 keys on there can be 3 threads. */
enum { N = 135000, LONG = 100000 };

#ifdef __SANITIZE_THREAD__
enum { EVERY = 8 }; /* which of the numbers below are tried */
#else
enum { EVERY = 1 };
#endif

static const uint8_t seed[16] = "build threads";
static const char *const kinds[] = {"qf", "aqf", "pqf", "taf", "broom", "cached"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ------------------------------------------------------------------ starting threads */

/* The library's threads are counted. The sanitizer has a pthread_create of its own. */
#if !defined(__SANITIZE_THREAD__)
static unsigned started, most_started = 1000;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *ctx) {
  typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static create real;
  if (!real) {
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
  }
  if (started >= most_started) return EAGAIN;
  started++;
  return real(thread, attributes, run, ctx);
}
#endif

/* ------------------------------------------------------------------ sources */

/* Keys in some order. A key is valid only until the next one: it is given in a buffer. */
typedef struct keys {
  besom_source api;
  uint64_t (*key)(uint64_t i);
  uint64_t n, at, fail_at;
  besom_status status; /* at fail_at */
  size_t length;       /* of every key; 0: some are long */
  uint8_t buffer[LONG];
} keys;

static uint64_t any(uint64_t i) {
  return mix64(i);
}

static uint64_t ascending(uint64_t i) {
  return i;
}

static uint64_t descending(uint64_t i) {
  return UINT64_MAX - i;
}

static uint64_t equal(uint64_t i) {
  (void)i;
  return 5;
}

/* Every key some dozen times. */
static uint64_t repeated(uint64_t i) {
  return mix64(mix64(i) % (N / 30));
}

static size_t length_of(const keys *k, uint64_t i) {
  if (k->length) return k->length;
  return i % 1000 == 7 ? LONG - i % 5000 : i % 100 == 3 ? 8 + i % 400 : 8 + i % 9;
}

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  keys *k = ctx;
  (void)weight;
  if (k->at == k->fail_at) return k->status;
  if (k->at == k->n) return BESOM_END;
  uint64_t number = little_endian(k->key(k->at));
  size_t length = length_of(k, k->at++);
  memset(k->buffer, 0xee, sizeof number);
  memcpy(k->buffer, &number, sizeof number);
  *key = (besom_bytes){.data = k->buffer, .len = length};
  return BESOM_OK;
}

static besom_status again(void *ctx) {
  ((keys *)ctx)->at = 0;
  return BESOM_OK;
}

static keys *keys_new(uint64_t (*key)(uint64_t i), uint64_t n, size_t length) {
  keys *k = heap_array(1, sizeof *k);
  *k = (keys){.key = key, .n = n, .fail_at = UINT64_MAX, .length = length};
  k->api = (besom_source){.next = next, .rewind = again, .size_hint = n, .ctx = k};
  return k;
}

/* ------------------------------------------------------------------ building */

static besom_config config_of(const char *kind, uint32_t threads) {
  return (besom_config){
      .kind = kind, .capacity = N, .fpr = 1.0 / 300, .seed = seed, .threads = threads};
}

static besom_filter *build(const besom_config *config, keys *from) {
  besom_filter *f = NULL;
  from->at = 0;
  assert_int_equal(besom_build(config, &(besom_input){.yes = &from->api}, &f), BESOM_OK);
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  return f;
}

/* Frees the keys. */
static void check_same(besom_config config, keys *from) {
  config.threads = 1;
  besom_filter *one = build(&config, from);
  static const uint32_t threads[] = {3, 2, 7, UINT32_MAX};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i += 2 * EVERY - 1) {
    config.threads = threads[i];
    besom_filter *several = build(&config, from);
    assert_same_bytes(one, several);
    besom_free(several);
  }
  besom_free(one);
  free(from);
}

/* ------------------------------------------------------------------ tests */

static void threads_build_what_one_thread_builds(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k += EVERY) check_same(config_of(kinds[k], 0), keys_new(any, N, 8));
}

static void the_order_of_keys_does_not_matter(void **state) {
  (void)state;
  check_same(config_of("aqf", 0), keys_new(ascending, N, 8));
  check_same(config_of("qf", 0), keys_new(descending, N, 8));
}

/* All keys are in few groups. An aqf counts them; copies in a qf take a slot each. */
static void copies_are_kept(void **state) {
  (void)state;
  for (uint64_t n = N / 2; n <= 2 * N; n *= 2) { /* more than the capacity, too */
    check_same(config_of("aqf", 0), keys_new(equal, n, 8));
    check_same(config_of("aqf", 0), keys_new(repeated, n, 8));
  }
  check_same(config_of("qf", 0), keys_new(repeated, N, 8));
}

static void keys_may_have_any_length(void **state) {
  (void)state;
  check_same(config_of("qf", 0), keys_new(any, N / 2, 0));
  check_same(config_of("aqf", 0), keys_new(any, N, 3));
}

/* Long fingerprints are sorted as whole digests. */
static void fingerprints_may_have_any_length(void **state) {
  (void)state;
  static const double rates[] = {0.3, 1e-4, 1e-6, 1e-9};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i += EVERY) {
    besom_config config = config_of("aqf", 0);
    config.fpr = rates[i];
    check_same(config, keys_new(any, N, 8));
  }
  check_same((besom_config){.kind = "qf", .slots = 2 * N, .width = 64, .seed = seed},
             keys_new(any, N, 8));
}

static void the_number_of_keys_may_be_unknown(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  from->api.size_hint = 0;
  check_same(config_of("qf", 0), from);
}

/* In parts, which are inserted in another order than by one thread: the keys are the same. */
static void a_limit_of_memory_holds_for_all_threads(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  for (uint64_t limit = 1 << 10; limit < 1 << 22; limit *= 1 + 2 * EVERY) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    besom_config config = config_of("qf", 3);
    config.build_memory = limit;
    config.allocator = &memory.api;
    besom_filter *f = build(&config, from);
    besom_statistics stats;
    besom_stats(f, &stats);
    assert_true(memory.peak_bytes <= stats.bytes + limit);
    assert_int_equal(stats.keys, N);
    for (uint64_t i = 0; i < N; i++) assert_true(besom_contains_u64(f, any(i)));
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  free(from);
}

static void a_failing_source_ends_all_threads(void **state) {
  (void)state;
  static const uint64_t places[] = {0, 1, 8191, 8192, 100000, N};
  keys *from = keys_new(any, N, 8);
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_config config = config_of("aqf", 3);
  config.allocator = &memory.api;
  from->status = BESOM_NEEDS_STORE;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    besom_filter *f = NULL;
    from->at = 0;
    from->fail_at = places[i];
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &from->api}, &f),
                     BESOM_NEEDS_STORE);
    assert_null(f);
    assert_null(failing_allocator_verdict(&memory));
  }
  failing_allocator_close(&memory);
  free(from);
}

typedef struct patience {
  uint64_t ticks, most, last;
  pthread_t thread;
  bool wrong;
} patience;

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  patience *p = ctx;
  p->wrong |= done < p->last || done > total || !pthread_equal(pthread_self(), p->thread);
  p->last = done;
  return ++p->ticks < p->most;
}

/* While it reads and while it appends. */
static void progress_can_end_all_threads(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_config config = config_of("qf", 3);
  config.allocator = &memory.api;
  besom_status status = BESOM_CANCELLED;
  for (uint64_t most = 1; status == BESOM_CANCELLED; most = most * 3 / 2 + 1) {
    patience p = {.most = most, .thread = pthread_self()};
    besom_progress progress = {.tick = tick, .ctx = &p};
    besom_filter *f = NULL;
    from->at = 0;
    status = besom_build(&config, &(besom_input){.yes = &from->api, .progress = &progress}, &f);
    assert_false(p.wrong);
    assert_true(status == BESOM_OK ? p.last == N && f : status == BESOM_CANCELLED && !f);
    if (!f) assert_int_equal(p.ticks, most);
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
  }
  failing_allocator_close(&memory);
  free(from);
}

/* The build works with less memory, or fails. */
static void the_nth_allocation_may_fail(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  besom_config config = config_of("qf", 0);
  besom_filter *expected = build(&config, from);
  for (uint64_t n = 1, calls = n; calls >= n; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    config = config_of("qf", 3);
    config.allocator = &memory.api;
    from->api.size_hint = n % 2 ? N : 0; /* if unknown, memory is allocated little by little */
    from->at = 0;
    besom_filter *f = NULL;
    besom_status status = besom_build(&config, &(besom_input){.yes = &from->api}, &f);
    calls = memory.calls;
    assert_true(status == BESOM_OK ? f != NULL : status == BESOM_NO_MEMORY && !f);
    for (uint64_t i = 0; f && i < N; i += EVERY) assert_true(besom_contains_u64(f, any(i)));
    if (calls < n) assert_same_bytes(f, expected);
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  besom_free(expected);
  free(from);
}

static void too_many_keys_are_full(void **state) {
  (void)state;
  besom_config config = config_of("qf", 3);
  keys *from = keys_new(any, 3 * N, 8);
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &from->api}, &f), BESOM_FULL);
  assert_null(f);
  free(from);
}

static void concurrent_filters_are_built_by_threads(void **state) {
  (void)state;
  besom_config config = config_of("aqf", 2);
  config.flags = BESOM_CONCURRENT;
  keys *from = keys_new(any, N, 8);
  besom_filter *f = build(&config, from);
  for (uint64_t i = 0; i < N; i++) assert_true(besom_contains_u64(f, any(i)));
  besom_free(f);
  free(from);
}

/* ------------------------------------------------------------------ parts */

/* The keys of `any`, in parts: one of a key, one of none, and others. */
enum { PARTS = 5 };

typedef struct parts {
  keys *of[PARTS];
  besom_source sources[PARTS];
} parts;

static uint64_t from_one(uint64_t i) {
  return any(1 + i);
}

static uint64_t from_third(uint64_t i) {
  return any(1 + N / 3 + i);
}

static uint64_t from_half(uint64_t i) {
  return any(1 + N / 3 + N / 2 + i);
}

static void parts_make(parts *p) {
  p->of[0] = keys_new(any, 1, 8);
  p->of[1] = keys_new(from_one, N / 3, 0);
  p->of[2] = keys_new(any, 0, 8);
  p->of[3] = keys_new(from_third, N / 2, 8);
  p->of[4] = keys_new(from_half, N - 1 - N / 3 - N / 2, 8);
  p->of[2]->api.size_hint = 1; /* more than it gives */
}

static void parts_free(parts *p) {
  for (size_t i = 0; i < PARTS; i++) free(p->of[i]);
}

static besom_input parts_input(parts *p) {
  for (size_t i = 0; i < PARTS; i++) {
    p->of[i]->at = 0;
    p->sources[i] = p->of[i]->api;
  }
  return (besom_input){.parts = p->sources, .n_parts = PARTS};
}

/* The n keys of the parts, one after the other, as one thread builds them from one source. */
typedef struct chain {
  parts *p;
  size_t now;
} chain;

static besom_status next_of_chain(void *ctx, besom_bytes *key, uint64_t *weight) {
  chain *c = ctx;
  besom_status status = BESOM_END;
  while (c->now < PARTS && (status = next(c->p->of[c->now], key, weight)) == BESOM_END) c->now++;
  return status;
}

static void parts_give_what_one_source_gives(void **state) {
  (void)state;
  static const uint32_t threads[] = {1, 2, 3, 7};
  static const char *const all[] = {"qf", "aqf", "pqf", "cached", "cf", "fuse", "blocked-bloom"};
  parts p;
  parts_make(&p);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    besom_config config = config_of(all[k], 1);
    besom_filter *one, *f;
    parts_input(&p);
    chain c = {.p = &p};
    besom_source yes = {.next = next_of_chain, .ctx = &c, .size_hint = N + 1};
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes}, &one), BESOM_OK);
    for (size_t t = 0; t<4; t += EVERY> 1 ? 2 : 1) {
      config.threads = threads[t];
      besom_input in = parts_input(&p);
      assert_int_equal(besom_build(&config, &in, &f), BESOM_OK);
      assert_same_bytes(one, f);
      besom_free(f);
    }
    besom_free(one);
  }
  parts_free(&p);
}

/* The status of a build from parts by 3 threads, which must leave nothing behind if it fails. */
static besom_status build_parts_in(parts *p, besom_config config, const besom_progress *progress,
                                   uint64_t fail_at) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  memory.fail_at = fail_at;
  config.allocator = &memory.api;
  besom_input in = parts_input(p);
  in.progress = progress;
  besom_filter *f = NULL;
  besom_status status = besom_build(&config, &in, &f);
  if (f) assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  for (uint64_t i = 1 + N / 3; f && i < N; i++) assert_true(besom_contains_u64(f, any(i)));
  assert_true((status == BESOM_OK) == (f != NULL));
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  return status;
}

static void a_failing_part_ends_all(void **state) {
  (void)state;
  static const uint64_t places[] = {0, 1, 255, 256, 40000};
  parts p;
  parts_make(&p);
  for (size_t i = 0; i < PARTS; i++)
    for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
      p.of[i]->status = BESOM_NEEDS_STORE;
      p.of[i]->fail_at = places[j] <= p.of[i]->n ? places[j] : p.of[i]->n;
      assert_int_equal(build_parts_in(&p, config_of("aqf", 3), NULL, 0), BESOM_NEEDS_STORE);
      p.of[i]->fail_at = UINT64_MAX;
    }
  assert_int_equal(build_parts_in(&p, config_of("aqf", 3), NULL, 0), BESOM_OK);
  parts_free(&p);
}

static void a_part_gives_no_more_than_its_hint(void **state) {
  (void)state;
  parts p;
  parts_make(&p);
  for (uint32_t threads = 1; threads <= 3; threads++)
    for (size_t i = 0; i < PARTS; i++) {
      if (i == 2) continue; /* its hint is above what it gives */
      uint64_t n = p.of[i]->n++;
      assert_int_equal(build_parts_in(&p, config_of("qf", threads), NULL, 0), BESOM_INVALID);
      p.of[i]->n = n;
    }
  p.of[1]->api.size_hint = 0; /* unknown: one part after the other, and any number */
  for (uint32_t threads = 1; threads <= 3; threads++)
    assert_int_equal(build_parts_in(&p, config_of("qf", threads), NULL, 0), BESOM_OK);
  parts_free(&p);
}

static void the_nth_allocation_may_fail_with_parts(void **state) {
  (void)state;
  parts p;
  parts_make(&p);
  unsigned failed = 0;
  for (uint64_t n = 1; n < 12; n++) {
    besom_status status = build_parts_in(&p, config_of("pqf", 3), NULL, n);
    assert_true(status == BESOM_OK || status == BESOM_NO_MEMORY);
    failed += status != BESOM_OK;
  }
  assert_in_range(failed, 1, 10);
  besom_config config = config_of("aqf", 3);
  config.build_memory = 1 << 16; /* one part after the other, sorted in portions */
  assert_int_equal(build_parts_in(&p, config, NULL, 0), BESOM_OK);
  parts_free(&p);
}

static bool until_done(void *ctx, uint64_t done, uint64_t total) {
  (void)total;
  return done < *(const uint64_t *)ctx;
}

static void progress_can_end_the_reading_of_parts(void **state) {
  (void)state;
  parts p;
  parts_make(&p);
  for (uint64_t most = 1; most < N; most += N / 5) {
    besom_progress progress = {.tick = until_done, .ctx = &most};
    assert_int_equal(build_parts_in(&p, config_of("qf", 2), &progress, 0), BESOM_CANCELLED);
  }
  parts_free(&p);
}

static void arrays_are_read_by_all_threads(void **state) {
  (void)state;
  uint64_t *numbers = heap_array(N, sizeof *numbers);
  besom_u64_key *texts = heap_array(N, sizeof *texts);
  besom_bytes *array = heap_array(N, sizeof *array);
  for (uint64_t i = 0; i < N; i++) {
    numbers[i] = any(i);
    texts[i] = besom_u64(any(i));
    array[i] = (besom_bytes){.data = texts[i].bytes, .len = sizeof texts[i].bytes};
  }
  static const size_t counts[] = {N, 0, 1, 5, 64, 65, 1000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    keys *from = keys_new(any, counts[i], 8);
    besom_filter *one = NULL, *f = NULL;
    besom_config config = config_of("pqf", 1);
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &from->api}, &one), BESOM_OK);
    for (config.threads = 1; config.threads <= 3; config.threads++) {
      besom_input in = {.keys_u64 = numbers, .n_keys = counts[i]};
      assert_int_equal(besom_build(&config, &in, &f), BESOM_OK);
      assert_same_bytes(one, f);
      besom_free(f);
      in = (besom_input){.keys = array, .n_keys = counts[i]};
      assert_int_equal(besom_build(&config, &in, &f), BESOM_OK);
      assert_same_bytes(one, f);
      besom_free(f);
    }
    besom_free(one);
    free(from);
  }
  array[N / 2].data = NULL;
  besom_config config = config_of("qf", 3);
  besom_filter *f = NULL;
  besom_input in = {.keys = array, .n_keys = N};
  assert_int_equal(besom_build(&config, &in, &f), BESOM_INVALID);
  in.keys_u64 = numbers; /* two lists */
  assert_int_equal(besom_build(&config, &in, &f), BESOM_INVALID);
  free(array);
  free(texts);
  free(numbers);
}

/* ------------------------------------------------------------------ runs over many parts */

/* A run that is longer than a part: the table is filled again by one thread. */
static uint64_t mostly_equal(uint64_t i) {
  return i % 4 ? 5 : mix64(i);
}

/* Runs across the end of nearly every part. */
static void full_tables_are_built_alike(void **state) {
  (void)state;
  static const double loads[] = {0.5, 0.95, 0.99};
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
    for (size_t k = 0; k < 2; k++) {
      besom_config config = {.kind = k ? "aqf" : "qf",
                             .slots = (uint64_t)(N / loads[i]),
                             .width = 8,
                             .reserve = 0.001,
                             .seed = seed};
      besom_filter *one;
      keys *from = keys_new(any, (uint64_t)(N * 0.94), 8);
      from->api.size_hint = from->n;
      if (besom_build(&config, &(besom_input){.yes = &from->api}, &one) == BESOM_OK) {
        besom_free(one);
        check_same(config, from);
      } else {
        free(from);
      }
    }
  check_same((besom_config){.kind = "qf", .slots = 2 * N, .width = 8, .seed = seed},
             keys_new(mostly_equal, N, 8));
  check_same((besom_config){.kind = "aqf", .slots = 2 * N, .width = 2, .seed = seed},
             keys_new(mostly_equal, N, 8));
}

#if !defined(__SANITIZE_THREAD__)
static void no_thread_starts_unless_it_is_configured(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  static const uint32_t threads[] = {0, 1, 2, 3, 100};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    besom_config config = config_of("qf", threads[i]);
    started = 0;
    besom_free(build(&config, from));
    unsigned expected[] = {0, 0, 2, 4, 4}; /* to hash, and to sort; 3 threads for so many keys */
    assert_int_equal(started, expected[i]);
  }
  from->n = from->api.size_hint = 60000; /* too few to start a thread for */
  besom_config config = config_of("qf", 8);
  config.capacity = from->n;
  started = 0;
  besom_free(build(&config, from));
  assert_int_equal(started, 0);
  free(from);
}

static void threads_that_do_not_start_are_not_missed(void **state) {
  (void)state;
  keys *from = keys_new(any, N, 8);
  besom_config config = config_of("aqf", 1);
  besom_filter *one = build(&config, from);
  config.threads = 3;
  for (most_started = 0; most_started < 5; most_started++) {
    started = 0;
    besom_filter *several = build(&config, from);
    assert_int_equal(started, most_started < 4 ? most_started : 4);
    assert_same_bytes(one, several);
    besom_free(several);
  }
  most_started = 1000;
  besom_free(one);
  free(from);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_build_what_one_thread_builds),
    cmocka_unit_test(the_order_of_keys_does_not_matter),
    cmocka_unit_test(copies_are_kept),
    cmocka_unit_test(keys_may_have_any_length),
    cmocka_unit_test(fingerprints_may_have_any_length),
    cmocka_unit_test(the_number_of_keys_may_be_unknown),
    cmocka_unit_test(a_limit_of_memory_holds_for_all_threads),
    cmocka_unit_test(a_failing_source_ends_all_threads),
    cmocka_unit_test(progress_can_end_all_threads),
    cmocka_unit_test(the_nth_allocation_may_fail),
    cmocka_unit_test(too_many_keys_are_full),
    cmocka_unit_test(concurrent_filters_are_built_by_threads),
    cmocka_unit_test(parts_give_what_one_source_gives),
    cmocka_unit_test(a_failing_part_ends_all),
    cmocka_unit_test(a_part_gives_no_more_than_its_hint),
    cmocka_unit_test(the_nth_allocation_may_fail_with_parts),
    cmocka_unit_test(progress_can_end_the_reading_of_parts),
    cmocka_unit_test(arrays_are_read_by_all_threads),
    cmocka_unit_test(full_tables_are_built_alike),
#if !defined(__SANITIZE_THREAD__)
    cmocka_unit_test(no_thread_starts_unless_it_is_configured),
    cmocka_unit_test(threads_that_do_not_start_are_not_missed),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
