#define _DEFAULT_SOURCE /* mkdtemp */
#include "support/temp_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/heap.h"

void temp_dir_make(temp_dir *dir) {
  const char *base = getenv("TMPDIR");
  snprintf(dir->path, sizeof dir->path, "%s/besom-test-XXXXXX",
           base && strlen(base) < 200 ? base : "/tmp");
  if (mkdtemp(dir->path)) return;
  perror(dir->path);
  abort();
}

/* Counts the files, and removes them if asked to, also those of directories below. */
static size_t walk(const char *path, bool removing) {
  DIR *listing = opendir(path);
  size_t n = 0;
  if (!listing) return 0;
  for (struct dirent *entry; (entry = readdir(listing));) {
    char below[512];
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    n++;
    if (!removing) continue;
    int len = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (len >= (int)sizeof below || unlink(below) == 0) continue;
    walk(below, true);
    rmdir(below);
  }
  closedir(listing);
  return n;
}

void temp_dir_remove(const temp_dir *dir) {
  walk(dir->path, true);
  rmdir(dir->path);
}

temp_path temp_dir_file(const temp_dir *dir, const char *name) {
  temp_path path;
  snprintf(path.text, sizeof path.text, "%s/%s", dir->path, name);
  return path;
}

size_t temp_dir_count(const temp_dir *dir) {
  return walk(dir->path, false);
}

bool write_whole_file(const char *path, const void *data, size_t len) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool written = fwrite(data, 1, len, file) == len;
  return fclose(file) == 0 && written;
}

uint8_t *read_whole_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  uint8_t *data = NULL;
  *len = 0;
  for (size_t got = 1; got;) {
    data = heap_resize(data, *len + 65536);
    got = fread(data + *len, 1, 65536, file);
    *len += got;
  }
  fclose(file);
  return data;
}
