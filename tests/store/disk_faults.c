/*
 * disk_faults.c - stores on a disk that is full, read-only or broken.
 *
 * This program defines the system calls that write files, so the databases call these. They fail on
 * demand as the kernel does: a full disk takes a part of a write before it refuses the rest. One
 * test uses a limit of the file size instead, which the kernel enforces.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/temp_files.h"

/* ------------------------------------------------------------------ the faults */

/* The databases, which are shared libraries, find these functions in the program. */
#define CALLED __attribute__((visibility("default")))

static atomic_int fault;      /* errno of writes; 0: they work */
static _Atomic long room = 0; /* bytes that can still be written before they fail */
static atomic_uint syncs;     /* those that succeeded */
static atomic_uint directory_syncs;

/* A full disk refuses only what makes a file longer. */
static bool is_affected(int fd, off_t end, int error) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  return (error != ENOSPC && error != EDQUOT) || end > file.st_size;
}

/* How much of a write the disk takes. -1: it fails with errno set. */
static ssize_t taken_by_disk(int fd, size_t len, off_t at) {
  int error = fault;
  if (!error || !is_affected(fd, at + (off_t)len, error)) return (ssize_t)len;
  long left = room;
  if ((left <= 0 && len) || (error != ENOSPC && left < (long)len)) {
    room = 0;
    errno = error;
    return -1;
  }
  ssize_t taken = (ssize_t)len < left ? (ssize_t)len : (ssize_t)left;
  room -= taken;
  return taken;
}

CALLED ssize_t write(int fd, const void *data, size_t len) {
  ssize_t taken = taken_by_disk(fd, len, lseek(fd, 0, SEEK_CUR));
  return taken < 0 ? -1 : syscall(SYS_write, fd, data, (size_t)taken);
}

CALLED ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) {
  ssize_t taken = taken_by_disk(fd, len, at);
  return taken < 0 ? -1 : syscall(SYS_pwrite64, fd, data, (size_t)taken, at);
}

CALLED ssize_t pwrite(int fd, const void *data, size_t len, off_t at) {
  return pwrite64(fd, data, len, at);
}

CALLED ssize_t writev(int fd, const struct iovec *parts, int n) {
  size_t total = 0, done = 0;
  for (int i = 0; i < n; i++) total += parts[i].iov_len;
  ssize_t taken = taken_by_disk(fd, total, lseek(fd, 0, SEEK_CUR));
  if (taken < 0) return -1;
  for (int i = 0; i < n && done < (size_t)taken; i++) {
    size_t left = (size_t)taken - done, len = parts[i].iov_len < left ? parts[i].iov_len : left;
    if (syscall(SYS_write, fd, parts[i].iov_base, len) != (long)len) return -1;
    done += len;
  }
  return taken;
}

/* No power is cut here, so a sync need not wait for the disk. */
static int sync_file(void) {
  errno = EIO;
  if (fault == EIO) return -1;
  syncs++;
  return 0;
}

CALLED int fsync(int fd) {
  struct stat file;
  directory_syncs += fstat(fd, &file) == 0 && S_ISDIR(file.st_mode);
  return sync_file();
}

CALLED int fdatasync(int fd) {
  (void)fd;
  return sync_file();
}

CALLED int statvfs(const char *path, struct statvfs *out) {
  (void)path;
  memset(out, 0, sizeof *out);
  out->f_bavail = fault == ENOSPC ? 0 : 1 << 20;
  return 0;
}

static void break_disk(int error, long bytes_left) {
  room = bytes_left;
  fault = error;
}

static void repair_disk(void) {
  fault = 0;
}

/* ------------------------------------------------------------------ stores */

typedef struct disk_store {
  const char *name;
  besom_status (*open)(const char *directory, besom_store **out);
  bool refuses; /* after a failed write it refuses all others until it is reopened */
} disk_store;

#ifdef BESOM_TEST_LMDB
static besom_status open_lmdb(const char *directory, besom_store **out) {
  return besom_store_lmdb(directory, NULL, NULL, out);
}
#endif

#ifdef BESOM_TEST_ROCKSDB
static besom_status open_rocksdb(const char *directory, besom_store **out) {
  return besom_store_rocksdb(directory, NULL, NULL, out);
}
#endif

static const disk_store stores[] = {
#ifdef BESOM_TEST_LMDB
    {"lmdb", open_lmdb, false},
#endif
#ifdef BESOM_TEST_ROCKSDB
    {"rocksdb", open_rocksdb, true},
#endif
    {NULL, NULL, false},
};

enum { VALUE = 3000 };

static besom_status put(besom_store *store, uint64_t key, bool durable) {
  char value[VALUE];
  memset(value, (int)key, sizeof value);
  besom_record record = {{&key, sizeof key}, {value, sizeof value}};
  besom_status status = store->ops->begin(store);
  if (status != BESOM_OK) return status;
  status = store->ops->table_put(store, BESOM_TABLE_KEYS, &record);
  if (status == BESOM_OK) status = store->ops->commit(store, durable);
  if (status != BESOM_OK) store->ops->abort(store);
  return status;
}

static besom_status compare_value(void *ctx, const besom_record *record) {
  const uint8_t *value = record->value.data;
  bool same = record->value.len == VALUE && value[0] == *(const uint8_t *)ctx &&
              value[VALUE - 1] == value[0];
  return same ? BESOM_END : BESOM_CORRUPT;
}

static besom_status get(besom_store *store, uint64_t key) {
  return store->ops->table_get(store, BESOM_TABLE_KEYS, (besom_bytes){&key, sizeof key},
                               compare_value, &key);
}

static void assert_has(besom_store *store, uint64_t n) {
  for (uint64_t key = 0; key < n; key++) assert_int_equal(get(store, key), BESOM_OK);
  assert_int_equal(get(store, n + 5), BESOM_NOT_FOUND);
}

/* ------------------------------------------------------------------ tests */

/* Writes until one fails. Returns how many succeeded. */
static uint64_t write_until(besom_store *store, uint64_t key, besom_status expected) {
  besom_status status;
  for (unsigned i = 0;; i++, key++) {
    assert_true(i < 2000);
    status = put(store, key, i % 2);
    if (status != BESOM_OK) break;
  }
  assert_int_equal(status, expected);
  return key;
}

static void check_refused(besom_store *store, uint64_t n, besom_status expected) {
  for (unsigned i = 0; i < 5; i++) assert_int_equal(put(store, n, i % 2), expected);
  assert_int_equal(store->ops->sync(store), expected);
}

static void fail_disk(const disk_store *d, int error, long bytes_left, besom_status expected) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "store");
  besom_store *store;
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  for (uint64_t key = 0; key < 20; key++) assert_int_equal(put(store, key, key % 2), BESOM_OK);
  break_disk(error, bytes_left);
  uint64_t n = write_until(store, 20, expected);
  assert_has(store, n);
  for (unsigned i = 0; i < 5; i++) assert_int_equal(put(store, n, i % 2), expected);
  assert_has(store, n);
  repair_disk();
  if (d->refuses)
    check_refused(store, n, expected);
  else
    assert_int_equal(put(store, n, true), BESOM_OK);
  assert_has(store, n);
  besom_store_close(store);
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  assert_int_equal(put(store, n, true), BESOM_OK);
  assert_has(store, n + 1);
  besom_store_close(store);
  temp_dir_remove(&dir);
}

static void a_full_disk_is_DISK_FULL(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) {
    fail_disk(d, ENOSPC, 0, BESOM_DISK_FULL);
    fail_disk(d, ENOSPC, 100000, BESOM_DISK_FULL);
    fail_disk(d, ENOSPC, 5000, BESOM_DISK_FULL);
    fail_disk(d, EDQUOT, 0, BESOM_DISK_FULL);
  }
}

/* If the write of LMDB's meta page fails, LMDB refuses everything until it is reopened. A failed
   commit may be found then. */
static void fail_after(const disk_store *d, long bytes) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "store");
  besom_store *store;
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  break_disk(EROFS, bytes);
  uint64_t n = write_until(store, 0, BESOM_READ_ONLY);
  for (unsigned i = 0; i < 3; i++) assert_int_equal(put(store, n, i % 2), BESOM_READ_ONLY);
  repair_disk();
  besom_store_close(store);
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  assert_has(store, n);
  besom_store_close(store);
  temp_dir_remove(&dir);
}

static void a_write_that_fails_anywhere_has_one_cause(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++)
    for (long bytes = 0; bytes < 30000; bytes += 1365) fail_after(d, bytes);
}

static void a_read_only_file_system_is_READ_ONLY(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) fail_disk(d, EROFS, 0, BESOM_READ_ONLY);
}

static void a_broken_disk_is_IO(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) fail_disk(d, EIO, 0, BESOM_IO);
}

#ifdef BESOM_TEST_LMDB
/* The last successful commit was not durable, so a close must sync it, although a durable one was
   tried after it. */
static void close_syncs_after_a_failed_durable_commit(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "store");
  for (unsigned synced = 0; synced < 2; synced++) {
    besom_store *store;
    assert_int_equal(open_lmdb(path.text, &store), BESOM_OK);
    assert_int_equal(put(store, 0, false), BESOM_OK);
    break_disk(EROFS, 0);
    assert_int_equal(put(store, 1, true), BESOM_READ_ONLY);
    repair_disk();
    if (synced) assert_int_equal(store->ops->sync(store), BESOM_OK);
    unsigned before = syncs;
    besom_store_close(store);
    assert_int_equal(syncs - before, !synced);
  }
  temp_dir_remove(&dir);
}
#endif

static unsigned directory_syncs_of(const disk_store *d) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "store");
  besom_store *store;
  unsigned before = directory_syncs;
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  unsigned made = directory_syncs - before;
  besom_store_close(store);
  temp_dir_remove(&dir);
  return made;
}

/* A daemon that has closed its standard input gets the descriptor 0 for a directory. Without the
   sync of the directory, a power cut after the first commit would lose the file. */
static void a_new_store_is_synced_without_a_standard_input_too(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) {
    unsigned usual = directory_syncs_of(d);
    assert_true(usual > 0);
    int input = dup(0);
    close(0);
    unsigned without = directory_syncs_of(d);
    if (input >= 0) {
      dup2(input, 0);
      close(input);
    }
    assert_int_equal(without, usual);
  }
}

/* The kernel refuses what is beyond the limit. */
static void a_limit_of_the_file_size_is_DISK_FULL(void **state) {
  (void)state;
  struct rlimit before, limit;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const disk_store *d = stores; d->name; d++) {
    if (!d->refuses) continue; /* LMDB reports a short write without its cause */
    temp_dir dir;
    temp_dir_make(&dir);
    temp_path path = temp_dir_file(&dir, "store");
    besom_store *store;
    assert_int_equal(d->open(path.text, &store), BESOM_OK);
    limit = (struct rlimit){100000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t n = write_until(store, 0, BESOM_DISK_FULL);
    assert_in_range(n, 10, 40);
    check_refused(store, n, BESOM_DISK_FULL);
    assert_has(store, n);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    besom_store_close(store);
    assert_int_equal(d->open(path.text, &store), BESOM_OK);
    assert_has(store, n);
    besom_store_close(store);
    temp_dir_remove(&dir);
  }
}

/* ------------------------------------------------------------------ guards */

/* A sync on the full disk changes nothing. One with room writes, but not while an iterator is open
   whose database would have to be reopened. */
static void sync_when_repaired(const disk_store *d, besom_guard *g, uint64_t n) {
  besom_iterator *it;
  besom_bytes none = {NULL, 0};
  assert_int_equal(besom_guard_sync(g), BESOM_DISK_FULL);
  assert_int_equal(besom_guard_iterate(g, none, none, &it), BESOM_OK);
  assert_int_equal(besom_guard_sync(g), BESOM_BUSY);
  repair_disk();
  if (d->refuses) assert_int_equal(besom_guard_sync(g), BESOM_BUSY);
  besom_iterator_close(it);
  for (uint64_t i = 0; i < n; i++) assert_int_equal(besom_guard_get_u64(g, i, NULL), BESOM_OK);
  assert_int_equal(besom_guard_sync(g), BESOM_OK);
  assert_int_equal(besom_guard_put_u64(g, n, "", 0, 0), BESOM_OK);
  assert_int_equal(besom_guard_delete_u64(g, n), BESOM_OK);
}

/* What a guard has acknowledged stays, on a full disk and after it. */
static void fill_disk_of_guard(const disk_store *d, besom_durability durability, bool threads) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "store");
  besom_store *store;
  besom_config filter = {.kind = "aqf", .capacity = 4000};
  besom_guard_config config = {.filter = &filter, .durability = durability, .threads = threads};
  besom_guard *g;
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  char value[VALUE] = {0};
  besom_status status = BESOM_OK;
  uint64_t n = 0;
  assert_int_equal(besom_guard_put_u64(g, n++, value, sizeof value, 0), BESOM_OK);
  break_disk(ENOSPC, 200000);
  while (n < 20000 && status == BESOM_OK)
    if ((status = besom_guard_put_u64(g, n, value, sizeof value, 0)) == BESOM_OK) n++;
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_int_equal(besom_guard_put_u64(g, n, value, sizeof value, 0), BESOM_DISK_FULL);
  for (uint64_t key = 0; key < n; key++)
    assert_int_equal(besom_guard_get_u64(g, key, NULL), BESOM_OK);
  assert_int_equal(besom_guard_get_u64(g, n, NULL), BESOM_NOT_FOUND);
  if (threads) sync_when_repaired(d, g, n);
  repair_disk();
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_int_equal(d->open(path.text, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t key = 0; key < n; key++)
    assert_int_equal(besom_guard_get_u64(g, key, NULL), BESOM_OK);
  assert_int_equal(besom_guard_put_u64(g, n, value, sizeof value, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  temp_dir_remove(&dir);
}

static void a_guard_on_a_full_disk_keeps_its_promises(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) {
    fill_disk_of_guard(d, BESOM_DURABLE_PUT, false);
    fill_disk_of_guard(d, BESOM_DURABLE_BATCH, false);
    fill_disk_of_guard(d, BESOM_DURABLE_SYNC, false);
    fill_disk_of_guard(d, BESOM_DURABLE_SYNC, true);
  }
}

/* Only the checkpoint cannot be written: nothing is lost. */
static void a_checkpoint_that_cannot_be_written_loses_nothing(void **state) {
  (void)state;
  for (const disk_store *d = stores; d->name; d++) {
    temp_dir dir;
    temp_dir_make(&dir);
    temp_path path = temp_dir_file(&dir, "store");
    besom_store *store;
    besom_config filter = {.kind = "aqf", .capacity = 4000};
    besom_guard_config config = {.filter = &filter};
    besom_guard *g;
    assert_int_equal(d->open(path.text, &store), BESOM_OK);
    assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(g, 1, "v", 1, 0), BESOM_OK);
    break_disk(ENOSPC, 0);
    assert_int_equal(besom_guard_close(g), BESOM_NO_CHECKPOINT);
    repair_disk();
    assert_int_equal(d->open(path.text, &store), BESOM_OK);
    assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
    assert_int_equal(besom_guard_get_u64(g, 1, NULL), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
    temp_dir_remove(&dir);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_disk_is_DISK_FULL),
      cmocka_unit_test(a_write_that_fails_anywhere_has_one_cause),
      cmocka_unit_test(a_read_only_file_system_is_READ_ONLY),
      cmocka_unit_test(a_broken_disk_is_IO),
#ifdef BESOM_TEST_LMDB
      cmocka_unit_test(close_syncs_after_a_failed_durable_commit),
#endif
      cmocka_unit_test(a_new_store_is_synced_without_a_standard_input_too),
      cmocka_unit_test(a_limit_of_the_file_size_is_DISK_FULL),
      cmocka_unit_test(a_guard_on_a_full_disk_keeps_its_promises),
      cmocka_unit_test(a_checkpoint_that_cannot_be_written_loses_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
