#define _DEFAULT_SOURCE 1 /* mkstemp, fsync */

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"
#include "kinds.h"
#include "lists/input.h"
#include "signed/trust.h"

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

static _Noreturn void fail_disk_full(const char *path) {
  fail("%s: the disk is full: free space on it, or write to another disk. No file was changed",
       path);
}

static _Noreturn void fail_with_errno(const char *path, int error) {
  if (error == ENOSPC || error == EDQUOT) fail_disk_full(path);
  fail("%s: %s", path, strerror(error));
}

static void check_file(besom_status status, const char *path) {
  if (status == BESOM_IO) fail_with_errno(path, errno);
  if (status == BESOM_DISK_FULL) fail_disk_full(path);
  if (status == BESOM_CORRUPT)
    fail("%s: not a filter, or damaged. For the position of the fault: besom verify", path);
  check(status, "%s", path);
}

static file_bytes read_all(int fd, const char *name) {
  size_t allocated = 1 << 20;
  file_bytes all = {allocate(1, allocated), 0};
  ssize_t n;
  while ((n = interrupt_read(fd, all.data + all.len, allocated - all.len)) > 0) {
    all.len += (size_t)n;
    if (all.len < allocated) continue;
    allocated *= 2;
    all.data = reallocate(all.data, allocated, 1);
  }
  if (n < 0) fail("%s: %s", name, strerror(errno));
  return all;
}

file_bytes file_read(const char *path) {
  if (is_standard(path)) {
    claim_standard_input();
    return read_all(STDIN_FILENO, "standard input");
  }
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("%s: %s", path, strerror(errno));
  file_bytes all = read_all(fd, path);
  close(fd);
  return all;
}

/* Removes the temporary file and fails. */
static _Noreturn void give_up(const char *temporary, const char *path) {
  int error = errno;
  unlink(temporary);
  fail_with_errno(path, error);
}

void file_write(const char *path, const file_bytes *bytes) {
  if (is_standard(path)) {
    if (fwrite(bytes->data, 1, bytes->len, stdout) != bytes->len)
      fail("standard output: %s", strerror(errno));
    return;
  }
  size_t size = strlen(path) + 16;
  char *temporary = allocate(1, size);
  snprintf(temporary, size, "%s.XXXXXX", path);
  int fd = mkstemp(temporary);
  if (fd < 0) fail("%s: %s", path, strerror(errno));
  for (size_t done = 0; done < bytes->len;) {
    ssize_t n = write(fd, bytes->data + done, bytes->len - done);
    if (n < 0) give_up(temporary, path);
    done += (size_t)n;
  }
  if (fchmod(fd, 0644) != 0 || fsync(fd) != 0 || close(fd) != 0 || rename(temporary, path) != 0)
    give_up(temporary, path);
  free(temporary);
}

besom_filter *filter_load(const char *path) {
  besom_filter *f = NULL;
  if (!is_standard(path)) {
    check_file(besom_open(path, NULL, &f), path);
    return f;
  }
  file_bytes all = file_read(path);
  check_file(besom_load(all.data, all.len, NULL, &f), "standard input");
  free(all.data);
  return f;
}

besom_filter *filter_open(const char *path) {
  if (trust_is_given()) return trusted_open(path);
  if (is_standard(path)) return filter_load(path);
  besom_open_options options = {.flags = BESOM_OPEN_MMAP | BESOM_OPEN_CHECKSUMS};
  besom_filter *f = NULL;
  check_file(besom_open(path, &options, &f), path);
  return f;
}

static besom_status write_out(void *ctx, const void *data, size_t len) {
  return fwrite(data, 1, len, ctx) == len ? BESOM_OK : BESOM_IO;
}

void filter_save(const besom_filter *f, const char *path) {
  besom_sink sink = {.write = write_out, .ctx = stdout};
  if (is_standard(path))
    check_file(besom_save(f, &sink), "standard output");
  else
    check_file(besom_save_file(f, path), path);
}

static besom_status count_bytes(void *ctx, const void *data, size_t len) {
  (void)data;
  *(uint64_t *)ctx += len;
  return BESOM_OK;
}

uint64_t filter_saved_bytes(const besom_filter *f) {
  uint64_t bytes = 0;
  check(besom_save(f, &(besom_sink){.write = count_bytes, .ctx = &bytes}), "saving");
  return bytes;
}

besom_statistics filter_stats(const besom_filter *f) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  return stats;
}

bool filter_counts_keys(const besom_filter *f) {
  unsigned abilities = kind_named(filter_stats(f).kind)->abilities;
  const besom_filter *layer = besom_layer(f, 0);
  if (!(abilities & BESOM_CAN_INSERT)) return true;
  return abilities & BESOM_CAN_COUNT && (!layer || filter_counts_keys(layer));
}
