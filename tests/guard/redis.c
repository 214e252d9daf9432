/* Guards over a Redis server: all operations, reopening, a broken connection, a stopped server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "store/redis_server.h"
#include "support/heap.h"
#include "support/keys.h"

enum { KEYS = 120 };

typedef struct subject {
  besom_guard *guard;
  besom_layout layout;
  const char *prefix;
  bool threads;
  double fpr;            /* 0: 0.05 */
  uint64_t values[KEYS]; /* 0: absent */
} subject;

static void open_subject(subject *s) {
  besom_store *store = NULL;
  static const uint8_t seed[16] = "of every run";
  besom_config filter = {
      .kind = "aqf", .capacity = 20, .fpr = s->fpr ? s->fpr : 0.05, .seed = seed};
  besom_guard_config config = {.filter = &filter,
                               .layout = s->layout,
                               .threads = s->threads,
                               .step_items = 5,
                               .step_ns = UINT64_MAX};
  assert_int_equal(besom_store_redis(redis_server_address(), s->prefix, NULL, NULL, &store),
                   BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &s->guard), BESOM_OK);
}

/* The empty key, the longest one, and integers. */
static besom_bytes key_of(size_t k, uint8_t *room) {
  uint64_t number = key_u64(MEMBERS, k);
  memset(room, 'x', BESOM_GUARD_MAX_KEY);
  memcpy(room, &number, sizeof number);
  return (besom_bytes){room, k == 0 ? 0 : k == 1 ? BESOM_GUARD_MAX_KEY : sizeof number};
}

static besom_status change(subject *s, size_t k, uint64_t value) {
  uint8_t *room = heap_array(BESOM_GUARD_MAX_KEY, 1);
  besom_bytes key = key_of(k, room);
  besom_status status = value
                            ? besom_guard_put(s->guard, key.data, key.len, &value, sizeof value, 0)
                            : besom_guard_delete(s->guard, key.data, key.len);
  free(room);
  if (status == BESOM_OK) s->values[k] = value;
  return status;
}

static void assert_change(subject *s, size_t k, uint64_t value) {
  assert_int_equal(change(s, k, value), BESOM_OK);
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

static void assert_consistent(subject *s) {
  uint8_t *room = heap_array(BESOM_GUARD_MAX_KEY, 1);
  uint64_t members = 0, shown = 0;
  for (size_t k = 0; k < KEYS; k++) {
    besom_bytes value, key = key_of(k, room);
    besom_status status = besom_guard_get(s->guard, key.data, key.len, &value);
    assert_int_equal(status, s->values[k] ? BESOM_OK : BESOM_NOT_FOUND);
    if (s->values[k]) assert_memory_equal(value.data, &s->values[k], sizeof s->values[k]);
    besom_guard_release(s->guard, &value);
    members += s->values[k] != 0;
  }
  free(room);
  besom_bytes none = {NULL, 0};
  assert_int_equal(besom_guard_scan(s->guard, none, none, count_one, &shown), BESOM_OK);
  assert_int_equal(shown, members);
}

static void batch(subject *s, bool keep) {
  subject before = *s;
  assert_int_equal(besom_guard_begin(s->guard), BESOM_OK);
  for (size_t k = 50; k < 90; k++) assert_change(s, k, k + 7);
  for (size_t k = 2; k < 30; k += 3) assert_change(s, k, 0);
  assert_int_equal(keep ? besom_guard_commit(s->guard) : besom_guard_abort(s->guard), BESOM_OK);
  if (!keep) *s = before;
}

/* There is no directory for a checkpoint, so the filter is rebuilt, also during a migration. */
static void reopen(subject *s) {
  assert_int_equal(besom_guard_close(s->guard), BESOM_OK);
  open_subject(s);
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(s->guard, &stats), BESOM_OK);
  assert_true(stats.rebuilt);
  assert_consistent(s);
}

static void all_operations(subject *s) {
  open_subject(s);
  for (size_t k = 0; k < 50; k++) assert_change(s, k, k + 1); /* it grows */
  batch(s, false);
  assert_consistent(s);
  batch(s, true);
  assert_int_equal(change(s, 100, 0), BESOM_NOT_FOUND);
  while (besom_guard_rekey(s->guard) == BESOM_BUSY)
    assert_int_equal(besom_guard_step(s->guard, 20, NULL), BESOM_OK);
  assert_change(s, 90, 1);
  reopen(s);
  redis_server_run("CLIENT KILL TYPE normal");
  assert_change(s, 91, 2); /* over a new connection */
  besom_store *second = NULL;
  assert_int_equal(besom_store_redis(redis_server_address(), s->prefix, NULL, NULL, &second),
                   BESOM_LOCKED);
  reopen(s);
  assert_int_equal(besom_guard_close(s->guard), BESOM_OK);
}

static void a_server_is_a_store(void **state) {
  (void)state;
  subject merged = {.layout = BESOM_LAYOUT_MERGED, .prefix = "merged:"};
  subject split = {.layout = BESOM_LAYOUT_SPLIT, .prefix = "split:"};
  all_operations(&merged);
  all_operations(&split);
}

/* If the server does not answer, a get must not return NOT_FOUND. */
static void a_stopped_server_is_IO(void **state) {
  (void)state;
  subject s = {.prefix = "gone:"};
  open_subject(&s);
  for (size_t k = 2; k < 30; k++) assert_change(&s, k, k + 1);
  for (bool finished = false; !finished;) /* or a rollback of its steps would need the server */
    assert_int_equal(besom_guard_step(s.guard, 20, &finished), BESOM_OK);
  redis_server_stop();
  assert_int_equal(change(&s, 2, 5), BESOM_IO);
  assert_int_equal(change(&s, 2, 0), BESOM_IO);
  assert_int_equal(change(&s, 40, 1), BESOM_IO);
  size_t failures = 0;
  for (size_t k = 2; k < 30; k++) {
    besom_status status = besom_guard_get_u64(s.guard, key_u64(MEMBERS, k), NULL);
    /* The last commit may still be in the overlay. */
    assert_true(status == BESOM_IO || status == BESOM_OK);
    failures += status == BESOM_IO;
  }
  assert_true(failures > 14);
  assert_int_equal(besom_guard_close(s.guard),
                   BESOM_OK); /* every change was committed or refused */
}

/* ------------------------------------------------------------------ data that vanish */

static void vanish(const char *command, bool write_first) {
  subject s = {.prefix = "vanish:"};
  open_subject(&s);
  for (size_t k = 2; k < 40; k++) assert_change(&s, k, k);
  assert_int_equal(besom_guard_sync(s.guard), BESOM_OK);
  redis_server_run(command);
  uint8_t *room = heap_array(BESOM_GUARD_MAX_KEY, 1);
  if (write_first) assert_int_equal(change(&s, 50, 1), BESOM_IO);
  for (size_t k = 2; k < 40; k++) {
    besom_bytes key = key_of(k, room);
    assert_int_equal(besom_guard_get(s.guard, key.data, key.len, NULL), BESOM_IO);
  }
  assert_int_equal(change(&s, 51, 1), BESOM_IO);
  assert_int_equal(besom_guard_sync(s.guard), BESOM_IO);
  assert_int_equal(besom_guard_close(s.guard), BESOM_IO);
  free(room);
  redis_server_run("FLUSHALL");
}

static void vanished_data_are_noticed(void **state) {
  (void)state;
  for (int write_first = 0; write_first < 2; write_first++) {
    vanish("FLUSHALL", write_first);
    vanish("DEL vanish:values", write_first); /* as an eviction does */
    vanish("DEL vanish:values vanish:index", write_first);
  }
}

/* ------------------------------------------------------------------ a lock that ends */

/* All calls that can answer from the filter alone. */
static void assert_absent(subject *s, size_t from, size_t to, besom_status expected) {
  for (size_t k = from; k < to; k++) {
    uint64_t key = key_u64(MEMBERS, k), found = 0;
    besom_bytes bytes = {&key, sizeof key};
    assert_int_equal(besom_guard_get_u64(s->guard, key, NULL), expected);
    assert_int_equal(besom_guard_get(s->guard, &key, 7, NULL), expected);
    assert_int_equal(besom_guard_delete_u64(s->guard, key), expected);
    assert_int_equal(besom_guard_get_many(s->guard, &bytes, 1, NULL, &found),
                     expected == BESOM_NOT_FOUND ? BESOM_OK : expected);
    assert_false(found);
  }
}

/* A server closes connections that are idle, as that of a guard whose filter denies all keys. */
static void a_key_of_the_next_owner_is_not_denied(void **state) {
  (void)state;
  for (int threads = 0; threads < 2; threads++) {
    subject first = {.prefix = "owner:", .threads = threads}, next = first;
    open_subject(&first);
    for (size_t k = 2; k < 15; k++) assert_change(&first, k, k);
    assert_absent(&first, 40, 60, BESOM_NOT_FOUND);
    redis_server_run("CLIENT KILL TYPE normal");
    open_subject(&next);
    for (size_t k = 40; k < 60; k++) assert_change(&next, k, k);
    assert_absent(&first, 40, 60, BESOM_IO);
    assert_int_equal(change(&first, 70, 1), BESOM_IO);
    besom_guard_close(first.guard);
    assert_change(&next, 71, 1);
    assert_int_equal(besom_guard_close(next.guard), BESOM_OK);
    redis_server_run("FLUSHALL");
  }
}

static void an_idle_connection_is_replaced_before_somebody_else_opens(void **state) {
  (void)state;
  besom_store *second = NULL;
  subject s = {.prefix = "idle:"};
  open_subject(&s);
  for (size_t k = 2; k < 15; k++) assert_change(&s, k, k);
  redis_server_run("CLIENT KILL TYPE normal");
  assert_absent(&s, 40, 41, BESOM_NOT_FOUND);
  assert_int_equal(besom_store_redis(redis_server_address(), s.prefix, NULL, NULL, &second),
                   BESOM_LOCKED);
  assert_change(&s, 50, 1);
  assert_int_equal(besom_guard_close(s.guard), BESOM_OK);
}

/* A server that was emptied has no lock either: then the connection tells nothing. */
static void some_denials_ask_the_server(void **state) {
  (void)state;
  subject s = {.prefix = "emptied:", .fpr = 1e-7};
  open_subject(&s);
  for (size_t k = 2; k < 15; k++) assert_change(&s, k, k);
  redis_server_run("FLUSHALL");
  besom_status status = BESOM_NOT_FOUND;
  for (unsigned i = 0; i < 2000 && status == BESOM_NOT_FOUND; i++)
    status = besom_guard_get_u64(s.guard, key_u64(NEGATIVES, i), NULL);
  assert_int_equal(status, BESOM_IO);
  assert_int_equal(besom_guard_get_u64(s.guard, key_u64(NEGATIVES, 0), NULL), BESOM_IO);
  besom_guard_close(s.guard);
}

/* ------------------------------------------------------------------ backup and restore */

/* A snapshot while the program runs. The program that runs on is told, and the next open has the
   state of the snapshot. */
static void a_restored_snapshot_has_the_state_of_its_moment(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    subject s = {.layout = layout, .prefix = layout ? "split copy:" : "merged copy:"};
    open_subject(&s);
    for (size_t k = 2; k < 50; k++) assert_change(&s, k, k + 1);
    redis_server_run("SAVE");
    uint64_t saved[KEYS];
    memcpy(saved, s.values, sizeof saved);
    for (size_t k = 40; k < 90; k++) assert_change(&s, k, k + 1000);
    redis_server_restore();
    assert_int_equal(change(&s, 100, 1), BESOM_IO);
    besom_guard_close(s.guard);
    memcpy(s.values, saved, sizeof saved);
    open_subject(&s);
    assert_consistent(&s);
    assert_change(&s, 100, 1);
    assert_int_equal(besom_guard_close(s.guard), BESOM_OK);
  }
}

static void a_server_that_may_evict_is_told_of(void **state) {
  (void)state;
  besom_store *store;
  const char *reason = NULL;
  besom_redis_options options = {.refuse_eviction = true};
  const char *address = redis_server_address();
  assert_int_equal(besom_store_redis(address, "evict:", &options, &reason, &store), BESOM_OK);
  assert_null(reason);
  besom_store_close(store);
  redis_server_run("CONFIG SET maxmemory 100mb maxmemory-policy volatile-lru");
  assert_int_equal(besom_store_redis(address, "evict:", &options, &reason, &store), BESOM_OK);
  besom_store_close(store);
  redis_server_run("CONFIG SET maxmemory-policy allkeys-lru");
  assert_int_equal(besom_store_redis(address, "evict:", NULL, &reason, &store), BESOM_OK);
  assert_non_null(strstr(reason, "evict"));
  besom_store_close(store);
  assert_int_equal(besom_store_redis(address, "evict:", &options, &reason, &store),
                   BESOM_UNSUPPORTED);
  redis_server_run("CONFIG SET maxmemory 0 maxmemory-policy noeviction");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vanished_data_are_noticed),
      cmocka_unit_test(a_key_of_the_next_owner_is_not_denied),
      cmocka_unit_test(an_idle_connection_is_replaced_before_somebody_else_opens),
      cmocka_unit_test(some_denials_ask_the_server),
      cmocka_unit_test(a_server_that_may_evict_is_told_of),
      cmocka_unit_test(a_restored_snapshot_has_the_state_of_its_moment),
      cmocka_unit_test(a_server_is_a_store),
      cmocka_unit_test(a_stopped_server_is_IO),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  redis_server_stop();
  return failed;
}
