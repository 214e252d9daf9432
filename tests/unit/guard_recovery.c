/* Reopening: from a valid checkpoint, else by a rebuild from the stored keys. */
#define _DEFAULT_SOURCE 1
#include <sys/stat.h>
#include <unistd.h>

#include "core/bits.h"
#include "core/byte_io.h"
#include "guard_durable.h"

static temp_path checkpoint_of(const subject *s) {
  return temp_dir_file(&s->directory, "besom-guard.checkpoint");
}

static void fill_and_adapt(subject *s) {
  for (size_t k = 0; k < 60; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
}

static subject *opened(const guard_setup *setup) {
  subject *s = heap_array(1, sizeof *s);
  subject_open(s, setup);
  return s;
}

static void drop(subject *s) {
  subject_close(s);
  free(s);
}

/* Opens the guard, checks whether it was rebuilt, and that its answers are exact. */
static void assert_opens(subject *s, bool rebuilt) {
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(stats_of(s).rebuilt, rebuilt);
  assert_consistent(s);
}

/* ------------------------------------------------------------------ valid checkpoints */

static void adaptations_survive_a_close(void **state) {
  (void)state;
  for (size_t i = 0; besom_kinds(i); i++) {
    if (!works_with_stores(besom_kinds(i))) continue;
    guard_setup setup = small_guard(besom_kinds(i)->name, BESOM_LAYOUT_MERGED);
    setup.guard.rekey_at = 2;
    subject *s = opened(&setup);
    fill_and_adapt(s);
    uint8_t yes[UNIVERSE];
    for (size_t k = 0; k < UNIVERSE; k++)
      yes[k] =
          besom_contains(besom_guard_filter(s->guard), s->keys.keys[k].data, s->keys.keys[k].len);
    subject_close_guard(s);
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_int_equal(stats_of(s).rebuilt, 0);
    for (size_t k = 0; k < UNIVERSE; k++)
      assert_int_equal(
          besom_contains(besom_guard_filter(s->guard), s->keys.keys[k].data, s->keys.keys[k].len),
          yes[k]);
    assert_consistent(s);
    drop(s);
  }
}

static void reading_keeps_the_checkpoint(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  fill_and_adapt(s);
  while (stats_of(s).migrating) assert_int_equal(besom_guard_step(s->guard, 100, NULL), BESOM_OK);
  subject_close_guard(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(besom_guard_get(s->guard, s->keys.keys[1].data, s->keys.keys[1].len, NULL),
                   BESOM_OK);
  subject_crash(s);
  assert_opens(s, false);
  drop(s);
}

/* The store stays as the checkpoint knows it, although a transaction was begun. */
static void an_aborted_batch_keeps_the_checkpoint(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  fill_and_adapt(s);
  for (unsigned i = 0; i < 2; i++) {
    subject_close_guard(s);
    assert_opens(s, false);
    assert_int_equal(begin(s), BESOM_OK);
    assert_int_equal(put(s, UNIVERSE - 1, 1), BESOM_OK);
    assert_int_equal(end_batch(s, false), BESOM_OK);
  }
  subject_close_guard(s);
  assert_opens(s, false);
  drop(s);
}

/* During a migration there are two filters to save or to rebuild. */
static void a_migration_continues_after_reopening(void **state) {
  (void)state;
  for (unsigned kill = 0; kill < 2; kill++)
    for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
      guard_setup setup = {.filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.01},
                           .guard = {.layout = layout, .step_items = 3}};
      subject *s = opened(&setup);
      for (size_t k = 0; k < 300; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
      assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
      for (unsigned rounds = 0; stats_of(s).migrating; rounds++) {
        assert_int_equal(besom_guard_step(s->guard, 40, NULL), BESOM_OK);
        assert_int_equal(put(s, 300 + rounds, rounds + 1), BESOM_OK);
        bool migrating = stats_of(s).migrating;
        if (kill)
          subject_crash(s);
        else
          subject_close_guard(s);
        assert_int_equal(subject_reopen(s), BESOM_OK);
        assert_int_equal(stats_of(s).rebuilt, kill);
        assert_int_equal(stats_of(s).migrating, migrating);
        assert_int_equal(stats_of(s).keys, members_of(s));
        assert_scan(s);
      }
      assert_consistent(s);
      drop(s);
    }
}

/* ------------------------------------------------------------------ invalid checkpoints */

static void damaged_checkpoints_are_ignored(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  for (size_t k = 0; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  subject_close_guard(s);
  temp_path path = checkpoint_of(s);
  size_t len;
  uint8_t *good = read_whole_file(path.text, &len);
  assert_non_null(good);
  for (size_t i = 0; i < len + 20; i += 1 + len / 60) {
    uint8_t *bad = heap_array(len + 20, 1);
    memcpy(bad, good, len);
    if (i < len) bad[i] ^= (uint8_t)(1 << i % 8);
    /* A flipped bit, or trailing bytes. */
    assert_true(write_whole_file(path.text, bad, i < len ? len : i));
    free(bad);
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_int_equal(stats_of(s).rebuilt, i < len || i > len);
    for (size_t k = 0; k < 40; k++) assert_answer(s, k);
    subject_crash(s);
    assert_true(write_whole_file(path.text, good, i % len)); /* truncated */
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_int_equal(stats_of(s).rebuilt, 1);
    subject_crash(s);
  }
  assert_true(write_whole_file(path.text, good, len));
  assert_opens(s, false);
  free(good);
  drop(s);
}

static void a_foreign_checkpoint_is_ignored(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *a = opened(&setup), *b = opened(&setup);
  for (size_t k = 0; k < 30; k++) {
    assert_int_equal(put(a, k, k + 1), BESOM_OK);
    assert_int_equal(put(b, k + 100, k + 1), BESOM_OK);
  }
  subject_close_guard(a);
  subject_close_guard(b);
  size_t len;
  uint8_t *bytes = read_whole_file(checkpoint_of(a).text, &len);
  assert_true(write_whole_file(checkpoint_of(b).text, bytes, len));
  free(bytes);
  assert_opens(b, true);
  assert_opens(a, false);
  drop(a);
  drop(b);
}

static besom_status same_number(besom_store *store, uint64_t *number) {
  (void)store;
  *number = 7;
  return BESOM_OK;
}

/* After a power cut a store can reach the same commit number with other data. The open id
   differs. */
static void a_checkpoint_of_another_opening_is_ignored(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  setup.guard.rekey_at = 2; /* only the open id may differ */
  subject *s = opened(&setup);
  besom_store_ops ops = durable_ops;
  ops.commit_number = same_number;
  s->store.head.ops = &ops;
  for (size_t k = 0; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  subject_close_guard(s);
  size_t len, none;
  uint8_t *old = read_whole_file(checkpoint_of(s).text, &len);
  assert_opens(s, false);
  assert_int_equal(delete_key(s, 5), BESOM_OK);
  assert_null(read_whole_file(checkpoint_of(s).text, &none)); /* unlinked before the first change */
  assert_int_equal(put(s, 50, 1), BESOM_OK);
  subject_crash(s);
  assert_true(write_whole_file(checkpoint_of(s).text, old, len));
  assert_opens(s, true);
  free(old);
  drop(s);
}

static void a_directory_that_is_gone_costs_only_the_checkpoint(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  s->store.directory = "/no/such/directory/anywhere";
  for (size_t k = 0; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(try_close_guard(s), BESOM_NO_CHECKPOINT);
  assert_opens(s, true);
  s->store.directory = s->directory.path;
  drop(s);
}

/* ------------------------------------------------------------------ a close that fails */

/* The superuser may write anywhere: for it, the directory is not one. */
static void close_reports_a_failed_checkpoint(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  temp_path file = temp_dir_file(&s->directory, "a file");
  assert_true(write_whole_file(file.text, "x", 1));
  for (size_t k = 0; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  if (geteuid() == 0)
    s->store.directory = file.text;
  else
    assert_int_equal(chmod(s->directory.path, 0555), 0);
  assert_int_equal(try_close_guard(s), BESOM_NO_CHECKPOINT);
  assert_int_equal(chmod(s->directory.path, 0755), 0);
  s->store.directory = s->directory.path;
  assert_opens(s, true); /* no key is lost */
  subject_close_guard(s);
  assert_opens(s, false);
  drop(s);
}

static besom_status failing_sync(besom_store *store) {
  (void)store;
  return BESOM_DISK_FULL;
}

static void close_reports_a_failed_sync(void **state) {
  (void)state;
  for (besom_durability durability = BESOM_DURABLE_PUT; durability <= BESOM_DURABLE_BATCH;
       durability++) {
    guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
    setup.guard.durability = durability;
    subject *s = opened(&setup);
    size_t none;
    for (size_t k = 0; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
    besom_store_ops ops = durable_ops;
    ops.sync = failing_sync;
    s->store.head.ops = &ops;
    assert_int_equal(try_close_guard(s), BESOM_DISK_FULL);
    assert_null(read_whole_file(checkpoint_of(s).text, &none)); /* the store may go back */
    s->store.head.ops = &durable_ops;
    assert_opens(s, true);
    drop(s);
  }
}

/* With SYNC, close writes what was gathered. If that fails it is lost, and close says so. */
static void close_reports_lost_changes(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  setup.guard.durability = BESOM_DURABLE_SYNC;
  subject *s = opened(&setup);
  for (size_t k = 0; k < 20; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  for (size_t k = 20; k < 30; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  s->store.dead = true;
  assert_int_equal(try_close_guard(s), BESOM_IO);
  s->store.dead = false;
  inner_of(&s->store.head)->ops->abort(inner_of(&s->store.head)); /* as if the process had ended */
  for (size_t k = 20; k < 30; k++) s->values[k] = 0;
  assert_opens(s, true);
  drop(s);
}

/* An open batch is aborted, and that is no failure. */
static void close_aborts_an_open_batch(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  for (size_t k = 0; k < 10; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(begin(s), BESOM_OK);
  for (size_t k = 5; k < 20; k++) assert_int_equal(put(s, k, k + 100), BESOM_OK);
  subject_close_guard(s);
  assert_opens(s, false);
  assert_int_equal(stats_of(s).keys, 10);
  drop(s);
}

/* ------------------------------------------------------------------ the manifest */

static void the_stored_filter_config_wins(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  fill_and_adapt(s);
  subject_close_guard(s);
  s->setup.filter = (besom_config){.kind = "aqf", .capacity = 9, .fpr = 0.3, .hash = "sip"};
  assert_opens(s, false);
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  assert_string_equal(stats.hash, "xxh3");
  assert_true(stats.slots >= 80 && stats.width == 3);
  subject_close_guard(s);
  s->setup.filter.kind = "exaf";
  assert_int_equal(subject_reopen(s), BESOM_INCOMPATIBLE);
  s->setup.filter.kind = "aqf";
  s->setup.guard.layout = BESOM_LAYOUT_SPLIT;
  assert_int_equal(subject_reopen(s), BESOM_INCOMPATIBLE);
  s->setup.guard.layout = BESOM_LAYOUT_MERGED;
  assert_opens(s, false);
  drop(s);
}

/* Also for kinds whose geometry is not in the manifest. */
static void a_later_filter_config_is_ignored(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "acf-cyclic"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    guard_setup setup = small_guard(kinds[i], BESOM_LAYOUT_MERGED);
    subject *s = opened(&setup);
    fill_and_adapt(s);
    subject_close_guard(s);
    s->setup.filter = (besom_config){.kind = kinds[i], .slots = 17, .width = 9};
    assert_opens(s, false);
    subject_close_guard(s);
    s->setup.filter = (besom_config){.kind = kinds[i], .capacity = 3, .fpr = 0.5};
    assert_opens(s, false);
    drop(s);
  }
}

typedef struct manifest {
  uint8_t bytes[1024];
  size_t len;
} manifest;

static besom_status copy_manifest(void *ctx, const besom_record *record) {
  manifest *n = ctx;
  n->len = record->value.len;
  memcpy(n->bytes, record->value.data, n->len);
  return BESOM_OK;
}

/* The manifest of a guard that was closed after changes. */
static manifest manifest_after_changes(subject *s) {
  fill_and_adapt(s);
  subject_close_guard(s);
  besom_store *store = s->store.inner;
  besom_bytes key = {"guard", 5};
  manifest m;
  assert_int_equal(store->ops->table_get(store, BESOM_TABLE_MANIFEST, key, copy_manifest, &m),
                   BESOM_OK);
  return m;
}

static void a_damaged_manifest_is_corrupt(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  manifest good = manifest_after_changes(s), bad;
  besom_store *store = s->store.inner;
  besom_bytes key = {"guard", 5};
  for (size_t i = 0; i < good.len; i++)
    for (unsigned variant = 0; variant < 2; variant++) {
      bad = good;
      bad.bytes[i] ^= 16;
      besom_record record = {key, {bad.bytes, variant ? good.len : i}};
      assert_int_equal(store->ops->table_put(store, BESOM_TABLE_MANIFEST, &record), BESOM_OK);
      assert_int_equal(subject_reopen(s), BESOM_CORRUPT);
    }
  besom_record record = {key, {good.bytes, good.len}};
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_MANIFEST, &record), BESOM_OK);
  assert_opens(s, true); /* table_put was a commit, so the checkpoint is stale */
  drop(s);
}

static besom_status open_with(subject *s, manifest m) {
  besom_store *store = s->store.inner;
  store64(m.bytes + m.len - 8, besom__checksum(m.bytes, m.len - 8));
  besom_record record = {{"guard", 5}, {m.bytes, m.len}};
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_MANIFEST, &record), BESOM_OK);
  return subject_reopen(s);
}

static size_t place_of(const manifest *m, const void *bytes, size_t len) {
  for (size_t i = 0; i + len <= m->len; i++)
    if (!memcmp(m->bytes + i, bytes, len)) return i;
  fail();
  return 0;
}

/* What a program wrote that is newer or has an error: the checksum is right. */
static void a_manifest_of_another_program_is_refused(void **state) {
  (void)state;
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject *s = opened(&setup);
  manifest good = manifest_after_changes(s), bad = good;
  while (--bad.len > 8) assert_int_equal(open_with(s, bad), BESOM_CORRUPT);
  bad.len = good.len + 1;
  assert_int_equal(open_with(s, bad), BESOM_CORRUPT);
  bad = good;
  bad.bytes[0]++; /* its version */
  assert_int_equal(open_with(s, bad), BESOM_NEWER_VERSION);
  bad.bytes[0] = 0;
  assert_int_equal(open_with(s, bad), BESOM_CORRUPT);
  bad = good;
  bad.bytes[4] ^= 1; /* its layout */
  assert_int_equal(open_with(s, bad), BESOM_INCOMPATIBLE);
  bad = good;
  bad.bytes[place_of(&bad, "aqf", 3)] ^= 1;
  assert_int_equal(open_with(s, bad), BESOM_INCOMPATIBLE);
  bad = good;
  bad.bytes[place_of(&bad, seed, sizeof seed) - 8] = 7; /* its hash function, before the width */
  assert_int_equal(open_with(s, bad), BESOM_CORRUPT);
  assert_int_equal(open_with(s, good), BESOM_OK);
  assert_consistent(s);
  drop(s);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
  uint64_t *last = ctx;
  *last = done;
  assert_true(total == 0 || done <= total);
  return false;
}

static void open_reports_progress(void **state) {
  (void)state;
  guard_setup setup = {.filter = {.kind = "aqf", .capacity = 10000, .fpr = 0.01}};
  subject *s = opened(&setup);
  for (uint64_t k = 0; k < 9000; k++)
    assert_int_equal(besom_guard_put_u64(s->guard, k, "", 0, BESOM_PUT_NEW), BESOM_OK);
  s->store.directory = NULL;
  subject_close_guard(s);
  uint64_t done = 0;
  besom_progress progress = {stop, &done};
  s->setup.guard.progress = &progress;
  assert_int_equal(subject_reopen(s), BESOM_CANCELLED);
  assert_int_equal(done, 4096);
  s->setup.guard.progress = NULL;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  for (uint64_t k = 0; k < 9000; k++)
    assert_int_equal(besom_guard_get_u64(s->guard, k, NULL), BESOM_OK);
  assert_int_equal(stats_of(s).keys, 9000);
  drop(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adaptations_survive_a_close),
      cmocka_unit_test(reading_keeps_the_checkpoint),
      cmocka_unit_test(an_aborted_batch_keeps_the_checkpoint),
      cmocka_unit_test(a_migration_continues_after_reopening),
      cmocka_unit_test(damaged_checkpoints_are_ignored),
      cmocka_unit_test(a_foreign_checkpoint_is_ignored),
      cmocka_unit_test(a_checkpoint_of_another_opening_is_ignored),
      cmocka_unit_test(a_directory_that_is_gone_costs_only_the_checkpoint),
      cmocka_unit_test(close_reports_a_failed_checkpoint),
      cmocka_unit_test(close_reports_a_failed_sync),
      cmocka_unit_test(close_reports_lost_changes),
      cmocka_unit_test(close_aborts_an_open_batch),
      cmocka_unit_test(the_stored_filter_config_wins),
      cmocka_unit_test(a_later_filter_config_is_ignored),
      cmocka_unit_test(a_damaged_manifest_is_corrupt),
      cmocka_unit_test(a_manifest_of_another_program_is_refused),
      cmocka_unit_test(open_reports_progress),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
