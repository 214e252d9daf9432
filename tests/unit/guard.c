/* Guards: exact answers, adaptation, and the number of accesses to the store. */
#include "guard_subject.h"
#include "support/failing_allocator.h"

/* Finds the bucket with most keys of the universe. Writes these keys, returns their number. */
static size_t keys_of_fullest_bucket(const subject *s, size_t *out) {
  size_t best = 0, most = 0, n = 0;
  for (size_t k = 0; k < UNIVERSE; k++) {
    size_t alike = 0;
    for (size_t j = 0; j < UNIVERSE; j++) alike += s->buckets[j] == s->buckets[k];
    if (alike > most) most = alike, best = k;
  }
  for (size_t k = 0; k < UNIVERSE; k++)
    if (s->buckets[k] == s->buckets[best]) out[n++] = k;
  return n;
}

/* ------------------------------------------------------------------ laws: answers */

/* The number of members grows to the limit, shrinks, and grows again. */
static void random_operations(subject *s) {
  random_stream random = {s->setup.filter.width};
  for (unsigned i = 0; i < 12000; i++) {
    size_t k = random_below(&random, UNIVERSE);
    uint64_t choice = random_below(&random, 100),
             limit = i / 2000 % 2 ? MAX_MEMBERS / 4 : MAX_MEMBERS;
    if (choice < 50) {
      assert_answer(s, k);
    } else if (choice < 75) {
      if (s->members < limit || s->values[k])
        assert_int_equal(put(s, k, 1 + random_next(&random) % 1000000), BESOM_OK);
    } else if (choice < 85 || s->members > limit) {
      assert_delete(s, k);
    }
    if (i % 500 == 0) assert_consistent(s);
  }
  assert_consistent(s);
  besom_guard_statistics stats = guard_stats(s);
  assert_int_equal(stats.queries,
                   stats.filter_negatives + stats.true_positives + stats.false_positives);
  assert_int_equal(stats.store_reads, stats.true_positives + stats.false_positives);
  assert_true(stats.true_positives && stats.false_positives && stats.filter_negatives);
  assert_int_equal(stats.puts - stats.deletes, s->members);
  besom_store_statistics stored = store_stats(s);
  assert_int_equal(stored.appends, stats.puts);
  assert_int_equal(stored.updates, stats.replaced);
  assert_int_equal(stored.removes, stats.deletes);
  assert_int_equal(stored.reads,
                   stats.store_reads + stats.put_reads + stats.delete_reads + stats.filter_reads);
}

static void random_operations_agree_with_a_map(void **state) {
  (void)state;
  for_each_subject(random_operations, BESOM_ADAPT_ALWAYS);
  for_each_subject(random_operations, BESOM_ADAPT_SECOND);
  for_each_subject(random_operations, BESOM_ADAPT_NEVER);
}

/* Inserts all keys of one bucket but one, so that each is after all earlier ones. */
static void member_after_others(subject *s) {
  size_t alike[UNIVERSE], n = keys_of_fullest_bucket(s, alike);
  assert_true(n > 2);
  for (size_t i = 0; i + 1 < n; i++) {
    assert_int_equal(put(s, alike[i], 100 + i), BESOM_OK);
    assert_int_equal(guard_stats(s).puts, i + 1);
    for (size_t j = 0; j <= i; j++) assert_answer(s, alike[j]);
  }
  assert_answer(s, alike[n - 1]); /* a false positive of all of them at once */
  if (!guard_stats(s).adapt_full) assert_false(filter_contains(s, alike[n - 1]));
  for (size_t i = 0; i + 1 < n; i += 2) {
    assert_int_equal(delete_key(s, alike[i]), BESOM_OK);
    for (size_t j = 0; j < n; j++) assert_answer(s, alike[j]);
  }
  assert_consistent(s);
}

static void a_member_after_a_colliding_key_is_found(void **state) {
  (void)state;
  for_each_subject(member_after_others, BESOM_ADAPT_ALWAYS);
}

/* 12 copies of one key: more matches than the guard holds without an allocation. */
static void duplicate_keys(subject *s) {
  const besom_bytes key = s->keys.keys[5];
  for (uint64_t i = 1; i <= 12; i++)
    assert_int_equal(besom_guard_put(s->guard, key.data, key.len, &i, sizeof i, BESOM_PUT_NEW),
                     BESOM_OK);
  assert_int_equal(store_stats(s).appends, 12);
  assert_int_equal(query_reads(s).reads, 0);
  for (uint64_t i = 1; i <= 12; i++) {
    besom_bytes value;
    assert_int_equal(get(s, 5, &value), BESOM_OK);
    assert_memory_equal(value.data, &i, sizeof i); /* the oldest */
    besom_guard_release(s->guard, &value);
    assert_int_equal(besom_guard_delete(s->guard, key.data, key.len), BESOM_OK);
  }
  assert_int_equal(besom_guard_delete(s->guard, key.data, key.len), BESOM_NOT_FOUND);
  assert_consistent(s);
}

static void of_duplicate_keys_the_oldest_is_returned(void **state) {
  (void)state;
  for_each_subject(duplicate_keys, BESOM_ADAPT_ALWAYS);
}

static void values_outlive_changes(subject *s) {
  put_some(s, 30);
  besom_bytes value[UNIVERSE];
  uint64_t number[UNIVERSE];
  memcpy(number, s->values, sizeof number);
  for (size_t k = 0; k < UNIVERSE; k++) get(s, k, &value[k]);
  for (size_t k = 0; k < UNIVERSE; k += 2)
    if (s->values[k]) assert_int_equal(delete_key(s, k), BESOM_OK);
  for (size_t k = 1; k < UNIVERSE; k += 2)
    if (s->values[k]) assert_int_equal(put(s, k, 4711), BESOM_OK);
  for (size_t k = 0; k < UNIVERSE; k++) {
    if (number[k]) assert_value(value[k], number[k]);
    besom_guard_release(s->guard, &value[k]);
  }
}

static void a_value_is_valid_until_released(void **state) {
  (void)state;
  for_each_subject(values_outlive_changes, BESOM_ADAPT_ALWAYS);
}

static void extreme_sizes(subject *s) {
  uint8_t *bytes = heap_array(BESOM_GUARD_MAX_KEY + 1, 1);
  besom_bytes value;
  assert_int_equal(besom_guard_put(s->guard, NULL, 0, NULL, 0, 0), BESOM_OK);
  assert_int_equal(
      besom_guard_put(s->guard, bytes, BESOM_GUARD_MAX_KEY, bytes, BESOM_GUARD_MAX_KEY + 1, 0),
      BESOM_OK);
  assert_int_equal(besom_guard_get(s->guard, NULL, 0, &value), BESOM_OK);
  assert_non_null(value.data);
  assert_int_equal(value.len, 0);
  besom_guard_release(s->guard, &value);
  assert_int_equal(besom_guard_get(s->guard, bytes, BESOM_GUARD_MAX_KEY, &value), BESOM_OK);
  assert_int_equal(value.len, BESOM_GUARD_MAX_KEY + 1);
  assert_memory_equal(value.data, bytes, BESOM_GUARD_MAX_KEY + 1);
  besom_guard_release(s->guard, &value);
  assert_int_equal(besom_guard_put(s->guard, bytes, BESOM_GUARD_MAX_KEY + 1, NULL, 0, 0),
                   BESOM_INVALID);
  assert_int_equal(
      besom_guard_put(s->guard, bytes, BESOM_GUARD_MAX_KEY + 1, NULL, 0, BESOM_PUT_NEW),
      BESOM_INVALID);
  assert_int_equal(besom_guard_get(s->guard, bytes, BESOM_GUARD_MAX_KEY + 1, &value),
                   BESOM_INVALID);
  assert_null(value.data);
  assert_int_equal(besom_guard_delete(s->guard, bytes, BESOM_GUARD_MAX_KEY + 1), BESOM_INVALID);
  assert_int_equal(store_stats(s).records, 2);
  free(bytes);
}

static void keys_have_0_to_64_kib(void **state) {
  (void)state;
  for_each_subject(extreme_sizes, BESOM_ADAPT_ALWAYS);
}

static void assert_guard_refuses(uint32_t flags) {
  besom_config filter = {.kind = "aqf", .capacity = 100, .flags = flags};
  besom_guard_config config = {.filter = &filter, .threads = true};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_INVALID);
  assert_null(g);
  besom_store_close(store);
}

/* Its counters are behind a snapshot handle, where the guard would read zeros and never grow. */
static void a_concurrent_filter_is_refused(void **state) {
  (void)state;
  assert_guard_refuses(BESOM_CONCURRENT);
}

/* It would extend a fingerprint that stands for two keys, and deny one. */
static void a_set_is_refused(void **state) {
  (void)state;
  assert_guard_refuses(BESOM_SET);
}

/* ------------------------------------------------------------------ laws: adaptation */

/* Queries an absent key. Returns whether it was no false positive, or is fixed now. */
static bool query_and_fix(subject *s, size_t k) {
  uint64_t full = guard_stats(s).adapt_full;
  assert_answer(s, k);
  bool refused = guard_stats(s).adapt_full != full || guard_stats(s).exceptions;
  assert_true(refused || !filter_contains(s, k));
  return !refused || !filter_contains(s, k);
}

static void clear_fixed(const subject *s, bool *fixed, uint64_t bucket) {
  for (size_t j = 0; j < UNIVERSE; j++)
    if (s->buckets[j] == bucket) fixed[j] = false;
}

/*
 * A fixed key may be answered yes again only after a new key was inserted into its bucket. For
 * kinds with selectors also after another false positive of the bucket was fixed, and for kinds
 * with a budget per block after the block was rebuilt.
 */
static void fixed_stays_fixed(subject *s) {
  bool fixed[UNIVERSE] = {false};
  random_stream random = {17};
  uint64_t rebuilds = 0;
  put_some(s, 20);
  for (unsigned i = 0; i < 6000; i++) {
    size_t k = random_below(&random, UNIVERSE);
    uint64_t choice = random_below(&random, 100);
    bool was_member = s->values[k];
    if (choice < 60) {
      if (was_member)
        assert_answer(s, k);
      else if (!filter_contains(s, k))
        assert_answer(s, k);
      else {
        if (filter_counter(s, "selector_0")) clear_fixed(s, fixed, s->buckets[k]);
        fixed[k] = query_and_fix(s, k);
      }
    } else if (choice < 80 && (was_member || s->members < 30)) {
      assert_int_equal(put(s, k, i + 1), BESOM_OK);
      if (!was_member) clear_fixed(s, fixed, s->buckets[k]);
    } else if (was_member) {
      assert_int_equal(delete_key(s, k), BESOM_OK);
    }
    if (filter_counter(s, "rebuilds") != rebuilds) memset(fixed, 0, sizeof fixed);
    rebuilds = filter_counter(s, "rebuilds");
    for (size_t j = 0; j < UNIVERSE; j++)
      if (fixed[j]) assert_false(filter_contains(s, j));
  }
  assert_true(guard_stats(s).adapted > 0);
  assert_consistent(s);
}

static void a_fixed_false_positive_stays_fixed(void **state) {
  (void)state;
  for_each_subject(fixed_stays_fixed, BESOM_ADAPT_ALWAYS);
}

/* An absent key that the filter answers yes for. */
static size_t find_false_positive(const subject *s) {
  for (size_t k = 0; k < UNIVERSE; k++)
    if (!s->values[k] && filter_contains(s, k)) return k;
  fail_msg("no false positive among all keys");
  return 0;
}

static void adapt_at_once(subject *s) {
  put_some(s, MAX_MEMBERS);
  size_t k = find_false_positive(s);
  assert_answer(s, k);
  assert_false(filter_contains(s, k));
  assert_int_equal(guard_stats(s).false_positives, 1);
  assert_true(guard_stats(s).adapted >= 1);
  for (unsigned i = 0; i < 10; i++) assert_answer(s, k);
  assert_int_equal(guard_stats(s).false_positives, 1);
  assert_int_equal(guard_stats(s).repeated_false_positives, 0);
  assert_int_equal(query_reads(s).reads, guard_stats(s).put_reads + 1);
}

static void adapt_on_repeat(subject *s) {
  put_some(s, MAX_MEMBERS);
  size_t k = find_false_positive(s);
  assert_answer(s, k);
  assert_int_equal(guard_stats(s).adapted, 0);
  assert_true(filter_contains(s, k));
  assert_answer(s, k);
  assert_false(filter_contains(s, k));
  assert_true(guard_stats(s).adapted >= 1);
  assert_answer(s, k);
  assert_int_equal(guard_stats(s).false_positives, 2);
  assert_int_equal(guard_stats(s).repeated_false_positives, 1);
}

static void adapt_never(subject *s) {
  put_some(s, MAX_MEMBERS);
  size_t k = find_false_positive(s);
  for (unsigned i = 0; i < 5; i++) assert_answer(s, k);
  assert_true(filter_contains(s, k));
  assert_int_equal(guard_stats(s).adapted, 0);
  assert_int_equal(guard_stats(s).false_positives, 5);
  assert_int_equal(guard_stats(s).repeated_false_positives, 4);
}

static void the_policy_says_when_to_adapt(void **state) {
  (void)state;
  for_each_subject(adapt_at_once, BESOM_ADAPT_ALWAYS);
  for_each_subject(adapt_on_repeat, BESOM_ADAPT_SECOND);
  for_each_subject(adapt_never, BESOM_ADAPT_NEVER);
}

/*
 * More false positives than the reserve can hold: some are not fixed, or others are lost when a
 * block is rebuilt, and nothing else happens. Kinds with a byte per slot have room for all.
 */
static void reserve_used_up(subject *s) {
  put_some(s, MAX_MEMBERS);
  for (uint64_t i = 0; i < 5000; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    assert_int_equal(besom_guard_get(s->guard, &key, sizeof key, NULL), BESOM_NOT_FOUND);
  }
  assert_true(guard_stats(s).adapted > 0);
  assert_true(guard_stats(s).adapt_full > 0 || filter_counter(s, "rebuilds") > 0 ||
              filter_counter(s, "selector_7") > 0);
  assert_consistent(s);
}

static void a_full_reserve_is_counted_and_no_error(void **state) {
  (void)state;
  for_each_subject(reserve_used_up, BESOM_ADAPT_ALWAYS);
}

/* ------------------------------------------------------------------ laws: accesses */

/* Accesses to the store since before. */
static besom_store_statistics accesses(const subject *s, besom_store_statistics before) {
  besom_store_statistics now = query_reads(s);
  return (besom_store_statistics){
      .appends = now.appends - before.appends,
      .reads = now.reads - before.reads,
      .updates = now.updates - before.updates,
      .removes = now.removes - before.removes,
      .scans = now.scans - before.scans,
  };
}

static void assert_accesses(const subject *s, besom_store_statistics before,
                            besom_store_statistics expected) {
  besom_store_statistics now = accesses(s, before);
  assert_int_equal(now.appends, expected.appends);
  assert_int_equal(now.reads, expected.reads);
  assert_int_equal(now.updates, expected.updates);
  assert_int_equal(now.removes, expected.removes);
  assert_int_equal(now.scans, expected.scans);
}

/* Table 1 of the paper: one write per put. One read if the filter says yes, else none. */
static void accesses_per_call(subject *s) {
  for (size_t k = 0; k < UNIVERSE; k++) {
    bool yes = filter_contains(s, k);
    besom_store_statistics before = query_reads(s);
    assert_answer(s, k);
    assert_accesses(s, before, (besom_store_statistics){.reads = yes});
    if (s->members == MAX_MEMBERS) continue;

    yes = filter_contains(s, k);
    before = query_reads(s);
    assert_int_equal(put(s, k, k + 1), BESOM_OK);
    assert_accesses(s, before, (besom_store_statistics){.appends = 1, .reads = yes});
    before = query_reads(s);
    assert_int_equal(put(s, k, k + 2), BESOM_OK);
    assert_accesses(s, before, (besom_store_statistics){.reads = 1, .updates = 1});
    before = query_reads(s);
    assert_answer(s, k);
    assert_accesses(s, before, (besom_store_statistics){.reads = 1});
  }
  for (size_t k = 0; k < UNIVERSE; k++) {
    bool yes = filter_contains(s, k), member = s->values[k];
    besom_store_statistics before = query_reads(s);
    assert_delete(s, k);
    assert_accesses(s, before, (besom_store_statistics){.reads = yes, .removes = member});
  }
}

static void the_store_is_read_only_after_a_yes(void **state) {
  (void)state;
  for_each_subject(accesses_per_call, BESOM_ADAPT_ALWAYS);
}

/* A caller that releases a value before its next get allocates once, for values of any size up to
   the largest block that is kept. */
static void a_released_value_makes_room_for_the_next(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_config filter = {.kind = "aqf", .capacity = 100, .seed = seed, .allocator = &memory.api};
  besom_guard_config config = {.filter = &filter};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  static const char bytes[1000];
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (size_t len = 1; len < sizeof bytes; len += 37) {
    assert_int_equal(besom_guard_put_u64(g, 1, bytes, len, 0), BESOM_OK);
    uint64_t calls = 0;
    for (unsigned i = 0; i < 20; i++) {
      besom_bytes value;
      assert_int_equal(besom_guard_get_u64(g, 1, &value), BESOM_OK);
      assert_int_equal(value.len, len);
      besom_guard_release(g, &value);
      if (i == 0) calls = memory.calls;
    }
    assert_int_equal(memory.calls, calls);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ a filter of usual size */

/* 50,000 members at a false-positive rate of 1/256. All are queried, and as many absent keys three
   times. */
static void larger(const char *kind) {
  enum { N = 50000 };
  besom_config filter = {.kind = kind, .capacity = N, .fpr = 1.0 / 256, .seed = seed};
  besom_guard_config config = {.filter = &filter};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < N; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_int_equal(besom_guard_put(g, &key, sizeof key, &i, sizeof i, 0), BESOM_OK);
  }
  besom_guard_statistics first, then;
  for (unsigned round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < N; i++) {
      uint64_t key = key_u64(NEGATIVES, i);
      assert_int_equal(besom_guard_get(g, &key, sizeof key, NULL), BESOM_NOT_FOUND);
    }
    if (round == 0) besom_guard_stats(g, &first);
  }
  besom_guard_stats(g, &then);
  assert_in_range(first.false_positives, N / 256 / 2, N / 256 * 3 / 2);
  assert_int_equal(then.false_positives, first.false_positives); /* no repeat false positive */
  assert_int_equal(then.adapt_full, 0);
  for (uint64_t i = 0; i < N; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    besom_bytes value;
    assert_int_equal(besom_guard_get(g, &key, sizeof key, &value), BESOM_OK);
    assert_memory_equal(value.data, &i, sizeof i);
    besom_guard_release(g, &value);
    if (i % 2) assert_int_equal(besom_guard_delete(g, &key, sizeof key), BESOM_OK);
  }
  for (uint64_t i = 0; i < N; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_int_equal(besom_guard_get(g, &key, sizeof key, NULL),
                     i % 2 ? BESOM_NOT_FOUND : BESOM_OK);
  }
  assert_int_equal(besom_validate(besom_guard_filter(g), NULL), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void a_guard_of_usual_size_repeats_no_false_positive(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++)
    if (besom_kinds(i)->abilities & BESOM_CAN_INSERT && adapts_in_guards(besom_kinds(i)))
      larger(besom_kinds(i)->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_agree_with_a_map),
      cmocka_unit_test(a_member_after_a_colliding_key_is_found),
      cmocka_unit_test(of_duplicate_keys_the_oldest_is_returned),
      cmocka_unit_test(a_value_is_valid_until_released),
      cmocka_unit_test(a_released_value_makes_room_for_the_next),
      cmocka_unit_test(keys_have_0_to_64_kib),
      cmocka_unit_test(a_concurrent_filter_is_refused),
      cmocka_unit_test(a_set_is_refused),
      cmocka_unit_test(a_fixed_false_positive_stays_fixed),
      cmocka_unit_test(the_policy_says_when_to_adapt),
      cmocka_unit_test(a_full_reserve_is_counted_and_no_error),
      cmocka_unit_test(the_store_is_read_only_after_a_yes),
      cmocka_unit_test(a_guard_of_usual_size_repeats_no_false_positive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
