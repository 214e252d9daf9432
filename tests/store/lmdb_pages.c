/*
 * Files of LMDB that are too short: the store refuses them before LMDB maps them, which would end
 * the process with SIGBUS. Healthy files are never refused, also if they end before their last
 * page.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <lmdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "store/lmdb/lmdb_check.h"
#include "support/keys.h"
#include "support/temp_files.h"

/* This replaces that of the C library: a disk can be full. */
static bool disk_is_full;

__attribute__((visibility("default"))) int posix_fallocate(int fd, off_t at, off_t len) {
  if (disk_is_full) return ENOSPC;
  return ftruncate(fd, at + len) == 0 ? 0 : errno;
}

/* ------------------------------------------------------------------ healthy states */

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* A commit of random puts and deletes, some with values of several pages, some undone in the same
   transaction, so that pages at the end of the file are free. */
static void random_commit(MDB_env *env, MDB_dbi table, uint64_t *random) {
  static char value[20000];
  MDB_txn *txn;
  assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
  unsigned n = (unsigned)(next_random(random) % 12);
  for (unsigned i = 0; i < n; i++) {
    uint64_t number = next_random(random) % 300;
    MDB_val key = {sizeof number, &number}, data = {next_random(random) % 200, value};
    if (next_random(random) % 8 == 0) data.mv_size = 3000 + next_random(random) % 15000;
    if (next_random(random) % 3 == 0)
      mdb_del(txn, table, &key, NULL);
    else
      assert_int_equal(mdb_put(txn, table, &key, &data, 0), 0);
  }
  if (next_random(random) % 4 == 0) { /* pages that are taken and given back are not written */
    uint64_t number = 1000;
    MDB_val key = {sizeof number, &number}, data = {sizeof value, value};
    assert_int_equal(mdb_put(txn, table, &key, &data, 0), 0);
    assert_int_equal(mdb_del(txn, table, &key, NULL), 0);
  }
  assert_int_equal(mdb_txn_commit(txn), 0);
}

static MDB_env *open_env(const char *path, unsigned flags, MDB_dbi *table) {
  MDB_env *env;
  MDB_txn *txn;
  assert_int_equal(mdb_env_create(&env), 0);
  assert_int_equal(mdb_env_set_mapsize(env, (size_t)1 << 28), 0);
  assert_int_equal(mdb_env_set_maxdbs(env, 2), 0);
  assert_int_equal(mdb_env_open(env, path, MDB_NOSYNC | flags, 0666), 0);
  assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
  assert_int_equal(mdb_dbi_open(txn, "table", MDB_CREATE, table), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  return env;
}

static bool ends_early(MDB_env *env, const char *path) {
  char file[600];
  struct stat stat_of;
  MDB_envinfo info;
  snprintf(file, sizeof file, "%s/data.mdb", path);
  assert_int_equal(stat(file, &stat_of), 0);
  assert_int_equal(mdb_env_info(env, &info), 0);
  return (uint64_t)stat_of.st_size < (info.me_last_pgno + 1) * 4096;
}

/* BESOM_LMDB_STATES: how many. */
static void healthy_states_are_not_refused(void **state) {
  (void)state;
  const char *given = getenv("BESOM_LMDB_STATES");
  unsigned states = given ? (unsigned)atoi(given) : 3000, early = 0;
  for (unsigned part = 0; part < 10; part++) {
    temp_dir dir;
    MDB_dbi table;
    uint64_t random = part;
    temp_dir_make(&dir);
    MDB_env *env = open_env(dir.path, 0, &table);
    for (unsigned i = 0; i < states / 10; i++) {
      random_commit(env, table, &random);
      early += ends_early(env, dir.path);
      assert_int_equal(besom__lmdb_check_pages(dir.path, true, besom_default_allocator()),
                       BESOM_OK);
    }
    mdb_env_close(env);
    temp_dir_remove(&dir);
  }
  assert_true(early > 0);
  print_message("%u states, %u of them end before their last page\n", states, early);
}

/* ------------------------------------------------------------------ truncated files */

static int read_everything(const char *path) {
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter};
  if (besom_store_lmdb(path, NULL, NULL, &store) != BESOM_OK) return 1;
  if (besom_guard_open(&config, store, &g) != BESOM_OK) return 1;
  unsigned found = 0;
  for (uint64_t i = 0; i < 500; i++)
    found += besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL) == BESOM_OK;
  return besom_guard_close(g) == BESOM_OK && found == 500 ? 0 : 2;
}

/* In a process of its own. 0: all keys are there; 1: refused; 2: keys are missing; 100: killed. */
static int outcome_of(const char *path) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL); /* cmocka would go on with the next test */
    signal(SIGSEGV, SIG_DFL);
    _exit(read_everything(path));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void make_guard(const char *path) {
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter, .durability = BESOM_DURABLE_BATCH};
  char value[300] = "x";
  assert_int_equal(besom_store_lmdb(path, &(besom_lmdb_options){.no_sync = true}, NULL, &store),
                   BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 500; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), value, sizeof value, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* Every length, also the last page alone, one page, none: refused, or nothing is missing. Without a
   checkpoint, as after a kill, a file that ends within its first meta page is a new one. */
static void check_truncated(bool checkpoint) {
  enum { META_BYTES = 152 };
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db"), copy = temp_dir_file(&dir, "copy"),
            saved = temp_dir_file(&dir, "copy/besom-guard.checkpoint");
  make_guard(path.text);
  char command[2000], file[600];
  snprintf(file, sizeof file, "%s/data.mdb", copy.text);
  unsigned refused = 0;
  for (unsigned i = 0; i <= 26; i++) {
    struct stat whole;
    snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s' '%s'", copy.text, path.text,
             copy.text);
    assert_int_equal(system(command), 0);
    if (!checkpoint) assert_int_equal(remove(saved.text), 0);
    assert_int_equal(stat(file, &whole), 0);
    off_t lengths[] = {0, 100, META_BYTES, 4096, 5000, 8191, 8192};
    off_t length = i < 7 ? lengths[i] : whole.st_size * (i - 6) / 20;
    assert_int_equal(truncate(file, length), 0);
    int outcome = outcome_of(copy.text);
    bool is_new = !checkpoint && length < META_BYTES;
    assert_true(is_new ? outcome == 2 : outcome == 0 || outcome == 1);
    assert_true(length < whole.st_size || outcome == 0);
    refused += outcome == 1;
  }
  assert_true(refused >= 12);
  temp_dir_remove(&dir);
}

static void a_truncated_file_is_refused(void **state) {
  (void)state;
  check_truncated(true);
  check_truncated(false);
}

/* ------------------------------------------------------------------ the lock file */

static void a_lock_file_without_room_is_DISK_FULL(void **state) {
  (void)state;
  temp_dir dir;
  besom_store *store;
  const char *reason = NULL;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db"), lock = temp_dir_file(&dir, "db/lock.mdb");
  make_guard(path.text);
  assert_int_equal(remove(lock.text), 0);
  disk_is_full = true;
  assert_int_equal(besom_store_lmdb(path.text, NULL, &reason, &store), BESOM_DISK_FULL);
  assert_non_null(reason);
  disk_is_full = false;
  assert_int_equal(outcome_of(path.text), 0);
  disk_is_full = true; /* the file is long enough */
  assert_int_equal(outcome_of(path.text), 0);
  disk_is_full = false;
  temp_dir_remove(&dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(healthy_states_are_not_refused),
      cmocka_unit_test(a_truncated_file_is_refused),
      cmocka_unit_test(a_lock_file_without_room_is_DISK_FULL),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
