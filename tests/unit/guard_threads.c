/* One writer, many readers: answers are exact while the writer works, and the writer adapts to what
   readers queue. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/keys.h"

enum { READERS = 3, STEADY = 300, CHANGING = 300, QUERIES = 2500 };

typedef struct shared {
  besom_guard *guard;
  bool disk_full; /* the store refuses some changes and commits */
  atomic_bool done;
  atomic_uint wrong;
} shared;

/* Steady keys are always members, absent keys never; changing keys come and go. */
static uint64_t steady(uint64_t i) {
  return key_u64(MEMBERS, i);
}

static uint64_t absent(uint64_t i) {
  return key_u64(NEGATIVES, i);
}

static uint64_t changing(uint64_t i) {
  return key_u64(MORE_MEMBERS, i);
}

/* The value of a key is the key. must: the expected status; END for either. */
static bool answer_is_exact(shared *s, uint64_t key, besom_status must) {
  besom_bytes value;
  besom_status status = besom_guard_get_u64(s->guard, key, &value);
  bool right = status == BESOM_NOT_FOUND || (status == BESOM_OK && value.len == 8 &&
                                             !memcmp(value.data, besom_u64(key).bytes, 8));
  besom_guard_release(s->guard, &value);
  return right && (must == BESOM_END || status == must);
}

/* Steady, absent and changing keys in turn, in one call. */
static bool many_answers_are_exact(shared *s, random_stream *random) {
  enum { KEYS = 300 };
  uint64_t numbers[KEYS], found[(KEYS + 63) / 64]; /* the numbers in the byte order of keys */
  besom_bytes keys[KEYS], values[KEYS];
  for (size_t i = 0; i < KEYS; i++) {
    numbers[i] = little_endian(i % 3 == 0   ? steady(random_below(random, STEADY))
                               : i % 3 == 1 ? absent(random_below(random, 1000))
                                            : changing(random_below(random, CHANGING)));
    keys[i] = (besom_bytes){&numbers[i], 8};
  }
  bool right = besom_guard_get_many(s->guard, keys, KEYS, values, found) == BESOM_OK;
  for (size_t i = 0; i < KEYS && right; i++) {
    bool bit = found[i / 64] >> (i % 64) & 1;
    right = bit == (values[i].data != NULL) && (i % 3 == 2 || bit == (i % 3 == 0)) &&
            (!bit || (values[i].len == 8 && !memcmp(values[i].data, &numbers[i], 8)));
  }
  for (size_t i = 0; i < KEYS; i++) besom_guard_release(s->guard, &values[i]);
  return right;
}

static besom_status count_steady(void *ctx, besom_bytes key, besom_bytes value) {
  uint64_t *n = ctx;
  if (key.len != 8 || value.len != 8 || memcmp(key.data, value.data, 8) != 0) return BESOM_CORRUPT;
  ++*n;
  return BESOM_OK;
}

static bool scan_is_plausible(shared *s) {
  uint64_t n = 0;
  besom_bytes none = {NULL, 0};
  besom_guard_statistics stats;
  if (besom_guard_scan(s->guard, none, none, count_steady, &n) != BESOM_OK || n < STEADY)
    return false;
  besom_offender offenders[4];
  size_t found;
  if (besom_guard_offenders(s->guard, offenders, 4, &found) != BESOM_OK || found > 4) return false;
  return besom_guard_stats(s->guard, &stats) == BESOM_OK && stats.keys >= STEADY;
}

static besom_status is_on_no_list(shared *s, uint64_t key) {
  return besom_guard_no_has(s->guard, besom_u64(key).bytes, 8);
}

static void *reader_thread(void *ctx) {
  shared *s = ctx;
  random_stream random = {(uint64_t)(uintptr_t)&random};
  for (unsigned i = 0; i < QUERIES || !atomic_load(&s->done); i++) {
    bool right = answer_is_exact(s, steady(random_below(&random, STEADY)), BESOM_OK) &&
                 answer_is_exact(s, absent(random_below(&random, 1000)), BESOM_NOT_FOUND) &&
                 answer_is_exact(s, changing(random_below(&random, CHANGING)), BESOM_END);
    if (i % 500 == 0) right = right && scan_is_plausible(s);
    right = right && is_on_no_list(s, absent(i)) == BESOM_NOT_FOUND;
    if (i % 500 == 250) right = right && many_answers_are_exact(s, &random);
    if (!right) atomic_fetch_add(&s->wrong, 1);
    if (i > 100 * QUERIES) break;
  }
  return NULL;
}

static void put(shared *s, uint64_t key) {
  assert_int_equal(besom_guard_put_u64(s->guard, key, besom_u64(key).bytes, 8, 0), BESOM_OK);
}

static void assert_done(const shared *s, besom_status status) {
  assert_true(status == BESOM_OK || (s->disk_full && status == BESOM_DISK_FULL));
}

static void change_one(shared *s, random_stream *random) {
  uint64_t key = changing(random_below(random, CHANGING));
  if (random_below(random, 2)) {
    assert_done(s, besom_guard_put_u64(s->guard, key, besom_u64(key).bytes, 8, 0));
  } else {
    besom_status status = besom_guard_delete_u64(s->guard, key);
    if (status != BESOM_NOT_FOUND) assert_done(s, status);
  }
}

static void change_in_batch(shared *s, random_stream *random, bool keep) {
  besom_status status = besom_guard_begin(s->guard);
  assert_done(s, status);
  if (status != BESOM_OK) return;
  for (unsigned j = 0; j < 10; j++) change_one(s, random);
  assert_done(s, keep ? besom_guard_commit(s->guard) : besom_guard_abort(s->guard));
}

static void run_writer(shared *s) {
  random_stream random = {5};
  for (unsigned i = 0; i < 1500; i++) {
    change_one(s, &random);
    if (i % 300 == 100) {
      besom_status status = besom_guard_rekey(s->guard);
      if (status != BESOM_BUSY) assert_done(s, status);
    }
    if (i % 50 == 0) assert_done(s, besom_guard_step(s->guard, 20, NULL));
    if (i % 40 == 0) change_in_batch(s, &random, i % 80);
    if (s->disk_full && i % 7 == 0) assert_done(s, besom_guard_sync(s->guard));
  }
}

/* A store in memory of which the writer's calls fail now and then. */
static struct full_disk {
  const besom_store_ops *real;
  besom_store_ops ops;
  unsigned calls;
} full_disk;

static besom_status append_or_fail(besom_store *store, besom_place at, const besom_record *record) {
  return ++full_disk.calls % 40 ? full_disk.real->append(store, at, record) : BESOM_DISK_FULL;
}

static besom_status commit_or_fail(besom_store *store, bool durable) {
  return ++full_disk.calls % 3 ? full_disk.real->commit(store, durable) : BESOM_DISK_FULL;
}

static void fill_disk(besom_store *store) {
  full_disk = (struct full_disk){.real = store->ops, .ops = *store->ops};
  full_disk.ops.append = append_or_fail;
  full_disk.ops.commit = commit_or_fail;
  store->ops = &full_disk.ops;
}

static void assert_counted(const shared *s) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(s->guard, &stats), BESOM_OK);
  assert_int_equal(stats.queries,
                   stats.filter_negatives + stats.true_positives + stats.false_positives);
  assert_int_equal(stats.queued + stats.queue_drops, stats.false_positives);
  assert_true(stats.growths + stats.rekeys >= 2);
  assert_int_equal(stats.failed_steps != 0, s->disk_full);
}

static void readers_and_writer(besom_layout layout, besom_durability durability, bool disk_full) {
  shared s = {.disk_full = disk_full};
  besom_store *store;
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1, .reserve = 0.3};
  besom_guard_config config = {
      .filter = &filter, .layout = layout, .durability = durability, .threads = true};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &s.guard), BESOM_OK);
  for (uint64_t i = 0; i < STEADY; i++) put(&s, steady(i));
  assert_int_equal(besom_guard_sync(s.guard), BESOM_OK);
  if (disk_full) fill_disk(store);
  pthread_t readers[READERS];
  for (unsigned i = 0; i < READERS; i++)
    assert_int_equal(pthread_create(&readers[i], NULL, reader_thread, &s), 0);
  run_writer(&s);
  atomic_store(&s.done, true);
  for (unsigned i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
  assert_int_equal(atomic_load(&s.wrong), 0);
  assert_counted(&s);
  if (disk_full) store->ops = full_disk.real;
  assert_int_equal(besom_guard_close(s.guard), BESOM_OK);
}

static void readers_get_exact_answers_beside_the_writer(void **state) {
  (void)state;
  readers_and_writer(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT, false);
  readers_and_writer(BESOM_LAYOUT_SPLIT, BESOM_DURABLE_SYNC, false);
}

/* While steps and commits fail and are undone. */
static void readers_get_exact_answers_on_a_full_disk(void **state) {
  (void)state;
  readers_and_writer(BESOM_LAYOUT_MERGED, BESOM_DURABLE_BATCH, true);
  readers_and_writer(BESOM_LAYOUT_MERGED, BESOM_DURABLE_SYNC, true);
}

static uint64_t adapted_of(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats.adapted;
}

/* A reader queues a false positive. The writer looks it up again, and does not adapt if the key was
   inserted meanwhile. */
static void the_writer_adapts_to_queued_false_positives(void **state) {
  (void)state;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .slots = 200, .width = 2, .reserve = 0.3};
  /* Without memory for exceptions. */
  besom_guard_config config = {.filter = &filter, .threads = true, .max_filter_bytes = 1};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 80; i++)
    assert_int_equal(besom_guard_put_u64(g, steady(i), "", 0, 0), BESOM_OK);
  uint64_t i = 0, late;
  while (!besom_contains_u64(besom_guard_filter(g), absent(i))) i++;
  for (late = i + 1; !besom_contains_u64(besom_guard_filter(g), absent(late));) late++;
  assert_int_equal(besom_guard_get_u64(g, absent(i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_get_u64(g, absent(late), NULL), BESOM_NOT_FOUND);
  assert_true(besom_contains_u64(besom_guard_filter(g), absent(i)));
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_true(stats.queued == 2 && stats.adapted == 0);
  assert_int_equal(besom_guard_put_u64(g, absent(late), "here", 4, 0),
                   BESOM_OK);      /* applies the queue first */
  assert_true(adapted_of(g) >= 1); /* 1 if both match the same member */
  assert_int_equal(besom_guard_get_u64(g, absent(late), NULL), BESOM_OK);
  for (unsigned more = 0; more < 2000; more++) /* more than the queue can hold */
    assert_int_equal(besom_guard_get_u64(g, absent(1000 + more), NULL), BESOM_NOT_FOUND);
  for (unsigned more = 0; more < 60000; more++)
    (void)besom_guard_get_u64(g, absent(5000 + more), NULL);
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_true(stats.queue_drops > 0);
  assert_int_equal(besom_guard_step(g, 1, NULL), BESOM_OK);
  for (uint64_t k = 0; k < 80; k++)
    assert_int_equal(besom_guard_get_u64(g, steady(k), NULL), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* A digest by the hash of a filter that is gone means nothing to the current filter. */
static void queued_digests_of_an_old_hash_are_dropped(void **state) {
  (void)state;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .slots = 400, .width = 2, .reserve = 0.5};
  besom_guard_config config = {
      .filter = &filter, .threads = true, .step_items = 1000, .step_ns = UINT64_MAX};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 150; i++) put(&(shared){.guard = g}, steady(i));
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  for (uint64_t i = 0; i < 2000; i++)
    assert_int_equal(besom_guard_get_u64(g, absent(i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_commit(g),
                   BESOM_OK); /* migrates all records; does not apply the queue */
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_true(stats.queued > 100 && !stats.migrating && stats.adapted == 0);
  assert_int_equal(besom_guard_step(g, 1, NULL), BESOM_OK);
  assert_int_equal(adapted_of(g), 0);
  for (uint64_t i = 0; i < 2000; i++)
    assert_int_equal(besom_guard_get_u64(g, absent(i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_step(g, 1, NULL), BESOM_OK);
  assert_true(adapted_of(g) > 0); /* new digests are not dropped */
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* ------------------------------------------------------------------ fronts */

enum { FRONT_KEYS = 1000, FRONT_QUERIES = 60000 };

static void *attack(void *ctx) {
  shared *s = ctx;
  static atomic_uint next;
  for (uint64_t i = 0; i < FRONT_QUERIES; i++) {
    uint64_t key = absent(atomic_fetch_add(&next, 1));
    if (besom_guard_get_u64(s->guard, key, NULL) != BESOM_NOT_FOUND) atomic_fetch_add(&s->wrong, 1);
    if (i % 4 == 0 && besom_guard_get_u64(s->guard, steady(i % FRONT_KEYS), NULL) != BESOM_OK)
      atomic_fetch_add(&s->wrong, 1);
  }
  return NULL;
}

/* Readers make fronts, ask them and replace them, while a writer puts, deletes and aborts. Members
   are found at any time. */
static void readers_replace_fronts_beside_a_writer(void **state) {
  (void)state;
  shared s = {.guard = NULL};
  besom_store *store;
  pthread_t readers[READERS];
  besom_config filter = {.kind = "aqf", .capacity = FRONT_KEYS + CHANGING, .fpr = 1.0 / 16};
  besom_guard_config config = {.filter = &filter, .threads = true, .rekey_at = 2};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &s.guard), BESOM_OK);
  for (uint64_t i = 0; i < FRONT_KEYS; i++) put(&s, steady(i));
  for (unsigned i = 0; i < READERS; i++)
    assert_int_equal(pthread_create(&readers[i], NULL, attack, &s), 0);
  for (uint64_t i = 0; i < 400; i++) {
    uint64_t key = changing(i % CHANGING);
    put(&s, key);
    assert_int_equal(besom_guard_get_u64(s.guard, key, NULL), BESOM_OK);
    if (i % 50 == 0) {
      assert_int_equal(besom_guard_begin(s.guard), BESOM_OK);
      assert_int_equal(besom_guard_delete_u64(s.guard, key), BESOM_OK);
      assert_int_equal(besom_guard_abort(s.guard), BESOM_OK);
    }
    assert_int_equal(besom_guard_get_u64(s.guard, key, NULL), BESOM_OK);
    assert_int_equal(besom_guard_delete_u64(s.guard, key), BESOM_OK);
    for (unsigned pause = 0; pause < 20; pause++) sched_yield();
  }
  for (unsigned i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
  assert_int_equal(atomic_load(&s.wrong), 0);
  assert_int_equal(besom_guard_close(s.guard), BESOM_OK);
}

/* ------------------------------------------------------------------ statistics */

/* A store whose disk answers when it is told to. */
static struct stuck {
  besom_store_ops ops, real;
  besom_guard *guard;
  atomic_bool blocks, blocked;
} stuck;

static void wait_while_blocked(void) {
  atomic_store(&stuck.blocked, true);
  while (atomic_load(&stuck.blocks)) sched_yield();
  atomic_store(&stuck.blocked, false);
}

static besom_status stuck_commit(besom_store *store, bool durable) {
  wait_while_blocked();
  return stuck.real.commit(store, durable);
}

static besom_status failing_sync(besom_store *store) {
  (void)store;
  return BESOM_DISK_FULL;
}

static besom_status stuck_recover(besom_store *store) {
  (void)store;
  wait_while_blocked();
  return BESOM_DISK_FULL;
}

static besom_status stuck_visit(void *ctx, besom_bytes key, besom_bytes value) {
  (void)ctx, (void)key, (void)value;
  wait_while_blocked();
  return BESOM_END;
}

static void *put_stuck(void *unused) {
  assert_int_equal(besom_guard_put_u64(stuck.guard, 1000, "v", 1, 0), BESOM_OK);
  return unused;
}

static void *sync_stuck(void *unused) {
  assert_int_equal(besom_guard_sync(stuck.guard), BESOM_DISK_FULL);
  return unused;
}

static void *scan_stuck(void *unused) {
  besom_bytes none = {NULL, 0};
  besom_guard_scan(stuck.guard, none, none, stuck_visit, NULL);
  return unused;
}

/* While a commit, the reopening of the store, or a scan that a writer waits for takes long,
   statistics and health are told at once. */
static void statistics_wait_for_no_disk(void **state) {
  (void)state;
  besom_store *store;
  besom_config filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .threads = true};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  stuck.real = stuck.ops = *store->ops;
  stuck.ops.commit = stuck_commit;
  stuck.ops.sync = failing_sync;
  stuck.ops.recover = stuck_recover;
  store->ops = &stuck.ops;
  assert_int_equal(besom_guard_open(&config, store, &stuck.guard), BESOM_OK);
  for (uint64_t i = 0; i < 100; i++) put(&(shared){.guard = stuck.guard}, steady(i));
  void *(*const works[])(void *) = {put_stuck, sync_stuck, scan_stuck};
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    pthread_t thread, writer;
    besom_guard_statistics stats;
    besom_health health;
    atomic_store(&stuck.blocks, true);
    assert_int_equal(pthread_create(&thread, NULL, works[i], NULL), 0);
    while (!atomic_load(&stuck.blocked)) sched_yield();
    bool scans = works[i] == scan_stuck;
    if (scans) assert_int_equal(pthread_create(&writer, NULL, put_stuck, NULL), 0);
    for (unsigned k = 0; k < 20; k++) {
      assert_int_equal(besom_guard_stats(stuck.guard, &stats), BESOM_OK);
      assert_true(stats.keys >= 100 && stats.keys <= 101 && stats.filter_bytes > 0);
      assert_int_equal(besom_guard_health(stuck.guard, &health, NULL), BESOM_OK);
      if (scans) sched_yield(); /* the writer begins to wait at some time */
    }
    atomic_store(&stuck.blocks, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (scans) assert_int_equal(pthread_join(writer, NULL), 0);
  }
  store->ops = &stuck.real;
  assert_int_equal(besom_guard_close(stuck.guard), BESOM_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(readers_replace_fronts_beside_a_writer),
      cmocka_unit_test(statistics_wait_for_no_disk),
      cmocka_unit_test(readers_get_exact_answers_beside_the_writer),
      cmocka_unit_test(readers_get_exact_answers_on_a_full_disk),
      cmocka_unit_test(the_writer_adapts_to_queued_false_positives),
      cmocka_unit_test(queued_digests_of_an_old_hash_are_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
