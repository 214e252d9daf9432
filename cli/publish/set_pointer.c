#define _DEFAULT_SOURCE 1 /* fsync, flock */

#include "publish/set_pointer.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"
#include "json.h"
#include "number_text.h"

char *set_path(const char *directory, const char *name) {
  size_t size = strlen(directory) + strlen(name) + 2;
  char *path = allocate(1, size);
  snprintf(path, size, "%s/%s", directory, name);
  return path;
}

void set_sync_directory(const char *directory) {
  int fd = open(directory, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("%s: %s", directory, strerror(errno));
  fsync(fd); /* some file systems cannot */
  close(fd);
}

void set_make_directory(const char *path, unsigned mode) {
  if (mkdir(path, mode) == 0 || errno == EEXIST) return;
  fail("%s: %s", path,
       errno == ENOENT ? "the directory that it is to be in does not exist" : strerror(errno));
}

void set_lock_directory(const char *directory) {
  int fd = open(directory, O_RDONLY | O_CLOEXEC); /* open until the program ends */
  if (fd < 0) fail("%s: %s", directory, strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return; /* some cannot lock */
  fprintf(stderr, "%s: waiting for another program that changes it\n", directory);
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) interrupt_check();
}

/* ------------------------------------------------------------------ verifying */

set_pointer set_pointer_verify(const char *where, const file_bytes *text, const trust *t) {
  set_pointer p;
  const char *wrong = minisign_parse(text, &p.signature);
  if (wrong) fail("%s: %s", where, wrong);
  for (size_t i = 0;; i++) {
    if (i == t->keys.n) fail("%s: not signed with this key, or damaged", where);
    p.key = minisign_public_key(t->keys.at[i]);
    if (minisign_comment_is_signed(&p.signature, &p.key)) break;
  }
  if (!set_statement_parse(p.signature.comment, &p.statement))
    fail("%s: the signature is right, but not one of besom publish", where);
  if (t->name && strcmp(t->name, p.statement.name) != 0)
    fail("%s: the name of this set is %s, not %s", where, p.statement.name, t->name);
  return p;
}

bool set_pointer_read(const char *directory, const trust *t, set_pointer *out) {
  char *path = set_path(directory, SET_POINTER);
  bool there = access(path, F_OK) == 0;
  if (there) {
    file_bytes text = file_read(path);
    *out = set_pointer_verify(path, &text, t);
    free(text.data);
  }
  free(path);
  return there;
}

set_manifest set_pointer_manifest(const char *where, const set_pointer *p, const file_bytes *text) {
  set_manifest m;
  char sum[SHA256_TEXT];
  sha256_text(text, sum);
  if (text->len != p->statement.bytes || strcmp(sum, p->statement.result) != 0 ||
      !minisign_file_is_signed(&p->signature, &p->key, text))
    fail("%s: not the manifest that is signed", where);
  if (!set_manifest_parse(text, &m)) fail("%s: this version of besom cannot read it", where);
  if (m.sequence != p->statement.sequence || strcmp(m.name, p->statement.name) != 0)
    fail("%s: the manifest of another version", where);
  return m;
}

void set_pointer_check_expiry(const char *where, const set_statement *s, const char *now) {
  char date[DATE_SIZE];
  date_text(s->expires, date);
  if (seconds_now(now) >= s->expires)
    fail("%s: expired at %s. Run besom sync; if there is no newer version, ask the publisher of %s",
         where, date, s->name);
}

void set_statement_print(const char *path, const set_statement *s, const char *change,
                         uint64_t fetched, bool as_json) {
  char date[DATE_SIZE];
  json j = {0};
  date_text(s->expires, date);
  if (!as_json) {
    fprintf(stderr, "%s: %s: set %s, sequence number %llu, expires %s, %s bytes\n", path, change,
            s->name, (unsigned long long)s->sequence, date, grouped(fetched).text);
    return;
  }
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_text(&j, "change", change);
  json_text(&j, "set", s->name);
  json_count(&j, "sequence", s->sequence);
  json_text(&j, "expires", date);
  json_count(&j, "bytes", fetched);
  json_close(&j);
}

/* ------------------------------------------------------------------ cleaning */

/* Whether a name is the pattern: # stands for a number, ? for a letter or a digit. */
static bool name_is(const char *name, const char *pattern) {
  for (; *pattern; pattern++) {
    size_t digits = strspn(name, "0123456789");
    if (*pattern == '#'   ? !digits
        : *pattern == '?' ? !isalnum((unsigned char)*name)
                          : *name != *pattern)
      return false;
    name += *pattern == '#' ? digits : 1;
  }
  return !*name;
}

/* Names that besom writes; the last ones are temporary (file_write). Others are not removed. */
static bool belongs_to_sets(const char *name) {
  static const char *const names[] = {"manifest-#", "shard-#-#", "patch-#-#"};
  static const char *const suffixes[] = {"",        ".part",        ".keys",       ".gone",
                                         ".??????", ".keys.??????", ".gone.??????"};
  enum { NAMES = sizeof names / sizeof *names, SUFFIXES = sizeof suffixes / sizeof *suffixes };
  char pattern[SET_FILE_SIZE];
  for (int i = 0; i < NAMES * SUFFIXES; i++) {
    snprintf(pattern, sizeof pattern, "%s%s", names[i % NAMES], suffixes[i / NAMES]);
    if (name_is(name, pattern)) return true;
  }
  return name_is(name, SET_POINTER ".??????");
}

void set_remove_others(const char *directory, bool (*keep)(const void *ctx, const char *name),
                       const void *ctx) {
  DIR *dir = opendir(directory);
  if (!dir) fail("%s: %s", directory, strerror(errno));
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!belongs_to_sets(entry->d_name) || keep(ctx, entry->d_name)) continue;
    char *path = set_path(directory, entry->d_name);
    unlink(path);
    free(path);
  }
  closedir(dir);
}
