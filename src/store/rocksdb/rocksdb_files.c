/* The record of RocksDB's files: lines of a name and a length in decimal digits. */
#define _GNU_SOURCE /* O_CLOEXEC, O_DIRECTORY */
#include "rocksdb_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum { RECORD_BYTES = 4096, NAME_BYTES = 64, WRITES_PER_CHECK = 1024 };

static const char record_name[] = "besom-rocksdb.files", first_line[] = "besom-rocksdb-files-1\n",
                  last_line[] = "end\n";

static const char lost_sentence[] =
    "files of RocksDB are missing, or shorter than besom-rocksdb.files says: acknowledged records "
    "would be lost; restore a backup";

/* ------------------------------------------------------------------ files */

static int open_in(const char *directory, const char *name, int flags) {
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s/%s", directory, name);
  return len > 0 && len < PATH_MAX ? open(path, flags | O_CLOEXEC, 0666) : -1;
}

static bool read_text(const char *directory, const char *name, char text[RECORD_BYTES]) {
  int fd = open_in(directory, name, O_RDONLY);
  ssize_t len = fd < 0 ? -1 : read(fd, text, RECORD_BYTES - 1);
  if (fd >= 0) close(fd);
  text[len < 0 ? 0 : len] = 0;
  return len >= 0;
}

/* How much of a file would survive a power cut. */
static bool synced_bytes(int fd, uint64_t *bytes) {
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0 || fsync(fd) != 0) return false;
  *bytes = (uint64_t)file.st_size;
  return true;
}

/* The number of the MANIFEST that CURRENT names. False: errno says why. */
static bool current_number(const char *directory, uint64_t *number) {
  errno = 0;
  char text[RECORD_BYTES];
  return read_text(directory, "CURRENT", text) && sscanf(text, "MANIFEST-%" SCNu64, number) == 1;
}

/* ------------------------------------------------------------------ the record */

static bool write_files_record(const char *directory, const char *text) {
  char old[PATH_MAX], new[PATH_MAX];
  int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int fd = at < 0 ? -1 : open_in(directory, "besom-rocksdb.new", O_WRONLY | O_CREAT | O_TRUNC);
  size_t len = strlen(text);
  bool done = fd >= 0 && write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  done = done && snprintf(old, PATH_MAX, "%s/%s", directory, record_name) < PATH_MAX &&
         snprintf(new, PATH_MAX, "%s/besom-rocksdb.new", directory) < PATH_MAX &&
         rename(new, old) == 0 && fsync(at) == 0;
  if (at >= 0) close(at);
  return done;
}

static size_t begin_files_record(const struct rocksdb_files *f, char text[RECORD_BYTES]) {
  return (size_t)snprintf(text, RECORD_BYTES, "%sMANIFEST-%06" PRIu64 " %" PRIu64 "\n", first_line,
                          f->number, f->bytes);
}

static bool record_manifest(const struct rocksdb_files *f, const char *directory) {
  char text[RECORD_BYTES];
  memcpy(text + begin_files_record(f, text), last_line, sizeof last_line);
  return write_files_record(directory, text);
}

static bool is_log(const char *name) {
  size_t len = strlen(name);
  return len > 4 && len < NAME_BYTES && !strcmp(name + len - 4, ".log");
}

static bool append_log(const char *directory, const char *name, char text[RECORD_BYTES],
                       size_t *len) {
  uint64_t bytes;
  int fd = open_in(directory, name, O_RDONLY);
  bool synced = synced_bytes(fd, &bytes);
  if (fd >= 0) close(fd);
  if (!synced) return false;
  size_t room = RECORD_BYTES - *len;
  int line = snprintf(text + *len, room, "%s %" PRIu64 "\n", name, bytes);
  *len += (size_t)line;
  return (size_t)line < room;
}

void besom__rocksdb_files_closed(const struct rocksdb_files *f, const char *directory) {
  char text[RECORD_BYTES];
  size_t len = begin_files_record(f, text);
  DIR *listed = f->bytes ? opendir(directory) : NULL;
  bool complete = listed;
  for (struct dirent *entry; complete && (entry = readdir(listed));)
    if (is_log(entry->d_name)) complete = append_log(directory, entry->d_name, text, &len);
  if (listed) closedir(listed);
  if (!complete || len + sizeof last_line > RECORD_BYTES) return;
  memcpy(text + len, last_line, sizeof last_line);
  write_files_record(directory, text);
}

/* ------------------------------------------------------------------ before an open */

static bool is_complete(const char *text) {
  size_t len = strlen(text), end = sizeof last_line - 1;
  return !strncmp(text, first_line, sizeof first_line - 1) && len > end &&
         !strcmp(text + len - end, last_line);
}

/* Whether each file is at least as long as its line says. What cannot be found out is for RocksDB
   to report. */
static bool files_are_there(const char *directory, const char *lines) {
  char name[NAME_BYTES], path[PATH_MAX];
  uint64_t bytes;
  for (; sscanf(lines, "%63s %" SCNu64, name, &bytes) == 2; lines = strchr(lines, '\n') + 1) {
    struct stat file;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    bool known = stat(path, &file) == 0;
    if (known ? (uint64_t)file.st_size < bytes : errno == ENOENT) return false;
  }
  return true;
}

/* Without CURRENT, RocksDB would make an empty database and delete all files. */
besom_status besom__rocksdb_files_check(const char *directory, const char **why) {
  char text[RECORD_BYTES];
  uint64_t recorded, number;
  if (!read_text(directory, record_name, text) || !is_complete(text)) return BESOM_OK;
  const char *lines = text + sizeof first_line - 1;
  if (sscanf(lines, "MANIFEST-%" SCNu64, &recorded) != 1) return BESOM_OK;
  bool lost = current_number(directory, &number)
                  ? number < recorded || (number == recorded && !files_are_there(directory, lines))
                  : errno == 0 || errno == ENOENT;
  if (lost) *why = lost_sentence;
  return lost ? BESOM_CORRUPT : BESOM_OK;
}

/* ------------------------------------------------------------------ while it is open */

/* Since RocksDB 9 the function has no parameter `force`, and its header tells C no version. */
typedef void any_function(void);
typedef void enable_deletions(rocksdb_t *, char **);
typedef void enable_deletions_8(rocksdb_t *, unsigned char force, char **);

static void enable_file_deletions(rocksdb_t *db, char **error) {
  any_function *enable = (any_function *)rocksdb_enable_file_deletions;
  if (_Generic(&rocksdb_enable_file_deletions, enable_deletions * : 1, default : 0))
    ((enable_deletions *)enable)(db, error);
  else
    ((enable_deletions_8 *)enable)(db, 0, error);
}

static void allow_deletions(rocksdb_t *db, bool allow) {
  char *error = NULL;
  if (allow)
    enable_file_deletions(db, &error);
  else
    rocksdb_disable_file_deletions(db, &error);
  rocksdb_free(error);
}

/* RocksDB goes on with another MANIFEST after it could not write to one. */
static void follow_manifest(struct rocksdb_files *f, const char *directory) {
  char name[NAME_BYTES];
  uint64_t number;
  f->writes = 0;
  if (!current_number(directory, &number) || (f->manifest >= 0 && number == f->number)) return;
  if (f->manifest >= 0) close(f->manifest);
  snprintf(name, sizeof name, "MANIFEST-%06" PRIu64, number);
  f->manifest = open_in(directory, name, O_RDONLY);
  f->number = number;
  f->bytes = 0;
}

static bool manifest_has_grown(struct rocksdb_files *f, const char *directory) {
  struct stat file;
  if (++f->writes >= WRITES_PER_CHECK) follow_manifest(f, directory);
  if (f->manifest < 0) return f->writes == 0; /* files must be deleted at some time */
  return fstat(f->manifest, &file) == 0 && (uint64_t)file.st_size != f->bytes;
}

static void record_if_grown(struct rocksdb_files *f, const char *directory) {
  uint64_t before = f->bytes;
  if (!synced_bytes(f->manifest, &f->bytes) || !record_manifest(f, directory)) f->bytes = before;
}

void besom__rocksdb_files_opened(struct rocksdb_files *f, rocksdb_t *db, const char *directory) {
  allow_deletions(db, false);
  follow_manifest(f, directory);
  record_if_grown(f, directory);
}

void besom__rocksdb_files_written(struct rocksdb_files *f, rocksdb_t *db, const char *directory) {
  if (!manifest_has_grown(f, directory)) return;
  record_if_grown(f, directory);
  allow_deletions(db, true); /* also if there was no room for the record: this makes room */
  allow_deletions(db, false);
}

void besom__rocksdb_files_closing(struct rocksdb_files *f, rocksdb_t *db, const char *directory) {
  rocksdb_cancel_all_background_work(db, 1);
  follow_manifest(f, directory);
  record_if_grown(f, directory);
  allow_deletions(db, true);
  if (f->manifest >= 0) close(f->manifest);
  f->manifest = -1;
}

/* ------------------------------------------------------------------ a copy */

void besom__rocksdb_files_copied(const char *directory) {
  struct rocksdb_files f = {.manifest = -1};
  follow_manifest(&f, directory);
  if (synced_bytes(f.manifest, &f.bytes)) besom__rocksdb_files_closed(&f, directory);
  if (f.manifest >= 0) close(f.manifest);
}
