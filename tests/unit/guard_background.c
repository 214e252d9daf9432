/* The background thread, and fork. */
#define _DEFAULT_SOURCE 1 /* usleep, fork */
#include <sys/wait.h>

#include "guard_commits.h"

enum { PATIENCE = 20000 };

/* ------------------------------------------------------------------ the background thread */

static bool soon(bool (*is_so)(const besom_guard *g), const besom_guard *g) {
  for (unsigned i = 0; i < PATIENCE; i++) {
    if (is_so(g)) return true;
    usleep(1000);
  }
  return false;
}

static bool has_migrated(const besom_guard *g) {
  besom_guard_statistics stats = stats_of(g);
  return stats.rekeys && !stats.migrating;
}

static bool has_adapted(const besom_guard *g) {
  return stats_of(g).adapted > 0;
}

static bool has_failed(const besom_guard *g) {
  return stats_of(g).failed_steps >= 2;
}

static void fill(besom_guard *g, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
}

static void query_absent_keys(besom_guard *g, uint64_t from, uint64_t n) {
  for (uint64_t i = from; i < from + n; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, i), NULL), BESOM_NOT_FOUND);
}

static void assert_members(besom_guard *g, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_OK);
}

/* Only readers call the guard. Their false positives use up the reserve. */
static void the_background_thread_adapts_and_rekeys(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){.background = 1, .step_items = 10});
  fill(g, 100);
  uint64_t steps = stats_of(g).steps;
  query_absent_keys(g, 0, 200);
  assert_true(soon(has_adapted, g));
  for (unsigned i = 0; i < PATIENCE && !stats_of(g).rekeys; i++) query_absent_keys(g, 100 * i, 100);
  assert_true(soon(has_migrated, g));
  assert_true(stats_of(g).steps > steps);
  assert_members(g, 100);
  close_guard(g);
}

static void the_background_thread_survives_failures(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){.background = 0.5, .step_items = 10});
  fill(g, 100);
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  commits_fail = true;
  assert_true(soon(has_failed, g) || has_migrated(g)); /* it may have been faster */
  assert_members(g, 100);
  commits_fail = false;
  assert_true(soon(has_migrated, g));
  assert_members(g, 100);
  close_guard(g);
}

static void the_background_thread_waits_for_a_batch(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){.background = 1, .step_items = 1000000});
  fill(g, 50);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_put_u64(g, 7, "", 0, 0), BESOM_OK);
  query_absent_keys(g, 0, 2000);
  assert_int_equal(besom_guard_abort(g), BESOM_OK);
  assert_true(soon(has_adapted, g));
  assert_int_equal(besom_guard_get_u64(g, 7, NULL), BESOM_NOT_FOUND);
  assert_members(g, 50);
  close_guard(g);
}

static void a_background_thread_needs_threads(void **state) {
  (void)state;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1};
  const besom_guard_config bad[] = {
      {.filter = &filter, .background = 0.5},
      {.filter = &filter, .background = -0.1, .threads = true},
      {.filter = &filter, .background = 1.1, .threads = true},
  };
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(besom_guard_open(&bad[i], store, &g), BESOM_INVALID);
  besom_store_close(store);
}

/* ------------------------------------------------------------------ fork */

static besom_status visit_nothing(void *ctx, besom_bytes key, besom_bytes value) {
  (void)ctx, (void)key, (void)value;
  return BESOM_OK;
}

/* Returns the number of the first call that is not refused, or 0. */
static int use_in_child(besom_guard *g, besom_guard *other) {
  besom_guard_statistics stats;
  besom_offender offender;
  besom_bytes none = {NULL, 0};
  besom_iterator *iterator;
  size_t n;
  besom_bytes key = {"key", 3};
  unsigned before = commits;
  const besom_status calls[] = {
      besom_guard_put(g, "key", 3, "", 0, 0),
      besom_guard_get(g, "key", 3, NULL),
      besom_guard_delete(g, "key", 3),
      besom_guard_get_many(g, &key, 1, NULL, NULL),
      besom_guard_put_many(g, &key, &none, 1, 0),
      besom_guard_put_many(g, NULL, NULL, 0, 0),
      besom_guard_no_put(g, "no", 2),
      besom_guard_no_delete(g, "no", 2),
      besom_guard_no_has(g, "no", 2),
      besom_guard_scan(g, none, none, visit_nothing, NULL),
      besom_guard_begin(g),
      besom_guard_commit(g),
      besom_guard_abort(g),
      besom_guard_sync(g),
      besom_guard_rekey(g),
      besom_guard_step(g, 1, NULL),
      besom_guard_merge(g, other),
      besom_guard_merge(other, g),
      besom_guard_iterate(g, none, none, &iterator),
      besom_guard_refresh(g),
      besom_guard_stats(g, &stats),
      besom_guard_offenders(g, &offender, 1, &n),
      besom_guard_close(g),
  };
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i] != BESOM_LOCKED) return (int)i + 1;
  return besom_guard_filter(g) || commits != before ? 99 : 0;
}

static void a_child_of_fork_is_refused(besom_guard_config config) {
  besom_guard *g = open_guard(config);
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1};
  besom_guard_config plain = {.filter = &filter};
  besom_store *store;
  besom_guard *other;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&plain, store, &other), BESOM_OK);
  fill(g, 20);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_put_u64(g, 5, "", 0, 0), BESOM_OK);
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) _exit(use_in_child(g, other));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_members(g, 20);
  close_guard(g);
  assert_int_equal(besom_guard_close(other), BESOM_OK);
}

static void calls_in_a_child_of_fork_are_refused(void **state) {
  (void)state;
#ifdef BESOM_EMULATED
  skip(); /* qemu-user 7.2 accepts MADV_WIPEONFORK and does not wipe */
#endif
  a_child_of_fork_is_refused((besom_guard_config){.durability = BESOM_DURABLE_SYNC});
  a_child_of_fork_is_refused((besom_guard_config){.background = 0.5});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_background_thread_adapts_and_rekeys),
      cmocka_unit_test(the_background_thread_survives_failures),
      cmocka_unit_test(the_background_thread_waits_for_a_batch),
      cmocka_unit_test(a_background_thread_needs_threads),
      cmocka_unit_test(calls_in_a_child_of_fork_are_refused),
  };
  return RUN_OVER_BOTH_STORES(tests);
}
