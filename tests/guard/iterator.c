/* Iterators of guards over databases: snapshots, ranges, migrations, threads. */
#define _DEFAULT_SOURCE 1
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "databases.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 300, LONG_KEY = 700 };

static const besom_bytes none = {NULL, 0};

struct subject {
  besom_guard *g;
  besom_layout layout;
  opener open_store;
  temp_dir dir;
  temp_path path;
  besom_guard_config config;
};

/* The first epoch that the last cursor over lists was to show. */
static uint32_t first_epoch;
static besom_store_ops watched;
static besom_status (*unwatched_cursor)(besom_store *, uint32_t, uint32_t, besom_cursor **);

static besom_status watched_cursor(besom_store *store, uint32_t from, uint32_t to,
                                   besom_cursor **out) {
  first_epoch = from;
  return unwatched_cursor(store, from, to, out);
}

static void watch_cursors(besom_store *store) {
  watched = *store->ops;
  unwatched_cursor = watched.list_cursor;
  watched.list_cursor = watched_cursor;
  store->ops = &watched;
}

static void open_subject(struct subject *s) {
  besom_store *store = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.01};
  s->config.filter = &filter;
  s->config.layout = s->layout;
  assert_int_equal(s->open_store(s->path.text, &store), BESOM_OK);
  watch_cursors(store);
  assert_int_equal(besom_guard_open(&s->config, store, &s->g), BESOM_OK);
}

/* Every law runs over every database and layout, with an empty guard. */
static void for_each_guard(besom_guard_config config, void (*law)(struct subject *s)) {
  for (size_t i = 0; databases[i].name; i++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      struct subject s = {.layout = layout, .open_store = databases[i].open, .config = config};
      temp_dir_make(&s.dir);
      s.path = temp_dir_file(&s.dir, "db");
      open_subject(&s);
      law(&s);
      assert_int_equal(besom_guard_close(s.g), BESOM_OK);
      temp_dir db;
      snprintf(db.path, sizeof db.path, "%.250s", s.path.text);
      temp_dir_remove(&db);
      temp_dir_remove(&s.dir);
    }
}

static void put(besom_guard *g, uint64_t i, uint64_t value) {
  assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &value, 8, 0), BESOM_OK);
}

static void put_range(besom_guard *g, uint64_t from, uint64_t to) {
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  for (uint64_t i = from; i < to; i++) put(g, i, i);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
}

static besom_iterator *iterate(besom_guard *g) {
  besom_iterator *it = NULL;
  assert_int_equal(besom_guard_iterate(g, none, none, &it), BESOM_OK);
  return it;
}

/* The number of a key of put_range; its value must be the same number. */
static uint64_t number_of(besom_bytes key, besom_bytes value) {
  uint64_t i;
  assert_int_equal(value.len, 8);
  memcpy(&i, value.data, 8);
  besom_u64_key expected = besom_u64(key_u64(MEMBERS, i));
  assert_int_equal(key.len, 8);
  assert_memory_equal(key.data, expected.bytes, 8);
  return i;
}

/* Goes on to the end: of the keys 0 to n - 1, each must be shown that seen has not, once. */
static void assert_rest(besom_iterator *it, uint64_t n, bool *seen) {
  besom_bytes key, value;
  besom_status status;
  while ((status = besom_iterator_next(it, &key, &value)) == BESOM_OK) {
    uint64_t i = number_of(key, value);
    assert_true(i < n && !seen[i]);
    seen[i] = true;
  }
  assert_int_equal(status, BESOM_END);
  assert_int_equal(besom_iterator_next(it, &key, &value), BESOM_END);
  for (uint64_t i = 0; i < n; i++) assert_true(seen[i]);
  besom_iterator_close(it);
}

static void assert_shows(besom_iterator *it, uint64_t n) {
  bool seen[2 * KEYS] = {false};
  assert_rest(it, n, seen);
}

/* ------------------------------------------------------------------ laws */

static void snapshot(struct subject *s) {
  assert_shows(iterate(s->g), 0);
  put_range(s->g, 0, KEYS);
  besom_iterator *it = iterate(s->g), *second = iterate(s->g);
  bool seen[KEYS] = {false};
  besom_bytes key, value;
  assert_int_equal(besom_iterator_next(it, &key, &value), BESOM_OK);
  uint64_t first = number_of(key, value);
  seen[first] = true;
  /* The key under the cursor is deleted; what is borrowed stays. */
  assert_int_equal(besom_guard_delete_u64(s->g, key_u64(MEMBERS, first)), BESOM_OK);
  assert_int_equal(number_of(key, value), first);
  for (uint64_t i = 0; i < KEYS; i++)
    if (i % 2 && i != first) put(s->g, i, 12345);
  put_range(s->g, KEYS, KEYS + 50);
  assert_rest(it, KEYS, seen);
  assert_shows(second, KEYS);
}

static void an_iterator_shows_one_moment(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, snapshot);
}

static bool migrating(besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats.migrating;
}

/* Records are in two epochs, and migrate while the iterator is open. */
static void during_migration(struct subject *s) {
  put_range(s->g, 0, KEYS);
  bool finished = false;
  while (migrating(s->g)) assert_int_equal(besom_guard_step(s->g, 1000, NULL), BESOM_OK);
  assert_int_equal(besom_guard_rekey(s->g), BESOM_OK);
  assert_int_equal(besom_guard_step(s->g, KEYS / 3, NULL), BESOM_OK);
  assert_true(migrating(s->g));
  besom_iterator *it = iterate(s->g), *second = iterate(s->g);
  bool seen[KEYS] = {false};
  besom_bytes key, value;
  for (unsigned i = 0; i < KEYS / 2; i++) {
    assert_int_equal(besom_iterator_next(it, &key, &value), BESOM_OK);
    seen[number_of(key, value)] = true;
  }
  while (!finished) assert_int_equal(besom_guard_step(s->g, 20, &finished), BESOM_OK);
  assert_rest(it, KEYS, seen);
  assert_shows(second, KEYS);
  assert_shows(iterate(s->g), KEYS);
}

static void a_migration_does_not_disturb_an_iterator(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, during_migration);
}

static void with_batch(struct subject *s) {
  put_range(s->g, 0, 100);
  assert_int_equal(besom_guard_begin(s->g), BESOM_OK);
  for (uint64_t i = 100; i < 200; i++) put(s->g, i, i);
  besom_iterator *it = iterate(s->g);
  assert_int_equal(besom_guard_commit(s->g), BESOM_OK);
  assert_shows(it, 100);
  assert_shows(iterate(s->g), 200);
}

static void a_batch_is_shown_when_it_is_committed(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, with_batch);
}

static void gathered(struct subject *s) {
  for (uint64_t i = 0; i < 100; i++) put(s->g, i, i);
  if (s->config.threads) assert_int_equal(besom_guard_sync(s->g), BESOM_OK);
  assert_shows(iterate(s->g), 100);
}

static void gathered_changes_are_shown(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_SYNC}, gathered);
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_SYNC, .threads = true}, gathered);
}

static void while_closing(struct subject *s) {
  put_range(s->g, 0, 10);
  besom_iterator *it = iterate(s->g);
  assert_int_equal(besom_guard_close(s->g), BESOM_BUSY);
  put_range(s->g, 10, 20); /* the guard is still open */
  assert_shows(it, 10);
  assert_int_equal(besom_guard_close(s->g), BESOM_OK);
  open_subject(s);
  assert_shows(iterate(s->g), 20);
}

static void a_guard_with_an_iterator_does_not_close(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, while_closing);
}

static void without_no_list(struct subject *s) {
  put_range(s->g, 0, 50);
  for (uint64_t i = 0; i < 50; i++) {
    besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
    assert_int_equal(besom_guard_no_put(s->g, key.bytes, 8), BESOM_OK);
  }
  assert_shows(iterate(s->g), 50);
}

static void keys_of_the_no_list_are_not_shown(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, without_no_list);
}

/* ------------------------------------------------------------------ ranges */

/* Keys "000" to "299"; every seventh has many bytes more, all with the same first ones. */
static besom_bytes text_key(unsigned i, char *out) {
  if (i % 7) {
    snprintf(out, LONG_KEY + 4, "%03u", i);
    return (besom_bytes){out, 3};
  }
  memset(out, '1', LONG_KEY);
  snprintf(out + LONG_KEY, 4, "%03u", i);
  return (besom_bytes){out, LONG_KEY + 3};
}

static int compare(besom_bytes a, besom_bytes b) {
  int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

static void assert_range(besom_guard *g, besom_bytes from, besom_bytes to) {
  char text[LONG_KEY + 4], before[LONG_KEY + 4];
  besom_iterator *it = NULL;
  besom_bytes key, last = none;
  size_t expected = 0, shown = 0;
  for (unsigned i = 0; i < KEYS; i++) {
    key = text_key(i, text);
    expected += (!from.data || compare(key, from) >= 0) && (!to.data || compare(key, to) < 0);
  }
  assert_int_equal(besom_guard_iterate(g, from, to, &it), BESOM_OK);
  for (; besom_iterator_next(it, &key, NULL) == BESOM_OK; shown++) {
    assert_true(!from.data || compare(key, from) >= 0);
    assert_true(!to.data || compare(key, to) < 0);
    assert_true(!last.data || compare(last, key) < 0);
    memcpy(before, key.data, key.len);
    last = (besom_bytes){before, key.len};
  }
  assert_int_equal(shown, expected);
  besom_iterator_close(it);
}

static void ranges(struct subject *s) {
  char text[LONG_KEY + 4], text2[LONG_KEY + 4];
  besom_iterator *it = NULL;
  besom_bytes bound = {"123", 3};
  if (s->layout == BESOM_LAYOUT_MERGED) {
    assert_int_equal(besom_guard_iterate(s->g, bound, none, &it), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_iterate(s->g, none, bound, &it), BESOM_UNSUPPORTED);
    return;
  }
  assert_int_equal(besom_guard_begin(s->g), BESOM_OK);
  for (unsigned i = 0; i < KEYS; i++) {
    besom_bytes key = text_key(i, text);
    assert_int_equal(besom_guard_put(s->g, key.data, key.len, "v", 1, 0), BESOM_OK);
  }
  assert_int_equal(besom_guard_commit(s->g), BESOM_OK);
  assert_range(s->g, none, none);
  static const unsigned bounds[] = {0, 1, 111, 112, 140, 141, 154, 297, 298};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    for (size_t j = 0; j < sizeof bounds / sizeof *bounds; j++)
      assert_range(s->g, text_key(bounds[i], text), text_key(bounds[j], text2));
  assert_range(s->g, text_key(140, text), none);
  assert_range(s->g, none, text_key(140, text));
}

static void a_range_is_shown_in_key_order(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_BATCH}, ranges);
}

/* ------------------------------------------------------------------ threads */

struct reading {
  besom_guard *g;
  atomic_bool *stop;
  uint64_t rounds;
  bool wrong;
};

/* The writer puts keys in the order of their numbers, so a moment has the first n of them. */
static void *read_moments(void *ctx) {
  struct reading *r = ctx;
  do {
    besom_iterator *it = NULL;
    besom_bytes key, value;
    uint64_t n = 0, highest = 0, i;
    r->wrong |= besom_guard_iterate(r->g, none, none, &it) != BESOM_OK;
    for (; besom_iterator_next(it, &key, &value) == BESOM_OK; n++) {
      memcpy(&i, value.data, 8);
      if (i + 1 > highest) highest = i + 1;
    }
    r->wrong |= highest != n;
    besom_iterator_close(it);
    r->rounds++;
  } while (!atomic_load(r->stop));
  return NULL;
}

static void beside_the_writer(struct subject *s) {
  atomic_bool stop = false;
  struct reading readings[2] = {{s->g, &stop, 0, false}, {s->g, &stop, 0, false}};
  pthread_t threads[2];
  for (unsigned i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, read_moments, &readings[i]), 0);
  for (uint64_t i = 0; i < 2 * KEYS; i += 10) {
    put_range(s->g, i, i + 10); /* it grows */
    if (i == KEYS) assert_true(besom_guard_rekey(s->g) != BESOM_UNSUPPORTED);
  }
  atomic_store(&stop, true);
  for (unsigned i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    assert_false(readings[i].wrong);
    assert_true(readings[i].rounds > 0);
  }
  assert_shows(iterate(s->g), 2 * KEYS);
}

static void iterators_run_beside_the_writer(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.durability = BESOM_DURABLE_SYNC, .threads = true},
                 beside_the_writer);
}

/* ------------------------------------------------------------------ errors */

static void a_store_without_cursors_is_UNSUPPORTED(void **state) {
  (void)state;
  besom_store *store = NULL;
  besom_guard *g = NULL;
  besom_iterator *it = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  assert_int_equal(besom_guard_iterate(g, none, none, &it), BESOM_UNSUPPORTED);
  assert_int_equal(besom_guard_iterate(g, none, none, NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_iterate(NULL, none, none, &it), BESOM_INVALID);
  assert_int_equal(besom_iterator_next(NULL, NULL, NULL), BESOM_INVALID);
  besom_iterator_close(NULL);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* Those of earlier epochs were removed, and RocksDB would pass what it remembers of each. */
static void an_iterator_leaves_past_epochs_out(struct subject *s) {
  put_range(s->g, 0, KEYS);
  for (uint32_t rekeys = 0; rekeys < 3; rekeys++) {
    besom_iterator_close(iterate(s->g));
    if (s->layout == BESOM_LAYOUT_MERGED) assert_true(first_epoch >= rekeys);
    bool finished = false;
    while (besom_guard_rekey(s->g) == BESOM_BUSY)
      assert_int_equal(besom_guard_step(s->g, UINT64_MAX, &finished), BESOM_OK);
    assert_int_equal(besom_guard_step(s->g, UINT64_MAX, &finished), BESOM_OK);
    assert_true(finished);
  }
}

static void iterators_leave_past_epochs_out(void **state) {
  (void)state;
  for_each_guard((besom_guard_config){.threads = true}, an_iterator_leaves_past_epochs_out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_iterator_shows_one_moment),
      cmocka_unit_test(iterators_leave_past_epochs_out),
      cmocka_unit_test(a_migration_does_not_disturb_an_iterator),
      cmocka_unit_test(a_batch_is_shown_when_it_is_committed),
      cmocka_unit_test(gathered_changes_are_shown),
      cmocka_unit_test(a_guard_with_an_iterator_does_not_close),
      cmocka_unit_test(keys_of_the_no_list_are_not_shown),
      cmocka_unit_test(a_range_is_shown_in_key_order),
      cmocka_unit_test(iterators_run_beside_the_writer),
      cmocka_unit_test(a_store_without_cursors_is_UNSUPPORTED),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
