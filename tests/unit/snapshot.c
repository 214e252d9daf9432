/*
 * Concurrent filters inside: how readers announce themselves (snapshot.h), the mode in which one
 * thread writes without locked instructions, and the capacity that regions share (aqf_sync.h).
 */
#include "api/snapshot.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "quotient/aqf/concurrent/aqf_sync.h" /* also core/relaxed.h */

#if defined(BESOM_THREAD_SANITIZER) || defined(BESOM_EMULATED)
enum { ROUNDS = 4, TURNS = 20000, TURNS_BESIDE = 2000 };
#else
enum { ROUNDS = 20, TURNS = 1000000, TURNS_BESIDE = 100000 };
#endif

enum { SLOTS = 1 << 14, KEYS = 3000, FEW = 5 };

static besom_filter *create(void) {
  besom_filter *f;
  besom_config config = {.kind = "aqf", .slots = SLOTS, .width = 8, .flags = BESOM_CONCURRENT};
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static struct aqf_sync *sync_of(const besom_filter *f) {
  return const_aqf(current_filter(f->snapshot))->sync;
}

/* The work of a thread: inserts keys first .. first + KEYS - 1 and queries each of them. */
struct work {
  besom_filter *f;
  uint64_t first, failures;
};

static void *insert_keys(void *ctx) {
  struct work *w = ctx;
  for (uint64_t i = 0; i < KEYS; i++) {
    w->failures += besom_insert_u64(w->f, w->first + i) != BESOM_OK;
    w->failures += !besom_contains_u64(w->f, w->first + i);
  }
  return NULL;
}

static void *insert_batches(void *ctx) {
  struct work *w = ctx;
  uint64_t keys[100];
  for (uint64_t i = 0; i < KEYS; i += 100) {
    for (uint64_t j = 0; j < 100; j++) keys[j] = w->first + i + j;
    w->failures += besom_insert_many_u64(w->f, keys, 100, NULL) != BESOM_OK;
  }
  return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), struct work *w) {
  assert_int_equal(pthread_create(thread, NULL, run, w), 0);
}

static void assert_has_keys(const besom_filter *f, uint64_t n) {
  besom_statistics stats;
  const char *reason = NULL;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_int_equal(stats.keys, n);
  for (uint64_t key = 0; key < n; key++) assert_true(besom_contains_u64(f, key));
  if (besom_validate(f, &reason) != BESOM_OK) fail_msg("%s", reason);
}

/* Two threads write while the table is replaced. */
static void write_and_replace(besom_filter *f) {
  struct work work[2] = {{f, 0, 0}, {f, KEYS, 0}};
  pthread_t threads[2];
  start(&threads[0], insert_keys, &work[0]);
  start(&threads[1], insert_batches, &work[1]);
  assert_int_equal(besom_resize(f, 2 * SLOTS, NULL), BESOM_OK);
  assert_int_equal(besom_resize(f, SLOTS, NULL), BESOM_OK);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(work[0].failures + work[1].failures, 0);
  assert_has_keys(f, 2 * KEYS);
  besom_free(f);
}

static void threads_get_slots_of_their_own(void **state) {
  (void)state;
  besom_filter *f = create();
  if (f->snapshot->asymmetric) {
    assert_null(free_slot(f->snapshot)); /* it gets one in its first call */
    assert_false(besom_contains_u64(f, 1));
    assert_non_null(free_slot(f->snapshot));
    struct reader r = besom__snapshot_enter(f);
    assert_true(r.owns_slot);
    assert_null(free_slot(f->snapshot)); /* a call inside of a call is counted */
    struct reader inner = besom__snapshot_enter(f);
    assert_false(inner.owns_slot);
    besom__reader_leave(inner);
    besom__reader_leave(r);
    assert_non_null(free_slot(f->snapshot));
  }
  write_and_replace(f);
}

static void threads_that_find_no_slot_are_counted(void **state) {
  (void)state;
  besom_filter *f = create();
  for (unsigned i = 0; i < READER_SLOTS; i++) atomic_store(&f->snapshot->slots[i].thread, 1);
  assert_false(besom_contains_u64(f, 1));
  assert_null(free_slot(f->snapshot));
  write_and_replace(f);
}

static void filters_need_no_asymmetric_fence(void **state) {
  (void)state;
  besom_filter *f = create();
  f->snapshot->asymmetric = false;
  atomic_store(&sync_of(f)->writer, SEVERAL_WRITERS);
  assert_false(besom_contains_u64(f, 1));
  assert_null(free_slot(f->snapshot));
  write_and_replace(f);
}

static void the_first_writer_is_single_until_another_one_writes(void **state) {
  (void)state;
  besom_filter *f = create();
  if (!f->snapshot->asymmetric) skip();
  struct work work[2] = {{f, 0, 0}, {f, KEYS, 0}};
  pthread_t thread;
  assert_int_equal(atomic_load(&sync_of(f)->writer), NO_WRITER);
  assert_false(besom_contains_u64(f, 1));
  assert_int_equal(atomic_load(&sync_of(f)->writer), NO_WRITER);
  insert_keys(&work[0]);
  assert_int_equal(atomic_load(&sync_of(f)->writer), thread_number());
  assert_true(single_writer_enter(sync_of(f)));
  assert_false(single_writer_enter(sync_of(f)));
  single_writer_leave(sync_of(f));
  start(&thread, insert_keys, &work[1]);
  pthread_join(thread, NULL);
  assert_int_equal(atomic_load(&sync_of(f)->writer), SEVERAL_WRITERS);
  assert_false(single_writer_enter(sync_of(f)));
  assert_int_equal(work[0].failures + work[1].failures, 0);
  assert_has_keys(f, 2 * KEYS);
  besom_free(f);
}

/* The second writer comes while the first one writes. */
static void a_second_writer_may_come_at_any_time(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    besom_filter *f = create();
    struct work work[2] = {{f, 0, 0}, {f, KEYS, 0}};
    pthread_t thread;
    void *(*run)(void *) = round % 2 ? insert_keys : insert_batches;
    start(&thread, run, &work[1]);
    run(&work[0]);
    pthread_join(thread, NULL);
    assert_int_equal(work[0].failures + work[1].failures, 0);
    assert_has_keys(f, 2 * KEYS);
    besom_free(f);
  }
}

/* ------------------------------------------------------------------ capacity */

/* Asks repeatedly whether slots may be free. */
struct asking {
  const struct aqf_sync *sync;
  _Atomic uint64_t times;
  atomic_bool done;
  uint64_t denied;
};

static void *ask(void *ctx) {
  struct asking *a = ctx;
  while (!atomic_load(&a->done)) {
    a->denied += !may_have_free_slots(a->sync);
    atomic_fetch_add(&a->times, 1);
  }
  return NULL;
}

/* Inserts until this many slots are free. */
static void fill_up_to(besom_filter *f, uint64_t left) {
  for (uint64_t n = current_filter(f->snapshot)->capacity - left; n--;)
    assert_int_equal(besom_insert_u64(f, n), BESOM_OK);
}

/* The free slots are credit of a region and then no region's, in turns: always some are free. */
static void free_slots_are_seen_wherever_they_are(void **state) {
  (void)state;
  besom_filter *f = create(), *table = current_filter(f->snapshot);
  struct asking a = {.sync = sync_of(f)};
  struct region *region = sync_of(f)->regions;
  pthread_t thread;
  fill_up_to(f, FEW);
  assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
  while (!atomic_load(&a.times)) continue;
  for (int i = 0, beside = 0; i < TURNS && beside < TURNS_BESIDE; i++) {
    uint64_t times = atomic_load(&a.times);
    region_lock(region, true);
    besom__take_credit(sync_of(f), region, UINT64_MAX);
    region_unlock(region);
    besom__unlock_all(besom__lock_all(table, false));
    beside += atomic_load(&a.times) != times; /* the threads run at the same time */
  }
  atomic_store(&a.done, true);
  pthread_join(thread, NULL);
  assert_int_equal(a.denied, 0);
  besom_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_get_slots_of_their_own),
      cmocka_unit_test(threads_that_find_no_slot_are_counted),
      cmocka_unit_test(filters_need_no_asymmetric_fence),
      cmocka_unit_test(the_first_writer_is_single_until_another_one_writes),
      cmocka_unit_test(a_second_writer_may_come_at_any_time),
      cmocka_unit_test(free_slots_are_seen_wherever_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
