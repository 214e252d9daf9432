/*
 * Filters made with BESOM_CONCURRENT, changed and asked by several threads at once: no member is missed, nothing is
 * counted twice or lost, and what is left is a filter like any other. Made a second time with the thread sanitizer
 * (threads_tsan), which looks at the portable code; here the others are tried, too.
 */
#define _DEFAULT_SOURCE 1 /* threads */
#include "threads_stage.h"

static const char *const all_isas[] = {"isa=portable", "isa=avx2", "isa=avx512"};

/* One of 62 digests with this quotient. */
static besom_digest digest_at(uint64_t quotient, unsigned i) {
  return (besom_digest){UINT64_MAX / SLOTS * quotient + UINT64_MAX / SLOTS / 64 * (1 + i % 62), 0};
}

/* ------------------------------------------------------------------ members and queries */

/* Reports false positives; nobody inserts those keys, so what is reported once is answered no for ever. */
static void adapt_keys(struct stage *stage, unsigned adapter) {
  for (size_t i = 0; atomic_load(&stage->working); i++) {
    uint64_t key = key_u64(NEGATIVES, adapter * UINT64_C(100000000) + i);
    if (!besom_contains_u64(stage->f, key)) continue;
    besom_status status = besom_adapt_u64(stage->f, key);
    expect(status == BESOM_OK || status == BESOM_FULL);
    expect(status != BESOM_OK || !besom_contains_u64(stage->f, key));
  }
}

static void write_and_read(struct stage *stage, unsigned actor) {
  if (actor < THREADS / 2)
    write_keys(stage, actor);
  else
    read_keys(stage, actor);
}

static void write_and_adapt(struct stage *stage, unsigned actor) {
  if (actor < THREADS / 2)
    write_keys(stage, actor);
  else if (actor == THREADS / 2)
    read_keys(stage, actor);
  else
    adapt_keys(stage, actor);
}

static void no_member_is_missed(void **state) {
  (void)state;
  for (size_t isa = 0; isa < sizeof all_isas / sizeof *all_isas; isa++) {
    besom_config config = config_with(all_isas[isa]);
    besom_filter *probe = NULL;
    if (besom_create(&config, &probe) == BESOM_BAD_OPTION) continue; /* not on this machine */
    besom_free(probe);
    for (int round = 0; round < SCALE; round++) {
      struct stage stage = {.f = make(&config), .act = write_and_read};
      perform(&stage);
      assert_nothing_wrong(stage.f);
      assert_like_plain(stage.f, all_isas[isa]);
      besom_free(stage.f);
    }
  }
}

static void marks_deny_nobody_else(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "isa=portable" : "tombstones=yes");
    struct stage stage = {.f = make(&config), .act = write_and_adapt};
    perform(&stage);
    assert_nothing_wrong(stage.f);
    assert_int_equal(stats_of(stage.f).items, THREADS / 2 * KEPT);
    for (unsigned actor = 0; actor < THREADS / 2; actor++)
      for (size_t i = 0; i < KEPT; i++)
        assert_true(besom_contains_u64(stage.f, kept_key(actor, i)));
    besom_free(stage.f);
  }
}

/* ------------------------------------------------------------------ capacity */

/* Inserts until it is full, and then puts one in for every one that it takes out. */
static void fill_up(struct stage *stage, unsigned actor) {
  size_t n = 0, exchanged = 0;
  while (besom_insert_u64(stage->f, kept_key(actor, n)) == BESOM_OK) n++;
  for (; exchanged < 200 && exchanged < n; exchanged++) {
    expect(besom_remove_u64(stage->f, kept_key(actor, exchanged)) == BESOM_OK);
    besom_status status = besom_insert_u64(stage->f, kept_key(actor, n));
    n += status == BESOM_OK;
    expect(status == BESOM_OK || status == BESOM_FULL); /* somebody else was faster */
  }
  atomic_store(&stage->kept[actor], n - exchanged);
}

/* As full as one thread would have made it: the same filter without threads has no room either. */
static void capacity_is_neither_exceeded_nor_wasted(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(NULL);
    config.slots = round % 2 ? 3 * 4096 : 300;
    struct stage stage = {.f = make(&config), .act = fill_up};
    perform(&stage);
    assert_nothing_wrong(stage.f);
    size_t items = 0;
    for (unsigned i = 0; i < THREADS; i++) items += stage.kept[i];
    assert_int_equal(stats_of(stage.f).items, items);
    memory_sink sink;
    memory_sink_init(&sink);
    assert_int_equal(besom_save(stage.f, &sink.api), BESOM_OK);
    besom_filter *plain = NULL;
    assert_int_equal(besom_load(sink.data, sink.len, NULL, &plain), BESOM_OK);
    for (size_t i = 0; i < 1000; i++) {
      uint64_t key = key_u64(OTHER_MEMBERS, i);
      assert_int_equal(besom_insert_u64(stage.f, key), besom_insert_u64(plain, key));
    }
    assert_int_equal(stats_of(stage.f).items, stats_of(plain).items);
    memory_sink_close(&sink);
    besom_free(plain);
    besom_free(stage.f);
  }
}

/* Regions keep some room for inserts to come; when there is no other, it goes to who needs it. */
static void room_of_one_region_is_found_by_others(void **state) {
  (void)state;
#ifdef BESOM_THREAD_SANITIZER
  skip(); /* one thread, and slow */
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

/* All threads count the same keys, up and down. */
static void count_keys(struct stage *stage, unsigned actor) {
  for (size_t i = 0; i < TIMES * SHARED_KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, (i + actor) % SHARED_KEYS);
    expect(besom_insert_count_u64(stage->f, key, 3 + i % 2 * 400) == BESOM_OK);
    expect(besom_insert_u64(stage->f, key) == BESOM_OK);
    expect(besom_remove_u64(stage->f, key) == BESOM_OK);
    expect(besom_remove_u64(stage->f, key) == BESOM_OK);
  }
}

static void counts_are_exact(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(NULL);
    config.slots = 4096 + 10;
    struct stage stage = {.f = make(&config), .act = count_keys};
    perform(&stage);
    assert_nothing_wrong(stage.f);
    uint64_t sum = 0;
    for (size_t i = 0; i < SHARED_KEYS; i++) {
      uint64_t n;
      assert_int_equal(besom_count_u64(stage.f, key_u64(MEMBERS, i), &n), BESOM_OK);
      sum += n;
    }
    uint64_t due = (uint64_t)THREADS * TIMES * SHARED_KEYS * (3 + 200 - 1);
    assert_int_equal(stats_of(stage.f).items, due);
    assert_true(sum >= due); /* keys with one fingerprint are counted together */
    besom_free(stage.f);
  }
}

/* ------------------------------------------------------------------ in front of a store */

/* Like the digest but for the bits from some place behind the remainder on. */
static besom_digest offender_of(besom_digest d, unsigned i) {
  return (besom_digest){d.hi ^ UINT64_C(1) << (10 + i % 20), d.lo};
}

/* Each has keys of its own, and lengthens their fingerprints; ranks in a bucket that is shared change by removals. */
static void extend_keys(struct stage *stage, unsigned actor) {
  for (size_t i = 0; i < KEPT; i++) {
    besom_digest d = besom_hash_u64(stage->f, kept_key(actor, i)),
                 offender = offender_of(d, (unsigned)i);
    besom_match match;
    expect(besom_insert_at(stage->f, d, 0, &match) == BESOM_OK);
    besom_status status = besom_adapt_at(stage->f, offender, match, d);
    expect(status == BESOM_OK || status == BESOM_FULL);
    expect(besom_contains_digest(stage->f, d));
    if (i % 3 == 0) expect(besom_remove_digest(stage->f, d) == BESOM_OK);
  }
}

static void fingerprints_grow_in_all_threads(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "tombstones=yes" : NULL);
    config.reserve = round % 4 < 2 ? 0.5 : 0.02;
    struct stage stage = {.f = make(&config), .act = extend_keys};
    perform(&stage);
    assert_nothing_wrong(stage.f);
    besom_statistics stats = stats_of(stage.f);
    assert_int_equal(stats.items, THREADS * (KEPT - (KEPT + 2) / 3));
    assert_true(stats.extended > 0 && stats.reserve_used <= 1);
    for (unsigned actor = 0; actor < THREADS; actor++)
      for (size_t i = 0; i < KEPT; i++)
        if (i % 3) assert_true(besom_contains_u64(stage.f, kept_key(actor, i)));
    besom_free(stage.f);
  }
}

/* ------------------------------------------------------------------ long runs */

enum { COPIES = 600 };

/* One makes a run that reaches from one region far into the next, and takes it away again; the others live behind it.
 */
static void push_and_pull(besom_filter *f) {
  besom_match match;
  besom_digest pusher = digest_at(2 * 4096 - 20, 0);
  for (size_t i = 0; i < COPIES; i++) expect(besom_insert_at(f, pusher, 0, &match) == BESOM_OK);
  for (size_t i = 0; i < COPIES; i++, match.rank--) expect(besom_remove_at(f, match) == BESOM_OK);
}

static besom_digest neighbour(unsigned i) {
  return digest_at(2 * 4096 - 10 + i % 200, i);
}

static void live_behind(struct stage *stage, unsigned actor) {
  for (unsigned i = 0; actor == 0 && i < 3; i++) push_and_pull(stage->f);
  for (unsigned i = 0; actor != 0 && i < 3000; i++) {
    uint64_t n;
    if (actor == 1) {
      expect(besom_insert_digest(stage->f, neighbour(i)) == BESOM_OK);
      expect(besom_contains_digest(stage->f, neighbour(i)));
      if (i >= 100) expect(besom_remove_digest(stage->f, neighbour(i - 100)) == BESOM_OK);
    }
    expect(besom_count_digest(stage->f, neighbour(i), &n) == BESOM_OK);
    expect(besom_contains_digest(stage->f, digest_at(2 * 4096 + 300, 1)));
  }
}

static void runs_cross_regions(void **state) {
  (void)state;
  for (int round = 0; round < SCALE; round++) {
    besom_config config = config_with(round % 2 ? "isa=portable" : NULL);
    struct stage stage = {.f = make(&config), .act = live_behind};
    assert_int_equal(besom_insert_digest(stage.f, digest_at(2 * 4096 + 300, 1)), BESOM_OK);
    perform(&stage);
    assert_nothing_wrong(stage.f);
    assert_int_equal(stats_of(stage.f).items, 101);
    besom_free(stage.f);
  }
}

/* ------------------------------------------------------------------ the whole filter */

/* Looks at all of it while it changes: what is saved is a filter, every time. */
static void save_again_and_again(struct stage *stage) {
  while (atomic_load(&stage->working)) {
    memory_sink sink;
    besom_filter *copy = NULL;
    besom_statistics stats;
    memory_sink_init(&sink);
    expect(besom_save(stage->f, &sink.api) == BESOM_OK);
    expect(besom_load(sink.data, sink.len, NULL, &copy) == BESOM_OK);
    expect(besom_stats(stage->f, &stats) == BESOM_OK &&
           stats.items <= THREADS / 2 * (KEPT + PASSING + 1));
    expect(besom_validate(stage->f, NULL) == BESOM_OK);
    memory_sink_close(&sink);
    besom_free(copy);
  }
}

static void merge_again_and_again(struct stage *stage) {
  besom_filter *other = NULL, *both = NULL;
  expect(besom_create_like(stage->f, &other) == BESOM_OK && besom_insert_u64(other, 1) == BESOM_OK);
  while (atomic_load(&stage->working)) {
    expect(besom_merge(stage->f, other, &both) == BESOM_OK && besom_contains_u64(both, 1));
    expect(besom_validate(both, NULL) == BESOM_OK);
    besom_free(both);
  }
  besom_free(other);
}

static void write_and_save(struct stage *stage, unsigned actor) {
  if (actor < THREADS / 2)
    write_keys(stage, actor);
  else if (actor == THREADS / 2)
    save_again_and_again(stage);
  else
    merge_again_and_again(stage);
}

static void a_filter_is_whole_at_every_moment(void **state) {
  (void)state;
  besom_config config = config_with(NULL);
  struct stage stage = {.f = make(&config), .act = write_and_save};
  perform(&stage);
  assert_nothing_wrong(stage.f);
  assert_like_plain(stage.f, NULL);
  assert_int_equal(besom_grow(stage.f, 2 * SLOTS), BESOM_OK);
  assert_int_equal(besom_insert_u64(stage.f, 1), BESOM_OK);
  assert_nothing_wrong(stage.f);
  besom_free(stage.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_member_is_missed),
      cmocka_unit_test(marks_deny_nobody_else),
      cmocka_unit_test(capacity_is_neither_exceeded_nor_wasted),
      cmocka_unit_test(room_of_one_region_is_found_by_others),
      cmocka_unit_test(counts_are_exact),
      cmocka_unit_test(fingerprints_grow_in_all_threads),
      cmocka_unit_test(runs_cross_regions),
      cmocka_unit_test(a_filter_is_whole_at_every_moment),
  };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
