/* Files of fixes: who may write them, and which version of a list they are for. */
#define _DEFAULT_SOURCE 1 /* O_CLOEXEC, O_NONBLOCK */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "besom_fixes.h"
#include "core/system/memory.h"
#include "published/set_directory.h"
#include "published/sha256.h"

enum { READ_BYTES = 64 * 1024 };

/* Opens for reading, without waiting for a pipe. -1: errno says why. */
static int fixes_descriptor(const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  int error = fstat(fd, &st) != 0 ? errno : 0;
  /* Who can write this file decides what is answered no. */
  if (!error && (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
                 st.st_mode & (S_IWGRP | S_IWOTH)))
    error = EPERM;
  if (!error) return fd;
  close(fd);
  errno = error;
  return -1;
}

/* Reads up to `len` bytes; returns their number, or -1. */
static ssize_t fixes_read_all(int fd, char *to, size_t len) {
  size_t done = 0;
  while (done < len) {
    ssize_t n = read(fd, to + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (!n) break;
    done += (size_t)n;
  }
  return (ssize_t)done;
}

static besom_status fixes_parse_file(int fd, besom_fixes **out) {
  struct stat st;
  if (fstat(fd, &st) != 0) return BESOM_IO;
  size_t size = (size_t)st.st_size + 1; /* not 0 */
  char *text = besom__allocate(&besom__default_allocator, size);
  if (!text) return BESOM_NO_MEMORY;
  ssize_t len = fixes_read_all(fd, text, size - 1);
  besom_status status = len < 0 ? BESOM_IO : besom_fixes_parse(text, (size_t)len, NULL, out);
  int error = errno;
  besom__release(&besom__default_allocator, text, size);
  errno = error;
  return status;
}

/* ------------------------------------------------------------------ versions */

static besom_status fixes_version_of_set(const char *directory,
                                         char version[BESOM_FIXES_VERSION_BYTES],
                                         char name[SET_NAME_BYTES]) {
  struct set_directory d;
  besom_status status = besom__set_directory_read(directory, &d);
  if (status != BESOM_OK) return status;
  snprintf(version, BESOM_FIXES_VERSION_BYTES, "sequence=%" PRIu64, d.sequence);
  memcpy(name, d.name, SET_NAME_BYTES);
  besom__set_directory_free(&d);
  return BESOM_OK;
}

static besom_status fixes_version_of_file(int fd, char version[BESOM_FIXES_VERSION_BYTES]) {
  struct sha256 sum;
  uint8_t hash[SHA256_BYTES];
  char *part = besom__allocate(&besom__default_allocator, READ_BYTES);
  if (!part) return BESOM_NO_MEMORY;
  besom__sha256_begin(&sum);
  ssize_t n;
  while ((n = fixes_read_all(fd, part, READ_BYTES)) > 0) besom__sha256_add(&sum, part, (size_t)n);
  int error = errno;
  besom__release(&besom__default_allocator, part, READ_BYTES);
  errno = error;
  if (n < 0) return BESOM_IO;
  besom__sha256_end(&sum, hash);
  int at = snprintf(version, BESOM_FIXES_VERSION_BYTES, "sha256=");
  for (int i = 0; i < SHA256_BYTES; i++, at += 2)
    snprintf(version + at, BESOM_FIXES_VERSION_BYTES - (size_t)at, "%02x", hash[i]);
  return BESOM_OK;
}

/* name: of a set; empty for a file, whose checksum says enough. */
static besom_status fixes_list_version(const char *list, char version[BESOM_FIXES_VERSION_BYTES],
                                       char name[SET_NAME_BYTES]) {
  struct stat st;
  name[0] = 0;
  if (!list || !version) return BESOM_INVALID;
  int fd = open(list, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return BESOM_IO;
  besom_status status = fstat(fd, &st) != 0   ? BESOM_IO
                        : S_ISDIR(st.st_mode) ? fixes_version_of_set(list, version, name)
                                              : fixes_version_of_file(fd, version);
  int error = errno;
  close(fd);
  errno = error;
  return status;
}

besom_status besom_fixes_version(const char *list, char version[BESOM_FIXES_VERSION_BYTES]) {
  char name[SET_NAME_BYTES];
  return fixes_list_version(list, version, name);
}

besom_status besom_fixes_open(const char *path, const char *list, besom_fixes **out) {
  char version[BESOM_FIXES_VERSION_BYTES], name[SET_NAME_BYTES];
  besom_fixes_information info;
  besom_fixes *x;
  if (!path || !out) return BESOM_INVALID;
  int fd = fixes_descriptor(path);
  if (fd < 0) return BESOM_IO;
  besom_status status = fixes_parse_file(fd, &x);
  int error = errno;
  close(fd);
  errno = error;
  if (status != BESOM_OK) return status;
  besom_fixes_info(x, &info);
  if (list) status = fixes_list_version(list, version, name);
  if (list && status == BESOM_OK && info.bytes &&
      (strcmp(version, info.version) != 0 || (name[0] && strcmp(name, info.name) != 0)))
    status = BESOM_INCOMPATIBLE;
  if (status == BESOM_OK)
    *out = x;
  else
    besom_fixes_close(x);
  return status;
}
