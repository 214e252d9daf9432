#define _DEFAULT_SOURCE 1 /* fsync, getline */

#include "lists/fixes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "lists/list_format.h"

static const char fixes_mark[] = "besom-fixes-1 ";

/* Who can write this file decides what is answered no. */
static void refuse_others(int fd, const char *path) {
  struct stat st;
  if (fstat(fd, &st) != 0) fail("%s: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
      st.st_mode & (S_IWGRP | S_IWOTH))
    fail("%s: fixes must be a file of yours or of root that nobody else can write", path);
}

/* The first line: the mark, the version, " name=" and the name. */
static bool fixes_head_parse(const char *line, fixes_of *of) {
  if (strncmp(line, fixes_mark, sizeof fixes_mark - 1) != 0) return false;
  const char *version = line + sizeof fixes_mark - 1, *end = strstr(version, " name=");
  if (!end || (size_t)(end - version) >= sizeof of->version) return false;
  const char *name = end + strlen(" name=");
  if (strlen(name) >= sizeof of->name) return false;
  memcpy(of->version, version, (size_t)(end - version));
  of->version[end - version] = 0;
  memcpy(of->name, name, strlen(name) + 1);
  return true;
}

/* Returns whether the fixes are for this version. */
static bool fixes_head_check(const char *path, const char *line, const fixes_of *of) {
  fixes_of found;
  if (!fixes_head_parse(line, &found))
    fail("%s: not a file of fixes: besom fix --fixes writes them", path);
  if (strcmp(found.version, of->version) == 0) return true;
  if (strcmp(found.name, of->name) != 0)
    fail("%s: the fixes of '%s', and the list is '%s': each list needs a file of its own", path,
         found.name, of->name);
  return false;
}

/* Reads up to the last line that is complete: an interrupted run may have begun another one. */
static key_index *fixes_lines(FILE *in, const char *path, const fixes_of *of, bool *fits,
                              off_t *end) {
  key_index *keys = key_index_create();
  char *line = NULL;
  size_t allocated = 0;
  ssize_t len;
  *fits = true; /* an empty file */
  for (*end = 0; (len = getline(&line, &allocated, in)) > 0; *end += len) {
    bool complete = line[len - 1] == '\n';
    if (complete) line[len - 1] = 0;
    if (!*end) {
      *fits = fixes_head_check(path, line, of);
      if (complete) continue;
      fail("%s: its first line is not complete: delete it", path);
    }
    if (!complete) break;
    besom_bytes key;
    if (!fixes_line((besom_bytes){line, (size_t)len - 1}, &key))
      fail("%s: '%s' is not a date, a tab and a key", path, line);
    key_index_add(keys, key);
  }
  if (ferror(in)) fail("%s: %s", path, strerror(errno));
  free(line);
  return keys;
}

key_index *fixes_read(const char *path, const fixes_of *of, bool *fits) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
  if (fd < 0) fail("%s: %s", path, strerror(errno));
  refuse_others(fd, path);
  FILE *in = fdopen(fd, "r");
  if (!in) fail("%s: %s", path, strerror(errno));
  off_t end;
  key_index *keys = fixes_lines(in, path, of, fits, &end);
  /* analysis: nullPointerRedundantCheck: fail does not return */
  fclose(in);
  return keys;
}

/* ------------------------------------------------------------------ adding */

char *fixes_aside_path(const char *path) {
  char *aside = allocate(1, strlen(path) + sizeof ".old");
  sprintf(aside, "%s.old", path);
  return aside;
}

static void set_aside(const char *path) {
  char *aside = fixes_aside_path(path);
  if (rename(path, aside) != 0) fail("%s: %s", path, strerror(errno));
  fprintf(stderr, "%s: %s was for another version, and is now %s\n", program_name, path, aside);
  free(aside);
}

static FILE *fixes_open(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) fail("%s: %s", path, strerror(errno));
  refuse_others(fd, path);
  FILE *out = fdopen(fd, "a+");
  if (!out) fail("%s: %s", path, strerror(errno));
  /* analysis: nullPointerRedundantCheck: fail does not return */
  setvbuf(out, NULL, _IOLBF, BUFSIZ); /* a line is written as a whole */
  return out;
}

FILE *fixes_append(const char *path, const fixes_of *of, bool *is_moved) {
  FILE *out = fixes_open(path);
  bool fits;
  off_t end;
  rewind(out);
  key_index_free(fixes_lines(out, path, of, &fits, &end));
  if (ftruncate(fileno(out), end) != 0 || fseek(out, 0, SEEK_END) != 0)
    fail("%s: %s", path, strerror(errno));
  *is_moved = !fits;
  if (!fits) {
    fclose(out);
    set_aside(path);
    out = fixes_open(path);
    end = 0;
  }
  if (!end) fprintf(out, "%s%s name=%s\n", fixes_mark, of->version, of->name);
  return out;
}

void fixes_write(FILE *out, besom_bytes key, const char *position) {
  char day[sizeof "2026-12-31"];
  time_t now = time(NULL);
  strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
  if (memchr(key.data, '\n', key.len))
    fail("%s: a key with a line break cannot be in a file of fixes", position);
  fprintf(out, "%s\t", day);
  fwrite(key.data, 1, key.len, out);
  putc('\n', out);
}

void fixes_close(FILE *out, const char *path) {
  bool failed = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0;
  if (fclose(out) != 0 || failed) fail("%s: %s", path, strerror(errno));
}
