/*
 * Calls of the operating system that fail: the library returns a status, errno has the cause, and
 * files, filters and guards are as before. The functions below replace those of the C library.
 */
#define _GNU_SOURCE /* RTLD_NEXT, syscall */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "besom_store.h"
#include "core/system/asymmetric_fence.h"
#include "core/system/durable_file.h"
#include "sidecar_database.h"

/* ------------------------------------------------------------------ calls that fail */

enum call {
  NO_CALL,
  WRITE,
  FSYNC,
  CLOSE,
  RENAME,
  UNLINK,
  FCHMOD,
  OPEN,
  FLOCK,
  MMAP,
  MADVISE,
  ENTROPY,
  CREATE_THREAD,
  CLOCK_OF_CONDITION
};

/* The n-th call of this kind fails with the error; if all is set, also those after it. */
static struct plan {
  enum call call;
  unsigned n;
  int error;
  bool all;
  int error_of_close; /* 0: close succeeds. Else it fails after the planned call */
} planned;
static unsigned calls;

static bool fails(enum call call) {
  if (call != planned.call) return false;
  calls++;
  if (calls < planned.n || (calls > planned.n && !planned.all)) return false;
  errno = planned.error;
  return true;
}

static void plan(enum call call, unsigned n, int error) {
  calls = 0;
  planned = (struct plan){call, n, error, false, 0};
}

static void plan_all(enum call call, int error) {
  calls = 0;
  planned = (struct plan){call, 1, error, true, 0};
}

/* Returns whether the planned call was made. */
static bool end_plan(void) {
  bool made = calls >= planned.n;
  planned = (struct plan){.call = NO_CALL};
  return made;
}

ssize_t write(int fd, const void *data, size_t len) {
  return fails(WRITE) ? -1 : syscall(SYS_write, fd, data, len);
}

int fsync(int fd) {
  return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* As Linux does it: the descriptor is closed, whatever the result is. */
int close(int fd) {
  bool failed = fails(CLOSE), too = planned.error_of_close && calls;
  int result = (int)syscall(SYS_close, fd);
  if (failed) errno = planned.error;
  if (too) errno = planned.error_of_close, failed = true;
  return failed ? -1 : result;
}

int rename(const char *from, const char *to) {
  return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
  return fails(UNLINK) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int fchmod(int fd, mode_t mode) {
  return fails(FCHMOD) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int flock(int fd, int operation) {
  return fails(FLOCK) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset) {
  return fails(MMAP) ? MAP_FAILED
                     : (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

int madvise(void *at, size_t len, int advice) {
  return fails(MADVISE) ? -1 : (int)syscall(SYS_madvise, at, len, advice);
}

int getentropy(void *out, size_t n) {
  static uint8_t next;
  if (fails(ENTROPY)) return -1;
  memset(out, ++next, n);
  return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *ctx) {
  typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  void *symbol = dlsym(RTLD_NEXT, "pthread_create");
  create real;
  memcpy(&real, &symbol, sizeof real);
  return fails(CREATE_THREAD) ? planned.error : real(thread, attributes, run, ctx);
}

int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock) {
  typedef int (*set)(pthread_condattr_t *, clockid_t);
  void *symbol = dlsym(RTLD_NEXT, "pthread_condattr_setclock");
  set real;
  memcpy(&real, &symbol, sizeof real);
  return fails(CLOCK_OF_CONDITION) ? planned.error : real(attributes, clock);
}

static atomic_bool waits_end_at_once;
static _Atomic uint64_t longest_wait; /* in nanoseconds, of those that ended at once */

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
  typedef int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!waits_end_at_once) {
    void *symbol = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    wait real;
    memcpy(&real, &symbol, sizeof real);
    return real(condition, mutex, until);
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t left = (until->tv_sec - now.tv_sec) * INT64_C(1000000000) + until->tv_nsec - now.tv_nsec;
  if (left > 0 && (uint64_t)left > longest_wait) longest_wait = (uint64_t)left;
  pthread_mutex_unlock(mutex);
  sched_yield();
  pthread_mutex_lock(mutex);
  return ETIMEDOUT;
}

static unsigned sleeps;

int nanosleep(const struct timespec *time, struct timespec *left) {
  sleeps++;
  return clock_nanosleep(CLOCK_REALTIME, 0, time, left);
}

/* ------------------------------------------------------------------ fences */

static void a_fence_that_the_system_has_does_not_wait(void **state) {
  (void)state;
  if (!besom__prepare_heavy_fence()) skip();
  sleeps = 0;
  besom__heavy_fence();
  assert_int_equal(sleeps, 0);
}

/* ------------------------------------------------------------------ files of filters */

typedef struct scene {
  temp_dir dir;
  temp_path path;
  besom_filter *filter;
} scene;

static const char old_text[] = "what was here before";

static void open_scene(scene *s) {
  besom_config config = {.kind = "qf", .capacity = 300};
  temp_dir_make(&s->dir);
  s->path = temp_dir_file(&s->dir, "filter.besom");
  assert_int_equal(besom_create(&config, &s->filter), BESOM_OK);
  for (uint64_t i = 0; i < 200; i++)
    assert_int_equal(besom_insert_u64(s->filter, key_u64(MEMBERS, i)), BESOM_OK);
  assert_true(write_whole_file(s->path.text, old_text, sizeof old_text));
}

static void close_scene(scene *s) {
  besom_free(s->filter);
  temp_dir_remove(&s->dir);
}

static bool has_old_file(const scene *s) {
  size_t len = 0;
  uint8_t *data = read_whole_file(s->path.text, &len);
  bool is_old = len == sizeof old_text && memcmp(data, old_text, len) == 0;
  free(data);
  return is_old;
}

static bool opens(const scene *s) {
  besom_filter *f = NULL;
  besom_status status = besom_open(s->path.text, &(besom_open_options){0}, &f);
  bool holds = status == BESOM_OK && besom_contains_u64(f, key_u64(MEMBERS, 7));
  besom_free(f);
  return holds;
}

/*
 * Before the rename a failure leaves the old file. The sync of the directory comes after it: the
 * new file is there, but a power loss may bring the old one back, so the save reports a failure.
 */
static void each_failed_call_of_a_save_is_a_status(void **state) {
  (void)state;
  static const struct {
    enum call call;
    unsigned n;
    int error;
    besom_status status;
    bool replaced;
  } cases[] = {
      {WRITE, 1, EINTR, BESOM_OK, true},
      {WRITE, 1, EIO, BESOM_IO, false},
      {WRITE, 2, ENOSPC, BESOM_DISK_FULL, false},
      {WRITE, 2, EDQUOT, BESOM_DISK_FULL, false},
      {FSYNC, 1, EIO, BESOM_IO, false},
      {FSYNC, 1, ENOSPC, BESOM_DISK_FULL, false},
      {FSYNC, 2, EINVAL, BESOM_OK, true}, /* a file system that cannot sync directories */
      {FSYNC, 2, EIO, BESOM_IO, true},
      {CLOSE, 1, EIO, BESOM_IO, false},
      {CLOSE, 1, EDQUOT, BESOM_DISK_FULL, false}, /* NFS */
      {RENAME, 1, EIO, BESOM_IO, false},
      {RENAME, 1, ENOSPC, BESOM_DISK_FULL, false},
      {FCHMOD, 1, EPERM, BESOM_IO, false},
      {OPEN, 1, ENOSPC, BESOM_DISK_FULL, false},
      {OPEN, 1, EMFILE, BESOM_IO, false},
      {OPEN, 2, EACCES, BESOM_OK, true}, /* a directory that can be written but not read */
      {OPEN, 2, ENOENT, BESOM_OK, true},
      {OPEN, 2, EMFILE, BESOM_IO, true},
      {ENTROPY, 1, ENOSYS, BESOM_IO, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    scene s;
    open_scene(&s);
    plan(cases[i].call, cases[i].n, cases[i].error);
    errno = 0;
    besom_status status = besom_save_file(s.filter, s.path.text);
    int error = errno;
    assert_true(end_plan());
    assert_int_equal(status, cases[i].status);
    if (status != BESOM_OK) assert_int_equal(error, cases[i].error);
    assert_int_equal(has_old_file(&s), !cases[i].replaced);
    assert_int_equal(opens(&s), cases[i].replaced);
    assert_int_equal(temp_dir_count(&s.dir), 1);
    close_scene(&s);
  }
}

/* The error of the write is reported, not that of the close after it. */
static void the_first_error_of_a_save_is_reported(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  plan_all(WRITE, EIO);
  planned.error_of_close = EDQUOT;
  assert_int_equal(besom_save_file(s.filter, s.path.text), BESOM_IO);
  assert_int_equal(errno, EIO);
  assert_true(end_plan());
  assert_true(has_old_file(&s));
  close_scene(&s);
}

static void a_file_that_cannot_be_removed_is_an_error(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  plan(UNLINK, 1, EACCES);
  assert_int_equal(besom__file_unlink(s.path.text), BESOM_IO);
  assert_int_equal(errno, EACCES);
  assert_true(end_plan());
  assert_true(has_old_file(&s));
  for (unsigned i = 0; i < 2; i++) /* it may be gone already */
    assert_int_equal(besom__file_unlink(s.path.text), BESOM_OK);
  assert_int_equal(temp_dir_count(&s.dir), 0);
  close_scene(&s);
}

static void a_path_that_is_too_long_is_refused(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  char *path = heap_array(PATH_MAX, 1);
  for (size_t i = 0; i < PATH_MAX - 3; i += 2) memcpy(path + i, "./", 2);
  memcpy(path + PATH_MAX - 4, "abc", 4);
  errno = 0;
  assert_int_equal(besom_save_file(s.filter, path), BESOM_IO);
  assert_int_equal(errno, ENAMETOOLONG);
  assert_int_equal(access(path, F_OK), -1);
  free(path);
  close_scene(&s);
}

static void a_file_that_cannot_be_mapped_is_not_opened(void **state) {
  (void)state;
  scene s;
  open_scene(&s);
  besom_filter *f = NULL;
  assert_int_equal(besom_save_file(s.filter, s.path.text), BESOM_OK);
  plan(MMAP, 1, ENOMEM);
  assert_int_equal(besom_open(s.path.text, &(besom_open_options){0}, &f), BESOM_IO);
  assert_int_equal(errno, ENOMEM);
  assert_true(end_plan());
  assert_null(f);
  assert_true(opens(&s));
  close_scene(&s);
}

static void without_random_bytes_there_is_no_filter(void **state) {
  (void)state;
  besom_config config = {.kind = "qf", .capacity = 300};
  besom_filter *f = NULL;
  plan(ENTROPY, 1, ENOSYS);
  assert_int_equal(besom_create(&config, &f), BESOM_IO);
  assert_true(end_plan());
  assert_null(f);
  config.seed = (const uint8_t *)"a seed of itself";
  plan(ENTROPY, 1, ENOSYS);
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  assert_false(end_plan());
  besom_free(f);
}

/* A large table is mapped. */
static void a_table_that_cannot_be_mapped_is_no_memory(void **state) {
  (void)state;
  besom_config config = {.kind = "bloom", .capacity = 10000000};
  besom_filter *f = NULL;
  plan(MMAP, 1, ENOMEM);
  assert_int_equal(besom_create(&config, &f), BESOM_NO_MEMORY);
  assert_true(end_plan());
  assert_null(f);
}

/* ------------------------------------------------------------------ guards */

static besom_status try_guard(besom_guard_config config, besom_store **store, besom_guard **g) {
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1};
  config.filter = &filter;
  *g = NULL;
  assert_int_equal(besom_store_memory(NULL, store), BESOM_OK);
  return besom_guard_open(&config, *store, g);
}

/* The store belongs to the caller again, who can open another guard. */
static void a_guard_without_its_threads_is_not_opened(void **state) {
  (void)state;
  static const struct {
    enum call call;
    unsigned n;
    besom_status status;
  } cases[] = {{CREATE_THREAD, 1, BESOM_NO_MEMORY},
               {CLOCK_OF_CONDITION, 1, BESOM_NO_MEMORY},
               {CLOCK_OF_CONDITION, 2, BESOM_NO_MEMORY},
               {ENTROPY, 1, BESOM_IO}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_store *store;
    besom_guard *g;
    plan(cases[i].call, cases[i].n, EAGAIN);
    assert_int_equal(
        try_guard((besom_guard_config){.threads = true, .background = 0.5}, &store, &g),
        cases[i].status);
    assert_true(end_plan());
    assert_null(g);
    besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1};
    besom_guard_config config = {.filter = &filter, .threads = true, .background = 0.5};
    assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(g, 1, "", 0, 0), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  }
}

/* Without the page that a fork empties, the guard compares process ids. */
static void a_child_is_refused_without_the_page_too(void **state) {
  (void)state;
  static const enum call cases[] = {MMAP, MADVISE};
  for (size_t i = 0; i < 2; i++) {
    besom_store *store;
    besom_guard *g;
    plan(cases[i], 1, ENOMEM);
    assert_int_equal(try_guard((besom_guard_config){0}, &store, &g), BESOM_OK);
    assert_true(end_plan());
    assert_int_equal(besom_guard_put_u64(g, 1, "", 0, 0), BESOM_OK);
    pid_t child = fork();
    if (child == 0) _exit(besom_guard_get_u64(g, 1, NULL) == BESOM_LOCKED ? 0 : 1);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(besom_guard_get_u64(g, 1, NULL), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  }
}

static const besom_store_ops *memory_ops;
static atomic_bool commits_fail;
static atomic_uint commits_before, failures; /* so many commits succeed before they fail */

static besom_status commit_or_fail(besom_store *store, bool durable) {
  if (!commits_fail) return memory_ops->commit(store, durable);
  if (commits_before) {
    commits_before--;
    return memory_ops->commit(store, durable);
  }
  failures++;
  return BESOM_IO;
}

/* The test does not wait for the pauses, of 1 ms, 2 ms, and so on. The commit that begins the
   migration succeeds, and those of its steps fail. */
static void a_background_thread_that_fails_pauses_for_a_second_at_most(void **state) {
  (void)state;
  enum { FAILURES = 20 };
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1};
  besom_guard_config config = {
      .filter = &filter, .threads = true, .background = 1, .step_items = 5};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  memory_ops = store->ops;
  besom_store_ops ops = *memory_ops;
  ops.commit = commit_or_fail;
  store->ops = &ops;
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  longest_wait = 0;
  waits_end_at_once = true;
  commits_before = 1;
  commits_fail = true;
  assert_int_equal(besom_guard_rekey(g), BESOM_OK);
  while (failures < FAILURES) sched_yield();
  commits_fail = false;
  waits_end_at_once = false;
  assert_in_range(longest_wait, 1, UINT64_C(1000000000));
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

/* ------------------------------------------------------------------ sidecars */

static void a_sidecar_says_why_it_cannot_be_opened(void **state) {
  (void)state;
  static const struct {
    enum call call;
    unsigned n;
    int error;
    besom_status status;
    const char *reason;
  } cases[] = {
      {OPEN, 1, ENOSPC, BESOM_DISK_FULL, "the disk is full"},
      {OPEN, 1, EACCES, BESOM_READ_ONLY, "the directory of the file is not writable"},
      {OPEN, 1, EROFS, BESOM_READ_ONLY, "the directory of the file is not writable"},
      {OPEN, 1, EPERM, BESOM_READ_ONLY, "the directory of the file is not writable"},
      {OPEN, 1, ENOENT, BESOM_IO, "the directory of the file does not exist"},
      {OPEN, 1, EMFILE, BESOM_IO, "the lock file cannot be opened"},
      {FLOCK, 1, EWOULDBLOCK, BESOM_LOCKED, "another sidecar has the file open"},
      {FLOCK, 1, ENOLCK, BESOM_IO, "the lock file cannot be locked"},
      {ENTROPY, 1, ENOSYS, BESOM_IO, "the system has no random bytes"},
      {ENTROPY, 2, ENOSYS, BESOM_IO, "the system has no random bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    app a;
    app_init(&a, true);
    const char *reason = NULL;
    plan(cases[i].call, cases[i].n, cases[i].error);
    assert_int_equal(besom_sidecar_open(&a.config, a.path.text, &reason, &a.s), cases[i].status);
    assert_true(end_plan());
    assert_string_equal(reason, cases[i].reason);
    assert_null(a.s);
    app_open(&a, BESOM_SIDECAR_NEW);
    app_done(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_failed_call_of_a_save_is_a_status),
      cmocka_unit_test(the_first_error_of_a_save_is_reported),
      cmocka_unit_test(a_file_that_cannot_be_removed_is_an_error),
      cmocka_unit_test(a_path_that_is_too_long_is_refused),
      cmocka_unit_test(a_file_that_cannot_be_mapped_is_not_opened),
      cmocka_unit_test(without_random_bytes_there_is_no_filter),
      cmocka_unit_test(a_table_that_cannot_be_mapped_is_no_memory),
      cmocka_unit_test(a_guard_without_its_threads_is_not_opened),
      cmocka_unit_test(a_child_is_refused_without_the_page_too),
      cmocka_unit_test(a_background_thread_that_fails_pauses_for_a_second_at_most),
      cmocka_unit_test(a_sidecar_says_why_it_cannot_be_opened),
      cmocka_unit_test(a_fence_that_the_system_has_does_not_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
