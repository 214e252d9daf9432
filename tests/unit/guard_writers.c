/* Several writers: they agree with their models, share commits, and wait for batches. */
#define _DEFAULT_SOURCE 1 /* usleep */
#include <limits.h>

#include "guard/guard.h"
#include "guard_commits.h"

enum { WRITERS = 4, KEYS = 60, CHANGES = 200 };

/* ------------------------------------------------------------------ several writers */

/* A thread that changes keys of its own, so it knows which of them are there. */
typedef struct writer {
  besom_guard *guard;
  uint64_t number;
  bool batches, may_fail;
  bool present[KEYS], before[KEYS];
  unsigned failures; /* changes that returned DISK_FULL */
  const char *wrong;
} writer;

static uint64_t key_of(const writer *w, uint64_t i) {
  return key_u64(MEMBERS, w->number * KEYS + i);
}

static void expect(writer *w, bool condition, const char *what) {
  if (!condition && !w->wrong) w->wrong = what;
}

static void change_one(writer *w, random_stream *random) {
  uint64_t i = random_below(random, KEYS), key = key_of(w, i);
  bool puts = random_below(random, 3);
  besom_status status =
      puts ? besom_guard_put_u64(w->guard, key, &key, 8, 0) : besom_guard_delete_u64(w->guard, key);
  if (!w->may_fail || status != BESOM_DISK_FULL) {
    expect(w, status == (puts || w->present[i] ? BESOM_OK : BESOM_NOT_FOUND), "change");
    w->present[i] = puts;
  } else {
    w->failures++;
  }
  i = random_below(random, KEYS);
  status = besom_guard_get_u64(w->guard, key_of(w, i), NULL);
  expect(w, status == (w->present[i] ? BESOM_OK : BESOM_NOT_FOUND), "get");
}

/* All of them are put, or none. */
static void put_many(writer *w, random_stream *random) {
  enum { N = 5 };
  uint64_t numbers[N], keys[N];
  besom_bytes bytes[N];
  for (unsigned i = 0; i < N; i++) {
    numbers[i] = random_below(random, KEYS);
    keys[i] = little_endian(key_of(w, numbers[i]));
    bytes[i] = (besom_bytes){&keys[i], 8};
  }
  besom_status status = besom_guard_put_many(w->guard, bytes, bytes, N, 0);
  if (w->may_fail && status == BESOM_DISK_FULL) {
    w->failures++;
    return;
  }
  expect(w, status == BESOM_OK, "put_many");
  for (unsigned i = 0; i < N; i++) w->present[numbers[i]] = true;
}

static void get_many(writer *w) {
  uint64_t keys[KEYS], found;
  besom_bytes bytes[KEYS];
  for (uint64_t i = 0; i < KEYS; i++) {
    keys[i] = little_endian(key_of(w, i));
    bytes[i] = (besom_bytes){&keys[i], 8};
  }
  expect(w, besom_guard_get_many(w->guard, bytes, KEYS, NULL, &found) == BESOM_OK, "get_many");
  for (uint64_t i = 0; i < KEYS; i++) expect(w, (found >> i & 1) == w->present[i], "found");
}

static void change_batch(writer *w, random_stream *random, bool keep) {
  memcpy(w->before, w->present, sizeof w->before);
  expect(w, besom_guard_begin(w->guard) == BESOM_OK, "begin");
  for (unsigned i = 0; i < 5; i++) change_one(w, random);
  put_many(w, random);
  get_many(w);
  expect(w, (keep ? besom_guard_commit : besom_guard_abort)(w->guard) == BESOM_OK, "end of batch");
  if (!keep) memcpy(w->present, w->before, sizeof w->before);
}

static void *writer_thread(void *ctx) {
  writer *w = ctx;
  random_stream random = {w->number};
  for (unsigned i = 0; i < CHANGES && !w->wrong; i++) {
    change_one(w, &random);
    if (w->batches && i % 16 == 0) change_batch(w, &random, i % 32);
    if (i % 16 == 8) put_many(w, &random);
    if (i % 8 == 0) get_many(w);
    if (i % 100 == 7) expect(w, besom_guard_step(w->guard, 20, NULL) == BESOM_OK, "step");
    if (i % 100 == 50) expect(w, besom_guard_sync(w->guard) == BESOM_OK, "sync");
    if (i % 200 == 99) {
      besom_status status = besom_guard_rekey(w->guard);
      expect(w, status == BESOM_OK || status == BESOM_BUSY, "rekey");
    }
  }
  return NULL;
}

/* Deletes all keys: if a rank were wrong, a delete would remove the fingerprint of another key. */
static void assert_agreement(besom_guard *g, writer *writers, unsigned n) {
  uint64_t keys = 0;
  for (unsigned t = 0; t < n; t++)
    for (uint64_t i = 0; i < KEYS; i++) {
      besom_status status = besom_guard_delete_u64(g, key_of(&writers[t], i));
      assert_int_equal(status, writers[t].present[i] ? BESOM_OK : BESOM_NOT_FOUND);
      keys += writers[t].present[i];
    }
  assert_true(keys > KEYS / 4);
  assert_int_equal(stats_of(g).keys, 0);
}

static void run_writers(besom_guard *g, writer writers[WRITERS], void *(*run)(void *writer)) {
  pthread_t threads[WRITERS];
  for (unsigned i = 0; i < WRITERS; i++) {
    writers[i].guard = g;
    writers[i].number = i;
    assert_int_equal(pthread_create(&threads[i], NULL, run, &writers[i]), 0);
  }
  for (unsigned i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
  for (unsigned i = 0; i < WRITERS; i++) {
    if (writers[i].wrong) print_error("writer %u: %s\n", i, writers[i].wrong);
    assert_null(writers[i].wrong);
  }
}

static void several_writers(besom_guard_config config) {
  writer writers[WRITERS] = {{.batches = true}, {.batches = true}};
  besom_guard *g = open_guard(config);
  run_writers(g, writers, writer_thread);
  assert_agreement(g, writers, WRITERS);
  close_guard(g);
}

static void several_writers_agree_with_their_models(void **state) {
  (void)state;
  const uint32_t long_time = 600000;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    bool split = level == BESOM_DURABLE_BATCH;
    several_writers((besom_guard_config){.durability = level,
                                         .layout = split ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                                         .background = split ? 0 : 0.5,
                                         .busy_timeout_ms = long_time});
  }
}

/* ------------------------------------------------------------------ shared commits */

static void *changing_thread(void *ctx) {
  writer *w = ctx;
  random_stream random = {w->number};
  for (unsigned i = 0; i < CHANGES && !w->wrong; i++) {
    change_one(w, &random);
    if (i % 16 == 8) put_many(w, &random);
    if (i % 16 == 9) get_many(w);
  }
  return NULL;
}

/* A commit that fails fails exactly the calls that wait for it. */
static void a_failed_commit_fails_those_that_wait_for_it(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    writer writers[WRITERS] = {
        {.may_fail = true}, {.may_fail = true}, {.may_fail = true}, {.may_fail = true}};
    besom_guard *g = open_guard((besom_guard_config){.layout = layout});
    fail_every = 3;
    run_writers(g, writers, changing_thread);
    unsigned failures = 0;
    for (unsigned i = 0; i < WRITERS; i++) failures += writers[i].failures;
    assert_true(failures > 0);
    fail_every = 0;
    assert_agreement(g, writers, WRITERS);
    close_guard(g);
  }
}

static void *putting_thread(void *ctx) {
  writer *w = ctx;
  for (uint64_t i = 0; i < KEYS; i++)
    expect(w, besom_guard_put_u64(w->guard, key_of(w, i), "", 0, 0) == BESOM_OK, "put");
  return NULL;
}

/* Commits take long, so that others come meanwhile. */
static void writers_share_commits(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_BATCH; level++) {
    writer writers[WRITERS] = {{.number = 0}};
    besom_guard *g = open_guard((besom_guard_config){.durability = level});
    commit_us = 1000;
    run_writers(g, writers, putting_thread);
    assert_int_equal(stats_of(g).keys, WRITERS * KEYS);
    assert_true(commits < WRITERS * KEYS);
    close_guard(g);
  }
}

typedef besom_status (*change)(besom_guard *g, uint64_t key);

static besom_status put_key(besom_guard *g, uint64_t key) {
  return besom_guard_put_u64(g, key, "", 0, 0);
}

static besom_status put_new_key(besom_guard *g, uint64_t key) {
  return besom_guard_put_u64(g, key, "", 0, BESOM_PUT_NEW);
}

static besom_status delete_key(besom_guard *g, uint64_t key) {
  return besom_guard_delete_u64(g, key);
}

static besom_status no_put_key(besom_guard *g, uint64_t key) {
  return besom_guard_no_put(g, besom_u64(key).bytes, 8);
}

static besom_status no_delete_key(besom_guard *g, uint64_t key) {
  return besom_guard_no_delete(g, besom_u64(key).bytes, 8);
}

/* A call of another thread that waits for its commit until this thread causes one. */
typedef struct waiting_call {
  besom_guard *guard;
  change call;
  uint64_t key;
  besom_status status;
  pthread_t thread;
} waiting_call;

static void *run_call(void *ctx) {
  waiting_call *c = ctx;
  c->status = c->call(c->guard, c->key);
  return NULL;
}

static unsigned members_of(besom_guard *g) {
  besom__lock_writer(g->locks);
  unsigned members = g->shared.members;
  besom__unlock_writer(g->locks);
  return members;
}

/* Returns when it waits. The commit comes with the given number of members, or on demand. */
static void start_call(waiting_call *c, unsigned expected) {
  besom_guard *g = c->guard;
  besom__lock_writer(g->locks);
  unsigned members = g->shared.members;
  g->shared.expected = expected;
  g->shared.delay = UINT64_C(3600) * 1000000000;
  besom__unlock_writer(g->locks);
  assert_int_equal(pthread_create(&c->thread, NULL, run_call, c), 0);
  while (members_of(g) == members) usleep(100);
}

static besom_status end_call(waiting_call *c) {
  pthread_join(c->thread, NULL);
  return c->status;
}

/* As many keys as the filter can hold. It does not grow before it is full, and then slowly. */
static besom_guard *open_full_guard(besom_layout layout, uint64_t *keys) {
  static const uint8_t seed[16] = "a full filter...";
  besom_config filter = {.kind = "aqf", .slots = 64, .width = 8, .seed = seed};
  besom_guard_config config = {.layout = layout, .grow_at = 0.999, .step_items = 1};
  besom_guard *g = open_guard_of(filter, config);
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(g), &stats), BESOM_OK);
  *keys = stats.capacity;
  for (uint64_t i = 0; i < *keys; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "old", 3, 0), BESOM_OK);
  assert_int_equal(stats_of(g).growths, 0);
  return g;
}

static void assert_old_values(besom_guard *g, uint64_t keys) {
  for (uint64_t i = 0; i < keys; i++) {
    besom_bytes value;
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), &value), BESOM_OK);
    assert_int_equal(value.len, 3);
    besom_guard_release(g, &value);
  }
}

/* Two writers wait, one of them with a delete. A put that finds the filter full commits for them,
   and the commit fails, and perhaps the reads of the rollback. The put may be that of the deleted
   key, which is back then. */
static void fail_for_a_full_filter(besom_layout layout, unsigned reads, bool deleted_key) {
  uint64_t keys;
  besom_guard *g = open_full_guard(layout, &keys);
  waiting_call deletes = {.guard = g, .call = delete_key, .key = key_u64(MEMBERS, 0)};
  waiting_call puts = {.guard = g, .call = put_key, .key = key_u64(MEMBERS, keys)};
  start_call(&deletes, UINT_MAX);
  start_call(&puts, UINT_MAX);
  commits_to_fail = 1;
  reads_per_fault = reads;
  uint64_t key = key_u64(MEMBERS, deleted_key ? 0 : keys + 1);
  besom_status status = besom_guard_put_u64(g, key, "later", 5, 0);
  assert_int_equal(end_call(&deletes), BESOM_DISK_FULL);
  assert_int_equal(end_call(&puts), BESOM_DISK_FULL);
  assert_int_equal(besom_guard_sync(g), BESOM_OK); /* finishes the rollback */
  assert_old_values(g, keys);
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_int_equal(stats_of(g).keys, keys);
  assert_int_equal(besom_guard_put_u64(g, key, "later", 5, 0), BESOM_OK);
  assert_int_equal(stats_of(g).keys, keys + !deleted_key);
  close_guard(g);
}

static void a_failed_commit_for_a_full_filter_loses_no_key(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++)
    for (unsigned reads = 0; reads <= 2; reads += 2) /* the bucket, and all of the filter */
      for (unsigned deleted_key = 0; deleted_key < 2; deleted_key++)
        fail_for_a_full_filter(layout, reads, deleted_key);
}

/* Two changes of one key: what the second one returns because of the first, if both succeed. */
typedef struct key_pair {
  change prepare, first, second;
  besom_status status;
} key_pair;

static const key_pair pairs[] = {
    {NULL, put_key, put_key, BESOM_OK},
    {NULL, put_key, put_new_key, BESOM_OK},
    {NULL, put_key, delete_key, BESOM_OK},
    {NULL, put_key, no_put_key, BESOM_IS_MEMBER},
    {put_key, delete_key, delete_key, BESOM_NOT_FOUND},
    {put_key, delete_key, put_key, BESOM_OK},
    {put_key, delete_key, no_put_key, BESOM_OK},
    {NULL, no_put_key, no_put_key, BESOM_OK},
    {NULL, no_put_key, put_key, BESOM_IS_MEMBER},
    {NULL, no_put_key, put_new_key, BESOM_IS_MEMBER},
    {NULL, no_put_key, no_delete_key, BESOM_OK},
    {no_put_key, no_delete_key, no_delete_key, BESOM_NOT_FOUND},
    {no_put_key, no_delete_key, no_put_key, BESOM_OK},
    {no_put_key, no_delete_key, put_key, BESOM_OK},
};

/* The second writer sees what the first one has changed, so it returns after the same commit. */
static void change_one_key_twice(besom_guard *g, const key_pair *pair, uint64_t key, bool fails) {
  waiting_call first = {.guard = g, .call = pair->first, .key = key};
  if (pair->prepare) assert_int_equal(pair->prepare(g, key), BESOM_OK);
  start_call(&first, 2);
  unsigned before = commits;
  commits_to_fail = fails;
  besom_status second = pair->second(g, key);
  assert_int_equal(commits, before + 1);
  assert_int_equal(end_call(&first), fails ? BESOM_DISK_FULL : BESOM_OK);
  assert_int_equal(second, fails ? BESOM_DISK_FULL : pair->status);
  if (!fails) return;
  assert_int_equal(besom_guard_get_u64(g, key, NULL),
                   pair->prepare == put_key ? BESOM_OK : BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_no_has(g, besom_u64(key).bytes, 8),
                   pair->prepare == no_put_key ? BESOM_OK : BESOM_NOT_FOUND);
}

static void what_depends_on_a_change_waits_for_its_commit(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_BATCH; level++) {
    besom_guard *g = open_guard((besom_guard_config){.durability = level});
    for (uint64_t i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++)
      change_one_key_twice(g, &pairs[i / 2], key_u64(MEMBERS, i), i % 2);
    close_guard(g);
  }
}

/* ------------------------------------------------------------------ batches */

typedef struct other_thread {
  besom_guard *guard;
  besom_status put, put_many, begin, commit, abort;
} other_thread;

static void *use_beside_a_batch(void *ctx) {
  other_thread *o = ctx;
  o->put = besom_guard_put_u64(o->guard, 2, "", 0, 0);
  besom_bytes key = {"key", 3};
  o->put_many = besom_guard_put_many(o->guard, &key, &key, 1, 0);
  o->begin = besom_guard_begin(o->guard);
  o->commit = besom_guard_commit(o->guard);
  o->abort = besom_guard_abort(o->guard);
  return NULL;
}

static void a_batch_belongs_to_its_thread(void **state) {
  (void)state;
  pthread_t thread;
  besom_guard *g = open_guard((besom_guard_config){.busy_timeout_ms = 1});
  other_thread other = {.guard = g};
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_begin(g), BESOM_BUSY);
  assert_int_equal(besom_guard_put_u64(g, 1, "", 0, 0), BESOM_OK);
  assert_int_equal(pthread_create(&thread, NULL, use_beside_a_batch, &other), 0);
  pthread_join(thread, NULL);
  assert_int_equal(other.put, BESOM_BUSY);
  assert_int_equal(other.put_many, BESOM_BUSY);
  assert_int_equal(other.begin, BESOM_BUSY);
  assert_int_equal(other.commit, BESOM_INVALID);
  assert_int_equal(other.abort, BESOM_INVALID);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_int_equal(stats_of(g).keys, 1);
  assert_int_equal(besom_guard_begin(g), BESOM_OK); /* close aborts it */
  assert_int_equal(besom_guard_put_u64(g, 3, "", 0, 0), BESOM_OK);
  close_guard(g);
}

static void *put_when_free(void *ctx) {
  other_thread *o = ctx;
  o->put = besom_guard_put_u64(o->guard, 2, "", 0, 0);
  return NULL;
}

static void writers_wait_for_the_end_of_a_batch(void **state) {
  (void)state;
  pthread_t thread;
  besom_guard *g = open_guard((besom_guard_config){.busy_timeout_ms = UINT32_MAX});
  other_thread other = {.guard = g};
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(pthread_create(&thread, NULL, put_when_free, &other), 0);
  for (uint64_t i = 10; i < 200; i++)
    assert_int_equal(besom_guard_put_u64(g, i, "", 0, 0), BESOM_OK);
  assert_int_equal(besom_guard_abort(g), BESOM_OK);
  pthread_join(thread, NULL);
  assert_int_equal(other.put, BESOM_OK);
  assert_int_equal(stats_of(g).keys, 1);
  close_guard(g);
}

/* A thread that begins one batch after the other does not keep another one from its put. */
static void those_that_wait_for_a_batch_are_next(void **state) {
  (void)state;
  pthread_t thread;
  besom_guard *g = open_guard((besom_guard_config){.busy_timeout_ms = UINT32_MAX});
  other_thread other = {.guard = g};
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(pthread_create(&thread, NULL, put_when_free, &other), 0);
  while (!__atomic_load_n(&g->batch_waiters, __ATOMIC_RELAXED)) usleep(100);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_get_u64(g, 2, NULL), BESOM_OK);
  assert_int_equal(besom_guard_abort(g), BESOM_OK);
  pthread_join(thread, NULL);
  assert_int_equal(other.put, BESOM_OK);
  close_guard(g);
}

/* ------------------------------------------------------------------ merging */

/* A merge that waits for a batch has neither lock: the thread of the batch uses both guards. */
static void a_merge_waits_for_batches_of_both_guards(void **state) {
  (void)state;
  for (unsigned of_from = 0; of_from < 2; of_from++) {
    pthread_t thread;
    merge_call m = open_two((besom_guard_config){.busy_timeout_ms = UINT32_MAX});
    besom_guard *busy = of_from ? m.from : m.into, *other = of_from ? m.into : m.from;
    assert_int_equal(besom_guard_begin(busy), BESOM_OK);
    assert_int_equal(pthread_create(&thread, NULL, merge_in_thread, &m), 0);
    while (!__atomic_load_n(&busy->batch_waiters, __ATOMIC_RELAXED)) usleep(100);
    assert_int_equal(besom_guard_put_u64(other, 1, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(busy, 2, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_commit(busy), BESOM_OK);
    pthread_join(thread, NULL);
    assert_int_equal(m.status, BESOM_OK);
    assert_int_equal(stats_of(m.into).keys, 2);
    close_two(&m);
  }
}

/* After BUSY, no lock is held. */
static void a_merge_is_busy_after_its_time_limit(void **state) {
  (void)state;
  for (unsigned of_from = 0; of_from < 2; of_from++) {
    pthread_t thread;
    merge_call m = open_two((besom_guard_config){.busy_timeout_ms = 1});
    besom_guard *busy = of_from ? m.from : m.into;
    assert_int_equal(besom_guard_begin(busy), BESOM_OK);
    assert_int_equal(pthread_create(&thread, NULL, merge_in_thread, &m), 0);
    pthread_join(thread, NULL);
    assert_int_equal(m.status, BESOM_BUSY);
    assert_int_equal(besom_guard_put_u64(m.into, 1, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(m.from, 2, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_merge(m.into, m.from), BESOM_BUSY); /* its own batch */
    assert_int_equal(besom_guard_commit(busy), BESOM_OK);
    assert_int_equal(besom_guard_merge(m.into, m.from), BESOM_OK);
    assert_int_equal(stats_of(m.into).keys, 2);
    assert_int_equal(m.into->images.n, 0);
    close_two(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_writers_agree_with_their_models),
      cmocka_unit_test(a_failed_commit_fails_those_that_wait_for_it),
      cmocka_unit_test(writers_share_commits),
      cmocka_unit_test(a_failed_commit_for_a_full_filter_loses_no_key),
      cmocka_unit_test(what_depends_on_a_change_waits_for_its_commit),
      cmocka_unit_test(a_batch_belongs_to_its_thread),
      cmocka_unit_test(writers_wait_for_the_end_of_a_batch),
      cmocka_unit_test(those_that_wait_for_a_batch_are_next),
      cmocka_unit_test(a_merge_waits_for_batches_of_both_guards),
      cmocka_unit_test(a_merge_is_busy_after_its_time_limit),
  };
  return RUN_OVER_BOTH_STORES(tests);
}
