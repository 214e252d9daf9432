/*
 * One writer, many readers of a sidecar. Readers look at committed states only, some of them old
 * when they report what they did not find. No committed key is ever denied.
 */
#define _GNU_SOURCE 1 /* pthread_rwlock */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sidecar_database.h"

enum { READERS = 3, TRANSACTIONS = 150, CHANGES = 8, KEYS = 300, BATCH = 20 };

typedef struct shared {
  app app;
  pthread_rwlock_t committing; /* readers of app.now share it; a commit has it exclusively */
  atomic_bool done;
  atomic_uint denied, reports;
} shared;

/* Reads some keys in one committed state, and reports those that it does not have, later. */
static void read_and_report(shared *s, random_stream *random) {
  bool absent[BATCH];
  uint64_t keys[BATCH], point = besom_sidecar_read_point(s->app.s);
  pthread_rwlock_rdlock(&s->committing);
  for (int i = 0; i < BATCH; i++) {
    keys[i] = random_below(random, KEYS);
    absent[i] = !s->app.now->has[keys[i]];
    if (!may_contain(&s->app, keys[i])) {
      if (!absent[i]) atomic_fetch_add(&s->denied, 1);
      absent[i] = false; /* nothing to report */
    }
  }
  pthread_rwlock_unlock(&s->committing);
  sched_yield();
  for (int i = 0; i < BATCH; i++) {
    besom_u64_key key = key_of(keys[i]);
    if (absent[i] && besom_sidecar_report(s->app.s, key.bytes, 8, point) == BESOM_OK)
      atomic_fetch_add(&s->reports, 1);
  }
}

static void *reader(void *ctx) {
  shared *s = ctx;
  static atomic_uint number;
  random_stream random = {atomic_fetch_add(&number, 1)};
  besom_sidecar_statistics stats;
  do {
    read_and_report(s, &random);
    besom_sidecar_stats(s->app.s, &stats);
  } while (!atomic_load(&s->done));
  return NULL;
}

/* A scan of all keys begins after another report, so that some come while the filter is rebuilt. */
static besom_status rewind_after_report(void *ctx) {
  shared *s = ctx;
  unsigned before = atomic_load(&s->reports);
  for (int i = 0; i < 100 && atomic_load(&s->reports) == before; i++) usleep(100);
  return keys_rewind(&s->app);
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  return keys_next(&((shared *)ctx)->app, key, weight);
}

static void commit(shared *s, database *txn) {
  app *a = &s->app;
  assert_int_equal(besom_sidecar_log_to(a->s, txn), BESOM_OK);
  pthread_rwlock_wrlock(&s->committing);
  app_become(a, txn);
  pthread_rwlock_unlock(&s->committing);
  assert_int_equal(besom_sidecar_end(a->s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
}

/* The writer: transactions, aborts, checkpoints (every 100 changes) and rebuilds. */
static void write_all(shared *s) {
  random_stream random = {99};
  for (int i = 0; i < TRANSACTIONS; i++) {
    database *txn = app_begin(&s->app);
    for (int k = 0; k < CHANGES; k++) {
      uint64_t key = random_below(&random, KEYS);
      if (txn->has[key])
        app_delete(&s->app, txn, key);
      else
        app_put(&s->app, txn, key);
    }
    if (i % 7 == 6)
      app_abort(&s->app, txn);
    else
      commit(s, txn);
    if (i % 10 == 9) assert_int_equal(besom_sidecar_rebuild(s->app.s), BESOM_OK);
    sched_yield();
  }
}

static void readers_beside_a_writer_are_never_denied_a_member(void **state) {
  (void)state;
  shared *s = heap_array(1, sizeof *s);
  pthread_t threads[READERS];
  memset(s, 0, sizeof *s);
  pthread_rwlock_init(&s->committing, NULL);
  app_init(&s->app, true);
  s->app.config.threads = true;
  s->app.config.checkpoint_items = 300;
  s->app.keys = (besom_source){.next = next_key, .rewind = rewind_after_report, .ctx = s};
  app_open(&s->app, BESOM_SIDECAR_NEW);
  for (int i = 0; i < READERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, reader, s), 0);
  write_all(s);
  atomic_store(&s->done, true);
  for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(s->denied, 0);
  assert_no_false_negatives(&s->app);
  app_done(&s->app);
  pthread_rwlock_destroy(&s->committing);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(readers_beside_a_writer_are_never_denied_a_member)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
