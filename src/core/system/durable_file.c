#define _GNU_SOURCE /* O_CLOEXEC, O_DIRECTORY, getentropy, realpath */
#include "core/system/durable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* Why a system call failed. */
static besom_status failure(void) {
  return errno == ENOSPC || errno == EDQUOT ? BESOM_DISK_FULL : BESOM_IO;
}

static besom_status write_fully(void *ctx, const void *data, size_t len) {
  int fd = *(int *)ctx;
  const char *at = data;
  while (len) {
    ssize_t n = write(fd, at, len < INT_MAX ? len : INT_MAX);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure();
    at += n;
    len -= (size_t)n;
  }
  return BESOM_OK;
}

/* A rename survives a power loss only if the directory is synced, too. */
static besom_status sync_directory_of(const char *path) {
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t len = slash ? (size_t)(slash - path) + 1 : 0;
  memcpy(directory, path, len);
  memcpy(directory + len, ".", 2);
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* EACCES: the directory can be written but not read. ENOENT: it was removed meanwhile. */
  if (fd < 0) return errno == EACCES || errno == ENOENT ? BESOM_OK : BESOM_IO;
  /* Some file systems cannot sync a directory and return EINVAL; there is no other way there. */
  besom_status status = fsync(fd) == 0 || errno == EINVAL ? BESOM_OK : failure();
  close(fd);
  return status;
}

/* Creates a file with a random name in the directory of path. On failure: -1, and errno is set. */
static int create_beside(const char *path, char *name, size_t size) {
  uint64_t random;
  if (getentropy(&random, sizeof random) != 0) return -1;
  const char *slash = strrchr(path, '/');
  int directory = slash ? (int)(slash - path) + 1 : 0;
  int len = snprintf(name, size, "%.*s.besom-%016llx", directory, path, (unsigned long long)random);
  if (len < 0 || (size_t)len >= size) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* A replaced file keeps its permissions, because it contains a secret: the seed. */
static besom_status keep_permissions(const char *path, int fd) {
  struct stat old;
  if (stat(path, &old) != 0) return BESOM_OK;
  return fchmod(fd, old.st_mode & 0777) == 0 ? BESOM_OK : BESOM_IO;
}

besom_status besom__file_replace(const char *path,
                                 besom_status (*fill)(void *ctx, const besom_sink *sink),
                                 void *ctx) {
  char temporary[PATH_MAX];
  int fd = create_beside(path, temporary, sizeof temporary);
  if (fd < 0) return failure();
  besom_status status = keep_permissions(path, fd);
  if (status == BESOM_OK) status = fill(ctx, &(besom_sink){write_fully, &fd});
  if (status == BESOM_OK && fsync(fd) != 0) status = failure();
  int error = errno;
  if (close(fd) != 0 && status == BESOM_OK) status = failure(), error = errno;
  if (status == BESOM_OK && rename(temporary, path) != 0) status = failure(), error = errno;
  if (status == BESOM_OK) return sync_directory_of(path);
  unlink(temporary);
  errno = error;
  return status;
}

/* The name of a file that does not exist in the absolute path of its directory, which does. */
static bool resolve_directory(const char *path, char out[PATH_MAX]) {
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t len = (size_t)(name - path);
  if (len + 2 > sizeof directory) return false;
  memcpy(directory, path, len);
  memcpy(directory + len, ".", 2);
  if (!realpath(directory, out)) return false;
  size_t used = strlen(out);
  if (used + 1 + strlen(name) >= PATH_MAX) return false;
  if (out[used - 1] != '/') out[used++] = '/';
  memcpy(out + used, name, strlen(name) + 1);
  return true;
}

/* path is absolute. False: it is no symbolic link. Else it becomes what the link names. */
static bool follow_link(char path[PATH_MAX]) {
  char target[PATH_MAX];
  ssize_t len = readlink(path, target, sizeof target - 1);
  size_t directory = target[0] == '/' ? 0 : (size_t)(strrchr(path, '/') + 1 - path);
  if (len < 0 || directory + (size_t)len >= PATH_MAX) return false;
  memcpy(path + directory, target, (size_t)len);
  path[directory + (size_t)len] = 0;
  return true;
}

/* A link may name a file that does not exist yet. */
bool besom__file_resolve(const char *path, char *out, size_t size) {
  enum { MOST_LINKS = 40 };
  char next[PATH_MAX], whole[PATH_MAX];
  if (strlen(path) >= sizeof next) return false;
  memcpy(next, path, strlen(path) + 1);
  for (unsigned i = 0; !realpath(next, whole); i++) {
    if (errno != ENOENT || i == MOST_LINKS || !resolve_directory(next, whole)) return false;
    memcpy(next, whole, strlen(whole) + 1);
    if (!follow_link(next)) break;
  }
  if (strlen(whole) >= size) return false;
  memcpy(out, whole, strlen(whole) + 1);
  return true;
}

/* Syncs even if the file is absent: an earlier process may have died between unlink and sync. */
besom_status besom__file_unlink(const char *path) {
  if (unlink(path) != 0 && errno != ENOENT) return BESOM_IO;
  return sync_directory_of(path);
}

besom_status besom__file_map(const char *path, void **data, size_t *len) {
  /* O_NONBLOCK: opening a FIFO without a writer would block. */
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return BESOM_IO;
  struct stat info;
  besom_status status = fstat(fd, &info) == 0 ? BESOM_OK : BESOM_IO;
  if (status == BESOM_OK && (!S_ISREG(info.st_mode) || info.st_size == 0)) status = BESOM_CORRUPT;
  if (status == BESOM_OK && (uint64_t)info.st_size > SIZE_MAX) status = BESOM_NO_MEMORY;
  if (status == BESOM_OK) {
    *len = (size_t)info.st_size;
    *data = mmap(NULL, *len, PROT_READ, MAP_SHARED, fd, 0);
    if (*data == MAP_FAILED) status = BESOM_IO;
  }
  int error = errno;
  close(fd);
  errno = error;
  return status;
}

void besom__file_unmap(void *data, size_t len) {
  munmap(data, len);
}
