/*
 * A sidecar over RocksDB: its arguments, and the n-th call of RocksDB fails, for n = 1, 2, ...
 * Whatever fails, the sidecar answers yes for every key of the table.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_sidecar.h"
#include "failing_rocksdb.h"
#include "support/failing_allocator.h"
#include "support/temp_files.h"

/* ------------------------------------------------------------------ the database */

enum { DEFAULT, LOG, KEYS, FAMILIES };

typedef struct table {
  temp_dir dir;
  temp_path path, file;
  rocksdb_t *db;
  rocksdb_column_family_handle_t *families[FAMILIES];
  rocksdb_writeoptions_t *write;
  besom_config filter;
  besom_sidecar_config config;
  besom_sidecar_rocksdb_options where;
  besom_sidecar *s;
} table;

static void table_open(table *t) {
  static const char *const names[] = {"default", "log", "keys"};
  char *error = NULL;
  rocksdb_options_t *options = rocksdb_options_create();
  const rocksdb_options_t *all[] = {options, options, options};
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  t->db = rocksdb_open_column_families(options, t->path.text, FAMILIES, names, all, t->families,
                                       &error);
  assert_null(error);
  rocksdb_options_destroy(options);
  t->write = rocksdb_writeoptions_create();
  t->where.db = t->db;
  t->where.log = t->families[LOG];
}

static void table_init(table *t) {
  *t = (table){.filter = {.kind = "scaling", .options = "base=aqf", .fpr = 0.1}};
  t->config.filter = &t->filter;
  temp_dir_make(&t->dir);
  t->path = temp_dir_file(&t->dir, "db");
  t->file = temp_dir_file(&t->dir, "keys.besom");
  table_open(t);
}

static void table_close(table *t) {
  for (unsigned i = 0; i < FAMILIES; i++) rocksdb_column_family_handle_destroy(t->families[i]);
  rocksdb_writeoptions_destroy(t->write);
  rocksdb_close(t->db);
}

static void table_done(table *t) {
  assert_int_equal(besom_sidecar_close(t->s), BESOM_OK);
  table_close(t);
  temp_dir_remove(&t->dir);
}

static besom_status attach(table *t) {
  const char *reason = NULL;
  t->s = NULL;
  besom_status status = besom_sidecar_rocksdb(&t->config, &t->where, t->file.text, &reason, &t->s);
  assert_true(status == BESOM_OK ? t->s != NULL : !t->s && reason);
  return status;
}

/* Writes the keys first to first + n - 1 in one batch. */
static besom_status write_keys(table *t, uint64_t first, uint64_t n) {
  besom_status status = besom_sidecar_begin(t->s);
  if (status != BESOM_OK) return status;
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  for (uint64_t key = first; key < first + n; key++) {
    rocksdb_column_family_handle_t *keys = t->where.keys ? t->where.keys : t->families[DEFAULT];
    rocksdb_writebatch_put_cf(batch, keys, (const char *)&key, sizeof key, "v", 1);
    assert_int_equal(besom_sidecar_insert(t->s, &key, sizeof key), BESOM_OK);
  }
  status = besom_sidecar_rocksdb_write(t->s, t->write, batch);
  rocksdb_writebatch_destroy(batch);
  return status;
}

/* Returns the number of keys. */
static unsigned assert_no_false_negatives(table *t) {
  rocksdb_column_family_handle_t *keys = t->where.keys ? t->where.keys : t->families[DEFAULT];
  rocksdb_readoptions_t *options = rocksdb_readoptions_create();
  rocksdb_iterator_t *at = rocksdb_create_iterator_cf(t->db, options, keys);
  unsigned n = 0;
  for (rocksdb_iter_seek_to_first(at); rocksdb_iter_valid(at); rocksdb_iter_next(at), n++) {
    size_t len;
    const char *key = rocksdb_iter_key(at, &len);
    assert_true(besom_sidecar_may_contain(t->s, key, len));
  }
  rocksdb_iter_destroy(at);
  rocksdb_readoptions_destroy(options);
  return n;
}

/* ------------------------------------------------------------------ the tests */

/* The keys are in the default column family, or in one of their own. */
static void written_keys_are_members_also_after_reopening(void **state) {
  (void)state;
  for (unsigned own = 0; own < 2; own++) {
    table t;
    table_init(&t);
    t.where.keys = own ? t.families[KEYS] : NULL;
    assert_int_equal(attach(&t), BESOM_OK);
    assert_int_equal(write_keys(&t, 0, 50), BESOM_OK);
    assert_int_equal(besom_sidecar_sync(t.s), BESOM_OK);
    assert_int_equal(write_keys(&t, 50, 50), BESOM_OK);
    assert_int_equal(assert_no_false_negatives(&t), 100);
    for (unsigned removed = 0; removed < 2; removed++) {
      assert_int_equal(besom_sidecar_close(t.s), BESOM_OK);
      table_close(&t);
      if (removed) remove(t.file.text); /* then all keys are read */
      table_open(&t);
      t.where.keys = own ? t.families[KEYS] : NULL;
      assert_int_equal(attach(&t), BESOM_OK);
      assert_int_equal(assert_no_false_negatives(&t), 100);
    }
    table_done(&t);
  }
}

static void without_a_configuration_there_are_defaults(void **state) {
  (void)state;
  table t;
  table_init(&t);
  assert_int_equal(besom_sidecar_rocksdb(NULL, &t.where, t.file.text, NULL, &t.s), BESOM_OK);
  assert_int_equal(write_keys(&t, 0, 50), BESOM_OK);
  assert_int_equal(assert_no_false_negatives(&t), 50);
  table_done(&t);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  table t;
  table_init(&t);
  besom_sidecar *s = NULL;
  const besom_sidecar_rocksdb_options where = t.where;
  assert_int_equal(besom_sidecar_rocksdb(&t.config, NULL, t.file.text, NULL, &s), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rocksdb(&t.config, &where, NULL, NULL, &s), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rocksdb(&t.config, &where, t.file.text, NULL, NULL),
                   BESOM_INVALID);
  t.where.db = NULL;
  assert_int_equal(attach(&t), BESOM_INVALID);
  t.where = where, t.where.log = NULL;
  assert_int_equal(attach(&t), BESOM_INVALID);
  t.where = where, t.where.keys = t.where.log;
  assert_int_equal(attach(&t), BESOM_INVALID);
  t.where = where, t.filter.allocator = &(besom_allocator){0};
  assert_int_equal(attach(&t), BESOM_INVALID);
  t.filter.allocator = NULL;
  assert_int_equal(attach(&t), BESOM_OK);
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  assert_int_equal(besom_sidecar_rocksdb_write(NULL, t.write, batch), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rocksdb_write(t.s, NULL, batch), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rocksdb_write(t.s, t.write, NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rocksdb_write(t.s, t.write, batch), BESOM_INVALID); /* not begun */
  rocksdb_writebatch_destroy(batch);
  rocksdb_writeoptions_disable_WAL(t.write, 1);
  assert_int_equal(write_keys(&t, 0, 3), BESOM_INVALID);
  assert_int_equal(besom_sidecar_end(t.s, BESOM_SIDECAR_ABORTED), BESOM_OK); /* it stayed open */
  rocksdb_writeoptions_disable_WAL(t.write, 0);
  assert_int_equal(write_keys(&t, 0, 3), BESOM_OK);
  assert_int_equal(assert_no_false_negatives(&t), 3);
  table_done(&t);
}

/* Returns whether the n-th call was made. */
static bool fail_at(unsigned n) {
  table t;
  table_init(&t);
  unsigned written = 0, failures = 0;
  plan.calls = 0, plan.fail_at = n, plan.error = "IO error: No space left on device";
  for (unsigned i = 0; i < 4; i++) {
    besom_status status = t.s ? BESOM_OK : attach(&t);
    bool attached = status == BESOM_OK;
    if (attached) status = write_keys(&t, 10 * i, 10);
    if (status == BESOM_OK) written += 10;
    if (status == BESOM_OK && i == 1) status = besom_sidecar_sync(t.s);
    if (status != BESOM_OK) assert_int_equal(status, BESOM_DISK_FULL);
    failures += status != BESOM_OK;
    if (attached) assert_no_false_negatives(&t);
  }
  bool failed = plan.calls >= n;
  plan.fail_at = 0;
  assert_true(failures <= 1);
  besom_sidecar_close(t.s);
  assert_int_equal(attach(&t), BESOM_OK);
  assert_int_equal(assert_no_false_negatives(&t), written);
  table_done(&t);
  return failed;
}

static void the_nth_call_of_rocksdb_fails(void **state) {
  (void)state;
  unsigned n = 1;
  while (fail_at(n)) n++;
  assert_true(n > 5);
}

static void the_nth_allocation_fails(void **state) {
  (void)state;
  table t;
  table_init(&t);
  besom_status status = BESOM_NO_MEMORY;
  for (unsigned n = 1; status != BESOM_OK; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    t.filter.allocator = &memory.api;
    status = attach(&t);
    if (status != BESOM_OK) assert_int_equal(status, BESOM_NO_MEMORY);
    memory.fail_at = 0;
    assert_int_equal(besom_sidecar_close(t.s), BESOM_OK);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
  t.filter.allocator = NULL;
  assert_int_equal(attach(&t), BESOM_OK);
  table_done(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_keys_are_members_also_after_reopening),
      cmocka_unit_test(without_a_configuration_there_are_defaults),
      cmocka_unit_test(bad_arguments_are_refused),
      cmocka_unit_test(the_nth_call_of_rocksdb_fails),
      cmocka_unit_test(the_nth_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
