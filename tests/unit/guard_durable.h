/*
 * guard_durable.h - shared by the tests of guards over stores with transactions: a store that
 * outlives its guard and fails on demand, and a map with batches that the guard must agree with.
 */
#ifndef BESOM_TESTS_GUARD_DURABLE_H
#define BESOM_TESTS_GUARD_DURABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guard_setup.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/temp_files.h"

#ifdef BESOM_TEST_LMDB
enum { ON_DISK = 1 };
#else
enum { ON_DISK = 0 };
#endif

enum { UNIVERSE = 400, MAX_VALUE = 40 };

static const uint8_t seed[16] = "a durable secret";

/* ------------------------------------------------------------------ the store */

/* Wraps another store, which it does not close. */
typedef struct durable_store {
  besom_store head;
  besom_store *inner;
  const char *directory;  /* NULL: none */
  unsigned countdown;     /* the call that fails, counted from now; 0: none */
  unsigned more, failing; /* so many calls after it fail, too; are still to fail */
  unsigned calls;
  bool dead;                            /* all calls fail, as if the process had ended */
  bool open;                            /* a guard has it */
  unsigned commits, nondurable_commits; /* successful ones; asked for with durable = false */
  besom_status failure;                 /* what a call that fails returns; 0: IO */
  /* A commit with more list changes than this fails; 0: none does. */
  unsigned largest_commit, changes, changes_at_savepoint;
} durable_store;

static inline durable_store *durable_of(besom_store *store) {
  return (durable_store *)store;
}

static inline besom_store *inner_of(besom_store *store) {
  return durable_of(store)->inner;
}

static inline bool fails_now(besom_store *store) {
  durable_store *s = durable_of(store);
  s->calls++;
  bool fails = s->failing != 0;
  s->failing -= fails;
  if (s->countdown && --s->countdown == 0) {
    s->failing = s->more;
    fails = true;
  }
  return fails || s->dead;
}

static inline besom_status failure_of(besom_store *store) {
  besom_status failure = durable_of(store)->failure;
  return failure ? failure : BESOM_IO;
}

static inline besom_status durable_append(besom_store *s, besom_place at,
                                          const besom_record *record) {
  durable_of(s)->changes++;
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->append(inner_of(s), at, record);
}

static inline besom_status durable_get(besom_store *s, besom_place at, besom_store_visit visit,
                                       void *ctx) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->get(inner_of(s), at, visit, ctx);
}

static inline besom_status durable_replace(besom_store *s, besom_place at,
                                           const besom_record *record) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->replace(inner_of(s), at, record);
}

static inline besom_status durable_remove(besom_store *s, besom_place at) {
  durable_of(s)->changes++;
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->remove(inner_of(s), at);
}

static inline besom_status durable_scan(besom_store *s, besom_place from, besom_store_visit visit,
                                        void *ctx) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->scan(inner_of(s), from, visit, ctx);
}

static inline besom_status durable_stats(const besom_store *s, besom_store_statistics *stats,
                                         size_t size) {
  const besom_store *inner = ((const durable_store *)s)->inner;
  return inner->ops->stats(inner, stats, size);
}

static inline void durable_close(besom_store *s) {
  assert_true(durable_of(s)->open);
  durable_of(s)->open = false;
  inner_of(s)->ops->abort(inner_of(s)); /* what is not committed */
}

static inline besom_status durable_begin(besom_store *s) {
  durable_of(s)->changes = 0;
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->begin(inner_of(s));
}

static inline besom_status durable_commit(besom_store *s, bool durable) {
  durable_store *d = durable_of(s);
  d->nondurable_commits += !durable;
  if (fails_now(s) || (d->largest_commit && d->changes > d->largest_commit)) return failure_of(s);
  besom_status status = d->inner->ops->commit(d->inner, durable);
  d->commits += status == BESOM_OK;
  return status;
}

static inline void durable_abort(besom_store *s) {
  inner_of(s)->ops->abort(inner_of(s));
}

static inline besom_status durable_sync(besom_store *s) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->sync(inner_of(s));
}

static inline besom_status durable_commit_number(besom_store *s, uint64_t *number) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->commit_number(inner_of(s), number);
}

static inline besom_status durable_table_put(besom_store *s, besom_table table,
                                             const besom_record *record) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->table_put(inner_of(s), table, record);
}

static inline besom_status durable_table_get(besom_store *s, besom_table table, besom_bytes key,
                                             besom_table_visit visit, void *ctx) {
  return fails_now(s) ? failure_of(s)
                      : inner_of(s)->ops->table_get(inner_of(s), table, key, visit, ctx);
}

static inline besom_status durable_table_remove(besom_store *s, besom_table table,
                                                besom_bytes key) {
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->table_remove(inner_of(s), table, key);
}

static inline besom_status durable_table_scan(besom_store *s, besom_table table, besom_bytes from,
                                              besom_bytes to, besom_table_visit visit, void *ctx) {
  return fails_now(s) ? failure_of(s)
                      : inner_of(s)->ops->table_scan(inner_of(s), table, from, to, visit, ctx);
}

static inline besom_status durable_set_savepoint(besom_store *s) {
  durable_of(s)->changes_at_savepoint = durable_of(s)->changes;
  return fails_now(s) ? failure_of(s) : inner_of(s)->ops->set_savepoint(inner_of(s));
}

static inline void durable_undo_to_savepoint(besom_store *s) {
  durable_of(s)->changes = durable_of(s)->changes_at_savepoint;
  inner_of(s)->ops->undo_to_savepoint(inner_of(s));
}

static inline const char *durable_directory(const besom_store *s) {
  return ((const durable_store *)s)->directory;
}

static const besom_store_ops durable_ops = {
    .size = sizeof(besom_store_ops),
    .append = durable_append,
    .get = durable_get,
    .replace = durable_replace,
    .remove = durable_remove,
    .scan = durable_scan,
    .stats = durable_stats,
    .close = durable_close,
    .begin = durable_begin,
    .commit = durable_commit,
    .abort = durable_abort,
    .sync = durable_sync,
    .commit_number = durable_commit_number,
    .table_put = durable_table_put,
    .table_get = durable_table_get,
    .table_remove = durable_table_remove,
    .table_scan = durable_table_scan,
    .directory = durable_directory,
    .set_savepoint = durable_set_savepoint,
    .undo_to_savepoint = durable_undo_to_savepoint,
};

/* ------------------------------------------------------------------ the guard under test */

typedef struct subject {
  guard_setup setup;
  durable_store store;
  temp_dir directory;
  besom_guard *guard;
  byte_keys keys;
  uint64_t values[UNIVERSE]; /* number from which the value is made; 0: absent */
  uint64_t before[UNIVERSE]; /* the values when the batch began */
  bool in_batch;
} subject;

/* A store in memory stays open between two guards; one on disk is closed and opened again. */
#ifdef BESOM_TEST_LMDB
static inline void open_inner(subject *s) {
  besom_lmdb_options options = {.map_size = UINT64_C(1) << 28, .no_sync = true};
  temp_path path = temp_dir_file(&s->directory, "db");
  assert_int_equal(besom_store_lmdb(path.text, &options, NULL, &s->store.inner), BESOM_OK);
}

static inline void close_inner(subject *s) {
  besom_store_close(s->store.inner);
  s->store.inner = NULL;
}
#else
static inline void open_inner(subject *s) {
  assert_int_equal(besom_store_memory(NULL, &s->store.inner), BESOM_OK);
}

static inline void close_inner(subject *s) {
  (void)s;
}
#endif

static inline besom_status subject_reopen(subject *s) {
  if (!s->store.inner) open_inner(s);
  s->store.open = true;
  besom_status status = open_guard(&s->setup, &s->store.head, &s->guard);
  if (status != BESOM_OK) s->store.open = false;
  return status;
}

static inline void subject_open(subject *s, const guard_setup *setup) {
  memset(s, 0, sizeof *s);
  temp_dir_make(&s->directory);
  s->store.head.ops = &durable_ops;
  s->store.directory = s->directory.path;
  s->setup = *setup;
  s->keys = byte_keys_new(MEMBERS, UNIVERSE);
  assert_int_equal(subject_reopen(s), BESOM_OK);
}

/* The guard is closed in any case; the status says whether sync and checkpoint succeeded. */
static inline besom_status try_close_guard(subject *s) {
  if (s->in_batch) memcpy(s->values, s->before, sizeof s->values);
  s->in_batch = false;
  besom_status status = besom_guard_close(s->guard);
  s->guard = NULL;
  assert_false(s->store.open);
  close_inner(s);
  return status;
}

static inline void subject_close_guard(subject *s) {
  assert_int_equal(try_close_guard(s), BESOM_OK);
}

/* Simulates a kill of the process: no further call reaches the store. */
static inline void subject_crash(subject *s) {
  s->store.dead = true;
  assert_int_equal(try_close_guard(s), failure_of(&s->store.head));
  s->store.dead = false;
}

static inline void subject_close(subject *s) {
  subject_close_guard(s);
  besom_store_close(s->store.inner);
  byte_keys_free(&s->keys);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s/db'", s->directory.path);
  if (ON_DISK) assert_int_equal(system(command), 0);
  temp_dir_remove(&s->directory);
}

static inline besom_bytes make_value(uint8_t *out, uint64_t number) {
  size_t len = number % MAX_VALUE;
  for (size_t i = 0; i < len; i++) out[i] = (uint8_t)mix64(number + i);
  return (besom_bytes){out, len};
}

static inline besom_status put(subject *s, size_t k, uint64_t number) {
  uint8_t bytes[MAX_VALUE];
  besom_bytes value = make_value(bytes, number), key = s->keys.keys[k];
  unsigned flags = s->values[k] || number % 2 ? 0 : BESOM_PUT_NEW;
  besom_status status = besom_guard_put(s->guard, key.data, key.len, value.data, value.len, flags);
  if (status == BESOM_OK) s->values[k] = number;
  return status;
}

static inline besom_status delete_key(subject *s, size_t k) {
  besom_status status = besom_guard_delete(s->guard, s->keys.keys[k].data, s->keys.keys[k].len);
  if (status == BESOM_OK) s->values[k] = 0;
  return status;
}

static inline besom_status begin(subject *s) {
  besom_status status = besom_guard_begin(s->guard);
  if (status != BESOM_OK) return status;
  memcpy(s->before, s->values, sizeof s->values);
  s->in_batch = true;
  return BESOM_OK;
}

static inline besom_status end_batch(subject *s, bool keep) {
  besom_status status = keep ? besom_guard_commit(s->guard) : besom_guard_abort(s->guard);
  if (!keep || status != BESOM_OK) memcpy(s->values, s->before, sizeof s->values);
  s->in_batch = false;
  return status;
}

static inline uint64_t members_of(const subject *s) {
  uint64_t n = 0;
  for (size_t k = 0; k < UNIVERSE; k++) n += s->values[k] != 0;
  return n;
}

/* ------------------------------------------------------------------ checks */

static inline void assert_value(besom_bytes value, uint64_t number) {
  uint8_t bytes[MAX_VALUE];
  besom_bytes expected = make_value(bytes, number);
  assert_int_equal(value.len, expected.len);
  assert_true(!value.len || !memcmp(value.data, expected.data, value.len));
}

static inline void assert_answer(subject *s, size_t k) {
  besom_bytes value;
  besom_status status =
      besom_guard_get(s->guard, s->keys.keys[k].data, s->keys.keys[k].len, &value);
  assert_int_equal(status, s->values[k] ? BESOM_OK : BESOM_NOT_FOUND);
  if (status == BESOM_OK) assert_value(value, s->values[k]);
  besom_guard_release(s->guard, &value);
}

typedef struct seen {
  subject *subject;
  uint64_t n;
  besom_bytes last; /* key; in the split layout keys ascend */
  uint8_t bytes[LONGEST_KEY];
} seen;

static inline int compare_bytes(besom_bytes a, besom_bytes b) {
  size_t shorter = a.len < b.len ? a.len : b.len;
  int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline besom_status see(void *ctx, besom_bytes key, besom_bytes value) {
  seen *all = ctx;
  subject *s = all->subject;
  if (s->setup.guard.layout == BESOM_LAYOUT_SPLIT && all->n)
    assert_true(compare_bytes(all->last, key) < 0);
  if (key.len) memcpy(all->bytes, key.data, key.len);
  all->last = (besom_bytes){all->bytes, key.len};
  all->n++;
  for (size_t k = 0; k < UNIVERSE; k++)
    if (compare_bytes(key, s->keys.keys[k]) == 0) {
      assert_true(s->values[k]);
      assert_value(value, s->values[k]);
      return BESOM_OK;
    }
  fail();
  return BESOM_OK;
}

static inline void assert_scan(subject *s) {
  seen all = {.subject = s};
  besom_bytes none = {NULL, 0};
  assert_int_equal(besom_guard_scan(s->guard, none, none, see, &all), BESOM_OK);
  assert_int_equal(all.n, members_of(s));
}

static inline besom_guard_statistics stats_of(const subject *s) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(s->guard, &stats), BESOM_OK);
  return stats;
}

static inline void assert_consistent(subject *s) {
  const char *reason = NULL;
  assert_int_equal(besom_validate(besom_guard_filter(s->guard), &reason), BESOM_OK);
  assert_int_equal(stats_of(s).keys, members_of(s));
  assert_scan(s);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
  assert_int_equal(stats_of(s).keys, members_of(s));
}

/* ------------------------------------------------------------------ configurations */

/* So small that it has to grow and that most keys collide. */
static inline guard_setup small_guard(const char *kind, besom_layout layout) {
  besom_config filter = {.kind = kind, .slots = 80, .width = 3, .seed = seed, .reserve = 0.2};
  if (!strncmp(kind, "acf", 3))
    filter = (besom_config){.kind = kind, .capacity = 450, .fpr = 0.1, .seed = seed};
  return (guard_setup){.filter = filter,
                       .guard = {.layout = layout,
                                 .step_items = 7,
                                 .grow_at = 0.85,
                                 .rekey_at = 0.9,
                                 .step_ns = UINT64_MAX}};
}

static inline bool works_with_stores(const besom_kind_info *kind) {
  return adapts_in_guards(kind);
}

#endif
