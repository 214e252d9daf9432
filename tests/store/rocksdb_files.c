/*
 * Files of RocksDB that were cut or are missing: whatever the length, open refuses, says why, and
 * changes nothing. What a crash leaves is opened, with all that was acknowledged.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/keys.h"
#include "support/temp_files.h"

#define RECORD "besom-rocksdb.files"

static besom_status open_guard(const char *path, besom_layout layout, const char **reason,
                               besom_guard **out) {
  besom_store *store = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.05};
  besom_guard_config config = {.filter = &filter, .layout = layout};
  besom_status status = besom_store_rocksdb(path, NULL, reason, &store);
  if (status == BESOM_OK) status = besom_guard_open(&config, store, out);
  if (status != BESOM_OK && store) besom_store_close(store);
  return status;
}

static void assert_has(besom_guard *g, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_OK);
}

static temp_path in(const char *directory, const char *name) {
  temp_path path;
  assert_true(snprintf(path.text, sizeof path.text, "%s/%s", directory, name) <
              (int)sizeof path.text);
  return path;
}

/* The names in a directory that begin or end with a text. */
static unsigned find(const char *directory, const char *start, const char *end, char names[][64]) {
  DIR *listed = opendir(directory);
  assert_non_null(listed);
  unsigned n = 0;
  for (struct dirent *entry; (entry = readdir(listed)) && n < 16;) {
    size_t len = strlen(entry->d_name), of_end = strlen(end);
    if (len < of_end || len > 63 || strncmp(entry->d_name, start, strlen(start)) != 0) continue;
    if (!strcmp(entry->d_name + len - of_end, end)) memcpy(names[n++], entry->d_name, len + 1);
  }
  closedir(listed);
  return n;
}

/* ------------------------------------------------------------------ after a close */

/* Each open writes the records of the log to a table, and names it in MANIFEST. */
static uint64_t make_database(const char *path, besom_layout layout) {
  enum { OPENED = 5, CHANGES = 40 };
  uint64_t n = 0;
  for (unsigned i = 0; i < OPENED; i++) {
    besom_guard *g = NULL;
    assert_int_equal(open_guard(path, layout, NULL, &g), BESOM_OK);
    for (uint64_t end = n + CHANGES; n < end; n++)
      assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, n), &n, 8, 0), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  }
  return n;
}

static void assert_refused(const char *path, besom_layout layout) {
  besom_guard *g = NULL;
  const char *reason = NULL;
  assert_int_equal(open_guard(path, layout, &reason, &g), BESOM_CORRUPT);
  assert_non_null(strstr(reason, RECORD));
}

static void cut_everywhere(const char *path, const char *name, besom_layout layout) {
  size_t size;
  temp_path file = in(path, name);
  uint8_t *bytes = read_whole_file(file.text, &size);
  assert_non_null(bytes);
  for (size_t len = 0; len < size; len += size < 1000 || len + 500 > size ? 1 : 97) {
    assert_int_equal(truncate(file.text, (off_t)len), 0);
    assert_refused(path, layout);
    assert_true(write_whole_file(file.text, bytes, size));
  }
  assert_int_equal(remove(file.text), 0);
  assert_refused(path, layout);
  assert_true(write_whole_file(file.text, bytes, size));
  free(bytes);
}

static void files_that_were_cut_are_refused(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    char names[16][64];
    besom_guard *g = NULL;
    temp_dir dir;
    temp_dir_make(&dir);
    uint64_t keys = make_database(dir.path, layout);
    assert_int_equal(find(dir.path, "MANIFEST-", "", names), 1);
    cut_everywhere(dir.path, names[0], layout);
    unsigned logs = find(dir.path, "", ".log", names);
    assert_true(logs > 0);
    while (logs--) cut_everywhere(dir.path, names[logs], layout);
    assert_int_equal(rename(in(dir.path, "CURRENT").text, in(dir.path, "kept").text), 0);
    assert_refused(dir.path, layout);
    assert_int_equal(rename(in(dir.path, "kept").text, in(dir.path, "CURRENT").text), 0);
    assert_int_equal(open_guard(dir.path, layout, NULL, &g), BESOM_OK);
    assert_has(g, keys);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    temp_dir_remove(&dir);
  }
}

/* A backup may be cut on its way to another disk. */
static void a_backup_that_was_cut_is_refused(void **state) {
  (void)state;
  char names[16][64];
  besom_guard *g = NULL;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db"), copy = temp_dir_file(&dir, "copy");
  uint64_t keys = make_database(path.text, BESOM_LAYOUT_MERGED);
  assert_int_equal(open_guard(path.text, BESOM_LAYOUT_MERGED, NULL, &g), BESOM_OK);
  assert_int_equal(besom_guard_backup(g, copy.text), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_int_equal(find(copy.text, "MANIFEST-", "", names), 1);
  cut_everywhere(copy.text, names[0], BESOM_LAYOUT_MERGED);
  for (unsigned logs = find(copy.text, "", ".log", names); logs--;)
    cut_everywhere(copy.text, names[logs], BESOM_LAYOUT_MERGED);
  char command[2000]; /* over the files of the database, which was used since */
  snprintf(command, sizeof command, "cp -r --remove-destination '%s'/. '%s'", copy.text, path.text);
  assert_int_equal(system(command), 0);
  for (unsigned i = 0; i < 2; i++) {
    const char *at = i ? path.text : copy.text;
    assert_int_equal(open_guard(at, BESOM_LAYOUT_MERGED, NULL, &g), BESOM_OK);
    assert_has(g, keys);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    snprintf(command, sizeof command, "rm -rf '%s'", at);
    assert_int_equal(system(command), 0);
  }
  temp_dir_remove(&dir);
}

/* A record that does not fit takes nothing away: of a database that was opened since by a program
   that does not know it, or a record that is none. */
static void a_record_of_an_earlier_open_is_ignored(void **state) {
  (void)state;
  size_t size;
  temp_dir dir;
  besom_guard *g = NULL;
  temp_dir_make(&dir);
  uint64_t keys = make_database(dir.path, BESOM_LAYOUT_MERGED);
  temp_path record = in(dir.path, RECORD);
  uint8_t *earlier = read_whole_file(record.text, &size);
  for (unsigned way = 0; way < 4; way++) {
    assert_int_equal(open_guard(dir.path, BESOM_LAYOUT_MERGED, NULL, &g), BESOM_OK);
    assert_has(g, keys);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    if (way == 0) assert_true(write_whole_file(record.text, earlier, size));
    if (way == 1) assert_true(write_whole_file(record.text, earlier, size - 1));
    if (way == 2) assert_int_equal(remove(record.text), 0);
  }
  free(earlier);
  temp_dir_remove(&dir);
}

/* ------------------------------------------------------------------ after a crash */

/* So many records are more than RocksDB keeps in memory. */
enum { LARGE = 1 << 20, RECORDS = 70 };

static unsigned count_files(const char *path, const char *end) {
  char names[16][64];
  return find(path, "", end, names);
}

/* The one with the highest number: RocksDB may still have to delete another one. */
static off_t manifest_bytes(const char *path, char name[64]) {
  char names[16][64] = {""};
  struct stat file;
  unsigned last = 0;
  for (unsigned n = find(path, "MANIFEST-", "", names); n-- > 1;)
    if (strcmp(names[n], names[last]) > 0) last = n;
  memcpy(name, names[last], 64);
  return stat(in(path, name).text, &file) == 0 ? file.st_size : 0;
}

/* Ends without a close after RocksDB has written a table. With further writes, the table is
   recorded, and the log of what it has is deleted. */
static int write_and_crash(const char *path, bool further_writes) {
  char name[64];
  besom_guard *g;
  uint8_t *value = calloc(1, LARGE);
  if (!value || open_guard(path, BESOM_LAYOUT_MERGED, NULL, &g) != BESOM_OK) return 1;
  off_t before = manifest_bytes(path, name);
  for (uint64_t i = 0; i < RECORDS; i++)
    if (besom_guard_put_u64(g, key_u64(MEMBERS, i), value, LARGE, 0) != BESOM_OK) return 2;
  while (count_files(path, ".sst") == 0 || manifest_bytes(path, name) == before) usleep(1000);
  for (uint64_t i = RECORDS; further_writes && count_files(path, ".log") > 1; i++) {
    if (besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0) != BESOM_OK) return 3;
    usleep(1000);
  }
  fflush(NULL);
  _exit(0);
}

static void copy_of_cut(const char *path, const char *copy, const char *name, off_t len) {
  char command[2000];
  int room = (int)sizeof command;
  assert_true(snprintf(command, sizeof command,
                       "rm -rf '%s' && cp -rl '%s' '%s' && cp --remove-destination '%s/%s' '%s/'",
                       copy, path, copy, path, name, copy) < room);
  assert_int_equal(system(command), 0);
  assert_int_equal(truncate(in(copy, name).text, len), 0);
}

/* Opens a copy whose MANIFEST was cut. */
static void open_cut(const char *path, const char *copy, off_t len, bool recorded) {
  char name[64];
  besom_guard *g = NULL;
  manifest_bytes(path, name);
  copy_of_cut(path, copy, name, len);
  if (recorded) {
    assert_refused(copy, BESOM_LAYOUT_MERGED);
    return;
  }
  assert_int_equal(open_guard(copy, BESOM_LAYOUT_MERGED, NULL, &g), BESOM_OK);
  assert_has(g, RECORDS);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static off_t recorded_bytes(const char *path) {
  size_t size;
  char text[200] = "";
  uint8_t *record = read_whole_file(in(path, RECORD).text, &size);
  if (!record) return 0;
  memcpy(text, record, size < sizeof text ? size : sizeof text - 1);
  free(record);
  return (off_t)strtoll(strchr(strstr(text, "MANIFEST"), ' '), NULL, 10);
}

/* What is recorded cannot be cut. Of what is not, RocksDB still has the log. */
static void a_crashed_database_has_all_or_is_refused(void **state) {
  (void)state;
  enum { CUTS = 4 };
  for (unsigned further_writes = 0; further_writes < 2; further_writes++) {
    char command[1100], name[64];
    int ended;
    temp_dir dir;
    temp_dir_make(&dir);
    temp_path path = temp_dir_file(&dir, "db"), copy = temp_dir_file(&dir, "copy");
    pid_t child = fork();
    if (child == 0) {
      const char *how = further_writes ? "--crash-later" : "--crash";
      execl("/proc/self/exe", "rocksdb_files", how, path.text, (char *)NULL);
      _exit(127);
    }
    assert_true(waitpid(child, &ended, 0) == child && ended == 0);
    off_t recorded = recorded_bytes(path.text), size = manifest_bytes(path.text, name);
    assert_true(recorded > 0 && size >= recorded);
    for (unsigned i = 0; i < CUTS; i++) open_cut(path.text, copy.text, recorded * i / CUTS, true);
    for (unsigned i = size == recorded ? CUTS : 0; i <= CUTS; i++)
      open_cut(path.text, copy.text, recorded + (size - recorded) * i / CUTS, false);
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", path.text, copy.text);
    assert_int_equal(system(command), 0);
    temp_dir_remove(&dir);
  }
}

int main(int argc, char **argv) {
  if (argc == 3) return write_and_crash(argv[2], !strcmp(argv[1], "--crash-later"));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_that_were_cut_are_refused),
      cmocka_unit_test(a_backup_that_was_cut_is_refused),
      cmocka_unit_test(a_record_of_an_earlier_open_is_ignored),
      cmocka_unit_test(a_crashed_database_has_all_or_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
