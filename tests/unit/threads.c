/*
 * Thread-safe filters (BESOM_CONCURRENT), changed and queried by several threads at once: no member
 * is answered no, nothing is counted twice or lost, and the result is a filter like any other.
 * CMake builds this file a second time with the thread sanitizer (threads_tsan), which runs the
 * portable code; this program runs the other instruction sets, too.
 */
#define _DEFAULT_SOURCE 1 /* threads */
#include "threads_support.h"

#include <sched.h>

#include "support/u64_forms.h"

static const char *const all_isas[] = {"isa=portable", "isa=avx2", "isa=avx512"};

/* One of 62 digests with this quotient. */
static besom_digest digest_at(uint64_t quotient, unsigned i) {
  return (besom_digest){UINT64_MAX / SLOTS * quotient + UINT64_MAX / SLOTS / 64 * (1 + i % 62), 0};
}

/* ------------------------------------------------------------------ members and queries */

/* Reports false positives. No thread inserts these keys, so a reported key stays answered no. */
static void adapt_keys(struct thread_test *test, unsigned adapter) {
  for (size_t i = 0; atomic_load(&test->working); i++) {
    uint64_t key = key_u64(NEGATIVES, adapter * UINT64_C(100000000) + i);
    if (!besom_contains_u64(test->f, key)) continue;
    besom_status status = besom_adapt_u64(test->f, key);
    expect(status == BESOM_OK || status == BESOM_RESERVE_FULL);
    expect(status != BESOM_OK || !besom_contains_u64(test->f, key));
  }
}

static void write_and_read(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_keys(test, thread);
  else
    read_keys(test, thread);
}

static void write_and_adapt(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_keys(test, thread);
  else if (thread == THREADS / 2)
    read_keys(test, thread);
  else
    adapt_keys(test, thread);
}

static void no_member_is_missed(void **state) {
  (void)state;
  for (size_t isa = 0; isa < sizeof all_isas / sizeof *all_isas; isa++) {
    besom_config config = config_with(all_isas[isa]);
    besom_filter *probe = NULL;
    if (besom_create(&config, &probe) == BESOM_BAD_OPTION) continue; /* not on this machine */
    besom_free(probe);
    for (int round = 0; round < SCALE; round++) {
      struct thread_test test = {.f = make(&config), .work = write_and_read};
      run_threads(&test);
      assert_nothing_wrong(test.f);
      assert_like_plain(test.f, all_isas[isa]);
      besom_free(test.f);
    }
  }
}

static void exceptions_deny_no_other_key(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "isa=portable" : "tombstones=yes");
    struct thread_test test = {.f = make(&config), .work = write_and_adapt};
    run_threads(&test);
    assert_nothing_wrong(test.f);
    assert_int_equal(stats_of(test.f).keys, THREADS / 2 * KEPT);
    for (unsigned thread = 0; thread < THREADS / 2; thread++)
      for (size_t i = 0; i < KEPT; i++)
        assert_true(besom_contains_u64(test.f, kept_key(thread, i)));
    besom_free(test.f);
  }
}

/* ------------------------------------------------------------------ capacity */

/* Inserts until the filter is full, then removes and inserts one key at a time. */
static void fill_up(struct thread_test *test, unsigned thread) {
  size_t n = 0, exchanged = 0;
  while (besom_insert_u64(test->f, kept_key(thread, n)) == BESOM_OK) n++;
  for (; exchanged < 200 && exchanged < n; exchanged++) {
    expect(besom_remove_u64(test->f, kept_key(thread, exchanged)) == BESOM_OK);
    besom_status status = besom_insert_u64(test->f, kept_key(thread, n));
    n += status == BESOM_OK;
    expect(status == BESOM_OK || status == BESOM_FULL); /* another thread took the slot */
  }
  atomic_store(&test->kept[thread], n - exchanged);
}

/* As full as with one thread: the same filter without threads is full, too. */
static void capacity_is_neither_exceeded_nor_wasted(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(NULL);
    config.slots = round % 2 ? 3 * 4096 : 300;
    struct thread_test test = {.f = make(&config), .work = fill_up};
    run_threads(&test);
    assert_nothing_wrong(test.f);
    size_t items = 0;
    for (unsigned i = 0; i < THREADS; i++) items += test.kept[i];
    assert_int_equal(stats_of(test.f).keys, items);
    memory_sink sink;
    memory_sink_init(&sink);
    assert_int_equal(besom_save(test.f, &sink.api), BESOM_OK);
    besom_filter *plain = NULL;
    assert_int_equal(besom_load(sink.data, sink.len, NULL, &plain), BESOM_OK);
    for (size_t i = 0; i < 1000; i++) {
      uint64_t key = key_u64(OTHER_MEMBERS, i);
      assert_int_equal(besom_insert_u64(test.f, key), besom_insert_u64(plain, key));
    }
    assert_int_equal(stats_of(test.f).keys, stats_of(plain).keys);
    memory_sink_close(&sink);
    besom_free(plain);
    besom_free(test.f);
  }
}

/* Regions keep credit for inserts to come. If no other slot is free, other regions get it. */
static void credit_of_one_region_goes_to_others(void **state) {
  (void)state;
#ifdef BESOM_THREAD_SANITIZER
  skip(); /* one thread only, and slow */
#endif
  besom_config config = config_with(NULL);
  besom_match match;
  besom_filter *f = make(&config);
  uint64_t capacity = stats_of(f).capacity, n = 0;
  for (uint64_t region = 1; region < 5; region++)
    assert_int_equal(besom_insert_at(f, digest_at(region * 4096, 0), 0, &match), BESOM_OK);
  while (besom_insert_at(f, digest_at(n * 37 % 4096, (unsigned)n), 0, &match) == BESOM_OK) n++;
  assert_int_equal(n + 4, capacity);
  assert_int_equal(besom_insert_at(f, digest_at(4096, 1), 0, &match), BESOM_FULL);
  assert_int_equal(besom_remove_digest(f, digest_at(4096, 0)), BESOM_OK);
  assert_int_equal(besom_insert_digest(f, digest_at(2 * 4096, 1)), BESOM_OK);
  assert_int_equal(besom_insert_digest(f, digest_at(2 * 4096, 2)), BESOM_FULL);
  assert_nothing_wrong(f);
  besom_free(f);
}

/* ------------------------------------------------------------------ counts */

enum { SHARED_KEYS = 50, TIMES = 60 };

/* All threads insert and remove copies of the same keys. */
static void count_keys(struct thread_test *test, unsigned thread) {
  for (size_t i = 0; i < TIMES * SHARED_KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, (i + thread) % SHARED_KEYS);
    expect(insert_count_u64(test->f, key, 3 + i % 2 * 400) == BESOM_OK);
    expect(besom_insert_u64(test->f, key) == BESOM_OK);
    expect(besom_remove_u64(test->f, key) == BESOM_OK);
    expect(besom_remove_u64(test->f, key) == BESOM_OK);
  }
}

static void counts_are_exact(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(NULL);
    config.slots = 4096 + 10;
    struct thread_test test = {.f = make(&config), .work = count_keys};
    run_threads(&test);
    assert_nothing_wrong(test.f);
    uint64_t sum = 0;
    for (size_t i = 0; i < SHARED_KEYS; i++) {
      uint64_t n;
      assert_int_equal(besom_count_u64(test.f, key_u64(MEMBERS, i), &n), BESOM_OK);
      sum += n;
    }
    uint64_t due = (uint64_t)THREADS * TIMES * SHARED_KEYS * (3 + 200 - 1);
    assert_int_equal(stats_of(test.f).keys, due);
    assert_true(sum >= due); /* keys that share a fingerprint are counted together */
    besom_free(test.f);
  }
}

/* ------------------------------------------------------------------ in front of a store */

/* Equals the digest except for one bit after the remainder. */
static besom_digest offender_of(besom_digest d, unsigned i) {
  return (besom_digest){d.hi ^ UINT64_C(1) << (10 + i % 20), d.lo};
}

/*
 * Each thread extends the fingerprints of its own keys. Removals change the ranks in buckets that
 * threads share.
 */
static void extend_keys(struct thread_test *test, unsigned thread) {
  for (size_t i = 0; i < KEPT; i++) {
    besom_digest d = besom_hash_u64(test->f, kept_key(thread, i)),
                 offender = offender_of(d, (unsigned)i);
    besom_match match;
    expect(besom_insert_at(test->f, d, 0, &match) == BESOM_OK);
    besom_status status = besom_adapt_at(test->f, offender, &match, d);
    expect(status == BESOM_OK || status == BESOM_RESERVE_FULL);
    expect(besom_contains_digest(test->f, d));
    if (i % 3 == 0) expect(besom_remove_digest(test->f, d) == BESOM_OK);
  }
}

static void fingerprints_are_extended_by_all_threads(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "tombstones=yes" : NULL);
    config.reserve = round % 4 < 2 ? 0.5 : 0.02;
    struct thread_test test = {.f = make(&config), .work = extend_keys};
    run_threads(&test);
    assert_nothing_wrong(test.f);
    besom_statistics stats = stats_of(test.f);
    assert_int_equal(stats.keys, THREADS * (KEPT - (KEPT + 2) / 3));
    assert_true(counter_of(test.f, "extended") > 0 && stats.reserve_used <= 1);
    for (unsigned thread = 0; thread < THREADS; thread++)
      for (size_t i = 0; i < KEPT; i++)
        if (i % 3) assert_true(besom_contains_u64(test.f, kept_key(thread, i)));
    besom_free(test.f);
  }
}

/* ------------------------------------------------------------------ long runs */

enum { COPIES = 600 };

/*
 * One thread makes a run that reaches from one region far into the next, and removes it again. The
 * keys of the others come after it.
 */
static void push_and_pull(besom_filter *f) {
  besom_match match;
  besom_digest pusher = digest_at(2 * 4096 - 20, 0);
  for (size_t i = 0; i < COPIES; i++) expect(besom_insert_at(f, pusher, 0, &match) == BESOM_OK);
  for (size_t i = 0; i < COPIES; i++, match.rank--) expect(besom_remove_at(f, &match) == BESOM_OK);
}

static besom_digest neighbour(unsigned i) {
  return digest_at(2 * 4096 - 10 + i % 200, i);
}

static void use_keys_after(struct thread_test *test, unsigned thread) {
  for (unsigned i = 0; thread == 0 && i < 3; i++) push_and_pull(test->f);
  for (unsigned i = 0; thread != 0 && i < 3000; i++) {
    size_t n;
    if (thread == 1) {
      expect(besom_insert_digest(test->f, neighbour(i)) == BESOM_OK);
      expect(besom_contains_digest(test->f, neighbour(i)));
      if (i >= 100) expect(besom_remove_digest(test->f, neighbour(i - 100)) == BESOM_OK);
    }
    expect(besom_matches(test->f, neighbour(i), NULL, 0, &n) == BESOM_OK);
    expect(besom_contains_digest(test->f, digest_at(2 * 4096 + 300, 1)));
  }
}

static void runs_cross_regions(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "isa=portable" : NULL);
    struct thread_test test = {.f = make(&config), .work = use_keys_after};
    assert_int_equal(besom_insert_digest(test.f, digest_at(2 * 4096 + 300, 1)), BESOM_OK);
    run_threads(&test);
    assert_nothing_wrong(test.f);
    assert_int_equal(stats_of(test.f).keys, 101);
    besom_free(test.f);
  }
}

/* ------------------------------------------------------------------ the whole filter */

/* Saves the filter while it changes: every saved file is a valid filter. */
static void save_repeatedly(struct thread_test *test) {
  while (atomic_load(&test->working)) {
    memory_sink sink;
    besom_filter *copy = NULL;
    besom_statistics stats;
    memory_sink_init(&sink);
    expect(besom_save(test->f, &sink.api) == BESOM_OK);
    expect(besom_load(sink.data, sink.len, NULL, &copy) == BESOM_OK);
    expect(besom_stats(test->f, &stats) == BESOM_OK &&
           stats.keys <= THREADS / 2 * (KEPT + PASSING + 1));
    expect(besom_validate(test->f, NULL) == BESOM_OK);
    memory_sink_close(&sink);
    besom_free(copy);
  }
}

static void merge_repeatedly(struct thread_test *test) {
  besom_filter *other = NULL, *both = NULL;
  expect(besom_create_like(test->f, &other) == BESOM_OK && besom_insert_u64(other, 1) == BESOM_OK);
  while (atomic_load(&test->working)) {
    expect(besom_merge(test->f, other, &both) == BESOM_OK && besom_contains_u64(both, 1));
    expect(besom_validate(both, NULL) == BESOM_OK);
    besom_free(both);
  }
  besom_free(other);
}

static void write_and_save(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_keys(test, thread);
  else if (thread == THREADS / 2)
    save_repeatedly(test);
  else
    merge_repeatedly(test);
}

static void a_filter_is_consistent_at_every_moment(void **state) {
  (void)state;
  besom_config config = config_with(NULL);
  struct thread_test test = {.f = make(&config), .work = write_and_save};
  run_threads(&test);
  assert_nothing_wrong(test.f);
  assert_like_plain(test.f, NULL);
  assert_int_equal(besom_resize(test.f, 2 * SLOTS, NULL), BESOM_OK);
  assert_int_equal(besom_insert_u64(test.f, 1), BESOM_OK);
  assert_nothing_wrong(test.f);
  besom_free(test.f);
}

enum { LISTED = 100, PATIENCE = 10000 };

/*
 * A sink during whose first write another thread removes an entry of the no list, if it can: the
 * checksums have been computed then. It does not wait for that thread without end, because a save
 * keeps writers out.
 */
struct removing_sink {
  memory_sink memory;
  besom_filter *f;
  pthread_t thread;
  atomic_bool started, removed;
};

static void *remove_entry(void *ctx) {
  struct removing_sink *s = ctx;
  atomic_store(&s->started, true);
  expect(no_remove_u64(s->f, key_u64(NEGATIVES, 0)) == BESOM_OK);
  atomic_store(&s->removed, true);
  return NULL;
}

static besom_status write_and_remove(void *ctx, const void *data, size_t len) {
  struct removing_sink *s = ctx;
  if (!atomic_load(&s->started)) {
    expect(pthread_create(&s->thread, NULL, remove_entry, s) == 0);
    while (!atomic_load(&s->started)) sched_yield();
    for (int i = 0; i < PATIENCE && !atomic_load(&s->removed); i++) sched_yield();
  }
  return s->memory.api.write(s->memory.api.ctx, data, len);
}

static void a_save_keeps_the_no_list_as_it_is(void **state) {
  (void)state;
  besom_config config = config_with(NULL);
  struct removing_sink s = {.f = make(&config)};
  besom_sink sink = {.write = write_and_remove, .ctx = &s};
  besom_filter *copy = NULL;
  for (size_t i = 0; i < LISTED; i++)
    assert_int_equal(no_add_u64(s.f, key_u64(NEGATIVES, i)), BESOM_OK);
  memory_sink_init(&s.memory);
  assert_int_equal(besom_save(s.f, &sink), BESOM_OK);
  assert_int_equal(pthread_join(s.thread, NULL), 0);
  assert_int_equal(besom_load(s.memory.data, s.memory.len, NULL, &copy), BESOM_OK);
  assert_int_equal(counter_of(copy, "exceptions"), LISTED);
  assert_int_equal(counter_of(s.f, "exceptions"), LISTED - 1);
  assert_nothing_wrong(s.f);
  memory_sink_close(&s.memory);
  besom_free(copy);
  besom_free(s.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_member_is_missed),
      cmocka_unit_test(exceptions_deny_no_other_key),
      cmocka_unit_test(capacity_is_neither_exceeded_nor_wasted),
      cmocka_unit_test(credit_of_one_region_goes_to_others),
      cmocka_unit_test(counts_are_exact),
      cmocka_unit_test(fingerprints_are_extended_by_all_threads),
      cmocka_unit_test(runs_cross_regions),
      cmocka_unit_test(a_filter_is_consistent_at_every_moment),
      cmocka_unit_test(a_save_keeps_the_no_list_as_it_is),
  };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
