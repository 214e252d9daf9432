/*
 * The n-th call of RocksDB that can fail does, for n = 1, 2, ...: the store returns a status and
 * keeps what it acknowledged. The functions below and those of
 * failing_rocksdb.h replace those of RocksDB.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "failing_rocksdb.h"
#include "support/temp_files.h"

/* ------------------------------------------------------------------ further calls that fail */

rocksdb_t *rocksdb_open(const rocksdb_options_t *options, const char *name, char **error) {
  return fails(error) ? NULL : REAL(rocksdb_open)(options, name, error);
}

rocksdb_pinnableslice_t *rocksdb_get_pinned(rocksdb_t *db, const rocksdb_readoptions_t *options,
                                            const char *key, size_t len, char **error) {
  return fails(error) ? NULL : REAL(rocksdb_get_pinned)(db, options, key, len, error);
}

/* ------------------------------------------------------------------ the scenario */

enum { BATCHES = 3, RECORDS = 4 };

typedef struct scenario {
  temp_dir dir;
  temp_path path;
  besom_store *store;
  bool there[BATCHES];
  besom_status status; /* of the planned error */
  unsigned failures;
} scenario;

static bool good(scenario *s, besom_status status) {
  if (status == BESOM_OK) return true;
  assert_int_equal(status, s->status);
  s->failures++;
  return false;
}

static bool open_store(scenario *s) {
  const char *reason = NULL;
  s->store = NULL;
  if (good(s, besom_store_rocksdb(s->path.text, NULL, &reason, &s->store))) return true;
  assert_non_null(reason);
  assert_null(s->store);
  return false;
}

static void write_batch(scenario *s, uint64_t batch) {
  besom_store *store = s->store;
  if (!good(s, store->ops->begin(store))) return;
  for (uint64_t i = 0; i < RECORDS; i++) {
    const besom_record record = {{&i, sizeof i}, {&batch, sizeof batch}};
    besom_place at = {.bucket = RECORDS * batch + i};
    if (!good(s, store->ops->append(store, at, &record))) return store->ops->abort(store);
  }
  s->there[batch] = good(s, store->ops->commit(store, batch % 2 == 0));
  if (!s->there[batch]) store->ops->abort(store);
}

static besom_status see_record(void *ctx, besom_place at, const besom_record *record) {
  unsigned *records = ctx;
  uint64_t batch;
  assert_int_equal(record->value.len, sizeof batch);
  memcpy(&batch, record->value.data, sizeof batch);
  assert_true(batch < BATCHES && at.bucket / RECORDS == batch);
  records[batch]++;
  return BESOM_OK;
}

static void assert_kept(scenario *s) {
  unsigned records[BATCHES] = {0};
  if (!good(s, s->store->ops->scan(s->store, (besom_place){0}, see_record, records))) return;
  for (unsigned i = 0; i < BATCHES; i++) assert_int_equal(records[i], s->there[i] ? RECORDS : 0);
}

static void read_all(scenario *s) {
  besom_store *store = s->store;
  unsigned records[BATCHES] = {0};
  uint64_t number;
  assert_kept(s);
  for (uint64_t i = 0; i < BATCHES * RECORDS; i += 3) {
    besom_status status = store->ops->get(store, (besom_place){.bucket = i}, see_record, records);
    if (status != BESOM_NOT_FOUND) good(s, status);
  }
  good(s, store->ops->commit_number(store, &number));
  good(s, store->ops->sync(store));
  besom_cursor *cursor = NULL;
  besom_record record;
  if (!good(s, store->ops->list_cursor(store, 0, UINT32_MAX, &cursor))) return;
  besom_status status;
  while ((status = cursor->next(cursor, &record)) == BESOM_OK) continue;
  if (status != BESOM_END) good(s, status);
  cursor->close(cursor);
}

/* Returns whether the n-th call was made. */
static bool fail_at(unsigned n, const char *error, besom_status status) {
  scenario s = {.status = status};
  temp_dir_make(&s.dir);
  s.path = temp_dir_file(&s.dir, "store");
  plan.calls = 0, plan.fail_at = n, plan.error = error;
  for (unsigned i = 0; i < BATCHES; i++) {
    if (!s.store && !open_store(&s)) continue;
    write_batch(&s, i);
    read_all(&s);
  }
  bool failed = plan.calls >= n;
  plan.fail_at = 0;
  besom_store_close(s.store);
  assert_int_equal(s.failures > 0, failed);
  assert_true(open_store(&s));
  assert_kept(&s);
  besom_store_close(s.store);
  temp_dir_remove(&s.dir);
  return failed;
}

static void the_nth_call_of_rocksdb_fails(void **state) {
  (void)state;
  static const struct {
    const char *error;
    besom_status status;
  } errors[] = {{"IO error: While appending to file: x: Input/output error", BESOM_IO},
                {"IO error: No space left on device", BESOM_DISK_FULL},
                {"Corruption: block checksum mismatch", BESOM_CORRUPT}};
  enum { ERRORS = sizeof errors / sizeof *errors };
  unsigned n = 1;
  while (fail_at(n, errors[n % ERRORS].error, errors[n % ERRORS].status)) n++;
  assert_true(n > 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nth_call_of_rocksdb_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
