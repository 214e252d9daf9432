#define _DEFAULT_SOURCE 1 /* fsync, flock */

#include "signed/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "json.h"

trust given_trust;

bool trust_is_given(void) {
  if (!given_trust.keys.n && (given_trust.name || given_trust.now))
    usage_error("--name and --now need --verify");
  return given_trust.keys.n;
}

static char *joined(const char *path, const char *suffix) {
  size_t size = strlen(path) + strlen(suffix) + 1;
  char *text = allocate(1, size);
  snprintf(text, size, "%s%s", path, suffix);
  return text;
}

char *signature_path(const char *path) {
  return joined(path, ".minisig");
}

/* The signature of an update that may be unfinished. */
static char *next_signature_path(const char *path) {
  return joined(path, ".minisig.next");
}

int64_t seconds_now(const char *date) {
  int64_t seconds;
  if (!date) return (int64_t)time(NULL);
  if (!date_parse(date, &seconds))
    usage_error("--now: '%s' is not a date such as 2026-12-31 or 2026-12-31T23:59:59Z", date);
  return seconds;
}

void check_expiry(const char *path, const statement *s, const trust *t) {
  char date[DATE_SIZE];
  date_text(s->expires, date);
  if (seconds_now(t->now) >= s->expires)
    fail("%s: expired at %s. Fetch a newer one; if there is none, ask the publisher of %s", path,
         date, s->name);
}

static bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

/* ------------------------------------------------------------------ verifying */

/* Verifies the trusted comment and parses it. Returns NULL, or what is wrong. */
static const char *verify_statement(trusted_file *file, const trust *t) {
  for (size_t i = 0; i < t->keys.n; i++) {
    file->key = minisign_public_key(t->keys.at[i]);
    if (!minisign_comment_is_signed(&file->signature, &file->key)) continue;
    return statement_parse(file->signature.comment, &file->statement)
               ? NULL
               : "the signature is right, but not one of besom sign";
  }
  return "not signed with this key, or damaged";
}

const char *verify_in_memory(trusted_file *file, const trust *t) {
  const char *wrong = verify_statement(file, t);
  if (wrong) return wrong;
  if (!minisign_file_is_signed(&file->signature, &file->key, &file->bytes))
    return "the signature of another file, or the file was changed";
  char sum[SHA256_TEXT];
  sha256_text(&file->bytes, sum);
  if (!file->statement.base[0] && strcmp(sum, file->statement.result) != 0)
    return "the checksum in the signature is that of another file";
  return NULL;
}

/* Reads a .minisig file. Returns NULL, or what is wrong with it. */
static const char *read_signature(const char *path, minisig *out) {
  file_bytes text = file_read(path);
  const char *wrong = minisign_parse(&text, out);
  free(text.data);
  return wrong;
}

static void check_name(const char *path, const statement *s, const char *name) {
  if (name && strcmp(name, s->name) != 0)
    fail("%s: the name of this list is %s, not %s", path, s->name, name);
}

/* Reads a file and tries the signatures that exist. Returns NULL, or what is wrong with the first
 * one. */
static const char *try_read(const char *path, char *const *signatures, size_t n, const trust *t,
                            trusted_file *out) {
  const char *first = NULL;
  out->bytes = file_read(path);
  for (size_t i = 0; i < n; i++) {
    if (!exists(signatures[i])) continue;
    const char *wrong = read_signature(signatures[i], &out->signature);
    if (!wrong) wrong = verify_in_memory(out, t);
    if (!wrong) return NULL;
    if (!first) first = wrong;
  }
  free(out->bytes.data);
  return first ? first : "this file does not exist: the list is not signed";
}

static trusted_file read_verified(const char *path, const trust *t, size_t signature_count) {
  enum { ATTEMPTS = 3 }; /* an update may replace the files between two reads */
  char *signatures[] = {signature_path(path), next_signature_path(path)};
  trusted_file out = {0};
  const char *wrong = "";
  if (strcmp(path, "-") == 0) usage_error("--verify: standard input has no signature: give a file");
  for (unsigned i = 0; wrong && i < ATTEMPTS; i++)
    wrong = try_read(path, signatures, signature_count, t, &out);
  if (wrong) fail("%s: %s", signatures[0], wrong);
  check_name(path, &out.statement, t->name);
  free(signatures[0]);
  free(signatures[1]);
  return out;
}

trusted_file trusted_read(const char *path, const trust *t) {
  return read_verified(path, t, 1);
}

trusted_file trusted_read_list(const char *path, const trust *t) {
  trusted_file file = read_verified(path, t, 2);
  if (file.statement.base[0]) fail("%s: a patch, and not a list", path);
  return file;
}

void statement_print(const char *path, const statement *s, const char *change, bool as_json) {
  char date[DATE_SIZE];
  json j = {0};
  date_text(s->expires, date);
  if (!as_json) {
    fprintf(stderr, "%s: %s: list %s, sequence number %llu, expires %s\n", path, change, s->name,
            (unsigned long long)s->sequence, date);
    return;
  }
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_text(&j, "change", change);
  json_text(&j, "list", s->name);
  json_count(&j, "sequence", s->sequence);
  json_text(&j, "expires", date);
  json_close(&j);
}

void trusted_verify(const char *path) {
  if (!trust_is_given()) return;
  trusted_file file = trusted_read_list(path, &given_trust);
  check_expiry(path, &file.statement, &given_trust);
  statement_print(path, &file.statement, "signature is right", false);
  free(file.bytes.data);
}

besom_filter *trusted_open(const char *path) {
  trusted_file file = trusted_read_list(path, &given_trust);
  check_expiry(path, &file.statement, &given_trust);
  besom_filter *f = NULL;
  check(besom_load(file.bytes.data, file.bytes.len, NULL, &f), "%s", path);
  free(file.bytes.data);
  return f;
}

/* ------------------------------------------------------------------ replacing */

/* Fails if the signature beside the current list is newer than s. It counts even if the list is
 * lost. */
static void check_newer_than(const char *signature, const statement *s, const trust *t) {
  trusted_file old;
  if (!exists(signature)) return;
  if (read_signature(signature, &old.signature) || verify_statement(&old, t))
    fail("%s: not signed with this key, or damaged: the current sequence number is not known. To "
         "start anew, delete this file",
         signature);
  check_name(signature, &old.statement, s->name);
  if (s->sequence < old.statement.sequence)
    fail("refused: sequence number %llu of %s is older than the current one, %llu",
         (unsigned long long)s->sequence, s->name, (unsigned long long)old.statement.sequence);
  if (s->sequence == old.statement.sequence && strcmp(s->result, old.statement.result) != 0)
    fail("refused: two different lists %s have the sequence number %llu", s->name,
         (unsigned long long)s->sequence);
}

void check_newer(const char *path, const statement *s, const trust *t) {
  char *signature = signature_path(path), *next = next_signature_path(path);
  if (!t->name && !exists(signature) && !exists(next))
    usage_error("%s: there is no current list with a signature: --name must say which list it is",
                path);
  check_newer_than(signature, s, t);
  check_newer_than(next, s, t);
  free(signature);
  free(next);
}

/* Opens the directory of a file; -1 if that is not possible. */
static int open_directory(const char *path) {
  char *directory = joined(path, "");
  char *slash = strrchr(directory, '/');
  if (slash) slash[slash == directory] = 0;
  int fd = open(slash ? directory : ".", O_RDONLY | O_CLOEXEC);
  free(directory);
  return fd;
}

static void close_directory(int fd) {
  if (fd >= 0) close(fd);
}

/* Makes the renames in the directory of a file durable. */
static void sync_directory(const char *path) {
  int fd = open_directory(path);
  if (fd >= 0) fsync(fd); /* some file systems cannot */
  close_directory(fd);
}

/* Waits for other updates in this directory: without it, the older of two lists may come last. */
static int lock_directory(const char *path) {
  int fd = open_directory(path);
  if (fd >= 0) flock(fd, LOCK_EX); /* some file systems cannot */
  return fd;
}

/* The publisher may sign a list again with the same number to make it valid for longer. */
static bool is_current(const char *path, char *signature, const trusted_file *list,
                       const trust *t) {
  trusted_file old;
  if (!exists(path) || try_read(path, &signature, 1, t, &old)) return false;
  free(old.bytes.data);
  return old.statement.sequence == list->statement.sequence &&
         old.statement.expires >= list->statement.expires;
}

/* Finishes an update that was interrupted before its last step: the next one replaces the file
 * with the only signature of the current list. */
static void finish_interrupted(const char *path, const char *signature, char *next,
                               const trust *t) {
  trusted_file current;
  if (!exists(path) || !exists(next) || try_read(path, &next, 1, t, &current)) return;
  free(current.bytes.data);
  if (rename(next, signature) != 0) fail("%s: %s", signature, strerror(errno));
  sync_directory(path);
}

bool trusted_replace(const char *path, const trusted_file *list, const trust *t) {
  char *signature = signature_path(path), *next = next_signature_path(path);
  int lock = lock_directory(path);
  check_newer(path, &list->statement, t);
  finish_interrupted(path, signature, next, t);
  bool replace = !is_current(path, signature, list, t);
  if (replace) {
    file_bytes text = minisign_text(&list->signature);
    file_write(next, &text);
    sync_directory(path);
    file_write(path, &list->bytes);
    sync_directory(path);
    if (rename(next, signature) != 0) fail("%s: %s", signature, strerror(errno));
    sync_directory(path);
    free(text.data);
  }
  close_directory(lock);
  free(signature);
  free(next);
  return replace;
}
