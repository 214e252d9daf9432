#define _DEFAULT_SOURCE 1 /* scandir, alphasort */

#include "map/file_index.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bar.h"
#include "fail.h"
#include "map/table_file.h"

/* ------------------------------------------------------------------ finding files */

struct found_file {
  char *path;
  struct stat about;
};

struct found_files {
  struct found_file *list;
  size_t n, room;
  uint64_t bytes;
  struct stat except;
};

static void add_file(struct found_files *files, const char *path, const struct stat *about) {
  if (about->st_dev == files->except.st_dev && about->st_ino == files->except.st_ino) return;
  if (strpbrk(path, "\t\n")) fail("%s: the name of a file with a tab or a line break", path);
  if (files->n == files->room) {
    files->room = 2 * files->room + 16;
    files->list = reallocate(files->list, files->room, sizeof *files->list);
  }
  char *copy = allocate(strlen(path) + 1, 1);
  strcpy(copy, path);
  files->list[files->n++] = (struct found_file){copy, *about};
  files->bytes += (uint64_t)about->st_size;
}

static void add_path(struct found_files *files, const char *path, bool is_given);

/* In the order of their names, so that an index is the same everywhere. Hidden files are left
 * out. */
static void add_directory(struct found_files *files, const char *path) {
  struct dirent **entries;
  int n = scandir(path, &entries, NULL, alphasort);
  if (n < 0) fail("%s: %s", path, strerror(errno));
  for (int i = 0; i < n; i++) {
    const char *name = entries[i]->d_name;
    if (name[0] != '.') {
      size_t size = strlen(path) + strlen(name) + 2;
      char *below = allocate(size, 1);
      snprintf(below, size, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", name);
      add_path(files, below, false);
      free(below);
    }
    free(entries[i]);
  }
  free(entries);
}

static void add_path(struct found_files *files, const char *path, bool is_given) {
  struct stat about;
  if (stat(path, &about) != 0) {
    if (is_given) fail("%s: %s", path, strerror(errno));
    return; /* a link to nothing */
  }
  if (S_ISDIR(about.st_mode))
    add_directory(files, path);
  else if (S_ISREG(about.st_mode))
    add_file(files, path, &about);
  else if (is_given)
    fail("%s: no regular file", path);
}

/* ------------------------------------------------------------------ indexing */

static uint64_t seconds_of(const struct stat *about) {
  return (uint64_t)about->st_mtime;
}

/* Returns the number of the file. */
static uint32_t name_file(value_names *names, const struct found_file *file) {
  size_t size = strlen(file->path) + 48;
  char *name = allocate(size, 1);
  int len =
      snprintf(name, size, "%s\t%llu\t%llu", file->path, (unsigned long long)file->about.st_size,
               (unsigned long long)seconds_of(&file->about));
  uint32_t number = key_index_add(names->index, (besom_bytes){name, (size_t)len});
  free(name);
  return number;
}

void file_index_add(words paths, const char *key, const char *except, pair_list *list,
                    value_names *names) {
  struct found_files files = {.n = 0};
  uint64_t done = 0;
  if (stat(except, &files.except) != 0) files.except = (struct stat){0};
  for (size_t i = 0; i < paths.n; i++) add_path(&files, paths.at[i], true);
  for (size_t i = 0; i < files.n; i++) {
    uint32_t number = name_file(names, &files.list[i]);
    table_file *t = table_open(files.list[i].path, key);
    besom_bytes found;
    for (uint64_t n = 0; table_next(t, &found, NULL); n++) {
      pair_list_add(list, found, number);
      if (n % 1024 == 0) bar_tick(done + table_bytes_read(t), files.bytes);
    }
    table_close(t);
    done += (uint64_t)files.list[i].about.st_size;
    bar_tick(done, files.bytes);
    free(files.list[i].path);
  }
  free(files.list);
}

/* ------------------------------------------------------------------ verifying */

besom_bytes file_path(besom_bytes name) {
  const char *tab = memchr(name.data, '\t', name.len);
  return (besom_bytes){name.data, tab ? (size_t)(tab - (const char *)name.data) : name.len};
}

/* Whether the file is as it was when it was indexed. */
static bool is_unchanged(besom_bytes name, size_t path_len, const struct stat *about) {
  char now[48];
  int len = snprintf(now, sizeof now, "\t%llu\t%llu", (unsigned long long)about->st_size,
                     (unsigned long long)seconds_of(about));
  return name.len == path_len + (size_t)len &&
         memcmp((const char *)name.data + path_len, now, (size_t)len) == 0;
}

static bool find_key(const char *path, const char *spec, besom_bytes key, record_found *found,
                     void *ctx) {
  table_file *t = table_open(path, spec);
  besom_bytes here, record;
  bool has = false;
  while (table_next(t, &here, &record)) {
    if (here.len != key.len || (key.len && memcmp(here.data, key.data, key.len) != 0)) continue;
    has = true;
    found(ctx, path, record);
  }
  table_close(t);
  return has;
}

verdict file_verify(const value_names *names, uint32_t value, besom_bytes key, record_found *found,
                    void *ctx) {
  besom_bytes name = key_index_key(names->index, value), path = file_path(name);
  char *text = allocate(path.len + 1, 1);
  memcpy(text, path.data, path.len);
  struct stat before, after;
  verdict result = CANNOT_TELL;
  const char *spec = names->key_spec[0] ? names->key_spec : NULL;
  if (stat(text, &before) != 0) {
    fprintf(stderr, "%s: %s\n", text, strerror(errno));
  } else if (find_key(text, spec, key, found, ctx)) {
    result = HAS_KEY;
  } else if (stat(text, &after) == 0 && is_unchanged(name, path.len, &before) &&
             is_unchanged(name, path.len, &after)) {
    result = HAS_NOT;
  } else {
    fprintf(stderr, "%s: changed since it was indexed: not reported\n", text);
  }
  free(text);
  return result;
}
