/*
 * Thread-safe filters that are grown, shrunk and rekeyed while other threads query and change them;
 * and that were loaded and then shared. As threads.c, built again with the thread sanitizer.
 */
#define _DEFAULT_SOURCE 1 /* threads */
#include "threads_support.h"

#include <sched.h>

#include "kind.h"
#include "support/failing_allocator.h"
#include "support/temp_files.h"
#include "support/u64_forms.h"

/* Changes are BUSY during a task of another thread: retries. */
static besom_status with_retry(besom_status (*change)(besom_filter *f, uint64_t key),
                               besom_filter *f, uint64_t key) {
  besom_status status;
  while ((status = change(f, key)) == BESOM_BUSY) sched_yield();
  return status;
}

/* As write_keys. */
static void write_with_retry(struct thread_test *test, unsigned thread) {
  besom_filter *f = test->f;
  for (size_t i = 0; i < KEPT; i++) {
    expect(with_retry(besom_insert_u64, f, kept_key(thread, i)) == BESOM_OK);
    atomic_store_explicit(&test->kept[thread], i + 1, memory_order_release);
    expect(with_retry(besom_insert_u64, f, passing_key(thread, i)) == BESOM_OK);
    expect(with_retry(besom_remove_u64, f, passing_key(thread, i)) == BESOM_OK);
  }
  atomic_fetch_sub(&test->working, 1);
}

/* Between two exchanges of the table: waits until other threads have inserted some keys. */
static void wait_for_writers(struct thread_test *test) {
  size_t kept = atomic_load(&test->kept[0]) + atomic_load(&test->kept[1]);
  while (atomic_load(&test->working) &&
         atomic_load(&test->kept[0]) + atomic_load(&test->kept[1]) < kept + KEPT / 4)
    sched_yield();
}

/* ------------------------------------------------------------------ another size */

enum { EXCEPTIONS = 40 };

/* Keys that would be false positives at the end, and are on the no list from the start. */
static uint64_t exception_keys[EXCEPTIONS];

static void add_exceptions(besom_filter *f) {
  besom_filter *plain = make_plain(NULL);
  for (size_t i = 0, n = 0; n < EXCEPTIONS; i++) {
    exception_keys[n] = key_u64(NEGATIVES, UINT64_C(1000000000) + i);
    if (!besom_contains_u64(plain, exception_keys[n])) continue;
    assert_int_equal(no_add_u64(f, exception_keys[n++]), BESOM_OK);
  }
  besom_free(plain);
}

/* Grows or shrinks in steps; with `cancel`, cancels half way. */
static void resize_in_steps(besom_filter *f, bool grow, bool cancel) {
  besom_task *task;
  besom_status status = besom_resize(f, grow ? 2 * SLOTS : SLOTS, &task);
  expect(status == BESOM_OK);
  bool finished = false;
  for (int i = 0; status == BESOM_OK && !finished; i++) {
    expect(besom_insert_u64(f, 1) == BESOM_BUSY);
    if (cancel && i == 2) {
      besom_task_cancel(task);
      return;
    }
    expect((status = besom_task_step(task, 700, &finished)) == BESOM_OK);
    sched_yield();
  }
}

static void resize_repeatedly(struct thread_test *test) {
  besom_filter *f = test->f;
  for (unsigned i = 0; i < 3 || atomic_load(&test->working); i++) {
    resize_in_steps(f, true, true);
    if (i % 2)
      resize_in_steps(f, true, false);
    else
      expect(besom_resize(f, 2 * SLOTS, NULL) == BESOM_OK);
    expect(besom_resize(f, 8 * SLOTS, NULL) == BESOM_OK);
    expect(besom_resize(f, 2 * SLOTS, NULL) == BESOM_OK);
    if (i % 3)
      resize_in_steps(f, false, false);
    else
      expect(besom_resize(f, SLOTS, NULL) == BESOM_OK);
    wait_for_writers(test);
  }
}

static void read_exceptions(struct thread_test *test) {
  uint64_t bitmap[(EXCEPTIONS + 63) / 64];
  while (atomic_load(&test->working)) {
    for (size_t i = 0; i < EXCEPTIONS; i++) expect(!besom_contains_u64(test->f, exception_keys[i]));
    expect(besom_contains_many_u64(test->f, exception_keys, EXCEPTIONS, bitmap) == BESOM_OK &&
           bitmap[0] == 0);
  }
}

/* Threads 0 and 1 write, so that read_keys knows what there is. */
static void write_read_and_resize(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_with_retry(test, thread);
  else if (thread == THREADS / 2)
    resize_repeatedly(test);
  else if (test->round % 2)
    read_exceptions(test);
  else
    read_keys(test, thread);
}

static void queries_go_on_while_the_table_is_exchanged(void **state) {
  (void)state;
  besom_filter *plain = make_plain(NULL);
  for (unsigned round = 0; round < 2; round++) {
    besom_config config = config_with(NULL);
    struct thread_test test = {.f = make(&config), .work = write_read_and_resize, .round = round};
    if (round % 2) add_exceptions(test.f);
    run_threads(&test);
    assert_nothing_wrong(test.f);
    assert_int_equal(stats_of(test.f).slots, SLOTS);
    assert_int_equal(counter_of(test.f, "exceptions"), round % 2 ? EXCEPTIONS : 0);
    for (size_t i = 0; i < EXCEPTIONS && round % 2; i++) no_remove_u64(test.f, exception_keys[i]);
    assert_answers_like(test.f, plain);
    besom_free(test.f);
  }
  besom_free(plain);
}

/* All want another size at once: one after the other gets it. */
static void resize_together(struct thread_test *test, unsigned thread) {
  for (unsigned i = 0; i < 20; i++) {
    besom_statistics stats;
    besom_status status =
        thread % 2 ? besom_resize(test->f, 2 * SLOTS, NULL) : besom_resize(test->f, SLOTS, NULL);
    expect(status == BESOM_OK);
    expect(besom_stats(test->f, &stats) == BESOM_OK &&
           (stats.slots == SLOTS || stats.slots == 2 * SLOTS));
    expect(besom_contains_u64(test->f, 1));
  }
}

static void exchanges_wait_for_each_other(void **state) {
  (void)state;
  besom_config config = config_with(NULL);
  struct thread_test test = {.f = make(&config), .work = resize_together};
  assert_int_equal(besom_insert_u64(test.f, 1), BESOM_OK);
  run_threads(&test);
  assert_nothing_wrong(test.f);
  assert_int_equal(stats_of(test.f).keys, 1);
  besom_free(test.f);
}

/* ------------------------------------------------------------------ another hash key */

/* All keys that any writer has inserted, or is about to. */
struct all_kept {
  struct thread_test *test;
  unsigned thread;
  size_t i;
  uint64_t key;
};

static besom_status next_kept(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct all_kept *all = ctx;
  (void)weight;
  while (all->i == atomic_load(&all->test->begun[all->thread])) {
    if (++all->thread == THREADS / 2) return BESOM_END;
    all->i = 0;
  }
  store64((uint8_t *)&all->key, kept_key(all->thread, all->i++));
  *key = (besom_bytes){&all->key, sizeof all->key};
  return BESOM_OK;
}

static void rekey_repeatedly(struct thread_test *test) {
  for (unsigned i = 0; i < 2 || atomic_load(&test->working); i++) {
    struct all_kept all = {.test = test};
    besom_source source = {.next = next_kept, .ctx = &all};
    besom_task *task;
    besom_status status = i % 2 ? besom_rekey(test->f, &source, NULL, NULL, NULL)
                                : besom_rekey(test->f, &source, NULL, NULL, &task);
    for (bool finished = i % 2; status == BESOM_OK && !finished;)
      status = besom_task_step(task, 500, &finished);
    expect(status == BESOM_OK);
    wait_for_writers(test);
  }
}

/* Counts a key as begun before inserting it: so a rekey has it, or comes first. */
static void write_begun(struct thread_test *test, unsigned thread) {
  for (size_t i = 0; i < KEPT; i++) {
    atomic_store(&test->begun[thread], i + 1);
    expect(with_retry(besom_insert_u64, test->f, kept_key(thread, i)) == BESOM_OK);
    atomic_store_explicit(&test->kept[thread], i + 1, memory_order_release);
  }
  atomic_fetch_sub(&test->working, 1);
}

/* By keys only: a digest is not valid after a change of the seed. */
static void read_by_keys(struct thread_test *test, unsigned reader) {
  random_stream random = {reader};
  while (atomic_load(&test->working)) {
    unsigned thread = (unsigned)random_below(&random, THREADS / 2);
    size_t kept = atomic_load_explicit(&test->kept[thread], memory_order_acquire);
    uint64_t keys[BATCH], bitmap[(BATCH + 63) / 64], n = 0;
    if (!kept) continue;
    for (size_t i = 0; i < BATCH; i++) keys[i] = kept_key(thread, random_below(&random, kept));
    for (size_t i = 0; i < BATCH; i++) expect(besom_contains_u64(test->f, keys[i]));
    for (size_t i = 0; i < BATCH; i++)
      expect(besom_contains(test->f, besom_u64(keys[i]).bytes, sizeof keys[i]));
    expect(besom_contains_many_u64(test->f, keys, BATCH, bitmap) == BESOM_OK);
    for (size_t i = 0; i < BATCH; i++) expect(bitmap[i / 64] >> (i % 64) & 1);
    expect(besom_count_u64(test->f, keys[0], &n) == BESOM_OK && n >= 1);
  }
}

static void write_read_and_rekey(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_begun(test, thread);
  else if (thread == THREADS / 2)
    rekey_repeatedly(test);
  else
    read_by_keys(test, thread);
}

static void queries_go_on_while_the_hash_changes(void **state) {
  (void)state;
  besom_config config = config_with(NULL);
  struct thread_test test = {.f = make(&config), .work = write_read_and_rekey};
  besom_digest before = besom_hash_u64(test.f, 1);
  run_threads(&test);
  assert_nothing_wrong(test.f);
  assert_true(besom_hash_u64(test.f, 1).hi != before.hi);
  for (unsigned thread = 0; thread < THREADS / 2; thread++)
    for (size_t i = 0; i < KEPT; i++) assert_true(besom_contains_u64(test.f, kept_key(thread, i)));
  besom_free(test.f);
}

/* ------------------------------------------------------------------ what was loaded */

static void write_and_read(struct thread_test *test, unsigned thread) {
  if (thread < THREADS / 2)
    write_keys(test, thread);
  else
    read_keys(test, thread);
}

static besom_filter *loaded_copy(const besom_filter *f, const besom_allocator *allocator) {
  memory_sink sink;
  besom_filter *copy = NULL;
  memory_sink_init(&sink);
  assert_int_equal(besom_save(f, &sink.api), BESOM_OK);
  assert_int_equal(besom_load(sink.data, sink.len, allocator, &copy), BESOM_OK);
  memory_sink_close(&sink);
  return copy;
}

static besom_filter *make_empty_plain(void) {
  besom_config config = config_with(NULL);
  config.flags = 0;
  return make(&config);
}

static void a_loaded_filter_can_be_shared(void **state) {
  (void)state;
  besom_filter *saved = make_empty_plain();
  struct thread_test test = {.f = loaded_copy(saved, NULL), .work = write_and_read};
  assert_int_equal(besom_share(test.f), BESOM_OK);
  assert_int_equal(besom_share(test.f), BESOM_OK);
  run_threads(&test);
  assert_nothing_wrong(test.f);
  assert_like_plain(test.f, NULL);
  besom_free(test.f);
  besom_free(saved);
}

static void sharing_is_refused_where_it_makes_no_sense(void **state) {
  (void)state;
  temp_dir dir;
  besom_filter *plain = make_empty_plain(), *mapped = NULL, *bloom = NULL;
  besom_task *task;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "saved");
  assert_int_equal(besom_save_file(plain, path.text), BESOM_OK);
  assert_int_equal(besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &mapped),
                   BESOM_OK);
  assert_int_equal(besom_create(&(besom_config){.kind = "bloom", .capacity = 100}, &bloom),
                   BESOM_OK);
  assert_int_equal(besom_share(NULL), BESOM_INVALID);
  assert_int_equal(besom_share(mapped), BESOM_READ_ONLY);
  assert_int_equal(besom_share(bloom), BESOM_UNSUPPORTED);
  assert_int_equal(besom_resize(plain, 2 * SLOTS, &task), BESOM_OK);
  assert_int_equal(besom_share(plain), BESOM_BUSY);
  besom_free(plain);
  besom_free(mapped);
  temp_dir_remove(&dir);
  besom_free(bloom);
}

static void a_filter_that_cannot_be_shared_is_as_it_was(void **state) {
  (void)state;
#ifdef BESOM_THREAD_SANITIZER
  skip(); /* one thread only, and slow */
#endif
  failing_allocator memory;
  besom_filter *full = make_plain(NULL);
  failing_allocator_init(&memory);
  besom_filter *f = loaded_copy(full, &memory.api);
  besom_status status = BESOM_NO_MEMORY;
  for (uint64_t n = 1; status == BESOM_NO_MEMORY; n++) {
    memory.calls = 0;
    memory.fail_at = n;
    status = besom_share(f);
    assert_nothing_wrong(f);
    assert_like_plain(f, NULL);
    assert_true(n < 10);
  }
  assert_int_equal(status, BESOM_OK);
  memory.fail_at = 0;
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  besom_free(full);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queries_go_on_while_the_table_is_exchanged),
      cmocka_unit_test(exchanges_wait_for_each_other),
      cmocka_unit_test(queries_go_on_while_the_hash_changes),
      cmocka_unit_test(a_loaded_filter_can_be_shared),
      cmocka_unit_test(sharing_is_refused_where_it_makes_no_sense),
      cmocka_unit_test(a_filter_that_cannot_be_shared_is_as_it_was),
  };
  return cmocka_run_group_tests_name("threads_exchange", tests, NULL, NULL);
}
