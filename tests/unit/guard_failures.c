/* Failures of a guard without transactions: each is a status and changes nothing. Also opening. */
#include "guard_subject.h"

static const uint8_t other_seed[16] = "someone else's..";

/* ------------------------------------------------------------------ laws: failures */

static void delete_absent_keys(subject *s) {
  put_some(s, 40);
  for (size_t k = 0; k < UNIVERSE; k += 3) assert_answer(s, k); /* the filter adapts to some */
  state_copy copy;
  state_copy_take(&copy, s);
  for (size_t k = 0; k < UNIVERSE; k++)
    if (!s->values[k]) assert_int_equal(delete_key(s, k), BESOM_NOT_FOUND);
  assert_unchanged(&copy, s);
  assert_int_equal(guard_stats(s).deletes, 0);
  assert_consistent(s);
}

static void deleting_an_absent_key_changes_nothing(void **state) {
  (void)state;
  for_each_subject(delete_absent_keys, BESOM_ADAPT_ALWAYS);
}

typedef besom_status (*attempt)(subject *s, size_t k);

static besom_status try_put(subject *s, size_t k) {
  return put(s, k, 99);
}

static besom_status try_get(subject *s, size_t k) {
  besom_bytes value;
  besom_status status = get(s, k, &value);
  besom_guard_release(s->guard, &value);
  return status;
}

/*
 * One operation of the store fails: the calls that need it return its status and change nothing.
 * One exception: before a failing change of the store, a broom may have extended fingerprints or
 * continued its round.
 */
static void fail_operation(subject *s, enum operation operation) {
  static const attempt attempts[] = {try_put, try_get, delete_key};
  bool same_bits = operation == GET || strcmp(filter_stats(s).kind, "broom");
  unsigned failures = 0;
  for (unsigned i = 0; i < 3; i++)
    for (size_t k = 0; k < UNIVERSE; k++) {
      state_copy copy;
      state_copy_take(&copy, s);
      s->store.fails[operation] = true;
      besom_status status = attempts[i](s, k);
      s->store.fails[operation] = false;
      if (status != BESOM_IO) {
        memory_sink_close(&copy.filter); /* the call did not need that operation */
        continue;
      }
      failures++;
      assert_unchanged_except_bits(&copy, s, same_bits);
    }
  assert_true(failures > 5);
  assert_consistent(s);
}

static void failing_operations(subject *s) {
  put_some(s, 30);
  fail_operation(s, REMOVE);
  fail_operation(s, REPLACE);
  put_some(s, 30);
  fail_operation(s, APPEND);
  put_some(s, 30);
  fail_operation(s, GET);
  s->store.late = true;
  put_some(s, 30);
  fail_operation(s, GET);
}

static void a_failing_store_changes_nothing(void **state) {
  (void)state;
  for_each_subject(failing_operations, BESOM_ADAPT_NEVER);
  for_each_subject(failing_operations, BESOM_ADAPT_ALWAYS);
}

static void full_filter(subject *s) {
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  put_some(s, (size_t)stats.capacity);
  for (size_t k = 0; k < UNIVERSE; k++) {
    if (s->values[k]) {
      assert_int_equal(put(s, k, k + 1), BESOM_OK); /* replacing needs no room */
      continue;
    }
    state_copy copy;
    state_copy_take(&copy, s);
    assert_int_equal(put(s, k, 1), BESOM_FULL);
    assert_unchanged(&copy, s);
  }
  assert_consistent(s);
}

static void a_full_filter_changes_nothing(void **state) {
  (void)state;
  for_each_subject(full_filter, BESOM_ADAPT_ALWAYS);
}

/* Fails each allocation of a call in turn. Returns their number. */
static unsigned fail_allocations(subject *s, attempt call, size_t k) {
  failing_allocator *memory = memory_of(s);
  for (unsigned n = 0;; n++) {
    state_copy copy;
    state_copy_take(&copy, s);
    memory->fail_at = memory->calls + n + 1;
    besom_status status = call(s, k);
    memory->fail_at = 0;
    if (status != BESOM_NO_MEMORY) {
      memory_sink_close(&copy.filter);
      return n;
    }
    assert_unchanged(&copy, s);
  }
}

/* An absent key that matches at least `least` fingerprints. */
static uint64_t absent_key_with_matches(const besom_filter *f, size_t least) {
  size_t n;
  for (uint64_t key = UINT64_C(1) << 40;; key++)
    if (besom_matches(f, besom_hash_u64(f, key), NULL, 0, &n) == BESOM_OK && n >= least) return key;
}

/* A lookup allocates for more matches than it has room for, if the first record has another key. */
static void fail_many_matches(subject *s) {
  failing_allocator *memory = memory_of(s);
  uint64_t key = absent_key_with_matches(besom_guard_filter(s->guard), 12);
  memory->fail_at = memory->calls + 1;
  assert_int_equal(besom_guard_get_u64(s->guard, key, NULL), BESOM_NO_MEMORY);
  memory->fail_at = memory->calls + 1;
  assert_int_equal(besom_guard_put_u64(s->guard, key, "v", 1, 0), BESOM_NO_MEMORY);
  memory->fail_at = memory->calls + 1;
  assert_int_equal(besom_guard_delete_u64(s->guard, key), BESOM_NO_MEMORY);
  memory->fail_at = 0;
  assert_int_equal(besom_guard_get_u64(s->guard, key, NULL), BESOM_NOT_FOUND);
}

static void failing_allocations(subject *s) {
  static const attempt attempts[] = {try_put, try_get, delete_key};
  unsigned failures = 0;
  for (unsigned i = 0; i < 12; i++)
    assert_int_equal(
        besom_guard_put(s->guard, s->keys.keys[5].data, s->keys.keys[5].len, "v", 1, BESOM_PUT_NEW),
        BESOM_OK);
  for (size_t k = 6; k < 40; k++)
    for (unsigned i = 0; i < 3; i++) failures += fail_allocations(s, attempts[i], k);
  fail_many_matches(s);
  assert_true(failures > 0);
  for (unsigned i = 0; i < 12; i++)
    assert_int_equal(besom_guard_delete(s->guard, s->keys.keys[5].data, s->keys.keys[5].len),
                     BESOM_OK);
  assert_consistent(s);
}

static void a_failed_allocation_changes_nothing(void **state) {
  (void)state;
  for_each_subject(failing_allocations, BESOM_ADAPT_NEVER);
}

/* ------------------------------------------------------------------ laws: opening */

/* The guard is closed but its store is not; another guard opens the store. */
static void reopened(subject *s) {
  put_some(s, 45);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
  assert_int_equal(besom_guard_close(s->guard), BESOM_OK);
  guard_setup setup = s->setup;
  setup.filter.seed = other_seed;
  assert_int_equal(open_guard(&setup, &s->store.head, &s->guard), BESOM_INCOMPATIBLE);
  setup = s->setup;
  setup.filter.slots = 8;
  besom_status status = open_guard(&setup, &s->store.head, &s->guard);
  assert_true(status == BESOM_INCOMPATIBLE || status == BESOM_FULL);
  s->store.fails[SCAN] = true;
  assert_int_equal(open_guard(&s->setup, &s->store.head, &s->guard), BESOM_IO);
  s->store.fails[SCAN] = false;
  assert_int_equal(s->store.closed, 1);
  s->store.closed = 0;
  assert_int_equal(open_guard(&s->setup, &s->store.head, &s->guard), BESOM_OK);
  assert_consistent(s);
  for (size_t k = 0; k < UNIVERSE; k += 2) assert_delete(s, k);
  put_some(s, 45);
  assert_consistent(s);
}

static void a_store_with_records_can_be_opened_again(void **state) {
  (void)state;
  for_each_subject(reopened, BESOM_ADAPT_ALWAYS);
}

/* After a failed open the caller still owns the store, and no memory is leaked. */
static void open_without_memory(subject *s) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  guard_setup setup = s->setup;
  setup.filter.allocator = &memory.api;
  besom_store *store = NULL;
  besom_guard *guard = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  besom_status status = BESOM_NO_MEMORY;
  for (unsigned n = 1; status == BESOM_NO_MEMORY; n++) {
    memory.fail_at = memory.calls + n;
    status = open_guard(&setup, store, &guard);
    if (status == BESOM_NO_MEMORY) assert_null(failing_allocator_verdict(&memory));
  }
  assert_int_equal(status, BESOM_OK);
  assert_int_equal(besom_guard_close(guard), BESOM_OK);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void an_open_that_runs_out_of_memory_leaves_nothing(void **state) {
  (void)state;
  for_each_subject(open_without_memory, BESOM_ADAPT_ALWAYS);
}

static void bad_arguments_of_calls(subject *s) {
  besom_guard *g = s->guard;
  besom_bytes value;
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_put(NULL, "k", 1, "v", 1, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_put(g, NULL, 1, "v", 1, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_put(g, "k", 1, NULL, 1, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_put(NULL, "k", 1, "v", 1, BESOM_PUT_NEW), BESOM_INVALID);
  assert_int_equal(besom_guard_put(g, NULL, 1, "v", 1, BESOM_PUT_NEW), BESOM_INVALID);
  assert_int_equal(besom_guard_put(g, "k", 1, NULL, 1, BESOM_PUT_NEW), BESOM_INVALID);
  assert_int_equal(besom_guard_put(g, "k", 1, "v", 1, 2 * BESOM_PUT_NEW), BESOM_INVALID);
  assert_int_equal(besom_guard_get(NULL, "k", 1, &value), BESOM_INVALID);
  assert_int_equal(besom_guard_get(g, NULL, 1, &value), BESOM_INVALID);
  assert_null(value.data);
  assert_int_equal(besom_guard_delete(NULL, "k", 1), BESOM_INVALID);
  assert_int_equal(besom_guard_delete(g, NULL, 1), BESOM_INVALID);
  assert_int_equal(besom_guard_stats(NULL, &stats), BESOM_INVALID);
  assert_int_equal(besom_guard_stats(g, NULL), BESOM_INVALID);
  assert_null(besom_guard_filter(NULL));
  besom_guard_release(NULL, &value);
  besom_guard_release(g, NULL);
  besom_guard_release(g, &value);
  assert_int_equal(besom_guard_close(NULL), BESOM_OK);
  assert_int_equal(store_stats(s).records, 0);
  assert_int_equal(guard_stats(s).queries, 0);
}

static void bad_arguments_of_open(subject *s) {
  besom_guard *guard = NULL;
  guard_setup setup = s->setup;
  faulty_store store = {.head = {&faulty_ops}, .inner = s->store.inner};
  assert_int_equal(besom_guard_open(NULL, &store.head, &guard), BESOM_INVALID);
  assert_int_equal(open_guard(&setup, NULL, &guard), BESOM_INVALID);
  assert_int_equal(open_guard(&setup, &store.head, NULL), BESOM_INVALID);
  setup.guard.adapt = (besom_adapt_policy)3;
  assert_int_equal(open_guard(&setup, &store.head, &guard), BESOM_INVALID);
  setup = s->setup;
  setup.filter.kind = NULL;
  assert_int_equal(open_guard(&setup, &store.head, &guard), BESOM_INVALID);
  setup.filter.kind = "no such kind";
  assert_int_equal(open_guard(&setup, &store.head, &guard), BESOM_UNKNOWN_KIND);
  setup.filter = (besom_config){.kind = "bloom", .capacity = 100};
  assert_int_equal(open_guard(&setup, &store.head, &guard), BESOM_UNSUPPORTED);

  besom_store_ops ops = faulty_ops; /* operations missing, one by one */
  store.head.ops = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  store.head.ops = &ops;
  ops.append = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  ops = faulty_ops, ops.get = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  ops = faulty_ops, ops.replace = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  ops = faulty_ops, ops.remove = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  ops = faulty_ops, ops.scan = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  ops = faulty_ops, ops.close = NULL;
  assert_int_equal(open_guard(&s->setup, &store.head, &guard), BESOM_INVALID);
  assert_null(guard);
  assert_int_equal(store.closed, 0);
}

/* 2^10 slots and remainders of 60 bits: a bucket number would need 70 bits. Kinds whose buckets are
   quotients allow any width. */
static void too_many_bits(subject *s) {
  besom_guard *guard = NULL;
  uint64_t last = 0;
  for (size_t k = 0; k < UNIVERSE; k++) last = s->buckets[k] > last ? s->buckets[k] : last;
  if (last < SLOTS) return;
  guard_setup setup = s->setup;
  setup.filter.slots = 1024;
  setup.filter.width = 60;
  assert_int_equal(open_guard(&setup, &s->store.head, &guard), BESOM_INVALID);
  assert_null(guard);
}

static void bad_arguments_are_statuses(void **state) {
  (void)state;
  for_each_subject(bad_arguments_of_calls, BESOM_ADAPT_ALWAYS);
  for_each_subject(bad_arguments_of_open, BESOM_ADAPT_ALWAYS);
  for_each_subject(too_many_bits, BESOM_ADAPT_ALWAYS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deleting_an_absent_key_changes_nothing),
      cmocka_unit_test(a_failing_store_changes_nothing),
      cmocka_unit_test(a_full_filter_changes_nothing),
      cmocka_unit_test(a_failed_allocation_changes_nothing),
      cmocka_unit_test(a_store_with_records_can_be_opened_again),
      cmocka_unit_test(an_open_that_runs_out_of_memory_leaves_nothing),
      cmocka_unit_test(bad_arguments_are_statuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
