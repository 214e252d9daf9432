/* Laws of the store in RocksDB only. */
#define _DEFAULT_SOURCE 1
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "laws.h"
#include "support/failing_allocator.h"

static bool is_rocksdb(const subject *s) {
  return !strcmp(s->name, "rocksdb");
}

static void a_failed_open_has_a_reason(subject *s) {
  const char *reason = NULL;
  besom_store *store = NULL;
  char nowhere[400];
  snprintf(nowhere, sizeof nowhere, "%s/no/where", s->dir.path);
  assert_int_equal(besom_store_rocksdb(nowhere, NULL, &reason, &store), BESOM_IO);
  assert_non_null(reason);
  reason = NULL;
  assert_int_equal(besom_store_rocksdb(NULL, NULL, &reason, &store), BESOM_INVALID);
  for (unsigned missing = 0; missing < 2; missing++) {
    besom_allocator allocator = *besom_default_allocator();
    if (missing == 0) allocator.allocate = NULL;
    if (missing == 1) allocator.release = NULL;
    besom_rocksdb_options options = {.allocator = &allocator};
    assert_int_equal(besom_store_rocksdb(s->at.text, &options, &reason, &store), BESOM_INVALID);
  }
  assert_non_null(reason);
  assert_int_equal(besom_store_rocksdb(s->at.text,
                                       &(besom_rocksdb_options){.bloom_bits_per_key = -1}, NULL,
                                       &store),
                   BESOM_INVALID);
  assert_null(store);
  assert_int_equal(temp_dir_count(&s->dir), 0);
}

static void a_damaged_store_is_corrupt(subject *s) {
  const char *reason = NULL;
  besom_store_close(subject_open(s));
  char file[400];
  snprintf(file, sizeof file, "%s/CURRENT", s->at.text);
  assert_true(write_whole_file(file, "noise", 5));
  besom_store *store = NULL;
  assert_int_equal(besom_store_rocksdb(s->at.text, NULL, &reason, &store), BESOM_CORRUPT);
  assert_non_null(reason);
  assert_null(store);
}

static besom_status ignore(void *ctx, const besom_record *record) {
  (void)record;
  ++*(unsigned *)ctx;
  return BESOM_OK;
}

static void all_options_can_be_used(subject *s) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_rocksdb_options options = {
      .cache_bytes = 1 << 20, .bloom_bits_per_key = 10, .direct_reads = true};
  options.allocator = &memory.api;
  besom_store *store = NULL;
  memory.fail_at = 1;
  assert_int_equal(besom_store_rocksdb(s->at.text, &options, NULL, &store), BESOM_NO_MEMORY);
  memory.fail_at = 0;
  assert_int_equal(besom_store_rocksdb(s->at.text, &options, NULL, &store), BESOM_OK);
  assert_is_directory(store, s->at.text);
  const besom_record record = {{"k", 1}, {NULL, 0}};
  unsigned shown = 0;
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  assert_int_equal(store->ops->table_get(store, BESOM_TABLE_KEYS, record.key, ignore, &shown),
                   BESOM_OK);
  assert_int_equal(shown, 1);
  besom_store_close(store);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* RocksDB would keep a thousand logs, and write all its settings to each. */
static void logs_do_not_pile_up(subject *s) {
  enum { OPENED = 6, KEPT = 2 };
  unsigned logs = 0;
  for (unsigned i = 0; i < OPENED; i++) besom_store_close(subject_open(s));
  DIR *directory = opendir(s->at.text);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    char path[800];
    struct stat info;
    if (strncmp(entry->d_name, "LOG", 3) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", s->at.text, entry->d_name);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 4096);
    logs++;
  }
  closedir(directory);
  assert_in_range(logs, 1, KEPT + 1);
}

/* Root may write everywhere, so a child process tries as another user. */
static void a_read_only_directory_is_READ_ONLY(subject *s) {
  besom_store_close(subject_open(s));
  assert_int_equal(chmod(s->dir.path, 0755), 0);
  assert_int_equal(chmod(s->at.text, 0555), 0);
  char lock[400];
  snprintf(lock, sizeof lock, "%s/LOCK", s->at.text);
  assert_int_equal(chmod(lock, 0444), 0);
  assert_int_equal(child_wait(child_start(s, "open-as-nobody", -1)), BESOM_READ_ONLY);
  assert_int_equal(chmod(s->at.text, 0755), 0);
}

const law rocksdb_laws[] = {
    {"a_read_only_directory_is_READ_ONLY", a_read_only_directory_is_READ_ONLY, is_rocksdb},
    {"a_failed_open_has_a_reason", a_failed_open_has_a_reason, is_rocksdb},
    {"a_damaged_store_is_corrupt", a_damaged_store_is_corrupt, is_rocksdb},
    {"logs_do_not_pile_up", logs_do_not_pile_up, is_rocksdb},
    {"all_options_can_be_used", all_options_can_be_used, is_rocksdb},
    {NULL, NULL, NULL},
};
