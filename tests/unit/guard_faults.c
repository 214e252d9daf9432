/* Guards over stores with transactions when calls of the store or allocations fail: the n-th one,
   or all from the n-th on. */
#include "guard_durable.h"
#include "support/failing_allocator.h"

/* ------------------------------------------------------------------ the scenario */

typedef struct scenario {
  subject *subject;
  unsigned failures;
} scenario;

static bool succeeded(scenario *t, besom_status status) {
  if (status != BESOM_OK && status != BESOM_IO && status != BESOM_NO_MEMORY)
    fail_msg("%s", besom_strerror(status));
  t->failures += status != BESOM_OK;
  return status == BESOM_OK;
}

static void query(scenario *t, size_t k) {
  subject *s = t->subject;
  besom_bytes value;
  besom_status status =
      besom_guard_get(s->guard, s->keys.keys[k].data, s->keys.keys[k].len, &value);
  if (status != BESOM_NOT_FOUND && succeeded(t, status)) assert_value(value, s->values[k]);
  if (status == BESOM_OK || status == BESOM_NOT_FOUND)
    assert_int_equal(status == BESOM_OK, s->values[k] != 0);
  besom_guard_release(s->guard, &value);
}

static void batch(scenario *t, bool keep, size_t first) {
  subject *s = t->subject;
  if (!succeeded(t, begin(s))) return;
  for (size_t k = first; k < first + 6; k++) succeeded(t, put(s, k, 7 * k + 1));
  for (size_t k = first; k < first + 6; k += 2)
    if (s->values[k]) succeeded(t, delete_key(s, k));
  if (s->values[1]) succeeded(t, delete_key(s, 1));
  succeeded(t, put(s, first + 2, 1 + first));
  succeeded(t, end_batch(s, keep));
}

/* Gathered changes are written before: a kill would lose them. A failed close does, too. */
static void reopen(scenario *t, bool kill) {
  subject *s = t->subject;
  if (s->setup.guard.durability == BESOM_DURABLE_SYNC)
    while (!succeeded(t, besom_guard_sync(s->guard))) continue;
  if (kill)
    subject_crash(s);
  else
    succeeded(t, try_close_guard(s));
  while (!succeeded(t, subject_reopen(s))) continue;
}

static void run_scenario(scenario *t) {
  subject *s = t->subject;
  for (size_t k = 0; k < 30; k++) succeeded(t, put(s, k, k + 1));
  for (size_t k = 0; k < 60; k += 3) query(t, k);
  batch(t, false, 20);
  batch(t, true, 30);
  for (size_t k = 0; k < 6; k++) succeeded(t, put(s, k, k + 100));
  for (size_t k = 6; k < 12; k++)
    if (s->values[k]) succeeded(t, delete_key(s, k));
  besom_status status = besom_guard_rekey(s->guard);
  if (status != BESOM_UNSUPPORTED && status != BESOM_BUSY) succeeded(t, status);
  succeeded(t, besom_guard_step(s->guard, 5, NULL));
  batch(t, false, 40);
  reopen(t, true);
  for (size_t k = 60; k < 80; k++) succeeded(t, put(s, k, k + 1)); /* makes it grow */
  batch(t, true, 50);
  reopen(t, false);
  for (size_t k = 0; k < 90; k += 4) query(t, k);
  succeeded(t, besom_guard_sync(s->guard));
  succeeded(t, besom_guard_step(s->guard, 100, NULL));
}

static guard_setup tiny_guard(const char *kind, besom_layout layout) {
  guard_setup setup = small_guard(kind, layout);
  if (setup.filter.slots) setup.filter.slots = 48;
  return setup;
}

typedef unsigned (*run)(const guard_setup *setup, unsigned n);

/* Runs the scenario for n = 1, 2, ... until nothing fails any more. */
static void for_every_n(run scenario_fails) {
  static const char *const kinds[] = {"aqf", "taf", "acf-cyclic"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      guard_setup setup = tiny_guard(kinds[i], layout);
      if (i == 0 && layout == BESOM_LAYOUT_SPLIT) setup.guard.durability = BESOM_DURABLE_SYNC;
      unsigned n = 1;
      while (scenario_fails(&setup, n)) n++;
      assert_true(n > 10);
    }
}

/* Returns whether the scenario made n calls, so that one failed. */
static unsigned store_fails(const guard_setup *setup, unsigned n) {
  subject *s = heap_array(1, sizeof *s);
  scenario t = {.subject = s};
  subject_open(s, setup);
  if (n % 64) s->store.directory = NULL; /* files are slow */
  s->store.countdown = n;
  run_scenario(&t);
  bool failed = !s->store.countdown;
  s->store.countdown = 0;
  assert_consistent(s);
  reopen(&t, n % 2);
  assert_consistent(s);
  subject_close(s);
  free(s);
  return failed;
}

static void the_nth_call_of_the_store_fails(void **state) {
  (void)state;
  for_every_n(store_fails);
}

static unsigned memory_fails(const guard_setup *setup, unsigned n) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  guard_setup failing = *setup;
  failing.filter.allocator = &memory.api;
  subject *s = heap_array(1, sizeof *s);
  scenario t = {.subject = s};
  subject_open(s, &failing);
  if (n % 64) s->store.directory = NULL;
  memory.fail_at = memory.calls + n;
  run_scenario(&t);
  bool failed = memory.calls >= memory.fail_at;
  memory.fail_at = 0;
  assert_consistent(s);
  reopen(&t, n % 2);
  assert_consistent(s);
  subject_close(s);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(s);
  return failed;
}

static void the_nth_allocation_fails(void **state) {
  (void)state;
  for_every_n(memory_fails);
}

/* ------------------------------------------------------------------ a store that is down */

/* All calls fail from the n-th call of a batch on, also those of the rollback. Then the store is
   back. */
static bool store_fails_for_a_while(const guard_setup *setup, unsigned n) {
  subject *s = heap_array(1, sizeof *s);
  scenario t = {.subject = s};
  subject_open(s, setup);
  s->store.directory = NULL;
  for (size_t k = 0; k < 40; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(begin(s), BESOM_OK);
  s->store.calls = 0;
  besom_status status = BESOM_OK;
  for (size_t k = 0; k < 60 && s->store.calls < n; k += 2) {
    status = k < 30 ? delete_key(s, k) : put(s, k, k + 50);
    assert_int_equal(status, BESOM_OK);
  }
  bool all = s->store.calls < n;
  s->store.dead = true;
  assert_int_equal(end_batch(s, true), BESOM_IO);
  for (size_t k = 0; k < UNIVERSE; k += 40) query(&t, k);
  s->store.dead = false;
  assert_int_equal(besom_guard_step(s->guard, 1, NULL), BESOM_OK);
  assert_consistent(s);
  for (size_t k = 0; k < 60; k++) assert_int_equal(put(s, k, k + 5), BESOM_OK);
  assert_consistent(s);
  subject_close(s);
  free(s);
  return !all;
}

static void a_rollback_finishes_when_the_store_is_back(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "taf", "acf-swapping"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      guard_setup setup = tiny_guard(kinds[i], layout);
      unsigned n = 1;
      while (store_fails_for_a_while(&setup, n)) n++;
      assert_true(n > 20);
    }
}

/* A migration that ended within a batch runs again after the abort, also if the store fails during
   the rollback. */
static void an_aborted_batch_brings_the_migration_back(void **state) {
  (void)state;
  for (unsigned merge = 0; merge < 2; merge++) {
    subject *s = heap_array(1, sizeof *s), *other = heap_array(1, sizeof *s);
    guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
    subject_open(s, &setup);
    subject_open(other, &setup);
    for (size_t k = 0; k < 40; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
    assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
    assert_int_equal(besom_guard_step(s->guard, 20, NULL), BESOM_OK);
    assert_int_equal(begin(s), BESOM_OK);
    bool finished;
    assert_int_equal(besom_guard_step(s->guard, 100, &finished), BESOM_OK);
    assert_true(finished);
    s->store.dead = true;
    assert_int_equal(end_batch(s, false), BESOM_OK);
    s->store.dead = false;
    besom_status status =
        merge ? besom_guard_merge(s->guard, other->guard) : besom_guard_rekey(s->guard);
    assert_int_equal(status, BESOM_BUSY);
    assert_consistent(s);
    subject_close(s);
    subject_close(other);
    free(s);
    free(other);
  }
}

/* The store starts or stops failing, or one later call fails. */
static void change_faults(subject *s, random_stream *random) {
  if (s->store.dead)
    s->store.dead = random_below(random, 3) != 0;
  else if (random_below(random, 25) == 0)
    s->store.dead = true;
  else if (random_below(random, 12) == 0)
    s->store.countdown = 1 + (unsigned)random_below(random, 15);
}

static void random_operation(scenario *t, random_stream *random) {
  subject *s = t->subject;
  size_t k = random_below(random, 150);
  uint64_t choice = random_below(random, 100);
  besom_status status;
  if (choice < 45) {
    succeeded(t, put(s, k, 1 + random_next(random) % 1000));
  } else if (choice < 75) {
    status = delete_key(s, k);
    if (status != BESOM_NOT_FOUND) succeeded(t, status);
  } else if (choice < 90) {
    if (!s->in_batch) query(t, k); /* a batch may have failed and been rolled back */
  } else if (choice < 92) {
    status = besom_guard_rekey(s->guard);
    if (status != BESOM_UNSUPPORTED && status != BESOM_BUSY) succeeded(t, status);
  } else if (choice < 94) {
    succeeded(t, besom_guard_step(s->guard, 5, NULL));
  } else {
    succeeded(t, s->in_batch ? end_batch(s, random_below(random, 3)) : begin(s));
  }
}

/* After any sequence of failures: successful changes are there, failed ones are not. */
static void a_store_that_fails_at_random_loses_nothing(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++)
    for (unsigned variant = 0; works_with_stores(besom_kinds(i)) && variant < 6; variant++) {
      subject *s = heap_array(1, sizeof *s);
      scenario t = {.subject = s};
      random_stream random = {variant};
      guard_setup setup =
          tiny_guard(besom_kinds(i)->name, variant % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED);
      setup.guard.durability = (besom_durability)(variant / 2);
      subject_open(s, &setup);
      s->store.directory = NULL;
      for (unsigned n = 0; n < 2000; n++) {
        change_faults(s, &random);
        random_operation(&t, &random);
        if (n % 100 || s->in_batch) continue;
        s->store.countdown = s->store.dead = 0;
        assert_int_equal(besom_guard_sync(s->guard), BESOM_OK); /* finishes a pending rollback */
        assert_consistent(s);
        if (n % 500 == 0) reopen(&t, true);
      }
      s->store.countdown = s->store.dead = 0;
      assert_true(t.failures > 100);
      subject_close(s);
      free(s);
    }
}

/* ------------------------------------------------------------------ a store without savepoints */

/* Adaptations and kicks exchange records. Returns whether the scenario made n calls. */
static bool batch_then_failures(const guard_setup *setup, const besom_store_ops *ops, unsigned n) {
  subject *s = heap_array(1, sizeof *s);
  scenario t = {.subject = s};
  subject_open(s, setup);
  subject_close_guard(s);
  s->store.head.ops = ops;
  s->store.directory = NULL;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  for (size_t k = 0; k < 40; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(begin(s), BESOM_OK);
  s->store.countdown = n;
  s->store.more = n % 3;
  for (size_t k = 90; k < 120; k++)
    (void)besom_guard_get(s->guard, s->keys.keys[k].data, s->keys.keys[k].len, NULL);
  for (size_t k = 40; k < 90; k++) succeeded(&t, put(s, k, k + 1));
  bool failed = !s->store.countdown;
  s->store.countdown = s->store.failing = 0;
  succeeded(&t, end_batch(s, n % 2));
  assert_consistent(s);
  assert_int_equal(begin(s), BESOM_OK); /* a batch that has failed is over */
  assert_int_equal(put(s, 130, 1), BESOM_OK);
  assert_int_equal(end_batch(s, true), BESOM_OK);
  subject_crash(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_consistent(s);
  subject_close(s);
  free(s);
  return failed;
}

/* If the undo of half an exchange fails, too, the batch fails as a whole. The caller commits or
   aborts it. */
static void half_an_exchange_fails_the_batch(void **state) {
  (void)state;
  static const char *const kinds[] = {"acf-cyclic", "acf-swapping", "acf-cuckooing"};
  besom_store_ops ops = durable_ops;
  ops.set_savepoint = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      guard_setup setup = small_guard(kinds[i], layout);
      setup.filter.capacity = 95;
      unsigned n = 1;
      while (batch_then_failures(&setup, &ops, n)) n += 1 + n / 16;
      assert_true(n > 20);
    }
}

/* ------------------------------------------------------------------ a group that stays */

/* The n-th call fails while a group is open and a migration runs: what was acknowledged stays. */
static bool group_then_failure(const guard_setup *setup, unsigned n) {
  subject *s = heap_array(1, sizeof *s);
  subject_open(s, setup);
  s->store.directory = NULL;
  for (size_t k = 0; k < 20; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  besom_status status = besom_guard_rekey(s->guard);
  assert_true(status == BESOM_OK || status == BESOM_UNSUPPORTED);
  for (size_t k = 20; k < 25; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  s->store.countdown = n;
  if (s->values[n % 25]) delete_key(s, n % 25);
  put(s, 25, 26);
  put(s, 3, 27);
  bool failed = !s->store.countdown;
  s->store.countdown = 0;
  assert_consistent(s);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  assert_consistent(s);
  subject_crash(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_consistent(s);
  subject_close(s);
  free(s);
  return failed;
}

static void a_failed_call_undoes_nothing_of_the_group(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "taf", "acf-cyclic"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      guard_setup setup = tiny_guard(kinds[i], layout);
      setup.guard.durability = BESOM_DURABLE_SYNC;
      setup.guard.step_items = 2; /* so that the migration lasts for some puts */
      unsigned n = 1;
      while (group_then_failure(&setup, n)) n++;
      assert_true(n > 8);
    }
}

/* ------------------------------------------------------------------ durability of commits */

static void query_all(subject *s) {
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
}

static void commit_batch(subject *s, size_t first) {
  assert_int_equal(begin(s), BESOM_OK);
  for (size_t k = first; k < first + 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(delete_key(s, first), BESOM_OK);
  assert_int_equal(end_batch(s, true), BESOM_OK);
  query_all(s);
}

static void rekey_if_supported(subject *s) {
  besom_status status = besom_guard_rekey(s->guard);
  assert_true(status == BESOM_OK || status == BESOM_UNSUPPORTED || status == BESOM_BUSY);
  assert_int_equal(besom_guard_step(s->guard, 3, NULL), BESOM_OK);
}

/* In LMDB a nondurable commit endangers earlier ones, so the guard makes none before the caller
   does. */
static void steps_are_as_durable_as_earlier_commits(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "taf", "acf-cyclic"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (besom_durability variant = BESOM_DURABLE_PUT; variant <= BESOM_DURABLE_BATCH; variant++) {
      subject *s = heap_array(1, sizeof *s);
      guard_setup setup = tiny_guard(kinds[i], BESOM_LAYOUT_MERGED);
      setup.guard.durability = variant;
      subject_open(s, &setup);
      commit_batch(s, 0);
      rekey_if_supported(s);
      commit_batch(s, 20); /* makes it grow */
      commit_batch(s, 60);
      assert_int_equal(s->store.nondurable_commits, 0);
      assert_int_equal(put(s, 100, 1), BESOM_OK);
      assert_int_equal(s->store.nondurable_commits != 0, variant == BESOM_DURABLE_BATCH);
      assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
      s->store.nondurable_commits = 0;
      rekey_if_supported(s);
      query_all(s);
      assert_int_equal(s->store.nondurable_commits, 0);
      assert_consistent(s);
      subject_close(s);
      free(s);
    }
}

static besom_status no_begin(besom_store *store) {
  (void)store;
  return BESOM_READ_ONLY;
}

/* A read-only store: the guard returns READ_ONLY and changes nothing. */
static void the_status_of_a_store_is_returned(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(s, &setup);
  for (size_t k = 0; k < 20; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  besom_store_ops ops = durable_ops;
  ops.begin = no_begin;
  s->store.head.ops = &ops;
  assert_int_equal(put(s, 30, 1), BESOM_READ_ONLY);
  assert_int_equal(put(s, 3, 1), BESOM_READ_ONLY);
  assert_int_equal(delete_key(s, 3), BESOM_READ_ONLY);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_READ_ONLY);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_READ_ONLY);
  assert_consistent(s);
  s->store.head.ops = &durable_ops;
  assert_consistent(s);
  subject_close(s);
  free(s);
}

static besom_status full_append(besom_store *store, besom_place at, const besom_record *record) {
  (void)store, (void)at, (void)record;
  return BESOM_DISK_FULL;
}

static besom_status full_commit(besom_store *store, bool durable) {
  (void)store, (void)durable;
  return BESOM_DISK_FULL;
}

/* DISK_FULL is a failure of the store: the guard returns it and does not grow its filter. */
static void a_full_disk_is_not_a_full_filter(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "acf-cyclic"};
  for (unsigned i = 0; i < 4; i++) {
    subject *s = heap_array(1, sizeof *s);
    guard_setup setup = small_guard(kinds[i / 2], BESOM_LAYOUT_MERGED);
    subject_open(s, &setup);
    for (size_t k = 0; k < 20; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
    uint64_t growths = stats_of(s).growths;
    besom_store_ops ops = durable_ops;
    if (i % 2)
      ops.append = full_append;
    else
      ops.commit = full_commit;
    s->store.head.ops = &ops;
    for (size_t k = 30; k < 60; k++) assert_int_equal(put(s, k, 1), BESOM_DISK_FULL);
    assert_int_equal(stats_of(s).growths, growths);
    s->store.head.ops = &durable_ops;
    assert_consistent(s);
    for (size_t k = 30; k < 60; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
    assert_consistent(s);
    subject_close(s);
    free(s);
  }
}

static void calls_out_of_order_return_a_status(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(s, &setup);
  assert_int_equal(besom_guard_commit(s->guard), BESOM_INVALID);
  assert_int_equal(besom_guard_abort(s->guard), BESOM_INVALID);
  assert_int_equal(begin(s), BESOM_OK);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_BUSY);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_BUSY);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_BUSY);
  assert_int_equal(end_batch(s, true), BESOM_OK);
  assert_int_equal(besom_guard_step(s->guard, 0, NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_step(NULL, 1, NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_begin(NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_commit(NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_abort(NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_sync(NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_rekey(NULL), BESOM_INVALID);
  besom_guard *other = NULL;
  setup.guard.layout = (besom_layout)2;
  assert_int_equal(open_guard(&setup, &s->store.head, &other), BESOM_INVALID);
  setup = small_guard("aqf", BESOM_LAYOUT_MERGED), setup.guard.durability = (besom_durability)3;
  assert_int_equal(open_guard(&setup, &s->store.head, &other), BESOM_INVALID);
  setup = small_guard("aqf", BESOM_LAYOUT_MERGED), setup.guard.grow_at = -1;
  assert_int_equal(open_guard(&setup, &s->store.head, &other), BESOM_INVALID);
  subject_close(s);
  free(s);
}

/* A store without transactions has no batches, sync or rekey. */
static void a_plain_store_has_no_batches(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(s, &setup);
  subject_close_guard(s);
  besom_store_ops ops = durable_ops;
  ops.commit_number = NULL;
  s->store.head.ops = &ops;
  s->setup.guard.layout = BESOM_LAYOUT_SPLIT;
  assert_int_equal(subject_reopen(s), BESOM_UNSUPPORTED);
  s->setup.guard.layout = BESOM_LAYOUT_MERGED;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_UNSUPPORTED);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_UNSUPPORTED);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_UNSUPPORTED);
  for (size_t k = 0; k < 20; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_consistent(s);
  subject_close(s);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nth_call_of_the_store_fails),
      cmocka_unit_test(the_nth_allocation_fails),
      cmocka_unit_test(a_rollback_finishes_when_the_store_is_back),
      cmocka_unit_test(an_aborted_batch_brings_the_migration_back),
      cmocka_unit_test(a_store_that_fails_at_random_loses_nothing),
      cmocka_unit_test(a_failed_call_undoes_nothing_of_the_group),
      cmocka_unit_test(steps_are_as_durable_as_earlier_commits),
      cmocka_unit_test(the_status_of_a_store_is_returned),
      cmocka_unit_test(half_an_exchange_fails_the_batch),
      cmocka_unit_test(a_full_disk_is_not_a_full_filter),
      cmocka_unit_test(calls_out_of_order_return_a_status),
      cmocka_unit_test(a_plain_store_has_no_batches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
