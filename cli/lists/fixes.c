#define _DEFAULT_SOURCE 1 /* fsync, getline */

#include "lists/fixes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "besom_fixes.h"
#include "fail.h"
#include "files.h"

static const char fixes_mark[] = "besom-fixes-1 ";
static const char not_own[] =
    "%s: fixes must be a file of yours or of root that nobody else can write";

/* As besom_fixes_open does, of a file that is written. */
static void refuse_others(int fd, const char *path) {
  struct stat st;
  if (fstat(fd, &st) != 0) fail("%s: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
      st.st_mode & (S_IWGRP | S_IWOTH))
    fail(not_own, path);
}

/* The text of a file that cannot be read names the wrong line. */
static void fail_at_line(const char *path) {
  size_t line = 1;
  besom_fixes *unused = NULL;
  file_bytes text = file_read(path);
  if (besom_fixes_parse(text.data, text.len, &line, &unused) == BESOM_OK)
    fail("%s: it was changed meanwhile", path);
  const char *at = (const char *)text.data, *end = at + text.len;
  bool marked = text.len >= sizeof fixes_mark && memcmp(at, fixes_mark, sizeof fixes_mark - 1) == 0;
  if (line == 1 && marked && !memchr(at, '\n', text.len))
    fail("%s: its first line is not complete: delete it", path);
  if (line == 1) fail("%s: not a file of fixes: besom fix --fixes writes them", path);
  for (size_t i = 1; i < line; i++) at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
  end = memchr(at, '\n', (size_t)(end - at));
  fail("%s: '%.*s' is not a date, a tab and a key", path, (int)(end - at), at);
}

/* Of the descriptor that is written: its name may lead to another file by now. */
static besom_status fixes_parse_opened(FILE *in, besom_fixes **out) {
  struct stat st;
  if (fstat(fileno(in), &st) != 0) return BESOM_IO;
  char *text = allocate((size_t)st.st_size + 1, 1);
  rewind(in);
  size_t len = fread(text, 1, (size_t)st.st_size, in);
  besom_status status = ferror(in) ? BESOM_IO : besom_fixes_parse(text, len, NULL, out);
  free(text);
  return status;
}

/* Reads up to the last line that is complete: an interrupted run may have begun another one. */
static key_index *fixes_of_file(const char *path, FILE *in, const fixes_of *of, bool *fits,
                                size_t *end) {
  besom_fixes *fixes;
  besom_fixes_information info;
  besom_status status = in ? fixes_parse_opened(in, &fixes) : besom_fixes_open(path, NULL, &fixes);
  if (status == BESOM_IO && errno == EPERM) fail(not_own, path);
  if (status == BESOM_IO) fail("%s: %s", path, strerror(errno));
  if (status == BESOM_CORRUPT) fail_at_line(path);
  check(status, "%s", path);
  besom_fixes_info(fixes, &info);
  *end = info.bytes;
  bool same = strcmp(info.name, of->name) == 0 || strncmp(of->version, "sequence=", 9) != 0;
  *fits = !info.bytes || (same && strcmp(info.version, of->version) == 0); /* or an empty file */
  if (!*fits && strcmp(info.name, of->name) != 0)
    fail("%s: the fixes of '%s', and the list is '%s': each list needs a file of its own", path,
         info.name, of->name);
  key_index *keys = key_index_create();
  for (size_t i = 0; i < info.keys; i++) key_index_add(keys, besom_fixes_key(fixes, i));
  besom_fixes_close(fixes);
  return keys;
}

key_index *fixes_read(const char *path, const fixes_of *of, bool *fits) {
  size_t end;
  return fixes_of_file(path, NULL, of, fits, &end);
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
  size_t end;
  key_index_free(fixes_of_file(path, out, of, &fits, &end));
  if (ftruncate(fileno(out), (off_t)end) != 0 || fseek(out, 0, SEEK_END) != 0)
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
  if (!key.len || memchr(key.data, '\n', key.len))
    fail("%s: %s cannot be in a file of fixes", position,
         key.len ? "a key with a line break" : "an empty key");
  fprintf(out, "%s\t", day);
  fwrite(key.data, 1, key.len, out);
  putc('\n', out);
}

void fixes_close(FILE *out, const char *path) {
  bool failed = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0;
  if (fclose(out) != 0 || failed) fail("%s: %s", path, strerror(errno));
}
