#define _DEFAULT_SOURCE 1 /* fsync, ftruncate */

#include "publish/set_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bar.h"
#include "fail.h"
#include "publish/set_pointer.h"

struct set_source {
  const char *from;           /* for messages */
  const char *directory;      /* or NULL, and */
  set_connection *connection; /* to a server */
  uint64_t bytes;
};

static bool is_url(const char *text) {
  return strstr(text, "://");
}

set_source *set_source_open(const char *url, const char *ca) {
  set_source *s = allocate(1, sizeof *s);
  s->from = url;
  if (is_url(url))
    s->connection = set_connection_open(url, ca);
  else
    s->directory = url;
  return s;
}

void set_source_close(set_source *s) {
  if (s->connection) set_connection_close(s->connection);
  free(s);
}

uint64_t set_source_bytes(const set_source *s) {
  return s->bytes;
}

/* ------------------------------------------------------------------ transfers */

static bool write_all(int fd, const char *at, size_t len) {
  while (len) {
    ssize_t n = write(fd, at, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    len -= (size_t)n;
  }
  return true;
}

bool set_transfer_add(set_transfer *t, const void *data, size_t len, const char **wrong) {
  *wrong = NULL;
  if (len > t->most - t->at) {
    *wrong = "longer than the signed texts say";
  } else if (t->fd < 0) {
    if (len) memcpy(t->bytes.data + t->at, data, len);
    t->bytes.len += len;
  } else if (!write_all(t->fd, data, len)) {
    *wrong = errno == ENOSPC || errno == EDQUOT
                 ? "the disk is full: free space on it, and run it again"
                 : strerror(errno);
  }
  if (*wrong) return false;
  t->at += len;
  bar_tick(t->at, t->total);
  return true;
}

/* Returns what is wrong with a file of the source, or NULL. A pipe would never end. */
static const char *open_source_file(const char *path, int *fd) {
  struct stat st;
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0 || fstat(*fd, &st) != 0) return strerror(errno);
  return S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

static const char *copy_from_directory(const char *directory, const char *name, set_transfer *t) {
  enum { COPIED_AT_ONCE = 1 << 16 };
  char *path = set_path(directory, name), buffer[COPIED_AT_ONCE];
  int fd;
  const char *wrong = open_source_file(path, &fd);
  free(path);
  if (!wrong && lseek(fd, (off_t)t->at, SEEK_SET) < 0) wrong = strerror(errno);
  for (ssize_t n = 1; !wrong && n > 0;) {
    n = read(fd, buffer, sizeof buffer);
    if (n < 0) wrong = strerror(errno);
    if (n > 0) set_transfer_add(t, buffer, (size_t)n, &wrong);
  }
  if (fd >= 0) close(fd);
  return wrong;
}

/* Returns NULL, or what is wrong. */
static const char *set_transfer_run(set_source *s, const char *name, set_transfer *t,
                                    bool *from_start) {
  uint64_t before = t->at;
  *from_start = false;
  const char *wrong = s->directory ? copy_from_directory(s->directory, name, t)
                                   : set_connection_fetch(s->connection, name, t, from_start);
  s->bytes += t->at - before;
  return wrong;
}

static _Noreturn void source_fail(const set_source *s, const char *name, const char *wrong) {
  size_t len = strlen(s->from);
  fail("%s%s%s: %s", s->from, len && s->from[len - 1] == '/' ? "" : "/", name, wrong);
}

file_bytes set_source_read(set_source *s, const char *name, size_t most) {
  bool from_start;
  set_transfer t = {.fd = -1, .bytes = {allocate(1, most), 0}, .most = most};
  const char *wrong = set_transfer_run(s, name, &t, &from_start);
  if (wrong) source_fail(s, name, wrong);
  return t.bytes;
}

/* ------------------------------------------------------------------ files */

static bool file_is(const char *path, const set_file *file) {
  struct stat st;
  char sum[SHA256_TEXT];
  if (stat(path, &st) != 0 || (uint64_t)st.st_size != file->bytes) return false;
  file_bytes bytes = file_read(path);
  sha256_text(&bytes, sum);
  free(bytes.data);
  return strcmp(sum, file->sum) == 0;
}

/* Continues the partial file, or starts it again. Returns NULL, or what is wrong. */
static const char *set_continue_part(set_source *s, const set_file *file, const char *part) {
  int fd = open(part, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (fd < 0)
    return errno == ELOOP ? "its part in the copy is a symbolic link: remove it" : strerror(errno);
  off_t at = lseek(fd, 0, SEEK_END);
  set_transfer t = {.fd = fd, .at = (uint64_t)at, .most = file->bytes, .total = file->bytes};
  const char *wrong = NULL;
  bool from_start = at < 0 || t.at > file->bytes;
  if (!from_start && t.at < file->bytes) wrong = set_transfer_run(s, file->name, &t, &from_start);
  if (from_start) {
    t.at = 0;
    wrong =
        ftruncate(fd, 0) == 0 ? set_transfer_run(s, file->name, &t, &from_start) : strerror(errno);
  }
  if (!wrong && t.at < file->bytes) wrong = "shorter than the signed texts say";
  if (!wrong && fsync(fd) != 0) wrong = strerror(errno);
  close(fd);
  return wrong;
}

void set_source_fetch(set_source *s, const set_file *file, const char *directory) {
  enum { SUFFIX_ROOM = 8 };
  char name[SET_FILE_SIZE + SUFFIX_ROOM];
  snprintf(name, sizeof name, "%s.part", file->name);
  char *path = set_path(directory, file->name), *part = set_path(directory, name);
  if (!file_is(path, file)) {
    bool continued = access(part, F_OK) == 0;
    bar_begin("fetching", "bytes");
    const char *wrong = set_continue_part(s, file, part);
    if (wrong) source_fail(s, file->name, wrong);
    if (!file_is(part, file)) { /* a part that another version, or another mirror, has begun? */
      unlink(part);
      if (continued) wrong = set_continue_part(s, file, part);
      if (wrong) source_fail(s, file->name, wrong);
      if (!continued || !file_is(part, file)) {
        unlink(part);
        source_fail(s, file->name, "its checksum is not the signed one");
      }
    }
    bar_end();
    if (rename(part, path) != 0) fail("%s: %s", path, strerror(errno));
  }
  free(path);
  free(part);
}
