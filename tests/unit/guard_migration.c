/*
 * What a migration promises while it runs: lists that are longer than what it reads at once lose
 * no member, and readers need not wait for its scans.
 */
#define _GNU_SOURCE 1 /* pthread_timedjoin_np */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "besom_store.h"
#include "store/array_db.h"
#include "support/keys.h"

static besom_guard_statistics stats_of(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats;
}

/* ------------------------------------------------------------------ long lists */

enum { MEMBER_KEYS = 40, NO_KEYS = 600, NO_KEY_BYTES = 10000 };

static char no_key[NO_KEY_BYTES];
static bool listed[NO_KEYS]; /* a full reserve refuses some */

static const void *no_key_at(uint64_t i) {
  memcpy(no_key, &i, sizeof i);
  return no_key;
}

static void fill_lists(besom_guard *g) {
  for (uint64_t i = 0; i < MEMBER_KEYS; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  for (uint64_t i = 0; i < NO_KEYS; i++) {
    besom_status status = besom_guard_no_put(g, no_key_at(i), NO_KEY_BYTES);
    assert_true(status == BESOM_OK || status == BESOM_RESERVE_FULL);
    listed[i] = status == BESOM_OK;
  }
  assert_true(stats_of(g).no_keys > NO_KEYS / 2);
}

static void assert_members(besom_guard *g) {
  for (uint64_t i = 0; i < MEMBER_KEYS; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_OK);
}

static void assert_lists(besom_guard *g) {
  besom_statistics filter;
  const char *reason = NULL;
  assert_int_equal(besom_stats(besom_guard_filter(g), &filter), BESOM_OK);
  assert_int_equal(filter.keys, MEMBER_KEYS);
  assert_int_equal(besom_validate(besom_guard_filter(g), &reason), BESOM_OK);
  for (uint64_t i = 0; i < NO_KEYS; i++)
    assert_int_equal(besom_guard_no_has(g, no_key_at(i), NO_KEY_BYTES),
                     listed[i] ? BESOM_OK : BESOM_NOT_FOUND);
}

/* A migration reads a megabyte of the lists ahead. It stops between two buckets, some of which have
   both members and keys of the no list. */
static void no_member_is_lost_between_two_pieces(void **state) {
  (void)state;
  static const uint8_t seed[16] = "a guard's secret";
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .slots = 100, .width = 2, .seed = seed, .reserve = 0.5};
  besom_guard_config config = {.filter = &filter};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  fill_lists(g);
  for (unsigned i = 0; i < 8; i++) {
    assert_int_equal(besom_guard_rekey(g), BESOM_OK);
    for (bool finished = false; !finished;) {
      assert_int_equal(besom_guard_step(g, 1, &finished), BESOM_OK);
      assert_members(g);
    }
    assert_lists(g);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* ------------------------------------------------------------------ readers */

enum { PATIENCE = 20 }; /* seconds until a reader that waits for a scan counts as blocked */

/* A scan of the migration waits for a get of another thread. */
static besom_guard *guard_of_reader; /* NULL: scans do not wait */
static pthread_t reader;
static unsigned scans, blocked;

static void *get_one(void *ctx) {
  besom_status *answer = ctx;
  *answer = besom_guard_get_u64(guard_of_reader, key_u64(MEMBERS, 1), NULL);
  return NULL;
}

static besom_status (*plain_scan)(besom_store *, besom_place, besom_store_visit, void *);

static besom_status scan_beside_a_reader(besom_store *store, besom_place from,
                                         besom_store_visit visit, void *ctx) {
  static besom_status answer;
  if (guard_of_reader && !blocked) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    scans++;
    assert_int_equal(pthread_create(&reader, NULL, get_one, &answer), 0);
    blocked += pthread_timedjoin_np(reader, NULL, &until) != 0;
    assert_true(blocked || answer == BESOM_OK);
  }
  return plain_scan(store, from, visit, ctx);
}

/* One step reads ahead three times: a megabyte at once. */
static void readers_do_not_wait_for_a_scan(void **state) {
  (void)state;
  static const char value[3000];
  array_db db;
  besom_store *store;
  besom_guard *g;
  bool finished;
  besom_config filter = {.kind = "aqf", .capacity = 1000};
  besom_guard_config config = {.filter = &filter, .threads = true};
  array_db_init(&db);
  assert_int_equal(besom_store_ordered(&array_ops, &db, NULL, &store), BESOM_OK);
  besom_store_ops ops = *store->ops;
  plain_scan = ops.scan;
  ops.scan = scan_beside_a_reader;
  store->ops = &ops;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 800; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), value, sizeof value, 0), BESOM_OK);
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  guard_of_reader = g;
  assert_int_equal(besom_guard_step(g, UINT64_MAX, &finished), BESOM_OK);
  assert_int_equal(blocked, 0);
  assert_true(finished && scans >= 3);
  guard_of_reader = NULL;
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  array_db_free(&db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_member_is_lost_between_two_pieces),
      cmocka_unit_test(readers_do_not_wait_for_a_scan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
