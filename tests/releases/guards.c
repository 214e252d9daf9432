/*
 * Databases with a guard that earlier releases wrote: they hold what was put, with the checkpoint
 * and without it. They can be changed, and opened again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contents.h"
#include "guard/databases.h"
#include "unpack.h"

/* NULL if this build has no such database, or cannot read the files of other machines. */
static opener opener_of_fixture(const release_guard *fixture) {
  size_t prefix = strcspn(fixture->name, "-");
  for (size_t i = 0; databases[i].name; i++)
    if (strlen(databases[i].name) == prefix && !strncmp(databases[i].name, fixture->name, prefix) &&
        release_is_readable(databases[i].name))
      return databases[i].open;
  return NULL;
}

static besom_guard *reopen(const release_guard *fixture, const char *path, bool rebuilt) {
  besom_store *store = NULL;
  besom_guard *g = NULL;
  besom_guard_statistics stats;
  assert_int_equal(opener_of_fixture(fixture)(path, &store), BESOM_OK);
  assert_int_equal(release_guard_open(fixture, store, &g), BESOM_OK);
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_int_equal(stats.rebuilt, rebuilt);
  return g;
}

static void assert_record(besom_guard *g, unsigned i, bool changed) {
  besom_bytes found;
  release_bytes key = release_key(i);
  int version = release_version(i, changed);
  besom_status status = besom_guard_get(g, key.data, key.len, &found);
  assert_int_equal(status, version == RELEASE_GONE ? BESOM_NOT_FOUND : BESOM_OK);
  if (status != BESOM_OK) return;
  release_bytes value = release_value(i, version);
  assert_int_equal(found.len, value.len);
  assert_memory_equal(found.data, value.data, value.len);
  besom_guard_release(g, &found);
}

static uint64_t count_records(bool changed) {
  uint64_t n = 0;
  for (unsigned i = 0; i < RELEASE_KEYS + RELEASE_MORE; i++)
    n += release_version(i, changed) != RELEASE_GONE;
  return n;
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key;
  (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

static void assert_no_list(besom_guard *g, bool changed) {
  for (unsigned i = 0; i <= RELEASE_NO; i++) {
    release_bytes key = release_name("no", i);
    bool listed = changed ? i > 0 : i < RELEASE_NO;
    assert_int_equal(besom_guard_no_has(g, key.data, key.len), listed ? BESOM_OK : BESOM_NOT_FOUND);
  }
}

static void assert_contents(const release_guard *fixture, besom_guard *g, bool changed) {
  besom_guard_statistics stats;
  uint64_t scanned = 0;
  for (unsigned i = 0; i < RELEASE_KEYS + 2 * RELEASE_MORE; i++) assert_record(g, i, changed);
  for (unsigned i = 0; i < RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i);
    assert_int_equal(besom_guard_get(g, key.data, key.len, NULL), BESOM_NOT_FOUND);
  }
  if (release_has_no_list(fixture)) assert_no_list(g, changed);
  assert_int_equal(besom_guard_scan(g, (besom_bytes){0}, (besom_bytes){0}, count_one, &scanned),
                   BESOM_OK);
  assert_int_equal(scanned, count_records(changed));
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_int_equal(stats.keys, count_records(changed));
}

/* The filter of the checkpoint has adapted to the absent keys: none of them costs a read. */
static void assert_adapted(besom_guard *g) {
  besom_guard_statistics before, after;
  assert_int_equal(besom_guard_stats(g, &before), BESOM_OK);
  for (unsigned i = 0; i < RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i);
    assert_int_equal(besom_guard_get(g, key.data, key.len, NULL), BESOM_NOT_FOUND);
  }
  assert_int_equal(besom_guard_stats(g, &after), BESOM_OK);
  assert_int_equal(after.store_reads, before.store_reads);
}

static void change_records(const release_guard *fixture, besom_guard *g) {
  for (unsigned i = 0; i < RELEASE_KEYS + RELEASE_MORE; i++) {
    release_bytes key = release_key(i);
    int before = release_version(i, false), after = release_version(i, true);
    if (before == after) continue;
    if (after == RELEASE_GONE) {
      assert_int_equal(besom_guard_delete(g, key.data, key.len), BESOM_OK);
      continue;
    }
    release_bytes value = release_value(i, after);
    assert_int_equal(besom_guard_put(g, key.data, key.len, value.data, value.len, 0), BESOM_OK);
  }
  if (!release_has_no_list(fixture)) return;
  release_bytes first = release_name("no", 0), last = release_name("no", RELEASE_NO);
  assert_int_equal(besom_guard_no_delete(g, first.data, first.len), BESOM_OK);
  assert_int_equal(besom_guard_no_put(g, last.data, last.len), BESOM_OK);
}

static void assert_migrating(besom_guard *g, bool migrating) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  assert_int_equal(stats.migrating, migrating);
}

static void read_and_change(const release_guard *fixture, const char *path, bool rebuilt) {
  besom_guard *g = reopen(fixture, path, rebuilt);
  assert_migrating(g, fixture->migrating);
  if (!rebuilt && release_has_no_list(fixture)) assert_adapted(g);
  assert_contents(fixture, g, false);
  assert_migrating(g, fixture->migrating);
  change_records(fixture, g);
  assert_contents(fixture, g, true);
  assert_int_equal(besom_guard_step(g, UINT64_MAX, NULL), BESOM_OK);
  assert_migrating(g, false);
  assert_contents(fixture, g, true);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  g = reopen(fixture, path, false);
  assert_contents(fixture, g, true);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* Without the checkpoint the filter is made of the records. */
static void guard_of_a_release(void **state) {
  const release_guard *fixture = *state;
  char name[64];
  if (!opener_of_fixture(fixture)) skip();
  snprintf(name, sizeof name, "guard-%s", fixture->name);
  for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
    for (int rebuilt = 0; rebuilt < 2; rebuilt++) {
      temp_dir dir;
      assert_true(release_unpack(releases[i], name, &dir));
      temp_path path = temp_dir_file(&dir, name);
      char checkpoint[600];
      snprintf(checkpoint, sizeof checkpoint, "%s/besom-guard.checkpoint", path.text);
      if (rebuilt) assert_int_equal(unlink(checkpoint), 0);
      read_and_change(fixture, path.text, rebuilt);
      temp_dir_remove(&dir);
    }
}

int main(void) {
  struct CMUnitTest tests[RELEASE_GUARDS];
  for (size_t i = 0; i < RELEASE_GUARDS; i++)
    tests[i] = (struct CMUnitTest){release_guards[i].name, guard_of_a_release, NULL, NULL,
                                   (void *)&release_guards[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
