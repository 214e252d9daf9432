#define _GNU_SOURCE 1 /* system calls; the functions with 64 in their names */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
  pthread_mutex_t mutex; /* an operation and its entry are one step */
  struct recording *log; /* NULL: nothing is recorded */
  enum planted planted;
  bool skip_syncs;
  char root[PATH_MAX];
} recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------ the log */

static void copy_in(uint8_t **to, const void *data, size_t len) {
  if (len) memcpy(*to, data, len);
  *to += len;
}

static void append(struct op op, const char *path, const char *path2, const void *data) {
  struct recording *log = recorder.log;
  op.path_len = path ? (uint32_t)strlen(path) + 1 : 0;
  op.path2_len = path2 ? (uint32_t)strlen(path2) + 1 : 0;
  size_t bytes = op.kind == OP_WRITE ? op.len : 0;
  size_t needed = (sizeof op + op.path_len + op.path2_len + bytes + 7) / 8 * 8;
  log->full |= log->size - log->used < needed;
  if (log->full) return;
  uint8_t *to = log->bytes + log->used;
  copy_in(&to, &op, sizeof op);
  copy_in(&to, path ? path : "", op.path_len);
  copy_in(&to, path2 ? path2 : "", op.path2_len);
  copy_in(&to, data ? data : "", bytes);
  log->used += needed;
  log->ops++;
}

void recorder_start(struct recording *log, const char *directory, enum planted planted) {
  snprintf(recorder.root, sizeof recorder.root, "%s", directory);
  recorder.planted = planted;
  recorder.log = log;
}

void recorder_stop(void) {
  recorder.log = NULL;
}

void recorder_skip_syncs(void) {
  recorder.skip_syncs = true;
}

static void enter(void) {
  pthread_mutex_lock(&recorder.mutex);
}

/* Keeps errno, and passes a result on. */
static long leave(long result) {
  int error = errno;
  pthread_mutex_unlock(&recorder.mutex);
  errno = error;
  return result;
}

void recorder_mark(uint64_t number) {
  enter();
  if (recorder.log) append((struct op){.kind = OP_MARK, .offset = number}, NULL, NULL, NULL);
  leave(0);
}

/* ------------------------------------------------------------------ which files are recorded */

struct target {
  char path[PATH_MAX];
  uint64_t inode;
  bool directory, synced;
};

static bool is_below_root(const char *path) {
  size_t len = strlen(recorder.root);
  return strncmp(path, recorder.root, len) == 0 && (path[len] == '/' || !path[len]);
}

static bool path_of_fd(int fd, char *out) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = readlink(link, out, PATH_MAX - 1);
  if (len < 0) return false;
  out[len] = 0;
  return true;
}

static bool find_target(int fd, struct target *t) {
  struct stat info;
  if (!recorder.log || !path_of_fd(fd, t->path) || !is_below_root(t->path)) return false;
  if (fstat(fd, &info) != 0) return false;
  t->inode = info.st_ino;
  t->directory = S_ISDIR(info.st_mode);
  t->synced = (fcntl(fd, F_GETFL) & O_DSYNC) && recorder.planted != DROP_SYNCS;
  return true;
}

/* RocksDB has names with two slashes. */
static void join_slashes(char *path) {
  char *to = path;
  for (const char *from = path; *from; from++)
    if (*from != '/' || from[1] != '/') *to++ = *from;
  *to = 0;
}

/* The directory that a relative name, or one by a descriptor, begins at. Advances *name. */
static bool find_start(int at, const char **name, char *out) {
  int used = 0;
  out[0] = 0;
  if (sscanf(*name, "/proc/self/fd/%d%n", &at, &used) == 1) {
    *name += used;
    return path_of_fd(at, out);
  }
  if (**name == '/') return true;
  bool known = at == AT_FDCWD ? getcwd(out, PATH_MAX) != NULL : path_of_fd(at, out);
  if (known) strncat(out, "/", PATH_MAX - strlen(out) - 1);
  return known;
}

/* The absolute path of a name; false if it is not recorded. */
static bool find_path(int at, const char *name, char *out) {
  char directory[PATH_MAX];
  if (!recorder.log || !find_start(at, &name, directory)) return false;
  int len = snprintf(out, PATH_MAX, "%s%s", directory, name);
  if (len <= 0 || len >= PATH_MAX) return false;
  join_slashes(out);
  return is_below_root(out);
}

static uint64_t inode_of(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 ? info.st_ino : 0;
}

static void record_unknown(const char *path) {
  append((struct op){.kind = OP_UNKNOWN}, path, NULL, NULL);
}

/* ------------------------------------------------------------------ writing */

/* After a write that ended at the descriptor's position (at < 0) or began at `at`. */
static long wrote(int fd, const struct iovec *parts, int n, long written, off_t at) {
  struct target t;
  int error = errno;
  if (written > 0 && find_target(fd, &t)) {
    struct op op = {.kind = OP_WRITE, .inode = t.inode, .synced = t.synced};
    op.offset = (uint64_t)(at < 0 ? lseek(fd, 0, SEEK_CUR) - written : at);
    size_t left = (size_t)written;
    for (int i = 0; i < n && left; i++, op.offset += op.len, left -= op.len) {
      op.len = parts[i].iov_len < left ? parts[i].iov_len : left;
      append(op, NULL, NULL, parts[i].iov_base);
    }
  }
  errno = error;
  return written;
}

ssize_t write(int fd, const void *data, size_t len) {
  struct iovec part = {(void *)data, len};
  enter();
  return leave(wrote(fd, &part, 1, syscall(SYS_write, fd, data, len), -1));
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
  enter();
  return leave(wrote(fd, parts, n, syscall(SYS_writev, fd, parts, n), -1));
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at) {
  struct iovec part = {(void *)data, len};
  enter();
  return leave(wrote(fd, &part, 1, syscall(SYS_pwrite64, fd, data, len, at), at));
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at) {
  enter();
  return leave(wrote(fd, parts, n, syscall(SYS_pwritev, fd, parts, n, at, 0L), at));
}

static long resized(int fd, long result, uint64_t size) {
  struct target t;
  if (result == 0 && find_target(fd, &t))
    append((struct op){.kind = OP_RESIZE, .inode = t.inode, .offset = size}, NULL, NULL, NULL);
  return result;
}

int ftruncate(int fd, off_t size) {
  enter();
  return (int)leave(resized(fd, syscall(SYS_ftruncate, fd, size), (uint64_t)size));
}

/* With KEEP_SIZE nothing changes that a reader could see, unless the bytes are in the file. */
int fallocate(int fd, int mode, off_t at, off_t len) {
  struct stat info = {0};
  struct target t;
  enter();
  fstat(fd, &info);
  long result = syscall(SYS_fallocate, fd, mode, at, len);
  if (!mode && at + len > info.st_size)
    return (int)leave(resized(fd, result, (uint64_t)(at + len)));
  bool visible = (mode & ~FALLOC_FL_KEEP_SIZE) && at < info.st_size;
  if (visible && result == 0 && find_target(fd, &t)) record_unknown(t.path);
  return (int)leave(result);
}

int posix_fallocate(int fd, off_t at, off_t len) {
  return fallocate(fd, 0, at, len) == 0 ? 0 : errno;
}

/* ------------------------------------------------------------------ syncing */

static int sync_fd(int fd, long number) {
  struct target t;
  if (!recorder.log) return recorder.skip_syncs ? 0 : (int)syscall(number, fd);
  enter();
  if (find_target(fd, &t)) {
    struct op op = {.kind = t.directory ? OP_SYNC_DIRECTORY : OP_SYNC, .inode = t.inode};
    enum planted dropped_by = t.directory ? DROP_DIRECTORY_SYNCS : DROP_SYNCS;
    if (recorder.planted != dropped_by) append(op, t.path, NULL, NULL);
  }
  return (int)leave(0);
}

int fsync(int fd) {
  return sync_fd(fd, SYS_fsync);
}

int fdatasync(int fd) {
  return sync_fd(fd, SYS_fdatasync);
}

/* It promises nothing about a power cut, so it is not recorded. */
int sync_file_range(int fd, off64_t at, off64_t len, unsigned flags) {
  bool skip = recorder.log || recorder.skip_syncs;
  return skip ? 0 : (int)syscall(SYS_sync_file_range, fd, at, len, flags);
}

/* A program that needs it writes through a shared mapping, which is not recorded. */
int msync(void *address, size_t len, int flags) {
  enter();
  if (recorder.log) record_unknown("msync");
  return (int)leave(syscall(SYS_msync, address, len, flags));
}

/* ------------------------------------------------------------------ names */

/* Only the caller knows whether the file existed. */
static void opened(int fd, int flags, bool existed, off_t size) {
  struct target t;
  if (!find_target(fd, &t) || t.directory) return;
  struct op op = {.kind = OP_CREATE, .inode = t.inode};
  if (!existed)
    append(op, t.path, NULL, NULL);
  else if ((flags & O_TRUNC) && size)
    append((struct op){.kind = OP_RESIZE, .inode = t.inode}, NULL, NULL, NULL);
}

static int open_at(int at, const char *path, int flags, unsigned mode) {
  struct stat info = {0};
  enter();
  bool watched = recorder.log && (flags & (O_CREAT | O_TRUNC));
  bool existed = !watched || fstatat(at, path, &info, 0) == 0;
  int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  if (watched && fd >= 0) opened(fd, flags, existed, info.st_size);
  return (int)leave(fd);
}

static unsigned mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_at(at, path, flags, mode);
}

int creat(const char *path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int mkdir(const char *path, mode_t mode) {
  char name[PATH_MAX];
  enter();
  long result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0 && find_path(AT_FDCWD, path, name))
    append((struct op){.kind = OP_DIRECTORY}, name, NULL, NULL);
  return (int)leave(result);
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
  char name[PATH_MAX], name2[PATH_MAX];
  enter();
  bool watched = find_path(from_at, from, name) && find_path(to_at, to, name2);
  struct op op = {.kind = OP_RENAME, .inode = watched ? inode_of(name) : 0};
  long result = syscall(SYS_renameat2, from_at, from, to_at, to, 0);
  if (watched && result == 0) append(op, name, name2, NULL);
  return (int)leave(result);
}

int rename(const char *from, const char *to) {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int link(const char *from, const char *to) {
  char name[PATH_MAX], name2[PATH_MAX];
  enter();
  long result = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result == 0 && find_path(AT_FDCWD, from, name) && find_path(AT_FDCWD, to, name2))
    append((struct op){.kind = OP_LINK, .inode = inode_of(name2)}, name, name2, NULL);
  return (int)leave(result);
}

int unlinkat(int at, const char *path, int flags) {
  char name[PATH_MAX];
  enter();
  long result = syscall(SYS_unlinkat, at, path, flags);
  if (result == 0 && find_path(at, path, name))
    append((struct op){.kind = OP_UNLINK}, name, NULL, NULL);
  return (int)leave(result);
}

int unlink(const char *path) {
  return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

/* ------------------------------------------------------------------ other names of the same */

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char *path, int flags, ...) __attribute__((alias("openat")));
int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at)
    __attribute__((alias("pwritev")));
int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));
int fallocate64(int fd, int mode, off64_t at, off64_t len) __attribute__((alias("fallocate")));
int posix_fallocate64(int fd, off64_t at, off64_t len) __attribute__((alias("posix_fallocate")));
