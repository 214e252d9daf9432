/* Guards over a Redis server: everything once, opened again, with a connection that breaks, and a server that goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "redis_server.h"
#include "support/heap.h"
#include "support/keys.h"

enum { KEYS = 120 };

typedef struct subject {
  besom_guard *guard;
  besom_layout layout;
  const char *prefix;
  uint64_t values[KEYS]; /* 0: not there */
} subject;

static void open_subject(subject *s) {
  besom_store *store = NULL;
  besom_guard_config config = {
      .filter = {.kind = "aqf", .capacity = 20, .fpr = 0.05}, .layout = s->layout, .step_items = 5};
  assert_int_equal(besom_store_redis(redis_server_address(), s->prefix, NULL, NULL, &store),
                   BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &s->guard), BESOM_OK);
}

/* The empty key, a very long one, and some numbers. */
static besom_bytes key_of(size_t k, uint8_t *room) {
  uint64_t number = key_u64(MEMBERS, k);
  memset(room, 'x', BESOM_GUARD_MAX_KEY);
  memcpy(room, &number, sizeof number);
  return (besom_bytes){room, k == 0 ? 0 : k == 1 ? BESOM_GUARD_MAX_KEY : sizeof number};
}

static besom_status change(subject *s, size_t k, uint64_t value) {
  uint8_t *room = heap_array(BESOM_GUARD_MAX_KEY, 1);
  besom_bytes key = key_of(k, room);
  besom_status status = value ? besom_guard_put(s->guard, key.data, key.len, &value, sizeof value)
                              : besom_guard_delete(s->guard, key.data, key.len);
  free(room);
  if (status == BESOM_OK) s->values[k] = value;
  return status;
}

static void change_well(subject *s, size_t k, uint64_t value) {
  assert_int_equal(change(s, k, value), BESOM_OK);
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

static void assert_all_right(subject *s) {
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
  for (size_t k = 50; k < 90; k++) change_well(s, k, k + 7);
  for (size_t k = 2; k < 30; k += 3) change_well(s, k, 0);
  assert_int_equal(keep ? besom_guard_commit(s->guard) : besom_guard_abort(s->guard), BESOM_OK);
  if (!keep) *s = before;
}

/* There is no directory for a checkpoint: the filter is made from the keys, also in the middle of a move. */
static void open_again(subject *s) {
  besom_guard_close(s->guard);
  open_subject(s);
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(s->guard, &stats), BESOM_OK);
  assert_true(stats.rebuilt);
  assert_all_right(s);
}

static void everything_once(subject *s) {
  open_subject(s);
  for (size_t k = 0; k < 50; k++) change_well(s, k, k + 1); /* it grows */
  batch(s, false);
  assert_all_right(s);
  batch(s, true);
  assert_int_equal(change(s, 100, 0), BESOM_NOT_FOUND);
  while (besom_guard_rekey(s->guard) == BESOM_BUSY)
    assert_int_equal(besom_guard_step(s->guard, 20, NULL), BESOM_OK);
  change_well(s, 90, 1);
  open_again(s);
  redis_server_run("CLIENT KILL TYPE normal");
  change_well(s, 91, 2); /* by a new connection */
  besom_store *second = NULL;
  assert_int_equal(besom_store_redis(redis_server_address(), s->prefix, NULL, NULL, &second),
                   BESOM_LOCKED);
  open_again(s);
  besom_guard_close(s->guard);
}

static void a_server_is_a_store(void **state) {
  (void)state;
  subject merged = {.layout = BESOM_LAYOUT_MERGED, .prefix = "merged:"};
  subject split = {.layout = BESOM_LAYOUT_SPLIT, .prefix = "split:"};
  everything_once(&merged);
  everything_once(&split);
}

/* That nobody answers does not mean that a key is not there. */
static void a_server_that_is_gone_is_a_failure(void **state) {
  (void)state;
  subject s = {.prefix = "gone:"};
  open_subject(&s);
  for (size_t k = 2; k < 30; k++) change_well(&s, k, k + 1);
  redis_server_stop();
  assert_int_equal(change(&s, 2, 5), BESOM_IO);
  assert_int_equal(change(&s, 2, 0), BESOM_IO);
  assert_int_equal(change(&s, 40, 1), BESOM_IO);
  size_t failures = 0;
  for (size_t k = 2; k < 30; k++) {
    besom_status status = besom_guard_get_u64(s.guard, key_u64(MEMBERS, k), NULL);
    assert_true(status == BESOM_IO ||
                status == BESOM_OK); /* what was committed last may still be in memory */
    failures += status == BESOM_IO;
  }
  assert_true(failures > 14);
  besom_guard_close(s.guard);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_server_is_a_store),
      cmocka_unit_test(a_server_that_is_gone_is_a_failure),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  redis_server_stop();
  return failed;
}
