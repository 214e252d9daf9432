/*
 * Sidecars that earlier releases wrote, with a log and without one: their filters are loaded, deny
 * no key of the table, and go on denying what was reported. They can be changed, and opened again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "contents.h"
#include "guard/sidecar_tables.h"
#include "unpack.h"

/* NULL if this build has no such database, or cannot read the files of other machines. */
static const table_ops *table_of_fixture(const release_sidecar *fixture) {
  for (size_t i = 0; all_tables[i]; i++)
    if (!strcmp(all_tables[i]->name, fixture->database) && release_is_readable(fixture->database))
      return all_tables[i];
  return NULL;
}

static besom_sidecar_statistics stats_of(const besom_sidecar *s) {
  besom_sidecar_statistics stats;
  assert_int_equal(besom_sidecar_stats(s, &stats), BESOM_OK);
  return stats;
}

static uint64_t count_keys(bool changed) {
  uint64_t n = 0;
  for (unsigned i = 0; i < RELEASE_KEYS + RELEASE_MORE; i++) n += release_in_table(i, changed);
  return n;
}

static void assert_members(const besom_sidecar *s, bool changed) {
  for (unsigned i = 0; i < RELEASE_KEYS + RELEASE_MORE; i++) {
    release_bytes key = release_key(i);
    if (release_in_table(i, changed)) assert_true(besom_sidecar_may_contain(s, key.data, key.len));
  }
}

static unsigned count_false_positives(const besom_sidecar *s) {
  unsigned n = 0;
  for (unsigned i = 0; i < RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i);
    n += besom_sidecar_may_contain(s, key.data, key.len);
  }
  return n;
}

static void report_absent(besom_sidecar *s) {
  for (unsigned i = 0; i < RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i);
    if (besom_sidecar_may_contain(s, key.data, key.len))
      assert_int_equal(besom_sidecar_report(s, key.data, key.len, besom_sidecar_read_point(s)),
                       BESOM_OK);
  }
}

/* ------------------------------------------------------------------ with a log */

static void count_key(void *ctx, besom_bytes key) {
  (void)key;
  ++*(uint64_t *)ctx;
}

/* The test has no keys of its own in the file: those after RELEASE_SAVED came from the log. */
static void assert_loaded(const release_sidecar *fixture, const table_ops *ops, table *db) {
  besom_sidecar_statistics stats = stats_of(db->sidecar);
  uint64_t in_table = 0, deleted = 0;
  for (unsigned i = RELEASE_PLAIN; i < RELEASE_KEYS; i++) deleted += !release_in_table(i, false);
  ops->for_each(db, count_key, &in_table);
  assert_int_equal(in_table, count_keys(false));
  assert_int_equal(stats.origin, BESOM_SIDECAR_LOADED);
  assert_int_equal(stats.kept, fixture->keep_removed ? deleted : 0);
  if (!fixture->keep_removed) assert_int_equal(stats.keys, count_keys(false));
  if (fixture->killed) assert_true(stats.replayed >= RELEASE_KEYS - RELEASE_SAVED);
  if (!fixture->killed) assert_int_equal(stats.replayed, 0);
  assert_members(db->sidecar, false);
  if (!fixture->killed) assert_int_equal(count_false_positives(db->sidecar), 0);
}

static void change_table(const table_ops *ops, table *db) {
  ops->begin(db);
  for (unsigned i = RELEASE_PLAIN; i < RELEASE_KEYS + RELEASE_MORE; i++) {
    release_bytes key = release_key(i);
    bool after = release_in_table(i, true);
    if (after != release_in_table(i, false))
      ops->change(db, (besom_bytes){key.data, key.len}, after);
  }
  ops->end(db, true);
  report_absent(db->sidecar);
  assert_members(db->sidecar, true);
  assert_int_equal(count_false_positives(db->sidecar), 0);
}

static void table_of_a_release(const release_sidecar *fixture, const table_ops *ops,
                               const temp_dir *dir) {
  char data[600], file[600];
  besom_sidecar_config config = release_sidecar_config(fixture, &release_sidecar_filter);
  snprintf(data, sizeof data, "%s/%s/data", dir->path, fixture->name);
  snprintf(file, sizeof file, "%s/%s/keys.besom", dir->path, fixture->name);
#ifdef BESOM_TEST_LMDB
  lmdb_table_every_commit = fixture->every_commit;
#endif
  table db = ops->open(data, &config, file);
  assert_loaded(fixture, ops, &db);
  change_table(ops, &db);
  ops->close(&db);
  db = ops->open(data, &config, file);
  assert_int_equal(stats_of(db.sidecar).origin, BESOM_SIDECAR_LOADED);
  assert_members(db.sidecar, true);
  assert_int_equal(count_false_positives(db.sidecar), 0);
  ops->close(&db);
}

/* ------------------------------------------------------------------ without a log */

static besom_sidecar *open_file(const release_sidecar *fixture, const char *file,
                                const besom_source *keys, besom_sidecar_origin origin) {
  besom_sidecar_config config = release_sidecar_config(fixture, &release_sidecar_filter);
  besom_sidecar *s = NULL;
  config.keys = keys;
  assert_int_equal(besom_sidecar_open(&config, file, NULL, &s), BESOM_OK);
  assert_int_equal(stats_of(s).origin, origin);
  return s;
}

static void change_file(besom_sidecar *s) {
  assert_int_equal(besom_sidecar_begin(s), BESOM_OK);
  for (unsigned i = RELEASE_PLAIN; i < RELEASE_KEYS + RELEASE_MORE; i++) {
    release_bytes key = release_key(i);
    bool before = release_in_table(i, false), after = release_in_table(i, true);
    if (!before && after) assert_int_equal(besom_sidecar_insert(s, key.data, key.len), BESOM_OK);
    if (before && !after) assert_int_equal(besom_sidecar_remove(s, key.data, key.len), BESOM_OK);
  }
  assert_int_equal(besom_sidecar_end(s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
  assert_int_equal(besom_sidecar_stamp(s, RELEASE_STAMP), BESOM_OK);
}

static void file_of_a_release(const release_sidecar *fixture, const temp_dir *dir) {
  char file[600];
  release_table keys = {0};
  besom_source source = {release_table_next, release_table_rewind, 0, &keys};
  snprintf(file, sizeof file, "%s/%s/keys.besom", dir->path, fixture->name);
  besom_sidecar *s = open_file(fixture, file, &source,
                               fixture->killed ? BESOM_SIDECAR_UNCLEAN : BESOM_SIDECAR_LOADED);
  assert_int_equal(stats_of(s).keys, count_keys(false));
  assert_members(s, false);
  if (!fixture->killed) assert_int_equal(count_false_positives(s), 0);
  change_file(s);
  report_absent(s);
  keys.changed = true;
  assert_int_equal(besom_sidecar_close(s), BESOM_OK);
  s = open_file(fixture, file, &source, BESOM_SIDECAR_LOADED);
  assert_int_equal(stats_of(s).keys, count_keys(true));
  assert_members(s, true);
  assert_int_equal(count_false_positives(s), 0);
  assert_int_equal(besom_sidecar_close(s), BESOM_OK);
}

static void sidecar_of_a_release(void **state) {
  const release_sidecar *fixture = *state;
  const table_ops *ops = fixture->database ? table_of_fixture(fixture) : NULL;
  if (fixture->database && !ops) skip();
  for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
    temp_dir dir;
    assert_true(release_unpack(releases[i], fixture->name, &dir));
    if (ops) table_of_a_release(fixture, ops, &dir);
    if (!ops) file_of_a_release(fixture, &dir);
    temp_dir_remove(&dir);
  }
}

int main(void) {
  struct CMUnitTest tests[RELEASE_SIDECARS];
  for (size_t i = 0; i < RELEASE_SIDECARS; i++)
    tests[i] = (struct CMUnitTest){release_sidecars[i].name, sidecar_of_a_release, NULL, NULL,
                                   (void *)&release_sidecars[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
