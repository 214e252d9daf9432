/*
 * Thread-safe filters that are grown, shrunk and rekeyed while other threads query and change them;
 * that were loaded and then shared; and that are in front of a store which several threads fill.
 * As threads.c, built a second time with the thread sanitizer.
 */
#define _DEFAULT_SOURCE 1 /* threads */
#include "threads_support.h"

#include <sched.h>

#include "besom_store.h"
#include "filter.h"
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

/* ------------------------------------------------------------------ in front of a store */

/* Keys per thread; a width so small that threads share many buckets. */
enum { STORED = SCALE == 1 ? 600 : 1500, WIDE = 4 };

/* A filter, its memory store, and the lock of the store, which takes one call at a time. */
struct archive {
  struct thread_test test; /* first, so that a thread finds the rest */
  besom_store *store;
  pthread_mutex_t lock;
  unsigned appends; /* every seventh fails */
};

/* What a thread does with one key while it is locked. */
struct key_task {
  struct archive *archive;
  besom_digest digest;
  uint64_t key;
};

static besom_place place_of(besom_match at) {
  return (besom_place){.bucket = at.bucket, .rank = at.rank};
}

static besom_status append(struct archive *archive, besom_match at, uint64_t key) {
  uint64_t bytes = little_endian(key);
  besom_record record = {{&bytes, sizeof bytes}, {NULL, 0}};
  pthread_mutex_lock(&archive->lock);
  besom_status status = ++archive->appends % 7
                            ? archive->store->ops->append(archive->store, place_of(at), &record)
                            : BESOM_IO;
  pthread_mutex_unlock(&archive->lock);
  return status;
}

/* A store that sees another rank than the filter returned says INVALID. */
static besom_status put(void *ctx, besom_filter *view) {
  struct key_task *task = ctx;
  besom_match at;
  besom_status status = view->kind->insert_at(view, task->digest, 0, &at);
  if (status != BESOM_OK) return status;
  if (task->key % 8 == 0)
    sched_yield(); /* gives other threads the time to come in between, if they can */
  status = append(task->archive, at, task->key);
  if (status != BESOM_OK) expect(view->kind->remove_at(view, at) == BESOM_OK);
  return status;
}

struct search {
  uint64_t key;
  besom_match at;
  bool found;
};

static besom_status compare(void *ctx, besom_place at, const besom_record *record) {
  struct search *search = ctx;
  uint64_t key;
  memcpy(&key, record->key.data, sizeof key);
  if (little_endian(key) != search->key) return BESOM_OK;
  search->at = (besom_match){at.bucket, at.rank};
  search->found = true;
  return BESOM_END;
}

/* Finds the record of a key: one of the matches must be it. */
static bool find(struct archive *archive, besom_filter *view, const struct key_task *task,
                 struct search *search) {
  besom_match matches[64];
  size_t n = 0;
  expect(view->kind->matches(view, task->digest, matches, 64, &n) == BESOM_OK && n <= 64);
  *search = (struct search){.key = task->key};
  if (n) archive->store->ops->get(archive->store, place_of(matches[0]), compare, search);
  for (size_t i = 0; i < n; i++)
    if (search->found && matches[i].rank == search->at.rank) return true;
  return false;
}

static besom_status take_out(void *ctx, besom_filter *view) {
  struct key_task *task = ctx;
  struct search search;
  pthread_mutex_lock(&task->archive->lock);
  besom_status status = BESOM_NOT_FOUND;
  if (find(task->archive, view, task, &search))
    status = task->archive->store->ops->remove(task->archive->store, place_of(search.at));
  pthread_mutex_unlock(&task->archive->lock);
  return status == BESOM_OK ? view->kind->remove_at(view, search.at) : status;
}

/* Extends the fingerprint of a member, against a key that differs in a later bit. */
static besom_status lengthen(void *ctx, besom_filter *view) {
  struct key_task *task = ctx;
  struct search search;
  pthread_mutex_lock(&task->archive->lock);
  bool found = find(task->archive, view, task, &search);
  pthread_mutex_unlock(&task->archive->lock);
  if (!found) return BESOM_NOT_FOUND;
  besom_digest offender = {task->digest.hi ^ 1 << 20, task->digest.lo};
  besom_status status = view->kind->adapt_at(view, offender, search.at, task->digest);
  return status == BESOM_FULL ? BESOM_OK : status;
}

static void file_keys(struct thread_test *test, unsigned thread) {
  struct archive *archive = (struct archive *)test;
  for (size_t i = 0; i < STORED; i++) {
    uint64_t key = kept_key(thread, i);
    struct key_task task = {archive, besom_hash_u64(test->f, key), key};
    besom_status status;
    do status = besom__with_key(test->f, task.digest, put, &task);
    while (status == BESOM_IO);
    expect(status == BESOM_OK);
    if (i % 5 == 0) expect(besom__with_key(test->f, task.digest, lengthen, &task) == BESOM_OK);
    expect(besom_contains_u64(test->f, key));
    if (i % 3 == 0) expect(besom__with_key(test->f, task.digest, take_out, &task) == BESOM_OK);
  }
}

/* Each record of the store has a match in the filter, at its rank. */
static besom_status check_record(void *ctx, besom_place at, const besom_record *record) {
  const besom_filter *f = ctx;
  besom_match matches[64];
  size_t n = 0;
  besom_digest d = besom_hash(f, record->key.data, record->key.len);
  expect(besom_matches(f, d, matches, 64, &n) == BESOM_OK);
  for (size_t i = 0; i < n && i < 64; i++)
    if (matches[i].bucket == at.bucket && matches[i].rank == at.rank) return BESOM_OK;
  return BESOM_NOT_FOUND;
}

static void store_together(uint64_t slots, bool shared) {
  besom_config config = config_with(NULL);
  struct archive archive = {.test.work = file_keys};
  besom_store_statistics stored;
  config.width = WIDE;
  config.slots = slots;
  config.reserve = 0.3;
  config.flags = shared ? BESOM_CONCURRENT : 0;
  archive.test.f = make(&config);
  pthread_mutex_init(&archive.lock, NULL);
  assert_int_equal(besom_store_memory(NULL, &archive.store), BESOM_OK);
  if (shared)
    run_threads(&archive.test);
  else
    file_keys(&archive.test, 0);
  assert_nothing_wrong(archive.test.f);
  assert_int_equal(besom_store_stats(archive.store, &stored), BESOM_OK);
  assert_int_equal(stored.records, (shared ? THREADS : 1) * (STORED - (STORED + 2) / 3));
  assert_int_equal(stats_of(archive.test.f).keys, stored.records);
  assert_true(counter_of(archive.test.f, "extended") > 0);
  assert_int_equal(
      archive.store->ops->scan(archive.store, (besom_place){0}, check_record, archive.test.f),
      BESOM_OK);
  assert_nothing_wrong(archive.test.f);
  besom_store_close(archive.store);
  pthread_mutex_destroy(&archive.lock);
  besom_free(archive.test.f);
}

/* In a table with many free slots, and in one with so few that regions return their credit. */
static void ranks_and_store_agree(void **state) {
  (void)state;
  store_together(3 * 4096, true);
  store_together(6 * STORED, true);
  store_together(4096, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queries_go_on_while_the_table_is_exchanged),
      cmocka_unit_test(exchanges_wait_for_each_other),
      cmocka_unit_test(queries_go_on_while_the_hash_changes),
      cmocka_unit_test(a_loaded_filter_can_be_shared),
      cmocka_unit_test(sharing_is_refused_where_it_makes_no_sense),
      cmocka_unit_test(a_filter_that_cannot_be_shared_is_as_it_was),
      cmocka_unit_test(ranks_and_store_agree),
  };
  return cmocka_run_group_tests_name("threads_exchange", tests, NULL, NULL);
}
