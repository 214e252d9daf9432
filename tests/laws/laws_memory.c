/* Any allocation may fail: the result is a status, no leak, and an unchanged filter. */
#include <stdlib.h>

#include "filters.h"
#include "support/failing_allocator.h"

enum { N = 2000 };

/* A call whose allocations fail, and its arguments. */
typedef struct attempt {
  const subject *s;
  failing_allocator memory;
  besom_config config;
  const uint64_t *keys; /* N members */
  besom_filter *f;      /* holds them, of capacity 3 N; NULL if the call creates a filter */
  besom_filter *result;
  memory_sink saved; /* f before the call */
} attempt;

static besom_status try_create(attempt *a) {
  return besom_create(&a->config, &a->result);
}

static besom_status try_create_like(attempt *a) {
  return besom_create_like(a->f, &a->result);
}

static besom_status no_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  (void)ctx, (void)out, (void)cap, (void)n;
  return BESOM_END;
}

static besom_status try_build_sorted(attempt *a) {
  besom_digest_source source = {.next = no_digests, .size_hint = N};
  return besom_build(&a->config, &(besom_input){.digests = &source}, &a->result);
}

/* A failure must not leave a part of the keys inserted: all N, or a status. */
static besom_status try_insert(attempt *a) {
  for (size_t i = 0; i < N; i++) {
    besom_status status = besom_insert_u64(a->f, key_u64(MORE_MEMBERS, i));
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

static besom_status try_merge(attempt *a) {
  return besom_merge(a->f, a->f, &a->result);
}

static besom_status try_grow(attempt *a) {
  return besom_resize(a->f, 4 * stats_of(a->f).slots, NULL);
}

static besom_status try_shrink(attempt *a) {
  uint64_t slots = stats_of(a->f).slots;
  return slots % 2 ? BESOM_OK : besom_resize(a->f, slots / 2, NULL);
}

static besom_status try_iterate(attempt *a) {
  besom_iter iter = {.filter = a->f};
  besom_entry entry;
  besom_status status = BESOM_OK;
  while (status == BESOM_OK) status = besom_iter_next(&iter, &entry);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status try_load(attempt *a) {
  return besom_load(a->saved.data, a->saved.len, &a->memory.api, &a->result);
}

static void assert_as_before(attempt *a) {
  memory_sink now;
  save_to(&now, a->f);
  assert_true(memory_sinks_equal(&now, &a->saved));
  assert_holds_u64(a->f, a->keys, N);
  assert_valid(a->f);
  memory_sink_close(&now);
}

/* Allocation n of the call fails, and optionally all after it. False if the call makes fewer. */
static bool fails_cleanly_at(attempt *a, besom_status (*call)(attempt *a), uint64_t n,
                             bool fail_after) {
  size_t live_before = a->memory.live_blocks;
  a->memory.fail_at = a->memory.calls + n;
  a->memory.fail_after = fail_after;
  besom_status status = call(a);
  bool failed = a->memory.calls >= a->memory.fail_at;
  a->memory.fail_at = 0;
  if (!failed) {
    assert_status(BESOM_OK, status);
    return false;
  }
  assert_status(BESOM_NO_MEMORY, status);
  assert_null(a->result);
  assert_int_equal(a->memory.live_blocks, live_before);
  assert_as_before(a);
  return true;
}

static void attempt_init(attempt *a, const subject *s) {
  *a = (attempt){.s = s, .keys = keys_u64(MEMBERS, N)};
  failing_allocator_init(&a->memory);
  a->config = config_of(s, 3 * N, 1.0 / 64);
  a->config.allocator = &a->memory.api;
  a->f = make_of_u64(s, &a->config, a->keys, N);
  save_to(&a->saved, a->f);
}

static void attempt_close(attempt *a) {
  besom_free(a->f);
  besom_free(a->result);
  assert_no_error(failing_allocator_verdict(&a->memory));
  failing_allocator_close(&a->memory);
  memory_sink_close(&a->saved);
  free((uint64_t *)a->keys);
}

static void assert_fails_cleanly(const subject *s, besom_status (*call)(attempt *a)) {
  for (int fail_after = 0; fail_after < 2; fail_after++) {
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
      attempt a;
      attempt_init(&a, s);
      failed = fails_cleanly_at(&a, call, n, fail_after);
      attempt_close(&a);
    }
  }
}

static void the_nth_allocation_may_fail(void **state) {
  const subject *s = subject_of(state);
  assert_fails_cleanly(s, try_load);
  if (can(s, BESOM_CAN_INSERT)) {
    assert_fails_cleanly(s, try_create);
    assert_fails_cleanly(s, try_create_like);
    assert_fails_cleanly(s, try_insert);
  }
  if (can(s, BESOM_CAN_BUILD_SORTED)) assert_fails_cleanly(s, try_build_sorted);
  if (can(s, BESOM_CAN_MERGE)) assert_fails_cleanly(s, try_merge);
  if (can(s, BESOM_CAN_RESIZE)) assert_fails_cleanly(s, try_grow);
  if (can(s, BESOM_CAN_RESIZE)) assert_fails_cleanly(s, try_shrink);
  if (can(s, BESOM_CAN_ITERATE)) assert_fails_cleanly(s, try_iterate);
}

/*
 * A build is slower, but succeeds, if the memory that only makes it faster is not available.
 * Without the memory of the filter itself it fails. With a wrong size hint it also allocates in
 * between.
 */
static void a_build_works_with_little_memory_or_fails(void **state) {
  const subject *s = subject_of(state);
  enum { MANY = 9000, HINTS = 4 };
  static const uint64_t hints[HINTS] = {MANY, 0, MANY / 3, 2 * MANY};
  uint64_t *keys = keys_u64(MEMBERS, MANY);
  besom_config config = config_of(s, MANY, 1.0 / 64);
  besom_filter *inserted = make_of_u64(s, &config, keys, MANY);
  for (size_t h = 0; h < 2 * HINTS; h++) {
    bool none_failed = false;
    for (uint64_t n = 1; !none_failed; n++) {
      failing_allocator memory;
      failing_allocator_init(&memory);
      memory.fail_at = n;
      memory.fail_after = h / HINTS;
      config.allocator = &memory.api;
      array_source source;
      source_of_u64(&source, keys, MANY);
      source.api.size_hint = hints[h % HINTS];
      besom_filter *f = NULL;
      besom_status status = besom_build(&config, &(besom_input){.yes = &source.api}, &f);
      none_failed = memory.calls < n;
      memory.fail_at = 0;
      assert_true(status == BESOM_OK ? f != NULL : f == NULL);
      if (status != BESOM_OK) assert_status(BESOM_NO_MEMORY, status);
      if (f) {
        assert_valid(f);
        assert_holds_u64(f, keys, MANY);
        assert_same_answers(s, f, inserted, 5000);
        assert_int_equal(memory.live_bytes, stats_of(f).bytes);
      }
      if (n <= 2) assert_status(BESOM_NO_MEMORY, status); /* the struct and the table */
      besom_free(f);
      assert_no_error(failing_allocator_verdict(&memory));
      failing_allocator_close(&memory);
    }
  }
  besom_free(inserted);
  free(keys);
}

/*
 * If the digests do not fit into the memory limit, they are sorted in parts; the set is the same.
 */
static void a_build_keeps_its_memory_limit(void **state) {
  const subject *s = subject_of(state);
  enum { MANY = 20000 };
  uint64_t *keys = keys_u64(MEMBERS, MANY);
  besom_config config = config_of(s, MANY, 1.0 / 64);
  besom_filter *whole = make_of_u64(s, &config, keys, MANY);
  for (uint64_t memory = 1; memory < 1000000; memory = 7 * memory + 9)
    for (int hint = 0; hint < 2; hint++) {
      failing_allocator counted;
      failing_allocator_init(&counted);
      config.allocator = &counted.api;
      config.build_memory = memory;
      array_source source;
      source_of_u64(&source, keys, MANY);
      source.api.size_hint = hint ? MANY : 0;
      besom_filter *f = NULL;
      assert_status(BESOM_OK, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
      assert_true(counted.peak_bytes <= stats_of(f).bytes + memory);
      assert_valid(f);
      assert_holds_u64(f, keys, MANY);
      assert_int_equal(stats_of(f).keys, stats_of(whole).keys);
      assert_same_answers(s, f, whole, 5000);
      besom_free(f);
      assert_no_error(failing_allocator_verdict(&counted));
      failing_allocator_close(&counted);
    }
  besom_free(whole);
  free(keys);
}

/* besom_stats reports all memory. There are few blocks: struct, table, inner filter, cache. */
static void the_statistics_report_all_memory(void **state) {
  const subject *s = subject_of(state);
  for (size_t capacity = 1; capacity < 2000000; capacity *= 11) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    besom_config config = config_of(s, capacity, 0);
    config.allocator = &memory.api;
    uint64_t key = 1;
    besom_filter *f =
        can(s, BESOM_CAN_INSERT) ? make_empty(&config) : make_of_u64(s, &config, &key, 1);
    assert_int_equal(memory.live_bytes, stats_of(f).bytes);
    assert_true(memory.live_blocks <= 6);
    besom_free(f);
    assert_no_error(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* create_like, merge, grow and iterators use the allocator of the filter. */
static void all_memory_comes_from_the_allocator(void **state) {
  const subject *s = subject_of(state);
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_allocator passing = memory.api; /* the library copies the struct */
  besom_config config = config_of(s, 1000, 0);
  config.allocator = &passing;
  besom_filter *f = make_empty(&config), *like = NULL, *merged = NULL;
  passing = (besom_allocator){0};
  uint64_t calls = memory.calls;
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_true(memory.calls > calls);
  calls = memory.calls;
  if (can(s, BESOM_CAN_MERGE)) {
    assert_status(BESOM_OK, besom_merge(f, like, &merged));
    assert_true(memory.calls > calls);
  }
  besom_free(f);
  besom_free(merged);
  besom_free(like);
  assert_no_error(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* For a filter that is too large the allocator fails; there is no crash or overflow. */
static void too_large_a_filter_is_no_memory(void **state) {
  const subject *s = subject_of(state);
  failing_allocator memory;
  failing_allocator_init(&memory);
  memory.fail_at = 2; /* the first is the struct, which is small */
  memory.fail_after = true;
  besom_config config = config_of(s, UINT64_C(1) << 44, 0x1p-20);
  config.allocator = &memory.api;
  besom_filter *f = NULL;
  assert_status(BESOM_NO_MEMORY, besom_create(&config, &f));
  assert_null(f);
  assert_no_error(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

const law memory_laws[] = {
    LAW(the_nth_allocation_may_fail, EVERY_KIND, 0),
    LAW(a_build_works_with_little_memory_or_fails, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(a_build_keeps_its_memory_limit, EVERY_KIND, BESOM_CAN_BUILD_SORTED),
    LAW(the_statistics_report_all_memory, EVERY_KIND, 0),
    LAW(all_memory_comes_from_the_allocator, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(too_large_a_filter_is_no_memory, EVERY_KIND, BESOM_CAN_INSERT),
    {0},
};
