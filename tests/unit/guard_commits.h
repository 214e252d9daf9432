/*
 * guard_commits.h - shared by the tests of guards with several threads: a guard over a store whose
 * commits fail or wait on demand. Each test runs over a store in memory and over a database of
 * ordered keys.
 */
#ifndef BESOM_TESTS_GUARD_COMMITS_H
#define BESOM_TESTS_GUARD_COMMITS_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "store/array_db.h"
#include "support/keys.h"

/* A store whose commits, and the reads of lists after them, fail on demand: in memory, or over a
   database of ordered keys. There is one at a time. */
static bool is_ordered;
static array_db database;
static besom_store_ops store_ops;
static const besom_store_ops *inner_ops;
static atomic_bool commits_fail, commits_wait;
static atomic_uint commits, commits_begun, fail_every, commit_us;
static atomic_uint commits_to_fail;                /* the next ones */
static atomic_uint reads_per_fault, reads_to_fail; /* after each commit that fails; from now on */

static inline besom_status commit_or_fail(besom_store *store, bool durable) {
  commits_begun++;
  while (commits_wait) usleep(100);
  if (commit_us) usleep(commit_us);
  bool fails = commits_fail || commits_to_fail || (fail_every && commits_begun % fail_every == 0);
  if (commits_to_fail) commits_to_fail--;
  if (fails) reads_to_fail = (unsigned)reads_per_fault;
  commits++;
  return fails ? BESOM_DISK_FULL : inner_ops->commit(store, durable);
}

static inline bool read_fails(void) {
  if (!reads_to_fail) return false;
  reads_to_fail--;
  return true;
}

static inline besom_status get_or_fail(besom_store *store, besom_place at, besom_store_visit visit,
                                       void *ctx) {
  return read_fails() ? BESOM_IO : inner_ops->get(store, at, visit, ctx);
}

static inline besom_status scan_or_fail(besom_store *store, besom_place from,
                                        besom_store_visit visit, void *ctx) {
  return read_fails() ? BESOM_IO : inner_ops->scan(store, from, visit, ctx);
}

static inline besom_guard *open_guard_of(besom_config filter, besom_guard_config config) {
  besom_store *store;
  besom_guard *g;
  config.filter = &filter;
  config.threads = true;
  if (is_ordered) {
    array_db_init(&database);
    assert_int_equal(besom_store_ordered(&array_ops, &database, NULL, &store), BESOM_OK);
  } else {
    assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  }
  inner_ops = store->ops;
  store_ops = *inner_ops;
  store_ops.commit = commit_or_fail;
  store_ops.get = get_or_fail;
  store_ops.scan = scan_or_fail;
  store->ops = &store_ops;
  commits_fail = commits_wait = false;
  commits = commits_begun = fail_every = commit_us = 0;
  commits_to_fail = reads_per_fault = reads_to_fail = 0;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  return g;
}

static inline besom_guard *open_guard(besom_guard_config config) {
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1, .reserve = 0.3};
  return open_guard_of(filter, config);
}

static inline void close_guard(besom_guard *g) {
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  if (is_ordered) array_db_free(&database);
}

static inline besom_guard_statistics stats_of(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats;
}

/* ------------------------------------------------------------------ merging */

/* Two guards, and a merge of them in a thread. The second one is over a store in memory whose
   commits neither fail nor wait. */
typedef struct merge_call {
  besom_guard *into, *from;
  besom_status status;
} merge_call;

static inline merge_call open_two(besom_guard_config config) {
  static const uint8_t seed[16] = "of both guards";
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1, .seed = seed};
  besom_store *store;
  merge_call m = {.into = open_guard_of(filter, config)};
  config.filter = &filter;
  config.threads = true;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &m.from), BESOM_OK);
  return m;
}

static inline void close_two(merge_call *m) {
  close_guard(m->into);
  assert_int_equal(besom_guard_close(m->from), BESOM_OK);
}

static inline void *merge_in_thread(void *ctx) {
  merge_call *m = ctx;
  m->status = besom_guard_merge(m->into, m->from);
  return NULL;
}

/* ------------------------------------------------------------------ the tests */

static inline int use_memory(void **state) {
  (void)state;
  is_ordered = false;
  return 0;
}

static inline int use_database(void **state) {
  (void)state;
  is_ordered = true;
  return 0;
}

#define RUN_OVER_BOTH_STORES(tests)                                 \
  (cmocka_run_group_tests_name("memory", tests, use_memory, NULL) + \
   cmocka_run_group_tests_name("database", tests, use_database, NULL))

#endif
