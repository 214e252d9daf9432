/* What guards and stores refuse: arguments that are not valid, and what a store does not offer. */
#define _DEFAULT_SOURCE 1 /* pthread_rwlock */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "besom_guard.h"
#include "store/array_db.h"
#include "support/keys.h"

static const uint8_t seed[16] = "of all guards";
static const besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1, .seed = seed};

static besom_store *new_store(void) {
  besom_store *store = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  return store;
}

static besom_guard *open_guard(besom_guard_config config, besom_store *store) {
  besom_guard *g = NULL;
  config.filter = &filter;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  return g;
}

static besom_status see_record(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(unsigned *)ctx;
  return BESOM_OK;
}

static besom_status see_entry(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ configurations */

/* The store stays with the caller. */
static void assert_refused(besom_guard_config config, besom_config of_filter) {
  besom_store *store = new_store();
  besom_guard *g = NULL;
  config.filter = &of_filter;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_INVALID);
  assert_null(g);
  besom_store_close(store);
}

static void *allocate_nothing(void *ctx, size_t size) {
  (void)ctx, (void)size;
  return NULL;
}

static void release_nothing(void *ctx, void *block, size_t size) {
  (void)ctx, (void)block, (void)size;
}

static void configurations_out_of_range_are_refused(void **state) {
  (void)state;
  static const besom_allocator no_release = {.allocate = allocate_nothing};
  static const besom_allocator no_allocate = {.release = release_nothing};
  char options[200];
  memset(options, 'x', sizeof options - 1);
  options[sizeof options - 1] = 0;
  const besom_guard_config guards[] = {
      {.grow_at = -0.1}, {.grow_at = 2.1}, {.rekey_at = -0.1}, {.rekey_at = 2.1}};
  for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) assert_refused(guards[i], filter);
  besom_config changed = filter;
  changed.options = options;
  assert_refused((besom_guard_config){0}, changed);
  changed = filter;
  changed.allocator = &no_release;
  assert_refused((besom_guard_config){0}, changed);
  changed.allocator = &no_allocate;
  assert_refused((besom_guard_config){0}, changed);
  assert_int_equal(besom_guard_refresh(NULL), BESOM_INVALID);
}

/* ------------------------------------------------------------------ stores that offer less */

enum { PARTS = 9 };

static void leave_out(besom_store_ops *ops, unsigned part) {
  switch (part) {
  case 0:
    ops->begin = NULL;
    break;
  case 1:
    ops->commit = NULL;
    break;
  case 2:
    ops->abort = NULL;
    break;
  case 3:
    ops->sync = NULL;
    break;
  case 4:
    ops->commit_number = NULL;
    break;
  case 5:
    ops->table_put = NULL;
    break;
  case 6:
    ops->table_get = NULL;
    break;
  case 7:
    ops->table_remove = NULL;
    break;
  default:
    ops->table_scan = NULL;
  }
}

/* A guard over it answers, and refuses what needs a transaction. */
static void a_store_without_transactions_is_enough_for_answers(void **state) {
  (void)state;
  for (unsigned part = 0; part < PARTS; part++) {
    besom_store *store = new_store();
    besom_store_ops ops = *store->ops;
    leave_out(&ops, part);
    store->ops = &ops;
    besom_guard *g = open_guard((besom_guard_config){0}, store),
                *other = open_guard((besom_guard_config){0}, new_store());
    for (uint64_t i = 0; i < 50; i++)
      assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
    for (uint64_t i = 0; i < 500; i++) {
      assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i % 50), NULL), BESOM_OK);
      assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, i), NULL), BESOM_NOT_FOUND);
    }
    assert_int_equal(besom_guard_begin(g), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_sync(g), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_no_put(g, "a", 1), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_merge(g, other), BESOM_UNSUPPORTED);
    besom_iterator *it = NULL;
    assert_int_equal(besom_guard_iterate(g, (besom_bytes){0}, (besom_bytes){0}, &it),
                     BESOM_UNSUPPORTED);
    besom_bytes key = {"many", 4}, value = {"value", 5};
    assert_int_equal(besom_guard_put_many(g, &key, &value, 1, 0), BESOM_OK);
    assert_int_equal(besom_guard_get(g, "many", 4, NULL), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    assert_int_equal(besom_guard_close(other), BESOM_OK);
  }
}

/* An iterator needs both cursors. */
static void a_store_without_cursors_has_no_iterators(void **state) {
  (void)state;
  for (unsigned part = 0; part < 3; part++) {
    array_db db;
    besom_store *store = NULL;
    array_db_init(&db);
    assert_int_equal(besom_store_ordered(&array_ops, &db, NULL, &store), BESOM_OK);
    besom_store_ops ops = *store->ops;
    if (part == 0) ops.list_cursor = NULL;
    if (part == 1) ops.table_cursor = NULL;
    if (part == 2) ops.size = offsetof(besom_store_ops, list_cursor); /* of an older version */
    store->ops = &ops;
    besom_guard *g = open_guard((besom_guard_config){0}, store);
    besom_iterator *it = NULL;
    assert_int_equal(besom_guard_iterate(g, (besom_bytes){0}, (besom_bytes){0}, &it),
                     BESOM_UNSUPPORTED);
    assert_null(it);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    array_db_free(&db);
  }
}

/* ------------------------------------------------------------------ calls */

static void many_values_are_checked_before_the_first_put(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){0}, new_store());
  besom_bytes keys[2] = {{"a", 1}, {"b", 1}}, values[2] = {{"1", 1}, {NULL, 5}};
  assert_int_equal(besom_guard_put_many(g, keys, values, 2, 0), BESOM_INVALID);
  assert_int_equal(besom_guard_get(g, "a", 1, NULL), BESOM_NOT_FOUND);
  values[1].len = 0; /* an empty value */
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_put_many(g, keys, values, 2, 0), BESOM_OK);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_int_equal(besom_guard_get(g, "b", 1, NULL), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void guards_with_a_no_list_are_not_merged(void **state) {
  (void)state;
  for (unsigned first = 0; first < 2; first++) {
    besom_guard *a = open_guard((besom_guard_config){0}, new_store()),
                *b = open_guard((besom_guard_config){0}, new_store());
    assert_int_equal(besom_guard_no_put(first ? a : b, "no", 2), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(b, 1, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_merge(a, b), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_no_delete(first ? a : b, "no", 2), BESOM_OK);
    assert_int_equal(besom_guard_merge(a, b), BESOM_OK);
    assert_int_equal(besom_guard_get_u64(a, 1, NULL), BESOM_OK);
    assert_int_equal(besom_guard_close(a), BESOM_OK);
    assert_int_equal(besom_guard_close(b), BESOM_OK);
  }
}

static void a_range_needs_the_split_layout(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    besom_guard *g = open_guard((besom_guard_config){.layout = layout}, new_store());
    const char *const keys[] = {"", "a", "b", "bb", "c"};
    for (size_t i = 0; i < 5; i++)
      assert_int_equal(besom_guard_put(g, keys[i], strlen(keys[i]), "", 0, 0), BESOM_OK);
    besom_bytes none = {NULL, 0}, b = {"b", 1};
    unsigned all = 0, from = 0, upto = 0;
    besom_status status = layout == BESOM_LAYOUT_SPLIT ? BESOM_OK : BESOM_UNSUPPORTED;
    assert_int_equal(besom_guard_scan(g, none, none, see_record, &all), BESOM_OK);
    assert_int_equal(besom_guard_scan(g, b, none, see_record, &from), status);
    assert_int_equal(besom_guard_scan(g, none, b, see_record, &upto), status);
    assert_int_equal(all, 5);
    assert_int_equal(from, status == BESOM_OK ? 3 : 0);
    assert_int_equal(upto, status == BESOM_OK ? 2 : 0);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  }
}

/* ------------------------------------------------------------------ stores */

static void assert_ranges_are_checked(besom_store *store) {
  static const char bytes[(1 << 16) + 1];
  besom_bytes none = {NULL, 0}, bad = {bytes, sizeof bytes};
  const besom_store_ops *ops = store->ops;
  besom_cursor *cursor = NULL;
  besom_table keys = BESOM_TABLE_KEYS;
  assert_int_equal(ops->table_scan(store, keys, bad, none, see_entry, NULL), BESOM_INVALID);
  assert_int_equal(ops->table_scan(store, keys, none, bad, see_entry, NULL), BESOM_INVALID);
  assert_int_equal(ops->table_scan(store, (besom_table)7, none, none, see_entry, NULL),
                   BESOM_INVALID);
  assert_int_equal(ops->table_scan(store, keys, none, none, NULL, NULL), BESOM_INVALID);
  if (!ops->table_cursor) return;
  assert_int_equal(ops->table_cursor(store, keys, bad, none, &cursor), BESOM_INVALID);
  assert_int_equal(ops->table_cursor(store, keys, none, bad, &cursor), BESOM_INVALID);
  assert_int_equal(ops->table_cursor(store, (besom_table)7, none, none, &cursor), BESOM_INVALID);
  assert_int_equal(ops->table_cursor(store, keys, none, none, NULL), BESOM_INVALID);
  assert_int_equal(ops->list_cursor(store, 1, 2, NULL), BESOM_INVALID);
  assert_int_equal(ops->list_cursor(store, 2, 1, &cursor), BESOM_INVALID);
  assert_null(cursor);
}

static void stores_check_their_arguments(void **state) {
  (void)state;
  besom_store *store = new_store();
  assert_ranges_are_checked(store);
  besom_store_close(store);
  array_db db;
  array_db_init(&db);
  assert_int_equal(besom_store_ordered(&array_ops, &db, NULL, &store), BESOM_OK);
  assert_ranges_are_checked(store);
  besom_store_close(store);
  array_db_free(&db);
  const besom_allocator bad[] = {{.allocate = allocate_nothing}, {.release = release_nothing}};
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(besom_store_memory(&bad[i], &store), BESOM_INVALID);
  assert_int_equal(besom_store_memory(NULL, NULL), BESOM_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(configurations_out_of_range_are_refused),
      cmocka_unit_test(a_store_without_transactions_is_enough_for_answers),
      cmocka_unit_test(a_store_without_cursors_has_no_iterators),
      cmocka_unit_test(many_values_are_checked_before_the_first_put),
      cmocka_unit_test(guards_with_a_no_list_are_not_merged),
      cmocka_unit_test(a_range_needs_the_split_layout),
      cmocka_unit_test(stores_check_their_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
